//! Renders the graph: what waits for what, drawn in layers, with the critical path marked.

use std::collections::HashSet;

use maud::{Markup, html};
use pensa_core::id::IssueId;
use pensa_core::triage::{Chain, IssueBrief, Network, Unit};

use crate::layout::Frame;
use crate::links;
use crate::svg::graph::GraphDrawing;

/// What the graph shows.
#[derive(Debug, Clone)]
pub struct GraphContent {
    pub query: String,
    pub network: Network,
    pub critical: Chain,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &GraphContent) -> Markup {
    let network = &content.network;
    let critical: Vec<IssueId> = content.critical.issues.iter().map(|step| step.issue.id.clone()).collect();
    let waiting: HashSet<&IssueId> =
        network.waits.iter().flat_map(|wait| [&wait.issue_id, &wait.depends_on_id]).collect();
    let alone: Vec<&IssueBrief> = network.issues.iter().filter(|issue| !waiting.contains(&issue.id)).collect();
    let href = |id: &IssueId| frame.issue_href(id.as_str());
    html! {
        div.bar {
            h1 { "Graph" }
            @if frame.is_served() { (filter(frame, content)) }
        }
        @if network.issues.is_empty() {
            p.empty { "No issue is open" @if !content.query.is_empty() { " that matches" } "." }
        } @else if !waiting.is_empty() {
            p.hint { "What has to be done first is on top. " (legend(&content.critical)) }
            div.graph {
                div.zoom role="group" aria-label="Zoom" {
                    button type="button" data-zoom="in" aria-label="Zoom in" aria-keyshortcuts="+" { "+" }
                    button type="button" data-zoom="out" aria-label="Zoom out" aria-keyshortcuts="-" { "−" }
                    button type="button" data-zoom="fit" aria-keyshortcuts="0" { "Fit" }
                }
                div.canvas tabindex="0" role="region" aria-label="Graph; arrow keys scroll" {
                    (GraphDrawing { network, critical: &critical, href: Some(&href) }.svg())
                }
            }
        }
        @if network.left_out > 0 {
            p.hint {
                "And " (network.left_out) " more issues that hold up less."
                @if frame.is_served() { " " a href=(frame.ui("graph?n=500")) { "Draw up to 500" } }
            }
        }
        (chain(frame, &content.critical))
        @if !network.waits.is_empty() { (as_table(frame, network)) }
        @if !alone.is_empty() {
            section {
                h2 { "Without dependencies " span.count { (alone.len()) } }
                ul.plain { @for issue in alone { li { (links::brief(frame, issue)) } } }
            }
        }
    }
}

fn filter(frame: &Frame, content: &GraphContent) -> Markup {
    html! {
        form.filter method="get" action=(frame.ui("graph")) role="search" {
            input #query type="search" name="q" value=(content.query) placeholder="words of a title"
                aria-label="Only issues with these words" aria-keyshortcuts="/";
            button { "Filter" }
        }
    }
}

fn legend(critical: &Chain) -> Markup {
    html! {
        span.legend {
            span.swatch.open {} " open " span.swatch.in_progress {} " in progress "
            @if critical.issues.len() > 1 { span.swatch.critical {} " critical path" }
        }
    }
}

/// A length of a chain in words.
pub fn length(unit: Unit, length: i64) -> String {
    match unit {
        Unit::Issues if length == 1 => "1 issue".to_owned(),
        Unit::Issues => format!("{length} issues"),
        Unit::Seconds => pensa_core::trace::format_duration(length.saturating_mul(1000)),
    }
}

/// The longest chain as a list.
pub fn chain(frame: &Frame, chain: &Chain) -> Markup {
    html! {
        @if chain.issues.len() > 1 {
            section.chain {
                h2 { "Critical path " span.count { (length(chain.unit, chain.length)) } }
                p.hint { "The longest chain: it cannot be done in parallel." }
                ol { @for step in &chain.issues { li { (links::brief(frame, &step.issue)) } } }
            }
        }
    }
}

/// The drawing in words.
fn as_table(frame: &Frame, network: &Network) -> Markup {
    html! {
        details {
            summary { "The graph as a table" }
            div.scrolls tabindex="0" role="region" aria-label="What waits for what" {
                table {
                    thead { tr { th scope="col" { "issue" } th scope="col" { "waits for" } } }
                    tbody {
                        @for wait in &network.waits {
                            tr { td { (links::issue(frame, &wait.issue_id)) } td { (links::issue(frame, &wait.depends_on_id)) } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{assert_harmless, frame, viewer};

    fn content(title: &str) -> GraphContent {
        let brief = |id: &str| json!({"id": id, "title": title, "status": "open", "priority": "p1"});
        let step = |id: &str| {
            let mut step = brief(id);
            step["slack"] = json!(0);
            step["length"] = json!(1);
            step
        };
        GraphContent {
            query: title.to_owned(),
            network: serde_json::from_value(json!({"issues": [brief("pn-1"), brief("pn-2"), brief("pn-3")],
                "waits": [{"issue_id": "pn-2", "depends_on_id": "pn-1"}], "left_out": 7}))
            .expect("a network"),
            critical: serde_json::from_value(
                json!({"unit": "issues", "length": 2, "issues": [step("pn-1"), step("pn-2")],
                "slack": []}),
            )
            .expect("a chain"),
        }
    }

    #[test]
    fn the_graph_is_drawn_listed_and_a_table() {
        let html = page(&frame(), &content("a title")).into_string();
        for part in
            ["<svg", "class=\"edge critical\"", "Critical path", "2 issues", "And 7 more", "Without dependencies"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(html.contains(
            "<td><a class=\"id\" href=\"/ui/issues/pn-2\">pn-2</a></td><td><a class=\"id\" href=\"/ui/issues/pn-1\">"
        ));
        assert!(page(&viewer(), &content("x")).into_string().contains("<svg"));
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_harmless(|text| page(&frame(), &content(text)));
    }
}
