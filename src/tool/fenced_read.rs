use std::io::{self, Read};

use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions};

/// Largest file that is read, unless one says otherwise: 64 KiB, some 16,000 tokens.
pub const DEFAULT_MAX_BYTES: u64 = 64 * 1024;

/// Why a file is not read. Worded for the model; never names a path of the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No name at all.
    #[error("the path is empty: name a file, such as `notes/a.txt`")]
    Empty,
    /// A NUL in the name.
    #[error("the path has a NUL character in it: no file is named so")]
    Nul,
    /// An absolute path, also one that points inside.
    #[error("absolute paths are refused: give a relative path, such as `notes/a.txt`")]
    Absolute,
    /// The path, or a symbolic link on it, leads out; absolute links always do.
    #[error("the path leads out of the folder: only files inside it can be read")]
    Outside,
    /// Nothing is there.
    #[error("no such file: check the path and its upper and lower case")]
    NotFound,
    /// A folder.
    #[error("not a regular file but a folder: name a file in it")]
    Folder,
    /// A FIFO, socket or device.
    #[error("not a regular file: pipes, sockets and devices cannot be read")]
    NotRegular,
    /// It has a second name, which may be outside.
    #[error("the file has hard links: it may belong to something outside the folder")]
    HardLink,
    /// A mount point lies between the folder and the file.
    #[error("the file lies on another file system than the folder")]
    OtherFileSystem,
    /// Over the limit.
    #[error("the file is larger than {max} bytes: it cannot be read")]
    TooLarge {
        /// The limit in bytes.
        max: u64,
    },
    /// Not UTF-8.
    #[error("not UTF-8 text: {size} bytes of {kind}")]
    NotText {
        /// The file's size in bytes.
        size: usize,
        /// What its first bytes look like.
        kind: &'static str,
    },
    /// The operating system refuses.
    #[error("cannot be read: {0}")]
    Io(String),
}

impl From<io::Error> for ReadError {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            // cap-std's own refusal has no number; one of the operating system has.
            io::ErrorKind::PermissionDenied if e.raw_os_error().is_none() => Self::Outside,
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NotFound,
            _ => Self::Io(e.to_string()),
        }
    }
}

/// Reads the UTF-8 text file at `path` in `dir`, of at most `max` bytes. Blocks on the disk only.
///
/// Nothing outside `dir` is ever read, whatever links and renames happen meanwhile: each part of the
/// path is resolved beneath `dir`, and what was opened is looked at again before it is read.
///
/// # Errors
/// See [`ReadError`].
pub fn fenced_read(dir: &Dir, path: &str, max: u64) -> Result<String, ReadError> {
    if path.is_empty() {
        return Err(ReadError::Empty);
    }
    if path.contains('\0') {
        return Err(ReadError::Nul);
    }
    if path.starts_with('/') {
        return Err(ReadError::Absolute);
    }
    let device = dir.dir_metadata()?.dev();
    // Looked at before it is opened, since opening a device may already do something; and after,
    // since it may be another file by then.
    check(&dir.metadata(path)?, device)?;
    let mut options = OpenOptions::new();
    // Should it be a FIFO by then, do not wait for its writer. This is what cap-fs-ext's
    // `OpenOptionsSyncExt::nonblock` calls.
    options.read(true)._cap_fs_ext_nonblock(true);
    let file = dir.open_with(path, &options)?;
    check(&file.metadata()?, device)?;
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(ReadError::TooLarge { max });
    }
    String::from_utf8(bytes).map_err(|e| ReadError::NotText {
        size: e.as_bytes().len(),
        kind: kind(e.as_bytes()),
    })
}

fn check(metadata: &Metadata, device: u64) -> Result<(), ReadError> {
    if metadata.is_dir() {
        Err(ReadError::Folder)
    } else if !metadata.is_file() {
        Err(ReadError::NotRegular)
    } else if metadata.dev() != device {
        Err(ReadError::OtherFileSystem)
    } else if metadata.nlink() > 1 {
        Err(ReadError::HardLink)
    } else {
        Ok(())
    }
}

/// What a file that is not text looks like.
fn kind(bytes: &[u8]) -> &'static str {
    const SIGNATURES: [(&[u8], &str); 10] = [
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive or office document"),
        (b"\x1f\x8b", "gzip data"),
        (b"\x7fELF", "an ELF program"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    SIGNATURES
        .iter()
        .find(|(signature, _)| bytes.starts_with(signature))
        .map_or("binary data, or text in another encoding", |(_, kind)| kind)
}

#[cfg(test)]
mod tests;
