//! The second phase with a live model: one that may spend no more, and one whose quota is spent.

use serde_json::json;

use crate::{
    live::{folder, ledger, model, run, solve, status},
    stub::{Say, Stub, error, http, says},
    support::Folder,
};

const GRADE: &str = r#"{"reason": "it is", "score": 1, "passed": true}"#;

/// Four cases that a model has to grade; with who answers them.
fn graded() -> (Folder, Stub) {
    let folder = folder(4);
    let half = |n: usize| {
        let check = json!({"kind": "model_graded", "rubric": "Is it right?"});
        format!("{}\n", json!({"id": format!("p-{n}"), "checks": [check]}))
    };
    folder.write("sealed.jsonl", (0..4).map(half).collect::<String>());
    let agent = Stub::start(|asked| says(&solve(asked.task())));
    (folder, agent)
}

/// The config with this judge, whose calls may cost a little more than a dollar.
fn config(agent: &Stub, judge: &Stub, more: &str) -> String {
    let table = "price = { input = 1, output = 1 }\nparameters = { max_tokens = 1000000 }\n";
    model("m", &agent.base_url(), "")
        + &model("judge", &judge.base_url(), &format!("{table}{more}"))
        + "[score]\njudge = \"judge\"\n"
}

/// A grade, of which nobody says what it cost.
fn unpriced() -> Say {
    let message = json!({"role": "assistant", "content": GRADE});
    let body = json!({"choices": [{"index": 0, "message": message}]});
    http("200 OK", "", &body.to_string())
}

/// How many sessions passed, and how many have no verdict; the status says the same.
#[track_caller]
fn passed_and_unscored(folder: &Folder) -> (u64, u64) {
    let told = &status(folder)["variants"][0]["ledger"];
    let of = |state| {
        assert_eq!(told[state].as_u64(), Some(ledger(folder, state)), "{told}");
        ledger(folder, state)
    };
    (of("passed"), of("unscored"))
}

#[test]
fn a_judge_that_meets_its_cap_leaves_the_rest_to_a_resume() {
    let (folder, agent) = graded();
    let judge = Stub::start(|_| unpriced());
    folder
        .write("live.toml", config(&agent, &judge, "max_cost_usd = 2.5"))
        .write("more.toml", config(&agent, &judge, "max_cost_usd = 9.0"));
    let more = ["--model", "m", "--quiet", "--no-probe"];
    run(&folder, "live.toml", &more).exits(3);
    assert_eq!(passed_and_unscored(&folder), (2, 2));
    assert_eq!((agent.counts().asked, judge.counts().asked), (4, 2));

    // What has been spent still counts.
    folder.farm(["resume", "run", "--quiet"]).exits(3);
    assert_eq!(passed_and_unscored(&folder), (2, 2));
    assert_eq!(judge.counts().asked, 2);

    let resume = "resume run --quiet --no-probe --config more.toml";
    folder.farm(resume.split(' ')).exits(0);
    assert_eq!(passed_and_unscored(&folder), (4, 0));
    assert_eq!((agent.counts().asked, judge.counts().asked), (4, 4));
    let totals = &folder.json("run/manifest.json")["totals"];
    let judges = totals["judges_cost_usd"].as_f64().unwrap();
    assert!(judges > 4.0 && judges < 4.1, "{totals}");
}

#[test]
fn a_judge_whose_quota_is_spent_leaves_the_rest_to_another_place() {
    let (folder, agent) = graded();
    let spent = Stub::start(|asked| match asked.n {
        0 => says(GRADE),
        _ => error(402, "no credits are left"),
    });
    let sound = Stub::start(|_| says(GRADE));
    folder
        .write("live.toml", config(&agent, &spent, ""))
        .write("sound.toml", config(&agent, &sound, ""));
    let more = ["--model", "m", "--quiet", "--no-probe"];
    run(&folder, "live.toml", &more).exits(3);
    assert_eq!(passed_and_unscored(&folder), (1, 3));

    let resume = "resume run --quiet --no-probe --config sound.toml";
    folder.farm(resume.split(' ')).exits(0);
    assert_eq!(passed_and_unscored(&folder), (4, 0));
    assert_eq!((agent.counts().asked, sound.counts().asked), (4, 3));
}
