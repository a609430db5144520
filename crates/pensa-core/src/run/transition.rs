//! The only function that changes the status of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::{Run, RunStatus};
use crate::error::{Code, Error, Result};
use crate::time::Timestamp;

/// How a run or a job ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// The exit code of the command
    pub exit_code: Option<i64>,
    /// The signal that ended the command
    pub signal: Option<i64>,
    /// Why, in words
    pub reason: Option<String>,
}

/// A status change of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunTransition {
    /// The command was started.
    Start,
    /// The run ended with this status, which must be a final one.
    Finish(RunStatus, RunEnd),
}

/// Applies a status change and returns whether anything changed, or an error if it is not allowed.
///
/// Repeating a change succeeds without effect, so that callers can retry.
pub fn apply(run: &mut Run, step: RunTransition, now: Timestamp) -> Result<bool> {
    let (to, end) = match step {
        RunTransition::Start => (RunStatus::Running, None),
        RunTransition::Finish(status, _) if !status.is_over() => {
            return Err(Error::invalid(format!("{status} is not an end")).hint("one of succeeded, failed, cancelled"));
        }
        RunTransition::Finish(status, end) => (status, Some(end)),
    };
    if run.status == to {
        return Ok(false);
    }
    if run.status.is_over() {
        let message = format!("cannot go from {} to {to}: {}", run.status, run.id);
        return Err(Error::new(Code::InvalidStatusTransition, message).hint("what has ended stays as it is"));
    }
    run.status = to;
    if let Some(end) = end {
        run.end = end;
        run.ended_at = Some(now.max(run.started_at));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(status: RunStatus) -> Run {
        serde_json::from_value(json!({"id": "run-1", "status": status, "repo_id": "repo-1", "harness_id": "har-1",
            "harness": "h@1", "runtime_id": "rt-1", "runtime": "local", "actor": "a", "prompt": "", "instances": 1,
            "browser_automation": true, "started_at": "2026-02-27T14:30:00.000Z",
            "updated_at": "2026-02-27T14:30:00.000Z"}))
        .expect("a run")
    }

    /// Every status with every change: whether it changed, or `None` if refused.
    #[test]
    fn every_status_with_every_change() {
        use RunStatus::{Cancelled, Created, Failed, Running, Succeeded};
        let now: Timestamp = "2026-02-27T14:31:00.000Z".parse().expect("a time");
        let steps = [Running, Failed, Succeeded, Cancelled];
        let table = [
            (Created, [Some(true), Some(true), Some(true), Some(true)]),
            (Running, [Some(false), Some(true), Some(true), Some(true)]),
            (Failed, [None, Some(false), None, None]),
            (Succeeded, [None, None, Some(false), None]),
            (Cancelled, [None, None, None, Some(false)]),
        ];
        for (from, expected) in table {
            for (to, expected) in steps.into_iter().zip(expected) {
                let mut subject = run(from);
                let end = RunEnd { exit_code: Some(3), signal: None, reason: Some("so".into()) };
                let step = if to == Running { RunTransition::Start } else { RunTransition::Finish(to, end.clone()) };
                let got = apply(&mut subject, step, now);
                if let Err(error) = &got {
                    assert_eq!(error.code, Code::InvalidStatusTransition);
                    assert!(error.message.contains("run-1") && error.hint.is_some());
                }
                assert_eq!(got.ok(), expected, "{from} to {to}");
                if expected == Some(true) {
                    assert_eq!(subject.status, to);
                    assert_eq!(subject.ended_at, to.is_over().then_some(now));
                    assert_eq!(subject.end == end, to.is_over());
                } else {
                    assert_eq!(subject, run(from), "nothing else changes it");
                }
            }
        }
        for no_end in [Created, Running] {
            assert!(apply(&mut run(Running), RunTransition::Finish(no_end, RunEnd::default()), now).is_err());
        }
    }

    #[test]
    fn run_does_not_end_before_it_started_if_the_clock_goes_back() {
        let mut subject = run(RunStatus::Running);
        let before: Timestamp = "2026-02-27T14:00:00.000Z".parse().expect("a time");
        apply(&mut subject, RunTransition::Finish(RunStatus::Failed, RunEnd::default()), before).expect("an end");
        assert_eq!(subject.ended_at, Some(subject.started_at));
    }
}
