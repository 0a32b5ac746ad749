//! What the terminal can do, decided once.

use std::{
    env,
    io::{IsTerminal, stderr, stdout},
};

use crate::report::{Mode, Style};

/// Widest tables off a terminal, and where its width is not known.
const WIDTH: usize = 100;

/// Colours, if stdout is a terminal and `NO_COLOR` is not set.
pub(super) fn style() -> Style {
    Style {
        colour: stdout().is_terminal() && is_colour_wanted(),
    }
}

/// The same for what goes to stderr.
pub(super) fn error_style() -> Style {
    Style {
        colour: stderr().is_terminal() && is_colour_wanted(),
    }
}

fn is_colour_wanted() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether what goes to stdout can be drawn over.
pub(super) fn is_terminal() -> bool {
    stdout().is_terminal()
}

/// Columns of the terminal behind stdout.
pub(super) fn width() -> usize {
    if stdout().is_terminal() {
        comfy_width().unwrap_or(WIDTH)
    } else {
        WIDTH
    }
}

fn comfy_width() -> Option<usize> {
    env::var("COLUMNS").ok()?.parse().ok()
}

/// A bar on a terminal, lines elsewhere.
pub(super) fn progress(wanted: bool) -> Mode {
    match (wanted, stderr().is_terminal()) {
        (false, _) => Mode::Off,
        (true, true) => Mode::Terminal,
        (true, false) => Mode::Plain,
    }
}
