//! What changed in a store, as records that another can take in: the log tells which, the tables what they are now.

use std::collections::HashSet;

use pensa_core::event::{EventType, LogEntry};
use pensa_core::id::IssueId;
use pensa_core::sync::{DEPS, EXCHANGED, ISSUES, LEARNINGS, RELEASES, TOMBSTONES};
use pensa_core::{Code, Error, Result, json};
use serde_json::Value;

use super::cursor::{Cursor, Place};
use super::shared::{self, TABLES};
use crate::db::Tx;
use crate::tables::learnings::{self, Wanted};
use crate::tables::{events, releases, tombstones};

/// About as many records as a page has, unless somebody asks for less.
pub(super) const USUAL: usize = 500;
/// About as many bytes as a page has.
const PAGE_BYTES: usize = 1 << 20;
/// Lines of the log that are read at a time.
const LINES: i64 = 200;
/// Most lines of the log that one page looks at.
const MAX_LINES: i64 = 20_000;

/// A record that may have changed; without a line it is not there any more.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) collection: &'static str,
    pub(super) id: String,
    pub(super) line: Option<String>,
}

/// Records that changed, and how far that goes.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) found: Vec<Found>,
    pub(super) cursor: Cursor,
    pub(super) more: bool,
    pub(super) restarted: bool,
    pub(super) looked_at: i64,
}

/// A record as it stands in its file.
pub(super) fn line(tx: &Tx<'_>, collection: &str, id: &str) -> Result<Option<String>> {
    let bytes = match shared::of(collection) {
        Some(table) => {
            let record = match table.get(tx, id) {
                // Nothing here can have such an id, but a tombstone from elsewhere may.
                Err(e) if e.code == Code::InvalidInput => None,
                record => record?,
            };
            record.map(|record| table.collection().write(record)).transpose()?
        }
        None => {
            let (of, id) = id.split_once(' ').unwrap_or((id, ""));
            return tombstones::get(tx, of, id)?.map(|tombstone| json::to_line(&tombstone)).transpose();
        }
    };
    bytes.map(String::from_utf8).transpose().map_err(Error::internal)
}

/// The page after a cursor, which may not be one.
pub(super) fn page(tx: &Tx<'_>, after: Option<&str>, limit: usize) -> Result<Page> {
    let known = after.map(|text| Cursor::of(tx, text)).transpose()?.flatten();
    let restarted = after.is_some() && known.is_none();
    let cursor = match known {
        Some(cursor) => cursor,
        None => Cursor::beginning(Place::end(tx)?),
    };
    let page = match cursor {
        Cursor::Log(place) => after_line(tx, place, limit)?,
        Cursor::All { place, collection, key } => after_key(tx, place, collection, key, limit)?,
    };
    Ok(Page { restarted, ..page })
}

/// Records whatever the log says, one collection after the other.
fn after_key(tx: &Tx<'_>, place: Place, collection: usize, key: String, limit: usize) -> Result<Page> {
    let mut gathered = Gathered::new(tx);
    let (mut collection, mut key) = (collection, key);
    while let Some(now) = EXCHANGED.get(collection) {
        let left = limit.saturating_sub(gathered.found.len()).max(1);
        let keys = match shared::of(now.name) {
            Some(table) => table.keys(tx, &key, left)?,
            None => shared::pairs(tx, ["tombstones", "collection", "record_id"], &key, left)?,
        };
        let is_last = keys.len() < left;
        for next in keys {
            gathered.add(now.name, &next)?;
            key = next;
            if gathered.is_full(limit) {
                break;
            }
        }
        if gathered.is_full(limit) {
            let cursor = Cursor::All { place, collection, key };
            return Ok(gathered.page(cursor, true, 0));
        }
        if is_last {
            (collection, key) = (collection + 1, String::new());
        }
    }
    // What changed meanwhile is in the log.
    let more = place.event < events::last(tx)?;
    Ok(gathered.page(Cursor::Log(place), more, 0))
}

/// The records that the log says have changed.
fn after_line(tx: &Tx<'_>, place: Place, limit: usize) -> Result<Page> {
    let mut gathered = Gathered::new(tx);
    let (mut last, mut looked_at) = (place.event, 0);
    loop {
        let lines = events::after(tx, last, LINES)?;
        let is_end = lines.len() < usize::try_from(LINES).unwrap_or(usize::MAX);
        for entry in &lines {
            (last, looked_at) = (entry.id, looked_at + 1);
            match touched(entry) {
                Touched::Everything => {
                    let cursor = Cursor::beginning(Place::at(tx, last)?);
                    return Ok(gathered.page(cursor, true, looked_at));
                }
                Touched::These(keys) => {
                    keys.iter().try_for_each(|(collection, id)| gathered.add(collection, id))?;
                }
                Touched::Renamed(old, new) => gathered.add_renamed(&old, &new)?,
            }
            if gathered.is_full(limit) || looked_at >= MAX_LINES {
                let more = !(is_end && lines.last().is_some_and(|end| end.id == last));
                return Ok(gathered.page(Cursor::Log(Place::at(tx, last)?), more, looked_at));
            }
        }
        if is_end {
            return Ok(gathered.page(Cursor::Log(Place::at(tx, last)?), false, looked_at));
        }
    }
}

/// What an event may have changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Touched {
    These(Vec<(&'static str, String)>),
    /// An issue has another id.
    Renamed(String, String),
    Everything,
}

pub(super) fn touched(entry: &LogEntry) -> Touched {
    let (kind, id) = (entry.subject_kind.as_str(), entry.subject_id.as_str());
    if kind == "store" {
        let all = [EventType::Imported, EventType::Restored, EventType::Fixed].map(EventType::as_str);
        let is_all = all.contains(&entry.event_type.as_str());
        return if is_all { Touched::Everything } else { Touched::These(Vec::new()) };
    }
    if kind == "tombstone" {
        return Touched::These(vec![(TOMBSTONES.name, id.to_owned())]);
    }
    let Some(table) = shared::all().find(|table| table.subject() == kind) else {
        return Touched::These(Vec::new());
    };
    let collection = table.collection().name;
    let mut keys = vec![(collection, id.to_owned())];
    let [was, is] = sides(entry.detail.get("id"));
    if let (Some(was), Some(is)) = (was.as_str(), is.as_str()) {
        if collection == ISSUES.name {
            return Touched::Renamed(was.to_owned(), is.to_owned());
        }
        keys.push((collection, was.to_owned()));
    }
    if collection == ISSUES.name {
        of_issue(entry, id, &mut keys);
    }
    Touched::These(keys)
}

/// What belongs to an issue and is told of by an event of it.
fn of_issue(entry: &LogEntry, id: &str, keys: &mut Vec<(&'static str, String)>) {
    let texts = |values: &Value| -> Vec<String> {
        let all = values.as_array().into_iter().flatten();
        all.filter_map(|one| one["id"].as_str().map(str::to_owned)).collect()
    };
    for parent in sides(entry.detail.get("depends_on_id")) {
        keys.extend(parent.as_str().map(|parent| (DEPS.name, format!("{id} {parent}"))));
    }
    let whole = sides(entry.detail.get("issue"));
    for whole in whole {
        keys.extend(texts(&whole[DEPS.name]).into_iter().map(|parent| (DEPS.name, format!("{id} {parent}"))));
    }
    let owned = TABLES.into_iter().filter(|table| table.is_about_issues());
    for table in owned.filter(|table| ![ISSUES.name, DEPS.name].contains(&table.collection().name)) {
        let name = table.collection().name;
        for one in sides(entry.detail.get(table.subject())) {
            keys.extend(one["id"].as_str().map(|id| (name, id.to_owned())));
        }
        for of in whole.iter().flat_map(|whole| [&whole[name], &whole["attached"][name]]) {
            keys.extend(texts(of).into_iter().map(|id| (name, id)));
        }
    }
}

/// The two values of a change.
fn sides(change: Option<&Value>) -> [&Value; 2] {
    ["old", "new"].map(|side| change.and_then(|change| change.get(side)).unwrap_or(&Value::Null))
}

/// Records for a page, each once.
pub(super) struct Gathered<'t, 'c> {
    tx: &'t Tx<'c>,
    pub(super) found: Vec<Found>,
    seen: HashSet<(&'static str, String)>,
    bytes: usize,
}

impl<'t, 'c> Gathered<'t, 'c> {
    pub(super) fn new(tx: &'t Tx<'c>) -> Self {
        Self { tx, found: Vec::new(), seen: HashSet::new(), bytes: 0 }
    }

    pub(super) fn is_full(&self, limit: usize) -> bool {
        self.found.len() >= limit || self.bytes >= PAGE_BYTES
    }

    fn page(self, cursor: Cursor, more: bool, looked_at: i64) -> Page {
        Page { found: self.found, cursor, more, restarted: false, looked_at }
    }

    /// Adds a record, and what has to come with it: its tombstone or what that is of, so that nobody takes it for
    /// deleted; the bug that it fixes; and of an issue that was deleted once all that belongs to it, for whoever deleted
    /// the issue has lost that too.
    pub(super) fn add(&mut self, collection: &'static str, id: &str) -> Result<()> {
        let mut next = vec![(collection, id.to_owned())];
        while let Some((collection, id)) = next.pop() {
            if !self.seen.insert((collection, id.clone())) {
                continue;
            }
            let line = line(self.tx, collection, &id)?;
            if collection == TOMBSTONES.name {
                let (of, id) = id.split_once(' ').unwrap_or((&id, ""));
                next.extend(shared::of(of).map(|table| (table.collection().name, id.to_owned())));
            } else if tombstones::get(self.tx, collection, &id)?.is_some() {
                next.push((TOMBSTONES.name, format!("{collection} {id}")));
                if collection == ISSUES.name && line.is_some() {
                    next.extend(belongings(self.tx, &id.parse()?)?);
                }
            }
            if collection == ISSUES.name && next.len() < USUAL {
                next.extend(line.as_deref().and_then(bug).map(|bug| (ISSUES.name, bug)));
            }
            self.bytes += line.as_ref().map_or(0, String::len);
            self.found.push(Found { collection, id, line });
        }
        Ok(())
    }

    /// Adds an issue with another id and all that knows it by that.
    fn add_renamed(&mut self, old: &str, new: &str) -> Result<()> {
        self.add(ISSUES.name, old)?;
        self.add(ISSUES.name, new)?;
        let id: IssueId = new.parse()?;
        for (collection, id) in belongings(self.tx, &id)? {
            self.add(collection, &id)?;
        }
        for release in releases::naming(self.tx, &id)? {
            self.add(RELEASES.name, release.id.as_str())?;
        }
        for shown in learnings::list(self.tx, Wanted { issue: Some(new.to_owned()), ..Wanted::default() })? {
            self.add(LEARNINGS.name, shown.learning.id.as_str())?;
        }
        Ok(())
    }
}

/// What belongs to an issue: comments, dependencies, …
pub(super) fn belongings(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<(&'static str, String)>> {
    let mut all = Vec::new();
    for table in TABLES.into_iter().filter(|table| table.collection().name != ISSUES.name) {
        let collection = table.collection();
        all.extend(table.about(tx, id)?.iter().map(|record| (collection.name, collection.key(record))));
    }
    Ok(all)
}

/// The bug that an issue fixes.
fn bug(line: &str) -> Option<String> {
    if !line.contains("\"fixes\"") {
        return None;
    }
    serde_json::from_str::<Value>(line).ok()?["fixes"].as_str().map(str::to_owned)
}
