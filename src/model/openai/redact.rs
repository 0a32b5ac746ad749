//! What comes from an endpoint never brings a key along: some endpoints quote what they were sent.

use std::borrow::Cow;

use secrecy::{ExposeSecret, SecretString};

/// Stands in place of a key.
const MARK: &str = "[key]";

/// Shorter ones are no secrets, such as `none` for a server that wants any key: taking those out
/// would change what models say.
const SHORTEST: usize = 8;

/// Takes keys out of texts. All that an endpoint says passes one before anything else sees it.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    key: Option<SecretString>,
}

impl Redactor {
    /// Takes this key out.
    #[must_use]
    pub fn of(key: Option<SecretString>) -> Self {
        let is_secret = |key: &SecretString| key.expose_secret().len() >= SHORTEST;
        Self {
            key: key.filter(is_secret),
        }
    }

    /// The text without the key, however JSON may write it.
    #[must_use]
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(key) = &self.key else {
            return Cow::Borrowed(text);
        };
        let key = key.expose_secret();
        let clean = match text.contains(key) {
            true => Cow::Owned(text.replace(key, MARK)),
            false => Cow::Borrowed(text),
        };
        // Without an escape JSON writes it as it is.
        match clean.contains('\\') {
            true => Cow::Owned(without_escaped(&clean, key)),
            false => clean,
        }
    }
}

/// The text without the key as JSON may write it: each character as it is or escaped.
fn without_escaped(text: &str, key: &str) -> String {
    let begins = |c: char| c == '\\' || key.starts_with(c);
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.find(begins).and_then(|at| rest.split_at_checked(at)) {
        clean.push_str(before);
        if let Some(after) = key.chars().try_fold(from, after) {
            clean.push_str(MARK);
            rest = after;
        } else {
            let mut chars = from.chars();
            clean.extend(chars.next());
            rest = chars.as_str();
        }
    }
    clean.push_str(rest);
    clean
}

/// What follows this character, if a text in JSON begins with it.
fn after(text: &str, c: char) -> Option<&str> {
    let as_it_is = text.strip_prefix(c).filter(|_| !matches!(c, '"' | '\\'));
    let short = match c {
        '"' | '\\' | '/' => Some(c),
        '\t' => Some('t'),
        _ => None,
    };
    let shortly = || text.strip_prefix('\\')?.strip_prefix(short?);
    let in_hex = || {
        let mut buffer = [0; 2];
        let mut units = c.encode_utf16(&mut buffer).iter();
        units.try_fold(text, |text, unit| {
            let (digits, rest) = text.strip_prefix("\\u")?.split_at_checked(4)?;
            (u16::from_str_radix(digits, 16) == Ok(*unit)).then_some(rest)
        })
    };
    as_it_is.or_else(shortly).or_else(in_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_left() {
        let of = |key: &str, text: &str| Redactor::of(Some(key.into())).clean(text).into_owned();
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
            ("none", "none of these", "none of these"),
        ];
        for (key, text, want) in table {
            assert_eq!(of(key, text), want);
        }
        assert_eq!(Redactor::default().clean("as it is"), "as it is");
    }
}
