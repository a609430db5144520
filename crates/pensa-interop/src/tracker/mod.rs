//! Issues of other trackers in Pensa's words, and a report on what of their files could not be read.
//!
//! One module for each tracker. None of them knows which issues are here: references to issues that are not, and cycles,
//! are found by the import.

pub mod backlog;
pub mod beads;
mod beads_db;
mod clean;
mod fields;
pub mod github;
pub mod jira;
pub mod linear;
mod list;
mod table;
pub mod taskmaster;
pub mod taskwarrior;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::Path;

use pensa_core::ops::tracker::{Tracker, TrackerItem};
use pensa_core::{Code, Error, Result};
use serde::Serialize;

use crate::files;

/// Size limit of a file.
const MAX_BYTES: u64 = 256 << 20;

/// What the files of a tracker contain.
#[derive(Debug)]
pub struct TrackerFile {
    pub from: Tracker,
    pub items: Vec<TrackedItem>,
    pub skipped: Vec<SkippedItem>,
    /// Fields that are not imported, each with how often it occurs.
    pub dropped_fields: BTreeMap<String, usize>,
    pub mapping: WordMapping,
}

/// Something that a tracker has, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackedItem {
    pub place: ItemPlace,
    pub item: TrackerItem,
}

/// Where something is in the files of a tracker.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ItemPlace {
    /// The file, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The number of the line, or of the element of a list, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl ItemPlace {
    pub fn line(line: usize) -> Self {
        Self { file: None, line: Some(line) }
    }
}

/// Something that is not imported, or not as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedItem {
    #[serde(flatten)]
    pub place: ItemPlace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub reason: String,
}

/// What became of values that have another name here: field, value there, value here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct WordMapping(BTreeMap<&'static str, BTreeMap<String, String>>);

impl WordMapping {
    /// Notes the meaning of a value, unless it is the same word.
    fn note(&mut self, field: &'static str, theirs: impl ToString, ours: impl ToString) {
        let (theirs, ours) = (theirs.to_string(), ours.to_string());
        if theirs != ours {
            self.0.entry(field).or_default().insert(theirs, ours);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The meanings, field by field.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, &BTreeMap<String, String>)> {
        self.0.iter().map(|(field, values)| (*field, values))
    }
}

impl TrackerFile {
    fn new(from: Tracker) -> Self {
        let (items, skipped) = (Vec::new(), Vec::new());
        Self { from, items, skipped, dropped_fields: BTreeMap::new(), mapping: WordMapping::default() }
    }

    fn skip(&mut self, place: ItemPlace, id: Option<&str>, reason: impl Into<String>) {
        self.skipped.push(SkippedItem { place, id: id.map(str::to_owned), reason: reason.into() });
    }

    fn drop_field(&mut self, name: &str) {
        *self.dropped_fields.entry(name.to_owned()).or_default() += 1;
    }

    fn push(&mut self, place: ItemPlace, item: TrackerItem) {
        self.items.push(TrackedItem { place, item });
    }

    /// Of items with the same id only the last counts; the others are reported.
    fn keep_last(&mut self) {
        let id = |item: &TrackerItem| match item {
            TrackerItem::Issue(issue) => (false, issue.id.to_string()),
            TrackerItem::Tombstone(tombstone) => (false, tombstone.id.to_string()),
            TrackerItem::Memory(memory) => (true, memory.key.clone()),
        };
        let last: HashMap<(bool, String), usize> =
            self.items.iter().enumerate().map(|(at, found)| (id(&found.item), at)).collect();
        if last.len() == self.items.len() {
            return;
        }
        let places: Vec<ItemPlace> = self.items.iter().map(|found| found.place.clone()).collect();
        let mut kept = Vec::new();
        for (at, found) in std::mem::take(&mut self.items).into_iter().enumerate() {
            let key = id(&found.item);
            let counts = last.get(&key).copied().unwrap_or(at);
            if counts == at {
                kept.push(found);
                continue;
            }
            let later = &places[counts];
            let there = match (&later.file, later.line) {
                (Some(file), _) if later.file != found.place.file => file.clone(),
                (_, Some(line)) => format!("line {line}"),
                _ => "a later place".to_owned(),
            };
            self.skip(found.place, Some(&key.1), format!("{there} has the same id, and counts"));
        }
        self.items = kept;
    }

    /// Sorts the report by place.
    fn finish(mut self) -> Self {
        self.keep_last();
        self.skipped.sort_by(|a, b| a.place.cmp(&b.place));
        self
    }

    /// The ids of all issues.
    pub fn issue_ids(&self) -> BTreeSet<&str> {
        let issues = self.items.iter().filter_map(|found| match &found.item {
            TrackerItem::Issue(issue) => Some(issue.id.as_str()),
            _ => None,
        });
        issues.collect()
    }
}

/// Reads a file, or standard input for `-`, as text; other encodings than UTF-8 are refused.
fn read_text(path: &Path) -> Result<String> {
    let file: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        let file = files::open(path).map_err(Error::invalid)?;
        Box::new(file.ok_or_else(|| Error::not_found("file", path.display()))?)
    };
    let mut bytes = Vec::new();
    let name = path.file_name().unwrap_or_default().display();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::invalid(format!("can not read {name}: {e}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::new(Code::TooLarge, format!("{name} has more than {} MiB", MAX_BYTES >> 20)));
    }
    let text = String::from_utf8(files::without_bom(&bytes).to_vec());
    text.map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::invalid(format!("{name} is not UTF-8 in line {line}"))
    })
}

/// Refuses a file in which git has marked a conflict.
fn refuse_conflict_marks(path: &Path, text: &str) -> Result<()> {
    // In markdown it underlines a heading.
    let is_markdown = path.extension().is_some_and(|extension| extension == "md");
    let is_mark = |line: &str| {
        ["<<<<<<< ", ">>>>>>> ", "||||||| "].iter().any(|mark| line.starts_with(mark))
            || ["<<<<<<<", ">>>>>>>"].contains(&line.trim_end())
            || line.trim_end() == "=======" && !is_markdown
    };
    let Some(at) = text.lines().position(is_mark) else { return Ok(()) };
    let name = path.file_name().unwrap_or_default().display();
    let message = format!("{name} has a conflict mark of git in line {}", at + 1);
    Err(Error::invalid(message).hint("resolve the conflict, then import again; nothing was imported"))
}
