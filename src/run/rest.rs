//! What is left of a run to do. Pure.

use std::collections::HashMap;

use crate::{
    domain::{SessionId, SessionState},
    store::Standing,
};

/// What is left of a run that was at work before; nothing is done of one that was not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Sessions that are not to be run, and how they ended.
    pub done: Vec<(SessionId, SessionState)>,
    /// Sessions that have begun and are to be brought to their end; all others begin anew.
    pub begun: HashMap<SessionId, Begun>,
}

/// How a session that has begun is brought to its end. Each with the attempt that is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// It was cut off: it goes on from its durable turns.
    Open(u32),
    /// Infrastructure failed it: it begins anew.
    Errored(u32),
    /// It ended: it is only to be scored.
    Unscored(u32),
}

/// What is asked of a run that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Errored sessions stay as they are.
    pub keep_errors: bool,
    /// There is a scorer.
    pub is_scored: bool,
}

impl Rest {
    /// Sorts the sessions that have begun. Which of them are run again is the table of session
    /// states in the README.
    #[must_use]
    pub fn of(begun: impl IntoIterator<Item = Standing>, wish: Wish) -> Self {
        let mut rest = Self::default();
        for Standing {
            session,
            attempt,
            state,
        } in begun
        {
            let begun = match state {
                SessionState::NotRun => Begun::Open(attempt),
                SessionState::Errored if !wish.keep_errors => Begun::Errored(attempt),
                SessionState::Unscored if wish.is_scored => Begun::Unscored(attempt),
                _ => {
                    rest.done.push((session, state));
                    continue;
                }
            };
            rest.begun.insert(session, begun);
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_again() {
        use SessionState::{Errored, Failed, Killed, NotRun, Passed, Skipped, Unscored};
        let of = |state, keep_errors, is_scored| {
            let standing = Standing {
                session: SessionId(7),
                attempt: 3,
                state,
            };
            let wish = Wish {
                keep_errors,
                is_scored,
            };
            let rest = Rest::of([standing], wish);
            assert_eq!(rest.done.len() + rest.begun.len(), 1);
            rest.begun.get(&SessionId(7)).copied()
        };
        for (keep_errors, is_scored) in [(false, true), (true, true), (false, false), (true, false)]
        {
            for state in [Passed, Failed, Killed, Skipped] {
                assert_eq!(of(state, keep_errors, is_scored), None, "{state:?}");
            }
            assert_eq!(of(NotRun, keep_errors, is_scored), Some(Begun::Open(3)));
            let errored = (!keep_errors).then_some(Begun::Errored(3));
            assert_eq!(of(Errored, keep_errors, is_scored), errored);
            let unscored = is_scored.then_some(Begun::Unscored(3));
            assert_eq!(of(Unscored, keep_errors, is_scored), unscored);
        }
    }
}
