//! Operations on work. Each applies one transition to the work and one to its issue.

use pensa_core::event::{self, EventType};
use pensa_core::id::{IssueId, IssueRef};
use pensa_core::issue::{self, Issue, IssueType, Status};
use pensa_core::ops::issue::Create;
use pensa_core::ops::work::{AddSteps, Current, Done, FinishStep, List, Pause, Resume, Start, Steps};
use pensa_core::work::{Step, StepStatus, Work, WorkIssue, WorkKind, WorkRecord, WorkStatus, WorkTransition, apply};
use pensa_core::{Code, Error, Result, Span, id, text};
use serde_json::{Map, Value, json};

use super::issue::{advance, hold};
use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::lease;
use crate::tables::{issues, work};

/// Most paused work listed in a hint.
const MAX_LISTED_PAUSED: u32 = 5;

impl Execute for Start {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let branch = text::optional_line("branch", self.branch.as_ref())?;
        let (issue, stored) = match find_existing(cx, tx, &self.what)? {
            Some(issue) => {
                let stored = work::get(tx, &issue.id)?;
                (issue, stored)
            }
            // Work under the new id belonged to an issue that no longer exists.
            None => (new_issue(cx, tx, &self.what, self.kind)?, None),
        };
        let was_assigned_to = issue.assignee.clone().filter(|name| *name != cx.actor);
        let issue = claim(cx, tx, issue, self.ttl, stored.as_ref())?;
        let kind = self.kind.unwrap_or_else(|| WorkKind::of_issue(issue.issue_type));
        let mut piece = match &stored {
            Some(stored) => stored.clone().with_issue(Some(&WorkIssue::from(&issue))),
            None => create(cx, tx, &issue, kind, &self.steps, branch.clone())?,
        };
        pause_others(cx, tx, &issue.id)?;
        if stored.is_none() {
            return Ok(Work { was_assigned_to, ..begin(cx, tx, piece, &issue)? });
        }
        let event = apply(&mut piece, WorkTransition::Start, &cx.actor, cx.now)?.unwrap_or(EventType::Updated);
        piece.add_steps(&self.steps)?;
        piece.branch = branch.or(piece.branch);
        piece.kind = self.kind.unwrap_or(piece.kind);
        let work = save(cx, tx, stored, piece, event, added_steps(&self.steps), &issue)?;
        Ok(Work { was_assigned_to, ..work })
    }
}

/// The existing issue that a text refers to. `None` means that the text is the title of a new issue: it cannot be an
/// id, or matches none and does not look like one.
fn find_existing(cx: &Context<'_>, tx: &Tx<'_>, what: &str) -> Result<Option<Issue>> {
    let what = what.trim();
    let is_name = what.starts_with('@') && !what.contains(char::is_whitespace);
    if !is_name && (id::check(what).is_err() || !id::is_possible(what)) {
        return Ok(None);
    }
    match issues::find(cx, tx, &what.parse()?) {
        Err(error) if error.code == Code::NotFound && !id::looks_like_id(what) && !is_name => Ok(None),
        result => result.map(Some),
    }
}

fn new_issue(cx: &Context<'_>, tx: &Tx<'_>, title: &str, kind: Option<WorkKind>) -> Result<Issue> {
    let mut create = Create::captured("");
    create.title = title.to_owned();
    if kind == Some(WorkKind::Bug) {
        create.issue_type = IssueType::Bug;
    }
    Ok(create.execute(cx, tx)?.issue)
}

/// Claims an issue, or continues this session's claim. If another holder has paused, the error's hint says how to take
/// over.
fn claim(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    issue: Issue,
    lease: Option<Span>,
    stored: Option<&WorkRecord>,
) -> Result<Issue> {
    let id = issue.id.clone();
    let is_paused = stored
        .is_some_and(|stored| stored.clone().with_issue(Some(&WorkIssue::from(&issue))).status == WorkStatus::Paused);
    let is_own = stored.is_some_and(|stored| stored.actor == cx.actor);
    hold(cx, tx, issue, lease).map_err(|error| match error.code {
        Code::AlreadyClaimed if is_own => error.hint(format!("pn work resume {id} goes on with it")),
        Code::AlreadyClaimed if is_paused => error.hint(format!("pn work resume {id} --take takes it over")),
        _ => error,
    })
}

/// Stores new work, paused until it starts.
fn create(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    issue: &Issue,
    kind: WorkKind,
    steps: &[String],
    branch: Option<String>,
) -> Result<WorkRecord> {
    let mut piece = WorkRecord {
        issue_id: issue.id.clone(),
        kind,
        status: WorkStatus::Paused,
        branch,
        steps: Vec::new(),
        actor: cx.actor.clone(),
        created_at: cx.now,
        started_at: cx.now,
        updated_at: cx.now,
        done_at: None,
        extra: Map::new(),
    };
    piece.add_steps(steps)?;
    work::save(cx, tx, None, piece, EventType::TaskCreated, Map::new())
}

fn begin(cx: &Context<'_>, tx: &Tx<'_>, piece: WorkRecord, issue: &Issue) -> Result<Work> {
    let mut begun = piece.clone();
    apply(&mut begun, WorkTransition::Start, &cx.actor, cx.now)?;
    save(cx, tx, Some(piece), begun, EventType::TaskStarted, Map::new(), issue)
}

/// Stores work and returns it with its issue.
fn save(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    old: Option<WorkRecord>,
    new: WorkRecord,
    event: EventType,
    note: Map<String, Value>,
    issue: &Issue,
) -> Result<Work> {
    let piece = work::save(cx, tx, old.as_ref(), new, event, note)?;
    Ok(Work::of(piece, &WorkIssue::from(issue)))
}

/// Pauses all other work of the actor. Work that has effectively ended is stored as such.
fn pause_others(cx: &Context<'_>, tx: &Tx<'_>, except: &IssueId) -> Result<()> {
    for (stored, ground) in work::stored_active(tx, &cx.actor)? {
        if stored.issue_id == *except {
            continue;
        }
        let mut piece = stored.clone().with_issue(ground.as_ref());
        if piece.status == WorkStatus::Active {
            apply(&mut piece, WorkTransition::Pause, &cx.actor, cx.now)?;
        }
        let is_done = piece.status == WorkStatus::Done;
        let event = if is_done { EventType::TaskCompleted } else { EventType::TaskPaused };
        work::save(cx, tx, Some(&stored), piece, event, Map::new())?;
    }
    Ok(())
}

/// The new steps, as the event has them.
fn added_steps(steps: &[String]) -> Map<String, Value> {
    let mut note = Map::new();
    if !steps.is_empty() {
        note.insert("steps".into(), event::change(json!([]), steps));
    }
    note
}

/// Work with its issue: the stored row, and the row with its effective status.
struct WorkState {
    issue: Issue,
    stored: WorkRecord,
    piece: WorkRecord,
}

/// The requested work: on an issue, or else the actor's active work.
fn find_state(cx: &Context<'_>, tx: &Tx<'_>, actor: &str, issue: Option<&IssueRef>) -> Result<WorkState> {
    let issue = match issue {
        Some(issue) => issues::find(cx, tx, issue)?,
        None => match work::current(tx, actor)? {
            Some(current) => issues::find(cx, tx, &(&current.issue_id).into())?,
            None => return Err(no_active_work(tx, actor)?),
        },
    };
    let stored = work::get(tx, &issue.id)?
        .ok_or_else(|| Error::not_found("work", &issue.id).hint(format!("pn work start {} begins it", issue.id)))?;
    let piece = stored.clone().with_issue(Some(&WorkIssue::from(&issue)));
    Ok(WorkState { issue, stored, piece })
}

/// The error for an actor without active work; the hint lists paused work.
fn no_active_work(tx: &Tx<'_>, actor: &str) -> Result<Error> {
    let paused = work::list(tx, Some(WorkStatus::Paused), Some(actor), Some(MAX_LISTED_PAUSED))?;
    let error = Error::new(Code::NotFound, format!("{actor} is doing nothing"));
    if paused.is_empty() {
        return Ok(error.hint("pn work start begins something; pn next shows what waits"));
    }
    let listed: Vec<String> = paused.iter().map(|work| format!("{} ({})", work.issue_id, work.title)).collect();
    Ok(error.hint(format!("name the issue; paused: {}", listed.join(", "))))
}

impl Execute for Current {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Option<Work>> {
        let Some(reference) = &self.issue else { return work::current(tx, text::line("actor", &self.actor)?) };
        let issue = issues::find(cx, tx, reference)?;
        Ok(work::get(tx, &issue.id)?.map(|piece| Work::of(piece, &WorkIssue::from(&issue))))
    }
}

impl Execute for Pause {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let WorkState { issue, stored, mut piece } = find_state(cx, tx, &cx.actor, self.issue.as_ref())?;
        match apply(&mut piece, WorkTransition::Pause, &cx.actor, cx.now)? {
            Some(event) => save(cx, tx, Some(stored), piece, event, Map::new(), &issue),
            None => Ok(Work::of(stored, &WorkIssue::from(&issue))),
        }
    }
}

impl Execute for Resume {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let reference = match &self.issue {
            Some(issue) => issue.clone(),
            None => only_paused(tx, &cx.actor)?,
        };
        let WorkState { issue, stored, mut piece } = find_state(cx, tx, &cx.actor, Some(&reference))?;
        // Before the claim changes hands: finished work cannot be resumed.
        if piece.status == WorkStatus::Done {
            apply(&mut piece, WorkTransition::Resume { take: self.take }, &cx.actor, cx.now)?;
        }
        let issue = if self.take { take_over(cx, tx, issue, self.force)? } else { issue };
        let issue = if WorkIssue::from(&issue).holder() == Some(&cx.actor) {
            // Paused work keeps its claim, so its holder only renews it.
            advance(cx, tx, issue, issue::IssueTransition::Renew { lease: self.ttl }, &cx.requester(self.force))?
        } else {
            claim(cx, tx, issue, self.ttl, Some(&stored))?
        };
        let event = apply(&mut piece, WorkTransition::Resume { take: self.take }, &cx.actor, cx.now)?;
        pause_others(cx, tx, &issue.id)?;
        match event {
            Some(event) => save(cx, tx, Some(stored), piece, event, Map::new(), &issue),
            None => Ok(Work::of(stored, &WorkIssue::from(&issue))),
        }
    }
}

/// The issue to resume if none is given: the only paused one.
fn only_paused(tx: &Tx<'_>, actor: &str) -> Result<IssueRef> {
    let paused = work::list(tx, Some(WorkStatus::Paused), Some(actor), Some(2))?;
    match paused.as_slice() {
        [one] => Ok((&one.issue_id).into()),
        [] => Err(Error::new(Code::NotFound, format!("{actor} has paused nothing"))
            .hint("pn work list lists work; pn work start starts some")),
        _ => {
            let error = Error::new(Code::AmbiguousId, format!("{actor} has paused more than one thing"));
            Err(error.hint(no_active_work(tx, actor)?.hint.unwrap_or_default()))
        }
    }
}

/// Releases an issue held by another actor, unless its claim is protected.
fn take_over(cx: &Context<'_>, tx: &Tx<'_>, issue: Issue, force: bool) -> Result<Issue> {
    if WorkIssue::from(&issue).holder().is_none_or(|holder| holder == cx.actor) {
        return Ok(issue);
    }
    let mut free = issue.clone();
    let released = issue::apply(&mut free, issue::IssueTransition::Release, &cx.requester(force), cx.now);
    let outcome = released.map_err(|error| lease::since(tx, &issue, error))?;
    match outcome.event {
        Some(event) => issues::save(cx, tx, &issue, free, event, outcome.note),
        None => Ok(issue),
    }
}

impl Execute for Done {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let reason = text::optional_block("reason", self.reason.as_ref())?;
        let WorkState { issue, stored, mut piece } = find_state(cx, tx, &cx.actor, self.issue.as_ref())?;
        if self.force && piece.actor != cx.actor {
            apply(&mut piece, WorkTransition::Resume { take: true }, &cx.actor, cx.now)?;
        }
        let event = apply(&mut piece, WorkTransition::Done, &cx.actor, cx.now)?.unwrap_or(EventType::TaskCompleted);
        if !self.force && WorkIssue::from(&issue).holder().is_some_and(|holder| holder != cx.actor) {
            // Fails with an error that names the holder.
            claim(cx, tx, issue.clone(), None, Some(&stored))?;
        }
        let by = cx.requester(self.force && issue.status != Status::Closed);
        let issue = advance(cx, tx, issue, issue::IssueTransition::Close { reason }, &by)?;
        save(cx, tx, Some(stored), piece, event, Map::new(), &issue)
    }
}

/// Refuses to change the steps of finished work.
fn refuse_done(piece: &WorkRecord) -> Result<()> {
    if piece.status != WorkStatus::Done {
        return Ok(());
    }
    let message = format!("cannot change the steps of {}: it is done", piece.issue_id);
    Err(Error::new(Code::InvalidStatusTransition, message).hint("what has ended stays as it is"))
}

impl Execute for AddSteps {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        if self.steps.is_empty() {
            return Err(Error::invalid("no steps were given"));
        }
        let WorkState { issue, stored, piece } = find_state(cx, tx, &cx.actor, self.issue.as_ref())?;
        refuse_done(&piece)?;
        let mut new = stored.clone();
        new.add_steps(&self.steps)?;
        save(cx, tx, Some(stored), new, EventType::Updated, added_steps(&self.steps), &issue)
    }
}

impl Execute for FinishStep {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let WorkState { issue, stored, piece } = find_state(cx, tx, &cx.actor, self.issue.as_ref())?;
        refuse_done(&piece)?;
        let mut new = stored.clone();
        let Some(number) = new.finish_step(self.number)? else {
            return Ok(Work::of(stored, &WorkIssue::from(&issue)));
        };
        let mut note = Map::new();
        note.insert("number".into(), json!(number));
        let title = new.steps[number - 1].title.clone();
        let step = |status| json!(Step { title: title.clone(), status });
        note.insert("step".into(), event::change(step(StepStatus::Pending), step(StepStatus::Done)));
        save(cx, tx, Some(stored), new, EventType::SubtaskCompleted, note, &issue)
    }
}

impl Execute for Steps {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Step>> {
        let actor = text::line("actor", &self.actor)?;
        Ok(find_state(cx, tx, actor, self.issue.as_ref())?.piece.steps)
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Work>> {
        let actor = self.actor.as_ref().map(|actor| text::line("actor", actor)).transpose()?;
        work::list(tx, self.status, actor, self.limit)
    }
}
