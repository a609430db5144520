//! The tree: what waits for what, with the longest chain marked; of all issues, or up and down from one.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use pensa_core::dep::TreeNode;
use pensa_core::id::IssueId;
use pensa_core::triage::{IssueBrief, Network};

use super::{TuiView, ViewContext, brief_row};
use crate::rows::{ListRow, Motion, RowList, RowSubject};
use crate::store::{Answer, StoreQuery, TreeAnswer};

/// Deeper levels are not indented further.
const DEEPEST: usize = 24;

#[derive(Debug, Default)]
pub(crate) struct TreeView {
    root: Option<IssueId>,
    rows: RowList,
    chain: usize,
    left_out: u32,
}

impl TreeView {
    fn forest(network: &Network, chain: &HashSet<&IssueId>) -> Vec<ListRow> {
        let by_id: HashMap<&IssueId, &IssueBrief> = network.issues.iter().map(|issue| (&issue.id, issue)).collect();
        let mut behind: HashMap<&IssueId, Vec<&IssueBrief>> = HashMap::new();
        let mut waiting: HashSet<&IssueId> = HashSet::new();
        for wait in &network.waits {
            if let (Some(issue), true) = (by_id.get(&wait.issue_id), by_id.contains_key(&wait.depends_on_id)) {
                behind.entry(&wait.depends_on_id).or_default().push(issue);
                waiting.insert(&wait.issue_id);
            }
        }
        let mut forest = Forest { behind, chain, seen: HashSet::new(), rows: Vec::new() };
        let roots = network.issues.iter().filter(|issue| !waiting.contains(&issue.id));
        let (first, alone): (Vec<_>, Vec<_>) = roots.partition(|issue| forest.behind.contains_key(&issue.id));
        for issue in first.into_iter().chain(alone) {
            forest.add(issue, 0, "");
        }
        // Issues that wait for each other are below nothing.
        for issue in &network.issues {
            if !forest.seen.contains(&issue.id) {
                forest.add(issue, 0, "");
            }
        }
        forest.rows
    }

    fn branch(nodes: &[TreeNode], chain: &HashSet<&IssueId>, side: &str) -> Vec<ListRow> {
        let row = |(at, node): (usize, &TreeNode)| {
            let brief = IssueBrief {
                id: node.id.clone(),
                title: node.title.clone(),
                status: node.status,
                priority: node.priority,
            };
            let about = if node.repeated {
                "  (above)"
            } else if node.part {
                "  (part)"
            } else {
                ""
            };
            let indent = "  ".repeat(usize::try_from(node.depth).unwrap_or(DEEPEST).min(DEEPEST));
            let mark = if chain.contains(&node.id) { "*" } else { " " };
            brief_row(format!("{side} {at} {}", node.id), &brief, &format!("{mark}{indent}"), about.to_owned())
        };
        nodes.iter().enumerate().map(row).collect()
    }
}

/// Rows of a forest, depth first.
struct Forest<'a> {
    behind: HashMap<&'a IssueId, Vec<&'a IssueBrief>>,
    chain: &'a HashSet<&'a IssueId>,
    seen: HashSet<&'a IssueId>,
    rows: Vec<ListRow>,
}

impl<'a> Forest<'a> {
    fn add(&mut self, root: &'a IssueBrief, depth: usize, above: &str) {
        // Chains may be as long as there are issues, so this does not recurse.
        let mut open = vec![(root, depth, above.to_owned())];
        while let Some((issue, depth, above)) = open.pop() {
            let is_new = self.seen.insert(&issue.id);
            let mark = if self.chain.contains(&issue.id) { "*" } else { " " };
            let indent = format!("{mark}{}", "  ".repeat(depth.min(DEEPEST)));
            let about = if is_new { String::new() } else { "  (above)".to_owned() };
            self.rows.push(brief_row(format!("{above}/{}", issue.id), issue, &indent, about));
            if is_new {
                let below = self.behind.get(&issue.id).into_iter().flatten().rev();
                open.extend(below.map(|next| (*next, depth + 1, issue.id.to_string())));
            }
        }
    }
}

impl TuiView for TreeView {
    fn query(&self) -> StoreQuery {
        StoreQuery::Tree(self.root.clone())
    }

    fn take(&mut self, answer: Answer, cx: &ViewContext) {
        let Answer::Tree(answer) = answer else { return };
        let TreeAnswer { network, up, down, longest } = *answer;
        let chain: HashSet<&IssueId> = longest.issues.iter().map(|step| &step.issue.id).collect();
        (self.chain, self.left_out) = (chain.len(), network.left_out);
        let rows = if self.root.is_some() {
            let mut rows = vec![ListRow::heading("Waits for (up)")];
            rows.extend(Self::branch(&up, &chain, "up"));
            rows.push(ListRow::heading("Holds up (down)"));
            rows.extend(Self::branch(&down, &chain, "down"));
            rows
        } else {
            Self::forest(&network, &chain)
        };
        self.rows.set(rows, cx.at);
    }

    fn summary(&self) -> String {
        let left_out = if self.left_out > 0 { format!(", and {} more issues", self.left_out) } else { String::new() };
        match &self.root {
            Some(id) => format!("around {id}; * is on the longest chain, of {}; q: all issues", self.chain),
            None => format!("what is to be done first, above what waits; * longest chain, of {}{left_out}", self.chain),
        }
    }

    fn list(&self) -> Option<&RowList> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut RowList> {
        Some(&mut self.rows)
    }

    fn step(&mut self, motion: Motion) -> bool {
        self.rows.step(motion);
        false
    }

    fn back(&mut self) -> bool {
        self.root.take().is_some()
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn select(&mut self, id: &str) -> bool {
        self.rows.select(id)
    }

    fn focus(&mut self, subject: &RowSubject) {
        self.root = subject.issue().cloned().or(self.root.take());
    }
}
