//! How snapshots look.

use pensa_core::ops::snapshot::Deleted;
use pensa_core::snapshot::{Snapshot, SnapshotKind};
use serde_json::Value;

use super::agents::{brief, fact};
use super::{Render, Screen};
use crate::commands::snapshot::{Restored, Verified};

/// Most remarks that are shown at once; all of them are in the JSON.
const SHOWN: usize = 10;

fn number(snapshot: &Snapshot, name: &str) -> Option<u64> {
    snapshot.metadata.get(name).and_then(Value::as_u64)
}

fn snapshot_line(snapshot: &Snapshot, screen: &mut Screen) {
    screen.id(&snapshot.id).plain(&format!(" {:<7} ", snapshot.provider.as_str()));
    screen.faint(&snapshot.created_at.to_string());
    if let Some(files) = number(snapshot, "files") {
        screen.plain(&format!(" {files} {}", if files == 1 { "file" } else { "files" }));
    }
    if snapshot.kind == SnapshotKind::Safety {
        screen.plain(" safety");
    }
    if let Some(run) = &snapshot.run_id {
        screen.plain(" for ").id(run);
    }
    if let Some(label) = &snapshot.label {
        screen.plain(" ").text(&brief(label));
    }
    screen.end();
}

impl Render for Snapshot {
    fn render(&self, screen: &mut Screen) {
        snapshot_line(self, screen);
        fact(screen, "tree", Some(self.root.clone()));
        fact(screen, "host", Some(self.host.clone()));
        fact(screen, "repo", Some(self.repo_id.to_string()));
        fact(screen, "parent", self.parent_id.as_ref().map(ToString::to_string));
        fact(screen, "actor", Some(self.actor.clone()));
        fact(screen, "bytes", number(self, "bytes").map(|bytes| bytes.to_string()));
        fact(screen, "ref", self.reference.clone());
        fact(screen, "path", self.path.clone());
        fact(screen, "restored", self.restored_at.map(|at| at.to_string()));
        let left_out = self.metadata.get("left_out").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for remark in left_out.iter().take(SHOWN) {
            fact(screen, "left out", remark.as_str().map(brief));
        }
        let more = number(self, "left_out_count").unwrap_or_default().saturating_sub(SHOWN as u64);
        fact(screen, "left out", (more > 0).then(|| format!("and {more} more")));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Snapshot> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|snapshot| snapshot_line(snapshot, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|snapshot| snapshot.id.to_string()).collect()
    }
}

impl Render for Verified {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(if self.ok { " is whole, " } else { " is damaged, " });
        screen.plain(&format!("{} {}", self.files, if self.files == 1 { "file" } else { "files" })).end();
        self.problems.iter().for_each(|problem| screen.plain("  ").text(problem).end());
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Restored {
    fn render(&self, screen: &mut Screen) {
        let Self { written, removed, kept, .. } = self;
        screen.plain("restored ").id(&self.id);
        screen.plain(&format!(": {written} written, {removed} removed, {kept} left alone")).end();
        screen.plain("what was there before is ").id(&self.safety_id).end();
    }

    /// The new one is what nobody knows yet.
    fn ids(&self) -> Vec<String> {
        vec![self.safety_id.to_string()]
    }
}

impl Render for Deleted {
    fn render(&self, screen: &mut Screen) {
        screen.plain("deleted ").id(&self.id).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}
