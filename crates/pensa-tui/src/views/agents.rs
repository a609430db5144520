//! Agents: who holds what, since when and for how long yet, and what runs.

use std::collections::HashMap;

use pensa_core::Span;
use pensa_core::issue::Issue;
use pensa_core::session::SessionSummary;

use super::{TuiView, ViewContext, id_piece, priority_piece};
use crate::rows::{ListRow, Piece, RowList, RowSubject, piece};
use crate::store::{AgentsAnswer, Answer, StoreQuery};
use crate::text::{age, padded, since};
use crate::theme::Tone;

#[derive(Debug, Default)]
pub(crate) struct AgentsView {
    rows: RowList,
    summary: String,
}

/// One row of something that is no issue.
fn row(kind: &'static str, id: &str, status: &str, tone: Tone, rest: Vec<Piece>) -> ListRow {
    let mut line = vec![piece(padded(id, 14), Tone::Id), piece(padded(status, 11), tone)];
    line.extend(rest);
    ListRow::new(format!("{kind} {id}"), RowSubject::Other(kind, id.to_owned()), line)
}

fn is_running(status: &str) -> Tone {
    match status {
        "running" | "active" => Tone::InProgress,
        "failed" => Tone::Bad,
        "succeeded" | "complete" => Tone::Good,
        _ => Tone::Faint,
    }
}

fn section(rows: &mut Vec<ListRow>, title: &str, entries: Vec<ListRow>) {
    if !entries.is_empty() {
        rows.push(ListRow::heading(format!("{title} {}", entries.len())));
        rows.extend(entries);
    }
}

fn lease(issue: &Issue, cx: &ViewContext) -> Piece {
    match issue.lease_expires_at {
        None => piece("no lease  ", Tone::Faint),
        Some(end) => match end.since(cx.now) {
            Some(left) => piece(padded(&format!("{} left", age(left.as_millis())), 10), Tone::Good),
            None => piece("run out   ", Tone::Bad),
        },
    }
}

impl TuiView for AgentsView {
    fn query(&self) -> StoreQuery {
        StoreQuery::Agents
    }

    fn take(&mut self, answer: Answer, cx: &ViewContext) {
        let Answer::Agents(answer) = answer else { return };
        let AgentsAnswer { claims, agents, runs, jobs, loops, signals, sessions, last_events } = *answer;
        let last: HashMap<&str, _> = last_events.iter().map(|event| (event.actor.as_str(), event)).collect();
        let by_agent: HashMap<&str, &SessionSummary> =
            sessions.iter().map(|summary| (summary.session.agent_id.as_str(), summary)).collect();
        let mut rows = Vec::new();
        let claim = |issue: &Issue| {
            let holder = issue.assignee.clone().unwrap_or_default();
            let mut line = vec![
                piece(format!("{} ", padded(&holder, 12)), Tone::Accent),
                id_piece(&issue.id),
                priority_piece(issue.priority),
                piece(padded(&format!("for {}", since(issue.updated_at, cx.now)), 9), Tone::Faint),
                lease(issue, cx),
                piece(issue.title.clone(), Tone::Plain),
            ];
            if let Some(session) = &issue.claim_session {
                line.push(piece(format!("  session {session}"), Tone::Faint));
            }
            if let Some(event) = last.get(holder.as_str()) {
                let ago = since(event.created_at, cx.now);
                line.push(piece(format!("  last {} {} {ago} ago", event.event_type, event.subject_id), Tone::Faint));
            }
            let row = ListRow::new(issue.id.as_str(), RowSubject::Issue(issue.id.clone()), line);
            ListRow { status: Some(issue.status), ..row }
        };
        section(&mut rows, "Claims", claims.iter().map(claim).collect());
        let agent = |agent: &pensa_core::agent::Agent| {
            let name = agent.name.clone().unwrap_or_else(|| agent.agent_type.to_string());
            let mut rest = vec![piece(format!("{} ", padded(&name, 16)), Tone::Accent)];
            if let Some(summary) = by_agent.get(agent.id.as_str()) {
                let cost = summary.cost_usd.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
                rest.push(piece(
                    format!("session {}: {} entries{cost}", summary.session.id, summary.entries),
                    Tone::Faint,
                ));
            }
            let status = agent.lifecycle.as_str();
            row("agent", agent.id.as_str(), status, is_running(status), rest)
        };
        section(&mut rows, "Agents", agents.iter().map(agent).collect());
        let run = |run: &pensa_core::run::Run| {
            let status = run.status.as_str();
            let took = run.ended_at.unwrap_or(cx.now).since(run.started_at).map_or(0, Span::as_millis);
            let issue = run.issue_id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
            let what = if run.task.prompt.is_empty() { run.command.join(" ") } else { run.task.prompt.clone() };
            let rest = vec![
                piece(padded(&age(took), 6), Tone::Faint),
                piece(format!("{} {issue}", run.harness), Tone::Accent),
                piece(what, Tone::Plain),
            ];
            row("run", run.id.as_str(), status, is_running(status), rest)
        };
        section(&mut rows, "Runs", runs.iter().map(run).collect());
        let job = |job: &pensa_core::job::Job| {
            let status = job.status.as_str();
            let took = job.duration_ms.unwrap_or_else(|| cx.now.since(job.started_at).map_or(0, Span::as_millis));
            let rest = vec![
                piece(padded(&age(took), 6), Tone::Faint),
                piece(format!("{} ", job.lane), Tone::Accent),
                piece(job.command.clone(), Tone::Plain),
            ];
            row("job", job.id.as_str(), status, is_running(status), rest)
        };
        section(&mut rows, "Jobs", jobs.iter().map(job).collect());
        let a_loop = |one: &pensa_core::loops::Loop| {
            let status = one.status.as_str();
            let rest = vec![
                piece(format!("{} {}/{} ", one.loop_type.as_str(), one.iteration, one.max_iterations), Tone::Accent),
                piece(one.progress.clone(), Tone::Plain),
            ];
            row("loop", one.id.as_str(), status, is_running(status), rest)
        };
        section(&mut rows, "Loops", loops.iter().map(a_loop).collect());
        let signal = |signal: &pensa_core::signal::Signal| {
            let acknowledged = format!("{} of {}", signal.acknowledged_count, signal.recipient_count);
            let rest = vec![
                piece(format!("by {}, acknowledged by {acknowledged} ", signal.actor), Tone::Faint),
                piece(signal.reason.clone(), Tone::Plain),
            ];
            row("signal", signal.id.as_str(), signal.signal_type.as_str(), Tone::High, rest)
        };
        section(&mut rows, "Signals", signals.iter().map(signal).collect());
        if rows.is_empty() {
            rows.push(ListRow::note("nobody works on anything now"));
        }
        let spent: f64 = sessions.iter().filter_map(|summary| summary.cost_usd).sum();
        let spent = if spent > 0.0 { format!(", ${spent:.2} spent") } else { String::new() };
        self.summary = format!("claims {}, agents {}, runs {}{spent}", claims.len(), agents.len(), runs.len());
        self.rows.set(rows, cx.at);
    }

    fn summary(&self) -> String {
        self.summary.clone()
    }

    fn list(&self) -> Option<&RowList> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut RowList> {
        Some(&mut self.rows)
    }
}
