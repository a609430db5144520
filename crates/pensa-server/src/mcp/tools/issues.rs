//! Implements the tools for issues, dependencies and comments.

use std::collections::BTreeMap;

use pensa_core::comment::Comment;
use pensa_core::dep::TreeNode;
use pensa_core::id::IssueRef;
use pensa_core::issue::{FieldChange, Issue, IssueDetail, IssueType, LinkKind, Priority, Status, field_object};
use pensa_core::ops::next::Assignment;
use pensa_core::ops::{comment, dep, issue, link};
use pensa_core::time::Span;
use pensa_core::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::StoreCalls;
use super::super::page::{DataOrigin, TextPage, data, data_line, issue_line};
use super::ToolOutput;

/// Default number of issues in a list.
const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// Which issues to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum IssueView {
    Ready,
    All,
    Blocked,
}

/// List issues, most urgent first: those ready to be worked on, or by view, text and other filters
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FindInput {
    /// Default ready: open and waiting for nothing; all with query or status
    view: Option<IssueView>,
    /// A text, or a query: label:auth p<=1 -assignee:ben parent:pn-12 due<+7d
    query: Option<String>,
    status: Option<Status>,
    priority: Option<Priority>,
    #[serde(rename = "type")]
    issue_type: Option<IssueType>,
    /// Empty: unassigned
    assignee: Option<String>,
    /// Default 20, at most 100
    limit: Option<u32>,
    /// Default 2000, at most 10000
    max_tokens: Option<u32>,
}

pub(super) async fn find<C: StoreCalls>(calls: &C, args: FindInput) -> Result<ToolOutput> {
    let mut page = TextPage::new(args.max_tokens)?;
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Error::invalid(format!("limit is {limit}")).hint(format!("from 1 to {MAX_LIMIT}")));
    }
    let view = args.view();
    let mut issues = args.fetch(calls, view, limit + 1).await?;
    let more = issues.len() > limit as usize;
    issues.truncate(limit as usize);
    let lines: Vec<String> = issues.iter().map(issue_line).collect();
    page.note(&match lines.len() {
        0 => format!("no issues ({})", view.word()),
        n => format!("{n}{} issues ({})", if more { "+" } else { "" }, view.word()),
    });
    let shown = page.lines(&DataOrigin::new("issues"), &lines);
    if shown < lines.len() {
        page.note(&format!("[{} left out: narrow it, or raise max_tokens]", lines.len() - shown));
    } else if more {
        page.note("[there are more: narrow it, or raise limit]");
    }
    Ok(page.finish().into())
}

impl IssueView {
    fn word(self) -> &'static str {
        match self {
            IssueView::Ready => "ready",
            IssueView::All => "all",
            IssueView::Blocked => "blocked",
        }
    }
}

impl FindInput {
    /// A query or a status applies to all issues, not only to ready ones.
    fn view(&self) -> IssueView {
        let wide = self.query.is_some() || self.status.is_some();
        self.view.unwrap_or(if wide { IssueView::All } else { IssueView::Ready })
    }

    async fn fetch<C: StoreCalls>(&self, calls: &C, view: IssueView, limit: u32) -> Result<Vec<Issue>> {
        let Self { status, priority, issue_type, .. } = *self;
        let (assignee, limit) = (self.assignee.clone(), Some(limit));
        let q = self.query.clone();
        match (view, &self.query) {
            (IssueView::All, None) => {
                let list = issue::List { status, priority, assignee, issue_type, ..Default::default() };
                calls.call(issue::List { limit, ..list }).await
            }
            (IssueView::All, Some(q)) => {
                let search = issue::Search { q: q.clone(), status, priority, assignee, ..Default::default() };
                calls.call(issue::Search { issue_type, limit, ..search }).await
            }
            (IssueView::Ready, _) if status.is_none_or(|status| status == Status::Open) => {
                calls.call(issue::Ready { q, priority, assignee, issue_type, limit, ..Default::default() }).await
            }
            (IssueView::Ready, _) => Err(Error::invalid("what is ready is open").hint("use view all")),
            (IssueView::Blocked, _) => {
                let blocked = issue::Blocked { q, status, priority, assignee, ..Default::default() };
                calls.call(issue::Blocked { issue_type, limit, ..blocked }).await
            }
        }
    }
}

/// Show an issue with its description, what it waits for, and its comments
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowInput {
    /// Its id, or the beginning of it
    id: IssueRef,
    /// Default 2000, at most 10000
    #[serde(default)]
    max_tokens: Option<u32>,
}

pub(super) async fn show<C: StoreCalls>(calls: &C, args: ShowInput) -> Result<ToolOutput> {
    let mut page = TextPage::new(args.max_tokens)?;
    let detail = calls.call(issue::Show { id: args.id }).await?;
    add_detail(&mut page, &detail);
    Ok(ToolOutput::about(&detail.issue.id, page.finish()))
}

/// An issue that was just claimed, with what is known about it.
pub(super) fn assignment(claimed: &Assignment) -> Result<ToolOutput> {
    let mut page = TextPage::new(None)?;
    if !claimed.learnings.is_empty() {
        let lines: Vec<String> = claimed.learnings.iter().map(|learning| data_line(&learning.text)).collect();
        page.note("known about it:");
        page.lines(&DataOrigin::new("learnings"), &lines);
    }
    if !claimed.files.is_empty() {
        let lines: Vec<String> = claimed.files.iter().map(|file| data_line(file)).collect();
        page.note("files:");
        page.lines(&DataOrigin::new("learnings"), &lines);
    }
    if let Some(parent) = &claimed.parent_issue {
        page.note("part of:");
        page.lines(&DataOrigin::new("issues"), &[issue_line(parent)]);
    }
    page.note("claimed:");
    add_detail(&mut page, &claimed.detail);
    Ok(ToolOutput::about(&claimed.detail.issue.id, page.finish()))
}

/// A dependency, with how it was closed.
fn dep_line(issue: &Issue) -> String {
    let reason = issue.close_reason.as_ref().map(|reason| format!(": {}", data_line(reason)));
    format!("{}{}", issue_line(issue), reason.unwrap_or_default())
}

/// Adds an issue with what it waits for, what is attached to it, and its comments.
fn add_detail(page: &mut TextPage, detail: &IssueDetail) {
    let others = !detail.deps.is_empty() || !detail.comments.is_empty();
    let remaining = if others { page.remaining() / 2 } else { page.remaining() };
    page.block(&DataOrigin::new(detail.issue.id.as_str()), &issue_details(detail), remaining);
    if !detail.deps.is_empty() {
        let lines: Vec<String> = detail.deps.iter().map(dep_line).collect();
        page.note("waits for:");
        let shown = page.lines(&DataOrigin::new("issues"), &lines);
        if shown < lines.len() {
            page.note(&format!("[{} left out]", lines.len() - shown));
        }
    }
    for (kind, lines) in detail.attached_lines() {
        page.note(&format!("{kind}:"));
        page.lines(&DataOrigin::new(kind), &lines.iter().map(|line| data_line(line)).collect::<Vec<_>>());
    }
    add_comments(page, &detail.comments);
}

/// An issue's line, its details and its description.
fn issue_details(detail: &IssueDetail) -> String {
    let issue = &detail.issue;
    let facts = [
        ("session", issue.claim_session.clone()),
        ("spec", issue.spec.clone()),
        ("fixes", issue.fixes.as_ref().map(ToString::to_string)),
        ("created", Some(issue.created_at.to_string())),
        ("updated", Some(issue.updated_at.to_string())),
        ("closed", issue.closed_at.map(|at| at.to_string())),
        ("reason", issue.close_reason.clone()),
    ];
    let mut text = issue_line(issue);
    for (name, value) in facts {
        if let Some(value) = value {
            text.push_str(&format!("\n{name}: {}", data_line(&value)));
        }
    }
    for (name, value) in issue.plan_facts() {
        text.push_str(&format!("\n{name}: {}", data_line(&value)));
    }
    for link in &issue.links {
        text.push_str(&format!("\n{} {}", link.kind, link.to));
    }
    for criterion in issue.acceptance_lines() {
        text.push_str(&format!("\n{}", data_line(&criterion)));
    }
    if let Some(description) = &issue.description {
        text.push_str("\n\n");
        text.push_str(&data(description));
    }
    text
}

/// Adds the newest comments that fit, oldest first. If not even the newest fits, it is cut.
fn add_comments(page: &mut TextPage, comments: &[Comment]) {
    let blocks: Vec<(DataOrigin, String)> = comments
        .iter()
        .map(|comment| (DataOrigin::by(comment.id.as_str(), &comment.actor, comment.created_at), data(&comment.text)))
        .collect();
    let mut remaining = page.remaining();
    let fits = |(source, text): &&(DataOrigin, String)| {
        let left = remaining.checked_sub(source.overhead() + text.len() + 1);
        remaining = left.unwrap_or_default();
        left.is_some()
    };
    let fitting = blocks.iter().rev().take_while(fits).count().max(usize::from(!blocks.is_empty()));
    let earlier = blocks.len() - fitting;
    if earlier > 0 {
        page.note(&format!("[{earlier} earlier comments left out]"));
    }
    for (source, text) in &blocks[earlier..] {
        let remaining = page.remaining();
        page.block(source, text, remaining);
    }
}

/// File an issue
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateInput {
    /// What it is about, in one line
    title: String,
    /// Default task; bugs are reports, never ready
    #[serde(default, rename = "type")]
    issue_type: Option<IssueType>,
    /// p0 critical to p3 low, default p2
    #[serde(default)]
    priority: Priority,
    /// Details
    #[serde(default)]
    description: Option<String>,
    /// Who should do it
    #[serde(default)]
    assignee: Option<String>,
    /// Stem of the spec it implements
    #[serde(default)]
    spec: Option<String>,
    /// The bug to close with it
    #[serde(default)]
    fixes: Option<IssueRef>,
    /// Ids of issues that must be closed first
    #[serde(default)]
    deps: Vec<IssueRef>,
    /// The issue it is a part of
    #[serde(default)]
    parent: Option<IssueRef>,
    /// Words to group it by
    #[serde(default)]
    labels: Vec<String>,
    /// 2026-12-01, tomorrow, +3d, fri
    #[serde(default)]
    due: Option<String>,
    /// Not ready before this date
    #[serde(default)]
    defer: Option<String>,
    /// 30m, 4h, 2d
    #[serde(default)]
    estimate: Option<Span>,
    /// What the result must meet
    #[serde(default)]
    acceptance: Vec<String>,
    /// https://… or linear:PRJ-123
    #[serde(default)]
    refs: Vec<String>,
    /// The project's custom fields
    #[serde(default, with = "field_object")]
    #[schemars(with = "BTreeMap<String, String>")]
    fields: Vec<FieldChange>,
}

pub(super) async fn create<C: StoreCalls>(calls: &C, args: CreateInput) -> Result<ToolOutput> {
    let mut page = TextPage::new(None)?;
    let issue_type = args.issue_type.unwrap_or(IssueType::Task);
    let op = issue::Create {
        priority: args.priority,
        assignee: args.assignee,
        spec: args.spec,
        fixes: args.fixes,
        description: args.description,
        deps: args.deps,
        parent: args.parent,
        labels: args.labels,
        due: args.due,
        defer: args.defer,
        estimate: args.estimate,
        acceptance: args.acceptance,
        refs: args.refs,
        fields: args.fields,
        ..issue::Create::of(args.title, issue_type)
    };
    let created = calls.call(op).await?;
    add_issue(&mut page, "created", &created.issue);
    if !created.similar.is_empty() {
        let similar = created.similar.iter();
        let lines: Vec<String> = similar.map(|other| data_line(&format!("{} {}", other.id, other.title))).collect();
        page.note("similar to these, which are open:");
        page.lines(&DataOrigin::new("issues"), &lines);
    }
    Ok(ToolOutput::about(&created.issue.id, page.finish()))
}

fn add_issue(page: &mut TextPage, what: &str, issue: &Issue) {
    page.note(what);
    page.lines(&DataOrigin::new("issues"), &[issue_line(issue)]);
}

/// How to change the issue's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StateChange {
    Claim,
    Renew,
    Release,
    Close,
    Reopen,
}

/// Claim an issue, renew or release the claim, close or reopen it, or change its fields
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateInput {
    /// Its id, or the beginning of it
    id: IssueRef,
    #[serde(default)]
    state: Option<StateChange>,
    /// Why it is closed or reopened
    #[serde(default)]
    reason: Option<String>,
    /// The claim ends by itself after this time: 15m, 12h, 1d
    #[serde(default)]
    ttl: Option<Span>,
    /// A new title
    #[serde(default)]
    title: Option<String>,
    /// A new description, in place of the old one
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    priority: Option<Priority>,
    /// A new assignee; empty clears it
    #[serde(default)]
    assignee: Option<String>,
    /// Even if somebody else holds the claim
    #[serde(default)]
    force: bool,
    /// References it gets: https://… or linear:PRJ-123
    #[serde(default)]
    refs: Vec<String>,
    /// Only link it to this issue
    #[serde(default)]
    link: Option<IssueRef>,
    /// Default relates
    #[serde(default)]
    link_kind: Option<LinkKind>,
    /// The issue it is a part of; empty clears it
    #[serde(default)]
    parent: Option<IssueRef>,
    /// Labels it gets
    #[serde(default)]
    add_labels: Vec<String>,
    /// Labels it loses
    #[serde(default)]
    remove_labels: Vec<String>,
    /// 2026-12-01, tomorrow, +3d, fri; empty clears it
    #[serde(default)]
    due: Option<String>,
    /// Not ready before this date; empty clears it
    #[serde(default)]
    defer: Option<String>,
    /// 30m, 4h, 2d; empty clears it
    #[serde(default)]
    estimate: Option<String>,
    /// What the result must meet as well
    #[serde(default)]
    acceptance: Vec<String>,
    /// Only tick the acceptance criterion with this number
    #[serde(default)]
    met: Option<u32>,
    /// The project's custom fields; an empty value clears one
    #[serde(default, with = "field_object")]
    #[schemars(with = "BTreeMap<String, String>")]
    fields: Vec<FieldChange>,
}

pub(super) async fn update<C: StoreCalls>(calls: &C, args: UpdateInput) -> Result<ToolOutput> {
    args.check()?;
    let UpdateInput { id, state, reason, ttl, force, .. } = args;
    let mut was_assigned_to = None;
    let (done, issue) = match state {
        None if args.met.is_some() => {
            let number = args.met.unwrap_or_default();
            ("updated", calls.call(issue::Accept { id, number, undo: false }).await?)
        }
        None if let Some(to) = args.link => {
            let kind = args.link_kind.unwrap_or_else(LinkKind::default_kind);
            let added = calls.call(link::Add { id, to, kind }).await?;
            ("linked", calls.call(issue::Show { id: (&added.id).into() }).await?.issue)
        }
        Some(StateChange::Close) => {
            ("closed", calls.call(issue::Close { id, reason, duplicate_of: None, force }).await?)
        }
        Some(StateChange::Reopen) => ("reopened", calls.call(issue::Reopen { id, reason }).await?),
        Some(StateChange::Renew) => ("renewed", calls.call(issue::Heartbeat { id, ttl, force }).await?),
        None | Some(StateChange::Claim | StateChange::Release) => {
            let (claim, unclaim) = (state == Some(StateChange::Claim), state == Some(StateChange::Release));
            let done = if claim {
                "claimed"
            } else if unclaim {
                "released"
            } else {
                "updated"
            };
            let op = issue::Update {
                title: args.title,
                priority: args.priority,
                assignee: args.assignee,
                description: args.description,
                parent: args.parent,
                add_labels: args.add_labels,
                remove_labels: args.remove_labels,
                due: args.due,
                defer: args.defer,
                estimate: args.estimate,
                acceptance: args.acceptance,
                fields: args.fields,
                refs: args.refs,
                claim,
                ttl,
                unclaim,
                force,
                ..issue::Update::of(id)
            };
            let updated = calls.call(op).await?;
            was_assigned_to = updated.was_assigned_to;
            (done, updated.issue)
        }
    };
    let mut page = TextPage::new(None)?;
    add_issue(&mut page, done, &issue);
    if let Some(name) = was_assigned_to {
        page.note(&format!("it was assigned to {}", data_line(&name)));
    }
    Ok(ToolOutput::about(&issue.id, page.finish()))
}

impl UpdateInput {
    /// Refuses combinations that would need several operations: one call is one operation.
    fn check(&self) -> Result<()> {
        let lists = [&self.add_labels, &self.remove_labels, &self.acceptance, &self.refs];
        let texts = [&self.title, &self.description, &self.assignee, &self.due, &self.defer, &self.estimate];
        let edits = texts.iter().any(|text| text.is_some())
            || lists.iter().any(|list| !list.is_empty())
            || self.priority.is_some()
            || self.parent.is_some()
            || !self.fields.is_empty();
        let ends = matches!(self.state, Some(StateChange::Close | StateChange::Reopen));
        for (name, is_given) in [("met", self.met.is_some()), ("link", self.link.is_some())] {
            if is_given && (edits || self.state.is_some() || (self.met.is_some() && self.link.is_some())) {
                return Err(Error::invalid(format!("{name} goes without other fields")).hint("make two calls"));
            }
        }
        if self.link_kind.is_some() && self.link.is_none() {
            return Err(Error::invalid("link_kind goes with link").hint("name the other issue as link"));
        }
        if edits && (ends || self.state == Some(StateChange::Renew)) {
            return Err(Error::invalid("close, reopen and renew go without other fields").hint("make two calls"));
        }
        if self.reason.is_some() && !ends {
            return Err(Error::invalid("a reason goes with close or reopen").hint("use comment for remarks"));
        }
        if self.ttl.is_some() && !matches!(self.state, Some(StateChange::Claim | StateChange::Renew)) {
            return Err(Error::invalid("a ttl goes with claim or renew"));
        }
        Ok(())
    }
}

/// Make an issue wait for another, or no longer; without on, show what it waits for
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DepInput {
    /// The issue that waits
    id: IssueRef,
    /// The issue that must be closed first
    #[serde(default)]
    on: Option<IssueRef>,
    /// No longer wait
    #[serde(default)]
    remove: bool,
}

pub(super) async fn dep<C: StoreCalls>(calls: &C, args: DepInput) -> Result<ToolOutput> {
    let DepInput { id: issue_id, on, remove } = args;
    let done = match (on, remove) {
        (Some(depends_on_id), false) => calls.call(dep::Add { issue_id, depends_on_id }).await?,
        (Some(depends_on_id), true) => calls.call(dep::Remove { issue_id, depends_on_id }).await?,
        (None, true) => return Err(Error::invalid("remove needs on: the issue it waits for")),
        (None, false) => return tree(calls, issue_id).await,
    };
    let verb = if remove { "no longer waits for" } else { "waits for" };
    Ok(ToolOutput::about(&done.issue_id, format!("{} {verb} {}\n", done.issue_id, done.depends_on_id)))
}

async fn tree<C: StoreCalls>(calls: &C, id: IssueRef) -> Result<ToolOutput> {
    let nodes = calls.call(dep::Tree { id, direction: dep::Direction::Up }).await?;
    let lines: Vec<String> = nodes.iter().map(tree_line).collect();
    let mut page = TextPage::new(None)?;
    let shown = page.lines(&DataOrigin::new("issues"), &lines);
    if shown < lines.len() {
        page.note(&format!("[{} left out]", lines.len() - shown));
    }
    // The first node is the issue itself.
    if let [alone] = &*nodes {
        page.note(&format!("{} waits for nothing: it has no dependencies", alone.id));
    }
    Ok(page.finish().into())
}

fn tree_line(node: &TreeNode) -> String {
    /// Deeper nodes are not indented further.
    const MAX_INDENT: u32 = 20;
    let TreeNode { id, title, status, priority, issue_type, depth, repeated, .. } = node;
    let indent = "  ".repeat((*depth).min(MAX_INDENT) as usize);
    let again = if *repeated { " (see above)" } else { "" };
    format!("{indent}{}", data_line(&format!("{id} {priority} {issue_type} {status} {title}{again}")))
}

/// Record an observation about an issue
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CommentInput {
    /// Its id, or the beginning of it
    id: IssueRef,
    /// What to say
    text: String,
}

pub(super) async fn comment<C: StoreCalls>(calls: &C, args: CommentInput) -> Result<ToolOutput> {
    let added = calls.call(comment::Add { id: args.id, text: args.text }).await?;
    Ok(ToolOutput::about(&added.id, format!("commented on {}: {}\n", added.issue_id, added.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn comment(n: usize, bytes: usize) -> Comment {
        let value = json!({
            "id": format!("pn-{n:08x}"), "issue_id": "pn-1", "actor": "ana", "text": format!("{n:<bytes$}"),
            "created_at": "2026-01-01T00:00:00.000Z",
        });
        serde_json::from_value(value).expect("a comment")
    }

    #[test]
    fn newest_comments_are_shown_in_order() {
        let mut page = TextPage::new(Some(200)).expect("a budget");
        add_comments(&mut page, &(0..10).map(|n| comment(n, 100)).collect::<Vec<_>>());
        let text = page.finish();
        assert!(text.starts_with("[7 earlier comments left out]\n"), "{text}");
        let at = |n: usize| text.find(&format!("\n{n} ")).expect("shown");
        assert!(at(7) < at(8) && at(8) < at(9), "{text}");
    }

    #[test]
    fn single_comment_that_is_too_long_is_cut() {
        let mut page = TextPage::new(Some(200)).expect("a budget");
        add_comments(&mut page, &[comment(1, 10), comment(2, 60_000)]);
        let text = page.finish();
        assert!(text.contains("[1 earlier comments left out]") && text.contains("of 60000 bytes]"), "{text}");
        assert!(text.len() <= 800);
    }
}
