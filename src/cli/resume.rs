//! `farm resume RUN`: goes on with a run where it was, if it is still the same run.

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use tokio::runtime::Runtime;

use super::{
    args::ResumeArgs,
    changed,
    done::Done,
    exit::{Exit, say},
    gates::Gates,
    hooks, manifest,
    opened::{Opened, RUNS},
    probe,
    recordings::Recordings,
    request::{Config, Flags, Pick, Request, sealed_of},
    run::host,
    setup::{self, Ready},
    work::{self, Past, Work},
};
use crate::{
    config::{self, Resolved, SeedRange},
    error::{Context, Error, Result},
    model::gateway::Ends,
    run::{OnRecord, on_record::Wish},
    store::{self, RunFolder, Store, Timing, manifest::RunStatus, rfc3339, timing::Span},
};

pub(super) fn resume(args: &ResumeArgs) -> Result<Exit> {
    let began = Timestamp::now();
    let faults = hooks::faults()?;
    let gates = Gates::parse(&args.show.gates)?;
    let folder = RunFolder::open(&args.run, Path::new(RUNS))?;
    // Before the lock, which leaves a file: a published run stays as it is.
    if let Some(done) = finished(&Opened::at(folder.clone())?, args)? {
        return done.conclude(&args.show, &gates);
    }
    let host = host();
    let lock = folder.lock(&host)?;
    let before = Opened::at(folder.clone())?;
    let recordings = Recordings::default();
    let recorded = recorded(&folder, args, &recordings)?;
    let request = request(args, &before, recordings)?;
    let ready = setup::prepare(&request).map_err(|e| {
        let hint = "files that were moved are named with --cases, --sealed and --config";
        Error {
            hint: e.hint.or_else(|| Some(hint.to_owned())),
            ..e
        }
    })?;
    let deadline = work::deadline(ready.config.run.until, began)?;
    let runtime = work::runtime()?;
    changed::refuse(&before, &ready, &request.cases)?;
    gates.check(&ready)?;
    let past = past(&before, args, &ready)?;
    store::room::check(&folder.traces())?;
    let spans = spans(&folder)?;
    if !args.show.quiet {
        say_how_far(&ready, &past);
    }
    probe(&runtime, &before, &ready, !args.show.quiet)?;
    clear(&folder)?;
    let manifest = renew(&before, recorded.as_ref(), &ready, &request, began)?;
    let work = Work {
        runtime,
        ready,
        folder,
        manifest,
        spans,
        deadline,
        host,
        began,
        faults,
        progress: !args.show.quiet,
    };
    let done = work.perform(lock, past)?;
    done.conclude(&args.show, &gates)
}

/// Probes with the money that the run has left, in its own books: whatever becomes of it, what a probe
/// cost is there.
fn probe(runtime: &Runtime, before: &Opened, ready: &Ready, is_told: bool) -> Result<()> {
    // One that broke off before it had a database has spent nothing.
    let Some(reader) = before.reader_if_begun()? else {
        return probe::before(runtime, ready, is_told);
    };
    if !probe::is_due(ready) {
        return Ok(());
    }
    let (database, run) = (before.folder.database(), &before.manifest.run);
    let options = store::Options {
        durability: ready.durability(),
        ..store::Options::default()
    };
    let store = Store::open(&database, run, &before.grid, options)?;
    let (funds, spent) = (&ready.funds, reader.money()?);
    let opened = funds.open(store.handle(), &spent, Ends::default());
    let probed = runtime
        .block_on(opened)
        .and_then(|()| probe::before(runtime, ready, is_told));
    runtime.block_on(store.join())?;
    probed
}

/// The seeds that the run is to have.
fn seeds(args: &ResumeArgs, has: &Range<u64>) -> Result<Range<u64>> {
    let Some(text) = &args.seeds else {
        return Ok(has.clone());
    };
    let wanted: SeedRange = text.parse().input(|| format!("--seeds {text}"))?;
    let wanted = wanted.range();
    if wanted.start <= has.start && has.end <= wanted.end {
        return Ok(wanted);
    }
    let (start, end) = (has.start, has.end);
    Err(Error::input(format!(
        "--seeds {text} leaves out seeds that the run has: {start}..{end}"
    ))
    .hint("a resume adds seeds and takes none away"))
}

/// The run as it was left, if it came to its end and nothing more is asked of it.
fn finished(before: &Opened, args: &ResumeArgs) -> Result<Option<Done>> {
    let manifest = &before.manifest;
    let is_asked_more = seeds(args, &before.grid.seeds)? != before.grid.seeds
        || [&args.cases, &args.config, &args.sealed]
            .into_iter()
            .any(Option::is_some)
        || args.concurrency.is_some()
        || args.until.is_some()
        || args.money.max_cost.is_some();
    if manifest.status != RunStatus::Finished || is_asked_more {
        return Ok(None);
    }
    // One that is not there, or damaged, is made again.
    let Some(Ok(summary)) = before.written_summary() else {
        return Ok(None);
    };
    let is_scored = manifest.is_scored();
    let kept = if args.keep_errors {
        summary.ledger.errored
    } else {
        0
    };
    if summary.ledger.left(is_scored) > kept {
        return Ok(None);
    }
    Ok(Some(Done {
        run: manifest.run.clone(),
        spec: before.spec(),
        folder: before.folder.path().to_owned(),
        summary,
        wind_down: None,
        parked: Vec::new(),
        unscored: !is_scored,
        totals: before.manifest.totals,
    }))
}

/// The config on record. One that cannot be read any more, since the folder was moved, is not needed
/// where another is named; what differs in operation is then not known.
fn recorded(
    folder: &RunFolder,
    args: &ResumeArgs,
    recordings: &Recordings,
) -> Result<Option<Resolved>> {
    match setup::recorded(&folder.config(), recordings) {
        Ok(recorded) => Ok(Some(recorded)),
        Err(error) if args.config.is_none() => Err(error.hint(
            "was the run folder moved? name config and cases with --config and --cases, and the \
             sealed halves with --sealed",
        )),
        Err(_) => {
            let config = folder.config();
            say(&format!(
                "warning: {} cannot be read: no change of operation is logged",
                config.display()
            ));
            Ok(None)
        }
    }
}

/// What `farm run` would have to be asked for the same run.
fn request(args: &ResumeArgs, before: &Opened, recordings: Recordings) -> Result<Request> {
    let mut flags = Flags::default();
    let seeds = seeds(args, &before.grid.seeds)?;
    // Another config may say what it wants of the seeds.
    if args.seeds.is_some() || args.config.is_some() {
        flags.text(
            "run.seeds",
            Some(&format!("{}..{}", seeds.start, seeds.end)),
        );
    }
    flags.number("run.concurrency", "--concurrency", args.concurrency)?;
    flags.text("run.until", args.until.as_deref());
    flags.money(args.money.max_cost.as_deref(), args.money.no_probe);
    flags.sealed(args.sealed.as_deref())?;
    if args.sealed.is_some() {
        flags.set("run.unscored", false.into());
    }
    let recorded = || Config::Recorded(before.folder.config());
    let cases = cases(args, before)?;
    let sealed = before.manifest.inputs.sealed.as_ref();
    Ok(Request {
        sealed: sealed.map_or_else(|| sealed_of(&cases), |path| seen_from_here(before, path)),
        cases,
        pick: Pick::These(before.grid.cases.clone()),
        config: args.config.clone().map_or_else(recorded, Config::Named),
        models: Vec::new(),
        flags: flags.0,
        recordings,
        is_dry: false,
    })
}

/// A path that was written as seen from the run folder.
fn seen_from_here(before: &Opened, path: &str) -> PathBuf {
    let path = before.folder.path().join(path);
    match std::env::current_dir() {
        Ok(here) => config::relative(&path, &here).into(),
        Err(_) => path,
    }
}

/// Where the case file is.
fn cases(args: &ResumeArgs, before: &Opened) -> Result<PathBuf> {
    let inputs = &before.manifest.inputs;
    let recorded = || Some(seen_from_here(before, inputs.path.as_ref()?));
    args.cases.clone().or_else(recorded).ok_or_else(|| {
        let name = &inputs.cases;
        Error::input(format!(
            "the run does not say where its case file, {name}, is"
        ))
        .hint("name it with --cases")
    })
}

/// What earlier processes left in the store.
fn past(before: &Opened, args: &ResumeArgs, ready: &Ready) -> Result<Past> {
    let wish = Wish {
        keep_errors: args.keep_errors,
        is_scored: ready.sealed.is_some(),
    };
    // Failed it may have before its first session.
    let is_over = [RunStatus::Finished, RunStatus::Interrupted].contains(&before.manifest.status);
    match before.reader_if_begun()? {
        Some(reader) => Ok(Past::Some(OnRecord::of(reader.states()?, wish))),
        None if is_over || before.had_begun() => Err(store::gone(&before.folder.database())
            .hint("restore farm.db from a copy or a bundle, or begin a new run")),
        None => Ok(Past::None),
    }
}

/// Who was at work before; a process that died has left no word of itself.
fn spans(folder: &RunFolder) -> Result<Vec<Span>> {
    match folder.timing().exists() {
        true => Ok(Timing::read(&folder.timing())?.spans),
        false => Ok(Vec::new()),
    }
}

fn say_how_far(ready: &Ready, past: &Past) {
    let planned = ready.plan.grid.planned();
    let done = match past {
        Past::None => 0,
        Past::Some(on_record) => on_record.done.len(),
    };
    say(&format!("going on: {done} of {planned} sessions are done"));
}

/// Writes the run's manifest and config anew: what changed is logged there.
fn renew(
    before: &Opened,
    recorded: Option<&Resolved>,
    ready: &Ready,
    request: &Request,
    now: Timestamp,
) -> Result<store::Manifest> {
    let folder = &before.folder;
    let mut manifest = before.manifest.clone();
    manifest.status = RunStatus::Running;
    manifest.grid.seeds = ready.plan.grid.seeds.clone();
    // Prices may differ.
    manifest.variants = manifest::variants(ready);
    manifest.servers = manifest::servers(ready);
    manifest.suite = manifest::suite(ready);
    manifest.meaning = Some(ready.meaning());
    // Another than before where the run has gained a scorer.
    manifest.digest.clone_from(&ready.digest);
    manifest.inputs = manifest::inputs(ready, &request.cases, folder.path());
    let changes =
        recorded.map(|recorded| config::operation_changes(recorded, &ready.config, folder.path()));
    let changes = changes.unwrap_or_default();
    manifest.changes.extend(changes.into_iter().map(|change| {
        let config::Change { key, from, to } = change;
        store::manifest::Change {
            at: rfc3339(now),
            key,
            from,
            to,
        }
    }));
    manifest.write(&folder.manifest())?;
    let old = fs::read_to_string(folder.config()).unwrap_or_default();
    let text = ready.config.to_toml_over(folder.path(), &old);
    store::atomic::write(&folder.config(), text.as_bytes())?;
    Ok(manifest)
}

/// Removes what would be in the way: the wish to stop is older than the one to go on, and folders
/// of sessions are made afresh.
fn clear(folder: &RunFolder) -> Result<()> {
    let gone = |removed: io::Result<()>, path: &Path| match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            let message = format!("{} cannot be removed: {e}", path.display());
            Err(Error::input(message).hint("remove it, then resume"))
        }
        _ => Ok(()),
    };
    let (stop, work) = (folder.stop(), folder.work());
    gone(fs::remove_file(&stop), &stop)?;
    gone(fs::remove_dir_all(&work), &work)
}
