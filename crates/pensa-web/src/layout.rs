//! Renders the frame of every page: title, navigation, who acts, messages.

use maud::{DOCTYPE, Markup, html};

use crate::assets;

/// The pages of a project, in the order of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    Board,
    List,
    Graph,
    Agents,
    Sessions,
    Memory,
    Insights,
    Charts,
    Log,
    Releases,
    Settings,
}

impl Page {
    pub const ALL: [Self; 11] = [
        Self::Board,
        Self::List,
        Self::Graph,
        Self::Agents,
        Self::Sessions,
        Self::Memory,
        Self::Insights,
        Self::Charts,
        Self::Log,
        Self::Releases,
        Self::Settings,
    ];

    /// What its link says.
    pub fn name(self) -> &'static str {
        match self {
            Self::Board => "Board",
            Self::List => "List",
            Self::Graph => "Graph",
            Self::Agents => "Agents",
            Self::Sessions => "Sessions",
            Self::Memory => "Memory",
            Self::Insights => "Insights",
            Self::Charts => "Charts",
            Self::Log => "Log",
            Self::Releases => "Releases",
            Self::Settings => "Settings",
        }
    }

    /// Its path below `/ui/`, and its file name in an export.
    pub fn path(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::List => "list",
            Self::Graph => "graph",
            Self::Agents => "agents",
            Self::Sessions => "sessions",
            Self::Memory => "memory",
            Self::Insights => "insights",
            Self::Charts => "charts",
            Self::Log => "log",
            Self::Releases => "releases",
            Self::Settings => "settings",
        }
    }
}

/// How pages refer to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Served: links begin with [`Frame::root`], forms and scripts work.
    Served,
    /// Files of `pn export --html DIR`: relative links with `.html`, no forms, no script.
    Files,
    /// One file of `pn export --html FILE --single`: links within it, style inline.
    SingleFile,
}

/// What surrounds the body of a page.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The path before `/ui/…`: empty, or `/p/PROJECT` on a server.
    pub root: String,
    /// The name of the project.
    pub project: String,
    /// Who acts; `None` in exports.
    pub actor: Option<String>,
    /// Whether the reader may change anything; without it pages have no forms that write.
    pub may_write: bool,
    /// The value of the hidden field `csrf`; `None` where forms rely on Origin and Sec-Fetch.
    pub csrf: Option<String>,
    /// The number of the last event that the page shows.
    pub last_event: i64,
    /// Which link of the navigation is the current page.
    pub current: Option<Page>,
    /// What happened, shown above the page.
    pub message: Option<Message>,
    /// Whether the reader is logged in with a session that can be ended.
    pub has_session: bool,
    pub medium: Medium,
}

/// Shown above the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    /// What to do next.
    pub hint: Option<String>,
    pub is_error: bool,
}

impl Frame {
    /// The address of a page.
    pub fn href(&self, page: Page) -> String {
        match self.medium {
            Medium::Served => format!("{}/ui/{}", self.root, page.path()),
            Medium::Files => format!("{}.html", page.path()),
            Medium::SingleFile => format!("#{}", page.path()),
        }
    }

    /// The address of an issue's page.
    pub fn issue_href(&self, id: &str) -> String {
        match self.medium {
            Medium::Served => format!("{}/ui/issues/{id}", self.root),
            Medium::Files => format!("issue-{id}.html"),
            Medium::SingleFile => format!("#issue-{id}"),
        }
    }

    /// The address of anything else below `/ui/`; only where pages are served.
    pub fn ui(&self, path: &str) -> String {
        format!("{}/ui/{path}", self.root)
    }

    /// The hidden field that forms carry.
    pub fn csrf_field(&self) -> Markup {
        html! { @if let Some(csrf) = &self.csrf { input type="hidden" name="csrf" value=(csrf); } }
    }
}

/// A whole page.
pub fn page(frame: &Frame, title: &str, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · " (frame.project) }
                (style(frame))
                @if frame.medium == Medium::Served {
                    script src=(format!("/ui/assets/{}", assets::script_name())) defer {}
                }
            }
            body data-root=(frame.root) data-last-event=(frame.last_event) {
                a.skip href="#main" { "Skip to the content" }
                (header(frame))
                @if let Some(message) = &frame.message { (notice(message)) }
                main #main tabindex="-1" { (body) }
            }
        }
    }
}

fn style(frame: &Frame) -> Markup {
    html! {
        @match frame.medium {
            Medium::Served => { link rel="stylesheet" href=(format!("/ui/assets/{}", assets::style_name())); }
            Medium::Files => { link rel="stylesheet" href=(assets::style_name()); }
            Medium::SingleFile => { style { (maud::PreEscaped(assets::STYLE)) } }
        }
    }
}

fn header(frame: &Frame) -> Markup {
    html! {
        header.top {
            span.project { (frame.project) }
            nav aria-label="Pages" {
                @for page in Page::ALL {
                    a href=(frame.href(page)) aria-current=[(frame.current == Some(page)).then_some("page")] { (page.name()) }
                }
            }
            div #presence aria-live="polite" {}
            @if let Some(actor) = &frame.actor { span.actor title="Who you act as" { (actor) } }
            @if frame.has_session {
                form method="post" action="/ui/logout" { (frame.csrf_field()) button { "Log out" } }
            }
        }
    }
}

fn notice(message: &Message) -> Markup {
    html! {
        div.notice .error[message.is_error] role=(if message.is_error { "alert" } else { "status" }) {
            p { (message.text) }
            @if let Some(hint) = &message.hint { p.hint { (hint) } }
        }
    }
}
