//! SQLite's errors in farm's words.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::Error;

/// An error of the database at `path`: what it is, where, and what to do.
pub(super) fn fault(path: &Path, error: rusqlite::Error) -> Error {
    let (what, hint) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => (
            "disk is full",
            "free some space, then run again; what was committed is kept, `farm report RUN` shows it",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            "database is read-only",
            "make the run folder and farm.db writable, then run again",
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
            "check the disk and its log; what was committed is kept, `farm report RUN` shows it",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            "database is locked by another program",
            "close what else has farm.db open for writing, then run again",
        ),
        _ => (
            "database failed",
            "what was committed is kept, `farm report RUN` shows it",
        ),
    };
    Error::internal(format!("store: {what}: {}: {error}", path.display()))
        .hint(hint)
        .caused_by(error)
}
