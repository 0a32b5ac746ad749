//! Opens what is read: regular files alone. A device never ends, and a pipe may never begin.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

/// Opens a file to read it; a link stands for what it leads to.
///
/// # Errors
/// When it is not there, may not be read, or is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    // A folder is refused by the system, in its own words, as soon as it is read.
    if !kind.is_file() && !kind.is_dir() {
        let why = "it is not a regular file: pipes, sockets and devices are not read";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    File::open(path)
}

/// The whole of a file.
///
/// # Errors
/// As [`open`], and when it cannot be read.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The whole of a text.
///
/// # Errors
/// As [`self::bytes`], and when it is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// The path from the root: without links as far as it is there, and without `.` and `..`.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
        if let Ok(found) = fs::canonicalize(&plain) {
            plain = found;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn regular_files_are_read_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        assert_eq!(text(&at("link")).unwrap(), "text");
        assert_eq!(bytes(&at("file")).unwrap(), b"text");
        for special in [
            at("pipe"),
            at("zero"),
            "/dev/full".into(),
            dir.path().into(),
        ] {
            assert!(bytes(&special).is_err(), "{}", special.display());
        }
        let said = open(&at("pipe")).unwrap_err().to_string();
        assert!(said.contains("is not a regular file"), "{said}");
    }
}
