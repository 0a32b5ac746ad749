use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{
    args::RunArgs,
    exit::{Exit, print, say},
    opened::{Opened, RUNS},
    setup::{self, Ready},
    signals,
    summary::{self, Measure},
};
use crate::{
    aggregate::Metric,
    domain::{Clock, Ledger, SessionRecord, Summary, Tally},
    error::{Context, Error, Result},
    report::{self, Progress},
    run::{self, Ended, Hooks, Setup, Shutdown, WindDown},
    score,
    store::{
        self, Manifest, Place, RunFolder, Store,
        manifest::{RunStatus, Timing},
    },
};

/// How often progress looks at the counts.
const TICK: Duration = Duration::from_millis(200);

/// What is shown while a run goes on, and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// Progress, then tables.
    All,
    /// Progress, then `summary.json`.
    Json,
    /// Nothing.
    Nothing,
}

/// `farm run CASES`.
pub(super) fn run(args: &RunArgs) -> Result<Exit> {
    let ready = setup::prepare(&args.input)?;
    let show = match (args.quiet, args.json) {
        (true, _) => Show::Nothing,
        (_, true) => Show::Json,
        _ => Show::All,
    };
    let done = execute(ready, &args.input.cases, args.out.as_deref(), show)?;
    match show {
        Show::All => print(&report::terminal::text(&done.summary, &done.run, super::style(), false))?,
        Show::Json => print(&report::json(&done.summary)?)?,
        Show::Nothing => {}
    }
    if show != Show::Nothing {
        say(&done.last_words());
    }
    Ok(done.exit())
}

/// A run that is over.
pub(super) struct Done {
    pub run: String,
    pub folder: PathBuf,
    pub summary: Summary,
    pub wind_down: Option<WindDown>,
    pub unscored: bool,
}

impl Done {
    /// 3 when something is left to do.
    pub fn exit(&self) -> Exit {
        let Ledger { errored, not_run, unscored, .. } = self.summary.ledger;
        let left = errored + not_run + if self.unscored { 0 } else { unscored };
        if left > 0 { Exit::Incomplete } else { Exit::Done }
    }

    fn last_words(&self) -> String {
        let why = match self.wind_down {
            None => "",
            Some(WindDown::Asked) => "the run was ended early; ",
            Some(WindDown::Breaker) => "the run was ended early, since too many sessions crashed; ",
        };
        format!("{why}run {} is in {}", self.run, self.folder.display())
    }
}

/// Runs what is ready, and leaves the whole run folder.
pub(super) fn execute(ready: Ready, cases: &Path, out: Option<&Path>, show: Show) -> Result<Done> {
    let began = Instant::now();
    let created = Timestamp::now();
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let place = out.map_or(Place::Under(Path::new(RUNS)), Place::At);
    let (folder, _lock, id) = RunFolder::create(place, created, &ready.digest, &host)?;
    let mut manifest = super::manifest::of(&ready, cases, &id, created);
    manifest.write(&folder.manifest())?;
    store::atomic::write(&folder.config(), ready.config.to_toml(folder.path()).as_bytes())?;
    store::atomic::write(&folder.cases(), &super::manifest::cases(&ready)?)?;
    let unscored = ready.sealed.is_none();
    let ended = perform(ready, &folder, show);
    manifest.status = match &ended {
        Ok((_, None)) => RunStatus::Finished,
        Ok((_, Some(_))) => RunStatus::Interrupted,
        Err(_) => RunStatus::Failed,
    };
    let wall_s = began.elapsed().as_secs_f64();
    let closed = close(&folder, manifest, &host, created, wall_s);
    let (summary, wind_down) = ended?;
    closed?;
    Ok(Done { run: id, folder: folder.path().to_owned(), summary, wind_down, unscored })
}

/// The run itself, from the first session to `summary.json`.
fn perform(ready: Ready, folder: &RunFolder, show: Show) -> Result<(Summary, Option<WindDown>)> {
    let runtime = Runtime::new().internal(|| "the async runtime did not start".to_owned())?;
    let grid = ready.plan.grid.clone();
    let store = Store::create(&folder.database(), &grid, store::Options::default())?;
    let tally = Arc::new(Mutex::new(Tally::of(&grid)));
    let level = super::level(ready.config.suite.level)?;
    let hooks = Hooks::from_env()?;
    let shutdown = Shutdown::default();
    let setup = Setup {
        store: store.handle(),
        database: folder.database(),
        work: folder.path().join("work"),
        sealed: ready.sealed,
        concurrency: ready.config.run.concurrency as usize,
        done: Vec::new(),
        shutdown: shutdown.clone(),
        clock: Clock::system(),
        tally: tally.clone(),
        hooks,
    };
    let plan = ready.plan;
    let ended = runtime.block_on(async {
        let signals = tokio::spawn(signals::listen(shutdown));
        let run = tokio::spawn(run::run(plan, setup));
        let progress = Progress::new(super::progress_mode(show != Show::Nothing));
        let ended = watch(run, progress, &tally, level).await;
        signals.abort();
        ended
    });
    let joined = runtime.block_on(store.join());
    let ended = ended?;
    joined?;
    let opened = Opened::at(folder.clone())?;
    opened.with_export(|export| {
        export.traces(&folder.traces())?;
        export.scores(&folder.scores())
    })?;
    let summary = summarise(&runtime, &opened, &ended)?;
    store::atomic::write(&folder.summary(), report::json(&summary)?.as_bytes())?;
    store::atomic::write(&folder.summary_md(), report::markdown::text(&summary).as_bytes())?;
    Ok((summary, ended.wind_down))
}

/// Shows progress until the run is over.
async fn watch(
    mut run: tokio::task::JoinHandle<Result<Ended>>,
    mut progress: Progress,
    tally: &Mutex<Tally>,
    level: crate::stats::Level,
) -> Result<Ended> {
    loop {
        let over = tokio::time::timeout(TICK, &mut run).await;
        let now = tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        progress.update(&now, &super::progress::pass_rate(&now, level));
        if let Ok(ended) = over {
            progress.finish();
            return ended.internal(|| "the run broke off".to_owned())?;
        }
    }
}

/// Asks the scorer, which is still there, for hidden metrics, and lets it go.
fn summarise(runtime: &Runtime, opened: &Opened, ended: &Ended) -> Result<Summary> {
    let ask = |records: Vec<SessionRecord>| -> Result<Vec<Metric>> {
        let Some(scorer) = &ended.scorer else { return Ok(Vec::new()) };
        let measured = runtime
            .block_on(async { ractor::call!(scorer, |reply| score::ScorerMsg::Measure { records, reply }) })
            .internal(|| "the scorer does not answer".to_owned())?;
        Ok(measured.into_iter().map(|m| (m.metric, m.values)).collect())
    };
    let measure: Option<Measure<'_>> = ended.scorer.is_some().then_some(&ask);
    let summary = summary::compute(&opened.reader, &opened.grid, &opened.cases, opened.reading()?, measure);
    if let Some(scorer) = &ended.scorer {
        runtime.block_on(scorer.drain_and_wait(None)).internal(|| "the scorer broke".to_owned())?;
    }
    summary
}

fn close(folder: &RunFolder, mut manifest: Manifest, host: &str, created: Timestamp, wall_s: f64) -> Result<()> {
    todo_close(folder, &mut manifest, host, created, wall_s)
}
