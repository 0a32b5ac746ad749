use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What answered, as the reply itself says: an endpoint may serve another model, or another build
/// of it, than was asked for.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
pub struct Served {
    /// `model` of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `provider`: who stands behind a router.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// `system_fingerprint`: the build and settings of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl Served {
    /// Whether the reply says nothing of it.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}
