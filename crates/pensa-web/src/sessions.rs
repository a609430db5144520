//! Renders conversations: the list with tokens and cost, a search, and the replay of one step by step.

use maud::{Markup, html};
use pensa_core::Span;
use pensa_core::ops::cost::CostReport;
use pensa_core::ops::session::EntryMatch;
use pensa_core::session::{ReplayStep, SessionSummary};
use pensa_core::trace::format_duration;

use crate::board::encoded;
use crate::layout::{Frame, ago, time};
use crate::links;
use crate::markdown::markdown;

/// Lines of a tool's result that are shown at once.
const RESULT_LINES: usize = 12;
/// Pauses from this length on are shown.
const PAUSE_MS: i64 = 60_000;

/// What the list shows.
#[derive(Debug, Clone)]
pub struct SessionsContent {
    /// Newest first
    pub sessions: Vec<SessionSummary>,
    pub query: String,
    /// What the query found, if there is one
    pub found: Vec<EntryMatch>,
    /// By model
    pub cost: CostReport,
    /// Whether there are more sessions
    pub is_cut: bool,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &SessionsContent) -> Markup {
    html! {
        div.bar {
            h1 { "Sessions" }
            @if frame.is_served() {
                form.filter method="get" action=(frame.ui("sessions")) role="search" {
                    input #query type="search" name="q" value=(content.query) placeholder="words that were said"
                        aria-label="Search conversations" aria-keyshortcuts="/";
                    button { "Search" }
                }
            }
        }
        @if !content.query.is_empty() { (found(frame, content)) }
        @if content.sessions.is_empty() {
            p.empty { "No agent has talked yet. " code { "pn session import" } " reads conversations of agent software." }
        } @else {
            (list(frame, content))
            (costs(&content.cost))
        }
    }
}

fn found(frame: &Frame, content: &SessionsContent) -> Markup {
    html! {
        section {
            h2 { "Found " span.count { (content.found.len()) } }
            @if content.found.is_empty() { p.empty { "Nobody said that." } }
            ul.plain {
                @for entry in &content.found {
                    li {
                        a href=(frame.ui(&format!("sessions/{}?after={}", encoded(entry.session_id.as_str()), entry.id - 1))) {
                            (entry.session_id)
                        }
                        " " (entry.entry_type) " " (time(entry.at)) p { bdi { (entry.excerpt) } }
                    }
                }
            }
        }
    }
}

fn total_tokens(summary: &SessionSummary) -> i64 {
    summary.tokens.values().map(|usage| usage.tokens.total).sum()
}

/// A number of tokens as people say it.
fn tokens(count: i64) -> String {
    match count {
        ..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{} k", count / 1_000),
        _ => format!("{:.1} M", count as f64 / 1e6),
    }
}

fn dollars(cost: Option<f64>) -> String {
    cost.map_or_else(String::new, |cost| format!("${cost:.2}"))
}

fn list(frame: &Frame, content: &SessionsContent) -> Markup {
    html! {
        div.scrolls tabindex="0" role="region" aria-label="Sessions" {
            table {
                thead { tr {
                    th scope="col" { "session" } th scope="col" { "agent" } th scope="col" { "state" }
                    th scope="col" { "began" } th scope="col" { "lasted" } th.number scope="col" { "entries" }
                    th.number scope="col" { "tokens" } th.number scope="col" { "cost" } th scope="col" { "issue" }
                } }
                tbody {
                    @for summary in &content.sessions {
                        @let session = &summary.session;
                        @let state = if session.ended_at.is_some() { "ended" } else { "active" };
                        tr {
                            td { (links::record(frame, "sessions", &session.id)) }
                            td { span.id { (session.agent_id) } }
                            td { span.state data-state=(state) { (state) } }
                            td { (time(session.created_at)) " " span.faint { (ago(session.created_at, frame.now)) } }
                            td { (format_duration(summary.duration_ms)) }
                            td.number { (summary.entries) }
                            td.number { (tokens(total_tokens(summary))) }
                            td.number { (dollars(summary.cost_usd)) }
                            td { @if let Some(issue) = &session.issue_id { (links::issue(frame, issue)) } }
                        }
                    }
                }
            }
        }
        @if content.is_cut { p.hint { "Older sessions are not shown; " code { "pn session list" } " lists all." } }
    }
}

fn costs(report: &CostReport) -> Markup {
    html! {
        @if !report.rows.is_empty() {
            section {
                h2 { "Cost " span.count { (dollars(report.total.cost_usd)) } }
                div.scrolls tabindex="0" role="region" aria-label="Cost by model" {
                    table {
                        thead { tr {
                            th scope="col" { "model" } th.number scope="col" { "input" } th.number scope="col" { "output" }
                            th.number scope="col" { "cache read" } th.number scope="col" { "cache write" }
                            th.number scope="col" { "cost" }
                        } }
                        tbody {
                            @for row in &report.rows {
                                tr {
                                    th scope="row" { (row.key.as_deref().unwrap_or("none")) }
                                    td.number { (tokens(row.spent.input)) } td.number { (tokens(row.spent.output)) }
                                    td.number { (tokens(row.spent.cache_read)) } td.number { (tokens(row.spent.cache_write)) }
                                    td.number { (dollars(row.spent.cost_usd)) }
                                }
                            }
                        }
                    }
                }
                p.hint {
                    "List prices of " (report.prices_of) ", or those of the settings."
                    @if !report.unpriced.is_empty() { " Without a price: " (report.unpriced.join(", ")) "." }
                }
            }
        }
    }
}

/// One conversation.
#[derive(Debug, Clone)]
pub struct SessionContent {
    pub summary: SessionSummary,
    /// What its agent is called
    pub agent_name: Option<String>,
    pub steps: Vec<ReplayStep>,
    /// The entry that the page begins after, if not with the first
    pub after: Option<i64>,
    /// The last entry of the page, if there are more
    pub later: Option<i64>,
}

/// The body of the page of a session.
pub fn session_page(frame: &Frame, content: &SessionContent) -> Markup {
    let SessionContent { summary, steps, .. } = content;
    let session = &summary.session;
    html! {
        div.bar { h1 { "Session " span.id { (session.id) } } @if let Some(name) = &content.agent_name { bdi { (name) } } }
        dl.facts {
            dt { "Agent" } dd { span.id { (session.agent_id) } }
            @if let Some(issue) = &session.issue_id { dt { "Issue" } dd { (links::issue(frame, issue)) } }
            @if let Some(run) = &session.run_id { dt { "Run" } dd { (links::record(frame, "runs", run)) } }
            dt { "Began" } dd { (time(session.created_at)) ", by " (session.opened_by) }
            @if let Some(ended) = session.ended_at { dt { "Ended" } dd { (time(ended)) } }
            dt { "Lasted" } dd { (format_duration(summary.duration_ms)) ", " (summary.entries) " entries" }
            dt { "Tokens" } dd {
                (tokens(total_tokens(summary)))
                @for (model, usage) in &summary.tokens { ", " (model) " " (tokens(usage.tokens.total)) }
            }
            @if summary.cost_usd.is_some() { dt { "Cost" } dd { (dollars(summary.cost_usd)) } }
        }
        (pager(frame, content))
        @if steps.is_empty() { p.empty { "Nothing was said yet." } }
        ol.replay {
            @for (at, step) in steps.iter().enumerate() {
                @let before = at.checked_sub(1).map(|before| steps[before].at);
                @let pause = before.and_then(|before| step.at.since(before)).map_or(0, Span::as_millis);
                @if pause >= PAUSE_MS { li.pause { "after " (format_duration(pause)) } }
                (one_step(step))
            }
        }
        (pager(frame, content))
    }
}

fn pager(frame: &Frame, content: &SessionContent) -> Markup {
    let path = format!("sessions/{}", encoded(content.summary.session.id.as_str()));
    html! {
        @if content.after.is_some() || content.later.is_some() {
            nav.pager aria-label="Parts of the conversation" {
                @if content.after.is_some() { a href=(frame.ui(&path)) { "From the start" } }
                @if let Some(last) = content.later { a href=(frame.ui(&format!("{path}?after={last}"))) { "Later" } }
            }
        }
    }
}

fn one_step(step: &ReplayStep) -> Markup {
    let is_talk = matches!(step.who.as_str(), "user" | "assistant");
    html! {
        li.step data-who=(step.who) {
            div.head {
                span.step-number { (step.step) } " " strong { (step.who) }
                @if let Some(tool) = &step.tool { " " code { (tool) } }
                @if step.is_error { " " span.state data-state="failed" { "failed" } }
                " " (time(step.at))
            }
            @if is_talk { (markdown(&step.text)) }
            @else { (program_text(&step.text)) }
        }
    }
}

/// The first lines of a text, and the rest on demand.
fn program_text(text: &str) -> Markup {
    let text = pensa_core::text::printable_block(text);
    let split = text.match_indices('\n').nth(RESULT_LINES - 1).map(|(at, _)| at + 1);
    match split.filter(|at| *at < text.len()) {
        None => html! { pre { (text) } },
        Some(at) => {
            let rest = &text[at..];
            html! {
                pre { (text[..at]) }
                details { summary { (rest.lines().count()) " more lines" } pre { (rest) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{assert_harmless, frame};

    const AT: &str = "2026-02-27T14:00:00.000Z";

    fn summary() -> SessionSummary {
        serde_json::from_value(json!({"id": "se-1", "agent_id": "ag-1", "opened_by": "start", "issue_id": "pn-1",
            "created_at": AT, "entries": 3, "duration_ms": 65_000, "cost_usd": 1.5, "tokens": {"gpt-5": {"input": 1,
            "output": 2, "cache_read": 0, "cache_write": 0, "total": 12_345}}}))
        .expect("a session")
    }

    fn content(text: &str) -> SessionsContent {
        let spent = json!({"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "cost_usd": 1.5});
        let mut row = spent.clone();
        row["key"] = json!(text);
        SessionsContent {
            sessions: vec![summary()],
            query: text.to_owned(),
            found: vec![
                serde_json::from_value(json!({"id": 5, "session_id": "se-1", "agent_id": "ag-1",
                "type": "note", "at": AT, "excerpt": text}))
                .expect("an entry"),
            ],
            cost: serde_json::from_value(json!({"by": "model", "rows": [row], "total": spent, "unpriced": [text],
                "prices_of": "2026-01-15"}))
            .expect("a report"),
            is_cut: true,
        }
    }

    fn step(number: usize, who: &str, at: &str, text: &str) -> ReplayStep {
        let (who, text, at) = (who.to_owned(), text.to_owned(), at.parse().expect("a time"));
        ReplayStep { step: number, at, who, tool: Some("grep".into()), text, is_error: false }
    }

    fn conversation(text: &str) -> SessionContent {
        let long: String = (0..20).map(|at| format!("line {at}\n")).collect();
        let steps = vec![
            step(1, "user", AT, text),
            step(2, "call", AT, text),
            step(3, "result", "2026-02-27T14:05:00.000Z", &long),
        ];
        SessionContent { summary: summary(), agent_name: Some(text.to_owned()), steps, after: None, later: Some(200) }
    }

    #[test]
    fn the_list_has_tokens_cost_and_what_was_found() {
        let html = page(&frame(), &content("gpt-5")).into_string();
        for part in ["12 k", "$1.50", "1m 5s", "href=\"/ui/sessions/se-1?after=4\"", "List prices of 2026-01-15"] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn a_replay_shows_pauses_and_cuts_long_results() {
        let html = session_page(&frame(), &conversation("say **it**")).into_string();
        for part in ["<strong>it</strong>", "after 5m", "8 more lines", "after=200", "href=\"/ui/issues/pn-1\""] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_harmless(|text| page(&frame(), &content(text)));
        assert_harmless(|text| session_page(&frame(), &conversation(text)));
    }
}
