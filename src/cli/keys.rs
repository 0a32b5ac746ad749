//! Keys, as the environment holds them.

use std::env::{self, VarError};

use secrecy::SecretString;

/// The key in an environment variable, without surrounding blanks.
///
/// # Errors
/// What is the matter with the variable: it `is not set`.
pub(super) fn key(name: &str) -> Result<SecretString, &'static str> {
    match env::var(name) {
        Ok(key) if !key.trim().is_empty() => Ok(key.trim().into()),
        Ok(_) => Err("is empty"),
        Err(VarError::NotPresent) => Err("is not set"),
        Err(VarError::NotUnicode(_)) => Err("is not text"),
    }
}
