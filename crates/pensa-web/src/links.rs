//! Renders references to records: links where a page of the record exists.

use std::fmt::Display;

use maud::{Markup, html};
use pensa_core::triage::IssueBrief;

use crate::board::encoded;
use crate::layout::Frame;

/// An issue by its id.
pub fn issue<T: Display + ?Sized>(frame: &Frame, id: &T) -> Markup {
    let id = id.to_string();
    html! { a.id href=(frame.issue_href(&id)) { (id) } }
}

/// An issue with what people know it by.
pub fn brief(frame: &Frame, issue: &IssueBrief) -> Markup {
    html! { (self::issue(frame, &issue.id)) " " span.priority { (issue.priority) } " " bdi { (issue.title) } }
}

/// A record with a page of its own below `/ui/KIND/`.
pub fn record<T: Display + ?Sized>(frame: &Frame, pages: &str, id: &T) -> Markup {
    let id = id.to_string();
    html! {
        @if frame.is_served() { a.id href=(frame.ui(&format!("{pages}/{}", encoded(&id)))) { (id) } }
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
