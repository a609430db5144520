//! Operations on issues.

use pensa_core::event::{self, EventType};
use pensa_core::id::{IssueId, IssueRef};
use pensa_core::issue::{
    self, Created, Issue, IssueDetail, IssueTransition, IssueType, Link, LinkKind, Requester, Sort, SortBy, Status,
    Updated,
};
use pensa_core::ops::issue::{
    Accept, Blocked, Children, Close, Count, Counted, Create, Delete, Deleted, Group, Heartbeat, History, List, Ready,
    Release, Reopen, Search, Show, Update,
};
use pensa_core::ops::refs;
use pensa_core::sync::{Conflict, ISSUES};
use pensa_core::time::Date;
use pensa_core::{Code, Error, Result, Span, Timestamp, json, text};
use serde_json::{Map, Value};

use super::{cost, dep, link, triage};
use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity;
use crate::execute::Execute;
use crate::lease;
use crate::sync;
use crate::tables::issue_query::{self, Selection};
use crate::tables::issues::{Listing, READY};
use crate::tables::{comments, cycle, deps, events, issues, titles, tombstones};

impl Execute for Create {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Created> {
        let fixes = match &self.fixes {
            None => None,
            Some(wanted) => Some(bug(cx, tx, wanted)?),
        };
        let parents = self.deps.iter().map(|wanted| issues::find(cx, tx, wanted)).collect::<Result<Vec<_>>>()?;
        let title = text::title("title", &self.title)?.to_owned();
        let description = text::optional_block("description", self.description.as_ref())?;
        let spec = text::optional_line("spec", self.spec.as_ref())?;
        let assignee = text::optional_line("assignee", self.assignee.as_ref())?;
        let (id, similar) = titles::new_id_and_similar(cx, tx, &title)?;
        let parent = parent(cx, tx, self.parent.as_ref())?;
        let mut issue = Issue {
            description,
            priority: self.priority,
            spec,
            fixes,
            parent: parent.map(|parent| parent.id),
            estimate: self.estimate,
            assignee,
            ..Issue::new(id, title, self.issue_type, cx.now)
        };
        issue.relabel(&self.labels, &[])?;
        issue.demand(&self.acceptance)?;
        let date = |given: &Option<String>| {
            let given = given.as_ref().filter(|given| !given.is_empty());
            given.map(|given| Date::parse_at(given, cx.now)).transpose()
        };
        issue.due = date(&self.due)?;
        issue.defer = date(&self.defer)?;
        cx.rules.change_fields(&mut issue, &self.fields)?;
        entity::insert(tx, &issue)?;
        events::log(cx, tx, &issue.id, EventType::Created, event::changes(None, &issue))?;
        for parent in &parents {
            if issue.parent.is_some() && cycle::would_close(tx, &issue.id, &parent.id)? {
                return Err(waits_for_its_part(&parent.id, &issue.id));
            }
            dep::link_anew(cx, tx, &issue.id, &parent.id)?;
        }
        add_refs(cx, tx, &issue.id, &self.refs)?;
        Ok(Created { issue, similar })
    }
}

/// The parent that a caller means; an empty reference is none.
fn parent(cx: &Context<'_>, tx: &Tx<'_>, wanted: Option<&IssueRef>) -> Result<Option<Issue>> {
    let wanted = wanted.filter(|wanted| !wanted.as_str().is_empty());
    let parent = wanted.map(|wanted| issues::find(cx, tx, wanted)).transpose()?;
    if let Some(closed) = parent.as_ref().filter(|parent| parent.status == Status::Closed) {
        let message = format!("{} is closed and takes no more children", closed.id);
        return Err(Error::new(Code::InvalidStatusTransition, message).hint("reopen it first"));
    }
    Ok(parent)
}

/// Makes an issue a part of another, or of none.
fn set_parent(cx: &Context<'_>, tx: &Tx<'_>, issue: &mut Issue, wanted: &IssueRef) -> Result<()> {
    let new = parent(cx, tx, Some(wanted))?.map(|parent| parent.id);
    if let Some(new) = new.as_ref().filter(|new| issue.parent.as_ref() != Some(*new)) {
        if *new == issue.id {
            let message = format!("cycle detected: {} cannot be its own parent", issue.id);
            return Err(Error::new(Code::CycleDetected, message).hint("name another issue"));
        }
        if cycle::would_close(tx, new, &issue.id)? {
            return Err(waits_for_its_part(new, &issue.id));
        }
    }
    issue.parent = new;
    Ok(())
}

fn waits_for_its_part(parent: &IssueId, child: &IssueId) -> Error {
    let message = format!("cycle detected: {parent} would wait for its child {child}, which waits for {parent}");
    Error::new(Code::CycleDetected, message).hint("pn dep tree shows the chain")
}

fn add_refs(cx: &Context<'_>, tx: &Tx<'_>, id: &IssueId, targets: &[String]) -> Result<()> {
    for target in targets {
        refs::Add { id: id.into(), target: target.clone(), title: None }.execute(cx, tx)?;
    }
    Ok(())
}

fn bug(cx: &Context<'_>, tx: &Tx<'_>, wanted: &IssueRef) -> Result<IssueId> {
    let bug = issues::find(cx, tx, wanted)?;
    if bug.issue_type != IssueType::Bug {
        return Err(Error::invalid(format!("cannot fix {}: it is a {}, not a bug", bug.id, bug.issue_type)));
    }
    Ok(bug.id)
}

impl Execute for Update {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Updated> {
        let step = self.step()?;
        if self.is_empty() {
            return Err(Error::invalid("nothing to update").hint("give at least one field to change"));
        }
        let by = cx.requester(self.force);
        let mut issue = issues::find(cx, tx, &self.id)?;
        if let Some(expected) = self.if_updated_at.filter(|expected| *expected != issue.updated_at) {
            let message = format!("{} changed at {}, after {expected}", issue.id, issue.updated_at);
            return Err(Error::new(Code::Conflict, message).hint(format!("pn log {} shows what changed", issue.id)));
        }
        let was_assigned_to = issue.assignee.clone().filter(|name| self.claim && *name != cx.actor);
        if let Some(step) = step {
            issue = advance(cx, tx, issue, step, &by)?;
        }
        let mut note = Map::new();
        if self.assignee.is_some() {
            if !self.force {
                lease::refuse_former_holder(cx, tx, &issue)?;
            }
            note = lease::check_claim(cx, tx, &issue, &by)?;
        }
        let mut edited = issue.clone();
        self.edit(&mut edited, &cx.rules, cx.now)?;
        if let Some(wanted) = &self.fixes {
            edited.fixes = if wanted.as_str().is_empty() { None } else { Some(bug(cx, tx, wanted)?) };
            if edited.fixes.as_ref() == Some(&edited.id) {
                return Err(Error::invalid("an issue cannot fix itself").hint("name another bug"));
            }
        }
        if let Some(wanted) = &self.parent {
            set_parent(cx, tx, &mut edited, wanted)?;
        }
        let overtaken = self.overtaken(&issue, &edited)?;
        let issue = issues::save(cx, tx, &issue, edited, EventType::Updated, note)?;
        add_refs(cx, tx, &issue.id, &self.refs)?;
        let mut conflicts = Vec::new();
        for clash in overtaken {
            let conflict = Conflict::new(ISSUES.name, issue.id.as_str(), clash)?;
            sync::record_conflict(cx, tx, &conflict)?;
            conflicts.push(conflict.id);
        }
        Ok(Updated { issue, was_assigned_to, conflicts })
    }
}

/// Moves an issue through its one transition function, logs it, and closes what it fixes.
pub(super) fn advance(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    old: Issue,
    step: IssueTransition,
    by: &Requester<'_>,
) -> Result<Issue> {
    if !by.force && !matches!(step, IssueTransition::Claim { .. }) {
        lease::refuse_former_holder(cx, tx, &old)?;
    }
    let closes = matches!(step, IssueTransition::Close { .. } | IssueTransition::Status(Status::Closed));
    if closes && !by.force && old.status != Status::Closed {
        refuse_if_unfinished(cx, tx, &old)?;
    }
    let mut new = old.clone();
    let outcome = issue::apply(&mut new, step, by, cx.now).map_err(|error| lease::since(tx, &old, error))?;
    let Some(event) = outcome.event else {
        return Ok(old);
    };
    let new = issues::save(cx, tx, &old, new, event, outcome.note)?;
    if event == EventType::Closed {
        close_fixed_bug(cx, tx, &new)?;
    }
    Ok(new)
}

/// Refuses to close an issue with children that are not closed or, where the project demands it, with unmet criteria.
fn refuse_if_unfinished(cx: &Context<'_>, tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    let mut open = issues::children(tx, &issue.id)?;
    open.retain(|child| child.status != Status::Closed);
    let refuse = |why: &str, hint: String| {
        let message = format!("cannot close {}: {why}", issue.id);
        Err(Error::new(Code::InvalidStatusTransition, message).hint(hint))
    };
    let hint = |command: &str| format!("{command}; --force closes it anyway");
    match (open.len(), issue.unmet()) {
        (0, 0) => Ok(()),
        (0, unmet) if cx.rules.require_accepted => {
            let why = format!("acceptance criteria not met: {unmet} of {}", issue.acceptance.len());
            refuse(&why, hint(&format!("pn accept {} N ticks one", issue.id)))
        }
        (0, _) => Ok(()),
        (1, _) => refuse(&format!("its child {} is not closed", open[0].id), hint("close that first")),
        (count, _) => refuse(&format!("{count} of its children are not closed"), hint("pn children ID lists them")),
    }
}

fn close_fixed_bug(cx: &Context<'_>, tx: &Tx<'_>, task: &Issue) -> Result<()> {
    let Some(bug) = task.fixes.as_ref().map(|id| issues::get(tx, id)).transpose()?.flatten() else {
        return Ok(());
    };
    if bug.status == Status::Closed {
        return Ok(());
    }
    // Whoever holds the bug, it is fixed.
    advance(
        cx,
        tx,
        bug,
        IssueTransition::Close { reason: Some(format!("fixed by {}", task.id)) },
        &cx.requester(true),
    )?;
    Ok(())
}

/// Claims an issue, or goes on with the claim that this very session holds.
pub(super) fn hold(cx: &Context<'_>, tx: &Tx<'_>, issue: Issue, lease: Option<Span>) -> Result<Issue> {
    let is_ours = issue.is_claimed_by_session_of(&cx.origin);
    let step = if is_ours { IssueTransition::Renew { lease } } else { IssueTransition::Claim { lease } };
    advance(cx, tx, issue, step, &cx.requester(false))
}

impl Execute for Close {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Issue> {
        let mut reason = text::optional_block("reason", self.reason.as_ref())?;
        let mut issue = issues::find(cx, tx, &self.id)?;
        if let Some(original) = &self.duplicate_of {
            let original = issues::find(cx, tx, original)?.id;
            reason = reason.or_else(|| Some(format!("duplicate of {original}")));
            issue = link::link(cx, tx, &issue, Link { kind: LinkKind::Duplicates, to: original })?;
        }
        advance(cx, tx, issue, IssueTransition::Close { reason }, &cx.requester(self.force))
    }
}

impl Execute for Accept {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Issue> {
        let issue = issues::find(cx, tx, &self.id)?;
        let mut edited = issue.clone();
        edited.accept(self.number, !self.undo)?;
        issues::save(cx, tx, &issue, edited, EventType::Updated, Map::new())
    }
}

impl Execute for Children {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Issue>> {
        issues::children(tx, &issues::find(cx, tx, &self.id)?.id)
    }
}

impl Execute for Reopen {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Issue> {
        let reason = text::optional_block("reason", self.reason.as_ref())?;
        advance(cx, tx, issues::find(cx, tx, &self.id)?, IssueTransition::Reopen { reason }, &cx.requester(false))
    }
}

impl Execute for Release {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Issue> {
        advance(cx, tx, issues::find(cx, tx, &self.id)?, IssueTransition::Release, &cx.requester(self.force))
    }
}

impl Execute for Heartbeat {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Issue> {
        let issue = issues::find(cx, tx, &self.id)?;
        // Where a claim has a session, that decides; else the name does.
        let is_anothers = issue.claim_session.is_none() && issue.assignee.as_ref() != Some(&cx.actor);
        if issue.status != Status::InProgress || (is_anothers && !self.force) {
            return Err(lease::lost(&issue, &cx.actor));
        }
        advance(cx, tx, issue, IssueTransition::Renew { lease: self.ttl }, &cx.requester(self.force))
    }
}

impl Execute for Delete {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Deleted> {
        let issue = issues::find(cx, tx, &self.id)?;
        if !self.force {
            let comments = comments::of_issue(tx, &issue.id)?.len();
            let dependents = deps::children(tx, &issue.id)?.len();
            let children = issues::children(tx, &issue.id)?.len();
            refuse_if_missed(&issue, [dependents, children, fixers(tx, &issue)?.len(), comments])?;
        }
        let note = lease::check_claim(cx, tx, &issue, &cx.requester(self.force))?;
        let id = issue.id.clone();
        let comments = comments::of_issue(tx, &id)?.into_iter().map(|comment| comment.id.to_string()).collect();
        tombstones::write_tombstone_with_comments(cx, tx, &ISSUES, id.as_str(), Some(issue.updated_at), comments)?;
        remove(cx, tx, issue, note)?;
        Ok(Deleted { status: "deleted".into(), id })
    }
}

fn fixers(tx: &Tx<'_>, bug: &Issue) -> Result<Vec<Issue>> {
    issues::query(tx, "WHERE i.fixes = ?1 ORDER BY i.id", params![&bug.id])
}

/// Removes an issue with all that belongs to it, and logs the whole of it.
pub(crate) fn remove(cx: &Context<'_>, tx: &Tx<'_>, issue: Issue, note: Map<String, Value>) -> Result<()> {
    for child in deps::children(tx, &issue.id)? {
        dep::unlink(cx, tx, &child.id, &issue.id)?;
    }
    for other in [fixers(tx, &issue)?, issues::children(tx, &issue.id)?, issues::linking_to(tx, &issue.id)?].concat() {
        let Some(other) = issues::get(tx, &other.id)? else { continue };
        let mut freed = other.clone();
        freed.fixes = freed.fixes.filter(|bug| *bug != issue.id);
        freed.parent = freed.parent.filter(|parent| *parent != issue.id);
        freed.links.retain(|link| link.to != issue.id);
        issues::save(cx, tx, &other, freed, EventType::Updated, Map::new())?;
    }
    let (deps, comments) = (deps::parents(tx, &issue.id)?, comments::of_issue(tx, &issue.id)?);
    let attached = entity::attached_to(tx, &issue.id)?;
    // What is attached to it is not part of its row.
    issues::delete(tx, &issue)?;
    let whole = IssueDetail::alone(issue, deps, comments, attached);
    let mut detail = note;
    detail.insert("issue".into(), event::change(&whole, Value::Null));
    events::log(cx, tx, &whole.issue.id, EventType::Deleted, detail)
}

fn refuse_if_missed(issue: &Issue, counts: [usize; 4]) -> Result<()> {
    let counted = counts.into_iter().zip(["dependent", "child", "fix", "comment"]);
    let reasons: Vec<String> = counted
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| match (count, what) {
            (1, what) => format!("1 {what}"),
            (count, "fix") => format!("{count} fixes"),
            (count, "child") => format!("{count} children"),
            (count, what) => format!("{count} {what}s"),
        })
        .collect();
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Error::new(Code::Conflict, format!("cannot delete {}: it has {}", issue.id, reasons.join(", ")))
        .hint("--force deletes it with its comments and takes it out of the others"))
}

impl Execute for Show {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<IssueDetail> {
        let issue = issues::find(cx, tx, &self.id)?;
        let deps = deps::parents(tx, &issue.id)?;
        let comments = comments::of_issue(tx, &issue.id)?;
        let attached = entity::attached_to(tx, &issue.id)?;
        let (blocks, fixed_by) = (deps::children(tx, &issue.id)?, fixers(tx, &issue)?);
        let children = issues::children(tx, &issue.id)?;
        let progress = if children.is_empty() { None } else { issues::progress(tx, &issue.id)? };
        let linked_by = link::incoming(tx, &issue.id)?;
        let spent = cost::spent_on(tx, &issue.id)?;
        let detail = IssueDetail::alone(issue, deps, comments, attached);
        Ok(IssueDetail { blocks, fixed_by, children, progress, linked_by, spent, ..detail })
    }
}

/// An operation whose answer is a listing of issues.
trait Lists {
    fn selection(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Selection>;

    fn order(&self) -> SortBy {
        SortBy::default()
    }

    fn limit(&self) -> Option<u32>;
}

/// The issues of a listing whose order the database does not know.
fn sorted(cx: &Context<'_>, tx: &Tx<'_>, op: &impl Lists) -> Result<Option<Vec<Issue>>> {
    let order = op.order();
    if !matches!(order, SortBy::Sort(Sort::Impact) | SortBy::Field(_)) {
        return Ok(None);
    }
    let mut issues = Listing::new(op.selection(cx, tx)?, &order, None).collect(tx)?;
    match &order {
        SortBy::Sort(_) => triage::by_impact(cx, tx, &mut issues)?,
        SortBy::Field(name) => cx.rules.sort_by_field(&mut issues, name)?,
    }
    issues.truncate(op.limit().map_or(usize::MAX, |limit| limit as usize));
    Ok(Some(issues))
}

fn listing(cx: &Context<'_>, tx: &Tx<'_>, op: &impl Lists) -> Result<Listing> {
    Ok(Listing::new(op.selection(cx, tx)?, &op.order(), op.limit()))
}

/// Runs an operation that lists, collected for a caller in this process, row by row for one that reads JSON.
macro_rules! execute_listing {
    ($($op:ty)*) => {$(
        impl Execute for $op {
            fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Issue>> {
                match sorted(cx, tx, self)? {
                    Some(issues) => Ok(issues),
                    None => listing(cx, tx, self)?.collect(tx),
                }
            }

            fn write_json(&self, cx: &Context<'_>, tx: &Tx<'_>, to: &mut Vec<u8>) -> Result<()> {
                match sorted(cx, tx, self)? {
                    Some(issues) => json::write_line(to, &issues),
                    None => listing(cx, tx, self)?.write_json(tx, to),
                }
            }
        }
    )*};
}

execute_listing! { List Ready Blocked Search }

impl Lists for List {
    fn selection(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Selection> {
        Selection::new("1 = 1").filtered(cx, tx, &self.filter())
    }

    fn order(&self) -> SortBy {
        self.sort.clone().unwrap_or_default()
    }

    fn limit(&self) -> Option<u32> {
        self.limit
    }
}

impl Lists for Ready {
    fn selection(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Selection> {
        ready(cx.now).filtered(cx, tx, &self.filter())
    }

    fn order(&self) -> SortBy {
        self.sort.clone().unwrap_or_default()
    }

    fn limit(&self) -> Option<u32> {
        self.limit
    }
}

/// The issues that can be worked on.
pub(crate) fn ready(now: Timestamp) -> Selection {
    Selection::new(&format!("{READY} AND (i.defer IS NULL OR i.defer <= '{}')", Date::of(now)))
}

/// The first issues that can be worked on.
pub(crate) fn queue(tx: &Tx<'_>, selection: Selection, limit: u32) -> Result<Vec<Issue>> {
    Listing::new(selection, &SortBy::default(), Some(limit)).collect(tx)
}

impl Lists for Blocked {
    fn selection(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Selection> {
        Selection::new("i.status <> 'closed' AND i.blockers > 0").filtered(cx, tx, &self.filter())
    }

    fn limit(&self) -> Option<u32> {
        self.limit
    }
}

impl Lists for Search {
    fn selection(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Selection> {
        if self.q.is_empty() {
            return Err(Error::invalid("the text to search for is empty"));
        }
        let text = text::block("the text to search for", &self.q)?;
        let query = issue_query::parse(cx, tx, &text, true)?;
        let selection = Selection::new("1 = 1").filtered(cx, tx, &self.filter())?;
        match query.plain() {
            // As it stands: blanks at its ends count.
            Some(_) if !text.contains('"') => Ok(selection.containing(&text)),
            Some(plain) => Ok(selection.containing(plain)),
            None => selection.matching(cx, tx, &query),
        }
    }

    fn limit(&self) -> Option<u32> {
        self.limit
    }
}

impl Execute for Count {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Counted> {
        let flags = [self.by_status, self.by_priority, self.by_issue_type, self.by_assignee];
        let columns = ["status", "priority", "issue_type", "COALESCE(assignee, '')"];
        let chosen: Vec<&str> =
            columns.into_iter().zip(flags).filter_map(|(column, on)| on.then_some(column)).collect();
        let names_status = self.q.as_ref().map(|query| issue_query::parse(cx, tx, query, false)).transpose()?;
        let names_status = names_status.is_some_and(|query| query.has_status());
        let base = if chosen.is_empty() && !names_status { "i.status <> 'closed'" } else { "1 = 1" };
        let selection = Selection::new(base).filtered(cx, tx, &self.filter())?;
        let (condition, values) = selection.into_sql();
        if chosen.is_empty() {
            let sql = format!("SELECT COUNT(*) FROM issues i WHERE {condition}");
            let count = tx.query_one(&sql, &values, |row| row.int(0))?;
            return Ok(Counted::Plain { count: count.unwrap_or_default() });
        }
        let by = chosen.join(", ");
        let sql = format!("SELECT {by}, COUNT(*) FROM issues i WHERE {condition} GROUP BY {by}");
        let mut groups = tx.query(&sql, &values, |row| {
            let mut next = 0;
            let mut column = |on: bool| {
                next += usize::from(on);
                on.then(|| next - 1)
            };
            Ok(Group {
                status: column(flags[0]).map(|at| row.parse(at)).transpose()?,
                priority: column(flags[1]).map(|at| row.parse(at)).transpose()?,
                issue_type: column(flags[2]).map(|at| row.parse(at)).transpose()?,
                assignee: column(flags[3]).map(|at| row.text(at)).transpose()?,
                count: row.int(chosen.len())?,
            })
        })?;
        groups.sort_by(|a, b| {
            (a.status, a.priority, a.issue_type, &a.assignee).cmp(&(b.status, b.priority, b.issue_type, &b.assignee))
        });
        Ok(Counted::Grouped { total: groups.iter().map(|group| group.count).sum(), groups })
    }
}

impl Execute for History {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<event::Event>> {
        let issue = issues::find(cx, tx, &self.id)?;
        events::of_issue(tx, &issue.id, self.limit.map_or(i64::MAX, i64::from))
    }
}
