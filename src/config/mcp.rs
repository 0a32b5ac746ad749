//! `[tools.mcp.NAME]`: servers whose tools an agent may call, over MCP.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    audit::Audit,
    digest::sha256_hex,
    kinds::{Misfit, is_path},
    settings::Name,
};
use crate::{
    domain::{Scope, absolute},
    error::Result,
};

/// Where servers stand in the config.
pub(super) const SECTION: &str = "tools.mcp";

/// The names of servers: so that the first `__` of a tool's name ends that of its server.
pub(super) const NAME: &str = "^(?=.{1,32}$)[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$";

/// The environment variables that every server gets.
pub const SERVER_ENV: [&str; 4] = ["HOME", "LANG", "PATH", "TMPDIR"];

/// A server of tools, started as a child process.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServer {
    /// Its tools are called `NAME__tool`.
    pub name: String,
    /// The program and its arguments; relative paths are made absolute.
    pub command: Vec<OsString>,
    /// The environment variables that it gets besides [`SERVER_ENV`].
    pub env: Vec<String>,
    /// Those whose values are secrets; it gets them too.
    pub secret_env: Vec<String>,
    /// For whom a process is.
    pub share: Scope,
    /// The most processes at the same time.
    pub max_processes: u32,
    /// Whether a session that called it may go on with a new process.
    pub resumable: bool,
    /// The longest result that is taken, in bytes.
    pub max_bytes: usize,
    /// How long it may take to say which tools it has.
    pub start_timeout: Duration,
    /// How long a call may take.
    pub timeout: Duration,
    /// The command without what differs between machines.
    meaning: Vec<Value>,
    /// SHA-256, hex, of the files that it names.
    files: Map<String, Value>,
}

#[derive(Deserialize)]
struct Table {
    #[serde(default)]
    command: Vec<String>,
    env: Vec<String>,
    secret_env: Vec<String>,
    share: Scope,
    max_processes: u32,
    resumable: bool,
    max_bytes: usize,
    start_timeout_s: f64,
    timeout_s: f64,
}

impl McpServer {
    /// The paths of files and folders that its command names.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let words = self.command.iter().map(Path::new);
        words.filter(|word| word.is_absolute())
    }

    /// What of it changes what sessions do. Files of its command stand in it by their SHA-256.
    pub(super) fn meaning(&self) -> Value {
        json!({
            "name": self.name,
            "command": self.meaning,
            "files_sha256": self.files,
            "share": self.share,
            "max_bytes": self.max_bytes,
        })
    }
}

/// Whether a server may be called so.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |part: &str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !part.is_empty() && part.bytes().all(is_plain)
    };
    match name.len() <= 32 && name.split('_').all(is_plain) {
        true => Ok(()),
        false => Err(format!(
            "{name:?} is not a name of a server: use 1 to 32 of A-Z a-z 0-9 -, and single _ between them"
        )),
    }
}

/// These names of tools, and for each of these servers `NAME__*`.
pub(super) fn known<'a>(
    builtin: &[&str],
    servers: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let builtin = builtin.iter().map(|name| (*name).to_owned());
    let of_servers = servers.into_iter().map(|server| format!("{server}__*"));
    builtin.chain(of_servers).collect()
}

/// The servers of the config, in its order.
pub(super) fn build(audit: &mut Audit<'_>) -> Result<Vec<McpServer>> {
    let settings = audit.settings;
    let mut servers = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for at in settings.names_of(SECTION) {
        if let Some(first) = seen.iter().find(|s| s.eq_ignore_ascii_case(&at.name)) {
            let message = format!(
                "server `{}` differs from `{first}` in its case alone",
                at.name
            );
            audit.tell_table(at, message, "a model would take one for the other");
        }
        seen.push(&at.name);
        servers.extend(server(audit, at)?);
    }
    Ok(servers)
}

fn server(audit: &mut Audit<'_>, at: &Name) -> Result<Option<McpServer>> {
    let settings = audit.settings;
    let path = ["tools", "mcp", &at.name, "command"];
    if settings.is_missing(&path) {
        let message = format!("server `{}` has no command", at.name);
        let hint = "add command = [\"PROGRAM\", \"ARGUMENT\", …]";
        audit.tell_table(at, message, hint);
    }
    let table: Table = settings.read(&path[..3])?;
    for (key, names) in [("env", &table.env), ("secret_env", &table.secret_env)] {
        for name in names.iter().filter(|name| !is_variable(name)) {
            let message = format!("{name:?} is not the name of an environment variable");
            audit.tell(&["tools", "mcp", &at.name, key], Misfit::from(message));
        }
    }
    let mut command = Vec::new();
    let mut meaning = Vec::new();
    let mut files = Map::new();
    for written in table.command {
        if !is_path(&written) {
            meaning.push(Value::String(written.clone()));
            command.push(written.into());
            continue;
        }
        let file = in_place(&settings.seen_from_here(&path, &written));
        meaning.push(Value::String(written_name(&file)));
        match meaning_of(&file) {
            Ok(sha256) => files.extend(sha256.map(|sha256| (written_name(&file), sha256.into()))),
            Err(e) => {
                let message = format!("{} cannot be read: {e}", file.display());
                audit.tell(&path, Misfit::from(message));
            }
        }
        command.push(PathBuf::into_os_string(file));
    }
    Ok((!command.is_empty()).then(|| McpServer {
        name: at.name.clone(),
        command,
        env: table.env,
        secret_env: table.secret_env,
        share: table.share,
        max_processes: table.max_processes,
        resumable: table.resumable,
        max_bytes: table.max_bytes,
        start_timeout: Duration::from_secs_f64(table.start_timeout_s),
        timeout: Duration::from_secs_f64(table.timeout_s),
        meaning,
        files,
    }))
}

/// From the root, but for a link at its end: a program may be what the link to it is called, as that of
/// a virtual environment of Python.
pub(super) fn in_place(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => absolute(parent).join(name),
        _ => absolute(path),
    }
}

/// A path of a command in what it means: without where that is.
fn written_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    format!("./{}", name.to_string_lossy())
}

/// The digest of a file; none of a folder: it may hold anything, also what changes.
fn meaning_of(path: &Path) -> io::Result<Option<String>> {
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Ok(None);
    }
    if !found.is_file() {
        return Err(io::Error::other("it is neither a file nor a folder"));
    }
    Ok(Some(sha256_hex(&fs::read(path)?)))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_the_first_double_underscore() {
        let regex = fancy(NAME);
        let long = "n".repeat(33);
        for (name, is_good) in [
            ("fs", true),
            ("my_server-2", true),
            ("n", true),
            (&long[..32], true),
            (&long, false),
            ("", false),
            ("a__b", false),
            ("a_", false),
            ("_a", false),
            ("a.b", false),
            ("ä", false),
        ] {
            assert_eq!(check_name(name).is_ok(), is_good, "{name}");
            assert_eq!(regex.is_valid(&json!(name)), is_good, "{name}");
        }
    }

    /// As the schema of the config uses it.
    fn fancy(pattern: &str) -> jsonschema::Validator {
        jsonschema::validator_for(&json!({"pattern": pattern})).unwrap()
    }
}
