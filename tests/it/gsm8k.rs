//! 1,319 problems and the recorded solutions of two models, of which the outcome is known.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Folder, farm, files, lines};

/// Evaluates a JSON list of expressions to the list of their `repr`.
const PYTHON: &str = "
import json, sys
print(json.dumps([repr(eval(e, {'__builtins__': {}})) for e in json.load(sys.stdin)]))";

/// Whether what cannot be tested is a failure.
fn is_required() -> bool {
    std::env::var_os("FARM_REQUIRE_GSM8K").is_some_and(|value| value == "1")
}

/// The folder of the problems, if it is there.
fn data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/gsm8k");
    if folder.exists() {
        return Some(folder);
    }
    assert!(!is_required(), "{} is not there", folder.display());
    println!("skipped: {} is not there", folder.display());
    None
}

/// The calls of one variant, each with its expression and observation.
fn calculations(run: &Path, variant: &str) -> Vec<(String, Value)> {
    let traces = files(&run.join("traces").join(variant));
    assert_eq!(traces.len(), 1319);
    let records = traces
        .iter()
        .flat_map(|file| lines(&fs::read_to_string(file).unwrap()));
    records
        .filter_map(|mut record| {
            let call = &record["decision"]["tool_call"];
            assert!(call.is_null() || call["tool"] == "calculator");
            let expression = call["args"]["expression"].as_str()?.to_owned();
            Some((expression, record["observation"].take()))
        })
        .collect()
}

/// What Python says of these expressions; none when there is no Python.
fn python(expressions: &[&str]) -> Option<Vec<String>> {
    let child = Command::new("python3")
        .args(["-W", "ignore", "-c", PYTHON])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            assert!(!is_required(), "python3: {error}");
            println!("skipped: the comparison with Python: {error}");
            return None;
        }
    };
    let input = json!(expressions).to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The comparison of the run's two variants, whose differences are known.
fn compared(folder: &Folder) {
    let said = folder.farm(["compare", "run", "--format", "json"]).exits(0);
    let comparison: Value = serde_json::from_str(&said.stdout).unwrap();
    let pair = &comparison["pairs"][0];
    assert_eq!((&pair["a"], &pair["b"]), (&json!("6b"), &json!("175b")));
    let number = |value: &Value| value.as_f64().unwrap();
    let rate = &pair["pass_rate"];
    for reading in ["fixed", "sample"] {
        let figure = &rate[reading];
        let estimate = number(&figure["estimate"]);
        assert!((estimate - 456.0 / 1319.0).abs() < 1e-9, "{figure}");
        assert!(number(&figure["lo"]) < estimate && estimate < number(&figure["hi"]));
    }
    assert_eq!(rate["verdict"], "better");
    assert_eq!(rate["signflip_exact"], true);
    assert_eq!(format!("{:.2e}", number(&rate["p_signflip"])), "1.66e-99");
    let cases = pair["cases"].as_array().unwrap();
    let with = |d: f64| {
        cases
            .iter()
            .filter(|c| number(&c["difference"]["estimate"]) == d)
            .count()
    };
    assert_eq!((cases.len(), with(1.0), with(-1.0)), (1319, 499, 43));

    let said = folder.farm(["compare", "run", "--all"]).exits(0);
    for side in ["6b ", "175b "] {
        let row = said
            .stdout
            .lines()
            .find(|line| line.starts_with(side))
            .unwrap();
        let counts = if side == "6b " {
            "1,319     286   1,033"
        } else {
            "1,319     742     577"
        };
        assert!(row.ends_with(counts), "{row}");
    }
    for words in [
        "175b is better than 6b: +0.346 [+0.310, +0.380] (these cases, new seeds)",
        "1.66e-99",
        "499 fare better on 175b",
        "43 worse",
    ] {
        assert!(said.stdout.contains(words), "{words}");
    }
    let listed = said
        .stdout
        .lines()
        .filter(|line| line.starts_with("gsm8k-"))
        .count();
    assert_eq!(listed, 499 + 43);
}

#[test]
fn both_models_solve_as_many_as_is_known() {
    let Some(data) = data() else { return };
    let folder = Folder::new();
    let scripts = |name: &str| json!(data.join("scripts").join(name)).to_string();
    folder.write(
        "farm.toml",
        format!(
            "[models.6b]\nkind = \"scripted\"\nscripts = {}\n[models.175b]\nkind = \"scripted\"\nscripts = {}\n",
            scripts("6b_finetuning.jsonl"),
            scripts("175b_verification.jsonl")
        ),
    );
    let said = folder.command(
        farm()
            .args(["run", "--quiet", "--config", "farm.toml", "--out", "run"])
            .arg(data.join("cases.jsonl"))
            .arg("--sealed")
            .arg(data.join("sealed.jsonl")),
    );
    said.exits(0);

    let summary = folder.json("run/summary.json");
    let (mut good, mut separators) = (Vec::new(), 0);
    for (at, variant, passed, errors) in [(0, "6b", 286, 10), (1, "175b", 742, 6)] {
        let of = &summary["variants"][at];
        assert_eq!(of["variant"], variant);
        let ledger = (
            &of["ledger"]["planned"],
            &of["ledger"]["passed"],
            &of["ledger"]["failed"],
        );
        assert_eq!(
            ledger,
            (&json!(1319), &json!(passed), &json!(1319 - passed)),
            "{variant}"
        );

        let (ok, failed): (Vec<_>, Vec<_>) = calculations(&folder.path("run"), variant)
            .into_iter()
            .partition(|(_, observation)| observation["ok"] == true);
        assert_eq!(failed.len(), errors, "{variant}: {failed:#?}");
        for (expression, observation) in &failed {
            let content = observation["content"].as_str().unwrap();
            assert!(content.starts_with("syntax"), "{expression}: {content}");
            if expression == "3,650*10/100" {
                assert!(
                    content.contains("leave out thousands separators"),
                    "{content}"
                );
                separators += 1;
            }
        }
        good.extend(ok);
    }
    assert!(separators > 0, "no call of 3,650*10/100");

    compared(&folder);

    let expressions: Vec<&str> = good
        .iter()
        .map(|(expression, _)| expression.as_str())
        .collect();
    let Some(values) = python(&expressions) else {
        return;
    };
    assert_eq!(values.len(), good.len());
    for ((expression, observation), value) in good.iter().zip(&values) {
        assert_eq!(&observation["content"], value, "{expression}");
    }
}
