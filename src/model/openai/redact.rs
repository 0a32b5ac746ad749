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
        let mut clean = Cow::Borrowed(text);
        let quoted = serde_json::Value::from(key).to_string();
        let quoted = quoted.trim_matches('"');
        for written in [key, quoted, &quoted.replace('/', "\\/")] {
            if clean.contains(written) {
                clean = Cow::Owned(clean.replace(written, MARK));
            }
        }
        clean
    }
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
            ("none", "none of these", "none of these"),
        ];
        for (key, text, want) in table {
            assert_eq!(of(key, text), want);
        }
        assert_eq!(Redactor::default().clean("as it is"), "as it is");
    }
}
