//! What lies over the config file: environment and command line.

use std::ffi::OsString;

use toml::Value;

use super::{
    keys::{self, Found, KEYS, Key},
    kinds::did_you_mean,
    settings::{Name, Origin, Settings, parse_path, show},
};
use crate::error::Problem;

/// `FARM_*` variables that are no config: the caller's own, and those of the tests.
fn is_ours(name: &str) -> bool {
    name.starts_with("FARM_")
        && !matches!(name, "FARM_CONFIG" | "FARM_GOLDEN")
        && !["FARM_TEST_", "FARM_REQUIRE_"]
            .iter()
            .any(|p| name.starts_with(p))
}

/// Without a `[models.NAME]` there is one model: the scripts that stand in the cases.
pub(super) fn default_model(settings: &mut Settings) {
    if settings.names_of("models").next().is_some() {
        return;
    }
    let path = ["models", "scripted", "kind"].map(str::to_owned);
    settings.names.push(Name {
        section: "models",
        name: "scripted".to_owned(),
        origin: Origin::Default,
    });
    settings.set_default(path.to_vec(), Value::String("scripted".to_owned()));
}

/// Sets what the environment says.
pub(super) fn env(
    env: &[(OsString, OsString)],
    settings: &mut Settings,
    problems: &mut Vec<Problem>,
) {
    let known: Vec<(String, &Key)> = KEYS
        .iter()
        .filter_map(|key| Some((key.env()?, key)))
        .collect();
    for (name, text) in env {
        // A name that is not UTF-8 is none of a key either.
        let name = name.to_string_lossy();
        if !is_ours(&name) {
            continue;
        }
        let origin = Origin::Env(name.clone().into_owned());
        let Some((_, key)) = known.iter().find(|(n, _)| *n == name) else {
            problems.push(unknown_variable(&name, &known));
            continue;
        };
        let Some(text) = text.to_str() else {
            let problem = origin.problem(format!("{}: is not UTF-8", key.path));
            problems.push(problem.hint("set it to a text, or unset it"));
            continue;
        };
        let path: Vec<String> = key.parts().map(str::to_owned).collect();
        let literal = Value::String(text.to_owned());
        let value = text.parse().unwrap_or_else(|_| literal.clone());
        let is_literal = key.kind.check(&value).is_err() && key.kind.check(&literal).is_ok();
        let value = if is_literal { literal } else { value };
        problems.extend(settings.set(key, &path, value, origin).err());
    }
}

fn unknown_variable(name: &str, known: &[(String, &Key)]) -> Problem {
    // The common beginning would make all names alike.
    let tail = |name: &str| name.trim_start_matches("FARM_").to_owned();
    let tails: Vec<String> = known.iter().map(|(n, _)| tail(n)).collect();
    let tails: Vec<&str> = tails.iter().map(String::as_str).collect();
    let mut problem =
        Origin::Env(name.to_owned()).problem("no key of the config has this environment variable");
    problem.hint = did_you_mean(&tail(name), &tails).map_or_else(
        || Some("unset it, or name a key: FARM_RUN_SEEDS sets run.seeds".to_owned()),
        |hint| Some(hint.replacen('`', "`FARM_", 1)),
    );
    problem
}

/// Sets what the command line says: paths of keys, such as `run.concurrency`, with their values.
pub(super) fn flags(flags: &[(&str, Value)], settings: &mut Settings, problems: &mut Vec<Problem>) {
    for (text, value) in flags {
        let path = parse_path(text).unwrap_or_else(|| vec![(*text).to_owned()]);
        let key = match keys::find(&path) {
            Found::Key(key) => key,
            Found::Table => {
                problems.push(Origin::Flag((*text).to_owned()).problem("is a table, not a key"));
                continue;
            }
            Found::Unknown(meant) => {
                let mut problem = Origin::Flag((*text).to_owned()).problem("unknown key");
                problem.hint = meant;
                problems.push(problem);
                continue;
            }
        };
        let origin = Origin::Flag(key.flag.map_or_else(|| show(&path), str::to_owned));
        if let Some(section) = key.section()
            && let Some(name) = path.get(key.header_len() - 1)
            && !settings.has_name(section, name)
        {
            problems.push(origin.problem(format!("there is no [{section}.{name}] to change")));
            continue;
        }
        problems.extend(settings.set(key, &path, value.clone(), origin).err());
    }
}
