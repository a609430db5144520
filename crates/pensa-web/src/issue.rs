//! Renders the page of one issue: its facts as one form, its texts, what it waits for, what was said, and what happened.

use std::fmt::Display;

use maud::{Markup, html};
use pensa_core::Access;
use pensa_core::comment::Comment;
use pensa_core::event::{Event, describe};
use pensa_core::issue::{Issue, IssueDetail, LinkKind, LinkedIssue, Priority, Status};
use pensa_core::sync::Conflict;
use pensa_core::trace::{Trace, TraceEntry, format_duration};
use serde_json::Value;

use crate::board::{priority, status_name};
use crate::layout::{Frame, time};
use crate::markdown;

/// Everything about one issue.
#[derive(Debug, Clone)]
pub struct IssueContent {
    pub detail: IssueDetail,
    pub history: Vec<Event>,
    pub trace: Trace,
    /// Those of this issue that nobody has resolved.
    pub conflicts: Vec<Conflict>,
}

/// A field that is edited as one line.
struct FactField {
    name: &'static str,
    label: &'static str,
    value: String,
    hint: &'static str,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &IssueContent) -> Markup {
    let issue = &content.detail.issue;
    html! {
        (conflicts(frame, &content.conflicts))
        article.issue data-id=(issue.id) {
            div.bar {
                h1 { (issue.title) }
                div.facts {
                    code { (issue.id) }
                    span.status.(issue.status.as_str()) { (status_name(issue.status)) }
                    (priority(issue.priority))
                    span { (issue.issue_type) }
                    @if let Some(name) = &issue.assignee { span.who { "@" (name) } }
                    @for label in &issue.labels { span.label { (label) } }
                }
                @if frame.may_write() { (steps(frame, issue)) }
            }
            div.split {
                div.texts {
                    (description(frame, issue))
                    (acceptance(frame, issue))
                    (relations(frame, &content.detail))
                    (comments(frame, issue, &content.detail.comments))
                    (timeline(&content.trace))
                    (history(&content.history))
                }
                aside aria-label="Facts" { (facts(frame, &content.detail)) }
            }
        }
    }
}

fn id_field(issue: &Issue) -> Markup {
    html! { input type="hidden" name="id" value=(issue.id); }
}

/// Values that were changed twice at the same time: the one in the issue, and the other.
fn conflicts(frame: &Frame, conflicts: &[Conflict]) -> Markup {
    html! {
        @for conflict in conflicts {
            div.notice.conflict role="alert" data-key=(conflict.id) {
                p {
                    strong { (conflict.field) } " was changed by two at the same time. It is "
                    q { (plain(&conflict.kept)) } "; the other value is " q { (plain(&conflict.other)) } "."
                }
                @if frame.may_write() {
                    (frame.form("conflict.resolve", "inline", html! {
                        input type="hidden" name="id" value=(conflict.id);
                        button name="take" value="kept" { "Keep it" }
                        button name="take" value="other" { "Use the other" }
                    }))
                }
            }
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn steps(frame: &Frame, issue: &Issue) -> Markup {
    let step = |operation: &str, name: &str, fields: Markup| {
        frame.form(operation, "inline", html! { (id_field(issue)) (fields) button { (name) } })
    };
    html! {
        div.steps {
            @match issue.status {
                Status::Open => (step("issue.update", "Claim", html! { input type="hidden" name="claim" value="true"; })),
                Status::InProgress => (step("issue.release", "Release", html! {})),
                Status::Closed => (step("issue.reopen", "Reopen", html! {})),
            }
            @if issue.status != Status::Closed {
                (step("issue.close", "Close", html! {
                    input name="reason" placeholder="why, or how" aria-label="Reason for closing";
                }))
            }
            @if frame.may(Access::Maintain) {
                details.danger { summary { "Delete" } (step("issue.delete", "Delete for good", html! {})) }
            }
        }
    }
}

/// The fields of the form that edits in place: each with the value that its editor saw.
fn was(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(format!("was.{name}")) value=(value); }
}

fn description(frame: &Frame, issue: &Issue) -> Markup {
    let text = issue.description.as_deref().unwrap_or_default();
    html! {
        section.description aria-label="Description" {
            @if text.is_empty() { p.empty { "No description." } } @else { (markdown::markdown(text)) }
            @if frame.may_write() {
                details.edit #edit-texts {
                    summary aria-keyshortcuts="e" { "Edit" }
                    form method="post" action=(frame.ui(&format!("issues/{}/edit", issue.id))) {
                        (frame.hidden())
                        (was("title", &issue.title)) (was("description", text))
                        label { "Title" input name="title" value=(issue.title) required; }
                        // A browser leaves out the first line break of a text area.
                        label { "Description" textarea name="description" rows="10" { "\n" (text) } }
                        button.primary { "Save" }
                    }
                }
            }
        }
    }
}

fn facts(frame: &Frame, detail: &IssueDetail) -> Markup {
    let issue = &detail.issue;
    html! {
        @if frame.may_write() { (facts_form(frame, issue)) } @else { (facts_list(issue)) }
        dl {
            dt { "Created" } dd { (time(issue.created_at)) }
            dt { "Updated" } dd { (time(issue.updated_at)) }
            @if let Some(at) = issue.closed_at { dt { "Closed" } dd { (time(at)) } }
            @if let Some(reason) = &issue.close_reason { dt { "Reason" } dd { (reason) } }
            @if let Some(at) = issue.lease_expires_at { dt { "Claim ends" } dd { (time(at)) } }
            @if let Some(session) = &issue.claim_session { dt { "Claimed by session" } dd { code { (session) } } }
            @if let Some(progress) = &detail.progress { dt { "Parts closed" } dd { (progress.closed) " of " (progress.total) } }
            @for (name, value) in &issue.fields { dt { (name) } dd { (value) } }
        }
    }
}

fn text_fields(issue: &Issue) -> Vec<FactField> {
    let text = |value: Option<&dyn Display>| value.map(ToString::to_string).unwrap_or_default();
    let field = |name, label, value: Option<&dyn Display>, hint| FactField { name, label, value: text(value), hint };
    macro_rules! of {
        ($value:expr) => {
            $value.as_ref().map(|value| value as &dyn Display)
        };
    }
    vec![
        field("assignee", "Assignee", of!(issue.assignee), ""),
        FactField { name: "labels", label: "Labels", value: issue.labels.join(", "), hint: "auth, api" },
        field("due", "Due", of!(issue.due), "tomorrow, +3d, 2026-12-01"),
        field("defer", "Not before", of!(issue.defer), "mon, +1w"),
        field("estimate", "Estimate", of!(issue.estimate), "30m, 4h, 2d"),
        field("parent", "Part of", of!(issue.parent), "pn-…"),
        field("fixes", "Fixes", of!(issue.fixes), "pn-…"),
        field("spec", "Spec", of!(issue.spec), "auth for specs/auth.md"),
    ]
}

fn facts_form(frame: &Frame, issue: &Issue) -> Markup {
    html! {
        form.fields method="post" action=(frame.ui(&format!("issues/{}/edit", issue.id))) {
            (frame.hidden())
            (was("priority", issue.priority.as_str()))
            label { "Priority"
                select name="priority" {
                    @for priority in Priority::ALL { option selected[priority == issue.priority] { (priority) } }
                }
            }
            @for field in text_fields(issue) {
                (was(field.name, &field.value))
                label { (field.label)
                    input name=(field.name) value=(field.value) placeholder=[(!field.hint.is_empty()).then_some(field.hint)];
                }
            }
            button.primary { "Save" }
        }
    }
}

fn facts_list(issue: &Issue) -> Markup {
    html! {
        dl {
            dt { "Priority" } dd { (issue.priority) }
            @for field in text_fields(issue).into_iter().filter(|field| !field.value.is_empty()) {
                dt { (field.label) } dd { (field.value) }
            }
        }
    }
}

fn acceptance(frame: &Frame, issue: &Issue) -> Markup {
    html! {
        @if !issue.acceptance.is_empty() || frame.may_write() {
            section.acceptance {
                h2 { "Acceptance" }
                ul.checks {
                    @for (at, criterion) in issue.acceptance.iter().enumerate() {
                        li data-key=(criterion.text) {
                            @if frame.may_write() {
                                (frame.form("issue.accept", "inline", html! {
                                    (id_field(issue))
                                    input type="hidden" name="number" value=(at + 1);
                                    @if criterion.done { input type="hidden" name="undo" value="true"; }
                                    button.check aria-pressed=(criterion.done) aria-label=(format!("Met: {}", criterion.text)) {
                                        (if criterion.done { "☑" } else { "☐" })
                                    }
                                }))
                            } @else { (if criterion.done { "☑" } else { "☐" }) }
                            span.done[criterion.done] { (criterion.text) }
                        }
                    }
                }
                @if frame.may_write() {
                    (frame.form("issue.update", "inline", html! {
                        (id_field(issue))
                        input name="acceptance" required placeholder="What the result must meet" aria-label="New criterion";
                        button { "Add" }
                    }))
                }
            }
        }
    }
}

fn issue_line(frame: &Frame, issue: &Issue) -> Markup {
    html! {
        a href=(frame.issue_href(issue.id.as_str())) { code { (issue.id) } " " (issue.title) } " "
        span.status.(issue.status.as_str()) { (status_name(issue.status)) }
    }
}

fn relations(frame: &Frame, detail: &IssueDetail) -> Markup {
    let lists = [("Blocks", &detail.blocks), ("Fixed by", &detail.fixed_by), ("Parts", &detail.children)];
    html! {
        (deps(frame, detail))
        @for (name, issues) in lists.into_iter().filter(|(_, issues)| !issues.is_empty()) {
            section {
                h2 { (name) }
                ul.lines { @for issue in issues { li data-key=(issue.id) { (issue_line(frame, issue)) } } }
            }
        }
        (links(frame, detail))
        @for (name, lines) in detail.attached_lines().filter(|(_, lines)| !lines.is_empty()) {
            section { h2 { (capital(name)) } ul.lines { @for line in lines { li { (line) } } } }
        }
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn deps(frame: &Frame, detail: &IssueDetail) -> Markup {
    let id = &detail.issue.id;
    html! {
        @if !detail.deps.is_empty() || frame.may_write() {
            section.deps {
                h2 { "Waits for" }
                ul.lines {
                    @for issue in &detail.deps {
                        li data-key=(issue.id) {
                            (issue_line(frame, issue))
                            @if frame.may_write() {
                                (frame.form("dep.remove", "inline", html! {
                                    input type="hidden" name="issue_id" value=(id);
                                    input type="hidden" name="depends_on_id" value=(issue.id);
                                    button.plain aria-label=(format!("No longer wait for {}", issue.id)) { "×" }
                                }))
                            }
                        }
                    }
                }
                @if frame.may_write() {
                    (frame.form("dep.add", "inline", html! {
                        input type="hidden" name="issue_id" value=(id);
                        input name="depends_on_id" required placeholder="pn-…" aria-label="Issue to wait for" size="14";
                        button { "Wait for it" }
                    }))
                }
            }
        }
    }
}

fn links(frame: &Frame, detail: &IssueDetail) -> Markup {
    let issue = &detail.issue;
    let own = issue.links.iter().map(|link| (link.kind, link.to.to_string(), None, true));
    let others = detail.linked_by.iter();
    let others = others.map(|LinkedIssue { kind, id, title, .. }| (*kind, id.to_string(), title.clone(), false));
    let all: Vec<_> = own.chain(others).collect();
    html! {
        @if !all.is_empty() || frame.may_write() {
            section.links {
                h2 { "Links" }
                ul.lines {
                    @for (kind, other, title, is_own) in &all {
                        li data-key=(format!("{kind} {other} {is_own}")) {
                            span.kind { (kind) @if !is_own { " (from there)" } } " "
                            a href=(frame.issue_href(other)) { code { (other) } @if let Some(title) = title { " " (title) } }
                            @if frame.may_write() && *is_own {
                                (frame.form("link.remove", "inline", html! {
                                    (id_field(issue))
                                    input type="hidden" name="to" value=(other);
                                    input type="hidden" name="kind" value=(kind);
                                    button.plain aria-label=(format!("Remove the link to {other}")) { "×" }
                                }))
                            }
                        }
                    }
                }
                @if frame.may_write() {
                    (frame.form("link.add", "inline", html! {
                        (id_field(issue))
                        select name="kind" aria-label="Kind of link" { @for kind in LinkKind::ALL { option { (kind) } } }
                        input name="to" required placeholder="pn-…" aria-label="Issue to link" size="14";
                        button { "Link" }
                    }))
                }
            }
        }
    }
}

fn comments(frame: &Frame, issue: &Issue, comments: &[Comment]) -> Markup {
    html! {
        section.comments {
            h2 { "Comments" }
            @if comments.is_empty() { p.empty { "No comments." } }
            @for comment in comments {
                article.comment data-id=(comment.id) {
                    p.meta { strong { (comment.actor) } " " (time(comment.created_at)) }
                    (markdown::markdown(&comment.text))
                }
            }
            @if frame.may_write() {
                (frame.form("comment.add", "stacked", html! {
                    (id_field(issue))
                    textarea name="text" rows="3" required placeholder="Write a comment" aria-label="New comment" {}
                    button { "Comment" }
                }))
            }
        }
    }
}

fn timeline(trace: &Trace) -> Markup {
    html! {
        section.timeline {
            h2 { "Timeline" }
            @if trace.left_out > 0 { p.hint { (trace.left_out) " earlier entries are left out; pn trace shows all." } }
            ol { @for entry in &trace.entries { (moment(entry)) } }
            @if let Some(cost) = trace.totals.cost_usd { p.hint { (format!("Cost: ${cost:.2}")) } }
        }
    }
}

fn moment(entry: &TraceEntry) -> Markup {
    html! {
        li.failed[entry.failed] {
            (time(entry.at)) " " span.kind { (entry.kind) } " " (entry.event)
            @if let Some(id) = &entry.id { " " code { (id) } }
            @if let Some(actor) = &entry.actor { " by " (actor) }
            @if let Some(duration) = entry.duration_ms { " (" (format_duration(duration)) ")" }
            @if !entry.text.is_empty() { ": " (entry.text) }
        }
    }
}

fn history(events: &[Event]) -> Markup {
    html! {
        details.history {
            summary { "History" }
            ol {
                @for event in events {
                    li data-key=(event.id) {
                        (time(event.created_at)) " " strong { (event.actor) } " " (event.event_type) " " (describe(&event.detail))
                    }
                }
            }
        }
    }
}
