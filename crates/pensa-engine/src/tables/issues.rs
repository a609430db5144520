//! Rows of `issues`, and everything that is derived from them.

use pensa_core::event::{self, EventType};
use pensa_core::id::{self, IssueId, IssueRef};
use pensa_core::issue::{Issue, Sort, Status};
use pensa_core::json::ListWriter;
use pensa_core::ops::issue::Filter;
use pensa_core::{Code, Error, Result, Span, Timestamp, similar, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::entity;
use crate::tables::{deps, events, extra, learnings, peers, records, releases, titles};

/// A row of `issues` as the journal has it: also what nobody is shown.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IssueRow<I> {
    /// How long a renewal of the lease lasts, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease_ms: Option<i64>,
    #[serde(flatten)]
    pub(crate) issue: I,
}

impl<'a> IssueRow<&'a Issue> {
    fn of(issue: &'a Issue) -> Self {
        Self { lease_ms: issue.lease.map(Span::as_millis), issue }
    }
}

const COLUMNS: &str = "i.id, i.title, i.description, i.issue_type, i.status, i.priority, i.spec, i.fixes, i.assignee, \
     i.lease_expires_at, i.lease_ms, i.created_at, i.updated_at, i.closed_at, i.close_reason, \
     i.claim_session, i.claim_host, i.extra";

pub(crate) fn read(row: &Row<'_>) -> Result<Issue> {
    Ok(Issue {
        id: row.parse(0)?,
        title: row.text(1)?,
        description: row.text_or_null(2)?,
        issue_type: row.parse(3)?,
        status: row.parse(4)?,
        priority: row.parse(5)?,
        spec: row.text_or_null(6)?,
        fixes: row.parse_or_null(7)?,
        assignee: row.text_or_null(8)?,
        lease_expires_at: row.parse_or_null(9)?,
        lease: row.int_or_null(10)?.map(Span::from_millis),
        created_at: row.parse(11)?,
        updated_at: row.parse(12)?,
        closed_at: row.parse_or_null(13)?,
        close_reason: row.text_or_null(14)?,
        claim_session: row.text_or_null(15)?,
        claim_host: row.text_or_null(16)?,
        extra: row.extra(17)?,
    })
}

/// The issues that `rest` (joins, conditions, order) selects from `issues i`.
pub(crate) fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Issue>> {
    tx.query(&format!("SELECT {COLUMNS} FROM issues i {rest}"), params, read)
}

pub(crate) fn for_each(tx: &Tx<'_>, mut each: impl FnMut(&Issue) -> Result<()>) -> Result<()> {
    tx.for_each(&format!("SELECT {COLUMNS} FROM issues i ORDER BY i.created_at, i.id"), params![], |row| {
        each(&read(row)?)
    })
}

pub(crate) fn get(tx: &Tx<'_>, id: &IssueId) -> Result<Option<Issue>> {
    tx.query_one(&format!("SELECT {COLUMNS} FROM issues i WHERE i.id = ?1"), params![id], read)
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

/// A listing: which issues, in which order, how many.
#[derive(Debug)]
pub(crate) struct Listing {
    rest: String,
    values: Vec<Param<'static>>,
}

impl Listing {
    /// The issues for which `base` holds and that match `filter`.
    pub(crate) fn new(base: &str, filter: &Filter, sort: Sort, limit: Option<u32>) -> Self {
        Self::filtered(base, Vec::new(), filter, sort, limit)
    }

    /// The same for a base that has values of its own.
    fn filtered(base: &str, mut values: Vec<Param<'static>>, filter: &Filter, sort: Sort, limit: Option<u32>) -> Self {
        let mut conditions = vec![base.to_owned()];
        let mut equal = |column: &str, value: Option<Param<'static>>| {
            if let Some(value) = value {
                values.push(value);
                conditions.push(format!("i.{column} = ?{}", values.len()));
            }
        };
        equal("status", filter.status.map(Param::from));
        equal("priority", filter.priority.map(Param::from));
        equal("issue_type", filter.issue_type.map(Param::from));
        equal("spec", filter.spec.clone().map(Param::from));
        equal("assignee", filter.assignee.clone().filter(|name| !name.is_empty()).map(Param::from));
        if filter.assignee.as_deref() == Some("") {
            conditions.push("i.assignee IS NULL".into());
        }
        Self::ordered(&conditions.join(" AND "), values, sort, limit)
    }

    /// The issues in whose folded title or description `text` stands.
    pub(crate) fn containing(text: &str, filter: &Filter, limit: Option<u32>) -> Self {
        let values = vec![text::fold(text).into()];
        Self::filtered("instr(i.search_text, ?1) > 0", values, filter, Sort::Priority, limit)
    }

    fn ordered(conditions: &str, mut values: Vec<Param<'static>>, sort: Sort, limit: Option<u32>) -> Self {
        let order = match sort {
            Sort::Priority => "i.priority, i.created_at, i.id",
            Sort::CreatedAt => "i.created_at, i.id",
            Sort::UpdatedAt => "i.updated_at DESC, i.created_at, i.id",
            Sort::Status => {
                "CASE i.status WHEN 'open' THEN 0 WHEN 'in_progress' THEN 1 ELSE 2 END, i.priority, i.created_at, i.id"
            }
            Sort::Title => "i.title, i.created_at, i.id",
        };
        values.push(Param::Int(limit.map_or(i64::MAX, i64::from)));
        Self { rest: format!("WHERE {conditions} ORDER BY {order} LIMIT ?{}", values.len()), values }
    }

    pub(crate) fn collect(&self, tx: &Tx<'_>) -> Result<Vec<Issue>> {
        query(tx, &self.rest, &self.values)
    }

    /// The same as JSON, without ever holding all of it as issues.
    pub(crate) fn write_json(&self, tx: &Tx<'_>, to: &mut Vec<u8>) -> Result<()> {
        let mut list = ListWriter::new(to);
        tx.for_each(&format!("SELECT {COLUMNS} FROM issues i {}", self.rest), &self.values, |row| {
            list.item(&read(row)?)
        })?;
        list.end();
        Ok(())
    }
}

/// Adds a row; its blockers are counted as its dependencies are added.
pub(crate) fn insert(tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    insert_row(tx, issue, 0)?;
    tx.journal("issue", &IssueRow::of(issue))?;
    titles::add(tx, issue)
}

/// Adds the row of an issue whose id nobody has had.
pub(crate) fn insert_new(tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    insert_row(tx, issue, 0)?;
    tx.journal("issue", &IssueRow::of(issue))?;
    titles::add_new(tx, issue)
}

fn insert_row(tx: &Tx<'_>, issue: &Issue, blockers: i64) -> Result<()> {
    tx.add_rows(
        "INSERT INTO issues (id, title, description, issue_type, status, priority, spec, fixes, assignee,
            lease_expires_at, lease_ms, created_at, updated_at, closed_at, close_reason,
            claim_session, claim_host, extra, search_text, blockers)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        &row(issue)?.into_iter().chain([Param::from(blockers)]).collect::<Vec<_>>(),
    )
}

/// Adds a row without its keys for near-duplicates, which it gives back instead.
pub(crate) fn load(tx: &Tx<'_>, issue: &Issue, blockers: i64) -> Result<Vec<i64>> {
    insert_row(tx, issue, blockers)?;
    if issue.status == Status::Closed { Ok(Vec::new()) } else { Ok(similar::keys(&issue.title)) }
}

/// Replaces a row and what is derived from it.
pub(crate) fn replace(tx: &Tx<'_>, old: &Issue, new: &Issue) -> Result<()> {
    tx.send(
        "UPDATE issues SET title = ?2, description = ?3, issue_type = ?4, status = ?5, priority = ?6, spec = ?7,
            fixes = ?8, assignee = ?9, lease_expires_at = ?10, lease_ms = ?11, created_at = ?12, updated_at = ?13,
            closed_at = ?14, close_reason = ?15, claim_session = ?16, claim_host = ?17, extra = ?18, search_text = ?19
         WHERE id = ?1",
        &row(new)?,
    )?;
    tx.journal("issue", &IssueRow::of(new))?;
    let (was, is) = (old.status == Status::Closed, new.status == Status::Closed);
    if old.title != new.title || was != is {
        titles::remove(tx, old)?;
        titles::add(tx, new)?;
    }
    if was != is {
        deps::parent_moved(tx, &new.id, is)?;
    }
    Ok(())
}

fn row(issue: &Issue) -> Result<[Param<'_>; 19]> {
    Ok([
        (&issue.id).into(),
        (&issue.title).into(),
        issue.description.as_ref().into(),
        issue.issue_type.into(),
        issue.status.into(),
        issue.priority.into(),
        issue.spec.as_ref().into(),
        issue.fixes.as_ref().into(),
        issue.assignee.as_ref().into(),
        issue.lease_expires_at.into(),
        issue.lease.into(),
        issue.created_at.into(),
        issue.updated_at.into(),
        issue.closed_at.into(),
        issue.close_reason.as_ref().into(),
        issue.claim_session.as_ref().into(),
        issue.claim_host.as_ref().into(),
        extra(&issue.extra)?,
        search_text(issue).into(),
    ])
}

/// No search can match across the separator: stored text has no control characters.
fn search_text(issue: &Issue) -> String {
    let description = issue.description.as_deref().unwrap_or_default();
    format!("{}\u{1f}{}", text::fold(&issue.title), text::fold(description))
}

/// Removes the row, all that belongs to it and its dependencies' rows. Its events are no longer an issue's history, but stay in
/// the log, so that the deletion can be taken back. The caller has told whom it concerns.
pub(crate) fn delete(tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    titles::remove(tx, issue)?;
    entity::delete_owned(tx, &issue.id)?;
    tx.journal("issue_deleted", &issue.id)?;
    for sql in [
        "DELETE FROM deps WHERE issue_id = ?1",
        "UPDATE events SET issue_id = NULL WHERE issue_id = ?1",
        "DELETE FROM issues WHERE id = ?1",
    ] {
        tx.send(sql, params![&issue.id])?;
    }
    Ok(())
}

/// Gives an issue another id, and everything that refers to it.
pub(crate) fn rename(tx: &Tx<'_>, old: &IssueId, new: &IssueId) -> Result<()> {
    tx.journal("issue_renamed", &(old, new))?;
    for (table, column) in [
        ("issues", "id"),
        ("issues", "fixes"),
        ("deps", "issue_id"),
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
    releases::rename_issue(tx, old, new)?;
    learnings::issue_renamed(tx, old, new)?;
    records::issue_renamed(tx, old, new)?;
    peers::issue_renamed(tx, old.as_str())?;
    let of_log = "UPDATE events SET subject_id = ?2 WHERE issue_id = ?2 AND subject_kind = 'issue' AND subject_id = ?1";
    tx.send(of_log, params![old, new])?;
    let of_conflicts = "UPDATE conflicts SET record_id = ?2 WHERE collection = 'issues' AND record_id = ?1";
    tx.send(of_conflicts, params![old, new])
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
    replace(tx, old, &new)?;
    detail.extend(note);
    events::log(cx, tx, &new.id, event, detail)?;
    Ok(new)
}
