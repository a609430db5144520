//! Reads the logs of runs in the store of a daemon, for pages that follow them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use pensa_core::id::RunId;
use pensa_core::ops::store::Where;
use pensa_core::{Error, Result};
use rustix::fs::OFlags;
use tokio::task;

use super::PageRequest;
use crate::dispatch::unexpected;

/// Most bytes that are sent at once.
const MAX_PART: u64 = 256 << 10;
/// Where the sent part ends in the log.
const OFFSET: HeaderName = HeaderName::from_static("pensa-offset");

/// A part of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogPart {
    pub(super) text: String,
    /// The offset of its end.
    pub(super) end: u64,
}

impl LogPart {
    pub(super) fn response(self) -> Response {
        let mut response = self.text.into_response();
        let headers = response.headers_mut();
        headers.insert(OFFSET, HeaderValue::from(self.end));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// The end of a log; `None` without one on this machine.
pub(super) async fn tail(asked: &PageRequest, id: &RunId) -> Result<Option<LogPart>> {
    read(asked, id, None).await
}

/// What a log has from an offset on.
pub(super) async fn part(asked: &PageRequest, id: &RunId, offset: u64) -> Result<Option<LogPart>> {
    read(asked, id, Some(offset)).await
}

async fn read(asked: &PageRequest, id: &RunId, offset: Option<u64>) -> Result<Option<LogPart>> {
    // The logs of a server's projects are on the machines of their runs.
    if asked.reader.context.server.is_some() {
        return Ok(None);
    }
    let store = PathBuf::from(asked.ask(&Where {}).await?.path);
    let id = id.clone();
    let reading = task::spawn_blocking(move || match open(&store.join("local/runs"), &id) {
        Ok(log) => read_part(log, offset).map(Some),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    });
    let part = reading.await.map_err(|_| unexpected())?;
    part.map_err(|e| Error::internal(format!("cannot read the log: {e}")))
}

/// Opens a log in our directory of logs without following links. The path in the record may name any file, so it is not
/// used.
fn open(dir: &Path, id: &RunId) -> io::Result<File> {
    let name = format!("{id}.log");
    if Path::new(&name).file_name() != Some(name.as_ref()) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let flags = |flags: OFlags| flags.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags(OFlags::NOFOLLOW | OFlags::DIRECTORY)).open(dir)?;
    let file =
        OpenOptions::new().read(true).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK)).open(dir.join(name))?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// From an offset on, or the end of the log. A part ends between characters.
fn read_part(mut log: File, offset: Option<u64>) -> io::Result<LogPart> {
    let length = log.metadata()?.len();
    // A log that is shorter than what was read began again.
    let from = offset.filter(|offset| *offset <= length).unwrap_or_else(|| length.saturating_sub(MAX_PART));
    log.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    log.take(MAX_PART).read_to_end(&mut bytes)?;
    let is_growing = from + bytes.len() as u64 >= length;
    if let (Err(e), true) = (str::from_utf8(&bytes), is_growing)
        && e.error_len().is_none()
    {
        bytes.truncate(e.valid_up_to());
    }
    let text = pensa_core::text::printable_block(&String::from_utf8_lossy(&bytes));
    Ok(LogPart { text, end: from + bytes.len() as u64 })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn id(text: &str) -> RunId {
        text.parse().expect("an id")
    }

    #[test]
    fn a_growing_log_is_read_in_parts_that_end_between_characters() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run-1.log");
        let read = |offset| read_part(open(dir.path(), &id("run-1")).expect("a log"), offset).expect("read");
        fs::write(&path, b"a\xc3").expect("written");
        assert_eq!(read(None), LogPart { text: "a".into(), end: 1 });
        fs::write(&path, "a\u{e9}\u{1b}[1m\n").expect("written");
        assert_eq!(read(Some(1)), LogPart { text: "\u{e9}[1m\n".into(), end: 8 });
        fs::write(&path, "b").expect("written");
        assert_eq!(read(Some(8)), LogPart { text: "b".into(), end: 1 }, "it began again");
        fs::write(&path, "x".repeat(300 << 10)).expect("written");
        assert_eq!((read(None).text.len(), read(None).end), (256 << 10, 300 << 10), "only its end at first");
    }

    #[test]
    fn only_files_of_our_own_directory_are_logs() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("secret"), "s").expect("written");
        let logs = dir.path().join("runs");
        fs::create_dir(&logs).expect("a directory");
        symlink(dir.path().join("secret"), logs.join("run-1.log")).expect("a link");
        fs::create_dir(logs.join("run-2.log")).expect("a directory");
        symlink(&logs, dir.path().join("linked")).expect("a link");
        fs::write(logs.join("run-3.log"), "s").expect("written");
        assert!(open(&logs, &id("run-1")).is_err() && open(&logs, &id("run-2")).is_err());
        assert!("../secret".parse::<RunId>().is_err(), "no id leads to another directory");
        assert!(open(&dir.path().join("linked"), &id("run-3")).is_err());
        assert!(open(&logs, &id("run-3")).is_ok());
    }
}
