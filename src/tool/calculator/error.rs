//! What can be wrong with an expression, worded for the language model that wrote it.

use std::fmt;

use serde::Serialize;

/// The kinds of [`CalcError`]; a kind is written as in `too_large`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CalcErrorKind {
    /// The text is not an expression of the grammar.
    Syntax,
    /// The text is longer than [`MAX_BYTES`](super::MAX_BYTES).
    TooLong,
    /// The text nests deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    TooDeep,
    /// Division or modulo by zero, or zero to a negative power.
    DivZero,
    /// A float out of range, or an integer out of range that has to become a float.
    Overflow,
    /// An integer of more than [`MAX_INT_BITS`](super::MAX_INT_BITS) bits.
    TooLarge,
    /// No real number: a negative number to a fractional power.
    Domain,
}

impl fmt::Display for CalcErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "syntax",
            Self::TooLong => "too_long",
            Self::TooDeep => "too_deep",
            Self::DivZero => "div_zero",
            Self::Overflow => "overflow",
            Self::TooLarge => "too_large",
            Self::Domain => "domain",
        })
    }
}

/// Why an expression has no value. Displays as `kind: message`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct CalcError {
    /// What sort of error it is.
    pub kind: CalcErrorKind,
    /// What is wrong, at which character (counted from 1), and what to do about it.
    pub message: String,
    /// Where: byte offset into the expression, on a character boundary; `None` when it is about the
    /// whole text.
    pub at: Option<usize>,
}

/// An error that does not know its place yet.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: CalcErrorKind,
    /// What is wrong; the place is put behind it.
    pub(super) what: String,
    /// What to do about it.
    pub(super) advice: String,
}

impl Fault {
    pub(super) fn new(
        kind: CalcErrorKind,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            what: what.into(),
            advice: advice.into(),
        }
    }

    pub(super) fn syntax(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(CalcErrorKind::Syntax, what, advice)
    }

    /// Places the fault at byte `offset` of `source`.
    pub(super) fn at(self, source: &str, offset: usize) -> CalcError {
        let character = 1 + source.get(..offset).unwrap_or(source).chars().count();
        CalcError {
            kind: self.kind,
            message: format!("{} at character {character}: {}", self.what, self.advice),
            at: Some(offset),
        }
    }
}
