//! What is durable of sessions that are to be gone on with.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::plan::Plan;
use crate::{
    domain::{Action, SessionId, SessionRecord, StepFacts},
    error::{Context, Error, Result},
    model::Reply,
    session::{Judged, StoredTurn},
    store::{JudgedRow, Reader, SessionRow, StepRow, TurnRow},
    tool::ToolSet,
};

/// The database of a run, open for reading from when it is first needed.
pub(super) struct Past {
    database: PathBuf,
    reader: Arc<Mutex<Option<Reader>>>,
}

/// The durable part of an attempt.
pub(super) struct Durable {
    /// Its turns, in order.
    pub turns: Vec<StoredTurn>,
    /// Whether all tools that it called may be replayed.
    pub resumable: bool,
    /// US dollars of all calls for its turns, as the books have them.
    pub spent_usd: f64,
}

impl Past {
    pub(super) fn of(database: PathBuf) -> Self {
        Self {
            database,
            reader: Arc::default(),
        }
    }

    /// Lets the database go.
    pub(super) fn close(&self) {
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The durable part of an attempt.
    pub(super) async fn durable(
        &self,
        plan: &Plan,
        id: SessionId,
        attempt: u32,
    ) -> Result<Durable> {
        let kept = self.read(move |reader| {
            let spent_usd = reader.spent_usd(id, attempt)?;
            Ok((Kept::of(reader, id, attempt)?, spent_usd))
        });
        let (kept, spent_usd) = kept.await?;
        let turns = put_together(plan, id, kept)?;
        let resumable = is_resumable(&turns, &plan.spec(id).tools);
        Ok(Durable {
            turns,
            resumable,
            spent_usd,
        })
    }

    /// What is kept of a session; none when it never began.
    pub(super) async fn row(&self, id: SessionId) -> Result<Option<SessionRow>> {
        self.read(move |reader| reader.session(id)).await
    }

    /// The database.
    pub(super) fn database(&self) -> &Path {
        &self.database
    }

    /// A session that has ended, as the scorer sees it.
    pub(super) async fn record(&self, plan: &Plan, id: SessionId) -> Result<SessionRecord> {
        self.ended(plan, id).await.map(|(_, record)| record)
    }

    /// The same, and its attempt.
    pub(super) async fn ended(&self, plan: &Plan, id: SessionId) -> Result<(u32, SessionRecord)> {
        let key = plan.grid.key(id);
        let row = self.row(id).await?;
        let ended = row.and_then(|row| Some((row.attempt, row.outcome?)));
        let (attempt, outcome) =
            ended.ok_or_else(|| Error::internal(format!("{key} has not ended")))?;
        let steps = self.read(move |reader| reader.steps(id, attempt)).await?;
        let record = SessionRecord {
            key,
            outcome: Arc::new(outcome),
            steps: steps.iter().map(|row| StepFacts::from(&row.body)).collect(),
        };
        Ok((attempt, record))
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (database, reader) = (self.database.clone(), self.reader.clone());
        tokio::task::spawn_blocking(move || {
            let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            match &*reader {
                Some(open) => read(open),
                None => read(reader.insert(Reader::open(&database)?)),
            }
        })
        .await
        .internal(|| "reading durable turns broke off".to_owned())?
    }
}

/// All rows of an attempt.
struct Kept {
    turns: Vec<TurnRow>,
    steps: Vec<StepRow>,
    judged: Vec<JudgedRow>,
}

impl Kept {
    fn of(reader: &Reader, id: SessionId, attempt: u32) -> Result<Self> {
        Ok(Self {
            turns: reader.turns(id, attempt)?,
            steps: reader.steps(id, attempt)?,
            judged: reader.judged(id, attempt)?,
        })
    }
}

/// Turns with the steps that came of them, and what was said of those.
fn put_together(plan: &Plan, id: SessionId, kept: Kept) -> Result<Vec<StoredTurn>> {
    let Kept {
        turns,
        mut steps,
        judged,
    } = kept;
    let mut judged: HashMap<u32, JudgedRow> =
        judged.into_iter().map(|row| (row.turn, row)).collect();
    let variant = &plan.variants[plan.grid.cell(id).variant];
    let mut history = Vec::with_capacity(turns.len());
    for stored in turns {
        let reply = Reply::parse(stored.body.reply, variant.options, Duration::ZERO)
            .internal(|| format!("a durable reply of {} cannot be read", plan.grid.key(id)))?;
        let later = steps.partition_point(|s| s.body.turn <= stored.turn);
        let of_turn: Vec<_> = steps.drain(..later).collect();
        // Files of an older farm do not say what a turn cost and when its tools were done.
        let cost_usd = stored
            .cost_usd
            .or_else(|| variant.model.cost(reply.content.usage.as_ref()));
        let acted_s = of_turn.last().and_then(|step| step.work_s);
        history.push(StoredTurn {
            cost_usd,
            reply: reply.content,
            replied_s: stored.work_s,
            acted_s: acted_s.unwrap_or(stored.work_s),
            steps: of_turn.into_iter().map(|s| s.body).collect(),
            judged: judged.remove(&stored.turn).map(|row| Judged {
                of_steps: row.of_steps,
                work_s: row.work_s,
            }),
        });
    }
    Ok(history)
}

fn is_resumable(turns: &[StoredTurn], tools: &ToolSet) -> bool {
    turns
        .iter()
        .flat_map(called)
        .filter_map(|name| tools.get(name))
        .all(|entry| entry.spec().resumable)
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
