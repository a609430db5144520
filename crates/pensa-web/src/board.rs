//! Renders the board: issues as cards in columns by status, in lanes if wanted.

use std::collections::BTreeMap;

use maud::{Markup, html};
use pensa_core::event::shorten;
use pensa_core::issue::{Issue, IssueType, Priority, Status};
use pensa_core::ops::view::View;

use crate::layout::{Frame, age};

/// Cards of a column that are sent at first, and how many more at a time.
pub const CARDS: u32 = 50;
/// Titles are cut here: a board shows many.
const TITLE_CHARS: usize = 160;
/// Labels of a card.
const MAX_LABELS: usize = 5;

/// What the lanes of a board are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneField {
    Assignee,
    Priority,
    Label,
    Parent,
}

impl LaneField {
    pub const ALL: [Self; 4] = [Self::Assignee, Self::Priority, Self::Label, Self::Parent];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assignee => "assignee",
            Self::Priority => "priority",
            Self::Label => "label",
            Self::Parent => "parent",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == name)
    }

    /// The lanes in which an issue is; an empty name is the lane of those without a value.
    fn lanes(self, issue: &Issue) -> Vec<String> {
        match self {
            Self::Assignee => vec![issue.assignee.clone().unwrap_or_default()],
            Self::Priority => vec![issue.priority.to_string()],
            Self::Parent => vec![issue.parent.as_ref().map(ToString::to_string).unwrap_or_default()],
            Self::Label if issue.labels.is_empty() => vec![String::new()],
            Self::Label => issue.labels.clone(),
        }
    }

    fn without(self) -> &'static str {
        match self {
            Self::Assignee => "Unassigned",
            Self::Priority => "No priority",
            Self::Label => "No label",
            Self::Parent => "No parent",
        }
    }
}

/// The cards of one status.
#[derive(Debug, Clone)]
pub struct StatusColumn {
    pub status: Status,
    /// How many issues match, of which `issues` are the first.
    pub total: i64,
    pub issues: Vec<Issue>,
}

/// What a board shows.
#[derive(Debug, Clone)]
pub struct BoardContent {
    pub query: String,
    pub lanes: Option<LaneField>,
    pub columns: Vec<StatusColumn>,
    pub views: Vec<View>,
}

impl BoardContent {
    /// The query string of the same board with other numbers of cards.
    fn parameters(&self, more: Option<(Status, usize)>) -> String {
        let mut pairs = Vec::new();
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                pairs.push(format!("{name}={}", encoded(value)));
            }
        };
        add("q", &self.query);
        add("lanes", self.lanes.map(LaneField::as_str).unwrap_or_default());
        if let Some((status, count)) = more {
            add(status.as_str(), &count.to_string());
        }
        pairs.join("&")
    }
}

/// Percent-encodes a value of a query string.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

/// What people call a status.
pub fn status_name(status: Status) -> &'static str {
    match status {
        Status::Open => "Open",
        Status::InProgress => "In progress",
        Status::Closed => "Closed",
    }
}

/// The body of the page.
pub fn page(frame: &Frame, content: &BoardContent) -> Markup {
    html! {
        div.bar {
            h1 { "Board" }
            @if frame.is_served() { (filter(frame, content)) }
            @if frame.may_write() { (quick_add(frame)) }
        }
        @if frame.is_served() { (views(frame, content)) }
        @if frame.may_write() {
            form #move method="post" action=(frame.ui("move")) { (frame.hidden()) }
        }
        @match content.lanes {
            None => (columns(frame, content, None)),
            Some(field) => {
                @for lane in lanes(content, field) {
                    section.lane {
                        h2 { @if lane.is_empty() { (field.without()) } @else { (lane) } }
                        (columns(frame, content, Some((field, &lane))))
                    }
                }
            }
        }
    }
}

fn filter(frame: &Frame, content: &BoardContent) -> Markup {
    html! {
        form.filter method="get" action=(frame.ui("board")) role="search" {
            input #query type="search" name="q" value=(content.query) placeholder="label:auth p<=1 words"
                aria-label="Filter by query" aria-keyshortcuts="/";
            label { "Lanes"
                select name="lanes" {
                    option value="" { "none" }
                    @for field in LaneField::ALL {
                        option value=(field.as_str()) selected[content.lanes == Some(field)] { (field.as_str()) }
                    }
                }
            }
            button { "Show" }
        }
    }
}

fn quick_add(frame: &Frame) -> Markup {
    frame.form(
        "issue.create",
        "quick",
        html! {
            input #new-title name="title" required placeholder="New issue" aria-label="Title of a new issue"
                aria-keyshortcuts="n";
            select name="issue_type" aria-label="Type" {
                @for kind in IssueType::ALL { option selected[kind == IssueType::Task] { (kind) } }
            }
            select name="priority" aria-label="Priority" {
                @for priority in Priority::ALL { option selected[priority == Priority::P2] { (priority) } }
            }
            button.primary { "Add" }
        },
    )
}

fn views(frame: &Frame, content: &BoardContent) -> Markup {
    let href = |query: &str| format!("{}?q={}", frame.ui("board"), encoded(query));
    html! {
        @if !content.views.is_empty() || frame.may_write() {
            div.views {
                @for view in &content.views {
                    @let name = format!("@{}", view.name);
                    span.view data-key=(view.name) {
                        a href=(href(&name)) aria-current=[(content.query == name).then_some("true")] title=(view.query) {
                            (name)
                        }
                        @if frame.may_write() {
                            (frame.form("view.remove", "inline", html! {
                                input type="hidden" name="name" value=(view.name);
                                button.plain aria-label=(format!("Remove the view {name}")) { "×" }
                            }))
                        }
                    }
                }
                @if frame.may_write() && !content.query.is_empty() && !content.query.starts_with('@') {
                    (frame.form("view.save", "inline", html! {
                        input type="hidden" name="query" value=(content.query);
                        input name="name" required placeholder="name" aria-label="Name of the view" size="10";
                        button { "Save this filter" }
                    }))
                }
            }
        }
    }
}

/// The names of all lanes, in order; the one without a value is last.
fn lanes(content: &BoardContent, field: LaneField) -> Vec<String> {
    let issues = content.columns.iter().flat_map(|column| &column.issues);
    let names: BTreeMap<(bool, String), ()> =
        issues.flat_map(|issue| field.lanes(issue)).map(|name| ((name.is_empty(), name), ())).collect();
    names.into_keys().map(|(_, name)| name).collect()
}

fn columns(frame: &Frame, content: &BoardContent, lane: Option<(LaneField, &String)>) -> Markup {
    html! {
        div.columns {
            @for column in &content.columns {
                @let is_here = |issue: &&Issue| lane.is_none_or(|(field, name)| field.lanes(issue).contains(name));
                @let issues: Vec<&Issue> = column.issues.iter().filter(is_here).collect();
                @let name = status_name(column.status);
                section.column data-status=(column.status) data-lane=[lane.map(|(_, name)| name)]
                    data-shown=(column.issues.len()) aria-label=(name) {
                    h3 { (name) " " span.count { (if lane.is_none() { column.total } else { count(issues.len()) }) } }
                    ul.cards { @for issue in &issues { (card(frame, issue)) } }
                    @if lane.is_none() || !issues.is_empty() { (more(frame, content, column)) }
                }
            }
        }
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The link to more cards of a column.
fn more(frame: &Frame, content: &BoardContent, column: &StatusColumn) -> Markup {
    let shown = column.issues.len();
    let next = content.parameters(Some((column.status, shown + CARDS as usize)));
    html! {
        @if count(shown) < column.total && frame.is_served() {
            a.more href=(format!("{}?{next}", frame.ui("board"))) {
                (format!("Show more: {shown} of {}", column.total))
            }
        }
    }
}

/// Only the cards after the first `from` of a column, with the link to more: what scrolling loads.
pub fn more_cards(frame: &Frame, content: &BoardContent, from: usize) -> Markup {
    html! {
        @for column in &content.columns {
            ul { @for issue in column.issues.iter().skip(from) { (card(frame, issue)) } }
            (more(frame, content, column))
        }
    }
}

fn card(frame: &Frame, issue: &Issue) -> Markup {
    let may = frame.may_write();
    let keys = may.then_some("Shift+ArrowLeft Shift+ArrowRight");
    html! {
        li.card data-id=(issue.id) tabindex="0" draggable=[may.then_some("true")] aria-keyshortcuts=[keys] {
            a href=(frame.issue_href(issue.id.as_str())) { (shorten(&issue.title, TITLE_CHARS)) }
            div.facts {
                (priority(issue.priority))
                code { (issue.id) }
                span { (issue.issue_type) }
                @for label in issue.labels.iter().take(MAX_LABELS) { span.label { (shorten(label, 24)) } }
                @if let Some(name) = &issue.assignee { span.who { "@" (shorten(name, 24)) } }
                @if let Some(due) = &issue.due { span.due { "due " (due) } }
                span.age { (age(issue.updated_at, frame.now)) }
            }
            @if may { (moves(issue)) }
        }
    }
}

/// The moves of a card as buttons, for fingers and without script.
fn moves(issue: &Issue) -> Markup {
    html! {
        details.moves {
            summary aria-label=(format!("Move {}", issue.id)) { "⋯" }
            @for to in Status::ALL.into_iter().filter(|to| *to != issue.status) {
                button form="move" name="move" value=(format!("{} {to}", issue.id)) { (status_name(to)) }
            }
        }
    }
}

/// A priority as a small badge.
pub fn priority(priority: Priority) -> Markup {
    html! { span.priority.(priority.as_str()) { (priority) } }
}
