use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use tokio::{runtime::Runtime, task::JoinHandle, time::timeout};

use super::{
    args::RunArgs,
    exit::{Exit, print, say},
    hooks, manifest,
    opened::{Opened, RUNS},
    screen,
    setup::{self, Ready},
    signals,
    summary::{self, Measure},
};
use crate::{
    aggregate::{Metric, PassRateSoFar},
    config::FileId,
    domain::{Clock, Ledger, SessionRecord, Summary, Tally},
    error::{Context, Error, Result},
    report::{self, Progress},
    run::{self, Ended, Hooks, Setup, Shutdown, WindDown},
    store::{
        self, AbortAt, Manifest, Place, RunFolder, Store, Timing,
        manifest::{RunStatus, Span, TIMING_SCHEMA, rfc3339},
    },
};

/// How often progress looks at the counts.
const TICK: Duration = Duration::from_millis(200);

/// What is shown while a run goes on, and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    /// Progress, then tables.
    Tables,
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
        (false, true) => Show::Json,
        (false, false) => Show::Tables,
    };
    let done = execute(
        ready,
        &args.input.cases,
        args.out.as_deref(),
        show != Show::Nothing,
    )?;
    match show {
        Show::Tables => print(&super::report::terminal(&done.summary, &done.spec, false))?,
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
    /// How the user names it.
    spec: String,
    pub folder: PathBuf,
    pub summary: Summary,
    wind_down: Option<WindDown>,
    unscored: bool,
}

impl Done {
    /// 3 when something is left to do.
    pub fn exit(&self) -> Exit {
        let Ledger {
            errored,
            not_run,
            unscored,
            ..
        } = self.summary.ledger;
        let left = errored + not_run + if self.unscored { 0 } else { unscored };
        if left > 0 {
            Exit::Incomplete
        } else {
            Exit::Done
        }
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
pub(super) fn execute(
    ready: Ready,
    cases: &Path,
    out: Option<&Path>,
    progress: bool,
) -> Result<Done> {
    // Read before anything is written: they are input too.
    let (hooks, abort_at) = (hooks::hooks()?, hooks::abort_at()?);
    if let Some(out) = out {
        store::folder::check_out(out, Path::new(RUNS))?;
    }
    let clock = Instant::now();
    let began = Timestamp::now();
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let place = out.map_or(Place::Under(Path::new(RUNS)), Place::At);
    apart(out.unwrap_or(Path::new(RUNS)), &ready)?;
    let (folder, _lock, id) = RunFolder::create(place, began, &ready.digest, &host)?;
    let mut manifest = manifest::of(&ready, cases, &id, began);
    // The folder was absent or empty: half a beginning would only be in the way of the next try.
    furnish(&folder, &manifest, &ready).inspect_err(|_| drop(folder.clear()))?;
    let unscored = ready.sealed.is_none();
    let ended = perform(ready, &folder, progress, hooks, abort_at);
    manifest.status = match &ended {
        // A signal that came when all had run has interrupted nothing.
        Ok((summary, Some(_))) if summary.ledger.not_run > 0 => RunStatus::Interrupted,
        Ok(_) => RunStatus::Finished,
        Err(_) => RunStatus::Failed,
    };
    let span = Span {
        host,
        began: rfc3339(began),
        wall_s: clock.elapsed().as_secs_f64(),
        sessions: 0,
        work_s: 0.0,
    };
    let closed = close(&folder, manifest, span);
    // What went wrong in the run says more than what went wrong after it.
    let (summary, wind_down) = ended?;
    closed?;
    Ok(Done {
        run: id,
        spec: folder.spec(Path::new(RUNS)),
        folder: folder.path().to_owned(),
        summary,
        wind_down,
        unscored,
    })
}

/// Sees to it that the run folder is not among the files that a run copies or shows to agents: it
/// would be copied into itself. Around them it cannot be, for it is empty.
fn apart(out: &Path, ready: &Ready) -> Result<()> {
    let of_cases = ready.plan.cases.iter().filter_map(|planned| {
        let files = planned.files.as_deref()?;
        Some((files, format!("the files of case {}", planned.case.id)))
    });
    let pages = ready.config.tools.web_fetch_pages.as_ref();
    let pages = pages.map(|pages| (pages.folder.path.as_path(), "the canned pages".to_owned()));
    let above: HashSet<FileId> = FileId::with_all_above(out).collect();
    let mut seen = HashSet::new();
    for (folder, what) in of_cases.chain(pages) {
        // Cases share folders; they are there, for they have been read.
        if !seen.insert(folder) {
            continue;
        }
        if FileId::of(folder).is_ok_and(|id| above.contains(&id)) {
            let (out, folder) = (out.display(), folder.display());
            let message = format!("the run would be written to {out}, but {what} are in {folder}");
            return Err(Error::input(message).hint("name another folder with `--out`"));
        }
    }
    Ok(())
}

/// Writes what a run folder holds before the first session begins.
fn furnish(folder: &RunFolder, manifest: &Manifest, ready: &Ready) -> Result<()> {
    manifest.write(&folder.manifest())?;
    let config = ready.config.to_toml(folder.path());
    store::atomic::write(&folder.config(), config.as_bytes())?;
    store::atomic::write(&folder.cases(), &manifest::cases(ready)?)
}

/// The run itself, from the first session to `summary.json`.
fn perform(
    ready: Ready,
    folder: &RunFolder,
    progress: bool,
    hooks: Hooks,
    abort_at: Option<AbortAt>,
) -> Result<(Summary, Option<WindDown>)> {
    let runtime = Runtime::new().internal(|| "the async runtime did not start".to_owned())?;
    let options = store::Options {
        abort_at,
        ..store::Options::default()
    };
    let store = Store::create(&folder.database(), &ready.plan.grid, options)?;
    let tally = Arc::new(Mutex::new(Tally::of(&ready.plan.grid)));
    let shutdown = Shutdown::default();
    let has_metrics = ready
        .sealed
        .as_ref()
        .is_some_and(|s| !s.metric_names().is_empty());
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
    let so_far = PassRateSoFar::new(
        &summary::clusters(ready.plan.cases.iter().map(|planned| &planned.case)),
        ready.plan.variants.len(),
        summary::level(ready.config.suite.level)?,
    );
    let ended = runtime.block_on(async {
        // Until the runtime goes: a third press must also end a long export, and nothing else hears
        // a signal once it has been listened for.
        tokio::spawn(signals::listen(shutdown));
        let run = tokio::spawn(run::run(ready.plan, setup));
        let progress = Progress::new(screen::progress(progress));
        watch(run, progress, &tally, &so_far).await
    });
    let joined = runtime.block_on(store.join());
    // When the store is lost, that is why the run broke off, and its error says what to do.
    let stats = joined?;
    tracing::info!(
        commits = stats.commits,
        rows = stats.rows,
        fenced = stats.fenced,
        "store closed"
    );
    let ended = ended?;
    let ask = |records: Vec<SessionRecord>| -> Result<Vec<Metric>> {
        let measured = runtime.block_on(ended.measure(records))?;
        Ok(measured.into_iter().map(|m| (m.metric, m.values)).collect())
    };
    let measure: Option<Measure<'_>> = if has_metrics { Some(&ask) } else { None };
    let summary = derive(folder, measure)?;
    let wind_down = ended.wind_down;
    runtime.block_on(ended.close())?;
    store::atomic::write(&folder.summary(), report::json(&summary)?.as_bytes())?;
    store::atomic::write(
        &folder.summary_md(),
        report::markdown::render(&summary).as_bytes(),
    )?;
    Ok((summary, wind_down))
}

/// Makes what can be made again from the database: traces, beside them scores and the summary.
fn derive(folder: &RunFolder, measure: Option<Measure<'_>>) -> Result<Summary> {
    thread::scope(|scope| {
        let traces =
            scope.spawn(|| Opened::at(folder.clone())?.with_export(|e| e.traces(&folder.traces())));
        let opened = Opened::at(folder.clone())?;
        opened.with_export(|export| export.scores(&folder.scores()))?;
        let summary = opened.compute(measure)?;
        traces
            .join()
            .map_err(|_| Error::internal("the export of traces broke off"))??;
        Ok(summary)
    })
}

/// Shows progress until the run is over.
async fn watch(
    mut run: JoinHandle<Result<Ended>>,
    mut progress: Progress,
    tally: &Mutex<Tally>,
    so_far: &PassRateSoFar,
) -> Result<Ended> {
    loop {
        let over = timeout(TICK, &mut run).await;
        let now = tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match over {
            Err(_) => progress.update(&now, |tally| summary::pass_rate(so_far, tally)),
            Ok(ended) => {
                progress.finish(&now, |tally| summary::pass_rate(so_far, tally));
                return ended.internal(|| "the run broke off".to_owned())?;
            }
        }
    }
}

/// Writes what is known only when all is over. How the run ended is written even if its database
/// cannot be read: it would seem to be at work for ever.
fn close(folder: &RunFolder, mut manifest: Manifest, span: Span) -> Result<()> {
    let counted = store::Reader::open(&folder.database())
        .and_then(|reader| Ok((reader.totals()?, reader.worked()?)));
    if let Ok((totals, _)) = &counted {
        manifest.totals = *totals;
    }
    manifest.write(&folder.manifest())?;
    let (_, (sessions, work_s)) = counted?;
    let spans = vec![Span {
        sessions,
        work_s,
        ..span
    }];
    Timing {
        schema: TIMING_SCHEMA.to_owned(),
        run: manifest.run,
        spans,
    }
    .write(&folder.timing())
}
