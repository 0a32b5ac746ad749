//! The tools that a config names: farm's own, and those of servers, which are asked for them.

use std::{collections::BTreeMap, env, ffi::OsString, sync::Arc};

use cap_std::{ambient_authority, fs::Dir};
use futures_util::future::join_all;
use secrecy::SecretString;
use tokio::runtime::Builder;

use crate::{
    config::{McpServer as Server, ModelKind, Resolved},
    domain::{Case, Redactor, VariantName},
    error::{Context, Error, Problem, Result},
    fence::Keeper,
    tool::{
        self, BuiltinOptions, McpServer, Registry, RegistryError, Tool,
        mcp_client::{Command, McpOptions, SEPARATOR},
    },
};

/// All tools that can be chosen from.
pub(super) struct Tools {
    /// They themselves.
    pub registry: Registry,
    /// For each server that was asked its name, and the SHA-256 of what it said.
    pub servers: Vec<(String, String)>,
}

/// The tools of a run. Where its variants and cases name all tools of a server, they name each
/// afterwards; what servers said is in the digests.
///
/// # Errors
/// What is wrong with all servers that cannot be used; the first name that is not one of a tool.
pub(super) fn of_run(
    config: &mut Resolved,
    cases: &mut [Case],
    digests: &mut BTreeMap<String, String>,
) -> Result<Registry> {
    let of_variants = config.variants.iter().map(|variant| &variant.tools);
    let of_cases = cases.iter().filter_map(|case| case.tools.as_ref());
    let named: Vec<&String> = of_variants.chain(of_cases).flatten().collect();
    let Tools { registry, servers } =
        tools(config, |server| is_named(server, named.iter().copied()))?;
    let expand = |names: &mut Vec<String>| -> Result<(), RegistryError> {
        let expanded = registry.expand(names.iter().map(String::as_str))?;
        *names = expanded.into_iter().map(str::to_owned).collect();
        Ok(())
    };
    for variant in &mut config.variants {
        let name = &variant.name;
        expand(&mut variant.tools).input(|| format!("the tools of variant {name}"))?;
    }
    for case in cases {
        let id = &case.id;
        if let Some(names) = &mut case.tools {
            expand(names).input(|| format!("the tools of case {id}"))?;
        }
    }
    let of_server = |(server, sha256)| (format!("tools of server {server}"), sha256);
    digests.extend(servers.into_iter().map(of_server));
    Ok(registry)
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
    let used: Vec<&Server> = config
        .tools
        .mcp
        .iter()
        .filter(|server| is_used(&server.name))
        .collect();
    let mut problems: Vec<Problem> = Vec::new();
    for server in &used {
        problems.extend(shown_keys(config, server));
    }
    if !problems.is_empty() {
        return Err(Error::problems(problems));
    }
    let mut servers = Vec::new();
    for (server, listed) in used.iter().zip(ask(&used)?) {
        let wrong =
            |why: String| config.problem(&format!("tools.mcp.{}.command", server.name), why);
        match listed {
            Ok((sha256, tools)) => {
                let added = tools.into_iter().map(|tool| registry.add(tool));
                problems.extend(added.filter_map(Result::err).map(|e| wrong(e.to_string())));
                servers.push((server.name.clone(), sha256));
            }
            Err(why) => problems.push(wrong(why)),
        }
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

/// What a server says: a digest of it, and its tools.
type Listed = Result<(String, Vec<Arc<dyn Tool>>), String>;

/// Asks servers for their tools, all at the same time.
fn ask(servers: &[&Server]) -> Result<Vec<Listed>> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.internal(|| "the async runtime did not start".to_owned())?;
    let asked = servers.iter().map(async |server| {
        let server = server_of(server).map_err(|e| e.to_string())?;
        let server = Arc::new(server);
        let tools = server.tools().await;
        server.close().await;
        let tools = tools.map_err(|lost| lost.to_string())?;
        let sha256 = server.tools_sha256().unwrap_or_default();
        Ok((sha256.to_owned(), tools))
    });
    Ok(runtime.block_on(join_all(asked)))
}

fn server_of(server: &Server) -> Result<McpServer> {
    let variable = |name: &String| Some((OsString::from(name), env::var_os(name)?));
    let secrets = server.secret_env.iter().filter_map(variable);
    let secrets: Vec<(OsString, OsString)> = secrets.collect();
    let keys: Vec<SecretString> = secrets
        .iter()
        .map(|(_, value)| value.to_string_lossy().into_owned().into())
        .collect();
    let plain = server.env.iter().filter_map(variable);
    let command = Command {
        keeper: Keeper::default(),
        command: server.command.clone(),
        env: plain.chain(secrets).collect(),
    };
    let options = McpOptions {
        name: server.name.clone(),
        share: server.share,
        max_processes: server.max_processes as usize,
        resumable: server.resumable,
        start_timeout: server.start_timeout,
        timeout: server.timeout,
        max_bytes: server.max_bytes,
        redactor: Redactor::of(&keys)?,
    };
    Ok(McpServer::new(options, command))
}

/// Variables of a server that hold keys of models.
fn shown_keys(config: &Resolved, server: &Server) -> Vec<Problem> {
    let keys = config.models().filter_map(|model| match &model.kind {
        ModelKind::OpenAi(live) => Some((live.api_key_env.as_ref()?, &model.name)),
        _ => None,
    });
    let keys: BTreeMap<&String, &VariantName> = keys.collect();
    let named = [("env", &server.env), ("secret_env", &server.secret_env)];
    let named = named
        .into_iter()
        .flat_map(|(key, names)| names.iter().map(move |n| (key, n)));
    let problem = |(key, name)| {
        let model = keys.get(name)?;
        let path = format!("tools.mcp.{}.{key}", server.name);
        let problem = config.problem(&path, format!("{name} holds the key of model {model}"));
        Some(problem.hint("no server may have it: take it out"))
    };
    named.filter_map(problem).collect()
}
