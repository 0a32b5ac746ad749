//! Files that appear whole or not at all: written under a temporary name, then renamed.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::error::{Error, Result};

/// Replaces the file at `path` by `bytes`, durably: file and folder are flushed to the disk. A file
/// that stood there keeps its permissions.
///
/// # Errors
/// When the disk refuses; the old file then stands.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let put = || {
        let mut file = begin(path)?;
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    };
    put().map_err(|e| refused(path, e))?;
    finish(path)?;
    sync_folder(path).map_err(|e| refused(path, e))
}

/// Begins the file that is to be at `path`, under its temporary name. What a process that died left
/// there goes; where a link leads is left alone.
pub(super) fn begin(path: &Path) -> io::Result<File> {
    let temporary = temporary(path);
    match fs::remove_file(&temporary) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => File::create_new(temporary),
    }
}

/// The name under which a file grows: hidden, in the same folder.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp"))
}

/// Gives a file its name.
pub(super) fn finish(path: &Path) -> Result<()> {
    fs::rename(temporary(path), path).map_err(|e| refused(path, e))
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// What a refusal of the disk means, and what to do.
pub(super) fn refused(path: &Path, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space, then again",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make the folder writable, or name another one"
        }
        _ => "check the path and the disk",
    };
    Error::internal(format!("{} cannot be written: {error}", path.display()))
        .hint(hint)
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, b"1").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions.clone()).unwrap();
        write(&path, b"2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::metadata(&path).unwrap().permissions(), permissions);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_under_the_temporary_name_goes_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("other"), "theirs").unwrap();
        std::os::unix::fs::symlink(at("other"), at(".a.json.tmp")).unwrap();
        write(&at("a.json"), b"1").unwrap();
        assert_eq!(fs::read(at("other")).unwrap(), b"theirs");
        fs::write(at(".a.json.tmp"), "torn").unwrap();
        write(&at("a.json"), b"2").unwrap();
        assert!(!at("a.json").is_symlink());
        assert_eq!(fs::read(at("a.json")).unwrap(), b"2");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn says_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/a.json");
        let error = write(&path, b"1").unwrap_err();
        assert!(error.message.contains("none/a.json cannot be written"));
    }
}
