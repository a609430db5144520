//! Why one issue stands where it does, and what closing it would bring.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::{WaitGraph, at, number};
use super::measures::{betweenness, page_rank};
use super::{IssueBrief, Triage, Unit, count};
use crate::closed_enum::closed_enum;
use crate::id::IssueId;
use crate::issue::{Issue, IssueType, Status};
use crate::time::Timestamp;

closed_enum! {
    /// Whether an issue can be worked on.
    State "unknown state: {:?}" {
        /// Open, and waiting for nothing
        Ready "ready",
        /// Waiting for an issue that is not closed
        Blocked "blocked",
        /// In progress
        InProgress "in_progress",
        /// Deferred to a later date
        Deferred "deferred",
        /// A bug: closed with the issue that fixes it
        Report "report",
        Closed "closed",
    }
}

/// Why an issue is ready or not, and why it is ranked as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    #[serde(flatten)]
    pub issue: IssueBrief,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    pub state: State,
    /// Until when it is deferred
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer: Option<Timestamp>,
    /// The issues it waits for directly that are not closed
    pub waits_for: Vec<Held>,
    /// Where to start: the issues it waits for, directly or indirectly, that wait for nothing
    pub begin_with: Vec<Held>,
    /// Its figures; absent if it is closed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Ranking>,
}

/// An issue that another waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    #[serde(flatten)]
    pub issue: IssueBrief,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
}

/// The ranks of an issue among those that are not closed, from 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// How many issues are not closed
    pub issues: u32,
    /// How many are ready
    pub ready: u32,
    /// Its position in `pn ready`, by priority and then age; absent unless it is ready
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_priority: Option<u32>,
    /// Its position in `pn ready --sort impact`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_impact: Option<u32>,
    /// The issue before it in `pn ready`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<IssueBrief>,
    /// How many issues wait for it, directly
    pub blocks: u32,
    /// How many issues wait for it, directly or indirectly
    pub behind: u32,
    /// How many issues become ready once it and then each issue it unblocks is closed
    pub frees: u32,
    /// Issues in the longest chain that waits for it
    pub depth: u32,
    pub page_rank: f64,
    pub page_rank_place: u32,
    pub betweenness: f64,
    pub betweenness_place: u32,
    /// Whether betweenness is an estimate
    pub approximate: bool,
    /// Slack: how much longer its chains could be without exceeding the longest one; absent if unknown
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack: Option<i64>,
    /// The unit of slack
    pub unit: Unit,
    /// The most urgent issue that waits for it, if it is more urgent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_urgent: Option<IssueBrief>,
}

/// The effect of closing an issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Impact {
    #[serde(flatten)]
    pub issue: IssueBrief,
    /// How many issues become ready once it and then each issue it unblocks is closed
    pub frees: u32,
    /// How many issues wait for it, directly or indirectly
    pub behind: u32,
    /// The issues that wait for nothing once it is closed, then once those are closed, and so on
    pub waves: Vec<Wave>,
    /// The issues that wait for it or for an issue it unblocks, and for others too
    pub still_blocked: Vec<StillBlocked>,
}

/// Issues that become ready at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wave {
    /// From 1
    pub wave: u32,
    pub issues: Vec<IssueBrief>,
}

/// An issue that waits for others too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StillBlocked {
    #[serde(flatten)]
    pub issue: IssueBrief,
    /// What else it waits for
    pub waits_for: Vec<IssueBrief>,
}

impl From<&Issue> for IssueBrief {
    fn from(issue: &Issue) -> Self {
        let Issue { id, title, status, priority, .. } = issue.clone();
        Self { id, title, status, priority }
    }
}

impl Why {
    /// Explains the state and ranks of an issue. An issue unknown to the triage is closed.
    pub fn of(triage: &Triage, issue: &Issue) -> Self {
        let closed = Self {
            issue: issue.into(),
            assignee: issue.assignee.clone(),
            state: State::Closed,
            defer: None,
            waits_for: Vec::new(),
            begin_with: Vec::new(),
            rank: None,
        };
        let Some(&node) = triage.nodes.get(&issue.id) else { return closed };
        let graph = &triage.graph;
        let mut begin_with = graph.reached(node, WaitGraph::waits_for);
        begin_with.retain(|other| graph.waits_for(*other).is_empty());
        begin_with.sort_unstable();
        let held = |nodes: &[u32]| nodes.iter().map(|node| triage.held(*node)).collect();
        Self {
            state: triage.state(node),
            defer: triage.item(node).defer.filter(|_| triage.is_deferred(node)),
            waits_for: held(graph.waits_for(node)),
            begin_with: held(&begin_with),
            rank: Some(triage.place(node)),
            ..closed
        }
    }
}

impl Impact {
    /// The effect of closing an issue. An issue unknown to the triage is closed.
    pub fn of(triage: &Triage, issue: &Issue) -> Self {
        let brief = IssueBrief::from(issue);
        let Some(&node) = triage.nodes.get(&issue.id) else {
            return Self { issue: brief, frees: 0, behind: 0, waves: Vec::new(), still_blocked: Vec::new() };
        };
        let graph = &triage.graph;
        let waves = graph.freed_by(node);
        let mut is_closed = vec![false; graph.len()];
        std::iter::once(&node).chain(waves.iter().flatten()).for_each(|node| is_closed[at(*node)] = true);
        let done = graph.nodes().filter(|node| is_closed[at(*node)]);
        let mut blocked: Vec<u32> = done.flat_map(|node| graph.dependents(node)).copied().collect();
        blocked.retain(|node| !is_closed[at(*node)]);
        blocked.sort_unstable();
        blocked.dedup();
        let still_blocked = |node: u32| {
            let others = graph.waits_for(node).iter().filter(|wait| !is_closed[at(**wait)]);
            StillBlocked { issue: triage.brief(node), waits_for: others.map(|wait| triage.brief(*wait)).collect() }
        };
        Self {
            issue: brief,
            frees: count(waves.iter().flatten().filter(|node| triage.can_be_ready(**node)).count()),
            behind: count(graph.reached(node, WaitGraph::dependents).len()),
            waves: (1..).zip(&waves).map(|(wave, nodes)| Wave { wave, issues: triage.briefs(nodes) }).collect(),
            still_blocked: blocked.into_iter().map(still_blocked).collect(),
        }
    }
}

impl Triage {
    /// Whether an issue is among those that are not closed.
    pub fn knows(&self, id: &IssueId) -> bool {
        self.nodes.contains_key(id)
    }

    fn held(&self, node: u32) -> Held {
        Held { issue: self.brief(node), assignee: self.item(node).assignee.clone() }
    }

    fn state(&self, node: u32) -> State {
        let item = self.item(node);
        match item.status {
            Status::InProgress => State::InProgress,
            Status::Closed => State::Closed,
            Status::Open if !self.graph.waits_for(node).is_empty() => State::Blocked,
            Status::Open if item.issue_type == IssueType::Bug => State::Report,
            Status::Open if self.is_deferred(node) => State::Deferred,
            Status::Open => State::Ready,
        }
    }

    fn place(&self, node: u32) -> Ranking {
        let numbers = self.numbers();
        let ready: Vec<u32> = self.graph.nodes().filter(|node| self.is_ready(*node)).collect();
        let by_priority = ready.iter().position(|other| *other == node);
        let frees = |node: u32| numbers.freed[at(node)];
        let turn = |node: u32| (Reverse(frees(node)), node);
        let by_impact = ready.iter().filter(|other| turn(**other) < turn(node)).count();
        let ranks = page_rank(&self.graph);
        let between = betweenness(&self.graph, |_| {});
        let chains = self.chains();
        let depth = super::Chains::counted(&self.graph).above(node).map_or(0, |length| length - 1);
        let urgent = self.most_urgent_behind()[at(node)];
        let is_ready = by_priority.is_some();
        Ranking {
            issues: count(self.graph.len()),
            ready: count(ready.len()),
            by_priority: by_priority.map(|place| number(place) + 1),
            by_impact: is_ready.then(|| count(by_impact) + 1),
            ahead: by_priority.filter(|place| *place > 0).map(|place| self.brief(ready[place - 1])),
            blocks: count(self.graph.dependents(node).len()),
            behind: numbers.behind[at(node)],
            frees: frees(node),
            depth: u32::try_from(depth).unwrap_or_default(),
            page_rank: ranks[at(node)],
            page_rank_place: place_of(&ranks, node),
            betweenness: between.scores[at(node)],
            betweenness_place: place_of(&between.scores, node),
            approximate: between.sources.is_some(),
            slack: chains.slack(node),
            unit: chains.unit,
            more_urgent: urgent
                .filter(|other| self.item(*other).priority < self.item(node).priority)
                .map(|other| self.brief(other)),
        }
    }
}

/// From 1; of two with the same score the more urgent one is first.
fn place_of(scores: &[f64], node: u32) -> u32 {
    let own = scores[at(node)];
    let is_before = |(other, score): &(usize, &f64)| **score > own || (**score == own && *other < at(node));
    count(scores.iter().enumerate().filter(is_before).count()) + 1
}
