mod mcp;
mod mock;

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use mcp::McpArgs;
pub use mock::MockArgs;

use crate::{fence::KEEP, stats::planning::POWER};

/// Runs an agent many times, in parallel, and says how good it is with honest error bars.
#[derive(Debug, Parser)]
#[command(name = "farm", version, max_term_width = 100, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How much is logged.
    #[command(flatten)]
    pub log: LogArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run every case of a file over many seeds
    #[command(after_help = EXIT_CODES)]
    Run(RunArgs),
    /// Go on with a run that has not come to its end
    #[command(after_help = EXIT_CODES)]
    Resume(ResumeArgs),
    /// Show what came of a run
    Report(ReportArgs),
    /// Say which of two or more variants is better, paired by case
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Say how many cases and seeds it takes to tell two variants apart
    Plan(PlanArgs),
    /// Show, compare or export traces
    Trace(TraceArgs),
    /// Look for every problem in cases, scripts, sealed halves and config, without running
    Check(CheckArgs),
    /// Run one small scripted case and show its trace
    Demo(DemoArgs),
    /// Write a starter folder: cases, scripts, sealed halves, config
    Init(InitArgs),
    /// Show how a run stands: while it is at work, or after it
    Status(StatusArgs),
    /// List runs
    Runs(RunsArgs),
    /// Remove a run
    Rm(RmArgs),
    /// Serve scripts as a live model would answer, on loopback: to rehearse a run for nothing
    #[command(after_help = mock::HELP)]
    Mock(Box<MockArgs>),
    /// Serve the tools over MCP, on stdin and stdout
    #[command(after_help = mcp::HELP)]
    Mcp(McpArgs),
    /// Print the JSON Schema of a format
    Schema(SchemaArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Run a program and end all that it leaves behind; farm starts its child processes this way
    #[command(name = KEEP, hide = true)]
    Keep(KeepArgs),
}

const EXIT_CODES: &str = "\
Exit codes:
  0    done, nothing errored or left to run, every gate shown
  1    a gate is refuted or undetermined
  2    the input is wrong; nothing was run
  3    some planned session is errored, not run or unscored
  4    farm itself failed
  130  killed by a third signal";

const COMPARE_HELP: &str = "\
A side is RUN or RUN/VARIANT; a RUN with several variants stands for all of them. The first side is
the baseline. A run is a folder, an id, or `latest`.";

/// How much is logged.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Log more: -v what happens, -vv every step
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Log to a file instead of stderr
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// Which sessions to run, and how.
#[derive(Debug, Clone, Default, Args)]
pub struct InputArgs {
    /// The case file: one JSON object a line
    #[arg(value_name = "CASES")]
    pub cases: PathBuf,
    /// The config file [default: configs/farm.toml, if it is there]
    #[arg(long, value_name = "FILE", env = "FARM_CONFIG")]
    pub config: Option<PathBuf>,
    /// The sealed halves [default: configs/sealed/<name of the case file>]
    #[arg(long, value_name = "FILE")]
    pub sealed: Option<PathBuf>,
    /// Run without sealed halves: sessions stay unscored
    #[arg(long, conflicts_with = "sealed")]
    pub unscored: bool,
    /// Run this model as it is, in place of the variants; may be given several times
    #[arg(long = "model", value_name = "NAME")]
    pub models: Vec<String>,
    /// Only cases whose id matches; may be given several times
    #[arg(long = "case", value_name = "GLOB")]
    pub case: Vec<String>,
    /// Only cases with this tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub tag: Vec<String>,
    /// Only the first N of the selected cases
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// How many seeds: N, or A..B for A to B-1
    #[arg(long, value_name = "N|A..B")]
    pub seeds: Option<String>,
    /// The seed of all seeds
    #[arg(long, value_name = "N")]
    pub run_seed: Option<u64>,
    /// Sessions in flight per endpoint
    #[arg(long, value_name = "N")]
    pub concurrency: Option<u64>,
    /// When to wind down: a span (8h, 1h30m), a time of day (07:00), a moment
    /// (2026-12-01T07:00:00Z), or none
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    #[command(flatten)]
    pub money: MoneyArgs,
}

/// What live models may cost.
#[derive(Debug, Clone, Default, Args)]
pub struct MoneyArgs {
    /// The most that live models may cost in all, in US dollars, or none
    #[arg(long, value_name = "USD")]
    pub max_cost: Option<String>,
    /// Do not ask each live model once before the run
    #[arg(long)]
    pub no_probe: bool,
}

/// `farm run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The run's folder, absent or empty [default: results/runs/<id>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Run nothing: say how many sessions, calls and tokens it would be, and what they may cost
    #[arg(long)]
    pub dry_run: bool,
    /// Take what a session takes from this run, or RUN/VARIANT
    #[arg(long, value_name = "RUN", requires = "dry_run")]
    pub pilot: Option<String>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// What is shown of a run, while it goes on and after it.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Print summary.json instead of tables
    #[arg(long)]
    pub json: bool,
    /// Neither progress nor tables
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub gates: GateArgs,
}

/// `farm resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// A run's folder, its id, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Add seeds: N for 0 to N-1, or A..B; those that the run has must be among them
    #[arg(long, value_name = "N|A..B")]
    pub seeds: Option<String>,
    /// Leave errored sessions as they are
    #[arg(long)]
    pub keep_errors: bool,
    /// The case file, if it is not where it was
    #[arg(long, value_name = "FILE")]
    pub cases: Option<PathBuf>,
    /// The sealed halves, if they are not where they were, or to score a run without any
    #[arg(long, value_name = "FILE")]
    pub sealed: Option<PathBuf>,
    /// A config file in place of the run's own; it may differ in what changes no session
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Sessions in flight per endpoint
    #[arg(long, value_name = "N")]
    pub concurrency: Option<u64>,
    /// When to wind down: a span (8h, 1h30m), a time of day (07:00), a moment
    /// (2026-12-01T07:00:00Z), or none
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    #[command(flatten)]
    pub money: MoneyArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// `farm report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A run's folder, its id, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// How to show it [default: tables for a terminal]
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,
    /// Why sessions failed: groups of those that failed alike, with the first bad step of an example
    #[arg(long, conflicts_with_all = ["rows", "into", "traces"])]
    pub failures: bool,
    /// All cases, not only the worst: in tables for a terminal and in svg; all groups of failures
    #[arg(long)]
    pub all: bool,
    /// What a row of csv is [default: cases]
    #[arg(long, value_enum)]
    pub rows: Option<Rows>,
    /// Write md into this file: between its lines <!-- farm:begin --> and <!-- farm:end -->
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rows", "traces"])]
    pub into: Option<PathBuf>,
    /// Which block of the file, if it has several: that of <!-- farm:begin NAME -->
    #[arg(long, value_name = "NAME", requires = "into")]
    pub block: Option<String>,
    /// Which traces an HTML page holds [default: all, up to 15 MB, failed sessions first]
    #[arg(long, value_enum, value_name = "WHICH", conflicts_with = "rows")]
    pub traces: Option<TraceChoice>,
    #[command(flatten)]
    pub gates: GateArgs,
}

/// `farm plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// A pilot: RUN with one variant or two, or RUN/VARIANT; without one, the noise is guessed
    #[arg(value_name = "A")]
    pub a: Option<String>,
    /// What the pilot is to be compared with: RUN with one variant, or RUN/VARIANT
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// The difference in pass rate that is to be shown [default: 0.05]
    #[arg(long, value_name = "D")]
    pub difference: Option<f64>,
    /// The chance of seeing it
    #[arg(long, value_name = "P", default_value_t = POWER)]
    pub power: f64,
    /// The confidence level [default: that of the pilot, or of the config]
    #[arg(long, value_name = "L")]
    pub level: Option<f64>,
    /// How many cases; clusters, if the pilot has those [default: those of the pilot]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub cases: Option<u64>,
    /// How many seeds of each case [default: those of the pilot, or of the config]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: Option<u64>,
    /// As JSON, with the distinct replies of each case
    #[arg(long)]
    pub json: bool,
}

/// The formats of `farm report`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Markdown tables with the definition of each metric
    Md,
    /// summary.json
    Json,
    /// One row a case, a session or a step: see --rows
    Csv,
    /// Cases as tests: a suite for each variant
    Junit,
    /// A forest plot: the pass rate of every case with its interval
    Svg,
    /// One page with figures, sessions and traces, which needs nothing beside it
    Html,
}

/// What a row of `--format csv` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rows {
    /// A case under a variant, with its figures
    Cases,
    /// A planned session
    Sessions,
    /// A step of a session
    Steps,
}

/// Which traces an HTML page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceChoice {
    /// Of all sessions, however many
    All,
    /// Of failed and errored sessions
    Failed,
    /// No traces
    None,
}

/// `farm compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// RUN or RUN/VARIANT; the baseline first
    #[arg(value_name = "SIDE", required = true)]
    pub sides: Vec<String>,
    /// How to show it [default: text for a terminal]
    #[arg(long, value_enum)]
    pub format: Option<CompareFormat>,
    /// A difference in pass rate that counts as none, such as 0.02: asks whether sides are equivalent
    #[arg(long, value_name = "D", value_parser = margin)]
    pub margin: Option<f64>,
    /// All cases that changed, not only the surest
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub gates: GateArgs,
}

/// A share between 0 and 1.
fn margin(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    match number > 0.0 && number < 1.0 {
        true => Ok(number),
        false => Err("it is not between 0 and 1".to_owned()),
    }
}

/// The formats of `farm compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Markdown
    Md,
    /// farm.comparison/1
    Json,
    /// One row a pair of sides and case
    Csv,
}

/// What must be shown.
#[derive(Debug, Clone, Default, Args)]
pub struct GateArgs {
    /// What must be shown, or the exit code is 1: 'pass_rate >= 0.8', 'case.pass_rate >= 0.5',
    /// 'cost_usd <= 2', 'diff.pass_rate >= -0.05 vs RUN'; may be given several times
    #[arg(long = "gate", value_name = "GATE")]
    pub gate: Vec<String>,
}

/// `farm trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// What to do with traces.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// The commands under `farm trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show one session as a person would read it
    Show {
        /// The session: VARIANT/CASE/SEED
        #[arg(value_name = "SESSION")]
        session: String,
        /// A run's folder, its id, or `latest`
        #[arg(long, value_name = "RUN", default_value = "latest")]
        run: String,
        /// Whole observations, however long
        #[arg(long)]
        full: bool,
    },
    /// Compare the traces of two runs or two trace files; exit 1 when they differ
    Diff {
        /// A run, or a trace file
        #[arg(value_name = "A")]
        a: String,
        /// A run, or a trace file
        #[arg(value_name = "B")]
        b: String,
        /// Only this session: VARIANT/CASE/SEED
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
    },
    /// Write the traces of a run as JSON lines: one session to stdout, or all to a folder
    Export {
        /// A run's folder, its id, or `latest`
        #[arg(value_name = "RUN", default_value = "latest")]
        run: String,
        /// One session: VARIANT/CASE/SEED
        #[arg(long, value_name = "SESSION", conflicts_with = "to")]
        session: Option<String>,
        /// The folder to write to: absent, empty, or one of traces, which are replaced [default:
        /// traces/ in the run's folder]
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

/// `farm check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub input: InputArgs,
}

/// `farm demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where to write the run [default: results/runs/<id>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `farm init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder; files that are there are not touched
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
}

/// `farm status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// A run's folder, its id, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Look again every 2 s until nobody is at work in the run
    #[arg(long)]
    pub watch: bool,
    /// As JSON; with --watch one line each time
    #[arg(long)]
    pub json: bool,
}

/// `farm runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `farm rm`.
#[derive(Debug, Args)]
pub struct RmArgs {
    /// Runs: folders, ids, or `latest`
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
}

/// `farm schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The format; without it, the names of all
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// `farm completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `farm __keep`.
#[derive(Debug, Args)]
pub struct KeepArgs {
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}
