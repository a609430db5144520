//! Renders memory: learnings found as one types, with where they come from.

use maud::{Markup, html};
use pensa_core::Access;
use pensa_core::learning::{Impact, Kind, Learning, LearningDetail};

use crate::layout::{Frame, ago, time};
use crate::links;
use crate::markdown::markdown;

/// What the page shows.
#[derive(Debug, Clone)]
pub struct MemoryContent {
    pub query: String,
    pub kind: Option<Kind>,
    /// The best first for a query, else the newest
    pub found: Vec<LearningDetail>,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &MemoryContent) -> Markup {
    html! {
        div.bar {
            h1 { "Memory" }
            @if frame.is_served() { (filter(frame, content)) }
        }
        @if frame.may_write() { (remember(frame)) }
        div #found {
            @if content.found.is_empty() {
                p.empty {
                    @if content.query.is_empty() { "Nothing was remembered yet. " code { "pn remember TEXT" } " does." }
                    @else { "Nothing like that was remembered." }
                }
            }
            @for found in &content.found { (one(frame, found)) }
        }
    }
}

fn filter(frame: &Frame, content: &MemoryContent) -> Markup {
    html! {
        form.filter method="get" action=(frame.ui("memory")) role="search" data-as-typed="found" {
            input #query type="search" name="q" value=(content.query) placeholder="what do we know about …"
                aria-label="Recall" aria-keyshortcuts="/" aria-controls="found";
            label { "Kind"
                select name="kind" {
                    option value="" { "any" }
                    @for kind in Kind::ALL { option value=(kind) selected[content.kind == Some(kind)] { (kind) } }
                }
            }
            button { "Recall" }
        }
    }
}

fn remember(frame: &Frame) -> Markup {
    html! {
        details.form {
            summary { "Remember something" }
            (frame.form("learning.remember", "stacked", html! {
                label { "What was found out" textarea name="text" rows="4" required {} }
                label { "Kind" select name="kind" { @for kind in Kind::ALL { option value=(kind) { (kind) } } } }
                label { "Impact"
                    select name="impact" {
                        @for impact in Impact::ALL { option value=(impact) selected[impact == Impact::default()] { (impact) } }
                    }
                }
                label { "Tag" input name="tags"; }
                label { "File" input name="files"; }
                label { "Issue" input name="issue"; }
                button { "Remember" }
            }))
        }
    }
}

fn one(frame: &Frame, found: &LearningDetail) -> Markup {
    let learning = &found.learning;
    let has_expired = learning.has_expired(frame.now);
    html! {
        article.learning data-id=(learning.id) {
            header {
                span.id { (learning.id) } " " strong { (learning.kind) } " "
                span.state data-state=(learning.impact) { (learning.impact) }
                @for tag in &learning.tags { " " span.label { (tag) } }
                @if let Some(newer) = &found.superseded_by { " " span.state data-state="failed" { "replaced by " (newer) } }
                @if has_expired { " " span.state data-state="failed" { "expired" } }
            }
            (markdown(&learning.text))
            (provenance(frame, learning))
            @if frame.may_write() { div.actions { (actions(frame, learning)) } }
        }
    }
}

/// Where it comes from, and how fresh it is.
fn provenance(frame: &Frame, learning: &Learning) -> Markup {
    html! {
        p.provenance {
            "By " bdi { (learning.actor) } " " (time(learning.created_at))
            @if let Some(issue) = &learning.issue_id { ", from " (links::issue(frame, issue)) }
            @if let Some(work) = learning.work.as_ref().filter(|work| learning.issue_id.as_ref() != Some(*work)) {
                ", work on " (links::issue(frame, work))
            }
            @if let Some(session) = &learning.session_id { ", in " (links::record(frame, "sessions", session)) }
            @match learning.verified_at {
                Some(at) => { ", verified " (ago(at, frame.now)) }
                None => ", never verified"
            }
            @if learning.revision > 1 { ", said " (learning.revision) " times" }
            @if let Some(old) = &learning.supersedes { ", replaces " span.id { (old) } }
            @if let Some(end) = learning.expires_at { ", valid until " (time(end)) }
            @for file in &learning.files { " " code { (file) } }
        }
    }
}

fn actions(frame: &Frame, learning: &Learning) -> Markup {
    let button = |operation: &str, word: &str| {
        frame.form(
            operation,
            "inline",
            html! {
                input type="hidden" name="id" value=(learning.id);
                button aria-label=(format!("{word} {}", learning.id)) { (word) }
            },
        )
    };
    html! {
        (button("learning.verify", "Verify"))
        @if frame.may(Access::Maintain) { (button("learning.forget", "Forget")) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{assert_harmless, frame, viewer};

    fn content(text: &str) -> MemoryContent {
        let learning = json!({"id": "ln-1", "kind": "gotcha", "text": text, "tags": [text], "files": [text],
            "issue_id": "pn-1", "session_id": "se-1", "impact": "high", "revision": 3, "actor": text,
            "created_at": "2026-02-27T14:00:00.000Z", "updated_at": "2026-02-27T14:00:00.000Z",
            "verified_at": "2026-02-27T14:30:00.000Z", "expires_at": "2026-02-27T14:59:00.000Z"});
        MemoryContent {
            query: text.to_owned(),
            kind: Some(Kind::Gotcha),
            found: vec![serde_json::from_value(learning).expect("a learning")],
        }
    }

    #[test]
    fn a_learning_says_where_it_comes_from() {
        let html = page(&frame(), &content("the cache")).into_string();
        for part in
            ["href=\"/ui/issues/pn-1\"", "href=\"/ui/sessions/se-1\"", "verified 30 min ago", "said 3 times", "expired"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
        for operation in ["learning.verify", "learning.forget", "learning.remember"] {
            assert!(html.contains(&format!("action=\"/ui/do/{operation}\"")), "{operation}");
        }
        assert!(html.contains("data-as-typed=\"found\"") && html.contains("id=\"found\""));
    }

    #[test]
    fn buttons_follow_the_role() {
        let agent = Frame { may: Access::Write, ..frame() };
        let html = page(&agent, &content("x")).into_string();
        assert!(html.contains("learning.verify") && !html.contains("learning.forget"));
        assert!(!page(&viewer(), &content("x")).into_string().contains("/ui/do/"));
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_harmless(|text| page(&frame(), &content(text)));
    }
}
