//! Converts SQLite errors into Pensa's errors, and refuses formats that were never released.

use std::fmt::Display;

use pensa_core::{Code, Error};

pub(crate) use pensa_core::error::io;

pub(crate) fn sqlite(error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode as E;
    let wrap = |code, text: &str| Error::new(code, format!("{text}: {error}"));
    if is_damage(&error) {
        return wrap(Code::Corrupt, "the database is damaged").hint(REBUILT);
    }
    let Some(code) = error.sqlite_error_code() else {
        return Error::internal(format!("database: {error}"));
    };
    match code {
        E::DatabaseBusy | E::DatabaseLocked => wrap(Code::Busy, "the database is busy").hint("try again"),
        E::DiskFull => Error::new(Code::DiskFull, "no space left on the disk of the database")
            .hint("free some space and try again; nothing was changed"),
        E::DatabaseCorrupt | E::NotADatabase => wrap(Code::Corrupt, "the database is damaged").hint(REBUILT),
        E::ReadOnly | E::CannotOpen | E::PermissionDenied => wrap(Code::Forbidden, "cannot write the database")
            .hint("check who owns the directory and whether it is read-only"),
        E::TooBig => wrap(Code::TooLarge, "too large for the database"),
        _ => Error::internal(format!("database: {error}")),
    }
}

const REBUILT: &str = "try again: it is rebuilt from the backups, the journal or the JSONL files, if those are there";

/// Whether an error can only come from a damaged file: it is truncated, a table of the schema is missing, or a value
/// has the wrong type.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    if matches!(error, E::Utf8Error(..) | E::FromSqlConversionFailure(..) | E::InvalidColumnType(..)) {
        return true;
    }
    let (code, message) = match error {
        rusqlite::Error::SqliteFailure(failure, message) => (failure.extended_code, message.as_deref()),
        rusqlite::Error::SqlInputError { error, msg, .. } => (error.extended_code, Some(msg.as_str())),
        _ => return false,
    };
    let says = |text: &str| message.is_some_and(|message| message.contains(text));
    let lacks_something = says("no such table") || says("no such column") || says("unsupported file format");
    code == rusqlite::ffi::SQLITE_IOERR_SHORT_READ || lacks_something
}

/// The error for a database, backup or journal in a format that was never released.
pub(crate) fn unreleased(what: impl Display) -> Error {
    Error::new(Code::Unsupported, format!("{what} was written by a version of Pensa from before the first release"))
        .hint(
            "export its JSONL files with that version (pn export), and make a new store from them; nothing was touched",
        )
}
