//! What sessions in flight are at, for those who look on.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::Hub;
use crate::{
    domain::{Activity, Clock, SessionId, Wait},
    model::Watch,
    store::{Doing, Write},
};

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// The watches of all sessions that hold a credit.
#[derive(Debug, Default)]
pub struct Watches(Mutex<HashMap<SessionId, Arc<Watch>>>);

impl Watches {
    /// The watch of a session that begins or goes on. One that infrastructure broke keeps its own, and
    /// with it the waits that nobody has taken yet.
    pub(super) fn begin(&self, id: SessionId, clock: &Clock) -> Arc<Watch> {
        self.is_at(id, Activity::Thinking, clock)
    }

    /// A session that has ended goes to the scorer.
    pub(super) fn hand_in(&self, id: SessionId, clock: &Clock) {
        self.is_at(id, Activity::Scorer, clock);
    }

    fn is_at(&self, id: SessionId, activity: Activity, clock: &Clock) -> Arc<Watch> {
        let begin = || Arc::new(Watch::new(clock.clone()));
        let watch = self.all().entry(id).or_insert_with(begin).clone();
        watch.is_at(activity);
        watch
    }

    /// The waits of a session that nobody has taken yet.
    pub(super) fn take_waits(&self, id: SessionId) -> Vec<Wait> {
        let watch = self.all().get(&id).cloned();
        watch.map_or_else(Vec::new, |watch| watch.take_waits())
    }

    /// A session leaves the run.
    pub(super) fn end(&self, id: SessionId) {
        self.all().remove(&id);
    }

    /// What each is at, by session.
    fn look(&self) -> Vec<Doing> {
        let all = self.all();
        let watches: Vec<_> = all.iter().map(|(id, watch)| (*id, watch.clone())).collect();
        // Nobody who begins or ends a session waits for what follows.
        drop(all);
        let doing = |(session, watch): (SessionId, Arc<Watch>)| {
            let seen = watch.seen();
            Doing {
                session,
                activity: seen.activity,
                since: seen.since,
                until: seen.until,
            }
        };
        let mut list: Vec<Doing> = watches.into_iter().map(doing).collect();
        list.sort_by_key(|doing| doing.session);
        list
    }

    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Watch>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps what sessions are at, from the first second on, until the run is over: then nothing of it
/// is left. A store that is lost has ended the run already.
pub(super) async fn look_on(hub: Arc<Hub>, over: CancellationToken) {
    let mut last = Vec::new();
    while over
        .run_until_cancelled(tokio::time::sleep(PAUSE))
        .await
        .is_some()
    {
        let list = hub.watches.look();
        // While any are in flight it is also kept that they were looked at.
        if list.is_empty() && last.is_empty() {
            continue;
        }
        if keep(&hub, list.clone()).await.is_none() {
            return;
        }
        last = list;
    }
    if !last.is_empty() {
        keep(&hub, Vec::new()).await;
    }
}

async fn keep(hub: &Hub, list: Vec<Doing>) -> Option<()> {
    let at = hub.clock.now();
    hub.store
        .post(vec![Write::Activities { at, list }])
        .await
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_seen_until_it_leaves_the_run() {
        let (watches, clock) = (Watches::default(), Clock::fixed(7.0));
        let seen = || -> Vec<(u64, Activity)> {
            let list = watches.look().into_iter();
            list.map(|doing| (doing.session.0, doing.activity))
                .collect()
        };
        let first = watches.begin(SessionId(9), &clock);
        watches.begin(SessionId(2), &clock).is_at(Activity::Tool);
        assert_eq!(seen(), [(2, Activity::Tool), (9, Activity::Thinking)]);
        {
            let until = Some(Duration::from_secs(3));
            let _waiting = first.waits(Activity::Backoff, until);
            let doing = watches.look()[1];
            assert_eq!((doing.activity, doing.since), (Activity::Backoff, 7.0));
            assert_eq!(doing.until, Some(10.0));
        }
        // It goes on with a new actor: what it waited for before is not forgotten.
        first.is_at(Activity::Tool);
        let again = watches.begin(SessionId(9), &clock);
        assert_eq!(seen()[1], (9, Activity::Thinking));
        drop(again.waits(Activity::Slot, None));
        let what = |waits: Vec<Wait>| waits.iter().map(|wait| wait.what).collect::<Vec<_>>();
        let waits = what(watches.take_waits(SessionId(9)));
        assert_eq!(waits, [Activity::Backoff, Activity::Slot]);
        assert!(watches.take_waits(SessionId(9)).is_empty());
        assert!(watches.take_waits(SessionId(5)).is_empty());
        watches.hand_in(SessionId(9), &clock);
        // This one ended in an earlier process.
        watches.hand_in(SessionId(4), &clock);
        let at_the_scorer = [
            (2, Activity::Tool),
            (4, Activity::Scorer),
            (9, Activity::Scorer),
        ];
        assert_eq!(seen(), at_the_scorer);
        for id in [2, 4, 9, 9] {
            watches.end(SessionId(id));
        }
        assert_eq!(seen(), []);
    }
}
