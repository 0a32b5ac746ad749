//! Arithmetic with CPython's results, inside farm's limits.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};

use super::error::{CalcError, CalcErrorKind, Fault};
use super::parse::{Expr, Operator};
use super::{MAX_INT_BITS, Number};

/// The value of `expr`; `source` is the text it was parsed from. Errors come in the order of
/// evaluation: operands before their operator, left before right.
pub(super) fn eval(expr: Expr, source: &str) -> Result<Number, CalcError> {
    match expr {
        Expr::Literal { value, at } => {
            limited(value, || "number".to_owned()).map_err(|fault| fault.at(source, at))
        }
        Expr::Negative(operand) => Ok(match eval(*operand, source)? {
            Number::Int(value) => Number::Int(-value),
            Number::Float(value) => Number::Float(-value),
        }),
        Expr::Chain { first, links } => {
            let mut left = eval(*first, source)?;
            for link in links {
                let right = eval(link.right, source)?;
                left = apply(link.operator, &left, &right)
                    .and_then(|value| limited(value, || format!("result of `{}`", link.operator)))
                    .map_err(|fault| fault.at(source, link.at))?;
            }
            Ok(left)
        }
    }
}

/// `value`, unless it is beyond the limits; `what` names it.
fn limited(value: Number, what: impl FnOnce() -> String) -> Result<Number, Fault> {
    match value {
        Number::Int(value) if value.bits() > MAX_INT_BITS => Err(too_large(&what())),
        Number::Float(value) if !value.is_finite() => {
            Err(overflow(format!("{} out of range", what())))
        }
        value => Ok(value),
    }
}

fn apply(operator: Operator, left: &Number, right: &Number) -> Result<Number, Fault> {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => integers(operator, left, right),
        (Number::Int(left), Number::Float(right)) => floats(operator, float(left)?, *right),
        (Number::Float(left), Number::Int(right)) => floats(operator, *left, float(right)?),
        (Number::Float(left), Number::Float(right)) => floats(operator, *left, *right),
    }
}

fn integers(operator: Operator, left: &BigInt, right: &BigInt) -> Result<Number, Fault> {
    let divides = matches!(
        operator,
        Operator::Divide | Operator::FloorDivide | Operator::Modulo
    );
    if divides && right.is_zero() {
        return Err(division_by_zero(operator));
    }
    Ok(Number::Int(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => return Ok(Number::Float(true_division(left, right))),
        Operator::FloorDivide => left.div_floor(right),
        Operator::Modulo => left.mod_floor(right),
        // CPython, too, leaves negative exponents to floats.
        Operator::Power if right.is_negative() => {
            return float_power(float(left)?, float(right)?).map(Number::Float);
        }
        Operator::Power => integer_power(left, right)?,
    }))
}

fn floats(operator: Operator, left: f64, right: f64) -> Result<Number, Fault> {
    let divides = matches!(
        operator,
        Operator::Divide | Operator::FloorDivide | Operator::Modulo
    );
    if divides && right == 0.0 {
        return Err(division_by_zero(operator));
    }
    Ok(Number::Float(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::FloorDivide => floor_and_modulo(left, right).0,
        Operator::Modulo => floor_and_modulo(left, right).1,
        Operator::Power => float_power(left, right)?,
    }))
}

/// The nearest float, ties to even.
fn float(value: &BigInt) -> Result<f64, Fault> {
    value
        .to_f64()
        .filter(|float| float.is_finite())
        .ok_or_else(|| overflow("integer too large for a float"))
}

/// The float nearest to the exact quotient, ties to even; infinite beyond the largest. A zero is
/// negative when the signs differ, as in CPython (`0/-5`).
fn true_division(left: &BigInt, right: &BigInt) -> f64 {
    let magnitude = quotient(left.magnitude(), right.magnitude());
    if left.is_negative() == right.is_negative() {
        magnitude
    } else {
        -magnitude
    }
}

/// [`true_division`] of magnitudes; `bottom` is not zero.
fn quotient(top: &BigUint, bottom: &BigUint) -> f64 {
    /// Exponent of the smallest subnormal float, which is the unit of them all.
    const LOWEST_UNIT: i64 = -1074;
    if top.is_zero() {
        return 0.0;
    }
    // The exponent with 2^exponent <= top/bottom < 2^(exponent + 1).
    let mut exponent = top.bits() as i64 - bottom.bits() as i64;
    let (dividend, divisor) = in_units(top, bottom, exponent);
    if dividend < divisor {
        exponent -= 1;
    }
    if exponent >= i64::from(f64::MAX_EXP) {
        return f64::INFINITY;
    }
    // A float counts units of 2^unit, less than 2^53 of them.
    let unit = (exponent + 1 - i64::from(f64::MANTISSA_DIGITS)).max(LOWEST_UNIT);
    let (dividend, divisor) = in_units(top, bottom, unit);
    let (count, left_over) = dividend.div_rem(&divisor);
    let mut count = count.iter_u64_digits().next().unwrap_or(0);
    match (left_over << 1u8).cmp(&divisor) {
        Ordering::Greater => count += 1,
        Ordering::Equal => count += count & 1,
        Ordering::Less => {}
    }
    // The exponent field counts from the smallest unit, and the count's leading bit adds one to it
    // for every normal float: rounding up carries into it, at the end to infinity.
    let field = (unit - LOWEST_UNIT) as u64;
    f64::from_bits((field << (f64::MANTISSA_DIGITS - 1)) + count)
}

/// Integers whose quotient is top / (bottom · 2^exponent).
fn in_units(top: &BigUint, bottom: &BigUint, exponent: i64) -> (BigUint, BigUint) {
    let shift = exponent.unsigned_abs();
    if exponent < 0 {
        (top << shift, bottom.clone())
    } else {
        (top.clone(), bottom << shift)
    }
}

/// CPython's `_float_div_mod`; `right` is not zero. The modulo has the sign of `right`, zeros too.
fn floor_and_modulo(left: f64, right: f64) -> (f64, f64) {
    let mut modulo = left % right;
    let mut quotient = (left - modulo) / right;
    if modulo == 0.0 {
        modulo = 0.0_f64.copysign(right);
    } else if (right < 0.0) != (modulo < 0.0) {
        modulo += right;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(left / right), modulo);
    }
    // The quotient is a whole number but for rounding.
    let floor = quotient.floor();
    let floor = if quotient - floor > 0.5 {
        floor + 1.0
    } else {
        floor
    };
    (floor, modulo)
}

/// `exponent` is not negative. The size is known before the power is computed.
fn integer_power(base: &BigInt, exponent: &BigInt) -> Result<BigInt, Fault> {
    let exponent = if base.bits() > 1 {
        // The power has more than exponent · (bits - 1) bits.
        exponent
            .to_u32()
            .filter(|&exponent| u64::from(exponent) * (base.bits() - 1) < MAX_INT_BITS)
    } else if exponent.is_zero() {
        Some(0)
    } else {
        // Powers of 0, 1 and -1: all odd exponents are alike, all even ones too.
        Some(if exponent.is_odd() { 1 } else { 2 })
    };
    exponent
        .map(|exponent| base.pow(exponent))
        .ok_or_else(|| too_large("result of `**`"))
}

/// CPython's `float_pow` for finite arguments. May be infinite.
fn float_power(base: f64, exponent: f64) -> Result<f64, Fault> {
    if base == 0.0 && exponent < 0.0 {
        return Err(Fault::new(
            CalcErrorKind::DivZero,
            "zero to a negative power",
            "that divides by zero; change the base or the exponent",
        ));
    }
    if base < 0.0 && exponent != exponent.floor() {
        return Err(Fault::new(
            CalcErrorKind::Domain,
            "negative number to a fractional power",
            "the result is not a real number; make the base positive or the exponent whole",
        ));
    }
    Ok(base.powf(exponent))
}

fn division_by_zero(operator: Operator) -> Fault {
    Fault::new(
        CalcErrorKind::DivZero,
        "division by zero",
        format!("the right side of `{operator}` is 0; correct it"),
    )
}

fn overflow(what: impl Into<String>) -> Fault {
    Fault::new(
        CalcErrorKind::Overflow,
        what,
        "floats end near 1.8e308; use smaller numbers, or integers only, with `//` for division",
    )
}

fn too_large(what: &str) -> Fault {
    Fault::new(
        CalcErrorKind::TooLarge,
        format!("{what} too large"),
        format!("integers end at {MAX_INT_BITS} bits (1233 digits); use smaller numbers or floats"),
    )
}
