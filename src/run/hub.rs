use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ractor::{ActorCell, ActorRef};
use sha2::{Digest, Sha256};

use super::plan::Plan;
use crate::{
    aggregate,
    domain::{Action, Clock, SessionId, SessionKey, Tally, hex},
    error::{Context, Result},
    model::Reply,
    score,
    session::{Job, StoredTurn},
    store::{Handle, Reader, StoreLost, Write},
};

/// What the supervisors of a run share.
pub struct Hub {
    /// What is run.
    pub plan: Plan,
    /// Where turns are kept.
    pub store: Handle,
    /// The database behind it.
    pub database: PathBuf,
    /// Where sessions have their folders.
    pub work: PathBuf,
    /// Who judges; none with `--unscored`.
    pub scorer: Option<ActorRef<score::Message>>,
    /// Who counts.
    pub aggregator: ActorRef<aggregate::Message>,
    /// What progress shows.
    pub tally: Arc<Mutex<Tally>>,
    /// Where times come from.
    pub clock: Clock,
    /// Test hook: the session that panics, and in which turn.
    pub panic_at: Option<(SessionKey, u32)>,
}

impl Hub {
    /// All that one session needs.
    pub(super) fn job(
        &self,
        id: SessionId,
        attempt: u32,
        restarts: u32,
        history: Vec<StoredTurn>,
        delay: Duration,
    ) -> Job {
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
        Job {
            id,
            rng_seed: self.plan.rng_seed(id),
            attempt,
            spec: self.plan.spec(id).clone(),
            model: self.plan.variants[cell.variant].model.clone(),
            conversation: self.plan.conversation(id),
            files,
            history,
            delay,
            store: self.store.clone(),
            clock: self.clock.clone(),
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

    /// The durable turns of an attempt, and whether all tools that it called may be replayed.
    pub(super) async fn durable_turns(
        &self,
        id: SessionId,
        attempt: u32,
    ) -> Result<(Vec<StoredTurn>, bool)> {
        let database = self.database.clone();
        let (turns, mut steps) = tokio::task::spawn_blocking(move || {
            let reader = Reader::open(&database)?;
            Ok::<_, crate::error::Error>((reader.turns(id, attempt)?, reader.steps(id, attempt)?))
        })
        .await
        .internal(|| "reading durable turns broke off".to_owned())??;
        let variant = &self.plan.variants[self.plan.grid.cell(id).variant];
        let mut history = Vec::with_capacity(turns.len());
        for stored in turns {
            let reply = Reply::parse(stored.body.reply, variant.options, Duration::ZERO).internal(
                || {
                    format!(
                        "a durable reply of {} cannot be read again",
                        self.plan.grid.key(id)
                    )
                },
            )?;
            let later = steps.partition_point(|s| s.body.turn <= stored.turn);
            let of_turn: Vec<_> = steps.drain(..later).collect();
            history.push(StoredTurn {
                cost_usd: variant.model.cost(reply.content.usage.as_ref()),
                reply: reply.content,
                work_s: stored.work_s,
                steps: of_turn.into_iter().map(|s| s.body).collect(),
            });
        }
        let tools = &self.plan.spec(id).tools;
        let resumable = history
            .iter()
            .flat_map(called)
            .filter_map(|name| tools.get(name))
            .all(|entry| entry.spec().resumable);
        Ok((history, resumable))
    }
}

/// The tools that a turn has called. Of a turn without its steps nobody knows which of its calls
/// ran.
fn called(turn: &StoredTurn) -> Vec<&str> {
    match &turn.reply.action {
        Action::Calls(calls) if turn.steps.is_empty() => {
            calls.iter().map(|call| call.tool.as_str()).collect()
        }
        _ => {
            let ran = turn.steps.iter().filter(|step| !step.is_blocked());
            ran.filter_map(|step| step.decision.tool_call.as_ref())
                .map(|call| call.tool.as_str())
                .collect()
        }
    }
}

/// The folder of a session: a digest, so that any two keys differ in any file system. Each restart
/// has its own, for the one before may not have been removed yet.
fn folder_name(key: &SessionKey, restarts: u32) -> String {
    hex(&Sha256::digest(format!("{key}\n{restarts}"))[..12])
}
