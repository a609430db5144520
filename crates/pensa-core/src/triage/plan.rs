//! Who could do what in parallel, and when it could all be done.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::at;
use super::path::Unit;
use super::{Chains, Forecast, IssueBrief, Triage, count};
use crate::id::IssueId;
use crate::issue::Status;

/// A plan to work on all issues that are not closed, in parallel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Issues that are not closed
    pub issues: u32,
    /// The number of agents, if given
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<u32>,
    /// Issues in or behind a cycle, which are last in their track
    pub stuck: u32,
    /// The ready issues to start now, by how many others they make ready
    pub start: Vec<StartIssue>,
    /// Each issue is in one track. Each agent has one track; without agents, tracks do not wait for each other
    pub tracks: Vec<Track>,
    /// The longest chain, which cannot be done in parallel
    pub longest_chain: Chain,
    /// When all issues may be closed; absent if too few were closed so far
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
}

/// An issue to start now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartIssue {
    #[serde(flatten)]
    pub issue: IssueBrief,
    /// The number of its track
    pub track: u32,
    /// How many issues become ready once it and then each issue it unblocks is closed
    pub frees: u32,
    /// Issues in the longest chain that waits for it
    pub depth: u32,
}

/// Issues to do one after the other, or independently of other tracks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Track {
    /// From 1
    pub track: u32,
    /// In an order that respects dependencies
    pub issues: Vec<TrackIssue>,
    /// The length of its longest chain, in issues
    pub depth: u32,
}

/// An issue in a track.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackIssue {
    #[serde(flatten)]
    pub issue: IssueBrief,
    /// The issues it waits for
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<IssueId>,
}

/// The longest chain of issues that wait for each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// The unit of length and slack: issues, or seconds of estimates if all issues of the longest chain have one
    pub unit: Unit,
    pub length: i64,
    /// Its issues, the first to be done first
    pub issues: Vec<ChainStep>,
    /// Other issues, by slack
    pub slack: Vec<ChainStep>,
}

/// An issue and the chains through it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainStep {
    #[serde(flatten)]
    pub issue: IssueBrief,
    /// Slack: how much longer its chains could be without exceeding the longest one
    pub slack: i64,
    /// Its own share of the length
    pub length: i64,
}

impl Triage {
    /// The longest chain, and at most `limit` other issues by their slack.
    pub(super) fn critical_path(&self, limit: usize) -> Chain {
        let chains = self.chains();
        let longest = chains.longest(&self.graph);
        let on_it: BTreeSet<u32> = longest.iter().copied().collect();
        let step = |node: u32| {
            let (slack, length) = (chains.slack(node)?, chains.own(node)?);
            Some(ChainStep { issue: self.brief(node), slack, length })
        };
        let is_connected =
            |node: &u32| !self.graph.waits_for(*node).is_empty() || !self.graph.dependents(*node).is_empty();
        let mut others: Vec<u32> =
            self.graph.nodes().filter(|node| !on_it.contains(node) && is_connected(node)).collect();
        others.sort_by_key(|node| chains.slack(*node).unwrap_or(i64::MAX));
        Chain {
            unit: chains.unit,
            length: chains.length,
            issues: longest.into_iter().filter_map(step).collect(),
            slack: others.into_iter().filter_map(step).take(limit).collect(),
        }
    }

    pub fn plan(&self, agents: Option<u32>, limit: usize) -> Plan {
        let numbers = self.numbers();
        let chains = Chains::counted(&self.graph);
        let tracks = match agents {
            Some(agents) => self.schedule(agents.max(1) as usize, &chains),
            None => self.parts(&chains),
        };
        let mut track_of = vec![0; self.graph.len()];
        for (track, nodes) in (1..).zip(&tracks) {
            nodes.iter().for_each(|node| track_of[at(*node)] = track);
        }
        let depth = |node: u32| chains.above(node).map_or(0, |length| u32::try_from(length - 1).unwrap_or_default());
        let mut start: Vec<u32> = self.graph.nodes().filter(|node| self.is_ready(*node)).collect();
        start.sort_by_key(|node| Reverse((numbers.freed[at(*node)], depth(*node))));
        let start = start.into_iter().take(limit).map(|node| StartIssue {
            issue: self.brief(node),
            track: track_of[at(node)],
            frees: numbers.freed[at(node)],
            depth: depth(node),
        });
        Plan {
            issues: count(self.graph.len()),
            agents,
            stuck: count(self.graph.stuck()),
            start: start.collect(),
            tracks: (1..).zip(tracks).map(|(track, nodes)| self.track(track, &nodes)).collect(),
            longest_chain: self.critical_path(0),
            forecast: Forecast::new(self.graph.len(), &self.closings, self.now),
        }
    }

    fn track(&self, track: u32, nodes: &[u32]) -> Track {
        let mut place = HashMap::new();
        let mut longest = 0;
        for node in nodes {
            let before = self.graph.waits_for(*node).iter().filter_map(|wait| place.get(wait)).max();
            let length = before.copied().unwrap_or(0) + 1;
            longest = longest.max(length);
            place.insert(*node, length);
        }
        let step = |node: &u32| TrackIssue {
            issue: self.brief(*node),
            after: self.graph.waits_for(*node).iter().map(|wait| self.item(*wait).id.clone()).collect(),
        };
        Track { track, issues: nodes.iter().map(step).collect(), depth: longest }
    }

    /// The parts of the graph that do not wait for each other, the one with the most to do first.
    fn parts(&self, chains: &Chains) -> Vec<Vec<u32>> {
        let part_of = self.graph.parts();
        let mut parts: Vec<Vec<u32>> = vec![Vec::new(); self.graph.len()];
        for &node in &self.in_turn(chains) {
            parts[at(part_of[at(node)])].push(node);
        }
        parts.retain(|part| !part.is_empty());
        parts.sort_by_key(|part| (Reverse(part.len()), part.iter().min().copied()));
        parts
    }

    /// Issues in an order that can be worked in: what the longest chains wait for first, then what is most urgent.
    fn in_turn(&self, chains: &Chains) -> Vec<u32> {
        self.schedule(1, chains).pop().unwrap_or_default()
    }

    /// Gives each agent that is free the next issue that waits for nothing undone, as if all took as long. What can never
    /// begin, because of a cycle, comes last in the first track.
    fn schedule(&self, agents: usize, chains: &Chains) -> Vec<Vec<u32>> {
        let mut tracks = vec![Vec::new(); agents.clamp(1, self.graph.len().max(1))];
        let turn = |node: u32| (self.item(node).status == Status::InProgress, chains.above(node), Reverse(node));
        let mut left: Vec<usize> = self.graph.nodes().map(|node| self.graph.waits_for(node).len()).collect();
        let mut free: BinaryHeap<_> = self.graph.nodes().filter(|node| left[at(*node)] == 0).map(turn).collect();
        while !free.is_empty() {
            let mut round = Vec::new();
            for track in &mut tracks {
                let Some((_, _, Reverse(node))) = free.pop() else { break };
                track.push(node);
                round.push(node);
            }
            for &dependent in round.iter().flat_map(|node| self.graph.dependents(*node)) {
                left[at(dependent)] -= 1;
                if left[at(dependent)] == 0 {
                    free.push(turn(dependent));
                }
            }
        }
        tracks[0].extend(self.graph.missing());
        tracks.retain(|track| !track.is_empty());
        tracks
    }
}
