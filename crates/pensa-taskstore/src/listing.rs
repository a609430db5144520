//! What a file of records holds, with the lines that cannot be read.

use std::path::Path;

use pensa_interop::taskstore;
use serde_json::Value;

use crate::{Code, Record, Result};

/// Records from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<T> {
    /// The last state of each, by id.
    pub records: Vec<T>,
    pub corrupt: Vec<Corrupt>,
}

/// A line that is no such record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrupt {
    /// Counted from 1.
    pub line: u64,
    pub why: String,
}

pub(crate) fn read<T: Record>(path: &Path) -> Result<Listing<T>> {
    let listing = match taskstore::list(path) {
        Err(e) if e.code == Code::NotFound => taskstore::Listing::default(),
        listed => listed?,
    };
    let corrupt = listing.corrupt.into_iter().map(|corrupt| Corrupt { line: corrupt.line, why: corrupt.why });
    let mut told = Listing { records: Vec::new(), corrupt: corrupt.collect() };
    for (line, found) in listing.records {
        match T::deserialize(Value::Object(found.data.unwrap_or_default())) {
            Ok(record) => told.records.push(record),
            Err(e) => told.corrupt.push(Corrupt { line, why: format!("no such record: {e}") }),
        }
    }
    told.corrupt.sort_unstable_by_key(|corrupt| corrupt.line);
    Ok(told)
}
