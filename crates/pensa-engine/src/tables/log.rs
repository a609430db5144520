//! The log of a store as it is followed: parts of it, oldest first, of what somebody wants to know.

use pensa_core::event::LogEntry;
use pensa_core::event::filter::{Filter, KINDS, Subject, patterns};
use pensa_core::id::{self, IssueId};
use pensa_core::ops::event::{List, Page};
use pensa_core::{Error, Result};

use super::events::{SHOWN, last, read_shown};
use super::ids::{Kind, ambiguous};
use crate::db::{Param, Tx, params};

const COLUMNS: &str =
    "SELECT id, subject_kind, subject_id, issue_id, event_type, actor, detail, created_at FROM events";

/// Bytes of details after which a page ends, whatever its number of events.
const MAX_BYTES: usize = 1 << 20;

/// Longest subject that can be asked for, in bytes.
const MAX_SUBJECT: usize = 2000;

/// What may be in a store without a line of its own in the log, because it came from files.
const FROM_FILES: [Kind; 2] = [
    Kind { name: "issue", table: "issues", prefix: "pn-", hint: "" },
    Kind { name: "learning", table: "learnings", prefix: "ln-", hint: "" },
];

/// What somebody wants to know, with the subject that is meant.
pub fn filter(tx: &Tx<'_>, wanted: &List) -> Result<Filter> {
    Ok(Filter {
        subject: wanted.subject.as_deref().map(|text| subject(tx, text)).transpose()?,
        types: patterns(&wanted.types)?,
        by: wanted.by.clone(),
    })
}

/// The subject that a text means: a kind, else the one thing whose id is this or begins with it.
fn subject(tx: &Tx<'_>, text: &str) -> Result<Subject> {
    if KINDS.contains(&text) {
        return Ok(Subject::Kind(text.to_owned()));
    }
    // A small value is named by scope and key, with a blank between.
    if text.is_empty() || text.len() > MAX_SUBJECT || text.chars().any(char::is_control) {
        return Err(Error::invalid("a subject is an id, the beginning of one, or a kind"));
    }
    let mut ids = Vec::new();
    for (from, to) in [(text.to_owned(), text.to_owned()), (text.to_owned(), format!("{text}\u{10FFFF}"))] {
        if ids.is_empty() {
            ids = logged(tx, &from, &to)?;
        }
    }
    for kind in FROM_FILES {
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

/// The things between two ids that the log is about.
fn logged(tx: &Tx<'_>, from: &str, to: &str) -> Result<Vec<String>> {
    let of_issues = "SELECT DISTINCT issue_id FROM events WHERE issue_id >= ?1 AND issue_id <= ?2
         ORDER BY issue_id LIMIT 6";
    let of_others = "SELECT DISTINCT subject_id FROM events
         WHERE issue_id IS NULL AND subject_id >= ?1 AND subject_id <= ?2 ORDER BY subject_id LIMIT 6";
    let mut ids = tx.query(of_issues, params![from, to], |row| row.text(0))?;
    ids.extend(tx.query(of_others, params![from, to], |row| row.text(0))?);
    Ok(ids)
}

/// What a filter asks of a line that may be shown, as conditions of a statement that has `values` already.
fn conditions(filter: &Filter, values: &mut Vec<Param<'static>>) -> String {
    let mut all = format!(" AND {SHOWN}");
    let mut place = |value: &str| {
        values.push(Param::from(value.to_owned()));
        values.len()
    };
    match &filter.subject {
        None => {}
        Some(Subject::Kind(kind)) => all.push_str(&format!(" AND subject_kind = ?{}", place(kind))),
        Some(Subject::Id(id)) => {
            let at = place(id);
            all.push_str(&format!(" AND (issue_id = ?{at} OR (issue_id IS NULL AND subject_id = ?{at}))"));
        }
    }
    if let Some(by) = &filter.by {
        all.push_str(&format!(" AND actor = ?{}", place(by)));
    }
    // In one order, so that there are few texts of statements.
    let mut types: Vec<_> = filter.types.iter().collect();
    types.sort_by_key(|pattern| pattern.is_prefix());
    let any = types.iter().map(|pattern| {
        let at = place(pattern.text());
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

/// The wanted lines after a line, oldest first: at most `limit`, and fewer if they are large.
pub fn page(tx: &Tx<'_>, filter: &Filter, after: i64, limit: u32) -> Result<Page> {
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
    Ok(Page { events, last: if is_full { seen } else { end.max(after) }, end })
}

/// What the log has on one issue.
#[derive(Debug)]
pub(crate) struct Life {
    /// Oldest first
    pub(crate) events: Vec<LogEntry>,
    /// Whether there is more before them.
    pub(crate) is_cut: bool,
}

/// Bytes of details that one issue may have here.
const MAX_LIFE: usize = 32 << 20;

/// The last lines about an issue and the work on it.
pub(crate) fn life(tx: &Tx<'_>, issue: &IssueId, limit: u32) -> Result<Life> {
    let filter = Filter { subject: Some(Subject::Id(issue.to_string())), ..Filter::default() };
    let mut values = vec![Param::from(i64::from(limit) + 1)];
    let conditions = conditions(&filter, &mut values);
    let sql = format!("{COLUMNS} WHERE id > 0{conditions} ORDER BY id DESC LIMIT ?1");
    let (mut events, mut bytes, mut is_cut) = (Vec::new(), 0, false);
    tx.for_each(&sql, &values, |row| {
        is_cut |= bytes > MAX_LIFE || events.len() >= limit as usize;
        if !is_cut {
            bytes += row.str(6)?.len();
            events.push(read_shown(row)?);
        }
        Ok(())
    })?;
    events.reverse();
    Ok(Life { events, is_cut })
}

/// The last wanted lines, oldest first.
pub(crate) fn latest(tx: &Tx<'_>, filter: &Filter, limit: u32) -> Result<Page> {
    let end = last(tx)?;
    let mut values = vec![Param::from(i64::from(limit))];
    let conditions = conditions(filter, &mut values);
    let sql = format!("{COLUMNS} WHERE id > 0{conditions} ORDER BY id DESC LIMIT ?1");
    let mut events = tx.query(&sql, &values, read_shown)?;
    events.reverse();
    Ok(Page { events, last: end, end })
}
