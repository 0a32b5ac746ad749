//! What the page may do: nothing that is not in it.

use sha2::{Digest, Sha256};

use super::escape::base64;

/// The content security policy of a page with this one style and this one script, each known by its
/// digest. Images are those that stand in the page itself.
pub(super) fn policy(style: &str, script: &str) -> String {
    let digest = |text: &str| base64(&Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; \
         base-uri 'none'; form-action 'none'",
        digest(style),
        digest(script)
    )
}

#[cfg(test)]
mod tests {
    /// `printf 'a' | openssl dgst -sha256 -binary | base64`
    #[test]
    fn style_and_script_are_known_by_their_digest() {
        let policy = super::policy("a", "");
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        for part in [
            "style-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='",
            "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
    }
}
