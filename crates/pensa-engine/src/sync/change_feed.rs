//! The changes of a store as records for other stores: the log tells which records changed, the tables have their
//! current state.

use std::collections::HashSet;

use pensa_core::event::{EventType, LogEntry};
use pensa_core::id::IssueId;
use pensa_core::ops::sync::is_sessions_peer;
use pensa_core::session::SessionHead;
use pensa_core::sync::{AGENTS, DEPS, EXCHANGED, ISSUES, LEARNINGS, RELEASES, SESSIONS, TOMBSTONES};
use pensa_core::{Code, Error, Result, json};
use serde_json::Value;

use super::cursor::{Cursor, LogPosition};
use super::synced_tables::{self, TABLES};
use crate::db::Tx;
use crate::tables::learnings::{self, LearningFilter};
use crate::tables::{events, releases, tombstones};

/// Default number of records on a page.
pub(super) const DEFAULT_LIMIT: usize = 500;
/// Approximate size limit of a page.
const PAGE_BYTES: usize = 1 << 20;
/// Events read at a time.
const LINES: i64 = 200;
/// Limit for events read for one page.
const MAX_LINES: i64 = 20_000;

/// Sessions are exchanged separately from other records, and only on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeedKind {
    Sessions,
    Others,
}

impl FeedKind {
    /// The kind that a peer's sync state is about.
    pub(super) fn of_peer(peer: &str) -> Self {
        if is_sessions_peer(peer) { FeedKind::Sessions } else { FeedKind::Others }
    }

    /// Whether records of a collection can be of this kind.
    fn can_contain(self, collection: &str) -> bool {
        collection == TOMBSTONES.name || (collection == SESSIONS.name) == (self == FeedKind::Sessions)
    }

    /// Whether a record is of this kind. A tombstone is of the kind of its record.
    pub(super) fn contains(self, collection: &str, id: &str) -> bool {
        let of = if collection == TOMBSTONES.name { id.split(' ').next().unwrap_or_default() } else { collection };
        (of == SESSIONS.name) == (self == FeedKind::Sessions)
    }
}

/// A record that may have changed. Without a line, it does not exist any more.
#[derive(Debug)]
pub(super) struct ChangedRecord {
    pub(super) collection: &'static str,
    pub(super) id: String,
    pub(super) line: Option<String>,
}

/// A page of changed records, with the cursor after it.
#[derive(Debug)]
pub(super) struct FeedPage {
    pub(super) records: Vec<ChangedRecord>,
    pub(super) cursor: Cursor,
    pub(super) more: bool,
    pub(super) restarted: bool,
    pub(super) looked_at: i64,
}

/// The current line of a record; `None` if it does not exist.
pub(super) fn current_line(tx: &Tx<'_>, collection: &str, id: &str) -> Result<Option<String>> {
    let bytes = match synced_tables::of(collection) {
        Some(table) => {
            let record = match table.get(tx, id) {
                // No record here can have such an id, but a tombstone from elsewhere may.
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

/// The page after a cursor. An invalid cursor restarts from the beginning.
pub(super) fn page(tx: &Tx<'_>, of: FeedKind, after: Option<&str>, limit: usize) -> Result<FeedPage> {
    let known = after.map(|text| Cursor::of(tx, text)).transpose()?.flatten();
    let restarted = after.is_some() && known.is_none();
    let cursor = match known {
        Some(cursor) => cursor,
        None => Cursor::beginning(LogPosition::end(tx)?),
    };
    let page = match cursor {
        Cursor::Log(position) => after_line(PageBuilder::new(tx, of), position, limit)?,
        Cursor::All { position, collection, key } => {
            after_key(PageBuilder::new(tx, of), position, (collection, key), limit)?
        }
    };
    Ok(FeedPage { restarted, ..page })
}

/// Reads all records, one collection after the other, without the log.
fn after_key(
    mut builder: PageBuilder<'_, '_>,
    position: LogPosition,
    from: (usize, String),
    limit: usize,
) -> Result<FeedPage> {
    let (tx, (mut collection, mut key)) = (builder.tx, from);
    while let Some(now) = EXCHANGED.get(collection) {
        if !builder.of.can_contain(now.name) {
            (collection, key) = (collection + 1, String::new());
            continue;
        }
        let left = limit.saturating_sub(builder.records.len()).max(1);
        let keys = match synced_tables::of(now.name) {
            Some(table) => table.keys(tx, &key, left)?,
            None => synced_tables::pairs(tx, ["tombstones", "collection", "record_id"], &key, left)?,
        };
        let is_last = keys.len() < left;
        for next in keys {
            builder.add(now.name, &next)?;
            key = next;
            if builder.is_full(limit) {
                break;
            }
        }
        if builder.is_full(limit) {
            let cursor = Cursor::All { position, collection, key };
            return Ok(builder.page(cursor, true, 0));
        }
        if is_last {
            (collection, key) = (collection + 1, String::new());
        }
    }
    // Later changes are in the log.
    let more = position.event < events::last(tx)?;
    Ok(builder.page(Cursor::Log(position), more, 0))
}

/// Reads the records that the log reports as changed.
fn after_line(mut builder: PageBuilder<'_, '_>, position: LogPosition, limit: usize) -> Result<FeedPage> {
    let tx = builder.tx;
    let (mut last, mut looked_at) = (position.event, 0);
    loop {
        let lines = events::after(tx, last, LINES)?;
        let is_end = lines.len() < usize::try_from(LINES).unwrap_or(usize::MAX);
        for entry in &lines {
            (last, looked_at) = (entry.id, looked_at + 1);
            match affected_records(entry) {
                AffectedRecords::Everything => {
                    let cursor = Cursor::beginning(LogPosition::at(tx, last)?);
                    return Ok(builder.page(cursor, true, looked_at));
                }
                AffectedRecords::Records(keys) => {
                    keys.iter().try_for_each(|(collection, id)| builder.add(collection, id))?;
                }
                AffectedRecords::Renamed(old, new) => builder.add_renamed(&old, &new)?,
            }
            if builder.is_full(limit) || looked_at >= MAX_LINES {
                let more = !(is_end && lines.last().is_some_and(|end| end.id == last));
                return Ok(builder.page(Cursor::Log(LogPosition::at(tx, last)?), more, looked_at));
            }
        }
        if is_end {
            return Ok(builder.page(Cursor::Log(LogPosition::at(tx, last)?), false, looked_at));
        }
    }
}

/// The records that an event may have changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AffectedRecords {
    Records(Vec<(&'static str, String)>),
    /// An issue got another id.
    Renamed(String, String),
    Everything,
}

pub(super) fn affected_records(entry: &LogEntry) -> AffectedRecords {
    let (kind, id) = (entry.subject_kind.as_str(), entry.subject_id.as_str());
    if kind == "store" {
        let all = [EventType::Imported, EventType::Restored, EventType::Fixed].map(EventType::as_str);
        let is_all = all.contains(&entry.event_type.as_str());
        return if is_all { AffectedRecords::Everything } else { AffectedRecords::Records(Vec::new()) };
    }
    if kind == "tombstone" {
        return AffectedRecords::Records(vec![(TOMBSTONES.name, id.to_owned())]);
    }
    let Some(table) = synced_tables::all().find(|table| table.subject() == kind) else {
        return AffectedRecords::Records(Vec::new());
    };
    let collection = table.collection().name;
    let mut keys = vec![(collection, id.to_owned())];
    let [was, is] = sides(entry.detail.get("id"));
    if let (Some(was), Some(is)) = (was.as_str(), is.as_str()) {
        if collection == ISSUES.name {
            return AffectedRecords::Renamed(was.to_owned(), is.to_owned());
        }
        keys.push((collection, was.to_owned()));
    }
    if collection == ISSUES.name {
        add_issue_records(entry, id, &mut keys);
    }
    if collection == AGENTS.name {
        // When an agent leaves a session, the session ends.
        let sessions = sides(entry.detail.get("active_session_id"));
        keys.extend(sessions.iter().filter_map(|id| Some((SESSIONS.name, id.as_str()?.to_owned()))));
    }
    AffectedRecords::Records(keys)
}

/// Adds the records of an issue that its event mentions.
fn add_issue_records(entry: &LogEntry, id: &str, keys: &mut Vec<(&'static str, String)>) {
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
        for whole in whole {
            keys.extend(texts(&whole[name]).into_iter().map(|id| (name, id)));
        }
    }
}

/// The old and the new value of a change.
fn sides(change: Option<&Value>) -> [&Value; 2] {
    ["old", "new"].map(|side| change.and_then(|change| change.get(side)).unwrap_or(&Value::Null))
}

/// Collects records for a page, each once.
pub(super) struct PageBuilder<'t, 'c> {
    tx: &'t Tx<'c>,
    of: FeedKind,
    pub(super) records: Vec<ChangedRecord>,
    seen: HashSet<(&'static str, String)>,
    bytes: usize,
}

impl<'t, 'c> PageBuilder<'t, 'c> {
    pub(super) fn new(tx: &'t Tx<'c>, of: FeedKind) -> Self {
        Self { tx, of, records: Vec::new(), seen: HashSet::new(), bytes: 0 }
    }

    pub(super) fn is_full(&self, limit: usize) -> bool {
        self.records.len() >= limit || self.bytes >= PAGE_BYTES
    }

    fn page(self, cursor: Cursor, more: bool, looked_at: i64) -> FeedPage {
        FeedPage { records: self.records, cursor, more, restarted: false, looked_at }
    }

    /// Adds a record and what must accompany it: its tombstone, or the record of a tombstone, so that no store takes it
    /// for deleted; the bug that it fixes; and, for a restored issue, all its records, because stores that deleted the
    /// issue lost them too.
    pub(super) fn add(&mut self, collection: &'static str, id: &str) -> Result<()> {
        let mut next = vec![(collection, id.to_owned())];
        while let Some((collection, id)) = next.pop() {
            if !self.of.contains(collection, &id) || !self.seen.insert((collection, id.clone())) {
                continue;
            }
            let line =
                current_line(self.tx, collection, &id)?.filter(|line| collection != SESSIONS.name || !is_blank(line));
            if collection == TOMBSTONES.name {
                let (of, id) = id.split_once(' ').unwrap_or((&id, ""));
                next.extend(synced_tables::of(of).map(|table| (table.collection().name, id.to_owned())));
            } else if tombstones::get(self.tx, collection, &id)?.is_some() {
                next.push((TOMBSTONES.name, format!("{collection} {id}")));
                if collection == ISSUES.name && line.is_some() {
                    next.extend(records_of_issue(self.tx, &id.parse()?)?);
                }
            }
            if collection == ISSUES.name && next.len() < DEFAULT_LIMIT {
                next.extend(line.as_deref().and_then(bug).map(|bug| (ISSUES.name, bug)));
            }
            self.bytes += line.as_ref().map_or(0, String::len);
            self.records.push(ChangedRecord { collection, id, line });
        }
        Ok(())
    }

    /// Adds an issue that got another id, and all records that refer to it.
    fn add_renamed(&mut self, old: &str, new: &str) -> Result<()> {
        self.add(ISSUES.name, old)?;
        self.add(ISSUES.name, new)?;
        let id: IssueId = new.parse()?;
        for (collection, id) in records_of_issue(self.tx, &id)? {
            self.add(collection, &id)?;
        }
        for release in releases::containing(self.tx, &id)? {
            self.add(RELEASES.name, release.id.as_str())?;
        }
        for shown in
            learnings::list(self.tx, LearningFilter { issue: Some(new.to_owned()), ..LearningFilter::default() })?
        {
            self.add(LEARNINGS.name, shown.learning.id.as_str())?;
        }
        Ok(())
    }
}

/// The records that belong to an issue, such as comments and dependencies.
pub(super) fn records_of_issue(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<(&'static str, String)>> {
    let mut all = Vec::new();
    for table in TABLES.into_iter().filter(|table| table.collection().name != ISSUES.name) {
        let collection = table.collection();
        all.extend(table.records_of_issue(tx, id)?.iter().map(|record| (collection.name, collection.key(record))));
    }
    Ok(all)
}

/// Whether a session has no entries.
fn is_blank(line: &str) -> bool {
    serde_json::from_str::<SessionHead>(line).is_ok_and(|head| head.is_blank())
}

/// The bug that an issue fixes.
fn bug(line: &str) -> Option<String> {
    if !line.contains("\"fixes\"") {
        return None;
    }
    serde_json::from_str::<Value>(line).ok()?["fixes"].as_str().map(str::to_owned)
}
