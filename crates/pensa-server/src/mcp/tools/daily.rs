//! The tools of every day: where things stand, work in steps, what was found out, and what was shipped.

use pensa_core::id::{IssueRef, LearningRef};
use pensa_core::learning::recall::Hit;
use pensa_core::learning::{Impact, Kind};
use pensa_core::ops::{briefing, learning, release, work};
use pensa_core::time::Span;
use pensa_core::work::{StepStatus, Work, WorkKind};
use pensa_core::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::Calls;
use super::super::page::{Page, Source, data, data_line};
use super::Told;

/// Tell where things stand: my work and claims, the queue, what is known, what was shipped
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Context {
    /// Default 2000, at most 10000
    max_tokens: Option<u32>,
}

pub(super) async fn context<C: Calls>(calls: &C, args: Context) -> Result<Told> {
    let mut page = Page::new(args.max_tokens)?;
    let room = page.room();
    // Marks of data become longer, and the text is cut then; four bytes are a token.
    let budget = u32::try_from(room / 4).unwrap_or(u32::MAX);
    let who = Some(calls.actor().await?);
    let briefing = calls.call(briefing::Brief { max_tokens: Some(budget), format: None, who }).await?;
    if briefing.sections.is_empty() {
        page.say("nothing is to be told");
    } else {
        page.block(&Source::new("context"), &data(&briefing.markdown()), room);
    }
    Ok(page.finish().into())
}

/// What happens to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Act {
    Show,
    Start,
    Pause,
    Resume,
    Done,
    AddSteps,
    StepDone,
}

/// Work on an issue in steps; starting claims it and pauses other work, done closes it
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Works {
    act: Act,
    /// An issue, or for start the title of a new one; default my active work
    #[serde(default)]
    issue: Option<String>,
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
    /// For resume: from whoever has it
    #[serde(default)]
    take: bool,
}

pub(super) async fn works<C: Calls>(calls: &C, args: Works) -> Result<Told> {
    let Works { act, issue, steps, number, kind, branch, reason, take } = args;
    let named = || issue.as_deref().map(str::parse::<IssueRef>).transpose();
    let work = match act {
        Act::Show => match calls.call(work::Current { actor: calls.actor().await?, issue: named()? }).await? {
            Some(work) => work,
            None => {
                let on = issue.map(|issue| format!(" on {}", data_line(&issue))).unwrap_or_default();
                return Ok(format!("no work{on} is active\n").into());
            }
        },
        Act::Start => {
            let what = issue.ok_or_else(|| Error::invalid("issue is missing").hint("an issue, or a title"))?;
            calls.call(work::Start { what, kind, branch, steps, ttl: None }).await?
        }
        Act::Pause => calls.call(work::Pause { issue: named()? }).await?,
        Act::Resume => calls.call(work::Resume { issue: named()?, take, ttl: None }).await?,
        Act::Done => calls.call(work::Done { issue: named()?, reason }).await?,
        Act::AddSteps => calls.call(work::AddSteps { steps, issue: named()? }).await?,
        Act::StepDone => calls.call(work::FinishStep { number, issue: named()? }).await?,
    };
    told_work(&work)
}

pub(in crate::mcp) fn told_work(work: &Work) -> Result<Told> {
    let mut page = Page::new(None)?;
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
    let shown = page.lines(&Source::new("work"), &lines);
    if shown < lines.len() {
        page.say(&format!("[{} steps left out]", lines.len() - shown));
    }
    Ok(Told::about(&work.issue_id, page.finish()))
}

/// Keep what was found out, for whoever works here next
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remember {
    /// One thing, so that it can be understood alone
    text: String,
    #[serde(default)]
    kind: Option<Kind>,
    /// Words to find it by
    #[serde(default)]
    tags: Vec<String>,
    /// Paths it is about
    #[serde(default)]
    files: Vec<String>,
    /// Where it came from
    #[serde(default)]
    issue: Option<IssueRef>,
    #[serde(default)]
    impact: Option<Impact>,
    /// How long it holds, such as 90d
    #[serde(default)]
    expires: Option<Span>,
    /// The learning that it replaces
    #[serde(default)]
    supersedes: Option<LearningRef>,
}

pub(super) async fn remember<C: Calls>(calls: &C, args: Remember) -> Result<Told> {
    let Remember { text, kind, tags, files, issue, impact, expires, supersedes } = args;
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
    Ok(Told::about(&done.learning.id, format!("remembered {}{known}{secrets}\n", done.learning.id)))
}

/// Recall what was found out, the most fitting first
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Recall {
    /// Words to look for
    query: Option<String>,
    /// Those with these words first
    tags: Vec<String>,
    /// Those about these paths first
    files: Vec<String>,
    /// Default 2000, at most 10000
    max_tokens: Option<u32>,
}

pub(super) async fn recall<C: Calls>(calls: &C, args: Recall) -> Result<Told> {
    let mut page = Page::new(args.max_tokens)?;
    let Recall { query, tags, files, .. } = args;
    let hits = calls.call(learning::Recall { q: query, tags, files, max_tokens: None, limit: None }).await?;
    if hits.is_empty() {
        page.say("nothing is known about it");
    }
    for (at, hit) in hits.iter().enumerate() {
        let (source, text) = told_hit(hit);
        let room = page.room();
        // What does not fit as a whole is cut only if it would be all.
        if at > 0 && source.overhead() + text.len() > room {
            page.say(&format!("[{} left out]", hits.len() - at));
            break;
        }
        page.block(&source, &text, room);
    }
    Ok(page.finish().into())
}

fn told_hit(hit: &Hit) -> (Source, String) {
    let known = &hit.learning;
    let mut text = format!("{}: {}", known.kind, data(&known.text));
    for (name, words) in [("tags", &known.tags), ("files", &known.files)] {
        if !words.is_empty() {
            text.push_str(&format!("\n{name}: {}", data_line(&words.join(" "))));
        }
    }
    let origin = known.issue_id.as_ref().or(known.work.as_ref()).map(ToString::to_string);
    let origin = origin.or_else(|| known.session_id.as_ref().map(ToString::to_string));
    if let Some(origin) = origin {
        text.push_str(&format!("\ncame from: {origin}"));
    }
    (Source::by(known.id.as_str(), &known.actor, known.updated_at), text)
}

/// Record that something was shipped in a version
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ship {
    /// What, in one line
    name: String,
    /// Such as 1.2.0
    version: String,
    #[serde(default)]
    kind: Option<WorkKind>,
    /// Those that were done in it
    #[serde(default)]
    issues: Vec<IssueRef>,
    /// What its users should know
    #[serde(default)]
    notes: Option<String>,
}

pub(super) async fn ship<C: Calls>(calls: &C, args: Ship) -> Result<Told> {
    let Ship { name, version, kind, issues, notes } = args;
    let kind = kind.unwrap_or(WorkKind::Feature);
    let done = calls.call(release::Ship { name, version, kind, issues, notes }).await?;
    let mut text = format!("shipped {} in {}\n", done.release.id, data_line(&done.release.version));
    if !done.open.is_empty() {
        let open: Vec<String> = done.open.iter().map(ToString::to_string).collect();
        text.push_str(&format!("not closed yet: {}\n", open.join(" ")));
    }
    Ok(Told::about(&done.release.id, text))
}
