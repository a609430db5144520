//! Prints snapshots, and the results of verify and restore.

use pensa_core::ops::snapshot::Deleted;
use pensa_core::snapshot::{Snapshot, SnapshotKind};
use serde_json::Value;

use super::{RestoredSnapshot, VerifiedSnapshot};
use crate::render::{ListItem, Render, Screen, field, shorten, when};

/// The most remarks shown; JSON has all.
const MAX_REMARKS: usize = 10;

fn number(snapshot: &Snapshot, name: &str) -> Option<u64> {
    snapshot.metadata.get(name).and_then(Value::as_u64)
}

fn snapshot_line(snapshot: &Snapshot, screen: &mut Screen) {
    screen.id(&snapshot.id).plain(&format!(" {:<7} ", snapshot.provider.as_str()));
    screen.faint(&when(snapshot.created_at));
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
        screen.plain(" ").text(&shorten(label));
    }
    screen.end();
}

impl Render for Snapshot {
    fn render(&self, screen: &mut Screen) {
        snapshot_line(self, screen);
        field(screen, "tree", Some(self.root.clone()));
        field(screen, "host", Some(self.host.clone()));
        field(screen, "repo", Some(self.repo_id.to_string()));
        field(screen, "parent", self.parent_id.as_ref().map(ToString::to_string));
        field(screen, "actor", Some(self.actor.clone()));
        field(screen, "bytes", number(self, "bytes").map(|bytes| bytes.to_string()));
        field(screen, "ref", self.reference.clone());
        field(screen, "path", self.path.clone());
        field(screen, "restored", self.restored_at.map(when));
        let left_out = self.metadata.get("left_out").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for remark in left_out.iter().take(MAX_REMARKS) {
            field(screen, "left out", remark.as_str().map(shorten));
        }
        let more = number(self, "left_out_count").unwrap_or_default().saturating_sub(MAX_REMARKS as u64);
        field(screen, "left out", (more > 0).then(|| format!("and {more} more")));
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl ListItem for Snapshot {
    const NOUN: [&str; 2] = ["snapshot", "snapshots"];

    fn render_item(&self, screen: &mut Screen) {
        snapshot_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for VerifiedSnapshot {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(if self.ok { " is whole, " } else { " is damaged, " });
        screen.plain(&format!("{} {}", self.files, if self.files == 1 { "file" } else { "files" })).end();
        self.problems.iter().for_each(|problem| screen.plain("  ").text(problem).end());
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for RestoredSnapshot {
    fn render(&self, screen: &mut Screen) {
        let Self { written, removed, kept, .. } = self;
        screen.plain("restored ").id(&self.id);
        screen.plain(&format!(": {written} written, {removed} removed, {kept} left alone")).end();
        screen.plain("what was there before is ").id(&self.safety_id).end();
    }

    /// The id of the safety snapshot, which is new.
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
