//! How one event is reversed: the state is put back and an event of its own says so.
//!
//! Whether anything stands on it was checked before. Here the state itself has the last word: what is not as the
//! event left it is not touched.

use pensa_core::comment::Comment;
use pensa_core::dep::Dep;
use pensa_core::effect::{Effect, Field};
use pensa_core::event::filter::KINDS;
use pensa_core::event::{self, EventType};
use pensa_core::id::{ConflictId, IssueId};
use pensa_core::issue::{Issue, IssueDetail};
use pensa_core::sync::{COMMENTS, DEPS, ISSUES};
use pensa_core::{Code, Error, Result, Span, Timestamp};
use serde_json::{Map, Value, json};

use super::standing::Mark;
use super::{instead, purged, refused};
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, PastChange};
use crate::tables::operations::{self, Line};
use crate::tables::{comments, conflicts, cycle, deps, events, issues, tombstones};

/// Takes back what a line says and logs that as `event_type` with `note`.
pub(super) fn reverse(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    line: &Line,
    event_type: EventType,
    note: Map<String, Value>,
) -> Result<Mark> {
    if !line.is_of_issue() {
        return revert_changes(cx, tx, line, event_type);
    }
    let id: IssueId = line.subject_id.parse()?;
    let effect = line.effect()?;
    let changes = entity::changes_of(tx, line.id)?;
    // What was attached to the issue goes before it, and comes back after it.
    if matches!(effect, Effect::Appeared) {
        revert(cx, tx, line, &changes)?;
    }
    let mut detail = match &effect {
        Effect::Changed(_) if !changes.is_empty() => reattach(cx, tx, line, &id, &changes)?,
        Effect::Appeared => remove(cx, tx, line, &id)?,
        Effect::Vanished(whole) => bring_back(cx, tx, line, whole)?,
        Effect::Purged => return Err(purged(line)),
        Effect::Linked(other) => unlink(cx, tx, line, &id, other)?,
        Effect::Unlinked(other) => link(cx, tx, line, &id, other)?,
        Effect::Said(comment) => unsay(cx, tx, line, comment)?,
        Effect::Unsaid(comment) => say(cx, tx, line, &id, comment)?,
        Effect::Disputed(conflict) => settle(cx, tx, line, conflict)?,
        Effect::Settled(conflict) => dispute(tx, conflict)?,
        Effect::Changed(fields) => restore(cx, tx, line, &id, fields)?,
    };
    if matches!(effect, Effect::Vanished(_)) {
        revert(cx, tx, line, &changes)?;
    }
    detail.extend(note);
    detail.insert("undoes".into(), json!([line.id]));
    let is_there = match effect {
        Effect::Appeared => false,
        Effect::Disputed(_) | Effect::Settled(_) => issues::get(tx, &id)?.is_some(),
        _ => true,
    };
    let issue = is_there.then_some(&id);
    events::log_undone(cx, tx, ("issue", id.as_str()), issue, event_type, detail).and_then(|line| Mark::of(tx, &line))
}

/// The same of what was done to something else: its rows are put back as they were.
fn revert_changes(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, event_type: EventType) -> Result<Mark> {
    let changes = entity::changes_of(tx, line.id)?;
    if changes.is_empty() {
        let error = refused(line, &format!("what is done to a {} cannot be undone", line.subject_kind));
        return Err(match instead(line) {
            Some(command) => error.hint(format!("{command} reverses it")),
            None => error,
        });
    }
    revert(cx, tx, line, &changes)?;
    let kinds = || KINDS.iter().copied().find(|kind| *kind == line.subject_kind);
    let kind = kinds().ok_or_else(|| Error::internal(format!("{} is no kind", line.subject_kind)))?;
    let detail = Map::from_iter([("undoes".to_owned(), json!([line.id]))]);
    events::log_undone(cx, tx, (kind, &line.subject_id), None, event_type, detail).and_then(|line| Mark::of(tx, &line))
}

fn revert(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, changes: &[PastChange]) -> Result<()> {
    for change in changes.iter().rev() {
        if change.is_too_large() {
            return Err(refused(line, "what was there before is too large to be kept"));
        }
        if change.is_referred_to(tx)? {
            return Err(refused(line, &format!("{} is in use", line.subject_id)));
        }
        if !change.revert(cx, tx)? {
            return Err(refused(line, &format!("{} is not as it was left", line.subject_id)));
        }
    }
    Ok(())
}

/// Takes back a change of what is attached to an issue: the line has it as old and new.
fn reattach(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    line: &Line,
    id: &IssueId,
    changes: &[PastChange],
) -> Result<Map<String, Value>> {
    here(tx, line, id)?;
    revert(cx, tx, line, changes)?;
    let turned =
        |(name, change): (&String, &Value)| Some((name.clone(), event::change(change.get("new")?, change.get("old")?)));
    Ok(line.detail.iter().filter_map(turned).collect())
}

/// Brings back an issue that was deleted, as it was then, with its comments and dependencies; false if the log does not
/// have it.
pub(crate) fn revive(cx: &Context<'_>, tx: &Tx<'_>, id: &IssueId) -> Result<bool> {
    for line in operations::of_issue(tx, id.as_str(), 0)?.iter().rev() {
        if matches!(line.effect()?, Effect::Vanished(_)) {
            return reverse(cx, tx, line, EventType::Undone, Map::new()).map(|_| true);
        }
    }
    Ok(false)
}

/// The detail of one change.
fn changed(name: &str, old: &impl serde::Serialize, new: &impl serde::Serialize) -> Map<String, Value> {
    let mut detail = Map::new();
    detail.insert(name.into(), event::change(old, new));
    detail
}

fn here(tx: &Tx<'_>, line: &Line, id: &IssueId) -> Result<Issue> {
    match issues::get(tx, id)? {
        Some(issue) => Ok(issue),
        None => Err(gone(tx, line, id)?),
    }
}

/// The error of a line that needs an issue which is no longer there.
fn gone(tx: &Tx<'_>, line: &Line, id: &IssueId) -> Result<Error> {
    let by = latest(tx, id, |effect| matches!(effect, Effect::Vanished(_)))?;
    Ok(match by {
        Some(by) => refused(line, &format!("{by} took {id} away")).hint("take the later change back first"),
        None => refused(line, &format!("{id} is gone")),
    })
}

/// The last event of an issue with such an effect, as an error names it.
fn latest(tx: &Tx<'_>, id: &IssueId, wanted: impl Fn(&Effect) -> bool) -> Result<Option<String>> {
    for line in operations::of_issue(tx, id.as_str(), 0)?.iter().rev() {
        if wanted(&line.effect()?) {
            return Ok(Some(line.told()));
        }
    }
    Ok(None)
}

fn remove(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, id: &IssueId) -> Result<Map<String, Value>> {
    let issue = here(tx, line, id)?;
    if let Some(child) = deps::children(tx, id)?.first() {
        let by = latest(tx, &child.id, |effect| matches!(effect, Effect::Linked(other) if other == id))?;
        return Err(leaned_on(line, by, &format!("{} waits for it", child.id)));
    }
    if let Some(fix) = issues::query(tx, "WHERE i.fixes = ?1 ORDER BY i.id LIMIT 1", params![id])?.first() {
        let by = latest(tx, &fix.id, |effect| matches!(effect, Effect::Appeared))?;
        return Err(leaned_on(line, by, &format!("{} fixes it", fix.id)));
    }
    let (deps, comments) = (deps::parents(tx, id)?, comments::of_issue(tx, id)?);
    let whole = IssueDetail { issue, deps, comments, attached: entity::attached_to(tx, id)? };
    let came_alone = !line.detail.contains_key("issue");
    if came_alone && !(whole.deps.is_empty() && whole.comments.is_empty()) {
        return Err(refused(line, "the issue has comments or dependencies by now"));
    }
    let comments = whole.comments.iter().map(|comment| comment.id.to_string()).collect();
    tombstones::bury_with(cx, tx, &ISSUES, id.as_str(), Some(whole.issue.updated_at), comments)?;
    issues::delete(tx, &whole.issue)?;
    Ok(changed("issue", &whole, &json!(null)))
}

fn leaned_on(line: &Line, by: Option<String>, why: &str) -> Error {
    let why = by.map_or_else(|| why.to_owned(), |by| format!("{by} stands on it: {why}"));
    refused(line, &why).hint("take the later change back first, or select both")
}

fn bring_back(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, whole: &IssueDetail) -> Result<Map<String, Value>> {
    let id = &whole.issue.id;
    if issues::get(tx, id)?.is_some() {
        return Err(refused(line, &format!("there is an issue {id} again")));
    }
    if let Some(bug) = &whole.issue.fixes {
        here(tx, line, bug)?;
    }
    let mut issue = whole.issue.clone();
    issue.lease = lease(cx, tx, &issue)?;
    let grave = tombstones::get(tx, ISSUES.name, id.as_str())?.map(|tombstone| tombstone.deleted_at);
    let last = [Some(line.created_at), grave].into_iter().flatten().fold(issue.updated_at, Timestamp::max);
    issue.updated_at = issues::after(cx, last);
    issues::insert(tx, &issue)?;
    operations::recall(tx, id)?;
    // Nothing waits for it yet, so no dependency of its own can close a cycle.
    let mut parents = Vec::new();
    for parent in &whole.deps {
        let parent = here(tx, line, &parent.id)?;
        put_link(cx, tx, id, &parent)?;
        parents.push(parent);
    }
    for comment in &whole.comments {
        insert_comment(cx, tx, line, comment)?;
    }
    let now = IssueDetail { issue, deps: parents, comments: whole.comments.clone(), attached: Map::new() };
    Ok(changed("issue", &json!(null), &now))
}

fn unlink(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, child: &IssueId, parent: &IssueId) -> Result<Map<String, Value>> {
    here(tx, line, child)?;
    let parent = here(tx, line, parent)?;
    if !deps::remove(tx, child, &parent)? {
        return Err(refused(line, &format!("{child} does not wait for {} any more", parent.id)));
    }
    tombstones::bury(cx, tx, &DEPS, &Dep::new(child.clone(), parent.id.clone()).key(), None)?;
    Ok(changed("depends_on_id", &parent.id, &json!(null)))
}

/// Adds a dependency that other clones may know as removed.
fn put_link(cx: &Context<'_>, tx: &Tx<'_>, child: &IssueId, parent: &Issue) -> Result<()> {
    let dep = Dep::new(child.clone(), parent.id.clone());
    tombstones::lift(cx, tx, &DEPS, &dep.key())?;
    deps::insert(tx, &dep, parent).map(drop)
}

fn link(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, child: &IssueId, parent: &IssueId) -> Result<Map<String, Value>> {
    here(tx, line, child)?;
    let parent = here(tx, line, parent)?;
    if deps::exists(tx, child, &parent.id)? {
        return Err(refused(line, &format!("{child} waits for {} again", parent.id)));
    }
    if cycle::would_close(tx, child, &parent.id)? {
        let message = format!("cannot take back {}: {} waits for {child} by now", line.told(), parent.id);
        return Err(Error::new(Code::CycleDetected, message).hint("pn dep tree shows the chain"));
    }
    put_link(cx, tx, child, &parent)?;
    Ok(changed("depends_on_id", &json!(null), &parent.id))
}

fn unsay(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, comment: &Comment) -> Result<Map<String, Value>> {
    if !entity::delete::<Comment>(tx, params![&comment.id])? {
        return Err(refused(line, &format!("the comment {} is gone", comment.id)));
    }
    tombstones::bury(cx, tx, &COMMENTS, comment.id.as_str(), None)?;
    Ok(changed("comment", comment, &json!(null)))
}

fn say(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, id: &IssueId, comment: &Comment) -> Result<Map<String, Value>> {
    here(tx, line, id)?;
    insert_comment(cx, tx, line, comment)?;
    Ok(changed("comment", &json!(null), comment))
}

fn insert_comment(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, comment: &Comment) -> Result<()> {
    if comments::exists(tx, &comment.id)? {
        return Err(refused(line, &format!("there is a comment {} again", comment.id)));
    }
    tombstones::lift(cx, tx, &COMMENTS, comment.id.as_str())?;
    entity::insert(tx, comment)
}

/// Takes back that a conflict was opened again. One that was found stays: it holds what nothing else does.
fn settle(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, conflict: &ConflictId) -> Result<Map<String, Value>> {
    if line.event_type == EventType::ConflictFound.as_str() {
        return Ok(Map::new());
    }
    conflicts::settle(tx, conflict, cx.now)?;
    Ok(changed("conflict", conflict, &json!(null)))
}

fn dispute(tx: &Tx<'_>, conflict: &ConflictId) -> Result<Map<String, Value>> {
    conflicts::reopen(tx, conflict)?;
    Ok(changed("conflict", &json!(null), conflict))
}

fn restore(cx: &Context<'_>, tx: &Tx<'_>, line: &Line, id: &IssueId, fields: &[Field]) -> Result<Map<String, Value>> {
    let old = here(tx, line, id)?;
    let mut values = match serde_json::to_value(&old).map_err(Error::internal)? {
        Value::Object(values) => values,
        _ => return Err(Error::internal("an issue is an object")),
    };
    for Field { name, old, new } in fields {
        if name == "id" {
            return Err(refused(line, "clones know the issue by its new id"));
        }
        // A lease may have been renewed since.
        if name != "lease_expires_at" && values.get(name).unwrap_or(&Value::Null) != new {
            return Err(refused(line, &format!("the {name} of {id} is another by now")));
        }
        values.insert(name.clone(), old.clone());
    }
    let mut new: Issue = serde_json::from_value(Value::Object(values)).map_err(Error::internal)?;
    if let Some(bug) = new.fixes.as_ref().filter(|bug| old.fixes.as_ref() != Some(bug)) {
        here(tx, line, bug)?;
    }
    let same_lease = new.lease_expires_at == old.lease_expires_at;
    new.lease = if same_lease { old.lease } else { lease(cx, tx, &new)? };
    new.updated_at = issues::after(cx, old.updated_at);
    issues::replace(tx, &old, &new)?;
    Ok(event::changes(Some(&old), &new))
}

/// How long a renewal of the lease lasts. The log does not say so, but it says when the lease was taken.
fn lease(cx: &Context<'_>, tx: &Tx<'_>, issue: &Issue) -> Result<Option<Span>> {
    let Some(end) = issue.lease_expires_at else { return Ok(None) };
    let ends_then =
        |line: &&Line| line.detail.get("lease_expires_at").is_some_and(|change| change["new"] == json!(end));
    let lines = operations::of_issue(tx, issue.id.as_str(), 0)?;
    let taken = lines
        .iter()
        .rev()
        .filter(|line| ["claimed", "lease_renewed"].contains(&line.event_type.as_str()))
        .find(ends_then);
    Ok(end.since(taken.map_or(cx.now, |line| line.created_at)))
}
