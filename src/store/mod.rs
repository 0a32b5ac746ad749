//! What lasts of a run: its database, its traces, its manifest, and the folder that holds them.
//!
//! [`Store`] owns the one thread that writes; sessions reach it through a [`Handle`]. [`Reader`]
//! reads beside it. Everything else in a run folder can be made again from the database.

mod activity;
mod alike;
mod apply;
pub mod atomic;
mod books;
mod checkpoint;
mod document;
mod edit;
pub mod export;
mod fault;
pub mod folder;
mod judged;
mod lock;
pub mod manifest;
pub mod overview;
mod reader;
pub mod room;
mod row;
mod schema;
pub mod timing;
mod write;
mod writer;

pub use activity::{Doing, Look, Parked};
pub use alike::{Alike, shape};
pub use books::{CallBooks, Money, Spent};
pub use document::rfc3339;
pub use edit::edit;
pub use export::{Export, Head, ScoreLine, Traces};
pub use fault::gone;
pub use folder::{Place, RunFolder};
pub use judged::JudgedRow;
pub use lock::{Held, Holder};
pub use manifest::Manifest;
pub use overview::Overview;
pub use reader::{Reader, StepRow, Totals, TurnRow};
pub use row::{Score, SessionRow, Standing};
pub use timing::Timing;
pub use write::{At, Write};
pub use writer::{AbortAt, Durability, Handle, Moment, Options, Settling, Stats, Store, StoreLost};
