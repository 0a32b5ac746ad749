//! What a session observes of a call is what MCP answers: the same text, the same success, the same
//! schemas, whatever is called.

use std::{cell::RefCell, fs, sync::Arc};

use cap_std::{ambient_authority, fs::Dir};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};
use serde::Deserialize;
use serde_json::{Map, value::RawValue};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::*;
use crate::{
    domain::{Limits, MAX_ARGS_BYTES, ToolMode},
    model::{Conversation, Options, Shape, normalise::normalise},
    session::{
        Machine, Spec,
        step::{Effect, Event},
    },
    verify::DEFAULT,
};

/// The same tools, lent the same things, as a session has them and as clients of both eras do.
struct Sides {
    spec: Arc<Spec>,
    context: ToolContext,
    clients: Vec<(&'static str, Client)>,
}

impl Sides {
    /// Of these tools, in the order of their names.
    async fn new(registry: &Registry, context: ToolContext) -> Self {
        let tools = registry.all();
        let start = || {
            let server = Server {
                context: context.clone(),
                ..Server::new(tools.clone())
            };
            Client::of(server, 1 << 16)
        };
        let mut old = start();
        old.ask(initialize(LEGACY[2])).await;
        let clients = vec![(MODERN, start()), (LEGACY[2], old)];
        let spec = Spec {
            limits: Limits::default(),
            verifiers: Verifiers::new(DEFAULT).unwrap(),
            judge: None,
            tools,
        };
        Self {
            spec: Arc::new(spec),
            context,
            clients,
        }
    }

    /// What a session observes of a call: the machine, and the acting of its actor.
    async fn observed(&self, tool: &str, args: &Value) -> Observation {
        let message = json!({"content": null, "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": tool, "arguments": args.to_string()}}]});
        let body = json!({"choices": [{"finish_reason": "tool_calls", "message": message}]});
        let options = Options {
            tool_mode: ToolMode::Native,
            text_calls: false,
        };
        let reply = normalise(200, &body.to_string(), options).unwrap();
        let tools = &self.spec.tools;
        let shape = Shape::new(&tools.wire(), ToolMode::Native, &Map::new(), false);
        let conversation = Conversation::opening(shape, "p").about("t");
        let mut machine = Machine::new(self.spec.clone(), conversation);
        machine.step(Event::Begin);
        let mut todo = machine.step(Event::Replied {
            reply,
            cost_usd: None,
            work_s: 0.0,
        });
        loop {
            match todo.remove(0) {
                Effect::Run(calls) => {
                    let [call] = &calls[..] else {
                        panic!("{calls:?}")
                    };
                    let observation = tools.act(call, &self.context).await;
                    todo = machine.step(Event::Observed {
                        observations: vec![observation],
                        work_s: 0.0,
                    });
                }
                Effect::KeepSteps(mut steps) => return steps.remove(0).observation.unwrap(),
                Effect::KeepTurn => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Makes a call on all sides and compares.
    async fn compare(&mut self, tool: &str, args: &Value) {
        let observed = self.observed(tool, args).await;
        let is_known = self.spec.tools.get(tool).is_some();
        for (era, client) in &mut self.clients {
            let answer = client.ask(call(era, 7, tool, args.clone())).await;
            if !is_known {
                // The protocol wants an error of its own, and its message is the loop's reason.
                let error = &answer["error"];
                let message = error["message"].as_str().unwrap();
                assert_eq!(error["code"], -32602, "{answer}");
                assert_eq!(*observed.content, format!("blocked by schema: {message}"));
                assert!(!observed.ok);
                continue;
            }
            let result = &answer["result"];
            let text = json!([{"type": "text", "text": *observed.content}]);
            assert_eq!(result["content"], text, "{era} {tool} {args}");
            assert_eq!(result["isError"], !observed.ok, "{era} {tool} {args}");
            let structured = observed.ok.then(|| json!({"result": *observed.content}));
            assert_eq!(result.get("structuredContent"), structured.as_ref());
        }
    }

    /// Compares what is said of the tools, their schemas byte by byte.
    async fn compare_lists(&mut self) {
        #[derive(Deserialize)]
        struct Listed<'a> {
            #[serde(borrow)]
            result: Tools<'a>,
        }
        #[derive(Deserialize)]
        struct Tools<'a> {
            #[serde(borrow)]
            tools: Vec<Tool<'a>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Tool<'a> {
            name: String,
            description: String,
            #[serde(borrow)]
            input_schema: &'a RawValue,
        }
        let wire = self.spec.tools.wire();
        for (era, client) in &mut self.clients {
            let list = request(era, 7, "tools/list", json!({}));
            client.send(&list.to_string()).await;
            let line = client.from.next_line().await.unwrap().unwrap();
            let listed: Listed<'_> = serde_json::from_str(&line).unwrap();
            let of_the_loop = wire.as_array().unwrap();
            assert_eq!(listed.result.tools.len(), of_the_loop.len());
            for (tool, of_the_loop) in listed.result.tools.iter().zip(of_the_loop) {
                let of_the_loop = &of_the_loop["function"];
                assert_eq!(tool.name, of_the_loop["name"]);
                // What the hints say comes behind it.
                let description = of_the_loop["description"].as_str().unwrap();
                let more = tool.description.strip_prefix(description).unwrap();
                assert!(
                    more.is_empty() || more.starts_with("\n\nSide effects: "),
                    "{more}"
                );
                let schema = of_the_loop["parameters"].to_string();
                assert_eq!(tool.input_schema.get(), schema, "{era}");
            }
        }
    }
}

/// A folder of files and pages, and the built-in tools over it.
fn folder() -> (TempDir, Registry, ToolContext) {
    let base = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = base.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    write(
        "files/a.txt",
        "one\ntwo \u{e4}\u{1f600}\0\u{7f}\n".as_bytes(),
    );
    write("files/empty", b"");
    write("files/sub/b.txt", b"b");
    write("files/latin1", b"\xe4\xf6");
    write("files/large", &vec![b'x'; 70_000]);
    write("files/most", &vec![b'"'; 65_536]);
    write("secret", b"secret");
    std::os::unix::fs::symlink("../secret", base.path().join("files/out")).unwrap();
    write("pages/example.org/index.html", b"<p>home</p>");
    write("pages/example.org/a", b"a");
    let dir = |path: &str| {
        let dir = Dir::open_ambient_dir(base.path().join(path), ambient_authority());
        Some(Arc::new(dir.unwrap()))
    };
    let options = BuiltinOptions {
        pages: dir("pages"),
        ..BuiltinOptions::default()
    };
    let context = ToolContext {
        files: dir("files"),
        ..ToolContext::default()
    };
    (base, builtin(&options).unwrap(), context)
}

fn tool() -> impl Strategy<Value = String> {
    let known = select(vec!["calculator", "file_read", "web_fetch"]);
    let near = select(vec![
        "",
        "calculater",
        "Calculator",
        "file-read",
        "web_fetch ",
    ]);
    prop_oneof![
        12 => known.prop_map(str::to_owned),
        2 => near.prop_map(str::to_owned),
        1 => ".{0,80}",
    ]
}

fn odd_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "\\PC{0,20}",
        "[\0-\u{20}\"\\\\\u{7f}-\u{a0}\u{2028}]{0,10}",
        (MAX_ARGS_BYTES - 20..MAX_ARGS_BYTES + 20).prop_map(|n| "x".repeat(n)),
    ]
}

/// Something that a tool may take.
fn text() -> impl Strategy<Value = String> {
    let files = [
        "a.txt",
        "./sub/../a.txt",
        "sub/b.txt",
        "empty",
        "latin1",
        "large",
        "most",
        "out",
        "sub",
        "none",
        "../secret",
        "/etc/passwd",
        "",
    ];
    let urls = [
        "https://example.org",
        "https://example.org/a?b=c",
        "http://example.org/none",
        "ftp://example.org/",
    ];
    prop_oneof![
        "[0-9.]{1,6} ?([-+*/%]|\\*\\*|//) ?[0-9()e]{1,6}",
        "[0-9+*/ ()%.e_-]{0,20}",
        select(files.to_vec()).prop_map(str::to_owned),
        select(urls.to_vec()).prop_map(str::to_owned),
        odd_text(),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let number = any::<f64>().prop_filter_map("a JSON number", serde_json::Number::from_f64);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        number.prop_map(Value::Number),
        odd_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((".{0,4}", inner), 0..4).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// Lists or objects in each other.
fn deep() -> impl Strategy<Value = Value> {
    (90..=120_usize, any::<bool>()).prop_map(|(depth, lists)| {
        (0..depth).fold(json!(1), |inner, _| match lists {
            true => json!([inner]),
            false => json!({"a": inner}),
        })
    })
}

fn args() -> impl Strategy<Value = Value> {
    let key = select(vec!["expression", "path", "url"]).prop_map(str::to_owned);
    let value = prop_oneof![8 => text().prop_map(Value::from), 2 => json(), 1 => deep()];
    let known = (key, value);
    let other = ("\\PC{0,12}", prop_oneof![8 => json(), 1 => deep()]);
    let pairs = prop_oneof![
        6 => known.clone().prop_map(|pair| vec![pair]),
        1 => vec(known, 0..3),
        1 => vec(other, 0..3),
    ];
    pairs.prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    })
}

#[test]
fn a_call_is_answered_as_a_session_observes_it() {
    let (_base, registry, context) = folder();
    let runtime = Runtime::new().unwrap();
    let sides = runtime.block_on(async {
        let without = Sides::new(&registry, ToolContext::default()).await;
        [without, Sides::new(&registry, context).await]
    });
    let sides = RefCell::new(sides);
    for sides in sides.borrow_mut().iter_mut() {
        runtime.block_on(sides.compare_lists());
    }
    let calls = (any::<bool>(), tool(), args());
    let compared = runner(512).run(&calls, |(with_files, tool, args)| {
        let side = &mut sides.borrow_mut()[usize::from(with_files)];
        runtime.block_on(side.compare(&tool, &args));
        Ok(())
    });
    compared.unwrap();
}

/// Random tools of somebody else, which say what they were given.
#[test]
fn schemas_are_the_same_bytes() {
    let schema = vec((".{0,8}", json()), 0..4).prop_map(|properties| {
        let property = |(name, value): (String, Value)| {
            (name, json!({"description": "d\u{e4}\n", "const": value}))
        };
        let properties: Map<String, Value> = properties.into_iter().map(property).collect();
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "required": [], "properties": properties, "$defs": {"b": {}, "a": {"minimum": 1.0}}})
    });
    let runtime = Runtime::new().unwrap();
    let tools = vec((schema, odd_text()), 1..4);
    let compared = runner(64).run(&(tools, args()), |(tools, args)| {
        let mut registry = Registry::default();
        for (n, (parameters, description)) in tools.into_iter().enumerate() {
            let spec = ToolSpec {
                parameters,
                description,
                ..plain(&format!("tool-{n}"))
            };
            let echo = from_fn(
                spec,
                |args, _| async move { Observation::ok(args.to_string()) },
            );
            registry.add(echo).unwrap();
        }
        runtime.block_on(async {
            let mut sides = Sides::new(&registry, ToolContext::default()).await;
            sides.compare_lists().await;
            sides.compare("tool-0", &args).await;
        });
        Ok(())
    });
    compared.unwrap();
}
