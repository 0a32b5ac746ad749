//! Runs the calls of a turn, on servers that are ready.

use super::{Exit, State};
use crate::{
    domain::{Activity, Call, Observation},
    session::step::Event,
    tool::ServerLost,
};

impl State {
    /// Waits for the servers that these calls need.
    pub(super) async fn ready(&self, calls: &[Call]) -> Result<(), Exit> {
        let tools = &self.spec.tools;
        let names = calls.iter().map(|call| call.tool.as_str());
        if tools.is_ready(names, &self.context.processes) {
            return Ok(());
        }
        let _waiting = self.watch.waits(Activity::Server, None);
        tools.ready(&self.context).await.map_err(Exit::from)
    }

    /// Ends the processes that it has.
    pub(super) async fn let_go(&self) {
        if !self.context.processes.is_empty() {
            let _waiting = self.watch.waits(Activity::Server, None);
            self.context.processes.close().await;
        }
    }

    /// Runs calls at the same time. One that outlives `max_seconds` is dropped.
    pub(super) async fn run(&self, calls: &[Call]) -> Event {
        self.watch.is_at(Activity::Tool);
        let max_s = self.spec.limits.max_seconds;
        let runs = calls.iter().map(async |call| {
            self.worked
                .within(max_s, self.spec.tools.act(call, &self.context))
                .await
                .unwrap_or_else(|| {
                    Observation::error("stopped: the session's time (max_seconds) is up")
                })
        });
        let observations = futures_util::future::join_all(runs).await;
        Event::Observed {
            observations,
            work_s: self.worked.seconds(),
        }
    }
}

impl From<ServerLost> for Exit {
    fn from(lost: ServerLost) -> Self {
        let reason = lost.to_string();
        match lost {
            ServerLost::NotStarted { .. } => Self::ServerLost(reason),
            ServerLost::Changed { .. } => Self::ToolsChanged(reason),
        }
    }
}
