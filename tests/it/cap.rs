//! The cap on money and the probe, as the command line and the config say them.

use serde_json::json;

use crate::support::Folder;

/// A live model that is never asked: its run is refused before that.
const LIVE: &str = "[models.live]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
    model = \"large\"\napi_key_env = \"A_KEY\"\n";

#[test]
fn a_resume_may_raise_the_cap_and_take_it_away() {
    let folder = Folder::with_one_case();
    folder
        .run(&["--quiet", "--max-cost", "5", "--no-probe"])
        .exits(0);
    let config = folder.read("run/config.toml");
    assert!(
        config.contains("max_cost_usd = 5.0 # --max-cost"),
        "{config}"
    );
    assert!(config.contains("probe = false # --no-probe"), "{config}");
    for cap in ["7.5", "none"] {
        folder
            .farm(["resume", "run", "--quiet", "--max-cost", cap])
            .exits(0);
    }
    let manifest = folder.json("run/manifest.json");
    let changes = manifest["changes"].as_array().unwrap().iter();
    let changes: Vec<_> = changes
        .map(|c| json!([c["key"], c["from"], c["to"]]))
        .collect();
    let key = "run.max_cost_usd";
    assert_eq!(changes, [json!([key, 5.0, 7.5]), json!([key, 7.5, "none"])]);
}

#[test]
fn a_cap_that_could_not_hold_and_one_that_is_none() {
    let folder = Folder::with_one_case();
    folder.write("farm.toml", LIVE);
    let refused = |more: &[&str]| {
        let said = folder.run(&[&["--config", "farm.toml"], more].concat());
        assert!(!folder.path("run").exists());
        said.exits(2).stderr
    };
    insta::assert_snapshot!(refused(&["--max-cost", "5"]), @r#"
    error: 1 problem in the input
      --max-cost: run.max_cost_usd: model `live` has an unknown price; a cap could not hold; add price = { input = …, output = … } to [models.live], in US dollars per million tokens
    "#);
    for (cap, said) in [
        ("0", "0.0"),
        ("-1", "-1.0"),
        ("inf", "inf"),
        ("5 USD", "\"5 USD\""),
    ] {
        let cap = format!("--max-cost={cap}");
        assert_eq!(
            refused(&[&cap]),
            format!(
                "error: 1 problem in the input\n  --max-cost: run.max_cost_usd: must be a \
                 positive, finite number of US dollars, or none, is {said}\n"
            )
        );
    }
}

#[test]
fn a_session_that_could_not_pay_its_first_call_is_refused() {
    let folder = Folder::with_one_case();
    let priced = "price = { input = 1.0, output = 1000.0 }\nparameters = { max_tokens = 100 }\n";
    let live = LIVE.replace("api_key_env = \"A_KEY\"\n", priced);
    folder.write(
        "farm.toml",
        live.clone() + "[session]\nmax_cost_usd = 0.05\n",
    );
    for command in ["run", "check"] {
        let args = [command, "cases.jsonl", "--config", "farm.toml"];
        let said = folder
            .farm(args.iter().chain(&["--sealed", "sealed.jsonl"]))
            .exits(2)
            .stderr;
        let words =
            "session.max_cost_usd: a session may spend 0.05 USD, and the first call of case ";
        assert!(said.contains(words), "{said}");
        assert!(
            said.contains("at 127.0.0.1:9 is reserved at 0.10"),
            "{said}"
        );
    }
}
