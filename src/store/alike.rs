//! Groups of messages that say the same.

use std::collections::HashMap;

use crate::domain::{SessionId, shortened};

/// Characters of a message that are looked at and told.
const LONGEST: usize = 1000;

/// Errors that say the same but for numbers and ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alike {
    /// The message of the example.
    pub message: String,
    /// How many sessions.
    pub count: u64,
    /// The first of them in plan order.
    pub example: SessionId,
}

/// Messages by what they have in common.
#[derive(Debug, Default)]
pub(super) struct Groups {
    by_shape: HashMap<String, Alike>,
    shape: String,
}

impl Groups {
    /// Takes the message of one session; sessions come in plan order.
    pub fn add(&mut self, message: &str, session: SessionId) {
        let message = &*shortened(message, LONGEST);
        shape(message, &mut self.shape);
        match self.by_shape.get_mut(&self.shape) {
            Some(group) => group.count += 1,
            None => {
                let group = Alike {
                    message: message.to_owned(),
                    count: 1,
                    example: session,
                };
                self.by_shape.insert(self.shape.clone(), group);
            }
        }
    }

    /// Most frequent first, then as they came.
    pub fn sorted(self) -> Vec<Alike> {
        let mut groups: Vec<Alike> = self.by_shape.into_values().collect();
        groups.sort_by_key(|g| (std::cmp::Reverse(g.count), g.example));
        groups
    }
}

/// Writes `message` with `#` for every number and every id, such as that of a request: messages that
/// say the same give the same text.
pub fn shape(message: &str, out: &mut String) {
    out.clear();
    let is_apart = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    for part in message.split_inclusive(is_apart) {
        let (word, apart) = match part.strip_suffix(is_apart) {
            Some(word) => part.split_at(word.len()),
            None => (part, ""),
        };
        if is_id(word) {
            out.push('#');
        } else {
            let digit = |c: char| c.is_ascii_digit();
            for (i, letters) in word.split(digit).enumerate() {
                // Between two digits there is nothing: a number is one mark.
                if i > 0 && !out.ends_with('#') {
                    out.push('#');
                }
                out.push_str(letters);
            }
        }
        out.push_str(apart);
    }
}

/// Digits among the letters of a long word: a digest, a UUID, a random name.
fn is_id(word: &str) -> bool {
    let has_digit = word.bytes().any(|b| b.is_ascii_digit());
    let is_hex = word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let is_plain = word.bytes().all(|b| b.is_ascii_alphanumeric());
    has_digit && (is_hex && word.len() >= 8 || is_plain && word.len() >= 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_numbers_and_ids_is_alike() {
        for (message, want) in [
            ("", ""),
            ("the case has no sealed half", "the case has no sealed half"),
            ("7", "#"),
            ("panicked in turn 12", "panicked in turn #"),
            ("no answer in 600.25 s", "no answer in #.# s"),
            ("a1b22c", "a#b#c"),
            ("gpt-4o-mini is not there", "gpt-#o-mini is not there"),
            ("request 8f3ac9e0 failed", "request # failed"),
            (
                "id 6f1c2f0e-9a59-4dcb-abcd-0242ac120002: gone",
                "id #: gone",
            ),
            ("(req_011CSHoEeqs5C35K2UUq)", "(req_#)"),
            ("facade decade", "facade decade"),
            (
                "nach 3 Versuchen: größer als 5 µs",
                "nach # Versuchen: größer als # µs",
            ),
            ("2026-12-01T02:00:01Z late", "#-#-#T#:#:#Z late"),
        ] {
            let mut out = "left over".to_owned();
            shape(message, &mut out);
            assert_eq!(out, want, "{message}");
        }
    }

    #[test]
    fn the_most_frequent_comes_first() {
        let mut groups = Groups::default();
        for (session, message) in (0..).zip(["once", "try 1", "also once", "try 22", "try 3"]) {
            groups.add(message, SessionId(session));
        }
        let sorted: Vec<_> = groups
            .sorted()
            .into_iter()
            .map(|g| (g.message, g.count, g.example.0))
            .collect();
        let want = [("try 1", 3, 1), ("once", 1, 0), ("also once", 1, 2)];
        assert_eq!(sorted, want.map(|(m, n, id)| (m.to_owned(), n, id)));
    }
}
