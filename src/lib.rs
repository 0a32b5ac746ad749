//! farm runs an agent many times, in parallel, and says how good it is with honest error bars.
//!
//! # A tour of the house
//!
//! A run is cases × variants × seeds. Read it in the order in which a session passes through:
//!
//! - [`cli`] reads the arguments and writes the run folder; [`config`] lays defaults, file,
//!   environment and command line over one another and reads what people write.
//! - [`run`] plans and admits sessions: [`run::schedule`] and [`run::policy`] decide, supervisors
//!   perform.
//! - [`session`] is one session: [`session::step`] is the whole ReAct loop as a pure machine, the
//!   file to read first; [`session::actor`] performs its effects, one turn a message.
//! - [`model`] answers: [`model::wire`] writes the chat dialect, [`model::normalise`] reads any
//!   provider's reply, [`model::scripted`] answers from a script; [`mock`] serves scripts over HTTP,
//!   with the faults that live models have.
//! - [`verify`] judges each step, [`tool`] runs it; [`fence`] starts the programs that tools need, and
//!   ends all that came of them; [`mcp`] serves the same tools to other clients.
//! - [`store`] makes it durable: one thread that writes, readers beside it, traces out of it.
//! - [`score`] alone holds the sealed halves, and judges finished sessions.
//! - [`aggregate`] counts, and computes the figures with the pure formulas of [`stats`]; afterwards
//!   [`aggregate::compare`] says which variant is better, [`aggregate::gate`] whether a run shows
//!   what it must, [`aggregate::failures()`] why sessions failed, and [`aggregate::plan()`] how many
//!   cases and seeds the next comparison needs.
//! - [`report`] turns figures, comparisons, traces and problems into text.
//!
//! [`domain`] has the words that all of them share, as plain data with their serde; [`error`] the
//! one error type.
//!
//! # Its rules
//!
//! What decides is pure and has table tests beside it; an actor only feeds it. A room names other
//! rooms only as the law allows, which a test reads from the imports. The library neither prints
//! nor reads the environment: the caller hands values in. Nothing panics on input.
//!
//! `ARCHITECTURE.md` tells the way of one session with its durable points, and why things are as
//! they are.

pub mod aggregate;
pub mod cli;
pub mod config;
pub mod domain;
pub mod error;
pub mod fence;
#[cfg(test)]
#[path = "../tests/it/golden_table.rs"]
mod golden;
pub mod mcp;
pub mod mock;
pub mod model;
pub mod report;
pub mod run;
pub mod score;
pub mod session;
pub mod stats;
pub mod store;
pub mod tool;
pub mod verify;
