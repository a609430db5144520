//! Drops what an import brings and what would close a cycle.

use std::collections::{HashMap, HashSet};

use pensa_core::dep::Dep;
use pensa_core::id::IssueId;
use pensa_core::{Code, Error, Result, graph};

use super::ImportCandidate;
use super::parts::IssuePart;
use crate::db::{Tx, params};
use crate::entity;
use crate::tables::deps;

/// Each round opens a cycle of every tangle. A file of people's work needs one or two.
const MAX_ROUNDS: usize = 200;

/// The cycles that were there before the import.
#[derive(Debug, Default)]
pub(super) struct CycleGuard {
    known: Option<HashSet<Vec<IssueId>>>,
}

impl CycleGuard {
    /// Fails if the import has closed a cycle after all, and so takes back all of it.
    pub(super) fn check(&self, tx: &Tx<'_>) -> Result<()> {
        let Some(known) = &self.known else { return Ok(()) };
        let new = graph::cycles(&deps::waits(tx)?).into_iter().find(|cycle| !known.contains(cycle));
        let Some(cycle) = new else { return Ok(()) };
        let chain: Vec<&str> = cycle.iter().map(IssueId::as_str).collect();
        Err(Error::new(Code::CycleDetected, format!("cycle detected: {}", chain.join(" waits for ")))
            .hint("remove one of these dependencies here, then import again"))
    }
}

/// What an import would make wait for what.
struct NewEdge {
    /// Which candidate brings it.
    owner: usize,
    /// Whether it makes one issue a part of the other.
    is_parent: bool,
    edge: Dep,
}

/// Drops parents and dependencies that would close a cycle, dependencies first, and says so in the results.
pub(super) fn drop_cycles(tx: &Tx<'_>, candidates: &mut [ImportCandidate]) -> Result<CycleGuard> {
    let mut new: Vec<NewEdge> = Vec::new();
    let mut replaced: HashMap<IssueId, (bool, bool)> = HashMap::new();
    for (owner, candidate) in candidates.iter().enumerate() {
        let ImportCandidate { given, .. } = candidate;
        let changed = (candidate.has_changed(IssuePart::Parent)?, candidate.has_changed(IssuePart::Deps)?);
        if changed.0 {
            let edges = given.parent.iter().map(|parent| Dep::new(parent.clone(), given.id.clone()));
            new.extend(edges.map(|edge| NewEdge { owner, is_parent: true, edge }));
        }
        if changed.1 {
            let edges = given.deps.iter().map(|to| Dep::new(given.id.clone(), to.clone()));
            new.extend(edges.map(|edge| NewEdge { owner, is_parent: false, edge }));
        }
        replaced.insert(given.id.clone(), changed);
    }
    if new.is_empty() {
        return Ok(CycleGuard::default());
    }
    new.sort_by_key(|new| !new.is_parent);
    let kept = kept_edges(tx, &replaced)?;
    let known = graph::cycles(&deps::waits(tx)?).into_iter().collect();
    for _ in 0..MAX_ROUNDS {
        let all: Vec<Dep> = kept.iter().cloned().chain(new.iter().map(|new| new.edge.clone())).collect();
        let mut doomed: Vec<usize> = Vec::new();
        for cycle in graph::cycles(&all) {
            let steps: HashSet<(&IssueId, &IssueId)> = cycle.iter().zip(cycle.iter().cycle().skip(1)).collect();
            let is_step = |new: &NewEdge| steps.contains(&(&new.edge.issue_id, &new.edge.depends_on_id));
            doomed.extend(new.iter().rposition(is_step));
        }
        if doomed.is_empty() {
            return Ok(CycleGuard { known: Some(known) });
        }
        doomed.sort_unstable();
        for at in doomed.into_iter().rev() {
            let dropped = new.remove(at);
            drop_edge(&mut candidates[dropped.owner], &dropped);
        }
    }
    Err(Error::invalid("the dependencies have too many cycles").hint("open some of them in the other tracker first"))
}

/// The edges of the store that the import leaves alone.
fn kept_edges(tx: &Tx<'_>, replaced: &HashMap<IssueId, (bool, bool)>) -> Result<Vec<Dep>> {
    let change_of = |id: &IssueId| replaced.get(id).copied().unwrap_or_default();
    let mut kept: Vec<Dep> = entity::query(tx, "ORDER BY issue_id, depends_on_id", params![])?;
    kept.retain(|dep| !change_of(&dep.issue_id).1);
    let parents = tx.query("SELECT parent, id FROM issues WHERE parent IS NOT NULL", params![], |row| {
        Ok(Dep::new(row.parse(0)?, row.parse(1)?))
    })?;
    kept.extend(parents.into_iter().filter(|edge| !change_of(&edge.depends_on_id).0));
    Ok(kept)
}

fn drop_edge(candidate: &mut ImportCandidate, dropped: &NewEdge) {
    let ImportCandidate { given, result, .. } = candidate;
    let Dep { issue_id, depends_on_id, .. } = &dropped.edge;
    if dropped.is_parent {
        given.parent = None;
        result.problems.push(format!("{issue_id} is not its parent here: the two would wait for each other"));
    } else {
        given.deps.retain(|dep| dep != depends_on_id);
        result.problems.push(format!("it does not wait for {depends_on_id} here: that would close a cycle"));
    }
}
