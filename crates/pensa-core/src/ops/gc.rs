//! The operation that removes what is old and no longer needed.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::op::op;
use crate::time::{Span, Timestamp};

/// Most of one kind that one call removes, so that others need not wait for long.
pub const BATCH: u32 = 500;

/// Remove what is old and no longer needed: archived loops, acknowledged signals, the output of finished jobs, what undo
/// keeps of deleted issues and agents, snapshots that were taken automatically, and parts of the journal that two backups have
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Gc {
    /// How old it must be: 12h, 7d [default: the setting gc.older-than, else 7d]
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<Span>,
    /// Remove nothing; tell what would be removed
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

op!(Gc => Collected, "store.gc", post("/gc"), Maintain);

/// How much was removed, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    pub loops: i64,
    /// Directories of loops that were removed before
    pub loop_directories: i64,
    pub signals: i64,
    pub receipts: i64,
    pub job_outputs: i64,
    /// Deleted before, and removed for good now
    #[serde(default)]
    pub deleted_issues: i64,
    /// With their sessions
    #[serde(default)]
    pub deleted_agents: i64,
    /// Only those of the machine that asks
    pub snapshots: i64,
    pub journal_segments: i64,
    /// Of records and segments
    pub bytes: i64,
}

impl Removed {
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.loops, other.loops),
            (&mut self.loop_directories, other.loop_directories),
            (&mut self.signals, other.signals),
            (&mut self.receipts, other.receipts),
            (&mut self.job_outputs, other.job_outputs),
            (&mut self.deleted_issues, other.deleted_issues),
            (&mut self.deleted_agents, other.deleted_agents),
            (&mut self.snapshots, other.snapshots),
            (&mut self.journal_segments, other.journal_segments),
            (&mut self.bytes, other.bytes),
        ];
        pairs.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }

    /// By name, in a stable order.
    pub fn counts(&self) -> [(&'static str, i64); 9] {
        [
            ("loops", self.loops),
            ("directories of loops", self.loop_directories),
            ("signals", self.signals),
            ("receipts", self.receipts),
            ("outputs of jobs", self.job_outputs),
            ("deleted issues", self.deleted_issues),
            ("deleted agents", self.deleted_agents),
            ("snapshots", self.snapshots),
            ("segments of the journal", self.journal_segments),
        ]
    }
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Collected {
    pub dry_run: bool,
    /// What is younger than this stays
    pub until: Timestamp,
    pub removed: Removed,
    /// Whether there is more, for another call
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// What takes up much space, or leaves little
    pub warnings: Vec<String>,
}

/// Tell how much space a store takes up, and how much is left
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Space {}

op!(Space => DiskUsage, "store.space", get("/space"), Maintain, {
    // How full a disk is is a matter of those who look after it.
});

/// How many bytes the parts of a store have, and how many are left on its disk. Absent where a database keeps it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Taken")]
pub struct DiskUsage {
    pub database: Option<u64>,
    pub journal: Option<u64>,
    pub logs: Option<u64>,
    pub backups: Option<u64>,
    pub free: Option<u64>,
}

/// When space is worth a word, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceLimits {
    /// Less than this left is told.
    pub min_free: u64,
    /// A larger database, journal or directory of logs is told.
    pub max_part: u64,
}

const MB: u64 = 1 << 20;

impl Default for SpaceLimits {
    fn default() -> Self {
        Self { min_free: 500 * MB, max_part: 2000 * MB }
    }
}

impl DiskUsage {
    /// What takes up much space, or leaves little.
    pub fn warnings(&self, limits: SpaceLimits) -> Vec<String> {
        let parts = [
            ("the database takes up", self.database),
            ("the journal takes up", self.journal),
            ("logs of runs take up", self.logs),
        ];
        let large = parts.into_iter().filter_map(|(name, bytes)| {
            let bytes = bytes.filter(|bytes| *bytes > limits.max_part)?;
            Some(format!("{name} {} MB, more than {} MB", bytes / MB, limits.max_part / MB))
        });
        let little = self.free.filter(|free| *free < limits.min_free).map(|free| {
            format!("only {} MB are free on the disk of the store, less than {} MB", free / MB, limits.min_free / MB)
        });
        large.chain(little).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_or_scarce_is_told_and_nothing_else() {
        let limits = SpaceLimits { min_free: 10 * MB, max_part: 5 * MB };
        let fine = DiskUsage {
            database: Some(5 * MB),
            journal: Some(0),
            logs: None,
            backups: Some(99 * MB),
            free: Some(10 * MB),
        };
        assert!(fine.warnings(limits).is_empty() && DiskUsage::default().warnings(limits).is_empty());
        let bad = DiskUsage {
            database: Some(6 * MB),
            journal: Some(7 * MB),
            logs: Some(8 * MB),
            backups: None,
            free: Some(3),
        };
        assert_eq!(
            bad.warnings(limits),
            [
                "the database takes up 6 MB, more than 5 MB",
                "the journal takes up 7 MB, more than 5 MB",
                "logs of runs take up 8 MB, more than 5 MB",
                "only 0 MB are free on the disk of the store, less than 10 MB",
            ]
        );
    }
}
