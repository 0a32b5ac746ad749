//! Which fault a request meets: drawn, and the same for a seed wherever it is drawn.

use sha2::{Digest, Sha256};

/// How many of the requests meet a fault, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shares {
    /// Refused with HTTP 429.
    pub rate_limited: f64,
    /// Refused with HTTP 500.
    pub failing: f64,
    /// Never answered, the connection held open.
    pub hanging: f64,
    /// The connection closed without an answer.
    pub reset: f64,
    /// Half of the body sent, then the connection closed.
    pub half: f64,
    /// Of the replies that call a tool: those whose arguments are broken JSON.
    pub malformed: f64,
}

/// What happens to a request instead of its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    RateLimited,
    Failing,
    Hanging,
    Reset,
    Half,
}

/// What is wrong with shares.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SharesError {
    /// One of them alone.
    #[error("the share {0} = {1} is not from 0 to 1")]
    Outside(&'static str, f64),
    /// Those of which one request meets one at most.
    #[error(
        "the shares rate-limited, failing, hanging, reset and half add up to {0}, which is more than \
         1: a request meets one of them at most"
    )]
    TooMany(f64),
}

/// Of which the sum may be above 1 by rounding alone.
const ROUNDING: f64 = 1e-9;

impl Shares {
    /// Whether requests can be dealt out to them.
    ///
    /// # Errors
    /// When one is not from 0 to 1, or those that exclude each other are more than all.
    pub fn check(&self) -> Result<(), SharesError> {
        let all = self.exclusive().map(|(name, _, share)| (name, share));
        for (name, share) in all.into_iter().chain([("malformed", self.malformed)]) {
            if !(0.0..=1.0).contains(&share) {
                return Err(SharesError::Outside(name, share));
            }
        }
        let sum: f64 = all.iter().map(|(_, share)| share).sum();
        if sum > 1.0 + ROUNDING {
            return Err(SharesError::TooMany(sum));
        }
        Ok(())
    }

    /// Those of which a request meets at most one.
    fn exclusive(&self) -> [(&'static str, Fault, f64); 5] {
        [
            ("rate-limited", Fault::RateLimited, self.rate_limited),
            ("failing", Fault::Failing, self.failing),
            ("hanging", Fault::Hanging, self.hanging),
            ("reset", Fault::Reset, self.reset),
            ("half", Fault::Half, self.half),
        ]
    }

    /// Whether asking again may bring something else.
    pub(super) fn depend_on_tries(&self) -> bool {
        self.exclusive().iter().any(|(_, _, share)| *share > 0.0)
    }

    /// The fault that the draw `u`, from 0 to 1, stands for.
    fn at(&self, u: f64) -> Option<Fault> {
        let mut upto = 0.0;
        let mut all = self.exclusive().into_iter();
        all.find(|(_, _, share)| {
            upto += share;
            u < upto
        })
        .map(|(_, fault, _)| fault)
    }
}

/// The turn of a session that a request asks for, as draws address it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    /// SHA-256 of the task.
    pub task: &'a [u8; 32],
    /// The request's seed, 31 bits; 0 when it has none.
    pub seed: u32,
    /// Assistant messages already in the request.
    pub number: u64,
}

/// What is drawn.
#[derive(Debug, Clone, Copy)]
enum What {
    Fault = 0,
    Malformed = 1,
    Latency = 2,
}

/// Draws for requests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    /// Another seed, other draws.
    pub seed: u64,
    /// Of what.
    pub shares: Shares,
}

impl Faults {
    /// The fault of the request that asks for `turn` after as many `tries` of this very request.
    pub fn of(&self, turn: &Turn<'_>, tries: u32) -> Option<Fault> {
        if !self.shares.depend_on_tries() {
            return None;
        }
        let [u, _] = self.draws(What::Fault, turn, tries);
        self.shares.at(u)
    }

    /// Whether the arguments in the reply of that turn are broken. However often it is asked for:
    /// the same turn has the same reply.
    pub fn malforms(&self, turn: &Turn<'_>) -> bool {
        self.shares.malformed > 0.0 && {
            let [u, _] = self.draws(What::Malformed, turn, 0);
            u < self.shares.malformed
        }
    }

    /// Two numbers, from 0 to below 1, for how long the reply takes.
    pub fn latency(&self, turn: &Turn<'_>, tries: u32) -> [f64; 2] {
        self.draws(What::Latency, turn, tries)
    }

    fn draws(&self, what: What, turn: &Turn<'_>, tries: u32) -> [f64; 2] {
        let digest = Sha256::new()
            .chain_update(b"farm-mock/1\n")
            .chain_update([what as u8])
            .chain_update(self.seed.to_be_bytes())
            .chain_update(turn.task)
            .chain_update(turn.seed.to_be_bytes())
            .chain_update(turn.number.to_be_bytes())
            .chain_update(tries.to_be_bytes())
            .finalize();
        let (words, _) = digest.as_chunks::<8>();
        // 53 bits: as many as a number between 0 and 1 can hold.
        let unit = |word: Option<&[u8; 8]>| {
            let bits = word.map_or(0, |bytes| u64::from_be_bytes(*bytes)) >> 11;
            bits as f64 / (1u64 << 53) as f64
        };
        [unit(words.first()), unit(words.get(1))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: Shares = Shares {
        rate_limited: 0.2,
        failing: 0.1,
        hanging: 0.05,
        reset: 0.05,
        half: 0.1,
        malformed: 0.25,
    };

    #[test]
    fn shares_are_dealt_out_in_order() {
        let table = [
            (0.0, Some(Fault::RateLimited)),
            (0.19, Some(Fault::RateLimited)),
            (0.21, Some(Fault::Failing)),
            (0.31, Some(Fault::Hanging)),
            (0.36, Some(Fault::Reset)),
            (0.41, Some(Fault::Half)),
            (0.51, None),
            (0.999, None),
        ];
        for (u, want) in table {
            assert_eq!(SHARES.at(u), want, "{u}");
        }
        let nothing = Shares::default();
        assert_eq!(nothing.at(0.0), None);
        let all = Shares {
            half: 1.0,
            ..nothing
        };
        assert_eq!(all.at(1.0 - f64::EPSILON), Some(Fault::Half));
    }

    #[test]
    fn shares_are_checked() {
        assert_eq!(SHARES.check(), Ok(()));
        let tenths = Shares {
            rate_limited: 0.1,
            failing: 0.2,
            hanging: 0.3,
            reset: 0.3,
            half: 0.1,
            malformed: 1.0,
        };
        assert_eq!(tenths.check(), Ok(()), "all of them, but for rounding");
        for share in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let half = Shares {
                half: share,
                ..Shares::default()
            };
            let malformed = Shares {
                malformed: share,
                ..Shares::default()
            };
            assert!(matches!(half.check(), Err(SharesError::Outside("half", _))));
            assert!(matches!(
                malformed.check(),
                Err(SharesError::Outside("malformed", _))
            ));
        }
        let many = Shares {
            rate_limited: 0.6,
            failing: 0.5,
            ..Shares::default()
        };
        assert_eq!(many.check(), Err(SharesError::TooMany(1.1)));
    }

    /// How many of 10,000 turns meet each fault, and how many replies are malformed.
    fn counts(seed: u64, tries: u32) -> ([usize; 5], usize) {
        let faults = Faults {
            seed,
            shares: SHARES,
        };
        let (mut met, mut malformed) = ([0; 5], 0);
        for session in 0..10_000 {
            let turn = Turn {
                task: &[7; 32],
                seed: session,
                number: 1,
            };
            if let Some(fault) = faults.of(&turn, tries) {
                met[fault as usize] += 1;
            }
            malformed += usize::from(faults.malforms(&turn));
        }
        (met, malformed)
    }

    #[test]
    fn as_many_requests_meet_a_fault_as_their_share_says() {
        for (seed, tries) in [(0, 0), (0, 1), (1, 0)] {
            let (met, malformed) = counts(seed, tries);
            let wanted = [2_000, 1_000, 500, 500, 1_000];
            for (got, want) in met.into_iter().zip(wanted).chain([(malformed, 2_500)]) {
                // Five standard deviations.
                let far = 5.0 * (want as f64).sqrt();
                assert!(
                    (got as f64 - f64::from(want)).abs() < far,
                    "{got} of {want}"
                );
            }
        }
    }

    #[test]
    fn a_draw_depends_on_its_address_alone() {
        let turn = Turn {
            task: &[1; 32],
            seed: 5,
            number: 2,
        };
        let draws = |seed, turn: Turn<'_>, tries| {
            let shares = SHARES;
            Faults { seed, shares }.latency(&turn, tries)
        };
        let base = draws(3, turn, 4);
        assert_eq!(base, draws(3, turn, 4));
        let others = [
            draws(4, turn, 4),
            draws(3, turn, 5),
            draws(3, Turn { seed: 6, ..turn }, 4),
            draws(3, Turn { number: 3, ..turn }, 4),
            draws(
                3,
                Turn {
                    task: &[2; 32],
                    ..turn
                },
                4,
            ),
        ];
        for other in others {
            assert_ne!(base, other);
        }
        assert!(base.iter().all(|u| (0.0..1.0).contains(u)));
        assert_ne!(base[0], base[1]);
    }

    #[test]
    fn tries_change_the_fault_and_never_the_reply() {
        let faults = Faults {
            seed: 0,
            shares: Shares {
                rate_limited: 0.5,
                malformed: 0.5,
                ..Shares::default()
            },
        };
        let turns = (0..64).map(|seed| Turn {
            task: &[9; 32],
            seed,
            number: 0,
        });
        let other = |turn: &Turn<'_>| faults.of(turn, 0) != faults.of(turn, 1);
        assert!(turns.clone().any(|turn| other(&turn)));
        let malformed: Vec<bool> = turns.map(|turn| faults.malforms(&turn)).collect();
        assert!(malformed.contains(&true) && malformed.contains(&false));
    }
}
