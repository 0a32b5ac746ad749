//! Servers that are well-behaved, and such as are not.

mod fake;

use std::{
    env,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use self::fake::{Fake, Way};
use super::*;
use crate::{
    domain::{Observation, Redactor, Scope},
    tool::{Registry, ToolContext, ToolSet},
};

/// A server with these processes, and the tools of a session that uses it.
struct Setup {
    server: Arc<McpServer>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    folders: Arc<Mutex<Vec<PathBuf>>>,
}

impl Setup {
    fn new(ways: &[Way], share: Scope) -> Self {
        let running = Arc::<AtomicUsize>::default();
        let most = Arc::<AtomicUsize>::default();
        let folders = Arc::default();
        let fake = Fake {
            ways: ways.to_vec(),
            starts: AtomicUsize::new(0),
            running: running.clone(),
            most: most.clone(),
            folders: Arc::clone(&folders),
        };
        let options = McpOptions {
            name: "s".to_owned(),
            share,
            max_processes: 2,
            resumable: false,
            start_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(60),
            max_bytes: 65_536,
            redactor: Redactor::of(&["secret-value".into()]).unwrap(),
        };
        let server = Arc::new(McpServer::started_by(options, Box::new(fake)));
        Self {
            server,
            running,
            most,
            folders,
        }
    }

    async fn tools(&self) -> ToolSet {
        let mut registry = Registry::default();
        let (_, tools) = self.server.tools(&env::temp_dir()).await.unwrap();
        for tool in tools {
            registry.add(tool).unwrap();
        }
        registry.select(["s__*"]).unwrap()
    }

    fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }
}

fn context() -> ToolContext {
    ToolContext {
        work: Some(env::temp_dir()),
        ..ToolContext::default()
    }
}

async fn call(tools: &ToolSet, name: &str, args: Value, ctx: &ToolContext) -> Observation {
    tools.ready(ctx).await.unwrap();
    tools.get(name).unwrap().tool().call(&args, ctx).await
}

#[tokio::test(start_paused = true)]
async fn a_server_that_misbehaves_before_the_run_says_why() {
    let table = [
        (Way::Silent, "it did not list its tools within 30 s"),
        (Way::Gone, "it does not speak MCP: "),
        (
            Way::OtherVersion,
            "it speaks MCP 2099-01-01, which farm does not",
        ),
        (
            Way::EndlessList,
            "the list of its tools has more than 16 pages",
        ),
        (Way::TooManyTools, "it has more than 256 tools"),
        (Way::TwoOfOneName, "it has two tools called \"t\""),
        (Way::OddName, "\"../t\" is not a name of a tool"),
        (
            Way::LongDescription,
            "the description of tool \"odd\" has 20000 bytes",
        ),
        (Way::NoSchema, "it does not list its tools: "),
    ];
    for (way, why) in table {
        let setup = Setup::new(&[way], Scope::Session);
        let lost = setup.server.tools(&env::temp_dir()).await.err().unwrap();
        let want = format!("server s cannot be used: {why}");
        assert!(lost.to_string().starts_with(&want), "{way:?}: {lost}");
        setup.server.close().await;
        assert_eq!(setup.running(), 0, "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_with_a_schema_that_is_not_taken_is_no_tool() {
    let setup = Setup::new(&[Way::FarSchema], Scope::Session);
    let asked = setup.server.tools(&env::temp_dir()).await.unwrap();
    let tool = asked.1[0].clone();
    let refused = Registry::default().add(tool).unwrap_err().to_string();
    let why = "the schema of tool \"s__odd\" is not valid: it refers to \"http://127.0.0.1:9/x\"";
    assert!(refused.starts_with(why), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn whatever_a_server_does_when_called_is_an_observation() {
    let nothing = "server s gave no result within 60 s";
    let table = [
        (Way::Good, true, "called"),
        (Way::SaysNothing, false, nothing),
        (Way::Dies, false, "server s has ended"),
        (Way::Noise, true, "heard"),
        (Way::OtherId, false, nothing),
        (Way::TwoAnswers, true, "first"),
        (Way::HugeLine, false, nothing),
        (
            Way::LargeResult,
            false,
            "the result has 100000 bytes, more than the 65536 that are taken",
        ),
        (Way::NotAResult, false, "server s gave no result of a call"),
        (Way::NoContent, true, ""),
        (Way::ErrorOfTheProtocol, false, "server s: xxx"),
        (Way::Asks, true, "asked"),
        (Way::Flood, true, "flooded"),
        (Way::PingsAndIsDeaf, false, "server s has ended"),
        (Way::Chatters, false, "server s has ended"),
        (Way::Indiscreet, true, "it is [key]"),
        (Way::NotText, false, nothing),
        (Way::Deep, false, nothing),
        (
            Way::WantsMore,
            false,
            "server s wants to be asked again later",
        ),
        (Way::Deaf, false, nothing),
        (Way::SaysChanged, true, "called"),
    ];
    for (way, ok, text) in table {
        let setup = Setup::new(&[Way::Good, way], Scope::Session);
        let tools = setup.tools().await;
        let ctx = context();
        let got = call(&tools, "s__t", json!({"a": 1}), &ctx).await;
        assert_eq!(got.ok, ok, "{way:?}: {}", got.content);
        assert!(got.content.starts_with(text), "{way:?}: {}", got.content);
        assert!(got.content.len() < 70_000, "{way:?}");
        let next = call(&tools, "s__good", json!({}), &ctx).await;
        match way {
            Way::Dies | Way::PingsAndIsDeaf | Way::Chatters => {
                assert_eq!(&*next.content, "server s has ended")
            }
            Way::Deaf => assert_eq!(&*next.content, nothing),
            _ => assert_eq!(&*next.content, "good", "{way:?}"),
        }
        ctx.processes.close().await;
        setup.server.close().await;
        assert_eq!(setup.running(), 0, "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_read_is_ended_all_the_same() {
    let setup = Setup::new(&[Way::Good, Way::Deaf], Scope::Session);
    let tools = setup.tools().await;
    let ctx = context();
    call(&tools, "s__t", json!({}), &ctx).await;
    let long = json!({"a": "x".repeat(1 << 20)});
    call(&tools, "s__t", long, &ctx).await;
    ctx.processes.close().await;
    assert_eq!(setup.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_tools_change_is_lost() {
    let setup = Setup::new(&[Way::Good, Way::Changed], Scope::Session);
    let tools = setup.tools().await;
    let ctx = context();
    let got = call(&tools, "s__t", json!({}), &ctx).await;
    assert!(got.ok);
    // The notification is on its way before the answer.
    let lost = tools.ready(&ctx).await.unwrap_err();
    let changed = |what: &str| ServerLost::Changed {
        server: "s".to_owned(),
        what: what.to_owned(),
    };
    assert_eq!(lost, changed("new is new"));
    let lost = tools.ready(&context()).await.unwrap_err();
    assert_eq!(lost, changed("new is new"), "no session begins any more");
    let other = Setup::new(&[Way::Good, Way::TwoOfOneName], Scope::Session);
    let tools = other.tools().await;
    let lost = tools.ready(&context()).await.unwrap_err();
    assert_eq!(lost, changed("it has two tools called \"t\""));
}

#[tokio::test(start_paused = true)]
async fn a_process_of_the_run_is_asked_for_its_tools_by_each_session() {
    let setup = Setup::new(&[Way::Good, Way::ChangesSilently], Scope::Run);
    let tools = setup.tools().await;
    assert!(call(&tools, "s__t", json!({}), &context()).await.ok);
    assert!(
        tools.ready(&context()).await.is_ok(),
        "it was asked just now"
    );
    tokio::time::advance(Duration::from_secs(61)).await;
    let lost = tools.ready(&context()).await.unwrap_err();
    assert!(matches!(lost, ServerLost::Changed { .. }), "{lost}");
    setup.server.close().await;
    assert_eq!(setup.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_process_of_the_run_that_hangs_is_replaced() {
    let setup = Setup::new(&[Way::Good, Way::Deaf, Way::Good], Scope::Run);
    let tools = setup.tools().await;
    let ctx = context();
    assert!(!call(&tools, "s__t", json!({}), &ctx).await.ok);
    assert!(call(&tools, "s__t", json!({}), &ctx).await.ok, "by another");
    assert_eq!(setup.running(), 1);
    setup.server.close().await;
}

#[tokio::test(start_paused = true)]
async fn starts_that_come_to_nothing_give_their_slots_back() {
    for share in [Scope::Session, Scope::Run] {
        let ways = [&[Way::Good][..], &[Way::Silent; 6], &[Way::Good]].concat();
        let setup = Setup::new(&ways, share);
        let tools = setup.tools().await;
        let began = tokio::time::Instant::now();
        let contexts: Vec<_> = (0..6).map(|_| context()).collect();
        let tries = contexts.iter().map(|ctx| tools.ready(ctx));
        for lost in futures_util::future::join_all(tries).await {
            assert!(
                matches!(lost, Err(ServerLost::NotStarted { .. })),
                "{lost:?}"
            );
        }
        let waited = began.elapsed().as_secs();
        // Two at a time; those who wait for the process of a run wait for one of its starts.
        let want = if share == Scope::Run { 30 } else { 90 };
        assert_eq!(waited / 30 * 30, want, "{waited}");
        let starts = if share == Scope::Run { 6 } else { 1 };
        for _ in 1..starts {
            assert!(tools.ready(&context()).await.is_err());
        }
        assert!(call(&tools, "s__t", json!({}), &context()).await.ok);
        setup.server.close().await;
        assert_eq!(setup.running(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_dropped_while_it_waits_leaves_nothing() {
    let ways = [Way::Good, Way::Silent, Way::Silent, Way::Good];
    let setup = Setup::new(&ways, Scope::Session);
    let tools = setup.tools().await;
    let contexts: Vec<_> = (0..4).map(|_| context()).collect();
    // Two start, and two wait for a slot.
    let waiting = futures_util::future::join_all(contexts.iter().map(|ctx| tools.ready(ctx)));
    let dropped = tokio::time::timeout(Duration::from_secs(1), waiting).await;
    assert!(dropped.is_err());
    assert!(call(&tools, "s__t", json!({}), &context()).await.ok);
    setup.server.close().await;
    assert_eq!(setup.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn each_session_has_a_process_and_no_more_than_may_be() {
    let setup = Setup::new(&[Way::Good], Scope::Session);
    let tools = setup.tools().await;
    let sessions = (0..10).map(async |n| {
        let ctx = context();
        for _ in 0..3 {
            assert!(call(&tools, "s__t", json!({}), &ctx).await.ok);
        }
        // Some are killed.
        match n % 2 {
            0 => ctx.processes.close().await,
            _ => drop(ctx),
        }
    });
    futures_util::future::join_all(sessions).await;
    setup.server.close().await;
    assert_eq!(setup.running(), 0);
    assert_eq!(setup.most.load(Ordering::Relaxed), 2);
    let folders = setup.folders.lock().unwrap();
    assert_eq!(
        folders.len(),
        11,
        "one for each session, and one before all"
    );
    assert!(folders.iter().all(|folder| !folder.exists()));
}

#[tokio::test(start_paused = true)]
async fn a_process_of_the_run_is_started_again_and_a_sessions_own_is_not() {
    for (share, again) in [(Scope::Run, true), (Scope::Session, false)] {
        let setup = Setup::new(&[Way::Good, Way::Dies, Way::Good], share);
        let tools = setup.tools().await;
        let (one, other) = (context(), context());
        assert!(!call(&tools, "s__t", json!({}), &one).await.ok);
        assert_eq!(call(&tools, "s__t", json!({}), &one).await.ok, again);
        assert!(call(&tools, "s__t", json!({}), &other).await.ok);
        one.processes.close().await;
        assert!(
            call(&tools, "s__t", json!({}), &other).await.ok,
            "it is not the other's"
        );
        other.processes.close().await;
        assert_eq!(setup.running(), usize::from(share == Scope::Run));
        setup.server.close().await;
        assert_eq!(setup.running(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_works_in_the_sessions_folder() {
    let setup = Setup::new(&[Way::Good], Scope::Session);
    let tools = setup.tools().await;
    let folder = tempfile::tempdir().unwrap();
    let ctx = ToolContext {
        folder: Some(folder.path().to_owned()),
        ..context()
    };
    let said = call(&tools, "s__t", json!({"folder": true}), &ctx).await;
    assert_eq!(
        &*said.content, ". is not ./a",
        "it is another one in each run"
    );
    ctx.processes.close().await;
    assert_eq!(setup.folders.lock().unwrap()[1], folder.path());
    assert!(folder.path().exists());
}
