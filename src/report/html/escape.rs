//! Text on its way into the page.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::report::text;

/// The longest text of a trace that is taken whole, in characters.
const LONGEST: usize = 50_000;

/// What a model, a tool or a file said: nothing in it is unseen, and not more than the first
/// 50,000 characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Said {
    Whole(String),
    Cut {
        text: String,
        /// Characters left out.
        more: usize,
    },
}

impl Default for Said {
    fn default() -> Self {
        Self::Whole(String::new())
    }
}

impl Said {
    pub fn new(said: &str) -> Self {
        match said.char_indices().nth(LONGEST) {
            None => Self::Whole(text::visible(said)),
            Some((end, _)) => {
                let (head, rest) = said.split_at(end);
                Self::Cut {
                    text: text::visible(head),
                    more: rest.chars().count(),
                }
            }
        }
    }
}

/// Writes a value as JSON that may stand in a `<script>` element: nothing in it ends the element,
/// begins another or a comment, or ends a line of script.
pub(super) fn json(out: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, InScript))?;
    Ok(())
}

/// These characters occur inside strings alone, where JSON has an escape for each.
struct InScript;

impl Formatter for InScript {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, from) = rest.split_at(at);
            out.write_all(plain.as_bytes())?;
            let mut chars = from.chars();
            for c in chars.by_ref().take(1) {
                write!(out, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}

/// An SVG document as the address of an image: there its style is its own and it can run nothing.
pub(super) fn image(svg: &str) -> String {
    format!("data:image/svg+xml;base64,{}", base64(svg.as_bytes()))
}

/// RFC 4648, with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let six = bits >> (18 - 6 * digit) & 63;
            out.push(match digit <= three.len() {
                true => char::from(DIGITS[six as usize]),
                false => '=',
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(value: &impl Serialize) -> String {
        let mut out = Vec::new();
        super::json(&mut out, value).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nothing_leaves_the_element() {
        for hostile in [
            "</script><img src=x onerror=alert(1)>",
            "<!-- <script>",
            "]]>&lt;\u{2028}\u{2029}\"'\\",
        ] {
            let value = json!({ hostile: [hostile] });
            let text = written(&value);
            assert!(
                !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']),
                "{text}"
            );
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
        assert_eq!(written(&"</s>ä&"), r#""\u003c/s\u003eä\u0026""#);
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let short = "ä".repeat(LONGEST);
        assert_eq!(Said::new(&short), Said::Whole(short.clone()));
        let long = short.clone() + "\u{202e}xy";
        assert_eq!(
            Said::new(&long),
            Said::Cut {
                text: short,
                more: 3
            }
        );
        assert_eq!(
            Said::new("a\u{202e}b\n"),
            Said::Whole("a\\u{202e}b\n".to_owned())
        );
    }

    /// The vectors of RFC 4648.
    #[test]
    fn base64_is_padded() {
        for (text, want) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), want);
        }
        assert_eq!(base64(&[0xff, 0xfe]), "//4=");
    }
}
