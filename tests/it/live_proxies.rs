//! Proxies that the environment names.

use std::sync::{Arc, Mutex};

use crate::{
    live::{args, folder, ledger, model, solve},
    stub::{Stub, says},
    support::farm,
};

/// Runs two sessions with these variables, in which `PROXY` is a proxy: how many requests their
/// endpoint had, and the request lines that the proxy had instead.
fn asked(variables: &[(&str, &str)]) -> (usize, Vec<String>) {
    let folder = folder(2);
    let endpoint = Stub::start(|asked| says(&solve(asked.task())));
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let proxy = {
        let lines = lines.clone();
        Stub::start(move |asked| {
            let line = asked.head.lines().next().unwrap().to_owned();
            lines.lock().unwrap().push(line);
            says(&solve(asked.task()))
        })
    };
    folder.write("live.toml", model("m", &endpoint.base_url(), ""));
    let mut command = farm();
    command.args(args("live.toml", &["--quiet", "--no-probe"]));
    for (name, value) in variables {
        let address = format!("http://{}", proxy.address);
        command.env(name, value.replace("PROXY", &address));
    }
    folder.command(&mut command).exits(0);
    assert_eq!(ledger(&folder, "passed"), 2);
    let address = endpoint.address.to_string();
    let lines = lines.lock().unwrap();
    let lines = lines.iter().map(|line| line.replace(&address, "ENDPOINT"));
    (endpoint.counts().asked, lines.collect())
}

#[test]
fn a_proxy_gets_what_is_meant_for_others() {
    let line = "POST http://ENDPOINT/v1/chat/completions HTTP/1.1";
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        let (direct, through) = asked(&[(name, "PROXY")]);
        assert_eq!((direct, through), (0, vec![line.to_owned(); 2]), "{name}");
    }
}

#[test]
fn a_proxy_is_passed_by_where_it_is_not_to_be_used() {
    let tables: [&[(&str, &str)]; 4] = [
        &[("HTTP_PROXY", "PROXY"), ("NO_PROXY", "127.0.0.1")],
        &[
            ("http_proxy", "PROXY"),
            ("no_proxy", "example.org,127.0.0.1"),
        ],
        &[("ALL_PROXY", "PROXY"), ("NO_PROXY", "*")],
        &[("HTTPS_PROXY", "PROXY")],
    ];
    for variables in tables {
        assert_eq!(asked(variables), (2, Vec::new()), "{variables:?}");
    }
}
