//! SQLite's errors in farm's words.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::Error;

/// An error of the database at `path`: what it is, where, and what to do.
pub(super) fn fault(path: &Path, error: rusqlite::Error) -> Error {
    let (what, hint) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => (
            "disk is full",
            "free some space; `farm resume` then goes on, all that was committed is kept",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            "database is read-only",
            "make the run folder and farm.db writable; `farm resume` then goes on",
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
            "check the disk and its log; `farm resume` goes on, all that was committed is kept",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            "database is locked by another program",
            "close what else has farm.db open for writing, then `farm resume`",
        ),
        _ => (
            "database failed",
            "`farm resume` goes on, all that was committed is kept",
        ),
    };
    Error::internal(format!("store: {what}: {}: {error}", path.display()))
        .hint(hint)
        .caused_by(error)
}
