//! The servers of tools that a config names.

use std::{collections::BTreeMap, env, ffi::OsString, pin::pin, sync::Arc, time::Duration};

use futures_util::future::join_all;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::{runtime::Builder, time::timeout};

use super::{exit::say, keys};
use crate::{
    config::{self, ModelKind, Resolved, SERVER_ENV},
    domain::{Redactor, VariantName},
    error::{Context, Error, Problem, Result},
    fence::Keeper,
    tool::{
        McpServer, Tool,
        mcp_client::{McpOptions, ServerCommand, ServerInfo},
    },
};

/// How long servers are waited for in silence.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a server says of itself, and its tools.
type Told = (ServerInfo, Vec<Arc<dyn Tool>>);

/// Asks servers of the config for their tools, all at the same time: each is started and ended.
///
/// # Errors
/// What is wrong with all that cannot be used.
pub(super) fn ask(
    config: &Resolved,
    servers: Vec<&config::McpServer>,
) -> Result<Vec<(String, Told)>> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let mut problems = Vec::new();
    let mut made = Vec::new();
    for server in servers {
        match made_of(config, server) {
            Ok(server) => made.push(Arc::new(server)),
            Err(more) => problems.extend(more),
        }
    }
    if !problems.is_empty() {
        return Err(Error::problems(problems));
    }
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.internal(|| "the async runtime did not start".to_owned())?;
    let work = env::temp_dir();
    let asked = made.iter().map(async |server| {
        let tools = server.tools(&work).await;
        server.close().await;
        tools
    });
    let names: Vec<&str> = made.iter().map(|server| server.name()).collect();
    let asked = runtime.block_on(async {
        let mut asked = pin!(join_all(asked));
        match timeout(PATIENCE, &mut asked).await {
            Ok(asked) => asked,
            Err(_) => {
                say(&format!(
                    "waiting for servers of tools: {}",
                    names.join(", ")
                ));
                asked.await
            }
        }
    });
    let mut told = Vec::new();
    for (server, tools) in made.iter().zip(asked) {
        let name = server.name();
        match tools {
            Ok(of_server) => told.push((name.to_owned(), of_server)),
            Err(lost) => problems.push(problem(config, name, "command", lost.to_string())),
        }
    }
    match problems.is_empty() {
        true => Ok(told),
        false => Err(Error::problems(problems)),
    }
}

/// What is wrong with a key of a server.
fn problem(config: &Resolved, server: &str, key: &str, message: String) -> Problem {
    config.problem(&format!("tools.mcp.{server}.{key}"), message)
}

fn made_of(config: &Resolved, server: &config::McpServer) -> Result<McpServer, Vec<Problem>> {
    let name = &server.name;
    let mut problems = shown_keys(config, server);
    let mut env: Vec<(OsString, OsString)> = Vec::new();
    let named = SERVER_ENV
        .into_iter()
        .chain(server.env.iter().map(String::as_str));
    env.extend(named.filter_map(|name| Some((name.into(), env::var_os(name)?))));
    let mut secrets: Vec<SecretString> = Vec::new();
    for variable in &server.secret_env {
        match keys::key(variable).and_then(long_enough) {
            Ok(secret) => {
                env.push((variable.into(), secret.expose_secret().into()));
                secrets.push(secret);
            }
            Err(wrong) => {
                let message = format!("{variable} {wrong}");
                problems.push(problem(config, name, "secret_env", message));
            }
        }
    }
    let redactor = Redactor::of(&secrets).unwrap_or_else(|e| {
        problems.push(problem(config, name, "secret_env", e.to_string()));
        Redactor::default()
    });
    if !problems.is_empty() {
        return Err(problems);
    }
    let command = ServerCommand {
        keeper: Keeper::default(),
        command: server.command.clone(),
        env,
    };
    let options = McpOptions {
        name: name.clone(),
        share: server.share,
        max_processes: server.max_processes as usize,
        resumable: server.resumable,
        start_timeout: server.start_timeout,
        timeout: server.timeout,
        max_bytes: server.max_bytes,
        redactor,
    };
    Ok(McpServer::new(options, command))
}

/// A secret that can be told from other text.
fn long_enough(secret: SecretString) -> Result<SecretString, &'static str> {
    let is_number = secret.expose_secret().parse::<f64>().is_ok();
    match Redactor::can_find(&secret) && !is_number {
        true => Ok(secret),
        false => Err(
            "is shorter than 8 bytes, or a number: it cannot be told from other text; name it in env if it is no secret",
        ),
    }
}

/// Variables of a server that hold keys of models.
fn shown_keys(config: &Resolved, server: &config::McpServer) -> Vec<Problem> {
    let keys = config.models().filter_map(|model| match &model.kind {
        ModelKind::OpenAi(live) => Some((live.api_key_env.as_ref()?, &model.name)),
        _ => None,
    });
    let keys: BTreeMap<&String, &VariantName> = keys.collect();
    let named = [("env", &server.env), ("secret_env", &server.secret_env)];
    let named = named.into_iter();
    let named = named.flat_map(|(key, names)| names.iter().map(move |name| (key, name)));
    let shown = |(key, name)| {
        let message = format!("{name} holds the key of model {}", keys.get(name)?);
        let problem = problem(config, &server.name, key, message);
        Some(problem.hint("no server may have it: take it out"))
    };
    named.filter_map(shown).collect()
}
