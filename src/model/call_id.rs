//! Call ids that are unique where they have to be.

use std::collections::HashSet;

/// The call ids that are taken so far.
#[derive(Debug, Clone, Default)]
pub(super) struct CallIds(HashSet<String>);

impl CallIds {
    /// Takes `wanted` if it is not empty and still free, else `fallback`, lengthened until it is
    /// free.
    pub(super) fn take(&mut self, wanted: &str, fallback: impl FnOnce() -> String) -> String {
        let mut id = wanted.to_owned();
        if id.is_empty() || self.0.contains(&id) {
            id = fallback();
            while self.0.contains(&id) {
                id.push('_');
            }
        }
        self.0.insert(id.clone());
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_or_empty_id_is_replaced() {
        let mut ids = CallIds::default();
        let mut take = |wanted| ids.take(wanted, || "call_0".into());
        assert_eq!(take("a"), "a");
        assert_eq!(take("a"), "call_0");
        assert_eq!(take(""), "call_0_");
        assert_eq!(take("call_0"), "call_0__");
    }
}
