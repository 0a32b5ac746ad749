//! Why a text is not an expression, and how to mend it.
//!
//! The parser calls in here at the first character that the grammar has no place for; all before it
//! is sound. Language models write units, thousands separators and percentages all the time, so the
//! usual slips get advice of their own.

use super::error::{CalcError, CalcErrorKind, Fault};
use super::parse::{BLANKS, Operator};

/// All there is, for whoever wrote something else.
const ALLOWED: &str =
    "only decimal numbers, the operators + - * / // % ** and parentheses are allowed";

/// The error for what stands at byte `at` of `source`, where a number, a sign or `(` should.
pub(super) fn operand(source: &str, at: usize) -> CalcError {
    let (_, rest) = around(source, at);
    let next = match rest.chars().next() {
        Some(next) if next != ')' && Operator::leading(rest).is_none() => next,
        _ => return missing_operand(source, at),
    };
    let name = leading_name(rest);
    let fault = if name.is_empty() {
        stray(source, at, next)
    } else if rest.strip_prefix(name).is_some_and(is_called) {
        function(name)
    } else {
        let advice = match name {
            "pi" | "PI" | "Pi" | "π" => "only numbers are allowed; write 3.141592653589793",
            "e" | "E" => "only numbers are allowed; write 2.718281828459045",
            _ => "only numbers are allowed; write its value in its place",
        };
        Fault::syntax(format!("unknown name `{}`", shortened(name)), advice)
    };
    fault.at(source, at)
}

/// The error for `next`, which stands at byte `at` of `source`, behind an operand, where an operator
/// or the end should.
pub(super) fn operator(source: &str, at: usize, next: char) -> CalcError {
    let name = leading_name(around(source, at).1);
    let fault = match next {
        ')' => Fault::syntax("unmatched `)`", "remove it or add the missing `(`"),
        '(' => Fault::syntax("missing operator before `(`", "write `*` to multiply"),
        '.' => Fault::syntax("unexpected `.`", "a number has one decimal point"),
        '_' => Fault::syntax(
            "misplaced `_`",
            "it may only stand between two digits; leave it out",
        ),
        '0'..='9' => Fault::syntax(
            "missing operator before a number",
            "write an operator there, or one number without blanks in it",
        ),
        _ if !name.is_empty() => behind_operand(name),
        _ => stray(source, at, next),
    };
    fault.at(source, at)
}

/// Nothing to compute with: the text ended, or `)` or an operator came too early.
fn missing_operand(source: &str, at: usize) -> CalcError {
    let (before, rest) = around(source, at);
    let done = before.trim_end_matches(BLANKS);
    let last = Operator::trailing(done);
    if let Some((Operator::Modulo, percent)) = last {
        return Fault::syntax(
            "`%` without a number on its right",
            "it is the modulo operator; for a percentage write `/100`",
        )
        .at(source, percent);
    }
    if let Some((next, _)) = Operator::leading(rest) {
        let advice = match last {
            Some((last, _)) if last == next && last == Operator::Multiply => {
                "write a power as `**`, without a blank in it"
            }
            Some((last, _)) if last == next && last == Operator::Divide => {
                "write a floor division as `//`, without a blank in it"
            }
            _ => "a number is missing before it",
        };
        return Fault::syntax(format!("unexpected `{next}`"), advice).at(source, at);
    }
    match last {
        Some((last, offset)) => Fault::syntax(
            format!("`{last}` without a number on its right"),
            "add the number or remove the operator",
        )
        .at(source, offset),
        None if done.ends_with('(') => Fault::syntax(
            "`(` without a number behind it",
            "put an expression in the parentheses",
        )
        .at(source, done.len() - 1),
        None if rest.is_empty() => CalcError {
            message: "the expression is empty: write one such as `17 * 23`".to_owned(),
            kind: CalcErrorKind::Syntax,
            at: None,
        },
        None => Fault::syntax("unmatched `)`", "remove it or add the missing `(`").at(source, at),
    }
}

/// A name or word that stands where an operator should.
fn behind_operand(name: &str) -> Fault {
    let multiplies = name
        .strip_prefix(['x', 'X'])
        .is_some_and(|tail| tail.chars().all(|c| c.is_ascii_digit()));
    let advice = match name {
        _ if multiplies => "write `*` to multiply; numbers are decimal only",
        "times" => "write `*` to multiply",
        "mod" => "write `%` for modulo",
        "div" => "write `//` for floor division",
        "percent" => "write `/100` for a percentage",
        "e" | "E" => "an exponent needs digits, as in `1e5`",
        _ => {
            "only decimal numbers are allowed; leave out units and words, and write `*` to multiply"
        }
    };
    Fault::syntax(format!("unexpected `{}`", shortened(name)), advice)
}

fn function(name: &str) -> Fault {
    let advice = match name {
        "sqrt" => "there are no functions; write a square root as `(…)**0.5`",
        "pow" => "there are no functions; write a power as `a**b`",
        _ => "there are no functions, only numbers, + - * / // % ** and parentheses",
    };
    Fault::syntax(format!("unknown function `{}`", shortened(name)), advice)
}

/// A character that has no place in any expression.
fn stray(source: &str, at: usize, character: char) -> Fault {
    let advice = match character {
        ',' => return comma(source, at),
        '^' => "write `**` for powers",
        '×' | '·' | '⋅' | '∙' | '∗' | '✕' | '✖' | '•' => "write `*` to multiply",
        '÷' | '∕' | '⁄' | ':' => "write `/` to divide",
        '−' | '–' | '—' | '‐' | '‑' => "write `-` for minus",
        '=' => "give only an expression, without `=`",
        '<' | '>' | '≤' | '≥' | '≠' | '≈' => {
            "there are no comparisons; give only an expression"
        }
        '$' | '€' | '£' | '¥' | '₹' | '¢' => "leave out currency signs",
        '‰' => "write `/1000`",
        '√' => "write a square root as `(…)**0.5`",
        '!' => "there is no factorial; write the product",
        '[' | ']' | '{' | '}' => "use parentheses ( )",
        '"' | '\'' | '`' => "leave out quotes",
        '\\' => "LaTeX is not read; write `*` to multiply and `/` to divide",
        '²' => "write `**2`",
        '³' => "write `**3`",
        '\n' | '\r' => "write the expression on one line",
        _ if is_invisible(character) => "remove it, or use an ordinary blank",
        _ if character.is_numeric() => "write numbers with the digits 0 to 9",
        _ => ALLOWED,
    };
    let shown = match character {
        '\n' | '\r' => "line break".to_owned(),
        _ if is_invisible(character) => {
            format!("invisible character U+{:04X}", u32::from(character))
        }
        _ => format!("`{character}`"),
    };
    Fault::syntax(format!("unexpected {shown}"), advice)
}

/// A comma: most often it groups thousands, and then the number without it is known.
fn comma(source: &str, at: usize) -> Fault {
    let (before, rest) = around(source, at);
    let not_digit = |c: char| !c.is_ascii_digit();
    let head = before.rsplit(not_digit).next().unwrap_or_default();
    let tail = rest
        .split(|c: char| not_digit(c) && c != ',' && c != '.')
        .next()
        .unwrap_or_default();
    let whole = tail.split('.').next().unwrap_or_default();
    let is_grouped = !head.is_empty()
        && !head.starts_with('0')
        && whole.split(',').skip(1).all(|group| group.len() == 3);
    let advice = if is_grouped {
        let number = format!("{head}{tail}").replace(',', "");
        format!(
            "leave out thousands separators; write `{}`",
            shortened(&number)
        )
    } else {
        "leave out thousands separators, write a decimal point as `.`, and give one expression"
            .to_owned()
    };
    Fault::syntax("unexpected `,`", advice)
}

/// `source` before and from byte `at`.
fn around(source: &str, at: usize) -> (&str, &str) {
    source.split_at_checked(at).unwrap_or((source, ""))
}

/// The letters, digits and underscores that `text` starts with; empty if it starts with no letter or
/// underscore.
fn leading_name(text: &str) -> &str {
    if !text.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return "";
    }
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    text.split_at_checked(end).map_or(text, |(name, _)| name)
}

/// Whether what follows a name calls it.
fn is_called(rest: &str) -> bool {
    rest.trim_start_matches(BLANKS).starts_with('(')
}

fn is_invisible(character: char) -> bool {
    character.is_whitespace() || crate::domain::is_unseen(character)
}

/// `text`, cut where it would fill a message.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    crate::domain::shortened(text, LONGEST)
}
