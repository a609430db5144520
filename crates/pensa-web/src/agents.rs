//! Renders who works on what: claims with their leases, agents, runs, jobs, loops and signals; and pages of one run and one job.

use std::collections::HashMap;

use maud::{Markup, html};
use pensa_core::agent::{Agent, Lifecycle};
use pensa_core::event::{LogEntry, describe, shorten};
use pensa_core::issue::Issue;
use pensa_core::job::Job;
use pensa_core::loops::{Loop, LoopStatus};
use pensa_core::run::Run;
use pensa_core::session::SessionSummary;
use pensa_core::signal::{Signal, SignalType};
use pensa_core::trace::format_duration;
use pensa_core::{Access, Span, Timestamp};

use crate::layout::{Frame, age, ago, time};
use crate::links;

/// Most characters of a text in one row.
const MAX_CHARS: usize = 160;

/// What the page shows.
#[derive(Debug, Clone, Default)]
pub struct AgentsContent {
    pub claims: Vec<Issue>,
    pub agents: Vec<Agent>,
    pub runs: Vec<Run>,
    pub jobs: Vec<Job>,
    pub loops: Vec<Loop>,
    /// Those that someone has not acknowledged
    pub signals: Vec<Signal>,
    pub sessions: Vec<SessionSummary>,
    /// The end of the log
    pub events: Vec<LogEntry>,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &AgentsContent) -> Markup {
    let AgentsContent { claims, agents, runs, jobs, loops, signals, .. } = content;
    let is_empty = claims.is_empty() && agents.is_empty() && runs.is_empty() && jobs.is_empty() && loops.is_empty();
    html! {
        div.bar { h1 { "Agents" } }
        @if is_empty && signals.is_empty() {
            p.empty { "Nobody works on anything now. " code { "pn update ID --claim" } " claims an issue." }
        }
        (self::claims(frame, content))
        (self::agents(frame, content))
        (self::runs(frame, runs))
        (self::jobs(frame, jobs))
        (self::loops(frame, loops))
        (self::signals(frame, signals))
    }
}

/// A table below a heading with its number of rows; nothing without rows.
fn section(title: &str, columns: &[&str], rows: &[Markup]) -> Markup {
    html! {
        @if !rows.is_empty() {
            section {
                h2 { (title) " " span.count { (rows.len()) } }
                div.scrolls tabindex="0" role="region" aria-label=(title) {
                    table {
                        thead { tr { @for column in columns { th scope="col" { (column) } } } }
                        tbody { @for row in rows { tr { (row) } } }
                    }
                }
            }
        }
    }
}

/// A word for a state, which its class colours.
fn state(word: &str) -> Markup {
    html! { span.state data-state=(word) { (word) } }
}

fn lease(issue: &Issue, now: Timestamp) -> Markup {
    match issue.lease_expires_at {
        None => html! { span.faint { "none" } },
        Some(end) => match end.since(now) {
            Some(left) => html! { (format_duration(left.as_millis())) " left" },
            None => html! { span.state data-state="failed" { "ran out" } },
        },
    }
}

fn claims(frame: &Frame, content: &AgentsContent) -> Markup {
    let last: HashMap<&str, &LogEntry> = content.events.iter().map(|event| (event.actor.as_str(), event)).collect();
    let row = |issue: &Issue| {
        let holder = issue.assignee.as_deref().unwrap_or_default();
        html! {
            td { bdi { (holder) } }
            td { (links::issue(frame, &issue.id)) " " bdi { (issue.title) } }
            td { (age(issue.updated_at, frame.now)) }
            td { (lease(issue, frame.now)) }
            td {
                @if let Some(event) = last.get(holder) {
                    (event.event_type) " " (links::subject(frame, &event.subject_kind, &event.subject_id)) ", "
                    (ago(event.created_at, frame.now))
                }
            }
            td.actions {
                @if frame.may_write() {
                    (frame.form("issue.release", "inline", html! {
                        input type="hidden" name="id" value=(issue.id);
                        button aria-label=(format!("Release {}", issue.id)) { "Release" }
                    }))
                }
            }
        }
    };
    let rows: Vec<Markup> = content.claims.iter().map(row).collect();
    section("Claims", &["holder", "issue", "unchanged for", "lease", "last seen", ""], &rows)
}

fn agents(frame: &Frame, content: &AgentsContent) -> Markup {
    let sessions: HashMap<&str, &SessionSummary> =
        content.sessions.iter().map(|summary| (summary.session.agent_id.as_str(), summary)).collect();
    let row = |agent: &Agent| {
        let word =
            if agent.lifecycle == Lifecycle::Active { ("agent.sleep", "Put to sleep") } else { ("agent.wake", "Wake") };
        html! {
            td { span.id { (agent.id) } }
            td { bdi { (agent.name.as_deref().unwrap_or_default()) } }
            td { (agent.agent_type) }
            td { (state(agent.lifecycle.as_str())) }
            td {
                @if let Some(summary) = sessions.get(agent.id.as_str()) {
                    (links::record(frame, "sessions", &summary.session.id)) ", " (summary.entries) " entries"
                    @if let Some(cost) = summary.cost_usd { ", $" (format!("{cost:.2}")) }
                }
            }
            td.actions {
                @if frame.may_write() && agent.lifecycle != Lifecycle::Dead {
                    (frame.form(word.0, "inline", html! {
                        input type="hidden" name="id" value=(agent.id);
                        button aria-label=(format!("{} {}", word.1, agent.id)) { (word.1) }
                    }))
                }
            }
        }
    };
    let rows: Vec<Markup> = content.agents.iter().map(row).collect();
    section("Agents", &["id", "name", "type", "state", "session", ""], &rows)
}

fn took(from: Timestamp, to: Option<Timestamp>, now: Timestamp) -> String {
    format_duration(to.unwrap_or(now).since(from).map_or(0, Span::as_millis))
}

fn runs(frame: &Frame, runs: &[Run]) -> Markup {
    let row = |run: &Run| {
        html! {
            td { (links::record(frame, "runs", &run.id)) }
            td { (state(run.status.as_str())) }
            td { (took(run.started_at, run.ended_at, frame.now)) }
            td { (run.harness) }
            td { @if let Some(issue) = &run.issue_id { (links::issue(frame, issue)) } }
            td { bdi { (run.actor) } }
            td.wide { bdi { (what(run)) } }
        }
    };
    let rows: Vec<Markup> = runs.iter().map(row).collect();
    section("Runs", &["run", "state", "took", "harness", "issue", "actor", "what"], &rows)
}

fn what(run: &Run) -> String {
    let text = if run.task.prompt.is_empty() { run.command.join(" ") } else { run.task.prompt.clone() };
    shorten(&text, MAX_CHARS)
}

fn jobs(frame: &Frame, jobs: &[Job]) -> Markup {
    let row = |job: &Job| {
        let took = job.duration_ms.map_or_else(|| took(job.started_at, job.ended_at, frame.now), format_duration);
        html! {
            td { (links::record(frame, "jobs", &job.id)) }
            td { (state(job.status.as_str())) }
            td { (took) }
            td { (job.lane) }
            td.wide { code { (shorten(&job.command, MAX_CHARS)) } }
            td.actions {
                @if frame.may_write() && !job.status.is_over() {
                    (frame.form("job.cancel", "inline", html! {
                        input type="hidden" name="id" value=(job.id);
                        button aria-label=(format!("Cancel {}", job.id)) { "Cancel" }
                    }))
                }
            }
        }
    };
    let rows: Vec<Markup> = jobs.iter().map(row).collect();
    section("Jobs", &["job", "state", "took", "lane", "command", ""], &rows)
}

/// What may be done with a loop, as operations and the words on their buttons.
fn moves(status: LoopStatus) -> &'static [(&'static str, &'static str)] {
    match status {
        LoopStatus::Running => &[("loop.pause", "Pause")],
        LoopStatus::Paused | LoopStatus::Rebasing => &[("loop.resume", "Resume")],
        LoopStatus::AwaitingApproval => &[("loop.approve", "Approve"), ("loop.reject", "Reject")],
        LoopStatus::Pending | LoopStatus::Complete | LoopStatus::Failed | LoopStatus::Invalidated => &[],
    }
}

fn loops(frame: &Frame, loops: &[Loop]) -> Markup {
    let row = |one: &Loop| {
        html! {
            td { span.id { (one.id) } }
            td { (one.loop_type) }
            td { (state(one.status.as_str())) }
            td.number { (one.iteration) " of " (one.max_iterations) }
            td { @if let Some(issue) = &one.issue_id { (links::issue(frame, issue)) } }
            td.wide { bdi { (one.progress) } }
            td.actions {
                @if frame.may_write() {
                    @for (operation, word) in moves(one.status) {
                        (frame.form(operation, "inline", html! {
                            input type="hidden" name="id" value=(one.id);
                            button aria-label=(format!("{word} {}", one.id)) { (word) }
                        }))
                    }
                }
            }
        }
    };
    let rows: Vec<Markup> = loops.iter().map(row).collect();
    section("Loops", &["loop", "type", "state", "iteration", "issue", "progress", ""], &rows)
}

fn signals(frame: &Frame, signals: &[Signal]) -> Markup {
    let row = |signal: &Signal| {
        html! {
            td { span.id { (signal.id) } }
            td { (state(signal.signal_type.as_str())) }
            td { bdi { (signal.actor) } }
            td { (signal.acknowledged_count) " of " (signal.recipient_count) }
            td { (time(signal.created_at)) }
            td.wide { bdi { (signal.reason) } }
        }
    };
    let rows: Vec<Markup> = signals.iter().map(row).collect();
    html! {
        (section("Signals", &["signal", "type", "from", "acknowledged", "sent", "reason"], &rows))
        @if frame.may_write() {
            details.form {
                summary { "Send a signal" }
                (frame.form("signal.send", "stacked", html! {
                    label { "Type"
                        select name="signal_type" {
                            @for kind in SignalType::ALL { option value=(kind) selected[kind == SignalType::Info] { (kind) } }
                        }
                    }
                    label { "To" input name="to" required placeholder="the id of a loop, agent or run, or type:code"; }
                    label { "Reason" input name="reason"; }
                    button { "Send" }
                }))
            }
        }
    }
}

/// One run.
#[derive(Debug, Clone)]
pub struct RunContent {
    pub run: Run,
    pub events: Vec<LogEntry>,
    /// The end of its output, as far as this machine has it.
    pub output: Option<String>,
    /// The number of bytes of the output so far: where its rest begins.
    pub output_bytes: u64,
}

/// The body of the page of a run.
pub fn run_page(frame: &Frame, content: &RunContent) -> Markup {
    let RunContent { run, events, output, .. } = content;
    html! {
        div.bar { h1 { "Run " span.id { (run.id) } } (state(run.status.as_str())) }
        dl.facts {
            dt { "Harness" } dd { (run.harness) " in " (run.runtime) }
            dt { "Actor" } dd { bdi { (run.actor) } }
            @if let Some(issue) = &run.issue_id { dt { "Issue" } dd { (links::issue(frame, issue)) } }
            @if let Some(session) = &run.session_id { dt { "Session" } dd { (links::record(frame, "sessions", session)) } }
            @if let Some(branch) = &run.task.branch { dt { "Branch" } dd { code { (branch) } } }
            @if let Some(host) = &run.host { dt { "Machine" } dd { (host) } }
            dt { "Started" } dd { (time(run.started_at)) }
            dt { "Took" } dd { (took(run.started_at, run.ended_at, frame.now)) }
            @if let Some(code) = run.end.exit_code { dt { "Exit code" } dd { (code) } }
            @if let Some(reason) = &run.end.reason { dt { "Reason" } dd { bdi { (reason) } } }
            @if !run.command.is_empty() { dt { "Command" } dd { code { (run.command.join(" ")) } } }
        }
        @if !run.task.prompt.is_empty() {
            section { h2 { "Prompt" } pre.text { (printed(&run.task.prompt)) } }
        }
        section {
            h2 { "Output" }
            @match output {
                Some(text) => {
                    (self::output(text, (!run.status.is_over()).then_some((&format!("runs/{}/log", run.id), content.output_bytes)), frame))
                }
                None => p.hint { "This machine has no log of it." @if let Some(path) = &run.log_path { " It is in " code { (path) } "." } }
            }
        }
        @if !events.is_empty() { section { h2 { "Events" } (event_list(frame, events)) } }
    }
}

/// Text of a program. While it grows, the script asks for more from where it ends.
fn output(text: &str, grows: Option<(&String, u64)>, frame: &Frame) -> Markup {
    html! {
        pre.output tabindex="0" role="log" aria-label="Output"
            data-log=[grows.map(|(path, _)| frame.ui(path))] data-offset=[grows.map(|(_, bytes)| bytes)] { (printed(text)) }
    }
}

fn printed(text: &str) -> String {
    pensa_core::text::printable_block(text)
}

fn event_list(frame: &Frame, events: &[LogEntry]) -> Markup {
    html! {
        ul.events {
            @for event in events {
                li { (time(event.created_at)) " " strong { (event.event_type) } " " bdi { (event.actor) } " "
                    span.faint { bdi { (shorten(&describe(&event.detail), MAX_CHARS)) } }
                    @if frame.may(Access::Read) { " " a.faint href=(frame.ui(&format!("log?after={}", event.id - 1))) { "#" (event.id) } }
                }
            }
        }
    }
}

/// The body of the page of a job.
pub fn job_page(frame: &Frame, job: &Job) -> Markup {
    let took = job.duration_ms.map_or_else(|| took(job.started_at, job.ended_at, frame.now), format_duration);
    html! {
        div.bar { h1 { "Job " span.id { (job.id) } } (state(job.status.as_str())) }
        dl.facts {
            dt { "Tool" } dd { bdi { (job.tool_name) } " in lane " (job.lane) }
            dt { "Command" } dd { code { (job.command) } }
            dt { "Actor" } dd { bdi { (job.actor) } }
            @if let Some(issue) = &job.issue_id { dt { "Issue" } dd { (links::issue(frame, issue)) } }
            @if let Some(run) = &job.run_id { dt { "Run" } dd { (links::record(frame, "runs", run)) } }
            @if let Some(session) = &job.session_id { dt { "Session" } dd { (links::record(frame, "sessions", session)) } }
            dt { "Started" } dd { (time(job.started_at)) }
            dt { "Took" } dd { (took) }
            @if let Some(code) = job.end.exit_code { dt { "Exit code" } dd { (code) } }
            @if let Some(reason) = &job.end.reason { dt { "Reason" } dd { bdi { (reason) } } }
        }
        section {
            h2 { "Output" }
            @if job.truncated { p.hint { "Only a part of its " (job.output_bytes) " bytes is stored." } }
            (output(job.output.as_deref().unwrap_or_default(), None, frame))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{assert_harmless, frame, viewer};

    const AT: &str = "2026-02-27T14:00:00.000Z";

    fn content(text: &str) -> AgentsContent {
        let of = |value: serde_json::Value| value;
        AgentsContent {
            claims: vec![serde_json::from_value(of(json!({"id": "pn-1", "title": text, "issue_type": "task",
                "status": "in_progress", "priority": "p1", "assignee": "ana", "lease_expires_at": "2026-02-27T15:05:00.000Z",
                "created_at": AT, "updated_at": AT}))).expect("an issue")],
            agents: vec![serde_json::from_value(json!({"id": "ag-1", "type": "user", "name": text, "lifecycle": "active",
                "created_at": AT, "updated_at": AT})).expect("an agent")],
            runs: vec![run(text)],
            jobs: vec![job(text)],
            loops: vec![serde_json::from_value(json!({"id": "lp-1", "loop_type": "code", "prompt_path": "p", "status":
                "awaiting_approval", "validation_command": "true", "max_iterations": 3, "worktree": "w", "iteration": 2,
                "progress": text, "created_at": AT, "updated_at": AT})).expect("a loop")],
            signals: vec![serde_json::from_value(json!({"id": "sg-1", "signal_type": "stop", "reason": text, "actor": "ana",
                "recipient_count": 2, "acknowledged_count": 1, "created_at": AT})).expect("a signal")],
            sessions: Vec::new(),
            events: vec![serde_json::from_value(json!({"id": 9, "subject_kind": "issue", "subject_id": "pn-1",
                "event_type": "claimed", "actor": "ana", "detail": {}, "created_at": AT})).expect("an event")],
        }
    }

    fn run(text: &str) -> Run {
        serde_json::from_value(json!({"id": "run-1", "status": "running", "repo_id": "repo-1", "harness_id": "h",
            "harness": "claude-code@2.1", "runtime_id": "r", "runtime": "local", "actor": "ana", "prompt": text,
            "instances": 1, "browser_automation": true, "started_at": AT, "updated_at": AT, "log_path": text}))
        .expect("a run")
    }

    fn job(text: &str) -> Job {
        serde_json::from_value(json!({"id": "job-1", "status": "running", "tool_name": "t", "lane": "net",
            "command": text, "actor": "ana", "output_bytes": 0, "truncated": false, "was_timeout": false,
            "was_cancelled": false, "timeout_ms": 1, "number": 1, "queued_at": AT, "started_at": AT, "updated_at": AT,
            "output": text}))
        .expect("a job")
    }

    #[test]
    fn every_kind_of_work_is_shown_with_what_can_be_done() {
        let html = page(&frame(), &content("the work")).into_string();
        for part in ["Claims", "Agents", "Runs", "Jobs", "Loops", "Signals", "5m left", "1 of 2", "2 of 3", "claimed"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        for operation in ["issue.release", "agent.sleep", "job.cancel", "loop.approve", "loop.reject", "signal.send"] {
            assert!(html.contains(&format!("action=\"/ui/do/{operation}\"")), "{operation}");
        }
    }

    #[test]
    fn a_viewer_sees_no_buttons() {
        let html = page(&viewer(), &content("the work")).into_string();
        assert!(html.contains("the work") && !html.contains("<button") && !html.contains("<form"), "{html}");
    }

    #[test]
    fn a_running_run_follows_its_log_and_an_ended_one_does_not() {
        let content = |status: &str| {
            let mut run = run("do it");
            run.status = status.parse().expect("a status");
            RunContent { run, events: Vec::new(), output: Some("line\u{1b}[31m\n".into()), output_bytes: 9 }
        };
        let html = run_page(&frame(), &content("running")).into_string();
        assert!(html.contains("data-log=\"/ui/runs/run-1/log\" data-offset=\"9\">line[31m\n</pre>"), "{html}");
        assert!(!run_page(&frame(), &content("failed")).into_string().contains("data-log"));
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_harmless(|text| page(&frame(), &content(text)));
        assert_harmless(|text| job_page(&frame(), &job(text)));
        assert_harmless(|text| {
            run_page(
                &frame(),
                &RunContent {
                    run: run(text),
                    events: content(text).events,
                    output: Some(text.into()),
                    output_bytes: 0,
                },
            )
        });
    }
}
