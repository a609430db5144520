//! The operation that removes old data that is no longer needed.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::op::op;
use crate::time::{Span, Timestamp};

/// Maximum number of each kind that one call removes, so that other writers do not wait for long.
pub const BATCH: u32 = 500;

/// Remove old data that is no longer needed
///
/// That is: archived loops, acknowledged signals, the output of finished jobs, deleted issues and agents that undo
/// could restore, automatic snapshots, and parts of the journal that two backups contain.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Gc {
    /// The minimum age: 12h, 7d [default: the setting gc.older-than, else 7d]
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<Span>,
    /// Only show what would be removed
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

op!(Gc => Collected, "store.gc", post("/gc"), Maintain);

/// How much was removed, or would be removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    pub loops: i64,
    /// Directories of loops that were removed earlier
    pub loop_directories: i64,
    pub signals: i64,
    pub receipts: i64,
    pub job_outputs: i64,
    /// Deleted earlier, and now removed permanently
    #[serde(default)]
    pub deleted_issues: i64,
    /// With their sessions
    #[serde(default)]
    pub deleted_agents: i64,
    /// Only those of the calling machine
    pub snapshots: i64,
    pub journal_segments: i64,
    /// The size of records and segments
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
    /// Newer data stays
    pub until: Timestamp,
    pub removed: Removed,
    /// Whether another call would remove more
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Parts that are large, and a disk that is almost full
    pub warnings: Vec<String>,
}

/// Show how much space the store uses, and how much is free
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Space {}

op!(Space => DiskUsage, "store.space", get("/space"), Maintain, {
    // Only maintainers of a store need to know how full its disk is.
});

/// The size of each part of a store and the free space on its disk, in bytes. Parts in PostgreSQL are absent.
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

/// When to warn about space, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceLimits {
    /// Warn when less than this is free.
    pub min_free: u64,
    /// Warn when a part is larger than this.
    pub max_part: u64,
}

const MB: u64 = 1 << 20;

impl Default for SpaceLimits {
    fn default() -> Self {
        Self { min_free: 500 * MB, max_part: 2000 * MB }
    }
}

impl DiskUsage {
    /// Warnings about large parts and a disk that is almost full.
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
    fn only_large_parts_and_little_free_space_are_reported() {
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
