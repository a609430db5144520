//! Operations on dependencies.

use std::collections::HashSet;
use std::iter::repeat;

use pensa_core::dep::{Dep, TreeNode};
use pensa_core::event::EventType;
use pensa_core::id::IssueId;
use pensa_core::issue::Issue;
use pensa_core::ops::dep::{Add, Cycles, DepChange, Direction, List, Remove, Tree};
use pensa_core::sync::DEPS;
use pensa_core::{Code, Error, Result, graph};

use crate::context::Context;
use crate::db::{Tx, params};
use crate::entity::{self, StoredEntity};
use crate::execute::Execute;
use crate::tables::{cycle, deps, events, issues, tombstones};

/// Makes an issue wait for another and logs it; nothing happens if it does already.
pub(crate) fn link(cx: &Context<'_>, tx: &Tx<'_>, dep: &Dep) -> Result<()> {
    if deps::exists(tx, &dep.issue_id, &dep.depends_on_id)? {
        return Ok(());
    }
    entity::insert(tx, dep)?;
    events::log(cx, tx, &dep.issue_id, EventType::DepAdded, Dep::event_detail(None, Some(dep)))
}

/// Adds a dependency on request: its tombstone, if any, records that it was restored.
pub(super) fn link_anew(cx: &Context<'_>, tx: &Tx<'_>, child: &IssueId, parent: &IssueId) -> Result<()> {
    let dep = Dep::new(child.clone(), parent.clone());
    tombstones::mark_restored(cx, tx, &DEPS, &dep.key())?;
    link(cx, tx, &dep)
}

/// Makes `child` no longer wait for `parent` and logs it; says whether it did wait.
pub(crate) fn unlink(cx: &Context<'_>, tx: &Tx<'_>, child: &IssueId, parent: &IssueId) -> Result<bool> {
    let Some(dep) = entity::get::<Dep>(tx, params![child, parent])? else { return Ok(false) };
    entity::remove(tx, &dep)?;
    events::log(cx, tx, child, EventType::DepRemoved, Dep::event_detail(Some(&dep), None))?;
    Ok(true)
}

impl Execute for Add {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<DepChange> {
        let child = issues::find(cx, tx, &self.issue_id)?;
        let parent = issues::find(cx, tx, &self.depends_on_id)?;
        if child.id == parent.id {
            return Err(Error::new(
                Code::CycleDetected,
                format!("cycle detected: {} cannot depend on itself", child.id),
            )
            .hint("name another issue"));
        }
        if !deps::exists(tx, &child.id, &parent.id)? && cycle::would_close(tx, &child.id, &parent.id)? {
            return Err(Error::new(
                Code::CycleDetected,
                format!("cycle detected: {} already waits for {}", parent.id, child.id),
            )
            .hint("pn dep tree shows the chain"));
        }
        link_anew(cx, tx, &child.id, &parent.id)?;
        Ok(DepChange { status: "added".into(), issue_id: child.id, depends_on_id: parent.id })
    }
}

impl Execute for Remove {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<DepChange> {
        let child = issues::find(cx, tx, &self.issue_id)?;
        let parent = issues::find(cx, tx, &self.depends_on_id)?;
        if !unlink(cx, tx, &child.id, &parent.id)? {
            return Err(Error::not_found("dependency", format!("{} on {}", child.id, parent.id)));
        }
        let dep = Dep::new(child.id.clone(), parent.id.clone());
        tombstones::write_tombstone(cx, tx, &DEPS, &dep.key(), None)?;
        Ok(DepChange { status: "removed".into(), issue_id: child.id, depends_on_id: parent.id })
    }
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Issue>> {
        let issue = issues::find(cx, tx, &self.id)?;
        deps::parents(tx, &issue.id)
    }
}

impl Execute for Tree {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<TreeNode>> {
        let root = issues::find(cx, tx, &self.id)?;
        let mut nodes = Vec::new();
        let mut seen: HashSet<IssueId> = HashSet::new();
        let mut stack = vec![(root, 0, None, false)];
        while let Some((issue, depth, parent, part)) = stack.pop() {
            let repeated = !seen.insert(issue.id.clone());
            if !repeated {
                let (others, parts) = match (self.direction, &issue.parent) {
                    (Direction::Up, _) => (deps::parents(tx, &issue.id)?, issues::children(tx, &issue.id)?),
                    (Direction::Down, None) => (deps::children(tx, &issue.id)?, Vec::new()),
                    (Direction::Down, Some(whole)) => {
                        (deps::children(tx, &issue.id)?, issues::get(tx, whole)?.into_iter().collect())
                    }
                };
                let below = others.into_iter().zip(repeat(false)).chain(parts.into_iter().zip(repeat(true)));
                let below: Vec<_> = below.map(|(next, part)| (next, depth + 1, Some(issue.id.clone()), part)).collect();
                stack.extend(below.into_iter().rev());
            }
            nodes.push(TreeNode {
                id: issue.id,
                title: issue.title,
                status: issue.status,
                priority: issue.priority,
                issue_type: issue.issue_type,
                depth,
                parent,
                part,
                repeated,
            });
        }
        Ok(nodes)
    }
}

impl Execute for Cycles {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Vec<IssueId>>> {
        Ok(graph::cycles(&deps::waits(tx)?))
    }
}
