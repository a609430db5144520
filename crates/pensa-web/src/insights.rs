//! Renders insights: what holds up the most, what is stale, what to start, and when all may be done.

use maud::{Markup, html};
use pensa_core::triage::{Cascade, Forecast, IssueBrief, Plan, PriorityConflict, Ranked, StaleClaim};

use crate::graph;
use crate::layout::Frame;
use crate::links;

/// What the page shows.
#[derive(Debug, Clone)]
pub struct InsightsContent {
    pub insights: pensa_core::triage::Insights,
    pub plan: Plan,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &InsightsContent) -> Markup {
    let InsightsContent { insights, plan } = content;
    html! {
        div.bar { h1 { "Insights" } }
        p.hint {
            (insights.issues) " issues are not closed, with " (insights.waits) " dependencies."
            @if insights.stuck > 0 { " " strong { (insights.stuck) " are in or behind a cycle" } "; " code { "pn dep cycles" } " shows it." }
            @if insights.approximate { " Scores of bottlenecks are estimates." }
        }
        @if let Some(forecast) = &plan.forecast { (self::forecast(forecast)) }
        (graph::chain(frame, &insights.critical_path))
        (start(frame, plan))
        (cascades(frame, &insights.blocked_cascades))
        (ranked(frame, "Bottlenecks", "On the most of the shortest chains between others.", &insights.bottlenecks))
        (ranked(frame, "Keystones", "On which the most depends.", &insights.keystones))
        (stale(frame, &insights.stale_claims))
        (conflicts(frame, &insights.priority_conflicts))
        (ranked(frame, "Single points", "Without them, their part of the graph falls apart.", &insights.articulation_points))
        (tracks(frame, plan))
    }
}

fn day(at: pensa_core::Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

fn forecast(forecast: &Forecast) -> Markup {
    html! {
        section.forecast {
            h2 { "Forecast" }
            p {
                "All " (forecast.left) " may be closed by " strong { (day(forecast.date)) } ", most likely between "
                (day(forecast.earliest)) " and " (day(forecast.latest)) "."
            }
            p.hint {
                (forecast.closed) " were closed in " (forecast.days) " days, " (format!("{:.1}", forecast.per_day))
                " a day, give or take " (format!("{:.1}", forecast.deviation)) "."
            }
        }
    }
}

/// A table of issues with figures; nothing without rows.
fn table<T>(
    frame: &Frame,
    title: &str,
    hint: &str,
    columns: &[&str],
    rows: &[T],
    row: impl Fn(&T) -> (&IssueBrief, Vec<Markup>),
) -> Markup {
    html! {
        @if !rows.is_empty() {
            section {
                h2 { (title) " " span.count { (rows.len()) } }
                p.hint { (hint) }
                div.scrolls tabindex="0" role="region" aria-label=(title) {
                    table {
                        thead { tr { th scope="col" { "issue" } @for column in columns { th.number scope="col" { (column) } } } }
                        tbody {
                            @for one in rows {
                                @let (issue, figures) = row(one);
                                tr { td.wide { (links::brief(frame, issue)) } @for figure in figures { td.number { (figure) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn ranked(frame: &Frame, title: &str, hint: &str, rows: &[Ranked]) -> Markup {
    let figures =
        |one: &Ranked| [one.waits_for, one.blocks, one.behind, one.frees].map(|count| html! { (count) }).to_vec();
    let row = |one: &Ranked| [vec![html! { (format!("{:.2}", one.score)) }], figures(one)].concat();
    let columns = ["score", "waits for", "blocks", "behind it", "frees"];
    table(frame, title, hint, &columns, rows, |one| (&one.issue, row(one)))
}

fn cascades(frame: &Frame, rows: &[Cascade]) -> Markup {
    let row = |one: &Cascade| [one.blocks, one.behind, one.frees, one.depth].map(|count| html! { (count) }).to_vec();
    let hint = "Ready issues that hold up the most.";
    table(frame, "Unblock first", hint, &["blocks", "behind it", "frees", "chain"], rows, |one| (&one.issue, row(one)))
}

fn start(frame: &Frame, plan: &Plan) -> Markup {
    let hint = "Ready issues, by how many others they make ready.";
    table(frame, "Start now", hint, &["track", "frees", "chain"], &plan.start, |one| {
        (&one.issue, [one.track, one.frees, one.depth].map(|count| html! { (count) }).to_vec())
    })
}

fn stale(frame: &Frame, rows: &[StaleClaim]) -> Markup {
    let hint = "Claims without a change for long.";
    table(frame, "Stale claims", hint, &["holder", "idle for", "behind it"], rows, |one| {
        let holder = one.assignee.as_deref().unwrap_or_default();
        let idle = format!("{} h", one.idle_hours);
        (&one.issue, vec![html! { bdi { (holder) } }, html! { (idle) }, html! { (one.behind) }])
    })
}

fn conflicts(frame: &Frame, rows: &[PriorityConflict]) -> Markup {
    let hint = "Less urgent than one that waits for them.";
    table(frame, "Priorities to raise", hint, &["should be", "because of", "behind it"], rows, |one| {
        let because = links::issue(frame, &one.because_of.id);
        (&one.issue, vec![html! { (one.should_be) }, because, html! { (one.behind) }])
    })
}

/// Most tracks, and most issues of each; `pn plan` has them all.
const MAX_TRACKS: usize = 20;
const MAX_OF_TRACK: usize = 50;

/// How many of a list are not shown.
fn left_out(all: usize, most: usize) -> Markup {
    html! {
        @if all > most {
            p.hint { "and " (all - most) " more" }
        }
    }
}

fn tracks(frame: &Frame, plan: &Plan) -> Markup {
    html! {
        @if plan.tracks.len() > 1 {
            section {
                h2 { "Tracks " span.count { (plan.tracks.len()) } }
                p.hint { "They do not wait for each other, so that each can have an agent." }
                @for track in plan.tracks.iter().take(MAX_TRACKS) {
                    details {
                        summary { "Track " (track.track) ": " (track.issues.len()) " issues, longest chain " (track.depth) }
                        ol { @for one in track.issues.iter().take(MAX_OF_TRACK) { li { (links::brief(frame, &one.issue)) } } }
                        (left_out(track.issues.len(), MAX_OF_TRACK))
                    }
                }
                (left_out(plan.tracks.len(), MAX_TRACKS))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{assert_harmless, frame};

    fn with(title: &str, more: Value) -> Value {
        let mut whole = json!({"id": "pn-1", "title": title, "status": "open", "priority": "p1"});
        for (name, value) in more.as_object().expect("an object") {
            whole[name] = value.clone();
        }
        whole
    }

    fn content(title: &str) -> InsightsContent {
        let ranked = with(title, json!({"score": 0.5, "waits_for": 1, "blocks": 2, "behind": 3, "frees": 4}));
        let step = with(title, json!({"slack": 0, "length": 1}));
        let chain = json!({"unit": "issues", "length": 2, "issues": [step, step], "slack": []});
        let at = "2026-02-27T14:00:00.000Z";
        let insights = json!({"issues": 9, "waits": 8, "stuck": 2, "approximate": false, "bottlenecks": [ranked],
            "keystones": [ranked], "critical_path": chain, "articulation_points": [ranked], "articulation_count": 1,
            "stale_claims": [with(title, json!({"assignee": title, "updated_at": at, "idle_hours": 80, "behind": 1}))],
            "blocked_cascades": [with(title, json!({"blocks": 1, "behind": 2, "frees": 3, "depth": 4}))],
            "priority_conflicts": [with(title, json!({"should_be": "p0", "because_of": with(title, json!({})), "behind": 1}))],
            "priority_conflict_count": 1});
        let track = |number: u32| json!({"track": number, "issues": [with(title, json!({}))], "depth": 1});
        let plan = json!({"issues": 9, "stuck": 0, "start": [with(title, json!({"track": 1, "frees": 2, "depth": 3}))],
            "tracks": [track(1), track(2)], "longest_chain": chain, "forecast": {"date": at, "earliest": at, "latest": at,
            "left": 9, "closed": 5, "days": 7, "per_day": 0.7, "deviation": 0.2}});
        let read = "answers of operations";
        InsightsContent {
            insights: serde_json::from_value(insights).expect(read),
            plan: serde_json::from_value(plan).expect(read),
        }
    }

    #[test]
    fn of_many_tracks_some_are_shown() {
        let mut content = content("a title");
        let issue = content.plan.tracks[0].issues[0].clone();
        content.plan.tracks[0].issues = vec![issue; MAX_OF_TRACK + 3];
        content.plan.tracks = vec![content.plan.tracks[0].clone(); MAX_TRACKS + 2];
        let html = tracks(&frame(), &content.plan).into_string();
        assert_eq!(html.matches("<details").count(), MAX_TRACKS);
        assert!(html.contains("and 3 more") && html.contains("and 2 more"), "{html}");
    }

    #[test]
    fn every_finding_has_a_section() {
        let html = page(&frame(), &content("a title")).into_string();
        for part in [
            "Forecast",
            "2026-02-27",
            "Critical path",
            "Start now",
            "Unblock first",
            "Bottlenecks",
            "Keystones",
            "Stale claims",
            "80 h",
            "Priorities to raise",
            "Single points",
            "Track 2",
            "in or behind a cycle",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_harmless(|text| page(&frame(), &content(text)));
    }
}
