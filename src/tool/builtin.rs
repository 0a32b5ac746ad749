use std::sync::Arc;

use cap_std::fs::Dir;

use super::{
    DEFAULT_MAX_BYTES, FileRead, Registry, RegistryError, WebFetch, calculator::Calculator,
};

/// The names of the tools that come with farm.
pub const BUILTIN: [&str; 3] = [Calculator::NAME, FileRead::NAME, WebFetch::NAME];

/// What can be chosen about them.
#[derive(Debug, Clone)]
pub struct BuiltinOptions {
    /// Largest file that `file_read` reads, in bytes.
    pub file_read_max_bytes: u64,
    /// The canned pages that `web_fetch` answers from: `HOST/PATH`, one file a page.
    pub pages: Option<Arc<Dir>>,
}

impl Default for BuiltinOptions {
    fn default() -> Self {
        Self {
            file_read_max_bytes: DEFAULT_MAX_BYTES,
            pages: None,
        }
    }
}

/// A registry of the tools that come with farm.
///
/// # Errors
/// None that a test of this crate would not show.
pub fn builtin(options: &BuiltinOptions) -> Result<Registry, RegistryError> {
    let mut registry = Registry::default();
    registry.add(Arc::new(Calculator::default()))?;
    registry.add(Arc::new(FileRead::new(options.file_read_max_bytes)))?;
    registry.add(Arc::new(WebFetch::new(options.pages.clone())))?;
    Ok(registry)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_is_there_and_says_what_a_model_needs() {
        let registry = builtin(&BuiltinOptions::default()).unwrap();
        assert_eq!(registry.names().collect::<Vec<_>>(), BUILTIN);
        let tools = registry.select(BUILTIN).unwrap();
        for name in BUILTIN {
            let spec = tools.get(name).unwrap().spec();
            assert!(spec.resumable);
            assert!(spec.description.contains("Limits:") && spec.description.contains("Errors"));
            let parameters = &spec.parameters;
            assert_eq!(parameters["type"], "object");
            assert_eq!(parameters["additionalProperties"], Value::Bool(false));
            assert!(parameters.get("title").is_none() && parameters.get("$schema").is_none());
            for (_, property) in parameters["properties"].as_object().unwrap() {
                let said = property["description"].as_str().unwrap();
                assert!(
                    said.contains("Example: ") && said.contains("at most"),
                    "{name}: {said}"
                );
            }
        }
    }
}
