//! Asks for what the pages besides board, list and issue show: agents, conversations, memory, insights, charts, the log,
//! releases and settings.

use std::collections::HashSet;

use axum::response::Response;
use pensa_core::id::AgentRef;
use pensa_core::learning::{Kind, LearningDetail};
use pensa_core::ops::cost::{Cost, CostGroup};
use pensa_core::ops::{
    agent, audit, event, issue, job, learning, loops, project, release, run, session, signal, token,
};
use pensa_core::ops::{store, triage, undo};
use pensa_core::recall::Recalled;
use pensa_core::session::SessionSteps;
use pensa_core::time::Since;
use pensa_core::{Access, Error, Result, Span};
use pensa_web::Markup;
use pensa_web::agents::{self, AgentsContent, RunContent};
use pensa_web::charts::{self, ChartsContent, PERIODS};
use pensa_web::graph::{self, GraphContent};
use pensa_web::insights::{self, InsightsContent};
use pensa_web::layout::{Frame, Page};
use pensa_web::log::{self, LogContent, LogFilter};
use pensa_web::memory::{self, MemoryContent};
use pensa_web::releases::{self, ReleasesContent};
use pensa_web::sessions::{self, SessionContent, SessionsContent};
use pensa_web::settings::{self, SettingsContent};

use super::{PageRequest, run_log};

/// Records of a kind on one page.
const ROWS: u32 = 100;
/// Issues of the graph at most.
const MAX_DRAWN: u32 = 1_000;
/// Entries of a conversation on one page.
const ENTRIES: u32 = 200;
/// Operations that are looked at for whether they can be undone.
const UNDOABLE: u32 = 200;

/// A page, its title, and its body or what was wrong with the question.
pub(super) type AnsweredPage = (Page, String, Result<Markup>);

/// The page of one kind of record.
pub(super) async fn all(asked: &PageRequest, frame: &Frame, path: &str) -> Result<AnsweredPage> {
    let (page, body) = match path {
        "graph" => (Page::Graph, graph(asked, frame).await),
        "agents" => (Page::Agents, agents(asked).await.map(|content| agents::page(frame, &content))),
        "sessions" => (Page::Sessions, sessions(asked).await.map(|content| sessions::page(frame, &content))),
        "memory" => (Page::Memory, memory(asked).await.map(|content| memory::page(frame, &content))),
        "insights" => (Page::Insights, insights(asked).await.map(|content| insights::page(frame, &content))),
        "charts" => (Page::Charts, charts(asked, frame).await),
        "log" => (Page::Log, events(asked, frame).await.map(|content| log::page(frame, &content))),
        "releases" => (Page::Releases, releases(asked).await.map(|content| releases::page(frame, &content))),
        "settings" => (Page::Settings, settings(asked, frame).await.map(|content| settings::page(frame, &content))),
        _ => return Err(Error::not_found("page", path)),
    };
    Ok((page, page.name().to_owned(), body))
}

/// The page of one record.
pub(super) async fn one(asked: &PageRequest, frame: &Frame, kind: &str, id: &str) -> Result<AnsweredPage> {
    match kind {
        "sessions" => {
            let content = conversation(asked, id).await?;
            Ok((Page::Sessions, format!("Session {id}"), Ok(sessions::session_page(frame, &content))))
        }
        "runs" => {
            let content = one_run(asked, id).await?;
            Ok((Page::Agents, format!("Run {id}"), Ok(agents::run_page(frame, &content))))
        }
        "jobs" => {
            let job = asked.ask(&job::Show { id: id.parse()? }).await?;
            Ok((Page::Agents, format!("Job {id}"), Ok(agents::job_page(frame, &job))))
        }
        _ => Err(Error::not_found("page", kind)),
    }
}

/// A parameter that is not blank.
fn given(asked: &PageRequest, name: &str) -> Option<String> {
    Some(asked.parameter(name).trim().to_owned()).filter(|value| !value.is_empty())
}

async fn graph(asked: &PageRequest, frame: &Frame) -> Result<Markup> {
    let q = given(asked, "q");
    let limit = asked.number("n").map(|limit| limit.clamp(1, MAX_DRAWN));
    let network = asked.ask(&triage::Graph { q: q.clone(), limit }).await?;
    let critical = asked.ask(&triage::Plan { agents: None, limit: Some(1) }).await?.longest_chain;
    Ok(graph::page(frame, &GraphContent { query: q.unwrap_or_default(), network, critical }))
}

async fn agents(asked: &PageRequest) -> Result<AgentsContent> {
    let limit = Some(ROWS);
    let in_progress = Some(pensa_core::issue::Status::InProgress);
    Ok(AgentsContent {
        claims: asked.ask(&issue::List { status: in_progress, limit, ..issue::List::default() }).await?,
        agents: asked.ask(&agent::List { limit, ..agent::List::default() }).await?,
        runs: asked.ask(&run::List { limit, ..run::List::default() }).await?,
        jobs: asked.ask(&job::List { limit, ..job::List::default() }).await?,
        loops: asked.ask(&loops::List { limit, ..loops::List::default() }).await?,
        signals: asked.ask(&signal::List { unacked: true, limit, ..signal::List::default() }).await?,
        sessions: asked.ask(&session::List { limit, ..session::List::default() }).await?,
        events: asked.ask(&event::List { limit, ..event::List::default() }).await?.events,
    })
}

async fn one_run(asked: &PageRequest, id: &str) -> Result<RunContent> {
    let run = asked.ask(&run::Show { id: id.parse()? }).await?;
    let events = asked.ask(&run::Events { id: id.parse()?, after: None, limit: Some(ROWS) }).await?;
    let output = run_log::tail(asked, &run.id).await?;
    let (output, output_bytes) = output.map_or((None, 0), |part| (Some(part.text), part.end));
    Ok(RunContent { run, events, output, output_bytes })
}

/// What the output of a run has after an offset; `rest` is `ID/log`.
pub(super) async fn log(asked: &PageRequest, rest: &str) -> Result<Response> {
    let id = super::pages::decoded(rest.trim_end_matches("/log"))?;
    // Says whether there is such a run, and whether the reader may know.
    let run = asked.ask(&run::Show { id: id.parse()? }).await?;
    let offset = asked.parameter("offset").parse().unwrap_or_default();
    let part = run_log::part(asked, &run.id, offset).await?;
    part.map(run_log::LogPart::response).ok_or_else(|| Error::not_found("log of", run.id.as_str()))
}

async fn sessions(asked: &PageRequest) -> Result<SessionsContent> {
    let query = given(asked, "q");
    let mut sessions = asked.ask(&session::List { limit: Some(ROWS), ..session::List::default() }).await?;
    sessions.reverse();
    let found = match &query {
        Some(q) => asked.ask(&session::Search { q: q.clone(), agent: None, limit: None }).await?,
        None => Vec::new(),
    };
    let cost = asked.ask(&Cost { by: Some(CostGroup::Model), ..Cost::default() }).await?;
    let is_cut = sessions.len() >= ROWS as usize;
    Ok(SessionsContent { sessions, query: query.unwrap_or_default(), found, cost, is_cut })
}

async fn conversation(asked: &PageRequest, id: &str) -> Result<SessionContent> {
    let summary = asked.ask(&session::Show { id: id.parse()? }).await?;
    let after: Option<i64> = asked.parameter("after").parse().ok();
    let history = session::History { id: id.parse()?, all: false, after, skip: None, limit: Some(ENTRIES) };
    let entries = asked.ask(&history).await?;
    let agent = asked.ask(&agent::Show { id: AgentRef::from(&summary.session.agent_id) }).await?;
    let mut opened = summary.session.clone();
    if after.is_some() {
        // What opened it stands on its first page.
        opened.reset_message = None;
    }
    let mut replay = SessionSteps::new(&opened);
    entries.iter().for_each(|entry| replay.push(entry));
    let later = entries.last().filter(|_| entries.len() >= ENTRIES as usize).map(|last| last.id);
    Ok(SessionContent { summary, agent_name: agent.name, steps: replay.steps, after, later })
}

async fn memory(asked: &PageRequest) -> Result<MemoryContent> {
    let kind: Option<Kind> = given(asked, "kind").map(|kind| kind.parse()).transpose()?;
    let query = given(asked, "q");
    let found = match &query {
        Some(q) => {
            let recall = learning::Recall { q: Some(q.clone()), limit: Some(ROWS), ..learning::Recall::learnings() };
            let hits =
                asked.ask(&recall).await?.into_iter().filter_map(Recalled::into_learning).map(|hit| hit.learning);
            let hits = hits.filter(|learning| kind.is_none_or(|kind| learning.kind == kind));
            hits.map(|learning| LearningDetail { learning, superseded_by: None }).collect()
        }
        None => asked.ask(&learning::List { kind, limit: Some(ROWS), ..learning::List::default() }).await?,
    };
    Ok(MemoryContent { query: query.unwrap_or_default(), kind, found })
}

async fn insights(asked: &PageRequest) -> Result<InsightsContent> {
    let plan = asked.ask(&triage::Plan { agents: None, limit: Some(10) }).await?;
    Ok(InsightsContent { insights: asked.ask(&triage::Insights::default()).await?, plan })
}

async fn charts(asked: &PageRequest, frame: &Frame) -> Result<Markup> {
    let days = asked.number("days").unwrap_or(30).clamp(1, PERIODS[PERIODS.len() - 1]);
    let since = Some(Since::Ago(Span::from_millis(i64::from(days - 1) * 86_400_000)));
    let chart = asked.ask(&triage::Chart { since, until: None }).await?;
    let cost = asked.ask(&Cost { by: Some(CostGroup::Day), since, issue: None }).await?;
    charts::page(frame, &ChartsContent { days, chart, cost: Some(cost) })
}

async fn events(asked: &PageRequest, frame: &Frame) -> Result<LogContent> {
    let filter = LogFilter {
        subject: given(asked, "subject").unwrap_or_default(),
        event_type: given(asked, "type").unwrap_or_default(),
        by: given(asked, "by").unwrap_or_default(),
        after: asked.parameter("after").parse().ok(),
    };
    let list = event::List {
        after: filter.after,
        subject: given(asked, "subject"),
        types: given(asked, "type").into_iter().collect(),
        by: given(asked, "by"),
        limit: Some(ROWS),
    };
    let page = asked.ask(&list).await?;
    // Those of others need a higher role.
    let undo = undo::List { any: frame.may(Access::Maintain), limit: Some(UNDOABLE), ..undo::List::default() };
    let operations = if frame.may_write() { asked.ask(&undo).await? } else { Vec::new() };
    let undoable: HashSet<i64> =
        operations.iter().filter(|operation| operation.refused.is_none()).map(|operation| operation.event).collect();
    Ok(LogContent { filter, page, limit: i64::from(ROWS), undoable })
}

async fn releases(asked: &PageRequest) -> Result<ReleasesContent> {
    let changelog = asked.ask(&release::Changelog::default()).await?.markdown;
    Ok(ReleasesContent { releases: asked.ask(&release::List { limit: Some(ROWS) }).await?, changelog })
}

async fn settings(asked: &PageRequest, frame: &Frame) -> Result<SettingsContent> {
    let mut content = SettingsContent::default();
    if asked.reader.context.store.is_some() {
        content.info = Some(asked.ask(&store::Info {}).await?);
        content.summary = Some(asked.ask(&store::Status {}).await?);
    }
    if asked.reader.context.server.is_some() && frame.may(Access::Admin) {
        content.tokens = Some(asked.ask(&token::List { project: None, all: true }).await?);
        content.audit = Some(asked.ask(&audit::Audit { limit: Some(ROWS), ..audit::Audit::default() }).await?);
        content.projects = Some(asked.ask(&project::List { all: true }).await?);
    }
    Ok(content)
}
