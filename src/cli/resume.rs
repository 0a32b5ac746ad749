//! `farm resume RUN`: goes on with a run where it was, if it is still the same run.

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::{
    args::{InputArgs, ResumeArgs},
    changed,
    done::Done,
    exit::{Exit, say},
    hooks, manifest,
    opened::{Opened, RUNS},
    run::host,
    setup::{self, Ready},
    work::{self, Work},
};
use crate::{
    config::{self, Resolved, SeedRange, Until},
    domain::Ledger,
    error::{Context, Error, Result},
    run::{Rest, rest::Wish},
    store::{self, Held, Reader, RunFolder, Store, manifest::RunStatus, rfc3339},
};

pub(super) fn resume(args: &ResumeArgs) -> Result<Exit> {
    let began = Timestamp::now();
    let faults = hooks::faults()?;
    let folder = RunFolder::open(&args.run, Path::new(RUNS))?;
    let host = host();
    let held = folder.lock(&host)?;
    let before = Opened::at(folder.clone())?;
    let seeds = seeds(args, &before.grid.seeds)?;
    if let Some(done) = finished(&before, args, &seeds)? {
        done.show(&args.show)?;
        return Ok(done.exit());
    }
    let recorded = setup::recorded(&folder.config())?;
    let input = input(args, &before, &recorded, seeds, began)?;
    let ready = setup::prepare(&input)?;
    work::deadline(ready.config.run.until, began)?;
    changed::refuse(&before, &ready, &input.cases)?;
    let rest = rest(&before, args, &ready)?;
    let is_blank = rest.is_none();
    let rest = rest.unwrap_or_default();
    say_what_is_left(args, &ready, &rest);
    let manifest = renew(&before, &recorded, &ready, &input, began)?;
    clear(&folder)?;
    let work = Work {
        ready,
        folder,
        manifest,
        rest,
        host,
        began,
        faults,
        progress: args.show.is_any(),
    };
    let done = work.perform(match is_blank {
        true => Store::create,
        false => |path, _, options| Store::open(path, options),
    })?;
    drop::<Held>(held);
    done.show(&args.show)?;
    Ok(done.exit())
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
fn finished(before: &Opened, args: &ResumeArgs, seeds: &Range<u64>) -> Result<Option<Done>> {
    let manifest = &before.manifest;
    if manifest.status != RunStatus::Finished || *seeds != before.grid.seeds {
        return Ok(None);
    }
    // One that is not there, or damaged, is made again.
    let Some(Ok(summary)) = before.written_summary() else {
        return Ok(None);
    };
    let Ledger {
        errored,
        not_run,
        unscored,
        ..
    } = summary.ledger;
    let is_scored = manifest.inputs.sha256.contains_key("sealed") || args.sealed.is_some();
    let left =
        not_run + if args.keep_errors { 0 } else { errored } + if is_scored { unscored } else { 0 };
    if left > 0 {
        return Ok(None);
    }
    Ok(Some(Done {
        run: manifest.run.clone(),
        spec: before.folder.spec(Path::new(RUNS)),
        folder: before.folder.path().to_owned(),
        summary,
        wind_down: None,
        unscored: !is_scored,
    }))
}

/// What `farm run` would have to be told for the same run.
fn input(
    args: &ResumeArgs,
    before: &Opened,
    recorded: &Resolved,
    seeds: Range<u64>,
    now: Timestamp,
) -> Result<InputArgs> {
    let until = args.until.clone().or_else(|| {
        // A deadline that has passed was one of the process that is gone.
        let is_over = matches!(recorded.run.until, Until::At(moment) if moment <= now);
        (is_over && args.config.is_none()).then(|| "none".to_owned())
    });
    Ok(InputArgs {
        cases: cases(args, before)?,
        config: Some(args.config.clone().unwrap_or(before.folder.config())),
        scored: args.sealed.is_some(),
        sealed: args.sealed.clone(),
        run_seed: Some(before.manifest.run_seed),
        only: Some(before.grid.cases.clone()),
        seeds: Some(format!("{}..{}", seeds.start, seeds.end)),
        concurrency: args.concurrency,
        until,
        ..InputArgs::default()
    })
}

/// Where the case file is.
fn cases(args: &ResumeArgs, before: &Opened) -> Result<PathBuf> {
    let recorded = || {
        let path = before
            .folder
            .path()
            .join(before.manifest.inputs.path.as_ref()?);
        let here = std::env::current_dir().ok()?;
        Some(PathBuf::from(config::relative(&path, &here)))
    };
    args.cases.clone().or_else(recorded).ok_or_else(|| {
        let name = &before.manifest.inputs.cases;
        Error::input(format!(
            "the run does not say where its case file, {name}, is"
        ))
        .hint("name it with --cases")
    })
}

/// What is left to do, from the store; none if nothing had begun when farm died.
fn rest(before: &Opened, args: &ResumeArgs, ready: &Ready) -> Result<Option<Rest>> {
    let wish = Wish {
        keep_errors: args.keep_errors,
        is_scored: ready.sealed.is_some(),
    };
    let database = before.folder.database();
    // Failed it may have before its first session.
    let is_over = [RunStatus::Finished, RunStatus::Interrupted].contains(&before.manifest.status);
    match Reader::open_if_begun(&database)? {
        Some(reader) => Ok(Some(Rest::of(reader.states()?, wish))),
        None if is_over || before.had_begun() => {
            let path = database.display();
            Err(
                Error::internal(format!("store: database is not there: {path}"))
                    .hint("restore farm.db from a copy or a bundle, or begin a new run"),
            )
        }
        None => Ok(None),
    }
}

fn say_what_is_left(args: &ResumeArgs, ready: &Ready, rest: &Rest) {
    if args.show.is_any() {
        let planned = ready.plan.grid.planned();
        let done = rest.done.len();
        say(&format!("going on: {done} of {planned} sessions are done"));
    }
}

/// Writes the run's manifest and config anew: what changed is logged there.
fn renew(
    before: &Opened,
    recorded: &Resolved,
    ready: &Ready,
    input: &InputArgs,
    now: Timestamp,
) -> Result<store::Manifest> {
    let folder = &before.folder;
    let mut manifest = before.manifest.clone();
    manifest.status = RunStatus::Running;
    manifest.grid.seeds = ready.plan.grid.seeds.clone();
    manifest.suite = manifest::suite(ready);
    manifest.meaning = ready.config.meaning();
    let inputs = manifest::inputs(ready, &input.cases, folder.path());
    // Without a scorer the digest of the sealed halves stays as it was.
    if ready.sealed.is_some() || !manifest.inputs.sha256.contains_key("sealed") {
        manifest.digest.clone_from(&ready.digest);
        manifest.inputs = inputs;
    }
    let changes = config::operation_changes(recorded, &ready.config);
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
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e).internal(|| {
            let path = path.display();
            format!("{path} is in the way and cannot be removed")
        }),
        _ => Ok(()),
    };
    let (stop, work) = (folder.stop(), folder.work());
    gone(fs::remove_file(&stop), &stop)?;
    gone(fs::remove_dir_all(&work), &work)
}
