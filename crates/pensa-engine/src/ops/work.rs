//! Operations on work: each moves the piece through its one transition function, and its issue through its own.

use pensa_core::event::{self, EventType};
use pensa_core::id::{IssueId, IssueRef};
use pensa_core::issue::{self, Issue, IssueType, Status};
use pensa_core::ops::issue::Create;
use pensa_core::ops::work::{AddSteps, Current, Done, FinishStep, List, Pause, Resume, Start, Steps};
use pensa_core::work::{Ground, Move, Piece, Step, StepStatus, Work, WorkKind, WorkStatus, apply};
use pensa_core::{Code, Error, Result, Span, id, text};
use serde_json::{Map, Value, json};

use super::issue::{advance, hold};
use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::lease;
use crate::tables::{issues, work};

/// Paused work that an error names.
const NAMED: u32 = 5;

impl Execute for Start {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let branch = text::optional_line("branch", self.branch.as_ref())?;
        let (issue, known) = match existing(cx, tx, &self.what)? {
            Some(issue) => {
                let known = work::get(tx, &issue.id)?;
                (issue, known)
            }
            // If there is work under its id, that was about an issue which is gone.
            None => (new_issue(cx, tx, &self.what, self.kind)?, None),
        };
        let was_assigned_to = issue.assignee.clone().filter(|name| *name != cx.actor);
        let issue = claim(cx, tx, issue, self.ttl, known.as_ref())?;
        let kind = self.kind.unwrap_or_else(|| WorkKind::of_issue(issue.issue_type));
        let mut piece = match &known {
            Some(known) => known.clone().beside(Some(&Ground::from(&issue))),
            None => create(cx, tx, &issue, kind, &self.steps, branch.clone())?,
        };
        pause_others(cx, tx, &issue.id)?;
        if known.is_none() {
            return Ok(Work { was_assigned_to, ..begin(cx, tx, piece, &issue)? });
        }
        let event = apply(&mut piece, Move::Start, &cx.actor, cx.now)?.unwrap_or(EventType::Updated);
        piece.add_steps(&self.steps)?;
        piece.branch = branch.or(piece.branch);
        piece.kind = self.kind.unwrap_or(piece.kind);
        let work = finish(cx, tx, known, piece, event, added(&self.steps), &issue)?;
        Ok(Work { was_assigned_to, ..work })
    }
}

/// The issue that a text names. What can't be an id, or begins none, is the title of a new one, unless it looks like an
/// id.
fn existing(cx: &Context<'_>, tx: &Tx<'_>, what: &str) -> Result<Option<Issue>> {
    let what = what.trim();
    let is_name = what.starts_with('@') && !what.contains(char::is_whitespace);
    if !is_name && (id::check(what).is_err() || !id::is_possible(what)) {
        return Ok(None);
    }
    match issues::find(cx, tx, &what.parse()?) {
        Err(error) if error.code == Code::NotFound && !id::looks_like_id(what) && !is_name => Ok(None),
        found => found.map(Some),
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

/// Claims an issue, or goes on with this session's claim. If another holds it and has paused, the error says how to
/// take over.
fn claim(cx: &Context<'_>, tx: &Tx<'_>, issue: Issue, lease: Option<Span>, known: Option<&Piece>) -> Result<Issue> {
    let id = issue.id.clone();
    let is_paused =
        known.is_some_and(|known| known.clone().beside(Some(&Ground::from(&issue))).status == WorkStatus::Paused);
    let is_own = known.is_some_and(|known| known.actor == cx.actor);
    hold(cx, tx, issue, lease).map_err(|error| match error.code {
        Code::AlreadyClaimed if is_own => error.hint(format!("pn work resume {id} goes on with it")),
        Code::AlreadyClaimed if is_paused => error.hint(format!("pn work resume {id} --take takes it over")),
        _ => error,
    })
}

/// Notes work that nobody did before; it begins when it is saved.
fn create(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    issue: &Issue,
    kind: WorkKind,
    steps: &[String],
    branch: Option<String>,
) -> Result<Piece> {
    let mut piece = Piece {
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
    };
    piece.add_steps(steps)?;
    work::save(cx, tx, None, piece, EventType::TaskCreated, Map::new())
}

fn begin(cx: &Context<'_>, tx: &Tx<'_>, piece: Piece, issue: &Issue) -> Result<Work> {
    let mut begun = piece.clone();
    apply(&mut begun, Move::Start, &cx.actor, cx.now)?;
    finish(cx, tx, Some(piece), begun, EventType::TaskStarted, Map::new(), issue)
}

/// Stores a piece and answers with it.
fn finish(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    old: Option<Piece>,
    new: Piece,
    event: EventType,
    note: Map<String, Value>,
    issue: &Issue,
) -> Result<Work> {
    let piece = work::save(cx, tx, old.as_ref(), new, event, note)?;
    Ok(Work::of(piece, &Ground::from(issue)))
}

/// Whatever else the actor was doing is paused, or noted as what it has become meanwhile.
fn pause_others(cx: &Context<'_>, tx: &Tx<'_>, but: &IssueId) -> Result<()> {
    for (left, ground) in work::left_active(tx, &cx.actor)? {
        if left.issue_id == *but {
            continue;
        }
        let mut piece = left.clone().beside(ground.as_ref());
        if piece.status == WorkStatus::Active {
            apply(&mut piece, Move::Pause, &cx.actor, cx.now)?;
        }
        let is_done = piece.status == WorkStatus::Done;
        let event = if is_done { EventType::TaskCompleted } else { EventType::TaskPaused };
        work::save(cx, tx, Some(&left), piece, event, Map::new())?;
    }
    Ok(())
}

/// What the log says about new steps.
fn added(steps: &[String]) -> Map<String, Value> {
    let mut note = Map::new();
    if !steps.is_empty() {
        note.insert("steps".into(), event::change(json!([]), steps));
    }
    note
}

/// Work with its issue: as it was left, and as it stands.
struct Standing {
    issue: Issue,
    left: Piece,
    piece: Piece,
}

/// The work that is meant: on an issue, or what the actor is doing.
fn meant(cx: &Context<'_>, tx: &Tx<'_>, actor: &str, issue: Option<&IssueRef>) -> Result<Standing> {
    let issue = match issue {
        Some(issue) => issues::find(cx, tx, issue)?,
        None => match work::current(tx, actor)? {
            Some(current) => issues::find(cx, tx, &(&current.issue_id).into())?,
            None => return Err(idle(tx, actor)?),
        },
    };
    let left = work::get(tx, &issue.id)?
        .ok_or_else(|| Error::not_found("work", &issue.id).hint(format!("pn work start {} begins it", issue.id)))?;
    let piece = left.clone().beside(Some(&Ground::from(&issue)));
    Ok(Standing { issue, left, piece })
}

/// The error of one who is doing nothing, with what could be gone on with.
fn idle(tx: &Tx<'_>, actor: &str) -> Result<Error> {
    let paused = work::list(tx, Some(WorkStatus::Paused), Some(actor), Some(NAMED))?;
    let error = Error::new(Code::NotFound, format!("{actor} is doing nothing"));
    if paused.is_empty() {
        return Ok(error.hint("pn work start begins something; pn next shows what waits"));
    }
    let some: Vec<String> = paused.iter().map(|work| format!("{} ({})", work.issue_id, work.title)).collect();
    Ok(error.hint(format!("name the issue; paused: {}", some.join(", "))))
}

impl Execute for Current {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Option<Work>> {
        let Some(wanted) = &self.issue else { return work::current(tx, text::line("actor", &self.actor)?) };
        let issue = issues::find(cx, tx, wanted)?;
        Ok(work::get(tx, &issue.id)?.map(|piece| Work::of(piece, &Ground::from(&issue))))
    }
}

impl Execute for Pause {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let Standing { issue, left, mut piece } = meant(cx, tx, &cx.actor, self.issue.as_ref())?;
        match apply(&mut piece, Move::Pause, &cx.actor, cx.now)? {
            Some(event) => finish(cx, tx, Some(left), piece, event, Map::new(), &issue),
            None => Ok(Work::of(left, &Ground::from(&issue))),
        }
    }
}

impl Execute for Resume {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let wanted = match &self.issue {
            Some(issue) => issue.clone(),
            None => only_paused(tx, &cx.actor)?,
        };
        let Standing { issue, left, mut piece } = meant(cx, tx, &cx.actor, Some(&wanted))?;
        // Before the claim moves: what is done stays so.
        if piece.status == WorkStatus::Done {
            apply(&mut piece, Move::Resume { take: self.take }, &cx.actor, cx.now)?;
        }
        let issue = if self.take { take_over(cx, tx, issue, self.force)? } else { issue };
        let issue = if Ground::from(&issue).holder() == Some(&cx.actor) {
            // Paused work keeps its claim, and its holder goes on with it.
            advance(cx, tx, issue, issue::Move::Renew { lease: self.ttl }, &cx.requester(self.force))?
        } else {
            claim(cx, tx, issue, self.ttl, Some(&left))?
        };
        let event = apply(&mut piece, Move::Resume { take: self.take }, &cx.actor, cx.now)?;
        pause_others(cx, tx, &issue.id)?;
        match event {
            Some(event) => finish(cx, tx, Some(left), piece, event, Map::new(), &issue),
            None => Ok(Work::of(left, &Ground::from(&issue))),
        }
    }
}

/// The work that is meant by whoever names none.
fn only_paused(tx: &Tx<'_>, actor: &str) -> Result<IssueRef> {
    let paused = work::list(tx, Some(WorkStatus::Paused), Some(actor), Some(2))?;
    match paused.as_slice() {
        [one] => Ok((&one.issue_id).into()),
        [] => Err(Error::new(Code::NotFound, format!("{actor} has paused nothing"))
            .hint("pn work list shows what there is; pn work start begins something")),
        _ => {
            let error = Error::new(Code::AmbiguousId, format!("{actor} has paused more than one thing"));
            Err(error.hint(idle(tx, actor)?.hint.unwrap_or_default()))
        }
    }
}

/// Releases an issue that another actor holds, unless its claim is protected.
fn take_over(cx: &Context<'_>, tx: &Tx<'_>, issue: Issue, force: bool) -> Result<Issue> {
    if Ground::from(&issue).holder().is_none_or(|holder| holder == cx.actor) {
        return Ok(issue);
    }
    let mut free = issue.clone();
    let released = issue::apply(&mut free, issue::Move::Release, &cx.requester(force), cx.now);
    let outcome = released.map_err(|error| lease::since(tx, &issue, error))?;
    match outcome.event {
        Some(event) => issues::save(cx, tx, &issue, free, event, outcome.note),
        None => Ok(issue),
    }
}

impl Execute for Done {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let reason = text::optional_block("reason", self.reason.as_ref())?;
        let Standing { issue, left, mut piece } = meant(cx, tx, &cx.actor, self.issue.as_ref())?;
        if self.force && piece.actor != cx.actor {
            apply(&mut piece, Move::Resume { take: true }, &cx.actor, cx.now)?;
        }
        let event = apply(&mut piece, Move::Done, &cx.actor, cx.now)?.unwrap_or(EventType::TaskCompleted);
        if !self.force && Ground::from(&issue).holder().is_some_and(|holder| holder != cx.actor) {
            // Says who holds it.
            claim(cx, tx, issue.clone(), None, Some(&left))?;
        }
        let by = cx.requester(self.force && issue.status != Status::Closed);
        let issue = advance(cx, tx, issue, issue::Move::Close { reason }, &by)?;
        finish(cx, tx, Some(left), piece, event, Map::new(), &issue)
    }
}

/// Refuses to change the steps of what is done.
fn refuse_over(piece: &Piece) -> Result<()> {
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
        let Standing { issue, left, piece } = meant(cx, tx, &cx.actor, self.issue.as_ref())?;
        refuse_over(&piece)?;
        let mut new = left.clone();
        new.add_steps(&self.steps)?;
        finish(cx, tx, Some(left), new, EventType::Updated, added(&self.steps), &issue)
    }
}

impl Execute for FinishStep {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Work> {
        let Standing { issue, left, piece } = meant(cx, tx, &cx.actor, self.issue.as_ref())?;
        refuse_over(&piece)?;
        let mut new = left.clone();
        let Some(number) = new.finish_step(self.number)? else {
            return Ok(Work::of(left, &Ground::from(&issue)));
        };
        let mut note = Map::new();
        note.insert("number".into(), json!(number));
        let title = new.steps[number - 1].title.clone();
        let step = |status| json!(Step { title: title.clone(), status });
        note.insert("step".into(), event::change(step(StepStatus::Pending), step(StepStatus::Done)));
        finish(cx, tx, Some(left), new, EventType::SubtaskCompleted, note, &issue)
    }
}

impl Execute for Steps {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Step>> {
        let actor = text::line("actor", &self.actor)?;
        Ok(meant(cx, tx, actor, self.issue.as_ref())?.piece.steps)
    }
}

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Work>> {
        let actor = self.actor.as_ref().map(|actor| text::line("actor", actor)).transpose()?;
        work::list(tx, self.status, actor, self.limit)
    }
}
