//! Colours, shapes and style. Variants differ in both colour and shape; the colours are Okabe and
//! Ito's, which colour-blind readers tell apart, darkened for a light ground and lightened for a
//! dark one.

/// Colours of [`STYLE`].
const COLOURS: usize = 6;

/// Centred on the origin, of about equal weight to the eye.
const SHAPES: [&str; 6] = [
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", // circle
    "M-4 -4h8v8h-8z",                                // square
    "M0 -5.2L5 3.8H-5z",                             // triangle
    "M0 -5.6L5.6 0L0 5.6L-5.6 0z",                   // diamond
    "M0 5.2L5 -3.8H-5z",                             // triangle, point down
    "M-1.7 -5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z", // cross
];

/// The class of a variant's colour.
pub(super) fn colour(variant: usize) -> String {
    format!("ff-c{}", variant % COLOURS)
}

/// The path of a variant's mark: another pairing of colour and shape for each of 36 variants.
pub(super) fn shape(variant: usize) -> &'static str {
    let at = (variant + variant / COLOURS) % SHAPES.len();
    SHAPES.get(at).copied().unwrap_or_default()
}

pub(super) const STYLE: &str = r#"<style>
.ff-plot{max-width:100%;height:auto;color-scheme:light dark}
.ff-plot text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;fill:#1f2328}
.ff-plot .ff-title{font:600 15px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.ff-plot .ff-note{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#59636e}
.ff-plot .ff-strong{font-weight:600}
.ff-plot .ff-end{text-anchor:end}
.ff-plot .ff-centre{text-anchor:middle}
.ff-back{fill:#fff;stroke:#d1d9e0}
.ff-stripe{fill:#818b98;fill-opacity:.1}
.ff-grid{fill:none;stroke:#818b98;stroke-opacity:.3}
.ff-edge{stroke-opacity:.6}
.ff-guide{fill:none;stroke:currentColor;stroke-opacity:.6;stroke-dasharray:3 3}
.ff-bar{fill:none;stroke:currentColor;stroke-width:1.6}
.ff-diamond{fill:currentColor;fill-opacity:.3}
.ff-mark{fill:currentColor;stroke:#fff}
.ff-c0{color:#0067a8}
.ff-c1{color:#c24e00}
.ff-c2{color:#007d5a}
.ff-c3{color:#a8487f}
.ff-c4{color:#8a6a00}
.ff-c5{color:#1f2328}
@media (prefers-color-scheme:dark){
.ff-plot text{fill:#e6edf3}
.ff-plot .ff-note{fill:#9198a1}
.ff-back{fill:#0d1117;stroke:#3d444d}
.ff-mark{stroke:#0d1117}
.ff-c0{color:#56b4e9}
.ff-c1{color:#ff8b3d}
.ff-c2{color:#2fc79a}
.ff-c3{color:#e79ac6}
.ff-c4{color:#f0e442}
.ff-c5{color:#e6edf3}
}
</style>
"#;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_of_36_variants_look_alike() {
        let looks: BTreeSet<_> = (0..36).map(|i| (colour(i), shape(i))).collect();
        assert_eq!(looks.len(), 36);
    }

    #[test]
    fn every_colour_is_there_for_light_and_for_dark() {
        for i in 0..COLOURS {
            assert_eq!(STYLE.matches(&format!(".ff-c{i}{{")).count(), 2, "{i}");
        }
    }
}
