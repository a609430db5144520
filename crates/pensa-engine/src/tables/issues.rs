//! Rows of `issues`, and everything that is derived from them.

use pensa_core::entity::Entity;
use pensa_core::event::{self, EventType};
use pensa_core::id::{self, IssueId, IssueRef};
use pensa_core::issue::{Issue, Progress, Sort, SortBy, Status};
use pensa_core::json::{self, ListWriter};
use pensa_core::recall::{Document, TextKind};
use pensa_core::time::Date;
use pensa_core::{Code, Error, Result, Span, Timestamp, text};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Tx, params};
use crate::entity::{self, StoredEntity};
use crate::tables::issue_query::Selection;
use crate::tables::{deps, events, learnings, operations, peers, recall, records, releases, titles};

impl StoredEntity for Issue {
    const HAS_PROJECTIONS: bool = true;

    fn computed(&self) -> Vec<(&'static str, Param<'static>)> {
        // No search can match across the separator: stored text has no control characters.
        let description = self.description.as_deref().unwrap_or_default();
        let search_text = format!("{}\u{1f}{}", text::fold(&self.title), text::fold(description));
        vec![("search_text", search_text.into()), ("estimate_ms", self.estimate.map(Span::as_millis).into())]
    }

    /// The keys of its title while it is not closed, the blockers of what waits for it, and which events are its history.
    fn project(tx: &Tx<'_>, before: Option<&Self>, after: Option<&Self>) -> Result<()> {
        if before.map(Document::from) != after.map(Document::from) {
            if let Some(issue) = after.or(before) {
                recall::touch(tx, TextKind::Issue, issue.id.as_str())?;
            }
        }
        let keyed = |issue: &&Self| issue.status != Status::Closed;
        let (old, new) = (before.filter(keyed), after.filter(keyed));
        if old.map(|issue| &issue.title) != new.map(|issue| &issue.title) {
            old.map_or(Ok(()), |issue| titles::remove(tx, issue))?;
            new.map_or(Ok(()), |issue| titles::add(tx, issue))?;
        }
        let parent = |issue: Option<&Self>| issue.and_then(|issue| issue.parent.clone());
        if parent(old) != parent(new) {
            parent(old).map_or(Ok(()), |parent| deps::count_child(tx, &parent, -1))?;
            parent(new).map_or(Ok(()), |parent| deps::count_child(tx, &parent, 1))?;
        }
        match (before, after) {
            (Some(_), Some(after)) if old.is_some() != new.is_some() => {
                deps::parent_moved(tx, &after.id, new.is_none())
            }
            (None, Some(after)) if deps::has_children(tx, &after.id)? => {
                deps::count_children(tx, &after.id)?;
                if tx.is_replaying() { operations::reattach(tx, &after.id) } else { Ok(()) }
            }
            (None, Some(after)) if tx.is_replaying() => operations::reattach(tx, &after.id),
            (Some(before), None) if tx.is_replaying() => let_go(tx, &before.id),
            _ => Ok(()),
        }
    }

    fn event_detail(old: Option<&Self>, new: Option<&Self>) -> Map<String, Value> {
        match new {
            Some(new) => event::changes(old, new),
            None => Map::new(),
        }
    }
}

/// The issues that `rest` (joins, conditions, order) selects from `issues i`.
pub(crate) fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Issue>> {
    tx.query(&selected(rest), params, entity::from_row)
}

fn selected(rest: &str) -> String {
    format!("SELECT {} FROM issues i {rest}", entity::columns::<Issue>("i"))
}

pub(crate) fn for_each(tx: &Tx<'_>, each: impl FnMut(&Issue) -> Result<()>) -> Result<()> {
    entity::for_each(tx, "ORDER BY created_at, id", params![], each)
}

pub(crate) fn get(tx: &Tx<'_>, id: &IssueId) -> Result<Option<Issue>> {
    entity::get(tx, params![id])
}

/// The issue that a caller means: by id, by a unique prefix of it (with or without `pn-`), or by its name in a batch.
pub(crate) fn find(cx: &Context<'_>, tx: &Tx<'_>, wanted: &IssueRef) -> Result<Issue> {
    let unknown = || Error::not_found("issue", wanted).hint("pn list shows the ids");
    if let Some(name) = wanted.batch_name() {
        let id = cx
            .named(name)
            .ok_or_else(|| Error::not_found("name", wanted).hint("an earlier line of the batch must say \"as\""))?;
        return get(tx, &id)?.ok_or_else(unknown);
    }
    id::check(wanted.as_str())?;
    if !id::is_possible(wanted.as_str()) {
        return Err(unknown());
    }
    let id: IssueId = wanted.as_str().parse()?;
    if let Some(issue) = get(tx, &id)? {
        return Ok(issue);
    }
    let mut matches = with_prefix(tx, wanted.as_str())?;
    if matches.is_empty() {
        matches = with_prefix(tx, &format!("{}{wanted}", IssueId::PREFIX))?;
    }
    if matches.is_empty() {
        matches = in_any_case(tx, wanted.as_str())?;
    }
    match matches.len() {
        0 => Err(unknown()),
        1 => matches.pop().ok_or_else(unknown),
        _ => {
            let some: Vec<&str> = matches.iter().take(5).map(|issue| issue.id.as_str()).collect();
            let more = if matches.len() > 5 { ", …" } else { "" };
            Err(Error::new(Code::AmbiguousId, format!("ambiguous id: {wanted} could be {}{more}", some.join(", ")))
                .hint("give more of the id"))
        }
    }
}

fn with_prefix(tx: &Tx<'_>, prefix: &str) -> Result<Vec<Issue>> {
    query(tx, "WHERE i.id >= ?1 AND i.id < ?2 ORDER BY i.id LIMIT 6", params![prefix, format!("{prefix}\u{10FFFF}")])
}

/// The issues that a text may mean in another case. Reads every id, so it comes last.
fn in_any_case(tx: &Tx<'_>, text: &str) -> Result<Vec<Issue>> {
    let rest = "WHERE lower(i.id) >= ?1 AND lower(i.id) < ?2 ORDER BY length(i.id), i.id LIMIT 6";
    let text = text.to_ascii_lowercase();
    for wanted in [text.clone(), format!("{}{text}", IssueId::PREFIX)] {
        let mut matches = query(tx, rest, params![&wanted, format!("{wanted}\u{10FFFF}")])?;
        // A whole id goes before those that begin with it.
        if matches.first().is_some_and(|issue| issue.id.as_str().len() == wanted.len()) {
            matches.retain(|issue| issue.id.as_str().len() == wanted.len());
        }
        if !matches.is_empty() {
            return Ok(matches);
        }
    }
    Ok(Vec::new())
}

/// The condition of `pn ready` but for deferred issues: the terms of the index issues_ready, word for word.
pub(crate) const READY: &str = "i.status = 'open' AND i.blockers = 0 AND i.issue_type <> 'bug'";

/// A listing: which issues, in which order, how many.
#[derive(Debug)]
pub(crate) struct Listing {
    rest: String,
    values: Vec<Param<'static>>,
}

impl Listing {
    pub(crate) fn new(selection: Selection, sort: &SortBy, limit: Option<u32>) -> Self {
        let order = match sort {
            SortBy::Sort(Sort::CreatedAt) => "i.created_at, i.id",
            SortBy::Sort(Sort::UpdatedAt) => "i.updated_at DESC, i.created_at, i.id",
            SortBy::Sort(Sort::Status) => {
                "CASE i.status WHEN 'open' THEN 0 WHEN 'in_progress' THEN 1 ELSE 2 END, i.priority, i.created_at, i.id"
            }
            SortBy::Sort(Sort::Title) => "i.title, i.created_at, i.id",
            SortBy::Sort(Sort::Due) => "i.due IS NULL, i.due, i.priority, i.created_at, i.id",
            SortBy::Sort(Sort::Estimate) => "i.estimate_ms IS NULL, i.estimate_ms, i.priority, i.created_at, i.id",
            // Impact and custom fields are no columns: what is sorted by them comes in this order.
            SortBy::Sort(Sort::Priority | Sort::Impact) | SortBy::Field(_) => "i.priority, i.created_at, i.id",
        };
        let (condition, mut values) = selection.into_sql();
        values.push(Param::Int(limit.map_or(i64::MAX, i64::from)));
        Self { rest: format!("WHERE {condition} ORDER BY {order} LIMIT ?{}", values.len()), values }
    }

    pub(crate) fn collect(&self, tx: &Tx<'_>) -> Result<Vec<Issue>> {
        query(tx, &self.rest, &self.values)
    }

    /// The same as JSON, without ever holding all of it as issues.
    pub(crate) fn write_json(&self, tx: &Tx<'_>, to: &mut Vec<u8>) -> Result<()> {
        let mut list = ListWriter::new(to);
        tx.for_each(&selected(&self.rest), &self.values, |row| list.item(&entity::from_row::<Issue>(row)?))?;
        list.end();
        Ok(())
    }
}

/// The issues that are parts of an issue.
pub(crate) fn children(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Issue>> {
    query(tx, "WHERE i.parent = ?1 ORDER BY i.priority, i.created_at, i.id", params![id])
}

/// How many of the issues without children below an issue are closed; `None` if it has no children.
pub(crate) fn progress(tx: &Tx<'_>, id: &IssueId) -> Result<Option<Progress>> {
    let sql = format!(
        "{} SELECT COUNT(CASE WHEN i.status = 'closed' THEN 1 END), COUNT(*) FROM issues i
         JOIN below b ON b.id = i.id
         WHERE NOT EXISTS (SELECT 1 FROM issues c WHERE c.parent = i.id)",
        descendants("?1")
    );
    let counted = tx.query_one(&sql, params![id], |row| Ok(Progress { closed: row.int(0)?, total: row.int(1)? }))?;
    Ok(counted.filter(|progress| progress.total > 0))
}

/// A common table expression with the ids of all issues below one, in a table `below`.
pub(super) fn descendants(id: &str) -> String {
    format!(
        "WITH RECURSIVE below(id) AS (
             SELECT id FROM issues WHERE parent = {id}
             UNION SELECT c.id FROM issues c JOIN below b ON c.parent = b.id)"
    )
}

/// The issues with a link to an issue.
pub(crate) fn linking_to(tx: &Tx<'_>, id: &IssueId) -> Result<Vec<Issue>> {
    let wanted = format!("\"to\":\"{id}\"");
    query(tx, "WHERE i.links IS NOT NULL AND instr(i.links, ?1) > 0 ORDER BY i.created_at, i.id", params![wanted])
}

/// Whether any issue is a part of another.
pub(crate) fn any_parents(tx: &Tx<'_>) -> Result<bool> {
    Ok(tx.query_one("SELECT 1 FROM issues WHERE parent IS NOT NULL LIMIT 1", params![], |_| Ok(()))?.is_some())
}

/// The first day after today on which a deferred issue becomes ready.
pub(crate) fn next_deferred(tx: &Tx<'_>, today: Date) -> Result<Option<Date>> {
    let sql = "SELECT defer FROM issues WHERE defer > ?1 ORDER BY defer LIMIT 1";
    tx.query_one(sql, params![today.to_string()], |row| row.parse(0))
}

/// The labels and status of every issue that has labels.
pub(crate) fn labels(tx: &Tx<'_>) -> Result<Vec<(Vec<String>, Status)>> {
    tx.query("SELECT i.labels, i.status FROM issues i WHERE i.labels IS NOT NULL", params![], |row| {
        Ok((serde_json::from_str(row.str(0)?).map_err(Error::internal)?, row.parse(1)?))
    })
}

/// The issues with a label.
pub(crate) fn labelled(tx: &Tx<'_>, label: &str) -> Result<Vec<Issue>> {
    let wanted = json::to_line(&label)?;
    query(tx, "WHERE i.labels IS NOT NULL AND instr(i.labels, ?1) > 0 ORDER BY i.created_at, i.id", params![wanted])
}

/// Removes an issue with all that belongs to it. Its events are no longer an issue's history, but stay in the log, so that
/// the deletion can be undone. The caller has logged the deletion.
pub(crate) fn delete(tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    entity::delete_owned(tx, &issue.id)?;
    let_go(tx, &issue.id)?;
    entity::remove(tx, issue)
}

/// Makes the history of an issue lines of the log that no issue has.
fn let_go(tx: &Tx<'_>, id: &IssueId) -> Result<()> {
    tx.send("UPDATE events SET issue_id = NULL WHERE issue_id = ?1", params![id])
}

/// Gives an issue another id, and everything that refers to it.
pub(crate) fn rename(tx: &Tx<'_>, old: &IssueId, new: &IssueId) -> Result<()> {
    tx.journal("issue_renamed", &(old, new))?;
    for (table, column) in [
        ("issues", "id"),
        ("issues", "fixes"),
        ("issues", "parent"),
        ("deps", "depends_on_id"),
        ("events", "issue_id"),
        ("title_keys", "issue_id"),
        ("sessions", "issue_id"),
        ("runs", "issue_id"),
        ("work", "issue_id"),
    ]
    .into_iter()
    .chain(entity::owned())
    {
        tx.send(&format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1"), params![old, new])?;
    }
    for linked in linking_to(tx, old)? {
        let mut links = linked.clone();
        links.links.iter_mut().filter(|link| link.to == *old).for_each(|link| link.to = new.clone());
        links.links.sort();
        let sql = format!("UPDATE {} SET links = ?2 WHERE id = ?1", Issue::SCHEMA.table);
        tx.send(&sql, params![&linked.id, json::to_line(&links.links)?])?;
    }
    renamed_in_recall(tx, old, new)?;
    releases::issue_renamed(tx, old, new)?;
    learnings::issue_renamed(tx, old, new)?;
    records::issue_renamed(tx, old, new)?;
    peers::issue_renamed(tx, old.as_str())?;
    let of_log = "UPDATE events SET subject_id = ?2 WHERE issue_id = ?2 AND subject_kind = 'issue' AND subject_id = ?1";
    tx.send(of_log, params![old, new])?;
    let of_conflicts = "UPDATE conflicts SET record_id = ?2 WHERE collection = 'issues' AND record_id = ?1";
    tx.send(of_conflicts, params![old, new])
}

/// Notes the texts that name an issue by its old id.
fn renamed_in_recall(tx: &Tx<'_>, old: &IssueId, new: &IssueId) -> Result<()> {
    for id in [old, new] {
        recall::touch(tx, TextKind::Issue, id.as_str())?;
    }
    for issue in query(tx, "WHERE i.parent = ?1 OR i.fixes = ?1", params![new])?.iter().chain(&linking_to(tx, new)?) {
        recall::touch(tx, TextKind::Issue, issue.id.as_str())?;
    }
    for comment in super::comments::of_issue(tx, new)? {
        recall::touch(tx, TextKind::Comment, comment.id.as_str())?;
    }
    Ok(())
}

/// When a change happened to what was last changed then. In every copy of the store it must be the later of the two,
/// also if a faster clock made the other.
pub(crate) fn after(cx: &Context<'_>, updated_at: Timestamp) -> Timestamp {
    cx.now.max(updated_at.plus(Span::from_millis(1)))
}

/// Stores a changed issue and logs the change; leaves everything alone if nothing changed.
pub(crate) fn save(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    old: &Issue,
    mut new: Issue,
    event: EventType,
    note: Map<String, Value>,
) -> Result<Issue> {
    let mut detail = event::changes(Some(old), &new);
    if detail.is_empty() {
        return Ok(new);
    }
    new.updated_at = if cx.now < old.updated_at { after(cx, old.updated_at) } else { cx.now };
    entity::replace(tx, old, &new)?;
    detail.extend(note);
    events::log(cx, tx, &new.id, event, detail)?;
    Ok(new)
}
