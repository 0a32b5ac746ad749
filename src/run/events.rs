//! Where what the scorer says goes.

use std::sync::OnceLock;

use ractor::ActorRef;

use super::supervisor::RunMessage;
use crate::{aggregate, domain::SessionId, score};

/// Passes the scorer's events on. A receiver that is gone has ended the run already.
pub(super) struct Events {
    run: OnceLock<ActorRef<RunMessage>>,
    aggregator: ActorRef<aggregate::Message>,
}

impl Events {
    pub(super) fn to(aggregator: ActorRef<aggregate::Message>) -> Self {
        Self {
            run: OnceLock::new(),
            aggregator,
        }
    }

    /// From now on the run hears of what the scorer has taken.
    pub(super) fn hear(&self, run: ActorRef<RunMessage>) {
        let _ = self.run.set(run);
    }

    pub(super) fn pass_on(&self, event: score::Event) {
        match event {
            score::Event::Acknowledged { ticket } => {
                if let Some(run) = self.run.get() {
                    drop(run.cast(RunMessage::Acknowledged(SessionId(ticket))));
                }
            }
            score::Event::Pending { ticket } => {
                let pending = aggregate::Message::Pending(SessionId(ticket));
                drop(self.aggregator.cast(pending));
            }
            score::Event::Verdict { ticket, verdict } => {
                let scored = aggregate::Message::Scored(SessionId(ticket), verdict);
                drop(self.aggregator.cast(scored));
            }
        }
    }
}
