//! Which of the cases a run takes.

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::kinds::did_you_mean;
use crate::{
    domain::Case,
    error::{Error, Result},
};

/// What the command line asks for. Nothing asked for is all cases.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection<'a> {
    /// Globs over ids; a case needs to match one.
    pub globs: &'a [String],
    /// A case needs to have one.
    pub tags: &'a [String],
    /// The first so many of those.
    pub limit: Option<usize>,
}

/// The cases that a selection takes, in their order.
///
/// # Errors
/// An input error when a glob is none, or when nothing is selected.
pub fn select(cases: Vec<Case>, selection: Selection<'_>) -> Result<Vec<Case>> {
    if selection.limit == Some(0) {
        return Err(Error::input("--limit 0 selects no case").hint("use --limit 1 or more"));
    }
    let globs = build(selection.globs)?;
    let mut ids = Vec::new();
    let mut tags = Vec::new();
    let mut selected = Vec::new();
    for case in cases {
        let by_glob = selection.globs.is_empty() || globs.is_match(case.id.as_str());
        let by_tag =
            selection.tags.is_empty() || case.tags.iter().any(|t| selection.tags.contains(t));
        ids.push(case.id.clone());
        tags.extend(case.tags.iter().cloned());
        if by_glob && by_tag {
            selected.push(case);
        }
    }
    if selected.is_empty() {
        tags.sort_unstable();
        tags.dedup();
        let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        return Err(nothing(selection, &ids, &tags));
    }
    selected.truncate(selection.limit.unwrap_or(usize::MAX));
    Ok(selected)
}

fn build(globs: &[String]) -> Result<GlobSet> {
    let mut builder = GlobSetBuilder::new();
    for text in globs {
        let glob = Glob::new(text).map_err(|e| {
            Error::input(format!("--case {text:?} is not a glob: {}", e.kind()))
                .hint("* stands for any text, ? for one character, [ab] for one of some")
        })?;
        builder.add(glob);
    }
    builder
        .build()
        .map_err(|e| Error::input(format!("--case: {}", e.kind())))
}

/// The first few of all names.
fn known(what: &str, all: &[&str]) -> String {
    let first = all.iter().take(5).copied().collect::<Vec<_>>().join(", ");
    match all.len() {
        0 => format!("there are no {what}"),
        1..=5 => format!("the {what} are {first}"),
        n => format!("the {what} are {first} and {} more", n - 5),
    }
}

fn nothing(selection: Selection<'_>, ids: &[&str], tags: &[&str]) -> Error {
    let asked: Vec<String> = selection
        .globs
        .iter()
        .map(|g| format!("--case {g:?}"))
        .chain(selection.tags.iter().map(|t| format!("--tag {t:?}")))
        .collect();
    let error = Error::input(format!(
        "no case of {} matches {}",
        ids.len(),
        asked.join(" ")
    ));
    let unknown_tag = selection.tags.iter().find(|t| !tags.contains(&t.as_str()));
    let meant = match unknown_tag {
        Some(tag) => did_you_mean(tag, tags),
        None => selection
            .globs
            .iter()
            .filter(|g| !ids.contains(&g.as_str()))
            .find_map(|g| did_you_mean(g, ids)),
    };
    let (what, all) = match unknown_tag {
        Some(_) => ("tags", tags),
        None => ("ids", ids),
    };
    error.hint(meant.unwrap_or_else(|| known(what, all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases() -> Vec<Case> {
        let case = |id: &str, tags: &[&str]| {
            serde_json::from_value(serde_json::json!({"id": id, "task": "t", "tags": tags}))
                .unwrap()
        };
        vec![
            case("arith-1", &["arithmetic", "easy"]),
            case("arith-2", &["arithmetic"]),
            case("files-1", &["easy"]),
        ]
    }

    #[test]
    fn selections() {
        type Row<'a> = (&'a [&'a str], &'a [&'a str], Option<usize>, &'a str);
        let table: [Row<'_>; 11] = [
            (&[], &[], None, "arith-1 arith-2 files-1"),
            (&["arith-*"], &[], None, "arith-1 arith-2"),
            (&["*-1"], &["easy"], None, "arith-1 files-1"),
            (&["arith-2", "files-?"], &[], None, "arith-2 files-1"),
            (&[], &["easy", "arithmetic"], Some(2), "arith-1 arith-2"),
            (&["{arith,files}-1"], &[], Some(9), "arith-1 files-1"),
            (
                &["["],
                &[],
                None,
                "--case \"[\" is not a glob: unclosed character class; missing ']'",
            ),
            (
                &["arit-1"],
                &[],
                None,
                "no case of 3 matches --case \"arit-1\"; did you mean `arith-1`?",
            ),
            (
                &[],
                &["esy"],
                None,
                "no case of 3 matches --tag \"esy\"; did you mean `easy`?",
            ),
            (
                &["arith-2"],
                &["easy"],
                None,
                "no case of 3 matches --case \"arith-2\" --tag \"easy\"; the ids are arith-1, arith-2, files-1",
            ),
            (
                &[],
                &[],
                Some(0),
                "--limit 0 selects no case; use --limit 1 or more",
            ),
        ];
        for (globs, tags, limit, want) in table {
            let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
            let (globs, tags) = (owned(globs), owned(tags));
            let selection = Selection {
                globs: &globs,
                tags: &tags,
                limit,
            };
            let got = match select(cases(), selection) {
                Ok(cases) => {
                    let ids: Vec<&str> = cases.iter().map(|c| c.id.as_str()).collect();
                    ids.join(" ")
                }
                Err(e) => match e.hint {
                    Some(hint) => format!("{}; {hint}", e.message),
                    None => e.message,
                },
            };
            assert!(got.starts_with(want), "{got}\n{want}");
        }
    }
}
