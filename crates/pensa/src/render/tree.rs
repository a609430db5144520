//! The drawing of a dependency tree.

use pensa_core::dep::TreeNode;

use super::{Render, Screen};

impl Render for Vec<TreeNode> {
    fn render(&self, screen: &mut Screen) {
        // For each open level, whether more siblings follow below.
        let mut open: Vec<bool> = Vec::new();
        for (at, node) in self.iter().enumerate() {
            let depth = node.depth as usize;
            open.truncate(depth);
            if depth > 0 {
                let more = has_later_sibling(&self[at + 1..], node.depth);
                for level in &open[1..] {
                    screen.plain(if *level { "│  " } else { "   " });
                }
                screen.plain(if more { "├─ " } else { "└─ " });
                open.push(more);
            } else {
                open.push(false);
            }
            screen.id(&node.id).plain(" ").priority(node.priority).plain(" ").status(node.status).plain(" ");
            screen.text(&node.title);
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
