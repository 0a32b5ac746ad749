//! A shell that may mount what it likes: in a user and mount namespace of its own.

use std::process::{Command, Output};

use crate::support::{Folder, Said, farm};

/// What stands before every script: `farm_says NAME ARGS…` keeps what farm said and its exit code
/// as `NAME.stderr` and `NAME.code`; `until_says NAME WORDS` waits for a farm in the background.
const PRELUDE: &str = r#"
set -eu
farm_says() {
    name=$1
    shift
    code=0
    "$FARM" "$@" >/dev/null 2>"$name.stderr" || code=$?
    echo $code >"$name.code"
}
until_says() {
    tries=0
    until grep -q "$2" "$1.stderr" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || exit 99
        sleep 0.05
    done
}
"#;

/// Runs a script in the folder; its mounts are gone afterwards. False where namespaces are
/// refused, which it then says.
#[must_use]
pub(crate) fn in_own_mounts(folder: &Folder, script: &str) -> bool {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        // Removes the FARM_* of the tests, as for farm itself.
        for (name, value) in farm().get_envs() {
            if value.is_none() {
                command.env_remove(name);
            }
        }
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .env("FARM", farm().get_program())
            .current_dir(folder.path(""))
            .output()
    };
    let refused = match unshare("mount -t tmpfs tmpfs .") {
        Ok(Output { status, .. }) if status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = refused {
        let is_required = std::env::var_os("FARM_REQUIRE_UNSHARE").is_some_and(|v| v == "1");
        assert!(!is_required, "unshare: {why}");
        println!("skipped: no mounts of its own: {why}");
        return false;
    }
    let output = unshare(&format!("{PRELUDE}{script}")).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    true
}

/// What `farm_says` has kept.
pub(crate) fn said(folder: &Folder, name: &str) -> Said {
    Said {
        code: folder.read(&format!("{name}.code")).trim().parse().unwrap(),
        stdout: String::new(),
        stderr: folder.read(&format!("{name}.stderr")),
    }
}
