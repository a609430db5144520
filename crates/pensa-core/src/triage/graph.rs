//! The graph of issues that are not closed: an edge runs from an issue that waits to what it waits for.
//!
//! Nodes are numbers; what they stand for is left to the modules above.

use petgraph::Directed;
use petgraph::csr::Csr;
use petgraph::unionfind::UnionFind;

type Rows = Csr<(), (), Directed, u32>;

/// Nodes that one pass over the graph counts.
const BATCH: usize = 512;

#[derive(Debug)]
pub struct WaitGraph {
    waits: Rows,
    dependents: Rows,
    /// Every node after all that it waits for. Those in or behind a cycle are missing.
    order: Vec<u32>,
}

impl WaitGraph {
    /// Repeated edges count once; an edge from a node to itself is left out.
    pub fn new(nodes: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut edges: Vec<(u32, u32)> = edges.into_iter().filter(|(from, to)| from != to).collect();
        let waits = rows(nodes, &mut edges);
        edges.iter_mut().for_each(|(from, to)| std::mem::swap(from, to));
        let dependents = rows(nodes, &mut edges);
        let mut graph = Self { waits, dependents, order: Vec::new() };
        graph.order = graph.sorted();
        graph
    }

    pub fn len(&self) -> usize {
        self.waits.node_count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn edge_count(&self) -> usize {
        self.waits.edge_count()
    }

    pub fn nodes(&self) -> impl Iterator<Item = u32> + use<> {
        (0..self.len()).map(number)
    }

    /// What a node waits for, directly.
    pub fn waits_for(&self, node: u32) -> &[u32] {
        self.waits.neighbors_slice(node)
    }

    /// What waits for a node, directly.
    pub fn dependents(&self, node: u32) -> &[u32] {
        self.dependents.neighbors_slice(node)
    }

    /// Every node after all that it waits for, but for those in or behind a cycle.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// How many nodes are in or behind a cycle.
    pub fn stuck(&self) -> usize {
        self.len() - self.order.len()
    }

    fn sorted(&self) -> Vec<u32> {
        let mut left: Vec<usize> = self.nodes().map(|node| self.waits_for(node).len()).collect();
        let mut order: Vec<u32> = self.nodes().filter(|node| left[at(*node)] == 0).collect();
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            for &dependent in self.dependents(node) {
                left[at(dependent)] -= 1;
                if left[at(dependent)] == 0 {
                    order.push(dependent);
                }
            }
        }
        order
    }

    /// What is free of waiting once a node is closed, then once that is closed too, and so on, wave by wave.
    pub fn freed_by(&self, node: u32) -> Vec<Vec<u32>> {
        let mut closed = vec![0; self.len()];
        let mut waves = Vec::new();
        let mut wave = vec![node];
        loop {
            let mut next = Vec::new();
            for &dependent in wave.iter().flat_map(|node| self.dependents(*node)) {
                closed[at(dependent)] += 1;
                if dependent != node && closed[at(dependent)] == self.waits_for(dependent).len() {
                    next.push(dependent);
                }
            }
            if next.is_empty() {
                return waves;
            }
            next.sort_unstable();
            waves.push(next.clone());
            wave = next;
        }
    }

    /// For every node, how many of those that count are free of waiting once it, and then what it frees, is closed.
    ///
    /// A node is freed by those through which every chain from it runs: its dominators, seen from what waits for nothing.
    pub fn count_freed(&self, counts: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut tree = Dominators::new(self.len());
        for &node in &self.order {
            let meeting = self.waits_for(node).iter().copied().reduce(|a, b| tree.meeting(a, b));
            tree.add(node, meeting);
        }
        let mut freed = vec![0; self.len() + 1];
        for &node in self.order.iter().rev() {
            freed[at(tree.parent[at(node)])] += freed[at(node)] + u32::from(counts(node));
        }
        freed.pop();
        if self.stuck() > 0 {
            for node in self.missing() {
                let all = self.freed_by(node).into_iter().flatten();
                freed[at(node)] = all.filter(|node| counts(*node)).count().try_into().unwrap_or(u32::MAX);
            }
        }
        freed
    }

    /// For every node, how many wait for it, directly or by way of others. Those in or behind a cycle have none.
    pub fn count_behind(&self) -> Vec<u32> {
        let mut counts = vec![0; self.len()];
        let mut reached_from = vec![[0_u64; BATCH / 64]; self.len()];
        for first in (0..self.order.len()).step_by(BATCH) {
            reached_from.fill([0; BATCH / 64]);
            let end = self.order.len().min(first + BATCH);
            for (place, &node) in self.order[..end].iter().enumerate().rev() {
                let mut reached = reached_from[at(node)];
                // Most nodes are far from those of the batch.
                if place < first && reached == [0; BATCH / 64] {
                    continue;
                }
                counts[at(node)] += reached.iter().map(|word| word.count_ones()).sum::<u32>();
                if let Some(bit) = place.checked_sub(first) {
                    reached[bit / 64] |= 1 << (bit % 64);
                }
                for &wait in self.waits_for(node) {
                    let to = &mut reached_from[at(wait)];
                    (0..BATCH / 64).for_each(|word| to[word] |= reached[word]);
                }
            }
        }
        counts
    }

    /// Everything that `next` leads to from a node, without the node.
    pub fn reached(&self, node: u32, next: impl Fn(&Self, u32) -> &[u32]) -> Vec<u32> {
        let mut seen = vec![false; self.len()];
        seen[at(node)] = true;
        let (mut found, mut stack) = (Vec::new(), vec![node]);
        while let Some(node) = stack.pop() {
            for &other in next(self, node) {
                if !std::mem::replace(&mut seen[at(other)], true) {
                    found.push(other);
                    stack.push(other);
                }
            }
        }
        found
    }

    /// For every node, the number of the part of the graph that it is in, whichever way edges run.
    pub fn parts(&self) -> Vec<u32> {
        let mut parts = UnionFind::new(self.len());
        for node in self.nodes() {
            for &wait in self.waits_for(node) {
                parts.union(node, wait);
            }
        }
        parts.into_labeling()
    }

    /// Those in or behind a cycle.
    pub fn missing(&self) -> Vec<u32> {
        let mut is_missing = vec![true; self.len()];
        self.order.iter().for_each(|node| is_missing[at(*node)] = false);
        self.nodes().filter(|node| is_missing[at(*node)]).collect()
    }
}

/// Nodes below those through which every chain from them runs, with jumps that make finding a common one fast.
struct Dominators {
    parent: Vec<u32>,
    jump: Vec<u32>,
    depth: Vec<u32>,
}

impl Dominators {
    /// The root is one more than the last node.
    fn new(nodes: usize) -> Self {
        let root = number(nodes);
        Self { parent: vec![root; nodes + 1], jump: vec![root; nodes + 1], depth: vec![0; nodes + 1] }
    }

    fn add(&mut self, node: u32, below: Option<u32>) {
        let parent = below.unwrap_or(number(self.parent.len() - 1));
        let jump = self.jump[at(parent)];
        let depth = |node: u32| self.depth[at(node)];
        let is_even = depth(parent) - depth(jump) == depth(jump) - depth(self.jump[at(jump)]);
        self.jump[at(node)] = if is_even { self.jump[at(jump)] } else { parent };
        self.depth[at(node)] = depth(parent) + 1;
        self.parent[at(node)] = parent;
    }

    /// The lowest node that both are below.
    fn meeting(&self, mut a: u32, mut b: u32) -> u32 {
        if self.depth[at(a)] < self.depth[at(b)] {
            std::mem::swap(&mut a, &mut b);
        }
        while self.depth[at(a)] > self.depth[at(b)] {
            let jump = self.jump[at(a)];
            a = if self.depth[at(jump)] >= self.depth[at(b)] { jump } else { self.parent[at(a)] };
        }
        while a != b {
            let by_jump = self.jump[at(a)] != self.jump[at(b)];
            let from = if by_jump { &self.jump } else { &self.parent };
            (a, b) = (from[at(a)], from[at(b)]);
        }
        a
    }
}

fn rows(nodes: usize, edges: &mut Vec<(u32, u32)>) -> Rows {
    edges.sort_unstable();
    edges.dedup();
    let mut rows = Rows::from_sorted_edges(edges).unwrap_or_default();
    while rows.node_count() < nodes {
        rows.add_node(());
    }
    rows
}

/// A node as an index.
pub(super) fn at(node: u32) -> usize {
    node as usize
}

pub(super) fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn closing(graph: &WaitGraph, node: u32) -> Vec<u32> {
        let mut all: Vec<u32> = graph.freed_by(node).into_iter().flatten().collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn waves_follow_what_is_closed() {
        // 1 and 2 wait for 0, 3 for both, 4 for 3 and for 5.
        let graph = WaitGraph::new(6, [(1, 0), (2, 0), (3, 1), (3, 2), (4, 3), (4, 5), (4, 5), (4, 4)]);
        assert_eq!(graph.edge_count(), 6);
        assert_eq!(graph.freed_by(0), [vec![1, 2], vec![3]]);
        assert_eq!(graph.count_freed(|_| true), [3, 0, 0, 0, 0, 0]);
        assert_eq!(graph.count_behind(), [4, 2, 2, 1, 0, 1]);
        assert_eq!(graph.parts(), WaitGraph::new(6, []).parts().iter().map(|_| graph.parts()[0]).collect::<Vec<_>>());
    }

    #[test]
    fn a_cycle_is_free_once_one_of_it_is_closed() {
        let graph = WaitGraph::new(4, [(0, 1), (1, 0), (2, 1), (3, 2)]);
        assert_eq!((graph.stuck(), graph.order().len()), (4, 0));
        assert_eq!(graph.freed_by(1), [vec![0, 2], vec![3]]);
        assert_eq!(graph.count_freed(|node| node != 3), [2, 2, 0, 0]);
    }

    proptest! {
        #[test]
        fn counts_equal_walks(edges in proptest::collection::vec((0..40_u32, 0..40_u32), 0..90), back in 0..8_u32) {
            let is_allowed = |(from, to): &(u32, u32)| from > to || back == 0;
            let graph = WaitGraph::new(40, edges.into_iter().filter(is_allowed));
            let (freed, behind) = (graph.count_freed(|_| true), graph.count_behind());
            for node in graph.nodes() {
                prop_assert_eq!(at(freed[at(node)]), closing(&graph, node).len());
                if graph.stuck() == 0 {
                    prop_assert_eq!(at(behind[at(node)]), graph.reached(node, WaitGraph::dependents).len());
                }
            }
        }
    }
}
