//! Whether the public half gives an answer away.

use std::collections::BTreeSet;

use super::{
    numbers,
    sealed::{Check, Expect, SealedCase, SealedSuite},
};
use crate::domain::CaseId;

/// Shorter answers stand anywhere by chance.
const SHORTEST: usize = 5;

impl SealedSuite {
    /// Where `texts` of the public half of a case, each with the name of its place, hold word for
    /// word what is sealed: the text of `answer_equals` and `answer_contains`, and the number of
    /// `answer_number` in any spelling. Only what is five characters or longer is
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
        }
        found
    }

    /// Whether any case has a canary.
    #[must_use]
    pub fn has_canaries(&self) -> bool {
        !self.canaries.is_empty()
    }

    /// Whether a text holds the canary of any case, as a part of a word too. Canaries of fewer than
    /// five characters are not looked for.
    #[must_use]
    pub fn holds_canary(&self, text: &str) -> bool {
        self.canaries.iter().any(|canary| text.contains(canary))
    }
}

/// The canaries of all cases that are long enough to be looked for, each once.
pub(super) fn canaries<'a>(cases: impl Iterator<Item = &'a SealedCase>) -> BTreeSet<String> {
    let all = cases.filter_map(|case| case.canary.as_deref());
    all.map(str::trim)
        .filter(|canary| canary.chars().count() >= SHORTEST)
        .map(str::to_owned)
        .collect()
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
