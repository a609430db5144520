//! Imports jobs that another tool stored as records.

use serde::Deserialize;
use serde_json::Value;

use super::{Job, JobStatus, Lane, RunEnd};
use crate::error::{Error, Result};
use crate::id::JobId;
use crate::session::object::Object;
use crate::text;
use crate::time::Timestamp;

/// The record of the other tool. Other fields are dropped.
#[derive(Deserialize)]
struct ForeignJob {
    id: JobId,
    loop_id: Option<String>,
    tool_name: String,
    lane: String,
    #[serde(default)]
    command: String,
    cwd: Option<String>,
    #[serde(default)]
    status: Value,
    exit_code: Option<i64>,
    #[serde(default)]
    output_bytes: i64,
    #[serde(default)]
    was_timeout: bool,
    #[serde(default)]
    was_cancelled: bool,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    duration_ms: Option<i64>,
}

impl ForeignJob {
    /// How the job ended. The status word counts only if no other field decides, because tools spell it differently.
    fn ended(&self) -> JobStatus {
        let word = self.status.as_str().unwrap_or_default().to_ascii_lowercase();
        match self.exit_code {
            _ if self.was_timeout || word.starts_with("time") => JobStatus::Timeout,
            _ if self.was_cancelled || word.starts_with("cancel") => JobStatus::Cancelled,
            Some(0) => JobStatus::Succeeded,
            None if word.starts_with("succe") || word.starts_with("complete") || word == "ok" => JobStatus::Succeeded,
            _ => JobStatus::Failed,
        }
    }
}

/// Converts a record of another tool to a finished job. A job that was still running counts as failed, because Pensa does
/// not watch its process.
pub fn import_record(record: &Object, actor: &str, now: Timestamp) -> Result<Job> {
    let record = ForeignJob::deserialize(Value::Object(record.clone()));
    let record = record.map_err(|e| Error::invalid(format!("not a job: {e}")))?;
    if record.command.len() > text::TEXT_BYTES || record.output_bytes < 0 {
        return Err(Error::invalid(format!("not a job: {} is out of bounds", record.id)));
    }
    let status = record.ended();
    let lane: Lane = record.lane.to_ascii_lowercase().replace([' ', '.'], "-").parse()?;
    let reason = record.ended_at.is_none().then(|| "it had not ended where it was taken from".to_owned());
    let ended_at = record.ended_at.unwrap_or(record.started_at).max(record.started_at);
    Ok(Job {
        status,
        tool_name: text::line("tool", &record.tool_name)?.to_owned(),
        lane,
        cwd: text::optional_line("cwd", record.cwd.as_ref())?,
        loop_id: text::optional_line("loop", record.loop_id.as_ref())?,
        run_id: None,
        session_id: None,
        issue_id: None,
        actor: actor.to_owned(),
        host: None,
        pid: None,
        born: None,
        supervisor: None,
        end: RunEnd { exit_code: record.exit_code, signal: None, reason },
        output_bytes: record.output_bytes,
        truncated: record.output_bytes > 0,
        was_timeout: status == JobStatus::Timeout,
        was_cancelled: record.was_cancelled || status == JobStatus::Cancelled,
        timeout_ms: 0,
        number: 0,
        queued_at: record.started_at,
        waits_until: None,
        started_at: record.started_at,
        ended_at: Some(ended_at),
        duration_ms: record.duration_ms.filter(|took| *took >= 0),
        updated_at: now,
        output: None,
        command: record.command,
        id: record.id,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn import(fields: Value) -> Result<Job> {
        let mut whole = json!({"id": "job-1", "loop_id": "lp-1", "tool_name": "sh", "lane": "no-net", "command": "ls",
            "cwd": "/w", "status": "Success", "exit_code": 0, "output_bytes": 3, "was_timeout": false,
            "was_cancelled": false, "started_at": 1_772_202_600_000_i64, "ended_at": 1_772_202_601_000_i64,
            "duration_ms": 1000});
        whole.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        let now = "2026-03-01T00:00:00.000Z".parse().expect("a time");
        import_record(whole.as_object().expect("an object"), "ann", now)
    }

    #[test]
    fn imported_job_has_ended() {
        let job = json!(import(json!({"more": [1]})).expect("a job"));
        for (field, value) in [
            ("id", json!("job-1")),
            ("loop_id", json!("lp-1")),
            ("tool_name", json!("sh")),
            ("lane", json!("no-net")),
            ("command", json!("ls")),
            ("cwd", json!("/w")),
            ("status", json!("succeeded")),
            ("exit_code", json!(0)),
            ("output_bytes", json!(3)),
            ("started_at", json!("2026-02-27T14:30:00.000Z")),
            ("ended_at", json!("2026-02-27T14:30:01.000Z")),
            ("duration_ms", json!(1000)),
            ("actor", json!("ann")),
        ] {
            assert_eq!(job[field], value, "{field}");
        }
        for (fields, status) in [
            (json!({"exit_code": 3}), JobStatus::Failed),
            (json!({"exit_code": null}), JobStatus::Succeeded),
            (json!({"exit_code": null, "status": "Running", "ended_at": null}), JobStatus::Failed),
            (json!({"exit_code": null, "status": {"Odd": 1}}), JobStatus::Failed),
            (json!({"was_timeout": true, "exit_code": 124}), JobStatus::Timeout),
            (json!({"status": "TimedOut", "exit_code": null}), JobStatus::Timeout),
            (json!({"was_cancelled": true}), JobStatus::Cancelled),
        ] {
            assert_eq!(import(fields.clone()).expect("a job").status, status, "{fields}");
        }
        for bad in [
            json!({"id": "a b"}),
            json!({"lane": ""}),
            json!({"lane": "ä"}),
            json!({"tool_name": "\u{1b}"}),
            json!({"started_at": null}),
            json!({"output_bytes": -1}),
            json!({"exit_code": "0"}),
        ] {
            assert!(import(bad.clone()).is_err(), "{bad}");
        }
    }
}
