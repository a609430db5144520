//! The tables that git carries, each as a collection of records. A new noun is one more entry in [`TABLES`].

use std::collections::HashSet;

use pensa_core::comment::Comment;
use pensa_core::dep::Dep;
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, Status};
use pensa_core::learning::Learning;
use pensa_core::release::Release;
use pensa_core::sync::{COMMENTS, Collection, DEPS, ISSUES, LEARNINGS, Noun, RELEASES, Record};
use pensa_core::{Error, Result, json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::count::Blockers;
use crate::context::Context;
use crate::db::{Tx, params};
use crate::meter;
use crate::ops;
use crate::tables::{comments, deps, events, issues, learnings, releases};

/// Lines of a file, and how many they are.
pub(super) type Part = (Vec<u8>, i64);

/// A table whose rows travel as lines.
pub(super) trait Table: Sync {
    fn collection(&self) -> &'static Collection;

    /// What the log calls one of its records.
    fn subject(&self) -> &'static str;

    /// The keys of its records after one of them, in order.
    fn keys(&self, tx: &Tx<'_>, after: &str, limit: usize) -> Result<Vec<String>> {
        keys(tx, self.collection().name, "id", after, limit)
    }

    /// Every row as a line, in order.
    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()>;

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>>;

    /// Adds a record, or replaces the one it was, and logs it.
    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()>;

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()>;

    /// The issues without which a record makes no sense.
    fn rests_on(&self, record: &Record) -> Vec<String>;

    /// Whether a record changes only with an event of an issue that it is about.
    fn is_about_issues(&self) -> bool {
        false
    }

    /// The records about an issue.
    fn about(&self, _: &Tx<'_>, _issue: &IssueId) -> Result<Vec<Record>> {
        Ok(Vec::new())
    }

    /// When a record last had this value of a field, and another after.
    fn left_at(&self, _: &Tx<'_>, _key: &str, _field: &str, _: &Value) -> Result<Option<String>> {
        Ok(None)
    }

    /// Adds the record of a line to a table that was empty, without a word in the log.
    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded>;
}

/// What was loaded so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) issues: HashSet<IssueId>,
    pub(super) deps: HashSet<String>,
    pub(super) comments: HashSet<String>,
    pub(super) releases: HashSet<String>,
    pub(super) learnings: HashSet<String>,
    /// What each issue waits for, if that was counted beforehand.
    pub(super) blockers: Blockers,
    /// Keys of titles, to be written in their order.
    pub(super) title_keys: Vec<(i64, IssueId)>,
    /// Issues and the bugs they fix, to be looked at when all are there.
    pub(super) fixes: Vec<(IssueId, IssueId)>,
}

/// What became of a line.
#[derive(Debug)]
pub(super) enum Loaded {
    Taken,
    /// Another line has the same name.
    Again,
    /// It rests on an issue that is not there.
    Dangling(String),
}

/// Every table, in the order in which they refer to each other.
pub(super) static TABLES: [&dyn Table; 5] = [&Issues, &Deps, &Comments, &Releases, &Learnings];

pub(super) fn of(collection: &str) -> Option<&'static dyn Table> {
    TABLES.into_iter().find(|table| table.collection().name == collection)
}

pub(super) fn add_line<T: Serialize>((bytes, count): &mut Part, record: &T) -> Result<()> {
    json::write_line(bytes, record)?;
    bytes.push(b'\n');
    *count += 1;
    meter().advance(1);
    Ok(())
}

/// Keys that are one column.
fn keys(tx: &Tx<'_>, table: &str, column: &str, after: &str, limit: usize) -> Result<Vec<String>> {
    let sql = format!("SELECT {column} FROM {table} WHERE {column} > ?1 ORDER BY {column} LIMIT ?2");
    tx.query(&sql, params![after, i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.text(0))
}

/// Keys that are two columns, with a blank between.
pub(super) fn pairs(tx: &Tx<'_>, [table, first, second]: [&str; 3], after: &str, limit: usize) -> Result<Vec<String>> {
    let (one, other) = after.split_once(' ').unwrap_or((after, ""));
    let sql = format!(
        "SELECT {first}, {second} FROM {table} WHERE ({first}, {second}) > (?1, ?2)
         ORDER BY {first}, {second} LIMIT ?3"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.query(&sql, params![one, other, limit], |row| Ok(format!("{} {}", row.text(0)?, row.text(1)?)))
}

fn record<T: Serialize>(noun: &T) -> Result<Record> {
    match serde_json::to_value(noun).map_err(Error::internal)? {
        Value::Object(record) => Ok(record),
        _ => Err(Error::internal("a record that is not an object")),
    }
}

fn noun<T: Noun>(record: Record) -> Result<T> {
    serde_json::from_value::<T>(Value::Object(record)).map_err(|e| Error::invalid(e.to_string()))?.adopt()
}

fn parse<T: Noun + DeserializeOwned>(line: &[u8]) -> Result<T> {
    serde_json::from_slice::<T>(line).map_err(|e| Error::invalid(e.to_string()))?.adopt()
}

fn text(record: &Record, field: &str) -> String {
    record.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Logs a change of something that nobody changes here, but that others may have with fields of their own.
fn log_other<T: Serialize>(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    subject: (&'static str, &str),
    issue: &IssueId,
    (old, new): (&T, &T),
) -> Result<()> {
    let detail = event::differences(Some(old), new);
    events::append(cx, tx, subject, Some(issue), EventType::Updated, detail).map(drop)
}

struct Issues;

impl Table for Issues {
    fn collection(&self) -> &'static Collection {
        &ISSUES
    }

    fn subject(&self) -> &'static str {
        "issue"
    }

    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()> {
        issues::for_each(tx, |issue| add_line(to, issue))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>> {
        issues::get(tx, &key.parse()?)?.map(|issue| record(&issue)).transpose()
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()> {
        let new: Issue = noun(new)?;
        let Some(old) = old else {
            issues::insert(tx, &new)?;
            return events::log(cx, tx, &new.id, EventType::Created, event::changes(None, &new));
        };
        let old: Issue = noun(old)?;
        let mut new = new;
        // How long a renewal lasts is better known here, if it is the same lease.
        if let Some(here) = issues::get(tx, &new.id)?.filter(|here| here.lease_expires_at == new.lease_expires_at) {
            new.lease = here.lease;
        }
        issues::replace(tx, &old, &new)?;
        let mut detail = event::changes(Some(&old), &new);
        if old.updated_at != new.updated_at {
            // Unlike that of a change made here, it is not the time of the event.
            detail.insert("updated_at".into(), event::change(old.updated_at, new.updated_at));
        }
        let event = match (old.status == Status::Closed, new.status == Status::Closed) {
            (false, true) => EventType::Closed,
            (true, false) => EventType::Reopened,
            _ => EventType::Updated,
        };
        events::log(cx, tx, &new.id, event, detail)
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()> {
        ops::issue::remove(cx, tx, noun(record)?, Map::new())
    }

    fn rests_on(&self, _: &Record) -> Vec<String> {
        Vec::new()
    }

    fn is_about_issues(&self) -> bool {
        true
    }

    fn about(&self, tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<Record>> {
        issues::get(tx, issue)?.iter().map(record).collect()
    }

    fn left_at(&self, tx: &Tx<'_>, key: &str, field: &str, value: &Value) -> Result<Option<String>> {
        events::left_at(tx, &key.parse()?, field, value)
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded> {
        let issue: Issue = parse(line)?;
        if !seen.issues.insert(issue.id.clone()) {
            return Ok(Loaded::Again);
        }
        let blockers = seen.blockers.get(issue.id.as_str()).copied().unwrap_or_default();
        let keys = issues::load(tx, &issue, blockers)?;
        seen.title_keys.extend(keys.into_iter().map(|key| (key, issue.id.clone())));
        if let Some(bug) = issue.fixes {
            seen.fixes.push((issue.id, bug));
        }
        Ok(Loaded::Taken)
    }
}

struct Deps;

impl Table for Deps {
    fn collection(&self) -> &'static Collection {
        &DEPS
    }

    fn subject(&self) -> &'static str {
        "dep"
    }

    fn keys(&self, tx: &Tx<'_>, after: &str, limit: usize) -> Result<Vec<String>> {
        pairs(tx, ["deps", "issue_id", "depends_on_id"], after, limit)
    }

    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()> {
        deps::for_each(tx, |dep| add_line(to, dep))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>> {
        let (child, parent) = key.split_once(' ').unwrap_or((key, ""));
        deps::get(tx, child, parent)?.map(|dep| record(&dep)).transpose()
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()> {
        let dep: Dep = noun(new)?;
        if let Some(old) = old {
            deps::set_extra(tx, &dep)?;
            return log_other(cx, tx, ("dep", &dep.key()), &dep.issue_id, (&noun(old)?, &dep));
        }
        match issues::get(tx, &dep.depends_on_id)? {
            Some(parent) => ops::dep::link(cx, tx, &dep, &parent),
            None => Ok(()),
        }
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()> {
        let dep: Dep = noun(record)?;
        match issues::get(tx, &dep.depends_on_id)? {
            Some(parent) => ops::dep::unlink(cx, tx, &dep.issue_id, &parent).map(drop),
            None => Ok(()),
        }
    }

    fn rests_on(&self, record: &Record) -> Vec<String> {
        vec![text(record, "issue_id"), text(record, "depends_on_id")]
    }

    fn is_about_issues(&self) -> bool {
        true
    }

    fn about(&self, tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<Record>> {
        deps::of_issue(tx, issue)?.iter().map(record).collect()
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded> {
        let dep: Dep = parse(line)?;
        for end in [&dep.issue_id, &dep.depends_on_id] {
            if !seen.issues.contains(end) {
                return Ok(Loaded::Dangling(end.to_string()));
            }
        }
        if !seen.deps.insert(dep.key()) {
            return Ok(Loaded::Again);
        }
        deps::load(tx, &dep)?;
        Ok(Loaded::Taken)
    }
}

struct Comments;

impl Table for Comments {
    fn collection(&self) -> &'static Collection {
        &COMMENTS
    }

    fn subject(&self) -> &'static str {
        "comment"
    }

    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()> {
        comments::for_each(tx, |comment| add_line(to, comment))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>> {
        comments::get(tx, key)?.map(|comment| record(&comment)).transpose()
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()> {
        let comment: Comment = noun(new)?;
        match old {
            Some(old) => {
                comments::replace(tx, &comment)?;
                log_other(cx, tx, ("comment", comment.id.as_str()), &comment.issue_id, (&noun(old)?, &comment))
            }
            None => ops::comment::record(cx, tx, &comment),
        }
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()> {
        let comment: Comment = noun(record)?;
        comments::delete(tx, comment.id.as_str())?;
        let mut detail = Map::new();
        detail.insert("comment".into(), event::change(&comment, Value::Null));
        events::log(cx, tx, &comment.issue_id, EventType::Updated, detail)
    }

    fn rests_on(&self, record: &Record) -> Vec<String> {
        vec![text(record, "issue_id")]
    }

    fn is_about_issues(&self) -> bool {
        true
    }

    fn about(&self, tx: &Tx<'_>, issue: &IssueId) -> Result<Vec<Record>> {
        comments::of_issue(tx, issue)?.iter().map(record).collect()
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded> {
        let comment: Comment = parse(line)?;
        if !seen.issues.contains(&comment.issue_id) {
            return Ok(Loaded::Dangling(comment.issue_id.to_string()));
        }
        if !seen.comments.insert(comment.id.to_string()) {
            return Ok(Loaded::Again);
        }
        comments::insert(tx, &comment)?;
        Ok(Loaded::Taken)
    }
}

struct Releases;

impl Table for Releases {
    fn collection(&self) -> &'static Collection {
        &RELEASES
    }

    fn subject(&self) -> &'static str {
        "release"
    }

    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()> {
        releases::for_each(tx, |release| add_line(to, release))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>> {
        releases::get(tx, key)?.map(|release| record(&release)).transpose()
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()> {
        let release: Release = noun(new)?;
        match old {
            Some(old) => ops::release::replace(cx, tx, &noun(old)?, &release),
            None => ops::release::add(cx, tx, &release),
        }
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()> {
        ops::release::remove(cx, tx, &noun(record)?)
    }

    /// What was shipped outlives its issues.
    fn rests_on(&self, _: &Record) -> Vec<String> {
        Vec::new()
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded> {
        let release: Release = parse(line)?;
        if !seen.releases.insert(release.id.to_string()) {
            return Ok(Loaded::Again);
        }
        releases::put(tx, &release)?;
        Ok(Loaded::Taken)
    }
}

struct Learnings;

impl Table for Learnings {
    fn collection(&self) -> &'static Collection {
        &LEARNINGS
    }

    fn subject(&self) -> &'static str {
        "learning"
    }

    fn render(&self, tx: &Tx<'_>, to: &mut Part) -> Result<()> {
        learnings::for_each(tx, |learning| add_line(to, learning))
    }

    fn get(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Record>> {
        learnings::get(tx, &key.parse()?)?.map(|learning| record(&learning)).transpose()
    }

    fn put(&self, cx: &Context<'_>, tx: &Tx<'_>, old: Option<Record>, new: Record) -> Result<()> {
        let old = old.map(noun::<Learning>).transpose()?;
        ops::learning::store(cx, tx, old.as_ref(), &noun(new)?)
    }

    fn remove(&self, cx: &Context<'_>, tx: &Tx<'_>, record: Record) -> Result<()> {
        ops::learning::remove(cx, tx, &noun(record)?)
    }

    /// It outlives the issue that it came from.
    fn rests_on(&self, _: &Record) -> Vec<String> {
        Vec::new()
    }

    fn load(&self, tx: &Tx<'_>, line: &[u8], seen: &mut Seen) -> Result<Loaded> {
        let learning: Learning = parse(line)?;
        if !seen.learnings.insert(learning.id.to_string()) {
            return Ok(Loaded::Again);
        }
        learnings::put(tx, &learning)?;
        Ok(Loaded::Taken)
    }
}
