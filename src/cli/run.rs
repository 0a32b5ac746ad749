//! `farm run CASES`.

use std::{collections::HashSet, path::Path};

use jiff::Timestamp;

use super::{
    args::RunArgs,
    check,
    done::Done,
    exit::Exit,
    forecast,
    gates::Gates,
    hooks, manifest,
    opened::RUNS,
    probe,
    setup::{self, Ready},
    work::{self, Past, Work},
};
use crate::{
    config::FileId,
    error::{Error, Result},
    store::{self, Manifest, Place, RunFolder},
};

/// `farm run CASES`.
pub(super) fn run(args: &RunArgs) -> Result<Exit> {
    let began = Timestamp::now();
    let gates = Gates::parse(&args.show.gates)?;
    let mut request = args.input.request()?;
    request.is_dry = args.dry_run;
    let ready = setup::prepare(&request)?;
    gates.check(&ready)?;
    if !args.show.quiet {
        check::warn_of_prompts(&ready.config);
        check::warn(&ready);
    }
    if args.dry_run {
        return forecast::show(&ready, args);
    }
    let (cases, out) = (&args.input.cases, args.out.as_deref());
    let done = execute(ready, cases, out, began, !args.show.quiet)?;
    done.conclude(&args.show, &gates)
}

/// Runs what is ready, and leaves the whole run folder. `began`: when this process did.
pub(super) fn execute(
    ready: Ready,
    cases: &Path,
    out: Option<&Path>,
    began: Timestamp,
    progress: bool,
) -> Result<Done> {
    // Looked at before anything is written: they are input too.
    let faults = hooks::faults()?;
    let deadline = work::deadline(ready.config.run.until, began)?;
    if let Some(out) = out {
        store::folder::check_out(out, Path::new(RUNS))?;
    }
    let runtime = work::runtime()?;
    let host = host();
    let place = out.map_or(Place::Under(Path::new(RUNS)), Place::At);
    apart(out.unwrap_or(Path::new(RUNS)), &ready)?;
    probe::before(&runtime, &ready, progress)?;
    let (folder, lock, id) = RunFolder::create(place, began, &ready.digest, &host)?;
    let manifest = manifest::of(&ready, cases, (&id, folder.path()), began);
    // The folder was absent or empty: half a beginning would only be in the way of the next try.
    furnish(&folder, &manifest, &ready).inspect_err(|_| drop(folder.clear()))?;
    let work = Work {
        runtime,
        ready,
        folder,
        manifest,
        spans: Vec::new(),
        deadline,
        host,
        began,
        faults,
        progress,
    };
    work.perform(lock, Past::None)
}

/// The machine's name.
pub(super) fn host() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
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
