//! The tools that a config names: farm's own, and those of its servers.

use std::{collections::BTreeMap, sync::Arc};

use cap_std::{ambient_authority, fs::Dir};

use super::servers;
use crate::{
    config::Resolved,
    domain::Case,
    error::{Context, Error, Result},
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
}

/// The tools of a run, and for each variant the names of those that it has. Where cases name all tools
/// of a server, they name each afterwards; what servers said is in the digests.
///
/// # Errors
/// What is wrong with all servers that cannot be used; the first name that is not one of a tool.
pub(super) fn of_run(
    config: &Resolved,
    cases: &mut [Case],
    digests: &mut BTreeMap<String, String>,
) -> Result<(Tools, Vec<Vec<String>>)> {
    let of_variants = config.variants.iter().map(|variant| &variant.tools);
    let of_cases = cases.iter().filter_map(|case| case.tools.as_ref());
    let named: Vec<&String> = of_variants.chain(of_cases).flatten().collect();
    let tools = tools(config, |server| is_named(server, named.iter().copied()))?;
    let registry = &tools.registry;
    let expand = |names: &[String]| -> Result<Vec<String>, RegistryError> {
        let expanded = registry.expand(names.iter().map(String::as_str))?;
        Ok(expanded.into_iter().map(str::to_owned).collect())
    };
    let of_variants = config.variants.iter().map(|variant| {
        expand(&variant.tools).input(|| format!("the tools of variant {}", variant.name))
    });
    let of_variants = of_variants.collect::<Result<_>>()?;
    for case in cases {
        if let Some(names) = &mut case.tools {
            *names = expand(names).input(|| format!("the tools of case {}", case.id))?;
        }
    }
    for (server, info) in &tools.servers {
        let name = format!("tools of server {server}");
        digests.insert(name, info.tools_sha256.clone());
    }
    Ok((tools, of_variants))
}

/// Whether one of these names of tools is, or stands for, a tool of this server.
pub(super) fn is_named<'a>(server: &str, names: impl IntoIterator<Item = &'a String>) -> bool {
    let mut names = names.into_iter();
    names.any(|name| {
        name.split_once(SEPARATOR)
            .is_some_and(|(of, _)| of == server)
    })
}

/// Farm's own tools, and those of the servers that are used: each is started and ended.
///
/// # Errors
/// What is wrong with all servers that cannot be used.
pub(super) fn tools(config: &Resolved, is_used: impl Fn(&str) -> bool) -> Result<Tools> {
    let mut registry = builtin(config)?;
    let mut problems = Vec::new();
    let mut servers = BTreeMap::new();
    let all = config.tools.mcp.iter();
    let used = all.filter(|server| is_used(&server.name)).collect();
    for (name, (info, tools)) in servers::ask(config, used)? {
        for tool in tools {
            if let Err(e) = registry.add(tool) {
                problems.push(servers::problem(config, &name, "command", e.to_string()));
            }
        }
        servers.insert(name, info);
    }
    match problems.is_empty() {
        true => Ok(Tools { registry, servers }),
        false => Err(Error::problems(problems)),
    }
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
