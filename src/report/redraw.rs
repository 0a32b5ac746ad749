use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A text on the terminal behind stdout that is drawn over; what was shown last stays there.
pub struct Redraw {
    bar: ProgressBar,
}

impl Redraw {
    /// Nothing is shown before the first [`Self::show`].
    #[must_use]
    pub fn begin() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
        let bar = match ProgressStyle::with_template("{msg}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar, // the default look
        };
        Self { bar }
    }

    /// Shows `text` in place of what was shown before.
    pub fn show(&self, text: &str) {
        let text = text.trim_end().to_owned();
        // Sets the message without drawing, so that it is drawn once, and at once.
        let _ = self.bar.clone().with_message(text);
        self.bar.force_draw();
    }
}

impl Drop for Redraw {
    fn drop(&mut self) {
        self.bar.abandon();
    }
}
