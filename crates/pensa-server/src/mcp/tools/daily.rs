//! Implements the tools for context, work, learnings and releases.

use pensa_core::id::{IssueRef, LearningRef};
use pensa_core::learning::recall::Hit;
use pensa_core::learning::{Impact, Kind};
use pensa_core::ops::next::ClaimNext;
use pensa_core::ops::{briefing, learning, release, work};
use pensa_core::recall::Recalled;
use pensa_core::time::Span;
use pensa_core::work::{StepStatus, Work, WorkKind};
use pensa_core::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::StoreCalls;
use super::super::page::{DataOrigin, TextPage, data, data_line};
use super::ToolOutput;
use super::issues::assignment;

/// Show the current state: my work and claims, the queue, learnings, releases
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ContextInput {
    /// Default 2000, at most 10000
    max_tokens: Option<u32>,
}

pub(super) async fn context<C: StoreCalls>(calls: &C, args: ContextInput) -> Result<ToolOutput> {
    let mut page = TextPage::new(args.max_tokens)?;
    let remaining = page.remaining();
    // Escaping `<data>` makes the text longer, and then it is cut. A token is about four bytes.
    let budget = u32::try_from(remaining / 4).unwrap_or(u32::MAX);
    let who = Some(calls.actor().await?);
    let briefing = calls.call(briefing::Brief { max_tokens: Some(budget), format: None, who }).await?;
    if briefing.sections.is_empty() {
        page.note("nothing to report");
    } else {
        page.block(&DataOrigin::new("context"), &data(&briefing.markdown()), remaining);
    }
    Ok(page.finish().into())
}

/// What to do with the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WorkAction {
    Show,
    Next,
    Start,
    Pause,
    Resume,
    Done,
    AddSteps,
    StepDone,
}

/// Work on an issue in steps; next claims the first ready issue and shows it, start claims one and pauses other work, done
/// closes it
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkInput {
    act: WorkAction,
    /// An issue, or for start the title of a new one; default my active work
    #[serde(default)]
    issue: Option<String>,
    /// For next: only an issue that matches, such as label:auth p<=1
    #[serde(default)]
    query: Option<String>,
    /// For start and add_steps, a title each
    #[serde(default)]
    steps: Vec<String>,
    /// For step_done, counted from 1; default the current one
    #[serde(default)]
    number: Option<u32>,
    /// For start
    #[serde(default)]
    kind: Option<WorkKind>,
    /// For start
    #[serde(default)]
    branch: Option<String>,
    /// For done: how it was done
    #[serde(default)]
    reason: Option<String>,
    /// For resume: from another actor
    #[serde(default)]
    take: bool,
    /// For resume and done: even from a live lease or another session
    #[serde(default)]
    force: bool,
}

pub(super) async fn work<C: StoreCalls>(calls: &C, args: WorkInput) -> Result<ToolOutput> {
    let WorkInput { act, issue, query: q, steps, number, kind, branch, reason, take, force } = args;
    let named = || issue.as_deref().map(str::parse::<IssueRef>).transpose();
    let work = match act {
        WorkAction::Show => match calls.call(work::Current { actor: calls.actor().await?, issue: named()? }).await? {
            Some(work) => work,
            None => {
                let on = issue.map(|issue| format!(" on {}", data_line(&issue))).unwrap_or_default();
                return Ok(format!("no work{on} is active\n").into());
            }
        },
        WorkAction::Next => return assignment(&calls.call(ClaimNext { q, ttl: None }).await?),
        WorkAction::Start => {
            let what = issue.ok_or_else(|| Error::invalid("issue is missing").hint("an issue, or a title"))?;
            calls.call(work::Start { what, kind, branch, steps, ttl: None }).await?
        }
        WorkAction::Pause => calls.call(work::Pause { issue: named()? }).await?,
        WorkAction::Resume => calls.call(work::Resume { issue: named()?, take, ttl: None, force }).await?,
        WorkAction::Done => calls.call(work::Done { issue: named()?, reason, force }).await?,
        WorkAction::AddSteps => calls.call(work::AddSteps { steps, issue: named()? }).await?,
        WorkAction::StepDone => calls.call(work::FinishStep { number, issue: named()? }).await?,
    };
    work_output(&work)
}

pub(in crate::mcp) fn work_output(work: &Work) -> Result<ToolOutput> {
    let mut page = TextPage::new(None)?;
    let branch = work.branch.as_ref().map(|branch| format!(" on {branch}")).unwrap_or_default();
    let head = format!("{} {} {}{branch} @{} {}", work.issue_id, work.status, work.kind, work.actor, work.title);
    let mut lines = vec![data_line(&head)];
    for (at, step) in work.steps.iter().enumerate() {
        let mark = match step.status {
            StepStatus::Done => "x",
            StepStatus::Pending if work.current_step == Some(at + 1) => ">",
            StepStatus::Pending => " ",
        };
        lines.push(data_line(&format!("[{mark}] {} {}", at + 1, step.title)));
    }
    let shown = page.lines(&DataOrigin::new("work"), &lines);
    if shown < lines.len() {
        page.note(&format!("[{} steps left out]", lines.len() - shown));
    }
    Ok(ToolOutput::about(&work.issue_id, page.finish()))
}

/// Save a learning for later sessions
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RememberInput {
    /// One finding that can be understood alone
    text: String,
    #[serde(default)]
    kind: Option<Kind>,
    /// Words to find it by
    #[serde(default)]
    tags: Vec<String>,
    /// Paths that it concerns
    #[serde(default)]
    files: Vec<String>,
    /// Where it came from
    #[serde(default)]
    issue: Option<IssueRef>,
    #[serde(default)]
    impact: Option<Impact>,
    /// How long it is valid, such as 90d
    #[serde(default)]
    expires: Option<Span>,
    /// The learning that this one replaces
    #[serde(default)]
    supersedes: Option<LearningRef>,
}

pub(super) async fn remember<C: StoreCalls>(calls: &C, args: RememberInput) -> Result<ToolOutput> {
    let RememberInput { text, kind, tags, files, issue, impact, expires, supersedes } = args;
    let op = learning::Remember {
        text,
        kind,
        tags,
        files,
        issue,
        impact,
        expires,
        supersedes,
        work: None,
        session: None,
        no_redact: false,
    };
    let done = calls.call(op).await?;
    let known =
        if done.merged { format!(", known before: revision {}", done.learning.revision) } else { String::new() };
    let secrets = if done.redactions > 0 { format!(", {} secrets replaced", done.redactions) } else { String::new() };
    Ok(ToolOutput::about(&done.learning.id, format!("remembered {}{known}{secrets}\n", done.learning.id)))
}

/// Find what was learned, decided, commented or said, best match first
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RecallInput {
    /// Words to look for
    query: Option<String>,
    /// What to search, with commas: learnings, issues, comments (default); sessions, releases, commits
    r#in: Option<String>,
    /// Only what was written since, such as 7d
    since: Option<String>,
    /// Only what this actor wrote
    by: Option<String>,
    /// Only what has all these tags
    tags: Vec<String>,
    /// Only what is about one of these paths
    files: Vec<String>,
    /// Default 2000, at most 10000
    max_tokens: Option<u32>,
}

pub(super) async fn recall<C: StoreCalls>(calls: &C, args: RecallInput) -> Result<ToolOutput> {
    let mut page = TextPage::new(args.max_tokens)?;
    let RecallInput { query, tags, files, by, r#in: within, since, .. } = args;
    let since = since.map(|since| since.parse()).transpose()?;
    let hits = calls
        .call(learning::Recall { q: query, within, since, by, tags, files, ..learning::Recall::default() })
        .await?;
    if hits.is_empty() {
        page.note("nothing is known about it");
    }
    for (at, hit) in hits.into_iter().enumerate() {
        let (source, text) = recalled_block(hit);
        let remaining = page.remaining();
        // What does not fit is left out, unless it is the only one: then it is cut.
        if at > 0 && source.overhead() + text.len() > remaining {
            page.note("[more left out]");
            break;
        }
        page.block(&source, &text, remaining);
    }
    Ok(page.finish().into())
}

/// A result as data: a learning whole, of other texts what matches.
fn recalled_block(hit: Recalled) -> (DataOrigin, String) {
    if hit.learning.is_some()
        && let Some(learning) = hit.clone().into_learning()
    {
        return learning_block(&learning);
    }
    let mut text = format!("{}: {}", hit.kind, data_line(&hit.snippet));
    for entry in &hit.context {
        text.push_str(&format!("\n#{}: {}", entry.id, data_line(&entry.snippet)));
    }
    let origin = hit.issue_id.map(|id| id.to_string()).or_else(|| hit.session_id.map(|id| id.to_string()));
    if let Some(origin) = origin {
        text.push_str(&format!("\nfrom: {origin}"));
    }
    (DataOrigin::by(&hit.id.to_string(), &hit.actor, hit.at), text)
}

fn learning_block(hit: &Hit) -> (DataOrigin, String) {
    let learning = &hit.learning;
    let mut text = format!("{}: {}", learning.kind, data(&learning.text));
    for (name, words) in [("tags", &learning.tags), ("files", &learning.files)] {
        if !words.is_empty() {
            text.push_str(&format!("\n{name}: {}", data_line(&words.join(" "))));
        }
    }
    let origin = learning.issue_id.as_ref().or(learning.work.as_ref()).map(ToString::to_string);
    let origin = origin.or_else(|| learning.session_id.as_ref().map(ToString::to_string));
    if let Some(origin) = origin {
        text.push_str(&format!("\ncame from: {origin}"));
    }
    (DataOrigin::by(learning.id.as_str(), &learning.actor, learning.updated_at), text)
}

/// Record a release
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShipInput {
    /// What was shipped, in one line
    name: String,
    /// Such as 1.2.0
    version: String,
    #[serde(default)]
    kind: Option<WorkKind>,
    /// Issues completed in this release
    #[serde(default)]
    issues: Vec<IssueRef>,
    /// What its users should know
    #[serde(default)]
    notes: Option<String>,
}

pub(super) async fn ship<C: StoreCalls>(calls: &C, args: ShipInput) -> Result<ToolOutput> {
    let ShipInput { name, version, kind, issues, notes } = args;
    let kind = kind.unwrap_or(WorkKind::Feature);
    let done = calls.call(release::Ship { name, version, kind, issues, notes }).await?;
    let mut text = format!("shipped {} in {}\n", done.release.id, data_line(&done.release.version));
    if !done.open.is_empty() {
        let open: Vec<String> = done.open.iter().map(ToString::to_string).collect();
        text.push_str(&format!("not closed yet: {}\n", open.join(" ")));
    }
    Ok(ToolOutput::about(&done.release.id, text))
}
