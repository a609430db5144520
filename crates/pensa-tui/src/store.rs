//! What the interface asks of a store, what it changes there, and what comes back. Every request is an operation of the
//! catalog, or a few of them.

use pensa_client::Client;
use pensa_core::agent::Agent;
use pensa_core::dep::TreeNode;
use pensa_core::event::{Event, LogEntry, describe};
use pensa_core::id::{IssueId, IssueRef, LearningId, SessionId};
use pensa_core::issue::{Issue, IssueDetail, Similar, Sort, SortBy, Status, Updated};
use pensa_core::job::Job;
use pensa_core::learning::LearningDetail;
use pensa_core::loops::Loop;
use pensa_core::ops::issue::{
    Blocked, Close, Count, Counted, Create, History, List, Ready, Release, Reopen, Show, Update,
};
use pensa_core::ops::undo::{Redo, Undo};
use pensa_core::ops::{agent, comment, dep, event, job, learning, loops, run, session, signal, triage};
use pensa_core::recall::Recalled;
use pensa_core::run::Run;
use pensa_core::session::{Entry, SessionSummary};
use pensa_core::signal::Signal;
use pensa_core::time::Since;
use pensa_core::triage::chart::Chart;
use pensa_core::triage::{Chain, Insights, Network, Plan, Why};
use pensa_core::{Error, Result, similar};

/// Rows of a list that are asked for at first; scrolling asks for more.
pub(crate) const PAGE: u32 = 200;
/// Closed issues on the board.
const CLOSED: u32 = 50;

/// Which issues a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IssueScope {
    /// In progress and open
    Active,
    Only(Status),
    Ready,
    Blocked,
    All,
}

/// What has an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutputOf {
    Job(String),
    Run(String),
}

impl OutputOf {
    pub(crate) fn title(&self) -> &str {
        match self {
            OutputOf::Job(id) | OutputOf::Run(id) => id,
        }
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StoreQuery {
    Board {
        text: String,
        limit: u32,
    },
    List {
        text: String,
        scope: IssueScope,
        sort: Sort,
        limit: u32,
    },
    Detail(IssueId),
    Tree(Option<IssueId>),
    Agents,
    Insights,
    Memory {
        text: String,
        limit: u32,
    },
    Sessions {
        limit: u32,
    },
    Entries {
        session: SessionId,
        limit: u32,
    },
    Log {
        limit: u32,
    },
    Chart {
        days: i64,
    },
    /// What a job wrote, or what happened to a run
    Output(OutputOf),
    /// Issues to choose from
    Find {
        text: String,
    },
    /// Open issues that a new title nearly repeats
    Similar {
        title: String,
    },
    /// Whether the store can be reached
    Ping,
}

impl StoreQuery {
    /// Queries that may take long, and so must not hold up others.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(
            self,
            StoreQuery::Tree(_)
                | StoreQuery::Agents
                | StoreQuery::Insights
                | StoreQuery::Sessions { .. }
                | StoreQuery::Chart { .. }
                | StoreQuery::Entries { .. }
        )
    }
}

/// Issues of the board by status, and how many there are of each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoardIssues {
    pub(crate) by_status: [(Status, Vec<Issue>); 3],
    pub(crate) totals: StatusTotals,
}

/// How many issues have each status: open, in progress, closed.
pub(crate) type StatusTotals = [i64; 3];

/// Everything about an issue that its page shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IssuePage {
    pub(crate) detail: IssueDetail,
    pub(crate) history: Vec<Event>,
    pub(crate) why: Option<Why>,
}

/// What waits for what, with the longest chain.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TreeAnswer {
    pub(crate) network: Network,
    pub(crate) up: Vec<TreeNode>,
    pub(crate) down: Vec<TreeNode>,
    pub(crate) longest: Chain,
}

/// Who does what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AgentsAnswer {
    pub(crate) claims: Vec<Issue>,
    pub(crate) agents: Vec<Agent>,
    pub(crate) runs: Vec<Run>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) loops: Vec<Loop>,
    pub(crate) signals: Vec<Signal>,
    pub(crate) sessions: Vec<SessionSummary>,
    pub(crate) last_events: Vec<LogEntry>,
}

/// What comes back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Board(Box<BoardIssues>),
    List(Vec<Issue>, StatusTotals),
    Detail(Box<IssuePage>),
    Tree(Box<TreeAnswer>),
    Agents(Box<AgentsAnswer>),
    Insights(Box<Insights>, Box<Plan>),
    Memory(Vec<LearningDetail>),
    Sessions(Vec<SessionSummary>),
    Entries(Vec<Entry>),
    Log(Vec<LogEntry>),
    Chart(Box<Chart>, Vec<SessionSummary>),
    Output(String),
    Find(Vec<Issue>),
    Similar(Vec<Similar>),
    Pong,
}

/// Answers a question.
pub(crate) fn ask(client: &Client, query: &StoreQuery) -> Result<Answer> {
    Ok(match query {
        StoreQuery::Board { text, limit } => {
            let of = |status, sort, limit| Ok((status, matching(client, text, Some(status), sort, limit)?));
            let by_status = [
                of(Status::Open, None, *limit)?,
                of(Status::InProgress, None, *limit)?,
                of(Status::Closed, Some(Sort::UpdatedAt), (*limit).min(CLOSED))?,
            ];
            Answer::Board(Box::new(BoardIssues { by_status, totals: totals(client)? }))
        }
        StoreQuery::List { text, scope, sort, limit } => {
            Answer::List(scoped(client, text, *scope, *sort, *limit)?, totals(client)?)
        }
        StoreQuery::Detail(id) => {
            let detail = client.call(&Show { id: id.into() })?;
            let history = client.call(&History { id: id.into(), limit: Some(50) })?;
            let why = client.call(&triage::Why { id: id.into() }).ok();
            Answer::Detail(Box::new(IssuePage { detail, history, why }))
        }
        StoreQuery::Tree(root) => Answer::Tree(Box::new(tree(client, root.as_ref())?)),
        StoreQuery::Agents => Answer::Agents(Box::new(agents(client)?)),
        StoreQuery::Insights => {
            let plan = client.call(&triage::Plan { agents: None, limit: Some(5) })?;
            Answer::Insights(Box::new(client.call(&triage::Insights::default())?), Box::new(plan))
        }
        StoreQuery::Memory { text, limit } if text.trim().is_empty() => {
            Answer::Memory(client.call(&learning::List { limit: Some(*limit), ..learning::List::default() })?)
        }
        StoreQuery::Memory { text, .. } => {
            let hits = client.call(&learning::Recall {
                q: Some(text.clone()),
                limit: Some(50),
                ..learning::Recall::learnings()
            })?;
            Answer::Memory(
                hits.into_iter()
                    .filter_map(Recalled::into_learning)
                    .map(|hit| LearningDetail { learning: hit.learning, superseded_by: None })
                    .collect(),
            )
        }
        StoreQuery::Sessions { limit } => Answer::Sessions(sessions(client, *limit)?),
        StoreQuery::Entries { session, limit } => {
            let id = session.into();
            Answer::Entries(client.call(&session::History {
                id,
                all: false,
                after: None,
                skip: None,
                limit: Some(*limit),
            })?)
        }
        StoreQuery::Log { limit } => {
            Answer::Log(client.call(&event::List { limit: Some(*limit), ..event::List::default() })?.events)
        }
        StoreQuery::Chart { days } => {
            let since = Since::Ago(pensa_core::Span::from_millis(days * 86_400_000));
            let chart = client.call(&triage::Chart { since: Some(since), until: None })?;
            Answer::Chart(Box::new(chart), sessions(client, 1_000)?)
        }
        StoreQuery::Output(of) => Answer::Output(output(client, of)?),
        StoreQuery::Find { text } => Answer::Find(found(client, text)?),
        StoreQuery::Similar { title } => Answer::Similar(alike(client, title)?),
        StoreQuery::Ping => {
            client.call(&event::List { limit: Some(0), ..event::List::default() })?;
            Answer::Pong
        }
    })
}

/// Issues of a status that match a query.
fn matching(client: &Client, text: &str, status: Option<Status>, sort: Option<Sort>, limit: u32) -> Result<Vec<Issue>> {
    let sort = sort.map(SortBy::from);
    client.call(&List { q: query_of(text), status, sort, limit: Some(limit), ..List::default() })
}

fn query_of(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn scoped(client: &Client, text: &str, scope: IssueScope, sort: Sort, limit: u32) -> Result<Vec<Issue>> {
    let (q, by) = (query_of(text), Some(SortBy::from(sort)));
    // A query that names statuses, or a saved one, says itself which issues it is about.
    let scope = if ["status:", "is:", "@"].iter().any(|word| text.contains(word)) { IssueScope::All } else { scope };
    match scope {
        IssueScope::Active => {
            let mut issues = matching(client, text, Some(Status::InProgress), Some(sort), limit)?;
            issues.extend(matching(client, text, Some(Status::Open), Some(sort), limit)?);
            Ok(issues)
        }
        IssueScope::Only(status) => matching(client, text, Some(status), Some(sort), limit),
        IssueScope::All => matching(client, text, None, Some(sort), limit),
        IssueScope::Ready => client.call(&Ready { q, sort: by, limit: Some(limit), ..Ready::default() }),
        IssueScope::Blocked => client.call(&Blocked { q, limit: Some(limit), ..Blocked::default() }),
    }
}

fn totals(client: &Client) -> Result<StatusTotals> {
    let counted = client.call(&Count { by_status: true, ..Count::default() })?;
    let Counted::Grouped { groups, .. } = counted else { return Ok([0; 3]) };
    let of = |status| groups.iter().filter(|group| group.status == Some(status)).map(|group| group.count).sum();
    Ok([of(Status::Open), of(Status::InProgress), of(Status::Closed)])
}

fn tree(client: &Client, root: Option<&IssueId>) -> Result<TreeAnswer> {
    let longest = client.call(&triage::Plan { agents: None, limit: Some(1) })?.longest_chain;
    let Some(root) = root else {
        let network = client.call(&triage::Graph { q: None, limit: Some(PAGE) })?;
        return Ok(TreeAnswer { network, up: Vec::new(), down: Vec::new(), longest });
    };
    let towards = |direction| client.call(&dep::Tree { id: root.into(), direction });
    let network = Network { issues: Vec::new(), waits: Vec::new(), left_out: 0 };
    Ok(TreeAnswer { network, up: towards(dep::Direction::Up)?, down: towards(dep::Direction::Down)?, longest })
}

fn agents(client: &Client) -> Result<AgentsAnswer> {
    let in_progress = List { status: Some(Status::InProgress), limit: Some(PAGE), ..List::default() };
    Ok(AgentsAnswer {
        claims: client.call(&in_progress)?,
        agents: client.call(&agent::List { limit: Some(PAGE), ..agent::List::default() })?,
        runs: client.call(&run::List { limit: Some(50), ..run::List::default() })?,
        jobs: client.call(&job::List { limit: Some(50), ..job::List::default() })?,
        loops: client.call(&loops::List { limit: Some(50), ..loops::List::default() })?,
        signals: client.call(&signal::List { unacked: true, limit: Some(50), ..signal::List::default() })?,
        sessions: sessions(client, PAGE)?,
        last_events: client.call(&event::List { limit: Some(PAGE), ..event::List::default() })?.events,
    })
}

fn sessions(client: &Client, limit: u32) -> Result<Vec<SessionSummary>> {
    client.call(&session::List { limit: Some(limit), ..session::List::default() })
}

fn output(client: &Client, of: &OutputOf) -> Result<String> {
    let mut text = String::new();
    match of {
        OutputOf::Job(id) => {
            let job = client.call(&job::Show { id: id.parse()? })?;
            text = format!("{} {} in lane {}\n{}\n\n", job.tool_name, job.status, job.lane, job.command);
            text += job.output.as_deref().unwrap_or_default();
        }
        OutputOf::Run(id) => {
            let run = client.call(&run::Show { id: id.parse()? })?;
            text += &format!("{} {} by {}\n{}\n", run.harness, run.status, run.actor, run.command.join(" "));
            text += &run.log_path.map(|path| format!("log: {path}\n")).unwrap_or_default();
            text.push('\n');
            for event in client.call(&run::Events { id: id.parse()?, after: None, limit: Some(PAGE) })? {
                text += &format!("{} {} {}\n", event.created_at, event.event_type, describe(&event.detail));
            }
        }
    }
    Ok(text)
}

/// Issues that a person may mean: by id, else by a part of the title.
fn found(client: &Client, text: &str) -> Result<Vec<Issue>> {
    let text = text.trim();
    if !text.is_empty()
        && let Ok(id) = text.parse::<IssueRef>()
        && let Ok(detail) = client.call(&Show { id })
    {
        return Ok(vec![detail.issue]);
    }
    if text.is_empty() {
        scoped(client, "", IssueScope::Active, Sort::Priority, 50)
    } else {
        matching(client, text, None, None, 50)
    }
}

fn alike(client: &Client, title: &str) -> Result<Vec<Similar>> {
    let Some(word) = title.split(|c: char| !c.is_alphanumeric()).max_by_key(|word| word.len()) else {
        return Ok(Vec::new());
    };
    if word.chars().count() < 3 {
        return Ok(Vec::new());
    }
    let near = matching(client, word, Some(Status::Open), None, 100)?.into_iter();
    let near = near.filter(|issue| similar::alike(&issue.title, title)).take(3);
    Ok(near.map(|issue| Similar { id: issue.id, title: issue.title }).collect())
}

/// What is changed.
#[derive(Debug, Clone)]
pub(crate) enum StoreChange {
    Create(Box<Create>),
    Update(Box<Update>),
    Release(IssueId),
    Close {
        id: IssueId,
        reason: Option<String>,
    },
    Reopen {
        id: IssueId,
        reason: Option<String>,
    },
    Comment {
        id: IssueId,
        text: String,
    },
    /// The first waits for the second.
    AddDep(IssueId, IssueId),
    Undo(Option<i64>),
    Redo,
    Verify(LearningId),
    Forget(LearningId),
    Signal(Box<signal::Send>),
}

impl StoreChange {
    pub(crate) fn claim(id: &IssueId) -> Self {
        StoreChange::Update(Box::new(Update { claim: true, ..Update::of(id.into()) }))
    }

    /// What it is about, for the message that it was refused.
    pub(crate) fn subject(&self) -> String {
        match self {
            StoreChange::Create(_) | StoreChange::Undo(_) | StoreChange::Redo | StoreChange::Signal(_) => String::new(),
            StoreChange::Update(update) => update.id.to_string(),
            StoreChange::Release(id)
            | StoreChange::Close { id, .. }
            | StoreChange::Reopen { id, .. }
            | StoreChange::Comment { id, .. } => id.to_string(),
            StoreChange::AddDep(id, _) => id.to_string(),
            StoreChange::Verify(id) | StoreChange::Forget(id) => id.to_string(),
        }
    }
}

/// What became of some changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ChangeOutcome {
    /// In words, one for each that was made
    pub(crate) done: Vec<String>,
    /// What each of the others was about, and why it was refused
    pub(crate) refused: Vec<(String, Error)>,
    /// The issue that was created
    pub(crate) created: Option<IssueId>,
}

/// Makes changes one after the other. One that is refused does not keep the others from being made.
pub(crate) fn change(client: &Client, changes: &[StoreChange]) -> ChangeOutcome {
    let mut outcome = ChangeOutcome::default();
    for change in changes {
        match change_one(client, change, &mut outcome.created) {
            Ok(done) => outcome.done.push(done),
            Err(error) => outcome.refused.push((change.subject(), error)),
        }
    }
    outcome
}

fn change_one(client: &Client, change: &StoreChange, created: &mut Option<IssueId>) -> Result<String> {
    Ok(match change {
        StoreChange::Create(create) => {
            let issue = client.call(&**create)?.issue;
            let done = format!("created {}", issue.id);
            *created = Some(issue.id);
            done
        }
        StoreChange::Update(update) => {
            let Updated { issue, was_assigned_to } = client.call(&**update)?;
            match was_assigned_to {
                Some(name) => format!("claimed {}, which was assigned to {name}", issue.id),
                None if update.claim => format!("claimed {}", issue.id),
                None => format!("changed {}", issue.id),
            }
        }
        StoreChange::Release(id) => format!("released {}", client.call(&Release { id: id.into(), force: false })?.id),
        StoreChange::Close { id, reason } => {
            let close = Close { id: id.into(), reason: reason.clone(), duplicate_of: None, force: false };
            let issue = client.call(&close)?;
            let unmet = issue.unmet();
            let note = if unmet > 0 { format!("; {unmet} of its criteria are not met") } else { String::new() };
            format!("closed {}{note}", issue.id)
        }
        StoreChange::Reopen { id, reason } => {
            format!("reopened {}", client.call(&Reopen { id: id.into(), reason: reason.clone() })?.id)
        }
        StoreChange::Comment { id, text } => {
            client.call(&comment::Add { id: id.into(), text: text.clone() })?;
            format!("commented on {id}")
        }
        StoreChange::AddDep(id, on) => {
            client.call(&dep::Add { issue_id: id.into(), depends_on_id: on.into() })?;
            format!("{id} waits for {on}")
        }
        StoreChange::Undo(event) => {
            let undone = client.call(&Undo { event: *event, ..Undo::default() })?.undone;
            format!(
                "took back: {}",
                in_words(undone.iter().map(|event| (event.event_type.as_str(), event.subject_id.as_str())))
            )
        }
        StoreChange::Redo => {
            let redone = client.call(&Redo::default())?.redone;
            format!(
                "brought back: {}",
                in_words(redone.iter().map(|event| (event.event_type.as_str(), event.subject_id.as_str())))
            )
        }
        StoreChange::Verify(id) => {
            format!("verified {}", client.call(&learning::Verify { id: id.into(), expires: None })?.id)
        }
        StoreChange::Forget(id) => format!("forgot {}", client.call(&learning::Forget { id: id.into() })?.id),
        StoreChange::Signal(send) => format!("sent {}", client.call(&**send)?.signal.id),
    })
}

fn in_words<'a>(events: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let all: Vec<String> = events.map(|(what, id)| format!("{what} {id}")).collect();
    match all.len() {
        0 => "nothing".to_owned(),
        1..=3 => all.join(", "),
        count => format!("{}, and {} more", all[..3].join(", "), count - 3),
    }
}
