//! SQLite's errors in farm's words.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::Error;

const GONE: &str = "database is not there";
const WHEN_GONE: &str = "was the run folder removed or moved while farm was at work? begin a new \
                         run; what is left of this one can be put back and resumed";

/// The database at `path` is gone.
#[must_use]
pub fn gone(path: &Path) -> Error {
    Error::internal(format!("store: {GONE}: {}", path.display())).hint(WHEN_GONE)
}

/// An error of the database at `path`: what it is, where, and what to do.
pub(super) fn fault(path: &Path, error: rusqlite::Error) -> Error {
    let (what, hint) = match error.sqlite_error_code() {
        // SQLite calls a file that has gone read-only.
        Some(code) if code != ErrorCode::CannotOpen && !path.exists() => (GONE, WHEN_GONE),
        Some(ErrorCode::DiskFull) => (
            "disk is full",
            "free some space, then `farm resume RUN`; what was committed is kept",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            "database is read-only",
            "make the run folder and farm.db writable, then `farm resume RUN`",
        ),
        Some(ErrorCode::CannotOpen) => (
            "database cannot be opened",
            "check that the file is there and that its folder may be read and written",
        ),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => (
            "database is damaged",
            "restore farm.db from a copy or a bundle; what `sqlite3 farm.db .recover` saves can still be read",
        ),
        Some(ErrorCode::SystemIoFailure) => (
            "disk failed",
            "check the disk and its log, then `farm resume RUN`; what was committed is kept",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            "database is locked by another program",
            "close what else has farm.db open for writing, then `farm resume RUN`",
        ),
        _ => (
            "database failed",
            "what was committed is kept, `farm resume RUN` goes on",
        ),
    };
    Error::internal(format!("store: {what}: {}: {error}", path.display()))
        .hint(hint)
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_file_that_has_gone_is_not_called_read_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("farm.db");
        let said = |code| {
            let error = fault(
                &path,
                rusqlite::Error::SqliteFailure(ffi::Error::new(code), None),
            );
            (error.message, error.hint.unwrap())
        };
        for code in [ffi::SQLITE_READONLY_DBMOVED, ffi::SQLITE_IOERR] {
            let (message, hint) = said(code);
            assert!(message.contains("database is not there"), "{message}");
            assert!(hint.contains("removed or moved"), "{hint}");
        }
        std::fs::write(&path, "").unwrap();
        let (message, hint) = said(ffi::SQLITE_READONLY);
        assert!(message.contains("read-only"), "{message}");
        assert!(hint.contains("writable"), "{hint}");
    }
}
