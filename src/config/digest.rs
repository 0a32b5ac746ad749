//! SHA-256 as hex.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    domain::hex,
    error::{Context, Result},
};

/// SHA-256 of some bytes, in lower-case hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256, in lower-case hex, of the RFC 8785 form of a value: equal values have equal digests
/// whatever the order of their keys. RFC 8785 knows numbers as 64-bit floats only, so integers
/// beyond 2^53 belong in texts.
///
/// # Errors
/// Internal, when the value has no such form.
pub fn digest(value: &Value) -> Result<String> {
    let canonical =
        serde_json_canonicalizer::to_vec(value).internal(|| "canonical JSON".to_owned())?;
    Ok(sha256_hex(&canonical))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let a: Value = serde_json::from_str(r#"{"a":1,"b":[2.50]}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"b":[2.5],"a":1}"#).unwrap();
        assert_eq!(digest(&a).unwrap(), digest(&b).unwrap());
        assert_eq!(digest(&a).unwrap(), sha256_hex(br#"{"a":1,"b":[2.5]}"#));
        assert_eq!(
            sha256_hex(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
