//! What a call is taken to have cost. Pure.

use crate::domain::{Price, Usage};

/// How far a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It was never sent: there was no connection.
    Nowhere,
    /// The endpoint refused it, and has no cause to charge for it.
    Refused,
    /// The endpoint may have worked on it.
    Received,
}

/// US dollars of a call: what the provider says, else its tokens at their price, else all that was
/// reserved for it, unless it cannot have cost anything. None when nobody knows.
#[must_use]
pub fn charge(
    is_reply: bool,
    reach: Reach,
    usage: Option<Usage>,
    price: Option<Price>,
    reserved: Option<f64>,
) -> Option<f64> {
    let told = usage.and_then(|usage| usage.cost_usd);
    let counted = || price?.of(&usage?);
    let otherwise = || match reach {
        Reach::Nowhere | Reach::Refused if !is_reply => Some(0.0),
        _ => reserved,
    };
    told.or_else(counted).or_else(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_costs() {
        let price = Some(Price {
            input: 1.0,
            cached: None,
            output: 2.0,
        });
        let tokens = Usage {
            tokens_in: Some(1_000_000),
            tokens_out: Some(1_000_000),
            ..Usage::default()
        };
        let told = Usage {
            cost_usd: Some(0.5),
            ..tokens
        };
        let (some, half) = (
            Some(tokens),
            Usage {
                tokens_out: None,
                ..tokens
            },
        );
        let most = Some(9.0);
        use Reach::{Nowhere, Received, Refused};
        let table = [
            (true, Received, Some(told), price, most, Some(0.5)),
            (true, Received, some, price, most, Some(3.0)),
            (true, Received, some, None, None, None),
            (true, Received, Some(half), price, most, most),
            (true, Received, None, price, most, most),
            (false, Received, None, price, most, most),
            (false, Received, None, None, None, None),
            (false, Refused, None, price, most, Some(0.0)),
            (false, Refused, None, None, None, Some(0.0)),
            (false, Refused, Some(told), price, most, Some(0.5)),
            (false, Nowhere, None, price, most, Some(0.0)),
        ];
        for (is_reply, reach, usage, price, most, want) in table {
            let got = charge(is_reply, reach, usage, price, most);
            assert_eq!(got, want, "{is_reply} {reach:?} {usage:?} {price:?}");
        }
    }
}
