//! Whether the public half gives an answer away.

use super::{
    numbers,
    sealed::{Check, Expect, SealedSuite},
};
use crate::domain::CaseId;

/// Shorter answers stand anywhere by chance.
const SHORTEST: usize = 5;

impl SealedSuite {
    /// Where `texts` of the public half of a case, each with the name of its place, hold word for
    /// word what is sealed: the text of `answer_equals` and `answer_contains`, the number of
    /// `answer_number` in any spelling, and the canary. Only what is five characters or longer is
    /// looked for, and no check with `not`. Each finding names the place and the check.
    #[must_use]
    pub fn leaks(&self, case: &CaseId, texts: &[(String, &str)]) -> Vec<String> {
        let Some(case) = self.cases.get(case) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (place, text) in texts {
            let holding = case.checks.iter().filter(|check| gives_away(check, text));
            found.extend(
                holding.map(|check| format!("{place} holds the answer of check `{}`", check.name)),
            );
            if case.canary.as_deref().is_some_and(|c| holds(text, c)) {
                found.push(format!("{place} holds the canary"));
            }
        }
        found
    }
}

fn gives_away(check: &Check, text: &str) -> bool {
    match &check.expect {
        _ if check.not => false,
        Expect::AnswerEquals { text: answer } | Expect::AnswerContains { text: answer } => {
            holds(text, answer)
        }
        Expect::AnswerNumber { equals, .. } => numbers::all(text).any(|(spelling, number)| {
            number == *equals && spelling.trim_end_matches(',').chars().count() >= SHORTEST
        }),
        _ => false,
    }
}

/// Whether `words` stand in a text, not as part of longer words.
fn holds(text: &str, words: &str) -> bool {
    let words = words.trim();
    let is_joined = |one: Option<char>, other: Option<char>| {
        one.is_some_and(char::is_alphanumeric) && other.is_some_and(char::is_alphanumeric)
    };
    words.chars().count() >= SHORTEST
        && text.match_indices(words).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + words.len()..].chars().next();
            !is_joined(before, words.chars().next()) && !is_joined(words.chars().next_back(), after)
        })
}
