//! Pages through a store's log for followers, with filters by subject, event type and actor.

use pensa_core::event::LogEntry;
use pensa_core::event::filter::{EventFilter, KINDS, Subject, patterns};
use pensa_core::id::{self, IssueId};
use pensa_core::ops::event::{List, LogPage};
use pensa_core::{Error, Result};

use super::events::{SHOWN, last, read_shown};
use super::ids::{IdTable, ambiguous};
use crate::db::{Param, Tx, params};

const COLUMNS: &str =
    "SELECT id, subject_kind, subject_id, issue_id, event_type, actor, detail, created_at FROM events";

/// A page ends once its details have this many bytes.
const MAX_BYTES: usize = 1 << 20;

/// Longest subject in a filter, in bytes.
const MAX_SUBJECT: usize = 2000;

/// Tables whose rows may have no event, because they were imported from files.
const IMPORTED_TABLES: [IdTable; 2] = [
    IdTable { name: "issue", table: "issues", prefix: "pn-", hint: "" },
    IdTable { name: "learning", table: "learnings", prefix: "ln-", hint: "" },
];

/// The filter of a request, with its subject resolved.
pub fn filter(tx: &Tx<'_>, request: &List) -> Result<EventFilter> {
    Ok(EventFilter {
        subject: request.subject.as_deref().map(|text| subject(tx, text)).transpose()?,
        types: patterns(&request.types)?,
        by: request.by.clone(),
    })
}

/// Resolves a subject: a kind, an id, or the prefix of one id.
fn subject(tx: &Tx<'_>, text: &str) -> Result<Subject> {
    if KINDS.contains(&text) {
        return Ok(Subject::Kind(text.to_owned()));
    }
    // The id of a kv pair is scope and key with a space between.
    if text.is_empty() || text.len() > MAX_SUBJECT || text.chars().any(char::is_control) {
        return Err(Error::invalid("a subject is an id, the beginning of one, or a kind"));
    }
    let mut ids = Vec::new();
    for (from, to) in [(text.to_owned(), text.to_owned()), (text.to_owned(), format!("{text}\u{10FFFF}"))] {
        if ids.is_empty() {
            ids = logged(tx, &from, &to)?;
        }
    }
    for kind in IMPORTED_TABLES {
        if !ids.iter().any(|id| id == text) && id::check(text).is_ok() {
            ids.extend(kind.candidates(tx, text)?);
        }
    }
    if ids.iter().any(|id| id == text) {
        return Ok(Subject::Id(text.to_owned()));
    }
    ids.sort();
    ids.dedup();
    if ids.len() > 1 {
        return Err(ambiguous(text, ids.iter().map(String::as_str)));
    }
    let unknown = || Error::not_found("subject", text).hint("give an id, or a kind such as issue, agent or run");
    ids.pop().map(Subject::Id).ok_or_else(unknown)
}

/// The subjects in the log with ids in a range.
fn logged(tx: &Tx<'_>, from: &str, to: &str) -> Result<Vec<String>> {
    let of_issues = "SELECT DISTINCT issue_id FROM events WHERE issue_id >= ?1 AND issue_id <= ?2
         ORDER BY issue_id LIMIT 6";
    let of_others = "SELECT DISTINCT subject_id FROM events
         WHERE issue_id IS NULL AND subject_id >= ?1 AND subject_id <= ?2 ORDER BY subject_id LIMIT 6";
    let mut ids = tx.query(of_issues, params![from, to], |row| row.text(0))?;
    ids.extend(tx.query(of_others, params![from, to], |row| row.text(0))?);
    Ok(ids)
}

/// SQL conditions for a filter; appends their parameters to `values`.
fn conditions(filter: &EventFilter, values: &mut Vec<Param<'static>>) -> String {
    let mut all = format!(" AND {SHOWN}");
    let mut param = |value: &str| {
        values.push(Param::from(value.to_owned()));
        values.len()
    };
    match &filter.subject {
        None => {}
        Some(Subject::Kind(kind)) => all.push_str(&format!(" AND subject_kind = ?{}", param(kind))),
        Some(Subject::Id(id)) => {
            let at = param(id);
            all.push_str(&format!(" AND (issue_id = ?{at} OR (issue_id IS NULL AND subject_id = ?{at}))"));
        }
    }
    if let Some(by) = &filter.by {
        all.push_str(&format!(" AND actor = ?{}", param(by)));
    }
    // A fixed order keeps the number of distinct statements small.
    let mut types: Vec<_> = filter.types.iter().collect();
    types.sort_by_key(|pattern| pattern.is_prefix());
    let any = types.iter().map(|pattern| {
        let at = param(pattern.text());
        ["event_type", "subject_kind || '.' || event_type"].map(|name| match pattern.is_prefix() {
            true => format!("instr({name}, ?{at}) = 1"),
            false => format!("{name} = ?{at}"),
        })
    });
    let any: Vec<String> = any.map(|names| names.join(" OR ")).collect();
    if !any.is_empty() {
        all.push_str(&format!(" AND ({})", any.join(" OR ")));
    }
    all
}

/// The matching events after `after`, oldest first: at most `limit`, fewer if they are large.
pub fn page(tx: &Tx<'_>, filter: &EventFilter, after: i64, limit: u32) -> Result<LogPage> {
    let end = last(tx)?;
    let mut values = vec![Param::from(after), Param::from(i64::from(limit))];
    let conditions = conditions(filter, &mut values);
    let (mut events, mut bytes, mut cut) = (Vec::<LogEntry>::new(), 0, false);
    tx.for_each(&format!("{COLUMNS} WHERE id > ?1{conditions} ORDER BY id LIMIT ?2"), &values, |row| {
        cut |= bytes > MAX_BYTES;
        if !cut {
            bytes += row.str(6)?.len();
            events.push(read_shown(row)?);
        }
        Ok(())
    })?;
    let is_full = cut || events.len() == limit as usize;
    let seen = events.last().map_or(after, |event| event.id);
    Ok(LogPage { events, last: if is_full { seen } else { end.max(after) }, end })
}

/// The events of one issue.
#[derive(Debug)]
pub(crate) struct IssueHistory {
    /// Oldest first
    pub(crate) events: Vec<LogEntry>,
    /// Whether earlier events were left out.
    pub(crate) is_cut: bool,
}

/// Most bytes of details of one issue.
const MAX_HISTORY_BYTES: usize = 32 << 20;

/// The last events about an issue and the work on it.
pub(crate) fn issue_history(tx: &Tx<'_>, issue: &IssueId, limit: u32) -> Result<IssueHistory> {
    let filter = EventFilter { subject: Some(Subject::Id(issue.to_string())), ..EventFilter::default() };
    let mut values = vec![Param::from(i64::from(limit) + 1)];
    let conditions = conditions(&filter, &mut values);
    let sql = format!("{COLUMNS} WHERE id > 0{conditions} ORDER BY id DESC LIMIT ?1");
    let (mut events, mut bytes, mut is_cut) = (Vec::new(), 0, false);
    tx.for_each(&sql, &values, |row| {
        is_cut |= bytes > MAX_HISTORY_BYTES || events.len() >= limit as usize;
        if !is_cut {
            bytes += row.str(6)?.len();
            events.push(read_shown(row)?);
        }
        Ok(())
    })?;
    events.reverse();
    Ok(IssueHistory { events, is_cut })
}

/// The last matching events, oldest first.
pub(crate) fn latest(tx: &Tx<'_>, filter: &EventFilter, limit: u32) -> Result<LogPage> {
    let end = last(tx)?;
    let mut values = vec![Param::from(i64::from(limit))];
    let conditions = conditions(filter, &mut values);
    let sql = format!("{COLUMNS} WHERE id > 0{conditions} ORDER BY id DESC LIMIT ?1");
    let mut events = tx.query(&sql, &values, read_shown)?;
    events.reverse();
    Ok(LogPage { events, last: end, end })
}
