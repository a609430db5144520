//! `pn dep`: manages dependencies between issues.

use pensa_core::dep::TreeNode;
use pensa_core::id::IssueId;
use pensa_core::ops::dep::{Add, Cycles, DepChange, List, Remove, Tree};

use crate::render::{Render, Screen, draws_lines, fit_line};

op_subcommands!(DepCommand { Add(Add), Remove(Remove), List(List), Tree(Tree), Cycles(Cycles) });

impl Render for DepChange {
    fn render(&self, screen: &mut Screen) {
        let relation = if self.status == "added" { "waits for" } else { "no longer waits for" };
        screen.id(&self.issue_id).plain(&format!(" {relation} ")).id(&self.depends_on_id).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.issue_id.to_string()]
    }
}

impl Render for Vec<Vec<IssueId>> {
    fn render(&self, screen: &mut Screen) {
        for cycle in self {
            let ids: Vec<&str> = cycle.iter().chain(cycle.first()).map(IssueId::as_str).collect();
            screen.text(&ids.join(" → ")).end();
        }
        if self.is_empty() {
            screen.faint("no cycles").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flatten().map(ToString::to_string).collect()
    }
}

impl Render for Vec<TreeNode> {
    fn render(&self, screen: &mut Screen) {
        // For each open level, whether more siblings follow below.
        let mut open: Vec<bool> = Vec::new();
        let [below, sibling, last] =
            if draws_lines() { ["│  ", "├─ ", "└─ "] } else { ["|  ", "|- ", "`- "] };
        for (at, node) in self.iter().enumerate() {
            let depth = node.depth as usize;
            open.truncate(depth);
            if depth > 0 {
                let more = has_later_sibling(&self[at + 1..], node.depth);
                for level in &open[1..] {
                    screen.plain(if *level { below } else { "   " });
                }
                screen.plain(if more { sibling } else { last });
                open.push(more);
            } else {
                open.push(false);
            }
            screen.id(&node.id).plain(" ").priority(node.priority).plain(" ").status(node.status).plain(" ");
            let before = 3 * depth + node.id.as_str().len() + node.status.as_str().len() + 5;
            let notes = if node.part { 7 } else { 0 } + if node.repeated { 14 } else { 0 };
            screen.text(&fit_line(&node.title, before + notes));
            if node.part {
                screen.plain(" ").faint("(part)");
            }
            if node.repeated {
                screen.plain(" ").faint("(shown above)");
            }
            screen.end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().filter(|node| !node.repeated).map(|node| node.id.to_string()).collect()
    }
}

fn has_later_sibling(rest: &[TreeNode], depth: u32) -> bool {
    rest.iter().map(|node| node.depth).find(|next| *next <= depth) == Some(depth)
}
