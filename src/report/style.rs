/// Whether text is coloured. The caller decides: it knows the terminal and `NO_COLOR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Use ANSI colours; nothing is said by colour alone.
    pub colour: bool,
}

impl Style {
    /// For headings.
    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// For what explains and may be skipped.
    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// For what failed.
    pub(super) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// For what passed.
    pub(super) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// For what needs a look.
    pub(super) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
