//! What a run and its resumes share: from a plan and a store to the whole run folder.

use std::{
    fs,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use jiff::{Timestamp, tz::TimeZone};
use tokio::{runtime::Runtime, time::timeout};

use super::{
    done::Done,
    hooks::Faults,
    opened::{self, Opened},
    screen,
    setup::Ready,
    signals,
    summary::{self, Measure},
};
use crate::{
    aggregate::{Metric, PassRateSoFar},
    config::Until,
    domain::{Clock, SessionRecord, Summary, Tally},
    error::{Context, Error, ErrorKind, Result},
    model::gateway::Ends,
    report::{self, Progress},
    run::{Ended, OnRecord, Run, Setup, Shutdown, WindDown},
    store::{
        self, Held, Manifest, Reader, RunFolder, Store, Timing, Totals, Traces,
        manifest::RunStatus,
        rfc3339,
        timing::{self, Span},
    },
};

/// How often progress looks at the counts.
const TICK: Duration = Duration::from_millis(200);

/// Work on a run, in a folder that is locked and holds all but results.
pub(super) struct Work {
    /// What it runs on.
    pub runtime: Runtime,
    /// What is run.
    pub ready: Ready,
    /// The run's folder.
    pub folder: RunFolder,
    /// As it stands there; its status is that of a run at work.
    pub manifest: Manifest,
    /// Those who were at work before.
    pub spans: Vec<Span>,
    /// When the run is to wind down, in Unix seconds.
    pub deadline: Option<f64>,
    /// The machine's name.
    pub host: String,
    /// When this process began.
    pub began: Timestamp,
    /// Faults for tests.
    pub faults: Faults,
    /// Whether progress is shown.
    pub progress: bool,
}

/// What earlier processes made of a run.
pub(super) enum Past {
    /// Nothing: its database is to be made.
    None,
    /// These sessions have begun.
    Some(OnRecord),
}

/// When the run is to wind down, in Unix seconds.
///
/// # Errors
/// When that is over.
pub(super) fn deadline(until: Until, now: Timestamp) -> Result<Option<f64>> {
    match until.moment(now, &TimeZone::system()) {
        Some(moment) if moment <= now => {
            let message = format!("the run is to wind down at {moment}, which has passed");
            Err(Error::input(message).hint("name a later time with --until, or `--until none`"))
        }
        moment => Ok(moment.map(|m| m.as_duration().as_secs_f64())),
    }
}

/// What a run and the probe before it run on.
///
/// # Errors
/// When the system gives no threads.
pub(super) fn runtime() -> Result<Runtime> {
    Runtime::new().internal(|| "the async runtime did not start".to_owned())
}

impl Work {
    /// Runs what is to be run, and leaves the whole run folder; the lock is held to the end.
    pub fn perform(mut self, mut lock: Held, past: Past) -> Result<Done> {
        let clock = Instant::now();
        let (folder, mut manifest) = (self.folder.clone(), self.manifest.clone());
        let unscored = self.ready.sealed.is_none();
        let mut span = Span {
            host: self.host.clone(),
            began: rfc3339(self.began),
            wall_s: 0.0,
            sessions: 0,
            work_s: 0.0,
        };
        let mut spans = std::mem::take(&mut self.spans);
        let ended = self.run(past, &mut lock, &mut span);
        // Gone already, but for what a copy that was broken off put there since.
        drop(fs::remove_dir_all(folder.work()));
        manifest.status = match &ended {
            // A signal that came when all had run has interrupted nothing.
            Ok(over) if over.is_early() && over.summary.ledger.left(!unscored) > 0 => {
                RunStatus::Interrupted
            }
            Ok(_) => RunStatus::Finished,
            Err(_) => RunStatus::Failed,
        };
        span.wall_s = clock.elapsed().as_secs_f64();
        let run = manifest.run.clone();
        spans.push(span);
        let closed = close(&folder, manifest, spans);
        // What went wrong in the run says more than what went wrong after it.
        let over = ended?;
        let totals = closed?;
        Ok(Done {
            run,
            spec: opened::spec(&folder),
            folder: folder.path().to_owned(),
            summary: over.summary,
            wind_down: over.wind_down,
            parked: over.parked,
            unscored,
            totals,
        })
    }

    /// The run itself, from the first session to `summary.json`.
    fn run(self, past: Past, lock: &mut Held, span: &mut Span) -> Result<Over> {
        let Self {
            runtime,
            ready,
            folder,
            manifest,
            deadline,
            faults,
            progress,
            ..
        } = self;
        let options = store::Options {
            durability: ready.durability(),
            abort_at: faults.abort_at,
        };
        let run = &manifest.run;
        let mut tally = Tally::of(&ready.plan.grid);
        let (store, on_record) = match past {
            Past::None => {
                let store = Store::create(&folder.database(), run, &ready.plan.grid, options)?;
                (store, OnRecord::default())
            }
            Past::Some(on_record) => {
                let store = Store::open(&folder.database(), run, &ready.plan.grid, options)?;
                let reader = Reader::open(&folder.database())?;
                let totals = reader.totals()?;
                tally.restarts = totals.restarts;
                tally.cost_usd = reader.cost_usd()? + totals.lost_cost_usd;
                (store, on_record)
            }
        };
        let shutdown = Shutdown {
            stop_file: Some(folder.stop()),
            deadline,
            ..Shutdown::default()
        };
        let spent = Reader::open(&folder.database())?.money()?;
        let ends = Ends {
            interrupt: shutdown.interrupt.clone(),
            patience: shutdown.patience.clone(),
        };
        runtime.block_on(ready.funds.open(store.handle(), &spent, ends))?;
        let tally = Arc::new(Mutex::new(tally));
        let has_metrics = ready
            .sealed
            .as_ref()
            .is_some_and(|s| !s.metric_names().is_empty());
        let setup = Setup {
            store: store.handle(),
            database: folder.database(),
            work: folder.work(),
            sealed: ready.sealed,
            judge: ready.grader,
            concurrency: ready.config.run.concurrency as usize,
            on_record,
            shutdown: shutdown.clone(),
            clock: Clock::system(),
            tally: tally.clone(),
            hooks: faults.hooks,
        };
        let so_far = PassRateSoFar::new(
            &summary::clusters(ready.plan.cases.iter().map(|planned| &planned.case)),
            ready.plan.variants.len(),
            summary::level(ready.config.suite.level)?,
        );
        let progress = Progress::new(screen::progress(progress));
        let ended = runtime.block_on(async {
            // Until the runtime goes: a third press must also end a long export, and nothing else
            // hears a signal once it has been listened for.
            tokio::spawn(signals::listen(shutdown));
            let run = Run::start(ready.plan, setup).await?;
            watch(run, progress, &tally, &so_far, lock).await
        });
        let closed = runtime.block_on(store.close());
        // When the store is lost, that is why the run broke off, and its error says what to do.
        let (stats, settling) = closed?;
        tracing::info!(
            commits = stats.commits,
            rows = stats.rows,
            fenced = stats.fenced,
            "store closed"
        );
        (span.sessions, span.work_s) = (stats.ended, stats.work_s);
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                drop(runtime.block_on(settling.join()));
                return Err(error);
            }
        };
        let ask = |records: Vec<SessionRecord>| -> Result<Vec<Metric>> {
            let measured = runtime.block_on(ended.measure(records))?;
            Ok(measured.into_iter().map(|m| (m.metric, m.values)).collect())
        };
        let measure: Option<Measure<'_>> = if has_metrics { Some(&ask) } else { None };
        let derived = derive(&folder, measure);
        runtime.block_on(settling.join())?;
        // Whatever is wrong now, sessions have run.
        let summary = derived.map_err(|e| Error {
            kind: ErrorKind::Internal,
            ..e
        })?;
        let (wind_down, parked) = (ended.wind_down, ended.parked.clone());
        runtime.block_on(ended.close())?;
        store::atomic::write(&folder.summary(), report::json(&summary)?.as_bytes())?;
        store::atomic::write(
            &folder.summary_md(),
            report::markdown::render(&summary).as_bytes(),
        )?;
        Ok(Over {
            summary,
            wind_down,
            parked,
        })
    }
}

/// A run that is over, but for what is written of it last.
struct Over {
    summary: Summary,
    wind_down: Option<WindDown>,
    parked: Vec<String>,
}

impl Over {
    /// Whether something kept it from coming to its end.
    fn is_early(&self) -> bool {
        self.wind_down.is_some() || !self.parked.is_empty()
    }
}

/// Makes what can be made again from the database: scores, the summary, and beside them traces.
fn derive(folder: &RunFolder, measure: Option<Measure<'_>>) -> Result<Summary> {
    let opened = Opened::at(folder.clone())?;
    let to = folder.traces();
    let traces = Traces::begin(&to, &opened.grid)?;
    let write = || opened.with_export(|export| export.traces_left(&traces));
    thread::scope(|scope| {
        let others: Vec<_> = (1..writers()).map(|_| scope.spawn(write)).collect();
        opened.with_export(|export| export.scores(&folder.scores()))?;
        let summary = opened.compute(measure)?;
        write()?;
        for other in others {
            other
                .join()
                .map_err(|_| Error::internal("the export of traces broke off"))??;
        }
        Ok(summary)
    })
}

/// How many write traces at the same time: each holds some 10 MB.
fn writers() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    cores.clamp(2, 4)
}

/// Shows progress until the run is over, and in the lock when it winds down.
async fn watch(
    run: Run,
    mut progress: Progress,
    tally: &Mutex<Tally>,
    so_far: &PassRateSoFar,
    lock: &mut Held,
) -> Result<Ended> {
    let over = run.wait();
    let mut over = std::pin::pin!(over);
    let mut is_told = false;
    loop {
        let over = timeout(TICK, &mut over).await;
        let now = tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if now.winding_down && !is_told {
            is_told = true;
            lock.winds_down();
        }
        match over {
            Err(_) => progress.update(&now, |tally| summary::pass_rate(so_far, tally)),
            Ok(ended) => {
                progress.finish(&now, |tally| summary::pass_rate(so_far, tally));
                return ended;
            }
        }
    }
}

/// Writes what is known only when all is over. How the run ended is written even if its database
/// cannot be read: it would seem to be at work for ever.
fn close(folder: &RunFolder, mut manifest: Manifest, spans: Vec<Span>) -> Result<Totals> {
    let totals = Reader::open(&folder.database()).and_then(|reader| reader.totals());
    // Before the manifest: of a run that says that it is over, nothing is missing.
    let timed = totals.and_then(|totals| {
        manifest.totals = totals;
        let timing = Timing {
            schema: timing::SCHEMA.to_owned(),
            run: manifest.run.clone(),
            spans,
        };
        timing.write(&folder.timing())
    });
    manifest.write(&folder.manifest())?;
    timed.map(|()| manifest.totals)
}
