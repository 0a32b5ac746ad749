//! The calculator as a whole: the golden table, the wording of errors, and that nothing panics.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde::Deserialize;

use super::{CalcError, CalcErrorKind, MAX_BYTES, Number, evaluate};

#[derive(Deserialize)]
struct Row {
    expr: String,
    ok: bool,
    r#type: Option<String>,
    value: Option<String>,
    error: Option<String>,
}

/// The values in the table are CPython's own.
#[test]
fn golden_calculator() {
    let folder = std::env::var_os("FARM_GOLDEN").map(PathBuf::from);
    let own = folder.is_none();
    let folder =
        folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"));
    let table = std::fs::read_to_string(folder.join("calculator.jsonl")).unwrap();
    let mut rows = 0;
    let mut wrong = Vec::new();
    for (line, text) in table.lines().enumerate() {
        let row: Row = serde_json::from_str(text).unwrap();
        let expected = if row.ok {
            (row.r#type.unwrap(), row.value.unwrap())
        } else {
            ("error".to_owned(), row.error.unwrap())
        };
        let result = match evaluate(&row.expr) {
            Ok(value @ Number::Int(_)) => ("int".to_owned(), value.to_string()),
            Ok(value @ Number::Float(_)) => ("float".to_owned(), value.to_string()),
            Err(error) => ("error".to_owned(), error.kind.to_string()),
        };
        if result != expected {
            wrong.push(format!("line {}: {result:?}, not {expected:?}", line + 1));
        }
        rows += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if own {
        assert_eq!(rows, 248);
    } else {
        assert!(rows > 0);
    }
}

fn error(expr: &str) -> CalcError {
    evaluate(expr).expect_err(expr)
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    for (expr, message) in [
        ("", "the expression is empty: write one such as `17 * 23`"),
        (
            "3,650*10/100",
            "unexpected `,` at character 2: leave out thousands separators; write `3650`",
        ),
        (
            "2 * 1,234,567.50",
            "unexpected `,` at character 6: leave out thousands separators; write `1234567.50`",
        ),
        (
            "max(1,2)",
            "unknown function `max` at character 1: there are no functions, only numbers, + - * / // % ** and parentheses",
        ),
        (
            "0,125*8",
            "unexpected `,` at character 2: leave out thousands separators, write a decimal point as `.`, and give one expression",
        ),
        (
            "1,5",
            "unexpected `,` at character 2: leave out thousands separators, write a decimal point as `.`, and give one expression",
        ),
        (
            "50%",
            "`%` without a number on its right at character 3: it is the modulo operator; for a percentage write `/100`",
        ),
        (
            "50000*5%",
            "`%` without a number on its right at character 8: it is the modulo operator; for a percentage write `/100`",
        ),
        (
            "(5% ) * 2",
            "`%` without a number on its right at character 3: it is the modulo operator; for a percentage write `/100`",
        ),
        (
            "2*L/10*20",
            "unknown name `L` at character 3: only numbers are allowed; write its value in its place",
        ),
        (
            "2*pi",
            "unknown name `pi` at character 3: only numbers are allowed; write 3.141592653589793",
        ),
        (
            "sqrt (4)",
            "unknown function `sqrt` at character 1: there are no functions; write a square root as `(…)**0.5`",
        ),
        (
            "2^10",
            "unexpected `^` at character 2: write `**` for powers",
        ),
        (
            "17 × 23",
            "unexpected `×` at character 4: write `*` to multiply",
        ),
        (
            "17 x 23",
            "unexpected `x` at character 4: write `*` to multiply; numbers are decimal only",
        ),
        ("6÷2", "unexpected `÷` at character 2: write `/` to divide"),
        ("5−3", "unexpected `−` at character 2: write `-` for minus"),
        (
            "2+2=",
            "unexpected `=` at character 4: give only an expression, without `=`",
        ),
        (
            "$5",
            "unexpected `$` at character 1: leave out currency signs",
        ),
        (
            "5 km",
            "unexpected `km` at character 3: only decimal numbers are allowed; leave out units and words, and write `*` to multiply",
        ),
        (
            "1+２",
            "unexpected `２` at character 3: write numbers with the digits 0 to 9",
        ),
        (
            "1\u{200b}+2",
            "unexpected invisible character U+200B at character 2: remove it, or use an ordinary blank",
        ),
        (
            "1+1\n2",
            "unexpected line break at character 4: write the expression on one line",
        ),
        (
            "1 000",
            "missing operator before a number at character 3: write an operator there, or one number without blanks in it",
        ),
        (
            "3(4)",
            "missing operator before `(` at character 2: write `*` to multiply",
        ),
        (
            "2 * * 3",
            "unexpected `*` at character 5: write a power as `**`, without a blank in it",
        ),
        (
            "*2",
            "unexpected `*` at character 1: a number is missing before it",
        ),
        (
            "2 ** ",
            "`**` without a number on its right at character 3: add the number or remove the operator",
        ),
        ("((1)", "unclosed `(` at character 1: add the missing `)`"),
        (
            "1)",
            "unmatched `)` at character 2: remove it or add the missing `(`",
        ),
        (
            ")",
            "unmatched `)` at character 1: remove it or add the missing `(`",
        ),
        (
            "2*()",
            "`(` without a number behind it at character 3: put an expression in the parentheses",
        ),
        (
            "007",
            "integer with leading zeros at character 1: write `7`",
        ),
        (
            "1.2.3",
            "unexpected `.` at character 4: a number has one decimal point",
        ),
        (
            "1__0",
            "misplaced `_` at character 2: it may only stand between two digits; leave it out",
        ),
        (
            "1;2",
            "unexpected `;` at character 2: only decimal numbers, the operators + - * / // % ** and parentheses are allowed",
        ),
        (
            "7//(2-2)",
            "division by zero at character 2: the right side of `//` is 0; correct it",
        ),
        (
            "0**-1",
            "zero to a negative power at character 2: that divides by zero; change the base or the exponent",
        ),
        (
            "1+1e400",
            "number out of range at character 3: floats end near 1.8e308; use smaller numbers, or integers only, with `//` for division",
        ),
        (
            "10**400*1.0",
            "integer too large for a float at character 8: floats end near 1.8e308; use smaller numbers, or integers only, with `//` for division",
        ),
        (
            "9**9**9",
            "result of `**` too large at character 2: integers end at 4096 bits (1233 digits); use smaller numbers or floats",
        ),
        (
            "(-8)**(1/3)",
            "negative number to a fractional power at character 5: the result is not a real number; make the base positive or the exponent whole",
        ),
    ] {
        assert_eq!(error(expr).message, message, "{expr}");
    }
}

#[test]
fn errors_about_the_whole_text_have_no_place() {
    assert_eq!(error("  ").at, None);
    let error = error(&"1".repeat(MAX_BYTES + 1));
    assert_eq!((error.kind, error.at), (CalcErrorKind::TooLong, None));
    assert_eq!(
        error.to_string(),
        "too_long: the expression is 4097 bytes long, at most 4096 are read: compute it in parts"
    );
}

#[test]
fn places_are_byte_offsets_in_errors_and_characters_in_messages() {
    let error = error("1 + « 2");
    assert_eq!(error.at, Some(4));
    let error = super::evaluate("1\u{a0}+2").unwrap_err();
    assert_eq!(error.at, Some(1));
    assert!(error.message.contains("U+00A0 at character 2"), "{error}");
}

#[test]
fn kinds_serialise_as_they_display() {
    for kind in [
        CalcErrorKind::Syntax,
        CalcErrorKind::TooLong,
        CalcErrorKind::TooDeep,
        CalcErrorKind::DivZero,
        CalcErrorKind::Overflow,
        CalcErrorKind::TooLarge,
        CalcErrorKind::Domain,
    ] {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.to_string());
    }
}

#[test]
fn everything_is_read_before_anything_is_computed() {
    for expr in ["1/0+", "1/0 $", "1e400+x", "2**9999 )"] {
        assert_eq!(error(expr).kind, CalcErrorKind::Syntax, "{expr}");
    }
}

#[test]
fn errors_come_in_the_order_of_evaluation() {
    for (expr, kind) in [
        ("1/0 + 1e400", CalcErrorKind::DivZero),
        ("1e400 + 1/0", CalcErrorKind::Overflow),
        ("10**400 / 0.0", CalcErrorKind::Overflow),
        ("0**-10**400", CalcErrorKind::Overflow),
        ("(-10**400)**0.5", CalcErrorKind::Overflow),
    ] {
        assert_eq!(error(expr).kind, kind, "{expr}");
    }
}

/// Checks what holds for every text; panics are the other thing looked for.
fn check(expr: &str) -> Result<(), TestCaseError> {
    match evaluate(expr) {
        Ok(Number::Float(value)) => {
            prop_assert!(value.is_finite());
            prop_assert_eq!(Number::Float(value).to_string().parse(), Ok(value));
        }
        Ok(Number::Int(_)) => {}
        Err(error) => {
            prop_assert!(error.at.is_none_or(|at| expr.is_char_boundary(at)));
            prop_assert!(error.message.len() < 300, "{}", error.message);
        }
    }
    Ok(())
}

/// Texts made of an expression's parts and of what models write beside them.
fn scraps() -> impl Strategy<Value = String> {
    let scrap = prop_oneof![
        4 => "[0-9]{1,4}",
        1 => "[0-9_.eE]{1,8}",
        1 => prop::sample::select(vec!["1e308", "5e-324", "2**4095", "10**308", "0.1", "-0.0"])
            .prop_map(str::to_owned),
        6 => prop::sample::select(vec!["+", "-", "*", "/", "//", "%", "**", "(", ")", " ", "\t"])
            .prop_map(str::to_owned),
        1 => prop::sample::select(vec![
            ",", "$", "x", "×", "−", "^", "=", "pi", "sqrt(", "²", "\n", "\u{a0}", "２", "_", "\0",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(scrap, 0..24).prop_map(|scraps| scraps.concat())
}

/// Sound expressions: only the limits and arithmetic can refuse them.
fn sound() -> impl Strategy<Value = String> {
    let literal = prop_oneof![
        "[1-9][0-9]{0,30}",
        "[0-9]{1,3}\\.[0-9]{0,3}",
        "[0-9]e-?[0-9]{1,3}",
        Just("0".to_owned()),
    ];
    literal.prop_recursive(6, 48, 2, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*", "/", "//", "%", "**"]);
        prop_oneof![
            6 => (inner.clone(), operator, inner.clone())
                .prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
            2 => inner.clone().prop_map(|inner| format!("({inner})")),
            1 => inner.prop_map(|inner| format!("-{inner}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(expr in any::<String>()) {
        check(&expr)?;
    }

    #[test]
    fn no_scraps_panic(expr in scraps()) {
        check(&expr)?;
    }

    #[test]
    fn sound_expressions_are_read(expr in sound()) {
        check(&expr)?;
        if let Err(error) = evaluate(&expr) {
            prop_assert_ne!(error.kind, CalcErrorKind::Syntax);
        }
    }
}
