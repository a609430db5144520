//! The job: one command of a tool, run in a lane with a limited number of slots and a time limit.
//!
//! [`apply`] is the only function that changes its status. The host starts and watches the processes.

mod import;
mod lane;
mod output;
mod stats;
mod transition;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::id::{IssueId, JobId, RunId, SessionId};
use crate::run::Process;
use crate::time::{Span, Timestamp};

pub use crate::run::RunEnd;
pub use import::import_record;
pub use lane::{BUILT_IN, Lane, LaneLimits, MAX_SLOTS, MAX_TIMEOUT, has_slot};
pub use output::{ByteSize, CapturedOutput, fit};
pub use stats::{JobCounts, JobStats, Percentiles, summarise};
pub use transition::{JobTransition, apply};

/// The record collection of jobs.
pub const COLLECTION: &str = "tool_jobs";
/// The record collection of their output, by the same ids.
pub const OUTPUTS: &str = "tool_job_outputs";

closed_enum! {
    /// The status of a job.
    JobStatus "invalid status of a job: {:?}" {
        /// It waits for a slot of its lane
        Pending "pending",
        Running "running",
        Succeeded "succeeded",
        Failed "failed",
        /// It exceeded its time limit
        Timeout "timeout",
        /// Its end was requested
        Cancelled "cancelled",
    }
}

impl JobStatus {
    /// Whether the job has ended.
    pub fn is_over(self) -> bool {
        !matches!(self, JobStatus::Pending | JobStatus::Running)
    }
}

/// One command of a tool.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    pub id: JobId,
    pub status: JobStatus,
    pub tool_name: String,
    pub lane: Lane,
    /// The program and its arguments, as a shell would read them
    pub command: String,
    /// Its working directory
    pub cwd: Option<String>,
    /// Its loop
    pub loop_id: Option<String>,
    pub run_id: Option<RunId>,
    pub session_id: Option<SessionId>,
    pub issue_id: Option<IssueId>,
    pub actor: String,
    /// Its machine
    pub host: Option<String>,
    /// The number of the command's process
    pub pid: Option<i64>,
    /// The start time of that process, as its machine states it
    pub born: Option<String>,
    /// The process that supervises it
    pub supervisor: Option<Process>,
    #[serde(flatten)]
    pub end: RunEnd,
    /// The size of its whole output in bytes, stored or not
    pub output_bytes: i64,
    /// Whether only a part of its output is stored
    pub truncated: bool,
    pub was_timeout: bool,
    /// Whether its end was requested
    pub was_cancelled: bool,
    /// Its time limit, in milliseconds
    pub timeout_ms: i64,
    /// Its position in the queue of its lane: smaller numbers come first
    pub number: i64,
    pub queued_at: Timestamp,
    /// How long it waits for a slot
    pub waits_until: Option<Timestamp>,
    /// When its command began; before that, when it was queued
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<i64>,
    pub updated_at: Timestamp,
    /// Its stored output; only when one job is shown
    pub output: Option<String>,
}

impl Job {
    /// The command's process, if known.
    pub fn process(&self) -> Option<Process> {
        self.pid.map(|pid| Process { pid, born: self.born.clone() })
    }

    pub fn timeout(&self) -> Span {
        Span::from_millis(self.timeout_ms)
    }

    /// Whether it is queued and its waiting time has not expired.
    pub fn waits(&self, now: Timestamp) -> bool {
        self.status == JobStatus::Pending && self.waits_until.is_none_or(|until| now <= until)
    }
}

/// Quotes a program and its arguments for a shell, in one line.
pub fn shell_quote(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn status_words_are_the_same_in_json_and_on_the_command_line() {
        for status in JobStatus::ALL {
            assert_eq!(serde_json::json!(status), status.as_str());
            assert_eq!(status.as_str().parse::<JobStatus>().expect("known"), status);
            assert_eq!(status.to_possible_value().expect("shown").get_name(), status.as_str());
        }
        assert!("done".parse::<JobStatus>().is_err());
    }

    #[test]
    fn command_is_quoted_for_a_shell() {
        for (words, spelled) in [
            (&["ls", "-l", "a/b.c"][..], "ls -l a/b.c"),
            (&["sh", "-c", "echo a; exit 3"], "sh -c 'echo a; exit 3'"),
            (&["echo", ""], "echo ''"),
            (&["echo", "it's"], r"echo 'it'\''s'"),
            (&["é", "$x", "a\nb"], "'é' '$x' 'a\nb'"),
            (&[], ""),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(shell_quote(&words), spelled);
        }
    }
}
