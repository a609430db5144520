//! The record of a directory snapshot, and the providers that can store its content.
//!
//! `pensa-snapshot` takes, verifies and restores snapshots on the machine that has the directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::entity;
use crate::error::{Code, Error, Result};
use crate::id::{RepoId, RunId, SnapshotId};
use crate::json;
use crate::time::Timestamp;

closed_enum! {
    /// How the content of a snapshot is stored.
    Provider "unknown snapshot provider: {}" {
        /// A commit that only a ref under refs/pensa/ holds
        Git "git",
        /// A copy of the files, sharing their blocks where the file system can
        Copy "copy",
        /// A read-only snapshot of a btrfs subvolume
        Btrfs "btrfs",
        /// A snapshot of a ZFS dataset
        Zfs "zfs",
        /// A copy of what an overlay mount has above its lower layers
        Overlay "overlay",
    }
}

closed_enum! {
    /// Why a snapshot was taken.
    #[derive(Default)]
    SnapshotKind "unknown kind of snapshot: {:?}" {
        /// It was requested
        #[default]
        Manual "manual",
        /// It is the state before a restore
        Safety "safety",
    }
}

/// The record of a snapshot. Its content is on the machine that took it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    pub id: SnapshotId,
    pub kind: SnapshotKind,
    pub provider: Provider,
    pub repo_id: RepoId,
    /// The run it was taken for
    pub run_id: Option<RunId>,
    /// The machine that has the tree and the content
    pub host: String,
    /// The tree
    pub root: String,
    /// Its name at the provider: a ref, a subvolume, a snapshot of a dataset
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The path of its content
    pub path: Option<String>,
    /// Its parent snapshot
    pub parent_id: Option<SnapshotId>,
    pub label: Option<String>,
    pub actor: String,
    /// `files`, `bytes`, what was `left_out`, and what the provider needs to verify it
    #[serde(default)]
    pub metadata: Map<String, Value>,
    pub created_at: Timestamp,
    /// When the tree was last restored to it
    pub restored_at: Option<Timestamp>,
}

entity!(Snapshot: "snapshot" in "fs_snapshots", keys 1 {
    id, kind, provider, repo_id, run_id, host, root, ref, path, parent_id, label, actor, metadata: Object, created_at,
    restored_at,
});

/// Maximum size of the metadata, in bytes of JSON: enough for a hundred notes with the longest paths.
const METADATA_BYTES: usize = 4 << 20;

impl Snapshot {
    /// Refuses an invalid id, root or metadata.
    pub fn check(&self) -> Result<()> {
        let hex = self.id.as_str().strip_prefix(SnapshotId::PREFIX).unwrap_or_default();
        if hex.len() != 8 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(Error::invalid(format!("not the id of a snapshot: {}", self.id)).hint("such as snap-1a2b3c4d"));
        }
        if !self.root.starts_with('/') {
            return Err(Error::invalid(format!("not the whole path of a tree: {:?}", self.root)));
        }
        let bytes = json::to_line(&self.metadata)?.len();
        if bytes > METADATA_BYTES {
            let message = format!("metadata of {bytes} bytes is too large: at most {METADATA_BYTES}");
            return Err(Error::new(Code::TooLarge, message));
        }
        Ok(())
    }

    /// Refuses a parent from another tree or provider.
    pub fn check_parent(&self, parent: &Snapshot) -> Result<()> {
        let what = if parent.host != self.host || parent.root != self.root {
            format!("of {} on {}", parent.root, parent.host)
        } else if parent.provider != self.provider {
            format!("kept by {}", parent.provider)
        } else {
            return Ok(());
        };
        Err(Error::invalid(format!("{} cannot be the parent: it is {what}", parent.id))
            .hint("a parent is an earlier snapshot of the same tree by the same provider"))
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use serde_json::json;

    use super::*;

    fn snapshot(fields: Value) -> Snapshot {
        let mut whole = json!({"id": "snap-1a2b3c4d", "kind": "manual", "provider": "git", "repo_id": "repo-1",
            "host": "box", "root": "/r", "actor": "a", "created_at": "2026-02-27T14:30:00.000Z"});
        whole.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        serde_json::from_value(whole).expect("a snapshot")
    }

    #[test]
    fn invalid_snapshots_are_refused() {
        assert_eq!(snapshot(json!({})).check(), Ok(()));
        for id in ["snap-", "snap-1A2B3C4D", "snap-1a2b3c4d5", "run-1a2b3c4d", "..", "snap-1a2b3c.."] {
            assert_eq!(snapshot(json!({"id": id})).check().expect_err(id).code, Code::InvalidInput);
        }
        assert!(snapshot(json!({"root": "r/../.."})).check().is_err());
        let large = snapshot(json!({"metadata": {"left_out": "x".repeat(METADATA_BYTES)}}));
        assert_eq!(large.check().expect_err("large").code, Code::TooLarge);
    }

    #[test]
    fn parent_must_have_the_same_tree_and_provider() {
        let child = snapshot(json!({}));
        assert_eq!(child.check_parent(&snapshot(json!({"kind": "safety"}))), Ok(()));
        for other in [json!({"host": "other"}), json!({"root": "/s"}), json!({"provider": "copy"})] {
            let refused = child.check_parent(&snapshot(other)).expect_err("another");
            assert!(refused.message.starts_with("snap-1a2b3c4d cannot be the parent") && refused.hint.is_some());
        }
    }

    #[test]
    fn kind_words_round_trip() {
        for kind in SnapshotKind::ALL {
            assert_eq!(json!(kind), kind.as_str());
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("Manual".parse::<SnapshotKind>().is_err());
    }

    #[test]
    fn provider_words_are_the_same_in_json_and_on_the_command_line() {
        for provider in Provider::ALL {
            assert_eq!(serde_json::to_value(provider).expect("serialises"), provider.as_str());
            assert_eq!(provider.as_str().parse(), Ok(provider));
            let flag = provider.to_possible_value().expect("a value");
            assert_eq!(flag.get_name(), provider.as_str());
        }
        let refused = "Git".parse::<Provider>().expect_err("not a spelling");
        assert_eq!(refused.message, "unknown snapshot provider: Git");
    }
}
