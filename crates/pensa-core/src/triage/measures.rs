//! How much each node matters: PageRank, betweenness and articulation points, as networkx defines them.

use petgraph::algo::articulation_points::articulation_points;
use petgraph::graph::UnGraph;

use super::graph::{WaitGraph, at};

/// PageRank's damping: the probability that a walk follows an edge and does not start again.
const DAMPING: f64 = 0.85;
/// Ranks have converged when all together they change less than this for each node.
const TOLERANCE: f64 = 1e-6;
const MAX_ROUNDS: usize = 100;
/// With more nodes than this, betweenness is estimated.
const MAX_EXACT: usize = 20_000;
/// From how many nodes paths are followed then.
const SOURCES: usize = 256;

/// The share of a random walk along waiting that each node has: high for what much rests on.
pub fn page_rank(graph: &WaitGraph) -> Vec<f64> {
    let nodes = graph.len();
    if nodes == 0 {
        return Vec::new();
    }
    let share = 1.0 / nodes as f64;
    let mut ranks = vec![share; nodes];
    for _ in 0..MAX_ROUNDS {
        let ends = graph.nodes().filter(|node| graph.waits_for(*node).is_empty());
        let at_ends: f64 = ends.map(|node| ranks[at(node)]).sum();
        let mut next = vec![(DAMPING * at_ends + 1.0 - DAMPING) * share; nodes];
        for node in graph.nodes() {
            let waits = graph.waits_for(node);
            for &wait in waits {
                next[at(wait)] += DAMPING * ranks[at(node)] / waits.len() as f64;
            }
        }
        let change: f64 = next.iter().zip(&ranks).map(|(new, old)| (new - old).abs()).sum();
        ranks = next;
        if change < TOLERANCE * nodes as f64 {
            break;
        }
    }
    ranks
}

/// For each node, which part of the shortest chains between others runs through it.
#[derive(Debug)]
pub struct Betweenness {
    pub scores: Vec<f64>,
    /// From how many nodes chains were followed, if not from all.
    pub sources: Option<usize>,
}

/// Follows the shortest chains from every node, or from some if there are many; says of each when it is done.
pub fn betweenness(graph: &WaitGraph, mut done: impl FnMut(usize)) -> Betweenness {
    let nodes = graph.len();
    let step = if nodes > MAX_EXACT { nodes.div_ceil(SOURCES) } else { 1 };
    let mut walk = Walk::new(nodes);
    let mut sources = 0;
    for source in graph.nodes().step_by(step) {
        walk.add_chains_from(graph, source);
        sources += 1;
        done(sources);
    }
    let others = nodes.saturating_sub(1) as f64 * nodes.saturating_sub(2) as f64;
    let scale = if others > 0.0 { nodes as f64 / sources as f64 / others } else { 1.0 };
    walk.scores.iter_mut().for_each(|score| *score *= scale);
    Betweenness { scores: walk.scores, sources: (step > 1).then_some(sources) }
}

/// How many calls of `done` to expect.
pub(super) fn sources(nodes: usize) -> usize {
    if nodes > MAX_EXACT { nodes.div_ceil(nodes.div_ceil(SOURCES)) } else { nodes }
}

/// Brandes' algorithm, with memory that is used again for each source.
struct Walk {
    scores: Vec<f64>,
    /// Nodes in the order of their distance.
    reached: Vec<u32>,
    visits: Vec<Visit>,
}

#[derive(Clone, Copy)]
struct Visit {
    distance: u32,
    /// Shortest chains from the source to here.
    chains: f64,
    /// What this node has of the chains from the source.
    part: f64,
}

const UNSEEN: Visit = Visit { distance: u32::MAX, chains: 0.0, part: 0.0 };

impl Walk {
    fn new(nodes: usize) -> Self {
        Self { scores: vec![0.0; nodes], reached: Vec::with_capacity(nodes), visits: vec![UNSEEN; nodes] }
    }

    fn add_chains_from(&mut self, graph: &WaitGraph, source: u32) {
        let Self { scores, reached, visits } = self;
        reached.push(source);
        visits[at(source)] = Visit { distance: 0, chains: 1.0, part: 0.0 };
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            let Visit { distance, chains, .. } = visits[at(node)];
            for &wait in graph.waits_for(node) {
                let visit = &mut visits[at(wait)];
                if visit.distance == u32::MAX {
                    visit.distance = distance + 1;
                    reached.push(wait);
                }
                if visit.distance == distance + 1 {
                    visit.chains += chains;
                }
            }
        }
        for &node in reached.iter().rev() {
            let Visit { distance, chains, .. } = visits[at(node)];
            let further = graph.waits_for(node).iter().map(|wait| visits[at(*wait)]);
            let further = further.filter(|visit| visit.distance == distance + 1);
            let part: f64 = further.map(|visit| chains / visit.chains * (1.0 + visit.part)).sum();
            visits[at(node)].part = part;
            if node != source {
                scores[at(node)] += part;
            }
        }
        reached.drain(..).for_each(|node| visits[at(node)] = UNSEEN);
    }
}

/// The nodes without which their part of the graph would fall apart, whichever way edges run.
pub fn articulations(graph: &WaitGraph) -> Vec<u32> {
    let edges = graph.nodes().flat_map(|node| graph.waits_for(node).iter().map(move |wait| (node, *wait)));
    let mut undirected = UnGraph::<(), (), u32>::from_edges(edges);
    while undirected.node_count() < graph.len() {
        undirected.add_node(());
    }
    let points = articulation_points(&undirected);
    let mut points: Vec<u32> = points.into_iter().map(|node| super::graph::number(node.index())).collect();
    points.sort_unstable();
    points
}
