//! Folders that a session gets a copy of.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::domain::hex;

/// The most files and folders in one folder.
const MAX_FILES: usize = 10_000;

/// The most bytes of one folder.
const MAX_BYTES: u64 = 64 << 20;

/// Why a folder cannot be copied for a session.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// It is not there, or something in it cannot be read.
    #[error("{0} cannot be read: {1}")]
    Io(PathBuf, #[source] io::Error),
    /// It is something else.
    #[error("{0} is not a folder")]
    NotAFolder(PathBuf),
    /// A link could lead out of the folder.
    #[error("{0} is a symbolic link: copy the file itself into the folder")]
    Link(PathBuf),
    /// A device, socket or pipe.
    #[error("{0} is neither a file nor a folder")]
    Special(PathBuf),
    /// A name that formats cannot hold.
    #[error("{0:?} has a name that is not UTF-8")]
    Name(PathBuf),
    /// More files than a session should begin with.
    #[error("{0} holds more than {MAX_FILES} files and folders")]
    TooMany(PathBuf),
    /// More bytes than a session should begin with.
    #[error("{0} holds more than {mib} MiB", mib = MAX_BYTES >> 20)]
    TooLarge(PathBuf),
}

/// SHA-256, in hex, over the files of a folder in the byte order of their relative paths: for
/// each its path with `/` between the parts, a zero byte, its length in decimal, a zero byte and
/// its content. Empty folders, times and permissions do not count.
///
/// # Errors
/// When the folder is missing, cannot be read, holds a link, a special file or a name that is not
/// UTF-8, or is too large.
pub fn files_digest(folder: &Path) -> Result<String, FilesError> {
    let mut hasher = Sha256::new();
    for (name, path) in list(folder)? {
        let content = fs::read(&path).map_err(|e| FilesError::Io(path, e))?;
        hasher.update(format!("{name}\0{}\0", content.len()));
        hasher.update(&content);
    }
    Ok(hex(&hasher.finalize()))
}

/// The files under a folder: relative path and path, in order of the former.
///
/// # Errors
/// As [`files_digest`].
pub fn list(folder: &Path) -> Result<Vec<(String, PathBuf)>, FilesError> {
    let is_folder = fs::metadata(folder)
        .map_err(|e| FilesError::Io(folder.to_owned(), e))?
        .is_dir();
    if !is_folder {
        return Err(FilesError::NotAFolder(folder.to_owned()));
    }
    let mut files = Vec::new();
    let mut bytes = 0;
    let mut entries = 0;
    let mut folders = vec![(String::new(), folder.to_owned())];
    while let Some((prefix, at)) = folders.pop() {
        let failed = |e| FilesError::Io(at.clone(), e);
        for entry in fs::read_dir(&at).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                return Err(FilesError::Name(path));
            };
            let name = format!("{prefix}{name}");
            entries += 1;
            if entries > MAX_FILES {
                return Err(FilesError::TooMany(folder.to_owned()));
            }
            // Of the entry itself: a link is not followed.
            let metadata = entry.metadata().map_err(failed)?;
            if metadata.is_dir() {
                folders.push((format!("{name}/"), path));
            } else if metadata.is_file() {
                bytes += metadata.len();
                files.push((name, path));
            } else if metadata.is_symlink() {
                return Err(FilesError::Link(path));
            } else {
                return Err(FilesError::Special(path));
            }
            if bytes > MAX_BYTES {
                return Err(FilesError::TooLarge(folder.to_owned()));
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_follows_names_and_contents() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let empty = files_digest(root).unwrap();
        fs::create_dir_all(root.join("b/c")).unwrap();
        assert_eq!(
            files_digest(root).unwrap(),
            empty,
            "empty folders do not count"
        );
        fs::write(root.join("b/c/x"), "1").unwrap();
        fs::write(root.join("a"), "2").unwrap();
        let both = files_digest(root).unwrap();
        assert_eq!(
            both,
            super::super::sha256_hex(b"a\x001\x002b/c/x\x001\x001")
        );
        fs::write(root.join("a"), "3").unwrap();
        let changed = files_digest(root).unwrap();
        fs::rename(root.join("a"), root.join("A")).unwrap();
        let renamed = files_digest(root).unwrap();
        assert!(both != changed && changed != renamed);
    }

    #[test]
    fn what_cannot_be_copied() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let said = |name: &str| match files_digest(&root.join(name)) {
            Ok(_) => String::new(),
            Err(e) => e.to_string().replace(&root.display().to_string(), "D"),
        };
        for name in ["link", "pipe", "large", "many"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink("/etc/hosts", root.join("link/l")).unwrap();
        std::os::unix::net::UnixListener::bind(root.join("pipe/s")).unwrap();
        let large = fs::File::create(root.join("large/f")).unwrap();
        large.set_len(MAX_BYTES + 1).unwrap();
        for i in 0..=MAX_FILES {
            fs::write(root.join(format!("many/{i}")), "").unwrap();
        }
        assert!(said("none").starts_with("D/none cannot be read: "));
        assert_eq!(said("file"), "D/file is not a folder");
        assert!(said("link").starts_with("D/link/l is a symbolic link"));
        assert_eq!(said("pipe"), "D/pipe/s is neither a file nor a folder");
        assert_eq!(said("large"), "D/large holds more than 64 MiB");
        assert_eq!(
            said("many"),
            "D/many holds more than 10000 files and folders"
        );
    }
}
