//! The calculator's pure core: arithmetic with Python's results, and nothing else.
//!
//! Decimal literals (`42`, `1_000`, `.5`, `1e-3`), `+ - * / // % **`, signs, parentheses, blanks
//! (space and tab). No names, calls, comparisons or bit operations exist in the grammar, so nothing
//! can be reached through it. Integers are exact, floats are IEEE doubles, and the value prints as
//! Python's `repr` would. What Python answers with `inf` or a complex number is an error here.
//!
//! `parse` reads the whole text before `eval` computes anything, so a text that is not an expression
//! is a `syntax` error whatever it would have computed. `explain` words those errors for the language
//! model that has to mend them.

mod error;
mod eval;
mod explain;
mod literal;
mod parse;
mod repr;
#[cfg(test)]
mod tests;
mod tool;

use std::fmt;

use num_bigint::BigInt;

pub use error::{CalcError, CalcErrorKind};
pub use tool::Calculator;

/// Longest expression that is read, in bytes.
pub const MAX_BYTES: usize = 4096;

/// Deepest nesting: parentheses, signs and right sides of `**` count one each.
pub const MAX_DEPTH: usize = 64;

/// Largest integer, also in between: bits of its magnitude (1233 decimal digits always fit).
pub const MAX_INT_BITS: u64 = 4096;

/// What an expression is worth. Its `Display` is Python's `repr`: `391`, `2.5`, `1e+16`, `-0.0`.
#[derive(Debug, Clone, PartialEq)]
pub enum Number {
    /// An exact integer of at most [`MAX_INT_BITS`] bits.
    Int(BigInt),
    /// A finite double.
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(value) => value.fmt(f),
            Number::Float(value) => f.write_str(&repr::repr(*value)),
        }
    }
}

/// Computes `expr` as Python would.
///
/// ```
/// use farm::tool::calculator::evaluate;
/// assert_eq!(evaluate("17*23").unwrap().to_string(), "391");
/// assert_eq!(evaluate("2**-1").unwrap().to_string(), "0.5");
/// assert!(evaluate("50%").unwrap_err().message.contains("write `/100`"));
/// ```
///
/// # Errors
/// `too_long` and `too_deep` beyond [`MAX_BYTES`] and [`MAX_DEPTH`]; `syntax` for anything outside
/// the grammar; `div_zero`; `too_large` for an integer beyond [`MAX_INT_BITS`]; `overflow` for a
/// float beyond the range of doubles, or an integer that would have to become one; `domain` for a
/// fractional power of a negative number.
pub fn evaluate(expr: &str) -> Result<Number, CalcError> {
    if expr.len() > MAX_BYTES {
        return Err(CalcError {
            kind: CalcErrorKind::TooLong,
            message: format!(
                "the expression is {} bytes long, at most {MAX_BYTES} are read: compute it in parts",
                expr.len()
            ),
            at: None,
        });
    }
    eval::eval(parse::parse(expr)?, expr)
}
