//! All integration tests, in one binary.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot go on panics, and one that is skipped says so"
)]

mod apart;
mod bad_input;
#[path = "../shared/binary.rs"]
mod binary;
mod broken_disk;
mod canary;
mod cap;
mod cassette;
mod commands;
mod compare;
mod damaged;
mod determinism;
mod failures;
mod fence;
mod gates;
mod golden;
mod golden_replies;
mod golden_table;
mod gsm8k;
mod html_page;
mod http;
mod judges;
mod law;
mod live;
mod live_faults;
mod live_flow;
mod live_grading;
mod live_keys;
mod live_money;
mod live_parked;
mod live_probe;
mod live_proxies;
mod live_replies;
mod live_restarts;
mod live_signals;
mod live_waits;
mod local;
mod mcp;
mod mcp_over_servers;
mod mcp_servers;
mod mock;
mod mock_faults;
mod odd_traces;
mod older_run;
mod output_folder;
mod own_mounts;
mod plan;
mod removing;
mod report_formats;
mod resume;
mod running;
mod schemas;
#[path = "../shared/served.rs"]
mod served;
mod signals;
mod status;
mod stub;
mod suite;
mod support;
mod terminal;
mod trace_diff;
