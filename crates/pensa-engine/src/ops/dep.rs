//! Operations on dependencies.

use std::collections::HashSet;

use pensa_core::dep::{Dep, TreeNode};
use pensa_core::event::{self, EventType};
use pensa_core::id::IssueId;
use pensa_core::issue::Issue;
use pensa_core::ops::dep::{Add, Cycles, DepChange, Direction, List, Remove, Tree};
use pensa_core::sync::DEPS;
use pensa_core::{Code, Error, Result, graph};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::{cycle, deps, events, issues, tombstones};

/// Makes an issue wait for `parent` and logs it; nothing happens if it does already.
pub(crate) fn link(cx: &Context<'_>, tx: &Tx<'_>, dep: &Dep, parent: &Issue) -> Result<()> {
    if deps::insert(tx, dep, parent)? {
        events::log(cx, tx, &dep.issue_id, EventType::DepAdded, detail(json!(null), json!(parent.id)))?;
    }
    Ok(())
}

/// The same for somebody who says so now: clones that know it as removed are told that it is back.
pub(super) fn link_anew(cx: &Context<'_>, tx: &Tx<'_>, child: &IssueId, parent: &Issue) -> Result<()> {
    let dep = Dep::new(child.clone(), parent.id.clone());
    tombstones::lift(cx, tx, &DEPS, &dep.key())?;
    link(cx, tx, &dep, parent)
}

/// Makes `child` no longer wait for `parent` and logs it; says whether it did wait.
pub(crate) fn unlink(cx: &Context<'_>, tx: &Tx<'_>, child: &IssueId, parent: &Issue) -> Result<bool> {
    let removed = deps::remove(tx, child, parent)?;
    if removed {
        events::log(cx, tx, child, EventType::DepRemoved, detail(json!(parent.id), json!(null)))?;
    }
    Ok(removed)
}

fn detail(old: Value, new: Value) -> Map<String, Value> {
    let mut detail = Map::new();
    detail.insert("depends_on_id".into(), event::change(old, new));
    detail
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
        link_anew(cx, tx, &child.id, &parent)?;
        Ok(DepChange { status: "added".into(), issue_id: child.id, depends_on_id: parent.id })
    }
}

impl Execute for Remove {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<DepChange> {
        let child = issues::find(cx, tx, &self.issue_id)?;
        let parent = issues::find(cx, tx, &self.depends_on_id)?;
        if !unlink(cx, tx, &child.id, &parent)? {
            return Err(Error::not_found("dependency", format!("{} on {}", child.id, parent.id)));
        }
        let dep = Dep::new(child.id.clone(), parent.id.clone());
        tombstones::bury(cx, tx, &DEPS, &dep.key(), None)?;
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
        let mut stack = vec![(root, 0, None)];
        while let Some((issue, depth, parent)) = stack.pop() {
            let repeated = !seen.insert(issue.id.clone());
            if !repeated {
                let below = match self.direction {
                    Direction::Up => deps::parents(tx, &issue.id)?,
                    Direction::Down => deps::children(tx, &issue.id)?,
                };
                stack.extend(below.into_iter().rev().map(|next| (next, depth + 1, Some(issue.id.clone()))));
            }
            nodes.push(TreeNode {
                id: issue.id,
                title: issue.title,
                status: issue.status,
                priority: issue.priority,
                issue_type: issue.issue_type,
                depth,
                parent,
                repeated,
            });
        }
        Ok(nodes)
    }
}

impl Execute for Cycles {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Vec<IssueId>>> {
        Ok(graph::cycles(&deps::all(tx)?))
    }
}
