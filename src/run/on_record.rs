//! What a run that goes on finds on record. Pure.

use std::collections::HashMap;

use crate::{
    domain::{SessionId, SessionState},
    store::Standing,
};

/// The sessions that an earlier process has begun; none in a run that is new. All others are still to
/// be begun.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OnRecord {
    /// Sessions that are not to be run, and how they ended.
    pub done: Vec<(SessionId, SessionState)>,
    /// Sessions that are to be brought to their end, and how.
    pub begun: HashMap<SessionId, Begun>,
}

/// How a session that has begun is brought to its end. Each with the attempt that is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// It was cut off: it goes on from its durable turns.
    Open(u32),
    /// Infrastructure failed it: it begins anew, as the next attempt.
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

impl OnRecord {
    /// Sorts the sessions that have begun: what has a verdict, was killed or skipped is done.
    #[must_use]
    pub fn of(begun: impl IntoIterator<Item = Standing>, wish: Wish) -> Self {
        let mut on_record = Self::default();
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
                    on_record.done.push((session, state));
                    continue;
                }
            };
            on_record.begun.insert(session, begun);
        }
        on_record
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
            let found = OnRecord::of([standing], wish);
            assert_eq!(found.done.len() + found.begun.len(), 1);
            found.begun.get(&SessionId(7)).copied()
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
