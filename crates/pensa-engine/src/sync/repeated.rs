//! Lines of a file that a record has besides another: the same again, or an older version. A merge of the two loses
//! nothing, but whoever wrote them should know.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use pensa_core::Result;
use pensa_core::sync::{COLLECTIONS, Collection, Line, first_marker, lines};

use super::base;
use super::place::Place;

/// Most ids that are looked for in a file at once; with more, every line is read.
const MAX_IDS: usize = 256;
/// Most repeated lines of one file that are told.
const MAX_TOLD: usize = 10;

/// What is wrong with a file.
#[derive(Debug)]
pub(crate) struct FileProblem {
    pub(crate) file: String,
    /// Whether it has git's marks of a conflict.
    pub(crate) is_marked: bool,
    pub(crate) message: String,
}

/// What is wrong with the files of a place that can be read nevertheless.
pub(crate) fn problems_in_files(place: &Place) -> Result<Vec<FileProblem>> {
    let mut problems = Vec::new();
    for (content, collection) in place.contents()?.iter().zip(COLLECTIONS) {
        let Some(content) = content else { continue };
        let file = collection.file_name();
        if let Some(line) = first_marker(&content.bytes) {
            let message = format!(
                "{file} has git's conflict marks, the first in line {line}; pn conflicts repair merges both sides"
            );
            problems.push(FileProblem { file, is_marked: true, message });
            continue;
        }
        for message in repeated(collection, lines(&content.bytes)) {
            problems.push(FileProblem { file: file.clone(), is_marked: false, message });
        }
    }
    Ok(problems)
}

/// Tells which records these lines have more than once.
fn repeated<'b>(collection: &Collection, lines: impl Iterator<Item = Line<'b>>) -> Vec<String> {
    let (mut first, mut told): (HashMap<String, Line<'b>>, Vec<String>) = (HashMap::new(), Vec::new());
    for line in lines {
        let Some(key) = base::key(collection, line.text) else { continue };
        if let Some(earlier) = first.get(&key) {
            told.extend(describe(collection, &key, *earlier, line));
            if told.len() == MAX_TOLD {
                break;
            }
        } else {
            first.insert(key, line);
        }
    }
    told
}

/// The same for a file in which only these lines are new; the others were told when they were.
pub(super) fn repeated_by(collection: &Collection, bytes: &[u8], new: &[Line<'_>]) -> Vec<String> {
    let keys: Vec<String> = new.iter().filter_map(|line| base::key(collection, line.text)).collect();
    let ids = keys.iter().filter_map(|key| key.split(' ').next_back());
    let finder = if keys.len() <= MAX_IDS { AhoCorasick::new(ids).ok() } else { None };
    let may_be_meant = |line: &Line<'_>| finder.as_ref().is_none_or(|finder| finder.is_match(line.text));
    repeated(collection, lines(bytes).filter(may_be_meant))
}

/// Says how two lines with one key differ; nothing if they are two records that got one id by chance.
pub(super) fn describe(collection: &Collection, key: &str, one: Line<'_>, two: Line<'_>) -> Option<String> {
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
