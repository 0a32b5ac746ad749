//! The tools that a config names: farm's own, and those of its servers.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use cap_std::{ambient_authority, fs::Dir};

use super::servers;
use crate::{
    config::Resolved,
    domain::{Case, CaseId, Scope},
    error::{Context, Error, Problem, Result},
    tool::{
        self, BuiltinOptions, Registry, RegistryError,
        mcp_client::{SEPARATOR, ServerInfo},
    },
};

/// All tools that can be chosen from.
pub(super) struct Tools {
    /// They themselves.
    pub registry: Registry,
    /// What each server that was asked said of itself, by its name.
    pub servers: BTreeMap<String, ServerInfo>,
    /// Tools of servers that cannot be used, each with why.
    pub refused: BTreeMap<String, String>,
}

/// The names of tools that each part of a run has, written out where they name all of a server.
pub(super) struct Chosen {
    /// Of each variant.
    pub variants: Vec<Vec<String>>,
    /// Of each case that has its own.
    pub cases: Vec<Option<Vec<String>>>,
}

impl Tools {
    /// Those of a run.
    ///
    /// # Errors
    /// What is wrong with all servers that cannot be used.
    pub fn of(config: &Resolved, cases: &[Case]) -> Result<Self> {
        let of_variants = config.variants.iter().map(|variant| &variant.tools);
        let of_cases = cases.iter().filter_map(|case| case.tools.as_ref());
        let named: Vec<&String> = of_variants.chain(of_cases).flatten().collect();
        tools(config, |server| is_named(server, named.iter().copied()))
    }

    /// Writes out what variants and cases name; `place` is where a case stands.
    ///
    /// # Errors
    /// All names that are not those of tools.
    pub fn choose<'a>(
        &self,
        config: &Resolved,
        cases: &[Case],
        place: impl Fn(&CaseId) -> (&'a Path, usize),
    ) -> Result<Chosen> {
        let mut problems: Vec<Problem> = Vec::new();
        let mut tell = |problem: Problem| {
            // Variants share what the session has.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        };
        let variants = config.variants.iter().map(|variant| {
            self.expand(&variant.tools, |why| {
                tell(config.tools_problem(&variant.name, why));
            })
        });
        let variants = variants.collect();
        let cases = cases.iter().map(|case| {
            let (file, line) = place(&case.id);
            case.tools.as_ref().map(|names| {
                self.expand(names, |why| {
                    tell(Problem::at(file, line, 0, format!("tools: {why}")));
                })
            })
        });
        let cases = cases.collect();
        match problems.is_empty() {
            true => Ok(Chosen { variants, cases }),
            false => Err(Error::problems(problems)),
        }
    }

    fn expand(&self, names: &[String], mut tell: impl FnMut(String)) -> Vec<String> {
        for name in names {
            if let Some(why) = self.refused.get(name) {
                tell(format!("tool `{name}` cannot be used: {why}"));
            } else if let Err(e) = self.registry.expand([name.as_str()]) {
                tell(e.to_string());
            }
        }
        let expanded = self.registry.expand(names.iter().map(String::as_str));
        let expanded = expanded.unwrap_or_else(|e| {
            // One by one they are there: one is named twice.
            if matches!(e, RegistryError::Duplicate(_)) {
                tell(e.to_string());
            }
            Vec::new()
        });
        expanded.into_iter().map(str::to_owned).collect()
    }

    /// What may not be meant so.
    pub fn warnings(&self, config: &Resolved, cases: &[Case]) -> Vec<String> {
        let refused = self.refused.iter();
        let mut warnings: Vec<String> = refused
            .map(|(name, why)| format!("tool {name} cannot be used: {why}"))
            .collect();
        let shared =
            config.tools.mcp.iter().filter(|server| {
                server.share == Scope::Run && self.servers.contains_key(&server.name)
            });
        let case = cases.iter().find(|case| case.files.is_some());
        warnings.extend(shared.zip(case).map(|(server, case)| {
            format!(
                "server {} has one process for all sessions: it does not see the files of case {}, \
                 nor of any other",
                server.name, case.id
            )
        }));
        warnings
    }
}

/// Whether one of these names of tools is, or stands for, a tool of this server.
pub(super) fn is_named<'a>(server: &str, names: impl IntoIterator<Item = &'a String>) -> bool {
    let mut names = names.into_iter();
    let prefix = format!("{server}{SEPARATOR}");
    names.any(|name| match name.strip_suffix('*') {
        Some(start) => start.starts_with(&prefix) || prefix.starts_with(start),
        None => name.starts_with(&prefix),
    })
}

/// Farm's own tools, and those of the servers that are used: each is started and ended.
///
/// # Errors
/// What is wrong with all servers that cannot be used.
pub(super) fn tools(config: &Resolved, is_used: impl Fn(&str) -> bool) -> Result<Tools> {
    let mut registry = builtin(config)?;
    let mut servers = BTreeMap::new();
    let mut refused = BTreeMap::new();
    let all = config.tools.mcp.iter();
    let used = all.filter(|server| is_used(&server.name)).collect();
    for (name, (info, tools)) in servers::ask(config, used)? {
        for tool in tools {
            let tool_name = tool.spec().name.clone();
            if let Err(e) = registry.add(tool) {
                refused.insert(tool_name, e.to_string());
            }
        }
        servers.insert(name, info);
    }
    Ok(Tools {
        registry,
        servers,
        refused,
    })
}

fn builtin(config: &Resolved) -> Result<Registry> {
    let pages = config.tools.web_fetch_pages.as_ref().map(|pages| {
        let path = &pages.folder.path;
        Dir::open_ambient_dir(path, ambient_authority())
            .map(Arc::new)
            .input(|| {
                format!(
                    "the folder of canned pages, {}, cannot be opened",
                    path.display()
                )
            })
    });
    let options = BuiltinOptions {
        file_read_max_bytes: config.tools.file_read_max_bytes,
        pages: pages.transpose()?,
    };
    tool::builtin(&options).internal(|| "the built-in tools cannot be registered".to_owned())
}
