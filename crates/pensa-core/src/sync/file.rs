//! A whole file of records: its lines, and the merge of three files into one.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Error, Result};
use crate::sync::collection::{Collection, Record};
use crate::sync::conflict::Conflict;

const BOM: &[u8] = b"\xef\xbb\xbf";
const MARKERS: [&[u8]; 4] = [b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||"];

/// A line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'b> {
    /// Its number in the file, from 1.
    pub number: usize,
    pub text: &'b [u8],
}

/// The lines of a file, whatever editor or system it went through.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let trimmed = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    trimmed.enumerate().map(|(at, text)| Line { number: at + 1, text }).filter(|line| !line.text.is_empty())
}

/// What is wrong with a line, and where it stands.
pub fn bad_line(file: &Path, line: usize, why: Error) -> Error {
    let told = Error::new(why.code, format!("{} line {line}: {}", file.display(), why.message));
    told.hint(why.hint.unwrap_or_else(|| "mend the file; nothing was imported".into()))
}

impl Collection {
    /// The record of a line of a file, or what is wrong with it.
    pub fn read_line(&self, file: &Path, line: Line<'_>) -> Result<Record> {
        let read = if is_marker(line.text) { Err(marker()) } else { self.read(line.text) };
        read.map_err(|why| bad_line(file, line.number, why))
    }
}

pub(super) fn is_marker(line: &[u8]) -> bool {
    MARKERS.iter().any(|marker| line.starts_with(marker))
}

pub(super) fn marker() -> Error {
    Error::invalid("it is git's mark of a conflict").hint(
        "keep the lines of both sides and delete the marks, then import again; pn hooks install lets pn merge next time",
    )
}

/// What a merge of three files made.
#[derive(Debug, Default)]
pub struct MergedFile {
    pub bytes: Vec<u8>,
    pub conflicts: Vec<Conflict>,
}

/// By key and birth: two records that have the same id by chance are two.
type Records = BTreeMap<(String, String), Record>;

/// Merges two versions of a file with a common ancestor. A line that one side lacks stays: only a tombstone deletes.
pub fn merge_files(collection: &Collection, file: &Path, [base, ours, theirs]: [&[u8]; 3]) -> Result<MergedFile> {
    let mut merged = MergedFile::default();
    let base = records(collection, file, base, &mut merged.conflicts)?;
    let mut all = records(collection, file, ours, &mut merged.conflicts)?;
    for (name, record) in records(collection, file, theirs, &mut merged.conflicts)? {
        let version = match all.get(&name) {
            None => record,
            Some(ours) => {
                let both = collection.merge(base.get(&name), ours, &record, |_, _| None);
                for clash in both.clashes {
                    merged.conflicts.push(Conflict::new(collection.name, &name.0, clash)?);
                }
                both.record
            }
        };
        all.insert(name, version);
    }
    let mut sorted: Vec<Record> = all.into_values().collect();
    sorted.sort_by_cached_key(|record| collection.place(record));
    for record in sorted {
        merged.bytes.extend(collection.write(record)?);
        merged.bytes.push(b'\n');
    }
    Ok(merged)
}

/// The records of one file; of one that stands there twice, both versions become one.
fn records(collection: &Collection, file: &Path, bytes: &[u8], conflicts: &mut Vec<Conflict>) -> Result<Records> {
    let mut records = Records::new();
    for line in lines(bytes) {
        let record = collection.read_line(file, line)?;
        let name = (collection.key(&record), collection.birth(&record).to_owned());
        let version = match records.get(&name) {
            None => record,
            Some(other) => {
                let both = collection.merge(None, other, &record, |_, _| None);
                for clash in both.clashes {
                    conflicts.push(Conflict::new(collection.name, &name.0, clash)?);
                }
                both.record
            }
        };
        records.insert(name, version);
    }
    Ok(records)
}
