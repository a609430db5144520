//! The longest chain of waiting, and how much later each issue may be done without making it longer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::{WaitGraph, at};

/// What the length of a chain counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Unit {
    /// One for each issue
    Issues,
    /// The estimates of the issues, all of which have one
    Seconds,
}

/// The longest chains through each node.
#[derive(Debug)]
pub struct Chains {
    pub unit: Unit,
    /// That of the longest chain.
    pub length: i64,
    lengths: Vec<Option<i64>>,
    /// With the node itself, the longest chain of what it waits for, and of what waits for it.
    below: Vec<Option<i64>>,
    above: Vec<Option<i64>>,
}

impl Chains {
    /// Chains of issues, or by estimates if all issues of the longest one have one.
    pub fn new(graph: &WaitGraph, estimate: impl Fn(u32) -> Option<i64>) -> Self {
        let counted = Self::of(graph, Unit::Issues, graph.nodes().map(|_| Some(1)).collect());
        let estimates: Vec<Option<i64>> = graph.nodes().map(estimate).collect();
        let longest = counted.longest(graph);
        if longest.is_empty() || longest.iter().any(|node| estimates[at(*node)].is_none()) {
            return counted;
        }
        Self::of(graph, Unit::Seconds, estimates)
    }

    /// Chains of issues only.
    pub fn counted(graph: &WaitGraph) -> Self {
        Self::of(graph, Unit::Issues, graph.nodes().map(|_| Some(1)).collect())
    }

    fn of(graph: &WaitGraph, unit: Unit, lengths: Vec<Option<i64>>) -> Self {
        let (mut below, mut above) = (vec![None; graph.len()], vec![None; graph.len()]);
        for &node in graph.order() {
            below[at(node)] = with_longest(lengths[at(node)], graph.waits_for(node), &below);
        }
        for &node in graph.order().iter().rev() {
            above[at(node)] = with_longest(lengths[at(node)], graph.dependents(node), &above);
        }
        let length = below.iter().flatten().copied().max().unwrap_or_default();
        Self { unit, length, lengths, below, above }
    }

    /// The longest chain, what has to be done first in front. Of several, the one whose issues come first.
    pub fn longest(&self, graph: &WaitGraph) -> Vec<u32> {
        let is_first = |node: &u32| self.above[at(*node)] == Some(self.length);
        let mut chain: Vec<u32> = graph.nodes().filter(is_first).take(1).collect();
        while let Some(&last) = chain.last() {
            let left = self.above[at(last)].zip(self.lengths[at(last)]).map(|(all, own)| all - own);
            let is_next = |node: &&u32| left.is_some() && self.above[at(**node)] == left;
            match graph.dependents(last).iter().find(is_next) {
                Some(next) => chain.push(*next),
                None => break,
            }
        }
        chain
    }

    /// How much longer the chains of a node could be; nothing for one without a length.
    pub fn slack(&self, node: u32) -> Option<i64> {
        let (below, above) = (self.below[at(node)]?, self.above[at(node)]?);
        Some(self.length - (below + above - self.lengths[at(node)]?))
    }

    /// The length of the longest chain that waits for a node, with the node.
    pub fn above(&self, node: u32) -> Option<i64> {
        self.above[at(node)]
    }

    /// The length of a node by itself.
    pub fn own(&self, node: u32) -> Option<i64> {
        self.lengths[at(node)]
    }
}

fn with_longest(own: Option<i64>, others: &[u32], lengths: &[Option<i64>]) -> Option<i64> {
    let longest = others.iter().filter_map(|other| lengths[at(*other)]).max();
    own.map(|own| own.saturating_add(longest.unwrap_or_default()))
}
