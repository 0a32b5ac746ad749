use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, Serializer};

use super::{CaseId, IdError, VariantName};

/// The name of one session: `variant/case/seed`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// The variant.
    pub variant: VariantName,
    /// The case.
    pub case: CaseId,
    /// The index of the repeat, from 0.
    pub seed: u64,
}

/// Why a text is no session key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not three parts, or the last is no number.
    #[error("{0:?} is not a session key: write VARIANT/CASE/SEED, such as scripted/arith-001/0")]
    Shape(String),
    /// A part is not a valid name.
    #[error(transparent)]
    Id(#[from] IdError),
}

impl SessionKey {
    /// Writes it as `VARIANT/CASE/SEED`: for serde's `serialize_with`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn as_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.variant, self.case, self.seed)
    }
}

impl FromStr for SessionKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let shape = || KeyError::Shape(text.to_owned());
        let parts: Vec<&str> = text.split('/').collect();
        let [variant, case, seed] = parts[..] else {
            return Err(shape());
        };
        Ok(Self {
            variant: VariantName::new(variant)?,
            case: CaseId::new(case)?,
            seed: seed.parse().map_err(|_| shape())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let key: SessionKey = "scripted/arith-001/11".parse().unwrap();
        assert_eq!(key.seed, 11);
        assert_eq!(key.to_string(), "scripted/arith-001/11");
        for bad in ["", "a/b", "a/b/c", "a/b/1/2", "a/../1", "a/b/-1"] {
            assert!(bad.parse::<SessionKey>().is_err(), "{bad}");
        }
    }
}
