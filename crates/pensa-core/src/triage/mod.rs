//! What matters among the issues that are not closed, and the numbers that show it.
//!
//! Everything here is computed from an [`Input`]. Where that comes from, and what is printed, is left to the engine and the
//! surfaces.

pub mod chart;
pub mod diff;
mod forecast;
mod graph;
mod insights;
mod measures;
mod path;
mod plan;
mod why;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::IssueId;
use crate::issue::{IssueType, Priority, Status};
use crate::time::{Span, Timestamp};

pub use forecast::Forecast;
pub use graph::WaitGraph;
pub use insights::{Cascade, Insights, PriorityConflict, Ranked, StaleClaim};
pub use measures::{Betweenness, articulations, betweenness, page_rank};
pub use path::{Chains, Unit};
pub use plan::{Chain, ChainStep, Plan, StartIssue, Track, TrackIssue};
pub use why::{Held, Impact, Ranking, State, StillBlocked, Wave, Why};

use graph::{at, number};

/// An issue that is not closed, with what triage looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenIssue {
    pub id: IssueId,
    pub title: String,
    pub issue_type: IssueType,
    pub status: Status,
    pub priority: Priority,
    pub assignee: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub estimate: Option<Span>,
    /// Not to be worked on before.
    pub defer: Option<Timestamp>,
}

/// What triage is about.
#[derive(Debug)]
pub struct Input {
    /// Issues that are not closed.
    pub issues: Vec<OpenIssue>,
    /// Pairs of an issue that waits and one that it waits for. Those that name other issues are left out.
    pub waits: Vec<(IssueId, IssueId)>,
    /// When issues were closed.
    pub closings: Vec<Timestamp>,
    pub now: Timestamp,
}

/// An issue as answers name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueBrief {
    pub id: IssueId,
    pub title: String,
    pub status: Status,
    pub priority: Priority,
}

/// Issues in the order in which work is taken, with the graph of what waits for what. A node is an issue's place in it.
#[derive(Debug)]
pub struct Triage {
    items: Vec<OpenIssue>,
    nodes: HashMap<IssueId, u32>,
    closings: Vec<Timestamp>,
    now: Timestamp,
    pub graph: WaitGraph,
}

impl Triage {
    pub fn new(input: Input) -> Self {
        let Input { mut issues, waits, closings, now } = input;
        issues.sort_unstable_by(|a, b| (a.priority, a.created_at, &a.id).cmp(&(b.priority, b.created_at, &b.id)));
        let nodes: HashMap<IssueId, u32> =
            issues.iter().enumerate().map(|(at, item)| (item.id.clone(), number(at))).collect();
        let edges = waits.iter().filter_map(|(from, to)| Some((*nodes.get(from)?, *nodes.get(to)?)));
        let graph = WaitGraph::new(issues.len(), edges);
        Self { items: issues, nodes, closings, now, graph }
    }

    /// For every issue, how many become ready once it, and then what that frees, is closed.
    pub fn freed(&self) -> HashMap<IssueId, u32> {
        let counts = self.graph.count_freed(|node| self.can_be_ready(node));
        self.items.iter().map(|item| item.id.clone()).zip(counts).collect()
    }

    /// Whether an issue can be taken once it waits for nothing. Bugs are reports, not work.
    fn can_be_ready(&self, node: u32) -> bool {
        let item = self.item(node);
        item.status == Status::Open && item.issue_type != IssueType::Bug && !self.is_deferred(node)
    }

    fn is_deferred(&self, node: u32) -> bool {
        self.item(node).defer.is_some_and(|until| until > self.now)
    }

    fn is_ready(&self, node: u32) -> bool {
        self.can_be_ready(node) && self.graph.waits_for(node).is_empty()
    }

    fn item(&self, node: u32) -> &OpenIssue {
        &self.items[at(node)]
    }

    fn brief(&self, node: u32) -> IssueBrief {
        let OpenIssue { id, title, status, priority, .. } = self.item(node).clone();
        IssueBrief { id, title, status, priority }
    }

    fn briefs(&self, nodes: &[u32]) -> Vec<IssueBrief> {
        nodes.iter().map(|node| self.brief(*node)).collect()
    }

    /// In whole seconds, as long as estimates are.
    fn chains(&self) -> Chains {
        Chains::new(&self.graph, |node| self.item(node).estimate.map(|span| span.as_millis() / 1000))
    }
}

/// Issues and what waits for what, to be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Network {
    /// In the order in which work is taken
    pub issues: Vec<IssueBrief>,
    /// Pairs of an issue that waits and what it waits for
    pub waits: Vec<Wait>,
    /// How many issues are left out, because there are too many
    pub left_out: u32,
}

/// An issue that waits for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    pub issue_id: IssueId,
    pub depends_on_id: IssueId,
}

impl Triage {
    /// The issues that are meant, at most `limit`: those that hold up the most, then those that wait.
    pub fn network(&self, is_meant: impl Fn(&IssueId) -> bool, limit: usize) -> Network {
        let behind = self.graph.count_behind();
        let mut nodes: Vec<u32> = self.graph.nodes().filter(|node| is_meant(&self.item(*node).id)).collect();
        let all = nodes.len();
        nodes.sort_by_key(|node| std::cmp::Reverse((behind[at(*node)], self.graph.waits_for(*node).len())));
        nodes.truncate(limit);
        nodes.sort_unstable();
        let is_shown = |node: &&u32| nodes.binary_search(node).is_ok();
        let wait =
            |from: u32, to: u32| Wait { issue_id: self.item(from).id.clone(), depends_on_id: self.item(to).id.clone() };
        let waits = |node: &u32| {
            let node = *node;
            self.graph.waits_for(node).iter().filter(is_shown).map(move |other| wait(node, *other)).collect::<Vec<_>>()
        };
        Network {
            issues: self.briefs(&nodes),
            waits: nodes.iter().flat_map(waits).collect(),
            left_out: count(all - nodes.len()),
        }
    }
}

/// A count for an answer.
fn count(of: usize) -> u32 {
    number(of)
}
