//! Statistics of jobs by tool and lane.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::{Job, JobStatus, Lane};

/// Percentiles of the duration of finished jobs, in milliseconds.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    pub p50_ms: Option<i64>,
    pub p95_ms: Option<i64>,
    pub max_ms: Option<i64>,
}

impl Percentiles {
    /// Nearest-rank percentiles.
    pub fn of(mut took: Vec<i64>) -> Self {
        took.sort_unstable();
        let at = |percent: usize| took.get((took.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Self { p50_ms: at(50), p95_ms: at(95), max_ms: took.last().copied() }
    }
}

/// Counts of a group of jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobCounts {
    pub count: i64,
    /// Those that are queued or running
    pub unfinished: i64,
    /// Those that ended by themselves, with an error
    pub failures: i64,
    pub timeouts: i64,
    pub cancelled: i64,
    pub output_bytes: i64,
    #[serde(flatten)]
    pub took: Percentiles,
}

/// The jobs of one tool in one lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobStats {
    pub tool_name: String,
    pub lane: Lane,
    #[serde(flatten)]
    pub tally: JobCounts,
}

#[derive(Default)]
struct JobGroup {
    tally: JobCounts,
    took: Vec<i64>,
}

impl JobGroup {
    fn add(&mut self, job: &Job) {
        let tally = &mut self.tally;
        tally.count += 1;
        tally.output_bytes = tally.output_bytes.saturating_add(job.output_bytes);
        match job.status {
            JobStatus::Pending | JobStatus::Running => tally.unfinished += 1,
            JobStatus::Failed => tally.failures += 1,
            JobStatus::Timeout => tally.timeouts += 1,
            JobStatus::Cancelled => tally.cancelled += 1,
            JobStatus::Succeeded => {}
        }
        self.took.extend(job.duration_ms);
    }
}

/// Statistics by tool and lane, in the order of their names. `each` passes the jobs one at a time.
pub fn summarise<E>(each: impl FnOnce(&mut dyn FnMut(&Job)) -> Result<(), E>) -> Result<Vec<JobStats>, E> {
    let mut groups: BTreeMap<(String, Lane), JobGroup> = BTreeMap::new();
    each(&mut |job| groups.entry((job.tool_name.clone(), job.lane.clone())).or_default().add(job))?;
    let stats = groups.into_iter().map(|((tool_name, lane), JobGroup { tally, took })| JobStats {
        tool_name,
        lane,
        tally: JobCounts { took: Percentiles::of(took), ..tally },
    });
    Ok(stats.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn percentiles_are_values_of_the_sample() {
        for (took, p50, p95, max) in [
            (vec![], None, None, None),
            (vec![7], Some(7), Some(7), Some(7)),
            (vec![3, 1, 2], Some(2), Some(3), Some(3)),
            ((1..=100).rev().collect(), Some(50), Some(95), Some(100)),
            ((1..=20).collect(), Some(10), Some(19), Some(20)),
        ] {
            assert_eq!(Percentiles::of(took), Percentiles { p50_ms: p50, p95_ms: p95, max_ms: max });
        }
    }

    #[test]
    fn jobs_are_counted_by_tool_and_lane() {
        let at = "2026-02-27T14:30:00.000Z";
        let job = |tool: &str, lane: &str, status: &str, took: Option<i64>| -> Job {
            serde_json::from_value(json!({"id": "job-1", "status": status, "tool_name": tool, "lane": lane,
                "command": "", "actor": "a", "output_bytes": 5, "truncated": false, "was_timeout": false,
                "was_cancelled": false, "timeout_ms": 1, "number": 1, "queued_at": at, "started_at": at,
                "duration_ms": took, "updated_at": at}))
            .expect("a job")
        };
        let jobs = [
            job("sh", "net", "succeeded", Some(10)),
            job("sh", "net", "failed", Some(30)),
            job("sh", "net", "timeout", Some(20)),
            job("sh", "net", "cancelled", None),
            job("sh", "net", "running", None),
            job("sh", "heavy", "pending", None),
            job("curl", "net", "succeeded", Some(1)),
        ];
        let stats = summarise::<()>(|add| {
            jobs.iter().for_each(add);
            Ok(())
        });
        let empty =
            json!({"count": 1, "unfinished": 0, "failures": 0, "timeouts": 0, "cancelled": 0, "output_bytes": 5});
        let with = |more: serde_json::Value| {
            let mut whole = empty.clone();
            whole.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            whole
        };
        assert_eq!(
            json!(stats.expect("statistics")),
            json!([
                with(json!({"tool_name": "curl", "lane": "net", "p50_ms": 1, "p95_ms": 1, "max_ms": 1})),
                with(json!({"tool_name": "sh", "lane": "heavy", "unfinished": 1})),
                with(
                    json!({"tool_name": "sh", "lane": "net", "count": 5, "unfinished": 1, "failures": 1, "timeouts": 1,
                    "cancelled": 1, "output_bytes": 25, "p50_ms": 20, "p95_ms": 30, "max_ms": 30})
                ),
            ])
        );
    }
}
