//! Headers that are sent along with each request.

use super::kinds::Misfit;

/// Words in the names of headers whose values are keys: `X-Api-Key`, `Helicone-Auth`.
const KEYS: [&str; 9] = [
    "apikey",
    "auth",
    "authorization",
    "cookie",
    "credential",
    "key",
    "password",
    "secret",
    "token",
];

/// How values begin that are keys, in lower case.
const SCHEMES: [&str; 2] = ["bearer ", "basic "];

/// Headers that the client sets by itself.
const OWN: [&str; 11] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a text can be the name of a header.
pub(super) fn is_name(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(is_part)
}

/// Whether the client sets this header by itself.
pub(super) fn is_own(name: &str) -> bool {
    OWN.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Whether a header is there to hold a key, as its name or its value has it.
fn holds_key(name: &str, value: &str) -> bool {
    let is_key = |word: &str| KEYS.iter().any(|key| key.eq_ignore_ascii_case(word));
    let value = value.to_ascii_lowercase();
    name.split(['-', '_', '.']).any(is_key) || SCHEMES.iter().any(|s| value.starts_with(s))
}

/// What is wrong with headers, of which `key_header` is to hold the key. Values are not quoted:
/// they may be keys.
pub(super) fn faults(headers: &[(String, String)], key_header: Option<&str>) -> Vec<Misfit> {
    let mut faults = Vec::new();
    for (i, (name, value)) in headers.iter().enumerate() {
        let mut tell = |message: String, hint: &str| {
            faults.push(Misfit {
                message,
                hint: Some(hint.to_owned()),
            });
        };
        let is_same = |other: &str| other.eq_ignore_ascii_case(name);
        let earlier = headers.iter().take(i).find(|(other, _)| is_same(other));
        if !is_name(name) {
            let message = format!("{name:?} is no name of a header");
            tell(message, "names are letters, digits and -");
        } else if holds_key(name, value) || key_header.is_some_and(is_same) {
            let hint = "put the key into an environment variable: api_key_env names it, and \
                        api_key_header the header";
            tell(format!("`{name}` holds a key"), hint);
        } else if is_own(name) {
            tell(format!("`{name}` is set by farm itself"), "leave it out");
        } else if let Some((other, _)) = earlier {
            tell(
                format!("`{name}` is there as `{other}`"),
                "keep one of them",
            );
        }
        let is_plain = |b: u8| b == b'\t' || (b' '..=b'~').contains(&b);
        if !value.bytes().all(is_plain) {
            let message = format!("the value of `{name}` cannot be sent");
            tell(message, "values are printable ASCII on one line");
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_header_to_send_along() {
        let key = "put the key into an environment variable: api_key_env names it, and \
                   api_key_header the header";
        let table = [
            (("HTTP-Referer", "https://farm.example/"), String::new()),
            (("X-Title", "farm\tand more"), String::new()),
            (("x-empty", ""), String::new()),
            (
                ("a b", ""),
                "\"a b\" is no name of a header; names are letters, digits and -".to_owned(),
            ),
            (
                ("", ""),
                "\"\" is no name of a header; names are letters, digits and -".to_owned(),
            ),
            (
                ("Authorization", "sk-1"),
                format!("`Authorization` holds a key; {key}"),
            ),
            (
                ("X-API-Key", "sk-1"),
                format!("`X-API-Key` holds a key; {key}"),
            ),
            (
                ("x-secret", "sk-1"),
                format!("`x-secret` holds a key; {key}"),
            ),
            (
                ("Helicone-Auth", "sk-1"),
                format!("`Helicone-Auth` holds a key; {key}"),
            ),
            (
                ("Ocp-Apim-Subscription-Key", "1"),
                format!("`Ocp-Apim-Subscription-Key` holds a key; {key}"),
            ),
            (
                ("x-gate", "Bearer sk-1"),
                format!("`x-gate` holds a key; {key}"),
            ),
            (("x-author", "keyboard"), String::new()),
            (
                ("Content-Type", "text/plain"),
                "`Content-Type` is set by farm itself; leave it out".to_owned(),
            ),
            (
                ("x-title", "a\nb"),
                "the value of `x-title` cannot be sent; values are printable ASCII on one line"
                    .to_owned(),
            ),
            (
                ("x-title", "ä"),
                "the value of `x-title` cannot be sent; values are printable ASCII on one line"
                    .to_owned(),
            ),
        ];
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let said = |headers: &[(String, String)]| {
            let said = faults(headers, Some("X-Secret"));
            let said: Vec<String> = said
                .iter()
                .map(|m| format!("{}; {}", m.message, m.hint.as_deref().unwrap()))
                .collect();
            said.join("\n")
        };
        for (header, want) in table {
            assert_eq!(said(&[owned(header)]), want, "{header:?}");
        }
        let twice = [owned(("X-A", "1")), owned(("x-a", "2"))];
        assert_eq!(said(&twice), "`x-a` is there as `X-A`; keep one of them");
    }
}
