//! The rehearsal server in the process of a test.

use std::{net::SocketAddr, ops::Range, sync::Arc};

use farm::{
    domain::{Case, ToolMode},
    mock::{Answer, Answers, Mock, Options, Stats},
};
use tokio::runtime::Runtime;

/// A server at work; it ends with the test.
pub(crate) struct Served {
    runtime: Runtime,
    mock: Mock,
    pub(crate) address: SocketAddr,
}

impl Served {
    pub(crate) fn start(options: Options) -> Self {
        let runtime = Runtime::new().unwrap();
        let (address, mock) = runtime.block_on(Mock::start(options)).unwrap();
        Self {
            runtime,
            mock,
            address,
        }
    }

    /// What it has seen so far.
    pub(crate) fn stats(&self) -> Stats {
        self.mock.stats()
    }

    /// Stops it; everything is over then.
    pub(crate) fn stop(self) -> Stats {
        let stats = self.runtime.block_on(self.mock.stop());
        assert_eq!(stats.in_flight, 0);
        stats
    }
}

/// A server of the scripts in a case file, for runs with these seeds; it answers at once and for
/// nothing.
pub(crate) fn serving(cases: &str, seeds: Range<u64>) -> Options {
    let answers = cases.lines().map(|line| {
        let case: Case = serde_json::from_str(line).unwrap();
        Answer {
            case: case.id,
            task: case.task,
            every: case.script.map(Arc::from),
            of_one_seed: Vec::new(),
        }
    });
    let answers = Answers::new(answers.collect(), 0, seeds);
    Options::new("m", ToolMode::Native, answers)
}
