use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ractor::{ActorCell, ActorRef};
use sha2::{Digest, Sha256};

use super::{case::Start, on_record::Begun, past::Past, plan::Plan, watches::Watches};
use crate::{
    aggregate,
    domain::{Clock, SessionId, SessionKey, Tally, hex},
    model::Purse,
    score,
    session::Job,
    store::{Handle, StoreLost, Write},
};

/// What the supervisors of a run share.
pub struct Hub {
    /// What is run.
    pub plan: Plan,
    /// Where turns are kept.
    pub store: Handle,
    /// What is kept there already.
    pub past: Past,
    /// Sessions that had begun before this run went on.
    pub begun: HashMap<SessionId, Begun>,
    /// Where sessions have their folders.
    pub work: PathBuf,
    /// Who judges; none with `--unscored`.
    pub scorer: Option<ActorRef<score::Message>>,
    /// Who counts.
    pub aggregator: ActorRef<aggregate::Message>,
    /// What progress shows.
    pub tally: Arc<Mutex<Tally>>,
    /// What sessions in flight are at.
    pub watches: Watches,
    /// Where times come from.
    pub clock: Clock,
    /// Test hook: the session that panics, and in which turn.
    pub panic_at: Option<(SessionKey, u32)>,
}

impl Hub {
    /// All that one session needs.
    pub(super) fn job(&self, id: SessionId, start: Start, restarts: u32) -> Job {
        let cell = self.plan.grid.cell(id);
        let key = self.plan.grid.key(id);
        let files = self.plan.cases[cell.case]
            .files
            .clone()
            .map(|from| (from, self.work.join(folder_name(&key, restarts))));
        let panic_at = self
            .panic_at
            .as_ref()
            .filter(|(k, _)| *k == key)
            .map(|(_, turn)| *turn);
        let spec = self.plan.spec(id).clone();
        let purse = spec.limits.max_cost_usd;
        let purse = purse.map(|max| Arc::new(Purse::new(max, start.spent_usd)));
        let task = &self.plan.cases[cell.case].case.task;
        Job {
            id,
            rng_seed: self.plan.rng_seed(id),
            attempt: start.attempt,
            task: spec
                .judge
                .as_ref()
                .map_or_else(String::new, |_| task.clone()),
            spec,
            model: self.plan.variants[cell.variant].model.clone(),
            conversation: self.plan.conversation(id),
            files,
            work: self.work.clone(),
            history: start.history,
            delay: start.delay,
            store: self.store.clone(),
            clock: self.clock.clone(),
            watch: self.watches.begin(id, &self.clock),
            purse,
            panic_at,
            key,
        }
    }

    /// The actors that outlive the sessions.
    pub(super) fn sinks(&self) -> impl Iterator<Item = ActorCell> {
        let scorer = self.scorer.as_ref().map(ActorRef::get_cell);
        scorer.into_iter().chain([self.aggregator.get_cell()])
    }

    /// Makes the writes of a restart durable, and counts it.
    pub(super) async fn keep_restart(&self, writes: Vec<Write>) -> Result<(), StoreLost> {
        self.store.commit(writes).await?;
        self.tally().restarts += 1;
        Ok(())
    }

    /// What progress shows.
    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The folder of a session: a digest, so that any two keys differ in any file system. Each restart
/// has its own, for the one before may not have been removed yet.
fn folder_name(key: &SessionKey, restarts: u32) -> String {
    hex(&Sha256::digest(format!("{key}\n{restarts}"))[..12])
}
