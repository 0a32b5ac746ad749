//! The words of farm as plain data, with their serde.
//!
//! They decide nothing. What does something here is what every room needs alike: [`input`] opens
//! files, [`jsonl`] reads those that people write, [`Clock`] tells the time, and seeds are derived and drawn.

mod activity;
mod books;
mod case;
mod clock;
pub mod comparison;
mod decision;
pub mod failures;
mod figure;
pub mod forecast;
mod gate;
mod grid;
mod id;
pub mod input;
mod json;
pub mod jsonl;
mod judgment;
mod key;
mod ledger;
mod limits;
mod outcome;
pub mod plan;
mod price;
mod record;
mod redact;
mod script;
mod seed;
mod served;
mod summary;
mod tally;
mod text;
mod tool;
pub mod trace;
mod usage;
mod verdict;

pub use activity::{Activity, Wait};
pub use books::{Books, BooksLost, OnBehalf, Purpose, Reservation, Settlement};
pub use case::Case;
pub use clock::Clock;
pub use decision::{Action, BadArgs, Call, DecidedCall, Decision, MAX_ARGS_BYTES, MAX_ARGS_DEPTH};
pub use figure::{Amount, Figure, Rate, Reading};
pub use gate::{GateOutcome, GateResult, GateUnit, GateValue};
pub use grid::{Cell, Grid, MAX_SESSIONS, SessionId, TooManySessions};
pub use id::{CaseId, IdError, VariantName};
pub use input::absolute;
pub use json::strict_json;
pub use judgment::{Code, Judgment, Phase};
pub use key::{KeyError, SessionKey};
pub use ledger::{Ledger, SessionState};
pub use limits::{Limit, Limits};
pub use outcome::{Outcome, Status};
pub use price::Price;
pub use record::{SessionRecord, StepFacts};
pub use redact::Redactor;
pub use script::{Entry, Script, ScriptedCall};
pub use seed::{draw, judge_seed, provider_seed, rng_seed};
pub use served::Served;
pub use summary::{
    Bounds, CaseSummary, CheckSummary, Label, Overall, Overcharge, SUMMARY_SCHEMA, Steps, Stratum,
    Summary, SummaryStatus, Variance, VariantSummary,
};
pub use tally::Tally;
pub use text::{hex, is_unseen, shell, shortened};
pub use tool::{Hints, Observation, ResponseFormat, Share, ToolMode, ToolSpec, is_wire_name};
pub use usage::{MAX_CALL_TOKENS, MAX_CALL_USD, Usage, add_tokens};
pub use verdict::{CheckResult, ScoreError, Verdict};

/// A boxed, sendable future: what object-safe async traits return.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
