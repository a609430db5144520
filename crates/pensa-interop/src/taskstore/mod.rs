//! Reads records from JSONL, one file for each collection: the last line of each id counts, and a tombstone deletes it.
//!
//! Reads `.taskstore` directories of other tools, and Pensa's own files. Unreadable lines are skipped and reported.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use pensa_core::record::check_collection;
use pensa_core::record::line::{self, RecordLine};
use pensa_core::{Code, Error, Result};

/// The directory of other tools.
const DIR: &str = ".taskstore";
/// Limit on the length of a line.
const MAX_LINE: u64 = 8 << 20;
/// Limit on the reported lines.
const MAX_CORRUPT: usize = 10_000;

/// The content of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskstoreFile {
    /// Sorted by id, each with its line number.
    pub records: Vec<(u64, RecordLine)>,
    pub corrupt: Vec<UnreadableLine>,
}

/// A line that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableLine {
    /// Counted from 1.
    pub line: u64,
    pub why: String,
}

/// The collections in a directory, or in its `.taskstore`, with their files.
pub fn collections(dir: &Path) -> Result<Vec<(String, PathBuf)>> {
    let inner = dir.join(DIR);
    let dir = if inner.is_dir() { inner.as_path() } else { dir };
    let entries = fs::read_dir(dir).map_err(|e| failed(dir, &e))?;
    let mut collections = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| failed(dir, &e))?;
        let name = entry.file_name().to_str().and_then(|name| name.strip_suffix(".jsonl")).map(str::to_owned);
        if let Some(name) = name.filter(|name| check_collection(name).is_ok()) {
            collections.push((name, entry.path()));
        }
    }
    collections.sort_unstable();
    Ok(collections)
}

fn failed(path: &Path, e: &io::Error) -> Error {
    let code = if e.kind() == io::ErrorKind::NotFound { Code::NotFound } else { Code::Internal };
    Error::new(code, format!("cannot read {}: {e}", path.display()))
}

/// Reads the file of a collection.
pub fn list(path: &Path) -> Result<TaskstoreFile> {
    // A link could lead anywhere, and a pipe could block.
    let meta = fs::symlink_metadata(path).map_err(|e| failed(path, &e))?;
    if !meta.is_file() {
        return Err(Error::invalid(format!("{} is not a plain file", path.display())));
    }
    read(File::open(path).map_err(|e| failed(path, &e))?).map_err(|e| failed(path, &e))
}

fn read(file: impl Read) -> io::Result<TaskstoreFile> {
    let mut lines = BufReader::new(file);
    let mut latest: HashMap<String, (u64, RecordLine)> = HashMap::new();
    let (mut corrupt, mut bytes, mut number) = (Vec::new(), Vec::new(), 0);
    let mut report = |line: u64, why: String| {
        if corrupt.len() < MAX_CORRUPT {
            corrupt.push(UnreadableLine { line, why });
        }
    };
    while lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)? > 0 {
        number += 1;
        let is_cut = !bytes.ends_with(b"\n");
        if is_cut && bytes.len() as u64 == MAX_LINE {
            report(number, format!("longer than {MAX_LINE} bytes"));
            skip_line(&mut lines)?;
        } else if !bytes.trim_ascii().is_empty() {
            let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            match line::parse(text) {
                Ok(line) => {
                    if latest.get(&line.id).is_none_or(|(_, before)| line.supersedes(before)) {
                        latest.insert(line.id.clone(), (number, line));
                    }
                }
                Err(why) if is_cut => report(number, format!("cut off at the end of the file: {why}")),
                Err(why) => report(number, why),
            }
        }
        bytes.clear();
    }
    let mut records: Vec<(u64, RecordLine)> = latest.into_values().filter(|(_, line)| line.data.is_some()).collect();
    records.sort_unstable_by(|(_, a), (_, b)| a.id.cmp(&b.id));
    Ok(TaskstoreFile { records, corrupt })
}

/// Skips the rest of a line.
fn skip_line(lines: &mut impl BufRead) -> io::Result<()> {
    loop {
        let chunk = lines.fill_buf()?;
        let (end, used) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(at) => (true, at + 1),
            None => (chunk.is_empty(), chunk.len()),
        };
        lines.consume(used);
        if end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(listing: &TaskstoreFile) -> (Vec<(u64, &str)>, Vec<u64>) {
        let records = listing.records.iter().map(|(at, line)| (*at, line.id.as_str())).collect();
        (records, listing.corrupt.iter().map(|corrupt| corrupt.line).collect())
    }

    #[test]
    fn the_last_line_of_each_id_counts_and_a_tombstone_deletes_it() {
        let text = concat!(
            "{\"id\":\"b\",\"n\":1,\"updated_at\":1000}\n",
            "{\"id\":\"a\",\"n\":1,\"updated_at\":1000}\n\n",
            "{\"id\":\"b\",\"n\":2,\"updated_at\":2000}\n",
            "{\"id\":\"gone\",\"updated_at\":1000}\n",
            "{\"id\":\"gone\",\"deleted\":true,\"updated_at\":1500}\n",
            "{\"id\":\"a\",\"n\":0,\"updated_at\":500}\n",
        );
        let listing = read(text.as_bytes()).expect("read");
        assert_eq!(summary(&listing), (vec![(2, "a"), (4, "b")], vec![]));
    }

    #[test]
    fn unreadable_lines_are_reported_and_others_are_read() {
        let long = format!("{{\"id\":\"long\",\"x\":\"{}\"}}", "x".repeat(9 << 20));
        let text =
            format!("\u{feff}{{\"id\":\"a\"}}\n[]\n{long}\n{{\"no\":1}}\n{{\"id\":\"b\"}}\n\u{0}\n{{\"id\":\"c\",\"x");
        let listing = read(text.as_bytes()).expect("read");
        assert_eq!(summary(&listing), (vec![(1, "a"), (5, "b")], vec![2, 3, 4, 6, 7]));
        assert!(listing.corrupt[4].why.starts_with("cut off"), "{:?}", listing.corrupt);
    }

    #[test]
    fn each_jsonl_file_is_a_collection() {
        let dir = tempfile::tempdir().expect("a directory");
        let inner = dir.path().join(DIR);
        fs::create_dir(&inner).expect("made");
        for name in ["loops.jsonl", "tool_jobs.jsonl", "taskstore.db", "Bad Name.jsonl", "_indexes.jsonl"] {
            fs::write(inner.join(name), "").expect("written");
        }
        for place in [dir.path(), &inner] {
            let names: Vec<String> = collections(place).expect("listed").into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["loops", "tool_jobs"]);
        }
        assert_eq!(collections(&dir.path().join("nowhere")).expect_err("none").code, Code::NotFound);
        assert!(list(&inner).is_err(), "not a file");
    }
}
