//! Commands on issues that are more than one operation: `pn ls`, `pn claim`, `pn log`.

use clap::Args;
use pensa_client::{Call, Client};
use pensa_core::id::IssueRef;
use pensa_core::issue::query::IssueQuery;
use pensa_core::issue::{Issue, IssueDetail, Progress, Status};
use pensa_core::ops::issue::{Blocked, Close, Count, Counted, History, List, Update};
use pensa_core::ops::{dep, event, issue, label, view};
use pensa_core::session::Spent;
use pensa_core::time::Span;
use pensa_core::{Error, Op, Result, text};
use serde::Serialize;

use super::events::EventsArgs;
use super::plan::{render_plan, section};
use super::several::{self, SeveralArgs};
use super::{note_former_assignee, stdin};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{ListItem, Render, Screen, lease, terminal, when};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) op: issue::Show,
    /// Only the issue itself, in one line
    #[arg(long)]
    pub(crate) short: bool,
}

/// List issues in progress and open issues, most urgent first
#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// Closed issues too
    #[arg(long, conflicts_with = "status")]
    all: bool,
    #[command(flatten)]
    op: List,
}

pub(super) fn ls(options: &GlobalOptions, output: Output, args: LsArgs) -> Result<()> {
    let LsArgs { all, op } = args;
    let issues = with_progress(output, || {
        let client = connect::client(options)?;
        let is_one_call = op.status.is_some() || op.overdue || op.sort.is_some() || names_status(&client, &op)?;
        if is_one_call {
            let mut op = op.clone();
            if op.sort.is_some() && op.status.is_none() && !all && !names_status(&client, &op)? {
                op.q = Some(format!("{} -status:closed", op.q.unwrap_or_default()));
            }
            return client.call(&op);
        }
        let statuses = [Status::InProgress, Status::Open, Status::Closed];
        let mut issues = Vec::new();
        for status in statuses.into_iter().take(if all { 3 } else { 2 }) {
            let limit = op.limit.map(|limit| limit.saturating_sub(u32::try_from(issues.len()).unwrap_or(limit)));
            if limit != Some(0) {
                issues.extend(client.call(&List { status: Some(status), limit, ..op.clone() })?);
            }
        }
        Ok(issues)
    })?;
    output.answer(&issues)?;
    hint_labels(options, output, issues.len(), op.q.as_deref(), &op.labels)
}

/// Whether the query says itself which status issues must have.
fn names_status(client: &Client, op: &List) -> Result<bool> {
    let Some(query) = &op.q else { return Ok(false) };
    let mut terms = query.clone();
    if let Some(name) = query.trim_start().strip_prefix('@').and_then(|rest| rest.split_whitespace().next()) {
        let view = client.call(&view::List {})?.into_iter().find(|view| view.name == name);
        terms.extend(view.map(|view| format!(" {}", view.query)));
    }
    Ok(IssueQuery::outline(&terms).has_status())
}

/// Runs an operation that finds issues.
pub(super) fn find<O>(options: &GlobalOptions, output: Output, op: &O, q: Option<&str>, labels: &[String]) -> Result<()>
where
    O: Op<Output = Vec<Issue>> + Call,
{
    let issues = with_progress(output, || connect::client(options)?.call(op))?;
    output.answer(&issues)?;
    hint_labels(options, output, issues.len(), q, labels)
}

/// Counts issues.
pub(super) fn count(options: &GlobalOptions, output: Output, op: &Count) -> Result<()> {
    let counted = with_progress(output, || connect::client(options)?.call(op))?;
    output.answer(&counted)?;
    let (Counted::Plain { count: found } | Counted::Grouped { total: found, .. }) = counted;
    hint_labels(options, output, usize::try_from(found).unwrap_or_default(), op.q.as_deref(), &op.labels)
}

/// If nothing was found by a label that no issue has, names the nearest one.
fn hint_labels(
    options: &GlobalOptions,
    output: Output,
    found: usize,
    q: Option<&str>,
    labels: &[String],
) -> Result<()> {
    let query = IssueQuery::outline(q.unwrap_or_default());
    let asked: Vec<&str> = query.labels().chain(labels.iter().map(String::as_str)).collect();
    if found > 0 || asked.is_empty() {
        return Ok(());
    }
    let known = connect::client(options)?.call(&label::List {})?;
    for unknown in asked.into_iter().filter(|asked| known.iter().all(|known| known.label != **asked)) {
        let near = text::nearest(unknown, known.iter().map(|known| known.label.as_str()));
        let near = near.map_or("pn label list shows the labels".to_owned(), |near| format!("did you mean {near:?}?"));
        output.warning(&format!("no issue has the label {unknown:?}; {near}"));
    }
    Ok(())
}

/// Lists blocked issues; on a terminal each with the issues it waits for.
pub(super) fn blocked(options: &GlobalOptions, output: Output, op: &Blocked) -> Result<()> {
    if terminal().is_none() {
        return super::run_op(options, output, op);
    }
    let blocked = with_progress(output, || {
        let client = connect::client(options)?;
        let with_blockers = |issue: Issue| {
            let mut blockers = client.call(&dep::List { id: IssueRef::from(&issue.id) })?;
            blockers.retain(|blocker| blocker.status != Status::Closed);
            Ok(BlockedIssue { issue, blockers })
        };
        client.call(op)?.into_iter().map(with_blockers).collect::<Result<Vec<_>>>()
    })?;
    output.answer(&blocked)
}

/// A blocked issue with the issues it waits for.
#[derive(Debug, Serialize)]
struct BlockedIssue {
    issue: Issue,
    blockers: Vec<Issue>,
}

impl ListItem for BlockedIssue {
    const NOUN: [&str; 2] = ["blocked issue", "blocked issues"];

    fn render_item(&self, screen: &mut Screen) {
        screen.issue(&self.issue, true).end();
        for blocker in &self.blockers {
            screen.plain("  waits for ").issue_after(12, blocker, true).end();
        }
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.issue.id.to_string()]
    }
}

/// Claim an issue for yourself
#[derive(Debug, Args)]
pub(crate) struct ClaimArgs {
    /// Which issue
    #[arg(value_name = "ID")]
    id: IssueRef,
    /// More issues: all of them, or none; - reads ids from standard input, one a line
    #[arg(value_name = "ID")]
    more: Vec<IssueRef>,
    /// Let the claim expire unless renewed: 30s, 15m, 12h, 1d
    #[arg(long, value_name = "TIME")]
    ttl: Option<Span>,
}

pub(super) fn claim(options: &GlobalOptions, output: Output, args: ClaimArgs) -> Result<()> {
    let ClaimArgs { id, more, ttl } = args;
    update(options, output, SeveralArgs::new(Update { claim: true, ttl, ..Update::of(id) }, more))
}

pub(super) fn update(options: &GlobalOptions, output: Output, mut args: SeveralArgs<Update>) -> Result<()> {
    if args.op.description.as_deref() == Some("-") && args.reads_stdin() {
        let error = Error::invalid("standard input cannot be both the description and the ids");
        return Err(error.hint("name the ids"));
    }
    stdin::fill(&mut args.op.description)?;
    several::run(options, output, args, |updated| {
        note_former_assignee(output, &updated.issue.id, updated.was_assigned_to.as_deref());
    })
}

/// Closes issues and names the acceptance criteria that they do not meet.
pub(super) fn close(options: &GlobalOptions, output: Output, args: SeveralArgs<Close>) -> Result<()> {
    several::run(options, output, args, |closed| {
        if closed.unmet() > 0 {
            let (unmet, total) = (closed.unmet(), closed.acceptance.len());
            let list = format!("pn show {} lists them", closed.id);
            output.warning(&format!("acceptance criteria not met: {unmet} of {total}; {list}"));
        }
    })
}

/// Show the log of an issue or of the store
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// An issue, whose log is shown newest first [default: the log of the store, oldest first]
    #[arg(value_name = "ID")]
    id: Option<IssueRef>,
    /// Continue with new events until interrupted
    #[arg(short, long, conflicts_with = "id")]
    follow: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u32>,
}

pub(super) fn log(options: &GlobalOptions, output: Output, args: LogArgs) -> Result<()> {
    let LogArgs { id, follow, limit } = args;
    match id {
        Some(id) => super::run_op(options, output, &History { id, limit }),
        None => {
            super::events::run(options, output, EventsArgs { op: event::List { limit, ..Default::default() }, follow })
        }
    }
}

pub(super) fn show(options: &GlobalOptions, output: Output, args: &ShowArgs) -> Result<()> {
    let client = connect::client(options)?;
    let mut detail = client.call(&args.op)?;
    if args.short {
        return output.answer(&detail.issue);
    }
    let config = connect::config(options)?;
    if let Some(spent) = detail.spent.as_mut().filter(|_| config.has_prices()) {
        spent.set_prices(&config.prices()?);
    }
    let mut created_by = None;
    if terminal().is_some() {
        let history = client.call(&History { id: args.op.id.clone(), limit: None })?;
        created_by = history.into_iter().find(|event| event.event_type == "created").map(|event| event.actor);
    }
    output.answer(&ShownIssue { detail, created_by })
}

/// What was spent, in words.
fn spent_words(spent: &Spent) -> String {
    let Spent { input, output, cache_read, cache_write, cost_usd, .. } = spent;
    let tokens = format!("{input} tokens in, {output} out, {} cached", cache_read.saturating_add(*cache_write));
    cost_usd.map_or_else(|| tokens.clone(), |cost| format!("${cost:.4}, {tokens}"))
}

/// An issue with its creator, if the log has it.
#[derive(Debug, Serialize)]
pub(crate) struct ShownIssue {
    #[serde(flatten)]
    pub(crate) detail: IssueDetail,
    #[serde(skip)]
    pub(crate) created_by: Option<String>,
}

impl Render for ShownIssue {
    fn render(&self, screen: &mut Screen) {
        let detail = &self.detail;
        let issue = &detail.issue;
        screen.id(&issue.id).plain(" ").heading(&issue.title).end();
        screen.priority(issue.priority).plain(&format!(" {} ", issue.issue_type)).status(issue.status);
        if let Some(assignee) = &issue.assignee {
            screen.plain(" @").text(assignee);
        }
        if let Some(until) = issue.lease_expires_at {
            screen.plain(&lease(until));
        }
        screen.end();
        let by = self.created_by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
        let created = when(issue.created_at) + &by;
        let facts = [
            ("session", issue.claim_session.clone()),
            ("host", issue.claim_host.clone()),
            ("spec", issue.spec.clone()),
            ("fixes", issue.fixes.as_ref().map(ToString::to_string)),
            ("created", Some(created)),
            ("updated", Some(when(issue.updated_at))),
            ("closed", issue.closed_at.map(when)),
            ("reason", issue.close_reason.clone()),
            ("spent", detail.spent.as_ref().map(spent_words)),
        ];
        for (name, value) in facts {
            if let Some(value) = value {
                screen.faint(&format!("{name:<8}")).text(&value).end();
            }
        }
        render_plan(issue, screen);
        if let Some(Progress { closed, total }) = detail.progress {
            screen.faint("progress").plain(&format!(" {closed}/{total} closed")).end();
        }
        if let Some(description) = &issue.description {
            screen.end();
            screen.block(description);
        }
        if !issue.acceptance.is_empty() {
            section(screen, "acceptance");
            issue.acceptance_lines().for_each(|line| screen.plain("  ").text(&line).end());
        }
        let on_a_terminal = |issues| if terminal().is_some() { issues } else { &[][..] };
        let others = [
            ("waits for", &detail.deps[..]),
            ("blocks", on_a_terminal(&detail.blocks)),
            ("fixed by", on_a_terminal(&detail.fixed_by)),
            ("children", &detail.children),
        ];
        for (relation, issues) in others.into_iter().filter(|(_, issues)| !issues.is_empty()) {
            screen.end();
            screen.heading(relation).end();
            issues.iter().for_each(|issue| screen.indented(issue).end());
        }
        if !detail.linked_by.is_empty() {
            section(screen, "linked by");
            for link in &detail.linked_by {
                screen.plain("  ");
                link.render(screen);
            }
        }
        for (kind, lines) in detail.attached_lines() {
            section(screen, kind);
            lines.iter().for_each(|line| screen.plain("  ").text(line).end());
        }
        if !detail.comments.is_empty() {
            screen.end();
            screen.heading("comments").end();
            detail.comments.iter().for_each(|comment| comment.render(screen));
        }
    }

    fn ids(&self) -> Vec<String> {
        self.detail.issue.ids()
    }
}
