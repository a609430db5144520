//! The only function that changes the status of a job.

use super::{Job, JobStatus};
use crate::error::{Code, Error, Result};
use crate::run::RunEnd;
use crate::time::Timestamp;

/// A status change of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobTransition {
    /// The job has a slot.
    Start,
    /// Request the end of the job. A queued job ends at once; a running one keeps its slot until its process has ended.
    Cancel,
    /// The job ended with this status, which must be a final one.
    Finish(JobStatus, RunEnd),
}

/// Applies a status change and returns whether anything changed, or an error if it is not allowed.
///
/// Repeating a change succeeds without effect, so that callers can retry.
pub fn apply(job: &mut Job, step: JobTransition, now: Timestamp) -> Result<bool> {
    use JobStatus::{Cancelled, Pending, Running, Timeout};
    match step {
        JobTransition::Start if job.status == Running => Ok(false),
        JobTransition::Start if job.status == Pending => {
            (job.status, job.started_at) = (Running, now.max(job.queued_at));
            Ok(true)
        }
        JobTransition::Cancel if job.status == Running => {
            let is_new = !job.was_cancelled;
            job.was_cancelled = true;
            Ok(is_new)
        }
        JobTransition::Cancel if job.status == Pending => Ok(finish(job, Cancelled, RunEnd::default(), now)),
        JobTransition::Cancel if job.status == Cancelled => Ok(false),
        JobTransition::Finish(to, _) if !to.is_over() => {
            Err(Error::invalid(format!("{to} is not an end")).hint("one of succeeded, failed, timeout, cancelled"))
        }
        // A cancelled job counts as cancelled whatever its command returned.
        JobTransition::Finish(to, end) if !job.status.is_over() => {
            let to = if job.was_cancelled && to != Timeout { Cancelled } else { to };
            Ok(finish(job, to, end, now))
        }
        JobTransition::Finish(to, _) if to == job.status || job.was_cancelled && job.status == Cancelled => Ok(false),
        JobTransition::Start => Err(refused(job, Running)),
        JobTransition::Cancel => Err(refused(job, Cancelled)),
        JobTransition::Finish(to, _) => Err(refused(job, to)),
    }
}

fn finish(job: &mut Job, to: JobStatus, end: RunEnd, now: Timestamp) -> bool {
    let ended = now.max(job.started_at);
    // A job that never started has no duration.
    let took = ended.as_millis() - job.started_at.as_millis();
    job.duration_ms = (job.status == JobStatus::Running).then_some(took);
    job.ended_at = Some(ended);
    job.was_timeout |= to == JobStatus::Timeout;
    job.was_cancelled |= to == JobStatus::Cancelled;
    (job.status, job.end) = (to, end);
    true
}

fn refused(job: &Job, to: JobStatus) -> Error {
    let message = format!("cannot go from {} to {to}: {}", job.status, job.id);
    Error::new(Code::InvalidStatusTransition, message).hint("what has ended stays as it is")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(status: JobStatus) -> Job {
        let at = "2026-02-27T14:30:00.000Z";
        serde_json::from_value(
            json!({"id": "job-1", "status": status, "tool_name": "sh", "lane": "net", "command": "ls",
            "actor": "a", "output_bytes": 0, "truncated": false, "was_timeout": status == JobStatus::Timeout,
            "was_cancelled": status == JobStatus::Cancelled, "timeout_ms": 1000, "number": 1, "queued_at": at,
            "started_at": at, "updated_at": at}),
        )
        .expect("a job")
    }

    /// Every status with every change: the new status and whether it changed, or `None` if refused.
    #[test]
    fn every_status_with_every_change() {
        use JobStatus::{Cancelled, Failed, Pending, Running, Succeeded, Timeout};
        let now: Timestamp = "2026-02-27T14:31:00.000Z".parse().expect("a time");
        let end = RunEnd { exit_code: Some(3), signal: None, reason: Some("so".into()) };
        let done = |to: JobStatus| JobTransition::Finish(to, end.clone());
        let steps = [
            JobTransition::Start,
            JobTransition::Cancel,
            done(Succeeded),
            done(Failed),
            done(Timeout),
            done(Cancelled),
        ];
        let change = |to: JobStatus| Some((to, true));
        let same = |to: JobStatus| Some((to, false));
        let table = [
            (
                Pending,
                [
                    change(Running),
                    change(Cancelled),
                    change(Succeeded),
                    change(Failed),
                    change(Timeout),
                    change(Cancelled),
                ],
            ),
            (
                Running,
                [same(Running), change(Running), change(Succeeded), change(Failed), change(Timeout), change(Cancelled)],
            ),
            (Succeeded, [None, None, same(Succeeded), None, None, None]),
            (Failed, [None, None, None, same(Failed), None, None]),
            (Timeout, [None, None, None, None, same(Timeout), None]),
            (Cancelled, [None, same(Cancelled), same(Cancelled), same(Cancelled), same(Cancelled), same(Cancelled)]),
        ];
        for (from, expected) in table {
            for (step, expected) in steps.iter().zip(expected) {
                let mut subject = job(from);
                let got = apply(&mut subject, step.clone(), now);
                if let Err(error) = &got {
                    assert_eq!(error.code, Code::InvalidStatusTransition);
                    assert!(error.message.contains("job-1") && error.hint.is_some());
                }
                assert_eq!(got.ok().map(|changed| (subject.status, changed)), expected, "{from} {step:?}");
                if expected.is_none_or(|(_, changed)| !changed) {
                    assert_eq!(subject, job(from), "nothing else changes it");
                }
                assert_eq!(subject.ended_at.is_some(), subject.status.is_over() && !from.is_over());
            }
        }
        for no_end in [Pending, Running] {
            assert!(apply(&mut job(Running), JobTransition::Finish(no_end, RunEnd::default()), now).is_err());
        }
    }

    #[test]
    fn cancelled_job_counts_as_cancelled_unless_it_timed_out() {
        let now: Timestamp = "2026-02-27T14:30:05.000Z".parse().expect("a time");
        for (to, status) in [
            (JobStatus::Succeeded, JobStatus::Cancelled),
            (JobStatus::Failed, JobStatus::Cancelled),
            (JobStatus::Timeout, JobStatus::Timeout),
        ] {
            let mut subject = job(JobStatus::Running);
            assert!(apply(&mut subject, JobTransition::Cancel, now).expect("asked"));
            assert!(!apply(&mut subject, JobTransition::Cancel, now).expect("asked again"));
            assert!(apply(&mut subject, JobTransition::Finish(to, RunEnd::default()), now).expect("an end"));
            assert_eq!((subject.status, subject.was_cancelled), (status, true));
            assert_eq!((subject.duration_ms, subject.ended_at), (Some(5000), Some(now)));
        }
    }

    #[test]
    fn job_does_not_end_before_it_started_if_the_clock_goes_back() {
        let before: Timestamp = "2026-02-27T14:00:00.000Z".parse().expect("a time");
        for from in [JobStatus::Pending, JobStatus::Running] {
            let mut subject = job(from);
            apply(&mut subject, JobTransition::Finish(JobStatus::Failed, RunEnd::default()), before).expect("an end");
            assert_eq!(subject.ended_at, Some(subject.started_at));
            assert_eq!(subject.duration_ms, (from == JobStatus::Running).then_some(0));
        }
    }
}
