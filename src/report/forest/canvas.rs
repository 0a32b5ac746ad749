//! The elements of SVG that a plot is drawn with.

use std::fmt::Write as _;

use super::look;
use crate::report::text::one_line;

/// Elements of SVG, one after the other. Lengths are pixels.
#[derive(Default)]
pub(super) struct Canvas(String);

impl Canvas {
    /// A line of text that stands on `y`.
    pub fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y, text) = (px(x), px(y), escape(text));
        let _ = writeln!(
            self.0,
            r#"<text class="{class}" x="{x}" y="{y}">{text}</text>"#
        );
    }

    /// A line of text whose middle is on `y`.
    pub fn label(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.text(class, x, y + 4.0, text);
    }

    pub fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4], radius: f64) {
        let [x, y, width, height, radius] = [x, y, width, height, radius].map(px);
        let _ = writeln!(
            self.0,
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>"#
        );
    }

    pub fn upright(&mut self, class: &str, x: f64, [top, bottom]: [f64; 2]) {
        let [x, top, bottom] = [x, top, bottom].map(px);
        self.path(class, &format!("M{x} {top}V{bottom}"));
    }

    /// An interval with its ends marked.
    pub fn bar(&mut self, y: f64, [lo, hi]: [f64; 2]) {
        let [y, cap, lo, hi] = [y, y - 3.0, lo, hi].map(px);
        self.path(
            "ff-bar",
            &format!("M{lo} {y}H{hi}M{lo} {cap}v6M{hi} {cap}v6"),
        );
    }

    /// An interval that is highest at the estimate.
    pub fn diamond(&mut self, y: f64, [lo, at, hi]: [f64; 3]) {
        let [y, above, below, lo, at, hi] = [y, y - 6.0, y + 6.0, lo, at, hi].map(px);
        let d = format!("M{lo} {y}L{at} {above}L{hi} {y}L{at} {below}Z");
        self.path("ff-diamond", &d);
    }

    /// The mark of a variant.
    pub fn mark(&mut self, variant: usize, x: f64, y: f64) {
        let (x, y, shape) = (px(x), px(y), look::shape(variant));
        let _ = writeln!(
            self.0,
            r#"<path class="ff-mark" transform="translate({x} {y})" d="{shape}"/>"#
        );
    }

    /// What `draw` draws, in the colour of a variant.
    pub fn coloured(&mut self, variant: usize, draw: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.0, r#"<g class="{}">"#, look::colour(variant));
        draw(self);
        self.0.push_str("</g>\n");
    }

    /// What a pointer over the group reads.
    pub fn title(&mut self, text: &str) {
        let _ = writeln!(self.0, "<title>{}</title>", escape(text));
    }

    /// The whole picture: `self` under `over`.
    pub fn picture(&self, over: &Self, width: f64, height: f64, about: &str) -> String {
        let mut back = Self::default();
        back.rect("ff-back", [0.5, 0.5, width - 1.0, height - 1.0], 8.0);
        let (width, height, about) = (px(width), px(height), escape(about));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ff-plot\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{about}\">\n{}{}{}{}</svg>\n",
            look::STYLE,
            back.0,
            self.0,
            over.0
        )
    }

    fn path(&mut self, class: &str, d: &str) {
        let _ = writeln!(self.0, r#"<path class="{class}" d="{d}"/>"#);
    }
}

/// Pixels with at most one decimal.
fn px(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Names that others gave, as text of XML: one line, nothing unseen, no markup.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        for (text, want) in [
            ("a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"),
            ("a\nb\u{202e}\0", "a b\\u{202e}\\u{0}"),
            ("]]>\u{ffff}", "]]&gt;\\u{ffff}"),
        ] {
            assert_eq!(escape(text), want);
        }
    }

    #[test]
    fn pixels_have_one_decimal_at_most() {
        for (x, want) in [(20.0, "20"), (20.04, "20"), (20.26, "20.3")] {
            assert_eq!(px(x), want);
        }
    }
}
