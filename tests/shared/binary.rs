//! The built binary as a process, told nothing by the environment of the tests.

use std::{env, ffi::OsStr, process::Command};

/// Where an environment says what proxies to use; farm reads each in lower case too.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// farm, without the config and the proxies that the environment names.
pub(crate) fn farm(binary: impl AsRef<OsStr>) -> Command {
    let mut farm = Command::new(binary);
    let config = env::vars_os().map(|(name, _)| name);
    for name in config.filter(|name| name.to_string_lossy().starts_with("FARM_")) {
        farm.env_remove(name);
    }
    for name in PROXIES {
        farm.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    farm
}
