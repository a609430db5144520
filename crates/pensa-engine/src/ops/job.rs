//! Operations on jobs.

use pensa_core::event::EventType;
use pensa_core::job::{self, Job, JobStats, JobStatus, JobTransition, LaneLimits, RunEnd};
use pensa_core::ops::job::{
    Cancel, FailLostJobs, Finish, Import, JobSpec, List, MAX_IMPORTED, MAX_LOST_JOBS, Show, Start, Stats, TakeSlot,
    Update,
};
use pensa_core::record::{Filter, Order};
use pensa_core::run::Process;
use pensa_core::{Code, Error, Result, Span, text};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::records::Query;
use crate::tables::{issues, jobs, runs, sessions};

/// Longest stored command, in bytes.
const COMMAND_BYTES: usize = 64 << 10;
/// Longest program name used as a tool name.
const PROGRAM_CHARS: usize = 100;
/// Jobs listed by default.
const DEFAULT_LIMIT: usize = 100;
/// Most jobs listed.
const MAX_LIMIT: usize = 10_000;
/// Most holders of slots listed in an error.
const MAX_LISTED_HOLDERS: usize = 5;

impl Execute for Start {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Job> {
        let job = new_job(cx, tx, self)?;
        match (jobs::check_slot(cx, tx, &job, self.slots)?, self.wait) {
            (Ok(()), _) => jobs::save(cx, tx, None, job, EventType::Started),
            (Err(_), Some(wait)) => {
                let waits_until = Some(cx.now.plus(wait));
                let waiting = Job { status: JobStatus::Pending, waits_until, ..job };
                jobs::save(cx, tx, None, waiting, EventType::Created)
            }
            (Err(running), None) => Err(lane_full(&job, self.slots, &running)),
        }
    }
}

/// The job as it is if it starts at once.
fn new_job(cx: &Context<'_>, tx: &Tx<'_>, start: &Start) -> Result<Job> {
    let JobSpec { lane, tool, loop_id, run, session, issue, command, cwd } = &start.about;
    LaneLimits { slots: start.slots, timeout: start.timeout }.check()?;
    start.process.as_ref().map_or(Ok(()), Process::check)?;
    start.supervisor.as_ref().map_or(Ok(()), Process::check)?;
    let run = run.as_ref().map(|run| runs::find(tx, run)).transpose()?;
    let session = session.as_ref().map(|session| sessions::find(tx, session)).transpose()?;
    let issue = issue.as_ref().map(|issue| issues::find(cx, tx, issue)).transpose()?;
    let of_run = |run: &pensa_core::run::Run| (run.session_id.clone(), run.issue_id.clone());
    let (runs_session, runs_issue) = run.as_ref().map(of_run).unwrap_or_default();
    let program = command.first().map(|word| tool_name_of(word)).filter(|name| !name.is_empty());
    let tool = text::optional_line("tool", tool.as_ref())?.or(program);
    let tool =
        tool.ok_or_else(|| Error::invalid("a job names its tool or its command").hint("name one with --tool"))?;
    let (pid, born) = start.process.clone().map_or((None, None), |process| (Some(process.pid), process.born));
    Ok(Job {
        id: jobs::new_id(cx, tx)?,
        status: JobStatus::Running,
        tool_name: tool,
        lane: lane.clone(),
        command: stored_command(cx, command)?,
        cwd: text::optional_line("cwd", cwd.as_ref())?,
        loop_id: text::optional_line("loop", loop_id.as_ref())?,
        session_id: session.map(|session| session.id).or(runs_session),
        issue_id: issue.map(|issue| issue.id).or(runs_issue),
        run_id: run.map(|run| run.id),
        actor: cx.actor.clone(),
        host: text::optional_line("host", start.host.as_ref())?,
        pid,
        born,
        supervisor: start.supervisor.clone(),
        end: RunEnd::default(),
        output_bytes: 0,
        truncated: false,
        was_timeout: false,
        was_cancelled: false,
        timeout_ms: start.timeout.as_millis(),
        number: tx.next_event()?,
        queued_at: cx.now,
        waits_until: None,
        started_at: cx.now,
        ended_at: None,
        duration_ms: None,
        updated_at: cx.now,
        output: None,
    })
}

/// A printable tool name for a program.
fn tool_name_of(program: &str) -> String {
    let name = text::printable_line(program.rsplit('/').next().unwrap_or(program));
    name.chars().take(PROGRAM_CHARS).collect::<String>().trim().to_owned()
}

/// The stored form of a command. Redaction sees the whole line, because harmless words can be a secret together, as in
/// `curl -u NAME:PASSWORD`.
fn stored_command(cx: &Context<'_>, command: &[String]) -> Result<String> {
    let bytes: usize = command.iter().map(|word| word.len() + 1).sum();
    if bytes > COMMAND_BYTES {
        let message = format!("a command of {bytes} bytes is too long: at most {COMMAND_BYTES}");
        return Err(Error::new(Code::TooLarge, message).hint("put it into a file"));
    }
    let words: Vec<String> = command.iter().map(|word| word.replace('\0', "")).collect();
    let line = job::shell_quote(&words);
    Ok(if cx.no_redact { line } else { cx.redactor().text(&line).into_owned() })
}

/// The error for a lane without a free slot.
fn lane_full(job: &Job, slots: i64, running: &[Job]) -> Error {
    let holder = |job: &Job| {
        let pid = job.pid.or_else(|| job.supervisor.as_ref().map(|process| process.pid));
        let pid = pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
        format!("{} ({}{pid})", job.id, job.tool_name)
    };
    let mut holders: Vec<String> = running.iter().take(MAX_LISTED_HOLDERS).map(holder).collect();
    if running.len() > MAX_LISTED_HOLDERS {
        holders.push(format!("{} more", running.len() - MAX_LISTED_HOLDERS));
    }
    let whose = if holders.is_empty() { "jobs that waited before".to_owned() } else { holders.join(", ") };
    let message = format!("lane {} is full: {} of {slots} slots are taken, by {whose}", job.lane, running.len());
    Error::new(Code::Busy, message).hint("--wait waits for a slot; pn job list --status running tells more")
}

impl Execute for TakeSlot {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Job> {
        LaneLimits { slots: self.slots, timeout: Span::from_millis(1) }.check()?;
        let old = jobs::find(tx, &self.id)?;
        let mut new = old.clone();
        if old.status == JobStatus::Pending && jobs::check_slot(cx, tx, &old, self.slots)?.is_err()
            || !job::apply(&mut new, JobTransition::Start, cx.now)?
        {
            return Ok(old);
        }
        jobs::save(cx, tx, Some(&old), new, EventType::Started)
    }
}

impl Execute for Update {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Job> {
        self.process.check()?;
        let old = jobs::find(tx, &self.id)?;
        if old.status.is_over() {
            let message = format!("cannot change {}: it has ended ({})", old.id, old.status);
            return Err(Error::new(Code::InvalidStatusTransition, message).hint("what has ended stays as it is"));
        }
        let new = Job { pid: Some(self.process.pid), born: self.process.born.clone(), ..old.clone() };
        jobs::save(cx, tx, Some(&old), new, EventType::Updated)
    }
}

impl Execute for Finish {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Job> {
        let old = jobs::find(tx, &self.id)?;
        let status = match (self.status, self.exit_code, self.signal) {
            (Some(status), ..) => status,
            (None, Some(0), None) => JobStatus::Succeeded,
            (None, Some(_), _) | (None, _, Some(_)) => JobStatus::Failed,
            (None, None, None) => {
                return Err(Error::invalid("a job ends with a status, an exit code or a signal"));
            }
        };
        let mut end = self.end();
        end.reason = text::optional_block("reason", end.reason.as_ref())?;
        let mut new = old.clone();
        if !job::apply(&mut new, JobTransition::Finish(status, end), cx.now)? {
            return Ok(old);
        }
        if let Some(process) = self.process.as_ref().filter(|_| old.pid.is_none()) {
            process.check()?;
            (new.pid, new.born) = (Some(process.pid), process.born.clone());
        }
        store_output(cx, tx, self, &mut new)?;
        jobs::save(cx, tx, Some(&old), new, EventType::Finished)
    }
}

/// Stores a job's output up to the size limit.
fn store_output(cx: &Context<'_>, tx: &Tx<'_>, finish: &Finish, job: &mut Job) -> Result<()> {
    let given = finish.output.as_deref().unwrap_or_default();
    if given.len() > 2 * job::ByteSize::MAX.bytes() {
        let message = format!("an output of {} bytes is too long to keep: at most {}", given.len(), job::ByteSize::MAX);
        return Err(Error::new(Code::TooLarge, message));
    }
    if finish.output_bytes.is_some_and(|bytes| bytes < 0) {
        return Err(Error::invalid("an output has no fewer than 0 bytes"));
    }
    let (output, is_cut) = job::fit(given);
    job.output_bytes = finish.output_bytes.unwrap_or_else(|| i64::try_from(given.len()).unwrap_or(i64::MAX));
    job.truncated = finish.truncated || is_cut;
    if output.is_empty() { Ok(()) } else { jobs::store_output(cx, tx, &job.id, output) }
}

impl Execute for Cancel {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Job> {
        let old = jobs::find(tx, &self.id)?;
        let mut new = old.clone();
        if !job::apply(&mut new, JobTransition::Cancel, cx.now)? {
            return Ok(old);
        }
        let event = if new.status.is_over() { EventType::Finished } else { EventType::Updated };
        jobs::save(cx, tx, Some(&old), new, event)
    }
}

impl Execute for FailLostJobs {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Job>> {
        let count = self.lost.len() + self.overdue.len();
        if count > MAX_LOST_JOBS {
            return Err(Error::new(Code::TooLarge, format!("{count} jobs at once; the limit is {MAX_LOST_JOBS}")));
        }
        let host = text::line("host", &self.host)?;
        let lost =
            self.lost.iter().map(|id| (id, JobStatus::Failed, "its process is gone, and nobody saw how it ended"));
        let overdue =
            self.overdue.iter().map(|id| (id, JobStatus::Timeout, "no end was reported within its time limit"));
        let mut ended = Vec::new();
        for (id, status, reason) in lost.chain(overdue) {
            let old = jobs::find(tx, id)?;
            if old.status.is_over() || old.host.as_deref() != Some(host) {
                continue;
            }
            let end = RunEnd { reason: Some(reason.to_owned()), ..RunEnd::default() };
            let mut new = old.clone();
            job::apply(&mut new, JobTransition::Finish(status, end), cx.now)?;
            ended.push(jobs::save(cx, tx, Some(&old), new, EventType::Finished)?);
        }
        Ok(ended)
    }
}

impl Execute for Import {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Job>> {
        let count = self.records.len();
        if count > MAX_IMPORTED {
            return Err(Error::new(Code::TooLarge, format!("{count} jobs at once; the limit is {MAX_IMPORTED}")));
        }
        let mut new = Vec::new();
        for (at, record) in self.records.iter().enumerate() {
            let job =
                job::import_record(record, &cx.actor, cx.now).map_err(|e| e.within(format!("record {}", at + 1)))?;
            if !jobs::exists(tx, &job.id)? {
                let command = job.command.replace('\0', "");
                new.push(jobs::save(cx, tx, None, Job { command, ..job }, EventType::Imported)?);
            }
        }
        Ok(new)
    }
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Job>> {
        let run = self.run.as_ref().map(|run| runs::find(tx, run)).transpose()?;
        let session = self.session.as_ref().map(|session| sessions::find(tx, session)).transpose()?;
        let issue = self.issue.as_ref().map(|issue| issues::find(cx, tx, issue)).transpose()?;
        let given = [
            ("status", self.status.map(|status| status.to_string())),
            ("run_id", run.map(|run| run.id.to_string())),
            ("session_id", session.map(|session| session.id.to_string())),
            ("issue_id", issue.map(|issue| issue.id.to_string())),
            ("loop_id", self.loop_id.clone()),
            ("tool_name", self.tool.clone()),
            ("lane", self.lane.as_ref().map(ToString::to_string)),
            ("host", self.host.clone()),
        ];
        let filters = given.into_iter().filter_map(|(field, value)| Some(Filter::eq(field, value?))).collect();
        let limit =
            self.limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(MAX_LIMIT).min(MAX_LIMIT));
        jobs::newest(tx, filters, limit)
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Job> {
        let job = jobs::find(tx, &self.id)?;
        Ok(Job { output: jobs::output(tx, &job.id)?, ..job })
    }
}

impl Execute for Stats {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<JobStats>> {
        let since = self.since.map(|since| Filter::gte("started_at", since.as_of(cx.now).to_string()));
        let tool = self.tool.as_ref().map(|tool| Filter::eq("tool_name", tool.as_str()));
        let lane = self.lane.as_ref().map(|lane| Filter::eq("lane", lane.as_str()));
        let order = if since.is_some() { Order::by("started_at") } else { Order::default() };
        let filters = [since, tool, lane].into_iter().flatten().collect();
        job::summarise(|add| {
            jobs::for_each(tx, Query { filters, order, limit: None, after: None }, |job| {
                add(&job);
                true
            })
        })
    }
}
