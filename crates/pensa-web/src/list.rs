//! Renders the list of issues: a table with chosen columns, sorted and filtered, and a form that changes several at once.

use maud::{Markup, html};
use pensa_core::issue::{Issue, Priority};

use crate::board::{encoded, priority, status_name};
use crate::layout::{Frame, time};

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListField {
    Id,
    Priority,
    Status,
    Type,
    Title,
    Assignee,
    Labels,
    Due,
    Estimate,
    Parent,
    Created,
    Updated,
}

impl ListField {
    pub const ALL: [Self; 12] = [
        Self::Id,
        Self::Priority,
        Self::Status,
        Self::Type,
        Self::Title,
        Self::Assignee,
        Self::Labels,
        Self::Due,
        Self::Estimate,
        Self::Parent,
        Self::Created,
        Self::Updated,
    ];
    /// Shown unless others are chosen.
    pub const DEFAULT: [Self; 8] =
        [Self::Id, Self::Priority, Self::Status, Self::Type, Self::Title, Self::Assignee, Self::Labels, Self::Updated];

    /// Its heading, which in lower case is its name in addresses; and the field to sort by, if listings can.
    const fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Id => ("Id", None),
            Self::Priority => ("Priority", Some("priority")),
            Self::Status => ("Status", Some("status")),
            Self::Type => ("Type", None),
            Self::Title => ("Title", Some("title")),
            Self::Assignee => ("Assignee", None),
            Self::Labels => ("Labels", None),
            Self::Due => ("Due", Some("due")),
            Self::Estimate => ("Estimate", Some("estimate")),
            Self::Parent => ("Parent", None),
            Self::Created => ("Created", Some("created_at")),
            Self::Updated => ("Updated", Some("updated_at")),
        }
    }

    pub fn name(self) -> String {
        self.words().0.to_ascii_lowercase()
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    fn cell(self, frame: &Frame, issue: &Issue) -> Markup {
        let href = |id: &str| frame.issue_href(id);
        html! {
            @match self {
                Self::Id => a href=(href(issue.id.as_str())) { code { (issue.id) } },
                Self::Priority => (priority(issue.priority)),
                Self::Status => span.status.(issue.status.as_str()) { (status_name(issue.status)) },
                Self::Type => (issue.issue_type),
                Self::Title => a href=(href(issue.id.as_str())) { (issue.title) },
                Self::Assignee => @if let Some(name) = &issue.assignee { (name) },
                Self::Labels => @for label in &issue.labels { span.label { (label) } " " },
                Self::Due => @if let Some(due) = &issue.due { (due) },
                Self::Estimate => @if let Some(estimate) = &issue.estimate { (estimate) },
                Self::Parent => @if let Some(id) = &issue.parent { a href=(href(id.as_str())) { code { (id) } } },
                Self::Created => (time(issue.created_at)),
                Self::Updated => (time(issue.updated_at)),
            }
        }
    }
}

/// What a list shows.
#[derive(Debug, Clone)]
pub struct ListContent {
    pub query: String,
    pub sort: String,
    pub fields: Vec<ListField>,
    pub limit: u32,
    pub issues: Vec<Issue>,
}

impl ListContent {
    /// The address of the same list with another order or limit.
    fn href(&self, frame: &Frame, sort: &str, limit: u32) -> String {
        let fields: String = self.fields.iter().map(|field| format!("&show={}", field.name())).collect();
        format!("{}?q={}&sort={}&n={limit}{fields}", frame.ui("list"), encoded(&self.query), encoded(sort))
    }
}

/// The body of the page.
pub fn page(frame: &Frame, content: &ListContent) -> Markup {
    html! {
        div.bar {
            h1 { "List" }
            @if frame.is_served() { (filter(frame, content)) }
        }
        @if frame.may_write() { (bulk(frame)) }
        (table(frame, content))
        @if content.issues.is_empty() { p.empty { "No issue matches." } }
        @if content.issues.len() >= content.limit as usize && frame.is_served() {
            p { a.more href=(content.href(frame, &content.sort, content.limit.saturating_mul(2))) { "Show more" } }
        }
    }
}

fn filter(frame: &Frame, content: &ListContent) -> Markup {
    html! {
        form.filter method="get" action=(frame.ui("list")) role="search" {
            input #query type="search" name="q" value=(content.query) placeholder="status:open label:auth p<=1 words"
                aria-label="Filter by query" aria-keyshortcuts="/";
            input type="hidden" name="sort" value=(content.sort);
            details.choice {
                summary { "Columns" }
                fieldset {
                    legend { "Columns" }
                    @for field in ListField::ALL {
                        label {
                            input type="checkbox" name="show" value=(field.name()) checked[content.fields.contains(&field)];
                            (field.words().0)
                        }
                    }
                }
            }
            button { "Show" }
        }
    }
}

fn bulk(frame: &Frame) -> Markup {
    html! {
        form #bulk.bulk method="post" action=(frame.ui("bulk")) {
            (frame.hidden())
            span { "With those selected:" }
            select name="step" aria-label="Move" {
                option value="" { "leave where it is" }
                @for (value, name) in [("claim", "claim"), ("release", "release"), ("close", "close"), ("reopen", "reopen")] {
                    option value=(value) { (name) }
                }
            }
            select name="priority" aria-label="Priority" {
                option value="" { "keep the priority" }
                @for priority in Priority::ALL { option { (priority) } }
            }
            input name="assignee" placeholder="assignee" aria-label="Assignee" size="10";
            input name="add_label" placeholder="add a label" aria-label="Add a label" size="10";
            input name="remove_label" placeholder="remove a label" aria-label="Remove a label" size="12";
            button.primary { "Change" }
        }
    }
}

fn table(frame: &Frame, content: &ListContent) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Issues" {
            table.list {
                thead { tr {
                    @if frame.may_write() { th { input #all type="checkbox" aria-label="Select all"; } }
                    @for field in &content.fields {
                        @let (name, sort) = field.words();
                        @let is_sorted = sort == Some(content.sort.as_str());
                        th aria-sort=[is_sorted.then_some("ascending")] {
                            @match sort.filter(|_| frame.is_served()) {
                                Some(sort) => a href=(content.href(frame, sort, content.limit)) { (name) },
                                None => (name),
                            }
                        }
                    }
                } }
                tbody {
                    @for issue in &content.issues {
                        tr data-id=(issue.id) {
                            @if frame.may_write() {
                                td {
                                    input type="checkbox" name="id" value=(issue.id) form="bulk"
                                        aria-label=(format!("Select {}", issue.id));
                                }
                            }
                            @for field in &content.fields { td.(format!("of-{}", field.name())) { (field.cell(frame, issue)) } }
                        }
                    }
                }
            }
        }
    }
}
