//! Reads a file of records, and reports the lines that cannot be read.

use std::path::Path;

use pensa_interop::taskstore;
use serde_json::Value;

use crate::{Code, Record, Result};

/// The records in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordListing<T> {
    /// The latest state of each record, by id.
    pub records: Vec<T>,
    pub corrupt: Vec<CorruptLine>,
}

/// A line that is not a valid record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorruptLine {
    /// Line number, from 1.
    pub line: u64,
    pub why: String,
}

pub(crate) fn read<T: Record>(path: &Path) -> Result<RecordListing<T>> {
    let file = match taskstore::list(path) {
        Err(e) if e.code == Code::NotFound => taskstore::TaskstoreFile::default(),
        listed => listed?,
    };
    let corrupt = file.corrupt.into_iter().map(|corrupt| CorruptLine { line: corrupt.line, why: corrupt.why });
    let mut listing = RecordListing { records: Vec::new(), corrupt: corrupt.collect() };
    for (line, record) in file.records {
        match T::deserialize(Value::Object(record.data.unwrap_or_default())) {
            Ok(record) => listing.records.push(record),
            Err(e) => listing.corrupt.push(CorruptLine { line, why: format!("no such record: {e}") }),
        }
    }
    listing.corrupt.sort_unstable_by_key(|corrupt| corrupt.line);
    Ok(listing)
}
