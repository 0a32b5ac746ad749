//! What is done after a call that failed. Pure.

use std::time::Duration;

use crate::{
    domain::draw,
    model::{ModelError, ModelErrorKind as Kind, Retry},
};

/// The first pause is drawn from up to this; the next ones from twice as much each.
const BASE: Duration = Duration::from_secs(1);

/// No pause is drawn from more than this.
const MOST: Duration = Duration::from_secs(60);

/// An endpoint may ask for a pause of up to this, and may refuse all calls for as long; to one that
/// wants more no call is made any more, as with a spent quota.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Tries of one call so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tries {
    /// Those that failed, without those that were refused for being too many.
    pub failed: u32,
    /// Those that were refused for being too many: they use up no try.
    pub refused: u32,
}

/// What the endpoint wants of those who call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wish {
    /// The pause that it asks for.
    pub pause: Option<Duration>,
    /// How long it has refused this call and all others for being too many.
    pub refusing: Duration,
}

/// What is done after a call that failed.
#[derive(Debug, Clone, PartialEq)]
pub enum After {
    /// It is made again after this pause.
    Again(Duration),
    /// It stays failed.
    GiveUp(ModelError),
    /// No call of the endpoint is made any more.
    Park(ModelError),
}

/// Decides after a try that failed; `tries` counts it. Pauses are drawn evenly from zero to their most
/// (full jitter), from the session's own seed.
#[must_use]
pub fn after(
    error: ModelError,
    tries: Tries,
    max_tries: u32,
    wish: Wish,
    address: (u64, u32),
) -> After {
    let asked = wish.pause;
    let is_last = tries.failed >= max_tries;
    let is_retried = error.kind == Kind::RateLimited || error.retry == Retry::Yes;
    if let Some(asked) = asked
        && is_retried
        && asked > PATIENCE
    {
        return After::Park(spent(error, "asks for a pause of", asked));
    }
    if error.kind == Kind::RateLimited && wish.refusing > PATIENCE {
        return After::Park(spent(error, "has refused all calls for", wish.refusing));
    }
    match (error.kind, error.retry) {
        (Kind::RateLimited, _) => After::Again(pause(tries.refused, asked, address)),
        (Kind::NotAnApi, Retry::Once) if tries.failed < max_tries.min(2) => {
            After::Again(pause(tries.failed, asked, address))
        }
        (Kind::Auth | Kind::NotFound | Kind::QuotaExhausted | Kind::NotAnApi, _) => {
            After::Park(error)
        }
        (_, Retry::Once) if tries.failed < max_tries.min(2) => {
            After::Again(pause(tries.failed, asked, address))
        }
        (_, Retry::Yes) if !is_last => After::Again(pause(tries.failed, asked, address)),
        (_, Retry::Yes | Retry::Once) => After::GiveUp(ModelError {
            message: match tries.failed {
                1 => format!("{} (tried once)", error.message),
                n => format!("{} (tried {n} times)", error.message),
            },
            retry: Retry::Later,
            ..error
        }),
        (_, Retry::No | Retry::Later) => After::GiveUp(error),
    }
}

/// More patience than there is.
fn spent(error: ModelError, what: &str, for_: Duration) -> ModelError {
    ModelError {
        kind: match error.kind {
            Kind::RateLimited => Kind::QuotaExhausted,
            kind => kind,
        },
        message: format!(
            "{}: the endpoint {what} {} s",
            error.message,
            for_.as_secs()
        ),
        retry: Retry::No,
    }
}

/// The pause before the next try: as long as the endpoint asks for, and a draw on top of it, so that
/// those who were told the same time do not come back at once.
fn pause(n: u32, asked: Option<Duration>, (rng_seed, turn): (u64, u32)) -> Duration {
    let most = match asked {
        Some(_) => BASE,
        None => BASE.saturating_mul(2_u32.saturating_pow(n.saturating_sub(1))),
    };
    let most = u64::try_from(most.min(MOST).as_millis()).unwrap_or(u64::MAX);
    // Beyond the draws of scripts, which are few a turn.
    let address = u64::from(n) + (1 << 32);
    let drawn = draw(rng_seed, turn.into(), address, most + 1);
    asked.unwrap_or_default() + Duration::from_millis(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: Kind, retry: Retry) -> ModelError {
        ModelError {
            kind,
            message: "it broke".into(),
            retry,
        }
    }

    #[test]
    fn what_follows_an_error() {
        let of = |kind, retry, failed, asked: Option<u64>| {
            let tries = Tries { failed, refused: 1 };
            let wish = Wish {
                pause: asked.map(Duration::from_secs),
                ..Wish::default()
            };
            match after(error(kind, retry), tries, 6, wish, (7, 0)) {
                After::Again(_) => "again".to_owned(),
                After::GiveUp(e) => format!("give up, {:?}", e.retry),
                After::Park(e) => format!("park, {}", e.kind),
            }
        };
        let table = [
            (Kind::Provider, Retry::Yes, 1, None, "again"),
            (Kind::Provider, Retry::Yes, 5, None, "again"),
            (Kind::Provider, Retry::Yes, 6, None, "give up, Later"),
            (Kind::Timeout, Retry::Yes, 6, None, "give up, Later"),
            (Kind::Provider, Retry::Once, 1, None, "again"),
            (Kind::Provider, Retry::Once, 2, None, "give up, Later"),
            (Kind::RateLimited, Retry::Yes, 600, None, "again"),
            (Kind::RateLimited, Retry::Yes, 0, Some(3600), "again"),
            (
                Kind::RateLimited,
                Retry::Yes,
                0,
                Some(3601),
                "park, quota_exhausted",
            ),
            (Kind::Provider, Retry::Yes, 1, Some(3600), "again"),
            (Kind::Provider, Retry::Yes, 1, Some(3601), "park, provider"),
            (Kind::BadRequest, Retry::No, 1, Some(3601), "give up, No"),
            (Kind::NotAnApi, Retry::Once, 1, None, "again"),
            (Kind::NotAnApi, Retry::Once, 2, None, "park, not_an_api"),
            (Kind::NotAnApi, Retry::No, 1, None, "park, not_an_api"),
            (Kind::Auth, Retry::No, 1, None, "park, auth"),
            (Kind::NotFound, Retry::No, 1, None, "park, not_found"),
            (
                Kind::QuotaExhausted,
                Retry::No,
                1,
                None,
                "park, quota_exhausted",
            ),
            (Kind::BadRequest, Retry::No, 1, None, "give up, No"),
            (Kind::Context, Retry::No, 1, None, "give up, No"),
        ];
        for (kind, retry, failed, asked, want) in table {
            assert_eq!(of(kind, retry, failed, asked), want, "{kind} {failed}");
        }
    }

    #[test]
    fn one_try_is_one_try() {
        let tries = Tries {
            failed: 1,
            refused: 0,
        };
        for kind in [Kind::Provider, Kind::Timeout] {
            let after = after(error(kind, Retry::Yes), tries, 1, Wish::default(), (7, 0));
            assert!(matches!(after, After::GiveUp(_)), "{after:?}");
        }
        let not_an_api = error(Kind::NotAnApi, Retry::Once);
        let once = after(not_an_api, tries, 1, Wish::default(), (7, 0));
        assert!(matches!(once, After::Park(_)), "{once:?}");
    }

    #[test]
    fn refusals_come_to_an_end() {
        let of = |kind, seconds| {
            let wish = Wish {
                refusing: Duration::from_secs(seconds),
                ..Wish::default()
            };
            after(error(kind, Retry::Yes), Tries::default(), 6, wish, (7, 0))
        };
        assert!(matches!(of(Kind::RateLimited, 3600), After::Again(_)));
        let After::Park(parked) = of(Kind::RateLimited, 3601) else {
            panic!("it is not parked")
        };
        assert_eq!(parked.kind, Kind::QuotaExhausted);
        let said = "it broke: the endpoint has refused all calls for 3601 s";
        assert_eq!(parked.message, said);
        // Another failure is an answer.
        assert!(matches!(of(Kind::Provider, 3601), After::Again(_)));
    }

    #[test]
    fn pauses_are_seeded_and_bounded() {
        for n in 0..80 {
            let drawn = pause(n, None, (99, 3));
            assert_eq!(drawn, pause(n, None, (99, 3)));
            let most = BASE.saturating_mul(2_u32.saturating_pow(n.saturating_sub(1)));
            assert!(drawn <= most.min(MOST), "{n} {drawn:?}");
        }
        let asked = Duration::from_secs(20);
        let drawn = pause(9, Some(asked), (99, 3));
        assert!((asked..=asked + BASE).contains(&drawn), "{drawn:?}");
        let several: Vec<_> = (0..20).map(|seed| pause(3, None, (seed, 0))).collect();
        assert!(several.iter().any(|p| *p != several[0]));
    }
}
