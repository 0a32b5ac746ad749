use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Tool, ToolContext, blocking, fenced_read, parse, spec};
use crate::domain::{BoxFuture, Hints, Observation, ToolSpec};

/// Reads a text file of the session's own folder; it can reach nothing else.
pub struct FileRead {
    spec: ToolSpec,
    max_bytes: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The file, relative to the folder and with `/` between its parts, at most 4096 bytes.
    /// Example: `notes/a.txt`
    path: String,
}

impl FileRead {
    /// The name that calls use.
    pub const NAME: &str = "file_read";

    /// Reads files of at most `max_bytes`.
    #[must_use]
    pub fn new(max_bytes: u64) -> Self {
        let description = format!(
            "Reads a UTF-8 text file from this task's own folder and returns its whole text. \
             Limits: at most {max_bytes} bytes; only regular files inside the folder. \
             Errors: no such file, a folder or other thing that is no regular file, absolute paths \
             and paths or links that lead out of the folder, files that are too large or not UTF-8 \
             text, a task without files."
        );
        Self {
            spec: spec::<Args>(Self::NAME, &description, true, Hints::LOOKS_ONLY),
            max_bytes,
        }
    }
}

impl Tool for FileRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, Observation> {
        Box::pin(async move {
            let Args { path } = match parse(args) {
                Ok(args) => args,
                Err(observation) => return observation,
            };
            let Some(dir) = ctx.files.clone() else {
                return Observation::error("this task has no files: answer without file_read");
            };
            let max = self.max_bytes;
            blocking(move || read(&dir, &path, max)).await
        })
    }
}

fn read(dir: &Arc<cap_std::fs::Dir>, path: &str, max: u64) -> Observation {
    match fenced_read(dir, path, max) {
        Ok(text) => Observation::ok(text),
        Err(e) => Observation::error(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use cap_std::{ambient_authority, fs::Dir};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn reads_the_sessions_files_only() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let with = ToolContext {
            files: Some(Arc::new(dir)),
            ..ToolContext::default()
        };
        let without = ToolContext::default();
        let table = [
            (&with, json!({"path": "a.txt"}), true, "one\n"),
            (&with, json!({"path": "b.txt"}), false, "no such file"),
            (
                &with,
                json!({"path": "/etc/passwd"}),
                false,
                "give a relative path",
            ),
            (&with, json!({"file": "a.txt"}), false, "invalid arguments"),
            (
                &without,
                json!({"path": "a.txt"}),
                false,
                "this task has no files",
            ),
        ];
        let tool = FileRead::new(64);
        for (ctx, args, ok, text) in table {
            let got = tool.call(&args, ctx).await;
            assert!(
                got.ok == ok && got.content.contains(text),
                "{args}: {got:?}"
            );
        }
    }
}
