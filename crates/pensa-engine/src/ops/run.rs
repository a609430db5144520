//! Operations on runs, harnesses and runtimes.

use pensa_core::event::{EventType, LogEntry};
use pensa_core::id::RunId;
use pensa_core::issue::{self, Issue, Origin, Requester};
use pensa_core::ops::run::{
    AddEvent, Events, Finish, Harnesses, Launch, List, Runtimes, SetHarness, SetRuntime, Show, Start, Update,
};
use pensa_core::repo::Repo;
use pensa_core::run::{
    self, Harness, MuxWindow, Process, Run, RunEnd, RunStatus, RunTransition, Runtime, RuntimeName, Task,
};
use pensa_core::session::Object;
use pensa_core::session::object::{self, OBJECT_BYTES};
use pensa_core::{Code, Error, Result, Span, text};
use serde_json::Map;

use super::issue::{advance, hold};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::listing::ColumnFilters;
use crate::tables::{events, harnesses, issues, repos, runs, sessions};

/// The harness of a run that names none.
const NO_HARNESS: &str = "custom";

impl Execute for Start {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Run> {
        let Launch { issue, session, .. } = &self.launch;
        let task = task(&self.launch)?;
        self.agent.as_ref().map_or(Ok(()), Process::check)?;
        self.supervisor.as_ref().map_or(Ok(()), Process::check)?;
        let workspace = match &self.launch.workspace {
            Some(name) => {
                cx.require_workspaces()?;
                Some(repos::find_workspace(tx, name)?)
            }
            None => None,
        };
        let harness = self.launch.harness.clone().map_or_else(|| NO_HARNESS.parse(), Ok)?;
        let runtime = self.launch.runtime.clone().unwrap_or_else(RuntimeName::local);
        let issue = issue.as_ref().map(|issue| issues::find(cx, tx, issue)).transpose()?;
        let session = session.as_ref().map(|session| sessions::find(tx, session)).transpose()?;
        let (repo, id) = (repo(cx, tx, &self.launch)?, runs::new_id(cx, tx)?);
        if let (Some(issue), Some(lease)) = (&issue, self.claim) {
            claim(cx, tx, issue.clone(), lease, &self.launch, &id)?;
        }
        let run = Run {
            status: if self.created { RunStatus::Created } else { RunStatus::Running },
            repo_id: repo.id,
            workspace_id: workspace.map(|workspace| workspace.id),
            harness_id: harnesses::get_or_create(cx, tx, &harness)?,
            harness,
            runtime_id: harnesses::get_or_create_runtime(cx, tx, &runtime)?,
            runtime,
            issue_id: issue.map(|issue| issue.id),
            session_id: session.map(|session| session.id),
            group: text::optional_line("group", self.launch.group.as_ref())?,
            actor: cx.actor.clone(),
            command: command(&self.launch.command)?,
            task,
            host: text::optional_line("host", self.host.as_ref())?,
            agent: self.agent.clone(),
            supervisor: self.supervisor.clone(),
            mux: MuxWindow::default(),
            log_path: log_path(self, &id)?,
            workspace_path: text::optional_line("workspace_path", self.launch.workspace_path.as_ref())?,
            end: RunEnd::default(),
            started_at: cx.now,
            ended_at: None,
            updated_at: cx.now,
            id,
        };
        let event = if self.created { EventType::Created } else { EventType::Started };
        runs::save(cx, tx, None, run, event)
    }
}

/// Claims an issue for a run, or continues the claim of the session that starts it. If several runs were launched
/// together, none is the holder, so only the lease protects their claim.
fn claim(cx: &Context<'_>, tx: &Tx<'_>, issue: Issue, lease: Span, launch: &Launch, run: &RunId) -> Result<()> {
    if issue.is_claimed_by_session_of(&cx.origin) {
        return hold(cx, tx, issue, Some(lease)).map(drop);
    }
    let is_alone = launch.instances.is_none_or(|instances| instances == 1);
    let origin = Origin { session: is_alone.then(|| run.to_string()), run: None, host: cx.origin.host.clone() };
    let by = Requester { origin: &origin, ..cx.requester(false) };
    advance(cx, tx, issue, issue::IssueTransition::Claim { lease: Some(lease) }, &by).map(drop)
}

/// Ends the claim made by a run that has ended.
fn end_claim(cx: &Context<'_>, tx: &Tx<'_>, run: &Run) -> Result<()> {
    let Some(issue) = run.issue_id.as_ref().map(|id| issues::get(tx, id)).transpose()?.flatten() else {
        return Ok(());
    };
    if issue.claim_session.as_deref() != Some(run.id.as_str()) {
        return Ok(());
    }
    let without = Issue { claim_session: None, ..issue.clone() };
    issues::save(cx, tx, &issue, without, EventType::Updated, Map::new()).map(drop)
}

/// The task of a run.
fn task(launch: &Launch) -> Result<Task> {
    let line = |what: &str, given: &Option<String>| text::optional_line(what, given.as_ref());
    let task = Task {
        prompt: launch.prompt.clone().unwrap_or_default(),
        branch: line("branch", &launch.branch)?,
        delivery: launch.delivery,
        instances: launch.instances.unwrap_or(1),
        labels: launch.labels.clone(),
        browser_automation: !launch.no_browser,
        browser_profile: line("browser_profile", &launch.browser_profile)?,
        chatgpt_username: line("chatgpt_username", &launch.chatgpt_username)?,
        codex_workspace: line("codex_workspace", &launch.codex_workspace)?,
    };
    task.check()?;
    Ok(task)
}

/// Longest command in bytes.
const COMMAND_BYTES: usize = 1 << 20;

/// Checks a program and its arguments.
fn command(given: &[String]) -> Result<Vec<String>> {
    let bytes: usize = given.iter().map(|word| word.len() + 1).sum();
    if bytes > COMMAND_BYTES {
        let message = format!("a command of {bytes} bytes is too long: at most {COMMAND_BYTES}");
        return Err(Error::new(Code::TooLarge, message));
    }
    Ok(given.iter().map(|word| word.replace('\0', "")).collect())
}

fn repo(cx: &Context<'_>, tx: &Tx<'_>, launch: &Launch) -> Result<Repo> {
    match (&launch.repo, &launch.seen) {
        (Some(repo), _) => repos::find(tx, repo),
        (None, Some(seen)) => repos::upsert(cx, tx, seen),
        (None, None) => Err(Error::new(Code::NoRepo, "a run belongs to a repository, and none was named")
            .hint("run the command in a repository, or name one with --repo")),
    }
}

fn log_path(start: &Start, id: &RunId) -> Result<Option<String>> {
    match &start.log_dir {
        Some(dir) => {
            let dir = text::line("log_dir", dir)?.trim_end_matches('/');
            Ok(Some(format!("{dir}/{id}.log")))
        }
        None => text::optional_line("log_path", start.log_path.as_ref()),
    }
}

impl Execute for Update {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Run> {
        let old = runs::find(tx, &self.id)?;
        runs::refuse_ended(&old)?;
        self.mux.check()?;
        let mut new = old.clone();
        let mut event = EventType::Updated;
        if self.started && run::apply(&mut new, RunTransition::Start, cx.now)? {
            event = EventType::Started;
        }
        for (given, stored) in [(&self.agent, &mut new.agent), (&self.supervisor, &mut new.supervisor)] {
            if let Some(process) = given {
                process.check()?;
                *stored = Some(process.clone());
            }
        }
        if let Some(session) = &self.session {
            new.session_id = Some(sessions::find(tx, session)?.id);
        }
        if self.mux != MuxWindow::default() {
            new.mux = self.mux.clone();
        }
        runs::save(cx, tx, Some(&old), new, event)
    }
}

impl Execute for Finish {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Run> {
        let old = runs::find(tx, &self.id)?;
        if self.if_supervisor.is_some() && self.if_supervisor != old.supervisor {
            let message = format!("another process looks after {} by now", old.id);
            return Err(Error::new(Code::Conflict, message).hint("pn run show tells which"));
        }
        let mut new = old.clone();
        let mut end = self.end();
        end.reason = text::optional_block("reason", end.reason.as_ref())?;
        if !run::apply(&mut new, RunTransition::Finish(self.status, end), cx.now)? {
            return Ok(old);
        }
        if let Some(process) = &self.agent {
            process.check()?;
            new.agent.get_or_insert_with(|| process.clone());
        }
        end_claim(cx, tx, &old)?;
        runs::save(cx, tx, Some(&old), new, EventType::Finished)
    }
}

/// The filters of a listing.
fn column_filters(cx: &Context<'_>, tx: &Tx<'_>, list: &List) -> Result<ColumnFilters> {
    let issue = list.issue.as_ref().map(|issue| issues::find(cx, tx, issue)).transpose()?;
    let repo = list.repo.as_ref().map(|repo| repos::find(tx, repo)).transpose()?;
    let given = [
        ("status", list.status.map(|status| status.to_string())),
        ("issue_id", issue.map(|issue| issue.id.to_string())),
        ("repo_id", repo.map(|repo| repo.id.to_string())),
        ("group_id", list.group.clone()),
        ("host", list.host.clone()),
    ];
    Ok(given.into_iter().filter_map(|(column, value)| Some((column, value?))).collect())
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Run>> {
        runs::list(tx, column_filters(cx, tx, self)?, self.limit)
    }

    fn write_json(&self, cx: &Context<'_>, tx: &Tx<'_>, to: &mut Vec<u8>) -> Result<()> {
        runs::write_list(tx, column_filters(cx, tx, self)?, self.limit, to)
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Run> {
        runs::find(tx, &self.id)
    }
}

impl Execute for Events {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<LogEntry>> {
        let run = runs::find(tx, &self.id)?;
        events::of_subject(tx, "run", run.id.as_str(), self.after.unwrap_or_default(), self.limit)
    }
}

/// Longest event type in characters.
const TYPE_CHARS: usize = 100;

impl Execute for AddEvent {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<LogEntry> {
        let run = runs::find(tx, &self.id)?;
        let kind = text::line("type", &self.kind)?.to_owned();
        if kind.chars().count() > TYPE_CHARS {
            return Err(Error::new(
                Code::TooLarge,
                format!("the type of an event has at most {TYPE_CHARS} characters"),
            ));
        }
        let mut detail = Object::new();
        detail.insert("type".to_owned(), kind.into());
        if let Some(data) = self.data.clone() {
            detail.insert("data".to_owned(), data);
        }
        object::check("data", &detail, OBJECT_BYTES)?;
        let (subject, event) = (("run", run.id.as_str()), EventType::RunEvent);
        let id = events::append(cx, tx, subject, None, event, detail.clone())?;
        Ok(LogEntry {
            id,
            subject_kind: "run".to_owned(),
            subject_id: run.id.to_string(),
            issue_id: None,
            event_type: event.as_str().to_owned(),
            actor: cx.actor.clone(),
            detail,
            created_at: cx.now,
        })
    }
}

/// Checks the metadata of a harness or runtime.
fn metadata(given: Option<&Object>) -> Result<Option<Object>> {
    given.map_or(Ok(()), |metadata| object::check("metadata", metadata, OBJECT_BYTES))?;
    Ok(given.cloned())
}

impl Execute for SetHarness {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Harness> {
        harnesses::set_metadata(cx, tx, &self.harness, metadata(self.metadata.as_ref())?)
    }
}

impl Execute for SetRuntime {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Runtime> {
        harnesses::set_runtime_metadata(cx, tx, &self.id, metadata(self.metadata.as_ref())?)
    }
}

impl Execute for Harnesses {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Harness>> {
        harnesses::all(tx)
    }
}

impl Execute for Runtimes {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Runtime>> {
        harnesses::runtimes(tx)
    }
}
