//! The lock of a run folder: one process at a time works in it.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::Path,
    thread,
    time::{Duration, UNIX_EPOCH},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    atomic::refused,
    folder::{unreadable, unusable},
};
use crate::{
    domain::input,
    error::{Error, Result},
};

/// Who is at work in a run folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The machine.
    pub host: String,
    /// Whether nothing new starts any more.
    #[serde(default)]
    pub winding_down: bool,
}

/// The lock of a run folder; it is let go when this is dropped or the process ends.
#[derive(Debug)]
pub struct Held {
    file: File,
    holder: Holder,
}

impl Held {
    /// Lets it be seen that nothing new starts any more. That it cannot be is no reason to fail.
    pub fn winds_down(&mut self) {
        self.holder.winding_down = true;
        let taken = self.file.metadata().and_then(|lock| lock.modified());
        let put = self.put();
        // The time of the file says when the lock was taken.
        drop(
            put.and(taken)
                .and_then(|taken| self.file.set_modified(taken)),
        );
    }

    fn put(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.holder)?;
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(&text)
    }
}

/// Takes the lock of `folder` for this process on `host`.
pub(super) fn take(folder: &Path, host: &str) -> Result<Held> {
    let path = folder.join("lock");
    if path.is_symlink() {
        let message = format!(
            "{} is a link: it would not lock this folder",
            path.display()
        );
        return Err(Error::input(message).hint("remove it"));
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|e| unusable(&path, e))?;
    match patiently(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let Holder { pid, host, .. } = read(&mut file);
            return Err(Error::input(format!(
                "{} is in use by process {pid} on {host}",
                folder.display()
            ))
            .hint(
                "wait until it ends; Ctrl-C, `kill` or a file STOP in the folder winds it down",
            ));
        }
        Err(TryLockError::Error(e)) => {
            return Err(
                Error::internal(format!("{} cannot be locked: {e}", path.display()))
                    .hint("name a folder on a local disk with --out")
                    .caused_by(e),
            );
        }
    }
    let holder = Holder {
        pid: std::process::id(),
        host: host.to_owned(),
        winding_down: false,
    };
    let mut held = Held { file, holder };
    held.put().map_err(|e| refused(&path, e))?;
    Ok(held)
}

/// Whoever only looks who holds the lock holds it for a moment.
fn patiently(file: &File) -> Result<(), TryLockError> {
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            done => return done,
        }
    }
    file.try_lock()
}

/// Who holds the lock of `folder` now.
pub(super) fn holder(folder: &Path) -> Result<Option<Holder>> {
    let path = folder.join("lock");
    let mut file = match input::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|e| unreadable(&path, e))?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(read(&mut file))),
        Err(TryLockError::Error(e)) => Err(unreadable(&path, e)),
    }
}

/// When the lock of `folder` was taken last: who takes it writes its name. Unix seconds.
pub(super) fn taken(folder: &Path) -> Option<f64> {
    let written = fs::metadata(folder.join("lock")).and_then(|m| m.modified());
    let since = written.ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(since.as_secs_f64())
}

/// Whether farm wrote this file as the lock of a run.
pub(super) fn is_one(path: &Path) -> bool {
    let text = fs::read_to_string(path);
    text.is_ok_and(|text| serde_json::from_str::<Holder>(&text).is_ok())
}

/// Who wrote the lock; process 0 on an unknown host while it is being written.
fn read(lock: &mut File) -> Holder {
    let mut text = String::new();
    let read = lock.rewind().and_then(|()| lock.read_to_string(&mut text));
    read.ok()
        .and_then(|_| serde_json::from_str(&text).ok())
        .unwrap_or_else(|| Holder {
            pid: 0,
            host: "an unknown host".to_owned(),
            winding_down: false,
        })
}
