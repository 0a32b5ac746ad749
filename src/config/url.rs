//! The address of an endpoint.

use super::kinds::Misfit;

/// What farm puts behind the address.
const CALL: &str = "/chat/completions";

/// The address without a slash at its end, scheme and host in lower case.
///
/// # Errors
/// When it is none, or holds what does not belong there. The text is not quoted: it may hold a key.
pub(super) fn base_url(text: &str) -> Result<String, Misfit> {
    let wrong = |message: &str, hint: &str| {
        Err(Misfit {
            message: message.to_owned(),
            hint: Some(hint.to_owned()),
        })
    };
    let form = "write an address such as \"https://openrouter.ai/api/v1\"";
    if !text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
        return wrong("is no URL: it holds blanks or other than ASCII", form);
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong(
            "is no URL: it does not begin with http:// or https://",
            form,
        );
    };
    let scheme = scheme.to_ascii_lowercase();
    if !["http", "https"].contains(&scheme.as_str()) {
        return wrong("is no http or https URL", form);
    }
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    // An `@`, `?` or `#` of the path is no user, but nothing that an address has either.
    for (mark, what) in [
        ('@', "a user or password"),
        ('?', "a query"),
        ('#', "a fragment"),
    ] {
        if rest.contains(mark) {
            let message = format!("must not have {what}");
            return wrong(
                &message,
                "put the key into the variable that api_key_env names",
            );
        }
    }
    if !is_authority(authority) {
        return wrong("is no URL: its host or port is none", form);
    }
    let path = path.trim_end_matches('/');
    if path.ends_with(CALL) {
        let message = format!("ends with {CALL}");
        return wrong(&message, "leave that out: farm adds it");
    }
    Ok(format!(
        "{scheme}://{}{path}",
        authority.to_ascii_lowercase()
    ))
}

/// `host`, `host:port`, `[::1]` or `[::1]:port`.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => {
            let is_address = host.parse::<std::net::Ipv6Addr>().is_ok();
            (is_address, port)
        }
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
            (!host.is_empty() && host.bytes().all(is_part), port)
        }
    };
    let is_port = |port: &str| {
        let is_plain = port.bytes().all(|b| b.is_ascii_digit());
        is_plain && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let form = "; write an address such as \"https://openrouter.ai/api/v1\"";
        let key = "; put the key into the variable that api_key_env names";
        let table = [
            ("https://api.example/v1", "https://api.example/v1"),
            ("HTTPS://Api.Example/V1///", "https://api.example/V1"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
            ("http://localhost", "http://localhost"),
            ("", "is no URL: it does not begin"),
            (
                "api.example/v1",
                "is no URL: it does not begin with http:// or https://",
            ),
            ("ftp://api.example", "is no http or https URL"),
            ("https:// api", "is no URL: it holds blanks"),
            ("https://äpi", "is no URL: it holds blanks"),
            ("https://a\\b", "is no URL: it holds blanks"),
            ("https://", "is no URL: its host or port is none"),
            ("https:///v1", "is no URL: its host or port is none"),
            ("https://a:0/v1", "is no URL: its host or port is none"),
            ("https://a:65536", "is no URL: its host or port is none"),
            ("https://a:+1", "is no URL: its host or port is none"),
            ("https://a:b", "is no URL: its host or port is none"),
            ("https://[::1", "is no URL: its host or port is none"),
            ("https://[::1]x", "is no URL: its host or port is none"),
            ("https://a%41/v1", "is no URL: its host or port is none"),
            (
                "https://me:sk-1@api.example/v1",
                "must not have a user or password",
            ),
            ("https://api.example/v1?key=sk-1", "must not have a query"),
            ("https://api.example/v1#sk-1", "must not have a fragment"),
            (
                "https://api.example/v1/chat/completions/",
                "ends with /chat/completions; leave that out: farm adds it",
            ),
        ];
        for (text, want) in table {
            let got = match base_url(text) {
                Ok(url) => url,
                Err(e) => format!("{}; {}", e.message, e.hint.unwrap()),
            };
            assert!(got.starts_with(want), "{text}: {got}");
            assert!(!got.contains("sk-1"), "{got}");
            if want.starts_with("must not") {
                assert!(got.ends_with(key), "{got}");
            } else if want.starts_with("is no") {
                assert!(got.ends_with(form), "{got}");
            }
        }
    }
}
