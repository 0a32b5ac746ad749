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
        let ready = tools.ready(&self.context).await;
        if ready.is_err() {
            // The others that it has: nothing of it goes on when it breaks.
            self.context.processes.close().await;
        }
        ready.map_err(Exit::from)
    }

    /// Runs calls at the same time. One that outlives `max_seconds` is dropped.
    pub(super) async fn run(&self, calls: &[Call]) -> Event {
        self.watch.is_at(Activity::Tool);
        let max_s = self.spec.limits.max_seconds;
        let runs = calls.iter().map(async |call| {
            let (Some(entry), Ok(args)) = (self.spec.tools.get(&call.tool), &call.args) else {
                return Observation::error(format!("no tool {:?} takes such arguments", call.tool));
            };
            self.worked
                .within(max_s, entry.tool().call(args, &self.context))
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
