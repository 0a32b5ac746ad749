//! `farm status RUN`: how a run stands, once or until it ends.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use super::{
    args::StatusArgs,
    exit::{Exit, printed, say},
    opened::{self, Opened, RUNS},
    screen, summary,
};
use crate::{
    aggregate::PassRateSoFar,
    domain::{Activity, Clock, Summary, shell},
    error::Result,
    report::{
        Redraw,
        status::{self, ErrorGroup, InFlight, Parked, STATUS_SCHEMA, Status, VariantStatus},
    },
    stats::{DIGITS, round_sig},
    store::{
        self, Holder, Look, Overview, Reader, RunFolder, manifest::RunStatus, overview::recently,
        rfc3339,
    },
};

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(2);

/// How long a run may take from its manifest to its cases.
const FURNISHING: Duration = Duration::from_secs(1);

/// Groups of errors that are told one by one.
const GROUPS: usize = 10;

/// `farm status RUN`.
pub(super) fn status(args: &StatusArgs) -> Result<Exit> {
    // Found once: another run may become the latest while this one is watched.
    let folder = RunFolder::open(&args.run, Path::new(RUNS))?;
    let redraws = args.watch && !args.json && screen::is_terminal();
    let redraw = redraws.then(Redraw::begin);
    let mut is_first = true;
    loop {
        let status = look(&folder)?;
        let text = match (args.json, is_first || redraws) {
            (true, _) => status::json(&status, !args.watch)?,
            (false, true) => status::render(&status, screen::style()),
            (false, false) => format!("\n{}", status::render(&status, screen::style())),
        };
        let is_read = match &redraw {
            Some(redraw) => {
                redraw.show(&text);
                true
            }
            None => printed(&text)?,
        };
        if !args.watch || !is_read || status.worker.is_none() {
            drop(redraw);
            say(&next(&status, &folder));
            return Ok(Exit::Done);
        }
        is_first = false;
        thread::sleep(PAUSE);
    }
}

/// How the run in this folder stands now.
fn look(folder: &RunFolder) -> Result<Status> {
    let (opened, worker) = open(folder)?;
    match opened.reader_if_begun()? {
        Some(reader) => reader.at_once(|| begun(&opened, &reader, worker)),
        None if worker.is_some() || !opened.had_begun() => {
            let overview = Overview::of(&opened.grid);
            of(&opened, worker, &overview, Seen::default())
        }
        None => Ok(published(&opened, &opened.summary()?)),
    }
}

/// The run, and who is at work in it.
fn open(folder: &RunFolder) -> Result<(Opened, Option<Holder>)> {
    let began = Instant::now();
    loop {
        let opened = match Opened::at(folder.clone()) {
            // The manifest is written first: whoever begins the run is about to write its cases.
            Err(_) if !folder.cases().exists() && began.elapsed() < FURNISHING => {
                thread::sleep(FURNISHING / 100);
                continue;
            }
            opened => opened?,
        };
        if opened.manifest.status != RunStatus::Running {
            return Ok((opened, None));
        }
        let worker = folder.holder()?;
        if worker.is_some() {
            return Ok((opened, worker));
        }
        // It came to its end between the two looks.
        thread::sleep(FURNISHING / 100);
    }
}

/// From the database.
fn begun(opened: &Opened, reader: &Reader, worker: Option<Holder>) -> Result<Status> {
    let recent = recently(Clock::system().now(), opened.folder.taken());
    let overview = reader.overview(&opened.grid, recent)?;
    let look = match worker {
        None => None,
        Some(_) => reader.look()?,
    };
    let seen = Seen {
        in_flight: look.as_ref().map(in_flight),
        parked: reader.parked()?.into_iter().map(parked).collect(),
    };
    of(opened, worker, &overview, seen)
}

/// What only the run itself can say.
#[derive(Default)]
struct Seen {
    in_flight: Option<InFlight>,
    parked: Vec<Parked>,
}

/// Sessions by what they are at.
fn in_flight(look: &Look) -> InFlight {
    let mut of = InFlight::default();
    let mut first = None::<f64>;
    for doing in &look.list {
        *match doing.activity {
            Activity::Thinking => &mut of.thinking,
            Activity::Tool => &mut of.tool,
            Activity::Slot => &mut of.slot,
            Activity::Rate => &mut of.rate,
            Activity::Backoff => &mut of.backoff,
            Activity::Money => &mut of.money,
            Activity::Server => &mut of.server,
            Activity::Scorer => &mut of.scorer,
        } += 1;
        if let (Activity::Backoff, Some(until)) = (doing.activity, doing.until) {
            first = Some(first.map_or(until, |first| first.min(until)));
        }
    }
    of.backoff_until = first.and_then(moment);
    of
}

fn parked(of: store::Parked) -> Parked {
    Parked {
        what: of.what,
        reason: of.reason,
        since: moment(of.ts).unwrap_or_default(),
    }
}

/// Unix seconds, up to the next whole one; none for what is no time.
fn moment(ts: f64) -> Option<String> {
    Timestamp::from_second(ts.ceil() as i64).ok().map(rfc3339)
}

fn of(opened: &Opened, worker: Option<Holder>, overview: &Overview, seen: Seen) -> Result<Status> {
    let clusters = summary::clusters(&opened.cases);
    let level = summary::level(opened.manifest.suite.level)?;
    let so_far = PassRateSoFar::new(&clusters, 1, level);
    let names = opened.grid.variants.iter();
    let variants = names.zip(&overview.variants).map(|(name, tally)| {
        let pass_rate = so_far.figure(tally);
        VariantStatus {
            variant: name.clone(),
            ledger: tally.ledger,
            pass_rate,
        }
    });
    let cost: f64 = overview.variants.iter().map(|v| v.cost_usd).sum();
    let errors = overview.errors.iter().take(GROUPS);
    let errors: Vec<ErrorGroup> = errors
        .map(|group| ErrorGroup {
            message: group.message.clone(),
            count: group.count,
            example: opened.grid.key(group.example),
        })
        .collect();
    // Of a run that winds down nobody knows when the rest will have run, nor of one in which all wait.
    let is_going_on = worker.as_ref().is_some_and(|w| !w.winding_down)
        && seen.in_flight.as_ref().is_none_or(InFlight::is_moving);
    let eta_s = overview.eta_s().filter(|_| is_going_on);
    let per_s = overview.per_s.filter(|_| worker.is_some());
    Ok(Status {
        schema: STATUS_SCHEMA.to_owned(),
        run: opened.manifest.run.clone(),
        at: rfc3339(Timestamp::now()),
        state: opened.manifest.status,
        worker,
        ledger: overview.ledger(),
        open: Some(overview.open()),
        in_flight: seen.in_flight,
        sessions_per_s: per_s.map(round),
        eta_s: eta_s.map(round),
        cost_usd: Some(round(cost + overview.totals.lost_cost_usd)),
        totals: overview.totals,
        parked: seen.parked,
        variants: variants.collect(),
        more_errors: (overview.errors.len() - errors.len()) as u64,
        errors: Some(errors),
    })
}

/// Of a run without a database: what its summary says.
fn published(opened: &Opened, summary: &Summary) -> Status {
    let totals = opened.manifest.totals;
    let costs = summary.variants.iter().map(|v| v.overall.cost_usd.total);
    let cost = costs.sum::<Option<f64>>();
    let variants = summary.variants.iter().map(|v| VariantStatus {
        variant: v.variant.clone(),
        ledger: v.ledger,
        pass_rate: v.overall.pass_rate.fixed.clone(),
    });
    Status {
        schema: STATUS_SCHEMA.to_owned(),
        run: opened.manifest.run.clone(),
        at: rfc3339(Timestamp::now()),
        state: opened.manifest.status,
        worker: None,
        ledger: summary.ledger,
        open: None,
        in_flight: None,
        sessions_per_s: None,
        eta_s: None,
        cost_usd: cost.map(|usd| round(usd + totals.lost_cost_usd)),
        totals,
        parked: Vec::new(),
        variants: variants.collect(),
        errors: None,
        more_errors: 0,
    }
}

/// What to do next.
fn next(status: &Status, folder: &RunFolder) -> String {
    let run = shell(&opened::spec(folder));
    // Without a database nothing can go on.
    let can_go_on = status.errors.is_some();
    match status.state {
        RunStatus::Running => format!("`farm status {run} --watch` looks on until it ends"),
        // Even if all have ended: what is made of them may be missing.
        RunStatus::Interrupted | RunStatus::Failed if can_go_on => {
            format!("`farm resume {run}` goes on")
        }
        RunStatus::Finished if can_go_on && status.ledger.left(false) > 0 => {
            format!("`farm resume {run}` runs what is errored or not run again")
        }
        _ => format!("`farm report {run}` shows what came of it"),
    }
}

fn round(x: f64) -> f64 {
    round_sig(x, DIGITS)
}
