//! The number of a store's last event, kept besides database and journal: what both have lost is then known to be lost.
//!
//! Also names the database file that has that event, because a store can come back with another one.

use std::io::{Read, Write};

use pensa_core::Result;

use super::{FileId, StoreDir};
use crate::error;

/// The name of the file.
pub(crate) const FILE: &str = "last-event";
/// Longest file that is read.
const MAX_BYTES: u64 = 200;

/// What is known of the last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastEvent {
    pub(crate) number: i64,
    /// The database file that was written to.
    pub(crate) file: Option<FileId>,
}

/// What is known, if anything. Reads first, then asks journal and database: those are written before.
pub(crate) fn known(store: &StoreDir) -> Option<LastEvent> {
    let mut text = String::new();
    StoreDir::open_plain(&store.durable().join(FILE)).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let mut numbers = text.strip_suffix('\n')?.split(' ');
    let number = numbers.next()?.parse().ok()?;
    let file: Option<Vec<u64>> = numbers.map(|number| number.parse().ok()).collect();
    Some(LastEvent { number, file: file.and_then(|file| file.try_into().ok()) })
}

/// Notes the last event. The caller holds the writer lock. Not synced, like the journal.
pub(crate) fn note(store: &StoreDir, number: i64) -> Result<()> {
    let path = store.durable().join(FILE);
    let [device, file, born] = store.database_file().unwrap_or_default();
    // Always as long as before, so that one write replaces all of it.
    let text = format!("{number:019} {device:020} {file:020} {born:020}\n");
    let written = StoreDir::open_private(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| error::io("write", &path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_note_counts_and_a_torn_one_says_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        assert_eq!(known(&store), None);
        for number in [1, 70, 7] {
            note(&store, number).expect("noted");
            assert_eq!(known(&store).map(|last| last.number), Some(number));
        }
        std::fs::write(store.durable().join(FILE), "00000000").expect("torn");
        assert_eq!(known(&store), None);
    }
}
