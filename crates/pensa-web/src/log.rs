//! Renders the log: what happened, newest first, with what can be undone.

use std::collections::HashSet;

use maud::{Markup, html};
use pensa_core::event::{describe, shorten};
use pensa_core::ops::event::LogPage;

use crate::board::encoded;
use crate::layout::{Frame, time};
use crate::links;

/// Most characters of a change.
const CHANGE_CHARS: usize = 240;

/// What the log is filtered by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// An id or a kind
    pub subject: String,
    /// A type of event
    pub event_type: String,
    pub by: String,
    /// Only events after this number
    pub after: Option<i64>,
}

impl LogFilter {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn parameters(&self, after: i64) -> String {
        let given = [("subject", &self.subject), ("type", &self.event_type), ("by", &self.by)];
        let given = given.into_iter().filter(|(_, value)| !value.is_empty());
        let mut pairs: Vec<String> = given.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        pairs.push(format!("after={after}"));
        pairs.join("&")
    }
}

/// What the page shows.
#[derive(Debug, Clone)]
pub struct LogContent {
    pub filter: LogFilter,
    pub page: LogPage,
    /// The number of events of a page
    pub limit: i64,
    /// First events of operations that can be undone
    pub undoable: HashSet<i64>,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &LogContent) -> Markup {
    html! {
        div.bar {
            h1 { "Log" }
            @if frame.is_served() { (filter(frame, &content.filter)) }
            @if frame.may_write() {
                (frame.form("undo", "inline", html! { button { "Undo my last change" } }))
                (frame.form("redo", "inline", html! { button { "Redo" } }))
            }
        }
        @if content.page.events.is_empty() {
            p.empty { @if content.filter.is_empty() { "Nothing happened yet." } @else { "Nothing like that happened here." } }
        } @else { (events(frame, content)) }
        (pager(frame, content))
    }
}

fn filter(frame: &Frame, filter: &LogFilter) -> Markup {
    html! {
        form.filter method="get" action=(frame.ui("log")) role="search" {
            input #query type="search" name="subject" value=(filter.subject) placeholder="pn-1a2b3c4d, run, …"
                aria-label="About: an id or a kind" aria-keyshortcuts="/";
            input name="type" value=(filter.event_type) placeholder="closed, task.*" aria-label="Type of event";
            input name="by" value=(filter.by) placeholder="actor" aria-label="By this actor";
            button { "Filter" }
            @if !filter.is_empty() { a href=(frame.ui("log")) { "Show all" } }
        }
    }
}

fn events(frame: &Frame, content: &LogContent) -> Markup {
    html! {
        div.scrolls tabindex="0" role="region" aria-label="Events" {
            table.log {
                thead { tr {
                    th scope="col" { "#" } th scope="col" { "when" } th scope="col" { "actor" } th scope="col" { "what" }
                    th scope="col" { "about" } th scope="col" { "change" } th scope="col" {}
                } }
                tbody #events {
                    @for event in content.page.events.iter().rev() {
                        tr data-event=(event.id) {
                            td.number { (event.id) }
                            td { (time(event.created_at)) }
                            td { bdi { (event.actor) } }
                            td { (event.event_type) }
                            td { (event.subject_kind) " " (links::subject(frame, &event.subject_kind, &event.subject_id)) }
                            td.wide { bdi { (shorten(&describe(&event.detail), CHANGE_CHARS)) } }
                            td.actions {
                                @if frame.may_write() && content.undoable.contains(&event.id) {
                                    (frame.form("undo", "inline", html! {
                                        input type="hidden" name="event" value=(event.id);
                                        button aria-label=(format!("Undo event {}", event.id)) { "Undo" }
                                    }))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn pager(frame: &Frame, content: &LogContent) -> Markup {
    let LogContent { filter, page, limit, .. } = content;
    let first = page.events.first().map_or(0, |event| event.id);
    html! {
        @if frame.is_served() {
            nav.pager aria-label="Parts of the log" {
                @if first > 1 {
                    a href=(frame.ui(&format!("log?{}", filter.parameters((first - 1 - limit).max(0))))) { "Earlier" }
                }
                @if page.last < page.end {
                    a href=(frame.ui(&format!("log?{}", filter.parameters(page.last)))) { "Later" }
                }
                @if filter.after.is_some() { a href=(frame.ui("log")) { "Newest" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{assert_harmless, frame, viewer};

    fn content(text: &str) -> LogContent {
        let event = |id: i64| {
            json!({"id": id, "subject_kind": "issue", "subject_id": "pn-1", "event_type": "updated",
            "actor": text, "detail": {"title": {"old": "a", "new": text}}, "created_at": "2026-02-27T14:00:00.000Z"})
        };
        LogContent {
            filter: LogFilter { subject: text.to_owned(), after: Some(200), ..LogFilter::default() },
            page: serde_json::from_value(json!({"events": [event(201), event(202)], "last": 202, "end": 900}))
                .expect("a page"),
            limit: 100,
            undoable: HashSet::from([202]),
        }
    }

    #[test]
    fn the_newest_event_is_first_and_what_can_be_undone_has_a_button() {
        let html = page(&frame(), &content("x y")).into_string();
        let at = |id: i64| html.find(&format!("data-event=\"{id}\"")).expect("shown");
        assert!(at(202) < at(201));
        assert!(html.contains("name=\"event\" value=\"202\"") && !html.contains("name=\"event\" value=\"201\""));
        assert!(
            html.contains("log?subject=x%20y&amp;after=100") && html.contains("log?subject=x%20y&amp;after=202"),
            "{html}"
        );
        assert!(!page(&viewer(), &content("x")).into_string().contains("/ui/do/"));
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_harmless(|text| page(&frame(), &content(text)));
    }
}
