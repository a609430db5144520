//! What the graph says about the issues that are not closed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::{WaitGraph, at, number};
use super::measures::{articulations, betweenness, page_rank, sources};
use super::{Chain, IssueBrief, Triage, count};
use crate::issue::{Priority, Status};
use crate::time::{Span, Timestamp};

/// What matters in the graph of issues that are not closed, with figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Insights {
    /// Issues that are not closed
    pub issues: u32,
    /// Edges between them, from a waiting issue to the one it waits for
    pub waits: u32,
    /// Issues in or behind a cycle, which can never be ready; `pn dep cycles` shows it
    pub stuck: u32,
    /// Whether the scores of bottlenecks are an estimate
    pub approximate: bool,
    /// The number of issues from which chains were followed for that; absent if all
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<u32>,
    /// Issues on the most of the shortest chains between others, by betweenness
    pub bottlenecks: Vec<Ranked>,
    /// Issues on which the most depends, by PageRank
    pub keystones: Vec<Ranked>,
    /// The longest chain, and the issues that are nearly on it
    pub critical_path: Chain,
    /// Issues whose removal splits their part of the graph, by their number of neighbours
    pub articulation_points: Vec<Ranked>,
    /// How many there are of these
    pub articulation_count: u32,
    /// Claims without a change for long, the longest first
    pub stale_claims: Vec<StaleClaim>,
    /// Ready issues that hold up the most
    pub blocked_cascades: Vec<Cascade>,
    /// Issues less urgent than one that waits for them
    pub priority_conflicts: Vec<PriorityConflict>,
    /// How many there are of these
    pub priority_conflict_count: u32,
}

/// An issue with its score and the figures behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranked {
    #[serde(flatten)]
    pub issue: IssueBrief,
    pub score: f64,
    /// How many issues it waits for, directly
    pub waits_for: u32,
    /// How many issues wait for it, directly
    pub blocks: u32,
    /// How many issues wait for it, directly or indirectly
    pub behind: u32,
    /// How many issues become ready once it and then each issue it unblocks is closed
    pub frees: u32,
}

/// A claim without a change for long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StaleClaim {
    #[serde(flatten)]
    pub issue: IssueBrief,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// When it last changed
    pub updated_at: Timestamp,
    /// Whole hours since then
    pub idle_hours: i64,
    /// How many issues wait for it, directly or indirectly
    pub behind: u32,
}

/// A ready issue, and what it holds up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cascade {
    #[serde(flatten)]
    pub issue: IssueBrief,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// How many issues wait for it, directly
    pub blocks: u32,
    /// How many issues wait for it, directly or indirectly
    pub behind: u32,
    /// How many issues become ready once it and then each issue it unblocks is closed
    pub frees: u32,
    /// Issues in the longest chain that waits for it
    pub depth: u32,
}

/// An issue that is less urgent than one that waits for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityConflict {
    #[serde(flatten)]
    pub issue: IssueBrief,
    /// The priority of the most urgent issue that waits for it
    pub should_be: Priority,
    /// That issue
    pub because_of: IssueBrief,
    /// How many issues wait for it, directly or indirectly
    pub behind: u32,
}

/// Figures of every issue.
pub(super) struct Numbers {
    pub(super) freed: Vec<u32>,
    pub(super) behind: Vec<u32>,
}

impl Triage {
    pub(super) fn numbers(&self) -> Numbers {
        Numbers { freed: self.graph.count_freed(|node| self.can_be_ready(node)), behind: self.graph.count_behind() }
    }

    /// How often `done` is called at most, with how much is done.
    pub fn steps(&self) -> usize {
        sources(self.graph.len())
    }

    /// At most `limit` of each kind. A claim is stale after `stale`.
    pub fn insights(&self, limit: usize, stale: Span, done: impl FnMut(usize)) -> Insights {
        let numbers = self.numbers();
        let between = betweenness(&self.graph, done);
        let points = articulations(&self.graph);
        let neighbours = |node: u32| self.graph.waits_for(node).len() + self.graph.dependents(node).len();
        let mut degrees = vec![0.0; self.graph.len()];
        points.iter().for_each(|node| degrees[at(*node)] = neighbours(*node) as f64);
        let ranks = page_rank(&self.graph);
        let rested_on = |node: u32| !self.graph.dependents(node).is_empty();
        let mut conflicts = self.priority_conflicts(&numbers);
        let priority_conflict_count = count(conflicts.len());
        conflicts.truncate(limit);
        Insights {
            issues: count(self.graph.len()),
            waits: count(self.graph.edge_count()),
            stuck: count(self.graph.stuck()),
            approximate: between.sources.is_some(),
            sources: between.sources.map(count),
            bottlenecks: self.ranked(&between.scores, |_| true, &numbers, limit),
            keystones: self.ranked(&ranks, rested_on, &numbers, limit),
            critical_path: self.critical_path(limit),
            articulation_points: self.ranked(&degrees, |_| true, &numbers, limit),
            articulation_count: count(points.len()),
            stale_claims: self.stale_claims(stale, &numbers, limit),
            blocked_cascades: self.cascades(&numbers, limit),
            priority_conflicts: conflicts,
            priority_conflict_count,
        }
    }

    /// The issues with the highest scores above none, the more urgent one first of two with the same.
    fn ranked(&self, scores: &[f64], is_meant: impl Fn(u32) -> bool, numbers: &Numbers, limit: usize) -> Vec<Ranked> {
        let mut nodes: Vec<u32> =
            self.graph.nodes().filter(|node| scores[at(*node)] > 0.0 && is_meant(*node)).collect();
        nodes.sort_by(|a, b| scores[at(*b)].total_cmp(&scores[at(*a)]));
        let ranked = |node: u32| Ranked {
            issue: self.brief(node),
            score: scores[at(node)],
            waits_for: count(self.graph.waits_for(node).len()),
            blocks: count(self.graph.dependents(node).len()),
            behind: numbers.behind[at(node)],
            frees: numbers.freed[at(node)],
        };
        nodes.into_iter().take(limit).map(ranked).collect()
    }

    fn stale_claims(&self, stale: Span, numbers: &Numbers, limit: usize) -> Vec<StaleClaim> {
        let idle = |node: &u32| self.now.since(self.item(*node).updated_at).map_or(0, Span::as_millis);
        let is_stale = |node: &u32| self.item(*node).status == Status::InProgress && idle(node) >= stale.as_millis();
        let mut nodes: Vec<u32> = self.graph.nodes().filter(is_stale).collect();
        nodes.sort_by_key(|node| self.item(*node).updated_at);
        let claim = |node: u32| StaleClaim {
            issue: self.brief(node),
            assignee: self.item(node).assignee.clone(),
            updated_at: self.item(node).updated_at,
            idle_hours: idle(&node) / 3_600_000,
            behind: numbers.behind[at(node)],
        };
        nodes.into_iter().take(limit).map(claim).collect()
    }

    fn cascades(&self, numbers: &Numbers, limit: usize) -> Vec<Cascade> {
        let chains = super::Chains::counted(&self.graph);
        let holds_up = |node: &u32| self.graph.waits_for(*node).is_empty() && numbers.behind[at(*node)] > 0;
        let mut nodes: Vec<u32> = self.graph.nodes().filter(holds_up).collect();
        nodes.sort_by_key(|node| std::cmp::Reverse(numbers.behind[at(*node)]));
        let cascade = |node: u32| Cascade {
            issue: self.brief(node),
            assignee: self.item(node).assignee.clone(),
            blocks: count(self.graph.dependents(node).len()),
            behind: numbers.behind[at(node)],
            frees: numbers.freed[at(node)],
            depth: chains.above(node).map_or(0, |length| u32::try_from(length - 1).unwrap_or_default()),
        };
        nodes.into_iter().take(limit).map(cascade).collect()
    }

    /// The most urgent of those that wait for each issue, if that is more urgent than the issue.
    fn priority_conflicts(&self, numbers: &Numbers) -> Vec<PriorityConflict> {
        let urgent = self.most_urgent_behind();
        let mut nodes: Vec<(u32, u32)> = urgent
            .into_iter()
            .enumerate()
            .filter_map(|(node, other)| Some((number(node), other?)))
            .filter(|(node, other)| self.item(*other).priority < self.item(*node).priority)
            .collect();
        nodes.sort_by_key(|(node, other)| {
            (self.item(*other).priority, std::cmp::Reverse(self.item(*node).priority), *node)
        });
        let conflict = |(node, other): (u32, u32)| PriorityConflict {
            issue: self.brief(node),
            should_be: self.item(other).priority,
            because_of: self.brief(other),
            behind: numbers.behind[at(node)],
        };
        nodes.into_iter().map(conflict).collect()
    }

    /// For every issue, which of those that wait for it comes first. Nodes are in order, so that is the lowest.
    pub(super) fn most_urgent_behind(&self) -> Vec<Option<u32>> {
        let mut urgent = vec![None; self.graph.len()];
        for &node in self.graph.order().iter().rev() {
            let dependents = WaitGraph::dependents(&self.graph, node);
            let own = dependents.iter().copied().min();
            let theirs = dependents.iter().filter_map(|dependent| urgent[at(*dependent)]).min();
            urgent[at(node)] = [own, theirs].into_iter().flatten().min();
        }
        urgent
    }
}
