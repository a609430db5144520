//! Graph algorithms on dependencies: reachability and cycles.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use crate::dep::Dep;
use crate::error::Result;
use crate::id::IssueId;

/// Calls a visitor with every neighbour of a node.
pub type Neighbours<'a> = dyn FnMut(&str, &mut dyn FnMut(&str)) -> Result<()> + 'a;

/// Whether making `child` depend on `parent` would close a cycle; `None` if `budget` steps are not enough to decide.
///
/// The search runs from both ends in turn and stops when one side is exhausted. Its cost is bounded by the smaller of the
/// two sides, so adding to the end of a long chain is as cheap as to a short one.
pub fn would_cycle(
    child: &IssueId,
    parent: &IssueId,
    depends_on: &mut Neighbours<'_>,
    dependents: &mut Neighbours<'_>,
    budget: usize,
) -> Result<Option<bool>> {
    if child == parent {
        return Ok(Some(true));
    }
    let mut above = Frontier::from(parent);
    let mut below = Frontier::from(child);
    for _ in 0..budget.div_ceil(2) {
        let up = above.step(&below.seen, depends_on)?;
        let down = if matches!(up, StepResult::Continue) { below.step(&above.seen, dependents)? } else { up };
        match down {
            StepResult::Met => return Ok(Some(true)),
            StepResult::Exhausted => return Ok(Some(false)),
            StepResult::Continue => {}
        }
    }
    Ok(None)
}

/// The whole graph in memory, for searches that would need too many database queries.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: HashMap<Box<str>, usize>,
    /// Pairs of a node and a node that it depends on.
    edges: Vec<(usize, usize)>,
}

impl Graph {
    pub fn add(&mut self, issue: &str, depends_on: &str) {
        let edge = (self.node(issue), self.node(depends_on));
        self.edges.push(edge);
    }

    fn node(&mut self, id: &str) -> usize {
        match self.nodes.get(id) {
            Some(node) => *node,
            None => {
                let node = self.nodes.len();
                self.nodes.insert(id.into(), node);
                node
            }
        }
    }

    /// Whether `issue` depends on `other`, directly or transitively.
    pub fn depends(mut self, issue: &IssueId, other: &IssueId) -> bool {
        let (Some(&start), Some(&goal)) = (self.nodes.get(issue.as_str()), self.nodes.get(other.as_str())) else {
            return false;
        };
        self.edges.sort_unstable();
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            let first = self.edges.partition_point(|(from, _)| *from < node);
            for &(_, next) in self.edges[first..].iter().take_while(|(from, _)| *from == node) {
                if next == goal {
                    return true;
                }
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push(next);
                }
            }
        }
        false
    }
}

/// The nodes reached from one end. Both fields share the ids to save memory.
struct Frontier {
    seen: HashSet<Rc<str>>,
    queue: VecDeque<Rc<str>>,
}

enum StepResult {
    /// A node of the other side was reached.
    Met,
    /// No nodes are left.
    Exhausted,
    Continue,
}

impl Frontier {
    fn from(start: &IssueId) -> Self {
        let start: Rc<str> = start.as_str().into();
        Self { seen: HashSet::from([start.clone()]), queue: VecDeque::from([start]) }
    }

    fn step(&mut self, other: &HashSet<Rc<str>>, neighbours: &mut Neighbours<'_>) -> Result<StepResult> {
        let Some(node) = self.queue.pop_front() else {
            return Ok(StepResult::Exhausted);
        };
        let mut met = false;
        neighbours(&node, &mut |neighbour| {
            met |= other.contains(neighbour);
            if !self.seen.contains(neighbour) {
                let neighbour: Rc<str> = neighbour.into();
                self.seen.insert(neighbour.clone());
                self.queue.push_back(neighbour);
            }
        })?;
        Ok(if met { StepResult::Met } else { StepResult::Continue })
    }
}

/// One cycle for each strongly connected component of issues, starting at its smallest id, in the order of ids.
pub fn cycles(deps: &[Dep]) -> Vec<Vec<IssueId>> {
    let mut edges: HashMap<&IssueId, Vec<&IssueId>> = HashMap::new();
    for dep in deps {
        edges.entry(&dep.issue_id).or_default().push(&dep.depends_on_id);
    }
    for targets in edges.values_mut() {
        targets.sort();
    }
    let mut cycles: Vec<Vec<IssueId>> = components(&edges)
        .into_iter()
        .map(|component| shortest_cycle(&edges, &component).into_iter().cloned().collect())
        .collect();
    cycles.sort();
    cycles
}

/// Strongly connected components that contain a cycle, by Tarjan's algorithm. Not recursive, because chains may be long.
fn components<'a>(edges: &HashMap<&'a IssueId, Vec<&'a IssueId>>) -> Vec<HashSet<&'a IssueId>> {
    let mut roots: Vec<&IssueId> = edges.keys().copied().collect();
    roots.sort();
    let mut index: HashMap<&IssueId, usize> = HashMap::new();
    let mut low: HashMap<&IssueId, usize> = HashMap::new();
    let mut on_stack: HashSet<&IssueId> = HashSet::new();
    let mut stack = Vec::new();
    let mut components = Vec::new();
    let targets = |node: &IssueId| edges.get(node).map(Vec::as_slice).unwrap_or_default();

    for root in roots {
        if index.contains_key(root) {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.pop() {
            if next == 0 {
                let order = index.len();
                index.insert(node, order);
                low.insert(node, order);
                stack.push(node);
                on_stack.insert(node);
            }
            if let Some(&target) = targets(node).get(next) {
                path.push((node, next + 1));
                if !index.contains_key(target) {
                    path.push((target, 0));
                } else if on_stack.contains(target) {
                    let reached = low[node].min(index[target]);
                    low.insert(node, reached);
                }
                continue;
            }
            if low[node] == index[node] {
                let start = stack.iter().rposition(|n| *n == node).unwrap_or(0);
                let component: HashSet<&IssueId> = stack.drain(start..).collect();
                component.iter().for_each(|n| {
                    on_stack.remove(n);
                });
                if component.len() > 1 || targets(node).contains(&node) {
                    components.push(component);
                }
            }
            if let Some((above, _)) = path.last() {
                let reached = low[above].min(low[node]);
                low.insert(above, reached);
            }
        }
    }
    components
}

/// The shortest path from the component's smallest id back to itself.
fn shortest_cycle<'a>(
    edges: &HashMap<&'a IssueId, Vec<&'a IssueId>>,
    component: &HashSet<&'a IssueId>,
) -> Vec<&'a IssueId> {
    let Some(&start) = component.iter().min() else {
        return Vec::new();
    };
    let mut came_from: HashMap<&IssueId, &IssueId> = HashMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &target in edges.get(node).map(Vec::as_slice).unwrap_or_default() {
            if target == start {
                let mut cycle = vec![node];
                let mut at = node;
                while let Some(&before) = came_from.get(at) {
                    cycle.push(before);
                    at = before;
                }
                cycle.reverse();
                return cycle;
            }
            if component.contains(target) && !came_from.contains_key(target) {
                came_from.insert(target, node);
                queue.push_back(target);
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(n: u32) -> IssueId {
        format!("pn-{n:03}").parse().expect("an id")
    }

    fn deps(pairs: &[(u32, u32)]) -> Vec<Dep> {
        pairs.iter().map(|(a, b)| Dep::new(id(*a), id(*b))).collect()
    }

    fn closes_cycle(edges: &[Dep], child: u32, parent: u32) -> bool {
        would_cycle(
            &id(child),
            &id(parent),
            &mut |node, visit| {
                edges.iter().filter(|d| d.issue_id.as_str() == node).for_each(|d| visit(d.depends_on_id.as_str()));
                Ok(())
            },
            &mut |node, visit| {
                edges.iter().filter(|d| d.depends_on_id.as_str() == node).for_each(|d| visit(d.issue_id.as_str()));
                Ok(())
            },
            1000,
        )
        .expect("no I/O")
        .expect("enough steps")
    }

    #[test]
    fn cycles_start_at_their_smallest_id() {
        assert_eq!(cycles(&deps(&[(1, 2), (2, 3)])), Vec::<Vec<IssueId>>::new());
        assert_eq!(cycles(&deps(&[(2, 1), (1, 2)])), vec![vec![id(1), id(2)]]);
        assert_eq!(
            cycles(&deps(&[(3, 1), (1, 2), (2, 3), (7, 8), (8, 7), (3, 9)])),
            vec![vec![id(1), id(2), id(3)], vec![id(7), id(8)]]
        );
        assert_eq!(cycles(&deps(&[(5, 5)])), vec![vec![id(5)]]);
    }

    #[test]
    fn long_chain_does_not_overflow_the_stack() {
        let chain: Vec<Dep> = (0..100_000u32)
            .map(|n| {
                let [child, parent] = [n, n + 1].map(|n| format!("pn-{n:06}").parse().expect("an id"));
                Dep::new(child, parent)
            })
            .collect();
        assert!(cycles(&chain).is_empty());
    }

    proptest! {
        /// Edges that `would_cycle` allows never create a cycle, and edges that it refuses always would.
        #[test]
        fn would_cycle_agrees_with_cycles(pairs in proptest::collection::vec((0u32..12, 0u32..12), 0..60)) {
            let mut edges: Vec<Dep> = Vec::new();
            for (child, parent) in pairs {
                let refused = closes_cycle(&edges, child, parent);
                let mut graph = Graph::default();
                edges.iter().for_each(|d| graph.add(d.issue_id.as_str(), d.depends_on_id.as_str()));
                prop_assert_eq!(refused, child == parent || graph.depends(&id(parent), &id(child)));
                let mut with = edges.clone();
                with.push(Dep::new(id(child), id(parent)));
                prop_assert_eq!(refused, !cycles(&with).is_empty());
                if !refused {
                    edges = with;
                }
            }
        }
    }
}
