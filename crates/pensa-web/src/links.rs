//! Renders references to records: links where a page of the record exists.

use maud::{Markup, html};
use pensa_core::triage::IssueBrief;

use crate::board::encoded;
use crate::layout::Frame;

/// An issue by its id.
pub fn issue(frame: &Frame, id: impl AsRef<str>) -> Markup {
    let id = id.as_ref();
    html! { a.id href=(frame.issue_href(id)) { (id) } }
}

/// An issue with what people know it by.
pub fn brief(frame: &Frame, issue: &IssueBrief) -> Markup {
    html! { (self::issue(frame, issue.id.as_str())) " " span.priority { (issue.priority) } " " bdi { (issue.title) } }
}

/// A record with a page of its own below `/ui/KIND/`.
pub fn record(frame: &Frame, pages: &str, id: impl AsRef<str>) -> Markup {
    let id = id.as_ref();
    html! {
        @if frame.is_served() { a.id href=(frame.ui(&format!("{pages}/{}", encoded(id)))) { (id) } }
        @else { span.id { (id) } }
    }
}

/// What an event is about.
pub fn subject(frame: &Frame, kind: &str, id: &str) -> Markup {
    match kind {
        "issue" => issue(frame, id),
        "session" | "run" | "job" => record(frame, &format!("{kind}s"), id),
        _ => html! { span.id { (id) } },
    }
}
