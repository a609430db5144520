//! Stores the number of the last event in a file of its own. If database and journal both lose events, this number
//! shows it.
//!
//! The file also identifies the database file that had the event, because a store can come back with another one.

use std::io::{Read, Write};

use pensa_core::Result;

use super::{FileId, StoreDir};
use crate::error;

/// The name of the file.
pub(crate) const FILE: &str = "last-event";
/// Longest file that is read.
const MAX_BYTES: u64 = 200;

/// The content of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastEvent {
    pub(crate) number: i64,
    /// The database file that was written to.
    pub(crate) file: Option<FileId>,
}

/// Reads the file; `None` if it is missing or damaged. Read it before the journal and the database: those are written
/// first, so they must not be behind it.
pub(crate) fn read(store: &StoreDir) -> Option<LastEvent> {
    let mut text = String::new();
    StoreDir::open_plain(&store.durable().join(FILE)).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let mut numbers = text.strip_suffix('\n')?.split(' ');
    let number = numbers.next()?.parse().ok()?;
    let file: Option<Vec<u64>> = numbers.map(|number| number.parse().ok()).collect();
    Some(LastEvent { number, file: file.and_then(|file| file.try_into().ok()) })
}

/// Writes the number of the last event. The caller holds the writer lock. The file is not synced to disk, like the
/// journal.
pub(crate) fn write(store: &StoreDir, number: i64) -> Result<()> {
    let path = store.durable().join(FILE);
    let [device, file, born] = store.database_file().unwrap_or_default();
    // All fields have a fixed width, so that a single write replaces the whole content.
    let text = format!("{number:019} {device:020} {file:020} {born:020}\n");
    let written = StoreDir::open_private(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| error::io("write", &path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_write_is_read_and_a_torn_file_is_ignored() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        assert_eq!(read(&store), None);
        for number in [1, 70, 7] {
            write(&store, number).expect("noted");
            assert_eq!(read(&store).map(|last| last.number), Some(number));
        }
        std::fs::write(store.durable().join(FILE), "00000000").expect("torn");
        assert_eq!(read(&store), None);
    }
}
