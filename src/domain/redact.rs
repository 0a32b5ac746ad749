//! What comes from outside never brings a key along: some endpoints quote what they were sent, and some
//! servers what they were started with.

use std::{borrow::Cow, fmt};

use regex::{NoExpand, Regex};
use secrecy::{ExposeSecret, SecretString};

use crate::error::{Error, Result};

/// Stands in place of a key.
const MARK: &str = "[key]";

/// Shorter ones are no secrets, such as `none` for a server that wants any key: taking those out
/// would change what models say.
const SHORTEST: usize = 8;

/// A longer one is refused: no server takes such a header, and it would be slow to look for.
const LONGEST: usize = 4096;

/// Takes keys out of texts. All that an endpoint or a server with secrets says passes one before
/// anything else sees it.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Finds any key in any of its forms.
    keys: Option<Regex>,
}

impl Redactor {
    /// Takes these keys out, and of each what follows its scheme if it has one: `Bearer KEY`.
    ///
    /// # Errors
    /// When one is longer than 4 KiB, or they are too much to be looked for.
    pub fn of<'a>(keys: impl IntoIterator<Item = &'a SecretString>) -> Result<Self> {
        let too_long = || Error::input("the key is too long to be kept out of what is written");
        let mut patterns = Vec::new();
        for key in keys.into_iter().map(ExposeSecret::expose_secret) {
            if key.len() > LONGEST {
                return Err(too_long());
            }
            let bare = key.split_ascii_whitespace().next_back();
            let forms = [Some(key), bare];
            let secrets = forms.into_iter().flatten().filter(|k| k.len() >= SHORTEST);
            patterns.extend(secrets.map(pattern));
        }
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        // What is wrong with it is not said: it would show the key.
        let keys = Regex::new(&patterns.join("|")).map_err(|_| too_long())?;
        Ok(Self { keys: Some(keys) })
    }

    /// Whether a key is long enough to be taken out: 8 bytes. Shorter ones are left in place.
    #[must_use]
    pub fn can_find(key: &SecretString) -> bool {
        key.expose_secret().len() >= SHORTEST
    }

    /// The text without the keys, however JSON, JSON within JSON, or an address may write it.
    #[must_use]
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.keys {
            Some(keys) => keys.replace_all(text, NoExpand(MARK)),
            None => Cow::Borrowed(text),
        }
    }
}

/// It would show the key.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

/// What matches each character of a key as it is, behind any number of backslashes, as `\u002b`, or as
/// `%2B`.
fn pattern(key: &str) -> String {
    key.chars().map(any_form).collect()
}

fn any_form(c: char) -> String {
    let as_it_is = regex::escape(c.encode_utf8(&mut [0; 4]));
    // Behind a letter's backslash is something else: `\n`.
    let as_it_is = match c {
        '\t' => r"\t|\\+t".to_owned(),
        '\n' => r"\n|\\+n".to_owned(),
        '\r' => r"\r|\\+r".to_owned(),
        '\u{8}' => r"\x08|\\+b".to_owned(),
        '\u{c}' => r"\f|\\+f".to_owned(),
        c if c.is_alphanumeric() => as_it_is,
        _ => format!(r"\\*{as_it_is}"),
    };
    let units = c.encode_utf16(&mut [0; 2]).to_vec();
    let in_json: String = units.iter().map(|u| format!(r"\\+u{u:04x}")).collect();
    let bytes = c.encode_utf8(&mut [0; 4]).as_bytes().to_vec();
    let in_address: String = bytes.iter().map(|b| format!("%{b:02x}")).collect();
    format!("(?:{as_it_is}|(?i:{in_json}|{in_address}))")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_left() {
        let of = |key: &str, text: &str| {
            let redactor = Redactor::of(Some(&key.into())).unwrap();
            redactor.clean(text).into_owned()
        };
        let table = [
            (
                "sk-12345",
                "Bearer sk-12345, sk-12345",
                "Bearer [key], [key]",
            ),
            ("a/b+c=d\"e", r#"{"k":"a/b+c=d\"e"}"#, r#"{"k":"[key]"}"#),
            ("a/b/c/d/e", r#"{"k":"a\/b\/c\/d\/e"}"#, r#"{"k":"[key]"}"#),
            (
                "a/b+c=d&e",
                r#"{"k":"a\u002Fb\u002bc\u003Dd\u0026e","l":"a/b\u002Bc=d&e"}"#,
                r#"{"k":"[key]","l":"[key]"}"#,
            ),
            (
                "<a>'b'\\\"c",
                r#"{"k":"\u003ca\u003e\u0027b\u0027\\\u0022c, \u003ca\u003e"}"#,
                r#"{"k":"[key], \u003ca\u003e"}"#,
            ),
            (
                "sk-\u{1f511}-1",
                r#"\\ \ud83d\udd11 sk-\ud83d\uDD11-1 sk\u002"#,
                r#"\\ \ud83d\udd11 [key] sk\u002"#,
            ),
            (
                "line one\nand\r\ttwo",
                r#"{"k":"line one\nand\r\ttwo"} line one\u000aand\\r\\ttwo"#,
                r#"{"k":"[key]"} [key]"#,
            ),
            ("none", "none of these", "none of these"),
            (
                "a+b/c=d==",
                r#"{"raw":"{\"m\":\"key a\\u002bb\\/c\\u003Dd\\u003d\\u003d\"}"}"#,
                r#"{"raw":"{\"m\":\"key [key]\"}"}"#,
            ),
            (
                "say\"so\"now",
                r#"{"raw":"{\"m\":\"say\\\"so\\\"now\"}"}"#,
                r#"{"raw":"{\"m\":\"[key]\"}"}"#,
            ),
            (
                "a+b/c=d==",
                "GET /?key=a%2Bb%2fc%3Dd%3D%3D&x=%2B",
                "GET /?key=[key]&x=%2B",
            ),
            (
                "Bearer Zm9vYmFy",
                "served by x-Zm9vYmFy, asked with Bearer Zm9vYmFy",
                "served by x-[key], asked with [key]",
            ),
            ("Bearer none", "none of Bearer none", "none of [key]"),
        ];
        for (key, text, want) in table {
            assert_eq!(of(key, text), want);
        }
        assert_eq!(Redactor::default().clean("as it is"), "as it is");
    }

    #[test]
    fn a_long_key_is_found_and_one_that_cannot_be_looked_for_is_refused() {
        let of = |length: usize| Redactor::of(Some(&"aB3+".repeat(length / 4).into()));
        let long = "aB3+".repeat(1024);
        assert_eq!(of(4096).unwrap().clean(&long), MARK);
        let refused = of(4100).unwrap_err();
        assert!(!format!("{refused:?}").contains("aB3"), "{refused}");
    }
}
