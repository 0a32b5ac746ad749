//! Sealed texts in what an agent is given: answers, which may be there for a reason, and canaries,
//! which may not.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    config::{self, Resolved},
    domain::{Case, input},
    error::Problem,
    score::SealedSuite,
};

/// The tool that shows the canned pages.
const PAGES_TOOL: &str = "web_fetch";

/// A text that an agent may see: its name and itself.
type Text = (String, String);

/// Where a sealed answer stands word for word in what the agent of its case sees: the task, the
/// tags, the files, the prompts, and the pages where a session can fetch them.
pub(super) fn answers(
    file: &Path,
    cases: &[(usize, Case)],
    config: &Resolved,
    sealed: &SealedSuite,
) -> Vec<Problem> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let prompts: Vec<Text> = prompts(config)
        .map(|(path, text)| (path.display().to_string(), text.to_owned()))
        .collect();
    let pages: Vec<Text> = pages(config)
        .map(|(path, text)| (path.display().to_string(), text))
        .collect();
    let mut problems = Vec::new();
    for (line, case) in cases {
        let mut own = vec![("task".to_owned(), case.task.clone())];
        own.extend(case.tags.iter().map(|tag| ("tags".to_owned(), tag.clone())));
        if let Some(files) = &case.files {
            own.extend(
                texts_in(&folder.join(files))
                    .map(|(name, _, text)| (format!("{files}/{name}"), text)),
            );
        }
        let can_fetch = fetches(case, config);
        let seen = own
            .iter()
            .chain(&prompts)
            .chain(pages.iter().filter(|_| can_fetch));
        let seen: Vec<(String, &str)> = seen
            .map(|(name, text)| (name.clone(), text.as_str()))
            .collect();
        for place in sealed.leaks(&case.id, &seen) {
            let message = format!("case {}: {place}", case.id);
            problems.push(Problem::at(file, *line, 0, message));
        }
    }
    problems
}

/// Whether a session of the case may call the tool that shows pages.
fn fetches(case: &Case, config: &Resolved) -> bool {
    let has = |tools: &[String]| tools.iter().any(|tool| tool == PAGES_TOOL);
    match &case.tools {
        Some(tools) => has(tools),
        None => config.variants.iter().any(|variant| has(&variant.tools)),
    }
}

/// Where a canary of any case stands in anything that is public.
pub(super) fn canaries(
    file: &Path,
    cases: &[(usize, Case)],
    config: &Resolved,
    sealed: &SealedSuite,
) -> Vec<Problem> {
    if !sealed.has_canaries() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let mut look = |file: &Path, line: usize, name: &str, text: &str| {
        if sealed.holds_canary(text) {
            let message = format!("{name}holds a canary of the sealed halves");
            let problem = Problem::at(file, line, 0, message);
            problems.push(problem.hint("take out what came from there"));
        }
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut folders = BTreeSet::new();
    for (line, case) in cases {
        look(file, *line, "id: ", case.id.as_str());
        look(file, *line, "task: ", &case.task);
        look(file, *line, "tags: ", &case.tags.join("\n"));
        look(
            file,
            *line,
            "cluster: ",
            case.cluster.as_deref().unwrap_or_default(),
        );
        let mut words = Vec::new();
        for (key, value) in &case.metadata {
            words.push(key.as_str());
            collect(value, &mut words);
        }
        look(file, *line, "metadata: ", &words.join("\n"));
        folders.extend(case.files.as_ref().map(|files| folder.join(files)));
    }
    for folder in &folders {
        for (name, path, text) in texts_in(folder) {
            look(&path, 0, "", &format!("{name}\n{text}"));
        }
    }
    for (path, text) in prompts(config) {
        look(path, 0, "", text);
    }
    for (path, text) in pages(config) {
        look(&path, 0, "", &format!("{}\n{text}", path.display()));
    }
    problems
}

/// All texts of a value, names too.
fn collect<'a>(value: &'a Value, words: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => words.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        Value::Object(fields) => {
            for (name, item) in fields {
                words.push(name);
                collect(item, words);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The prompts of all variants, each file once; the built-in one holds nothing of anybody.
fn prompts(config: &Resolved) -> impl Iterator<Item = (&Path, &str)> {
    let files = config.variants.iter().filter_map(|variant| {
        let file = variant.prompt.file.as_ref()?;
        Some((file.path.as_path(), variant.prompt.text.as_str()))
    });
    files.collect::<BTreeSet<_>>().into_iter()
}

fn pages(config: &Resolved) -> impl Iterator<Item = (PathBuf, String)> {
    let folder = config.tools.web_fetch_pages.iter();
    let texts = folder.flat_map(|pages| texts_in(&pages.folder.path));
    texts.map(|(_, path, text)| (path, text))
}

/// The files of a folder as texts, whatever they are. What cannot be read is told elsewhere.
fn texts_in(folder: &Path) -> impl Iterator<Item = (String, PathBuf, String)> + use<> {
    let files = config::list_files(folder).unwrap_or_default();
    files.into_iter().filter_map(|(name, path)| {
        let bytes = input::bytes(&path).ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some((name, path, text))
    })
}
