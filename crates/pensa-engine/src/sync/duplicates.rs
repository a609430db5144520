//! Finds several lines of one record in a file: repeated lines, or older versions. Merging them loses nothing, but
//! their author should know.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection, FileLine, first_marker, lines};

use super::export_dir::ExportDir;
use super::import_base;

/// Limit for ids searched for in a file at once; with more, every line is parsed.
const MAX_IDS: usize = 256;
/// Limit for notes about one file.
const MAX_NOTES: usize = 10;

/// A problem of a file.
#[derive(Debug)]
pub(crate) struct FileProblem {
    pub(crate) file: String,
    /// Whether it has git's conflict markers.
    pub(crate) is_marked: bool,
    pub(crate) message: String,
}

/// Problems of files that can be read nevertheless.
pub(crate) fn problems_in_files(export_dir: &ExportDir) -> Result<Vec<FileProblem>> {
    let mut problems = Vec::new();
    for (content, collection) in export_dir.contents()?.iter().zip(COLLECTIONS) {
        let Some(content) = content else { continue };
        let file = collection.file_name();
        if let Some(line) = first_marker(&content.bytes) {
            let message = format!(
                "{file} has git's conflict marks, the first in line {line}; pn conflicts repair merges both sides"
            );
            problems.push(FileProblem { file, is_marked: true, message });
            continue;
        }
        for message in describe_duplicates(collection, lines(&content.bytes)) {
            problems.push(FileProblem { file: file.clone(), is_marked: false, message });
        }
    }
    Ok(problems)
}

/// Describes the records that occur more than once in these lines.
fn describe_duplicates<'b>(collection: &Collection, lines: impl Iterator<Item = FileLine<'b>>) -> Vec<String> {
    let (mut first, mut notes): (HashMap<String, FileLine<'b>>, Vec<String>) = (HashMap::new(), Vec::new());
    for line in lines {
        let Some(key) = import_base::key(collection, line.text) else { continue };
        if let Some(earlier) = first.get(&key) {
            notes.extend(describe(collection, &key, *earlier, line));
            if notes.len() == MAX_NOTES {
                break;
            }
        } else {
            first.insert(key, line);
        }
    }
    notes
}

/// As [`describe_duplicates`], for a file in which only the lines `new` are new: others were reported before.
pub(super) fn new_duplicates(collection: &Collection, bytes: &[u8], new: &[FileLine<'_>]) -> Vec<String> {
    let keys: Vec<String> = new.iter().filter_map(|line| import_base::key(collection, line.text)).collect();
    let ids = keys.iter().filter_map(|key| key.split(' ').next_back());
    let finder = if keys.len() <= MAX_IDS { AhoCorasick::new(ids).ok() } else { None };
    let may_be_meant = |line: &FileLine<'_>| finder.as_ref().is_none_or(|finder| finder.is_match(line.text));
    describe_duplicates(collection, lines(bytes).filter(may_be_meant))
}

/// Describes how two lines with one key differ; `None` if they are different records with the same random id.
pub(super) fn describe(collection: &Collection, key: &str, one: FileLine<'_>, two: FileLine<'_>) -> Option<String> {
    let file = collection.file_name();
    let twice = format!("{file} has {key} twice, the second time in line {}", two.number);
    if one.text == two.text {
        return Some(twice);
    }
    let (Ok(earlier), Ok(later)) = (collection.read(one.text), collection.read(two.text)) else { return Some(twice) };
    if collection.birth(&earlier) != collection.birth(&later) {
        return None;
    }
    Some(match collection.version(&earlier).cmp(collection.version(&later)) {
        std::cmp::Ordering::Less => format!("{twice}; line {} has the older version", one.number),
        std::cmp::Ordering::Greater => format!("{twice}, in an older version than in line {}", one.number),
        std::cmp::Ordering::Equal => twice,
    })
}
