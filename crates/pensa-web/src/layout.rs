//! Renders the frame of every page: title, navigation, who acts, messages. Pages ask the [`Frame`] where things are and
//! what the reader may do.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pensa_core::{Access, Timestamp};

use crate::assets;
use crate::board::encoded;

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

    /// The text of its link, and its path below `/ui/`, which is also its file name in an export.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Board => ("Board", "board"),
            Self::List => ("List", "list"),
            Self::Graph => ("Graph", "graph"),
            Self::Agents => ("Agents", "agents"),
            Self::Sessions => ("Sessions", "sessions"),
            Self::Memory => ("Memory", "memory"),
            Self::Insights => ("Insights", "insights"),
            Self::Charts => ("Charts", "charts"),
            Self::Log => ("Log", "log"),
            Self::Releases => ("Releases", "releases"),
            Self::Settings => ("Settings", "settings"),
        }
    }

    pub const fn name(self) -> &'static str {
        self.words().0
    }

    pub const fn path(self) -> &'static str {
        self.words().1
    }
}

/// Where pages are read, which decides how they refer to each other and whether they have forms and scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    Served,
    /// The files of `pn export --html DIR`.
    Files,
    /// The one file of `pn export --html FILE --single`, with its style inline.
    SingleFile,
}

/// What surrounds the body of a page.
#[derive(Debug, Clone)]
pub struct Frame {
    pub medium: Medium,
    /// The path before `/ui/…`: empty, or `/p/PROJECT` on a server.
    pub root: String,
    /// The address of this page with its query; forms return to it.
    pub here: String,
    /// The name of the project.
    pub project: String,
    /// Who acts; `None` in exports.
    pub actor: Option<String>,
    /// What the reader may do; pages have no forms beyond it.
    pub may: Access,
    /// The value of the hidden field `csrf`; `None` where forms rely on Origin and Sec-Fetch.
    pub csrf: Option<String>,
    /// Whether the reader is logged in with a session that can be ended.
    pub has_session: bool,
    /// The number of the last event that the page shows.
    pub last_event: i64,
    /// The time from which ages are counted.
    pub now: Timestamp,
    /// The current page in the navigation.
    pub current: Option<Page>,
    /// What happened, shown above the page.
    pub notice: Option<PageNotice>,
}

/// Shown above a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageNotice {
    pub text: String,
    /// What to do next.
    pub hint: Option<String>,
    pub is_error: bool,
}

impl Frame {
    /// Whether the page has forms that change something.
    pub fn may_write(&self) -> bool {
        self.may(Access::Write)
    }

    pub fn may(&self, access: Access) -> bool {
        self.medium == Medium::Served && self.may >= access
    }

    /// Whether forms that only ask, such as filters, work.
    pub fn is_served(&self) -> bool {
        self.medium == Medium::Served
    }

    /// The address of a page.
    pub fn href(&self, page: Page) -> String {
        match self.medium {
            Medium::Served => self.ui(page.path()),
            Medium::Files if page == Page::Board => format!("{}index.html", self.root),
            Medium::Files => format!("{}{}.html", self.root, page.path()),
            Medium::SingleFile => format!("#{}", page.path()),
        }
    }

    /// The address of an issue's page.
    pub fn issue_href(&self, id: &str) -> String {
        match self.medium {
            Medium::Served => self.ui(&format!("issues/{}", encoded(id))),
            Medium::Files => format!("{}issues/{}.html", self.root, file_stem(id)),
            Medium::SingleFile => format!("#issue-{}", file_stem(id)),
        }
    }

    /// The pages that there are.
    fn pages(&self) -> impl Iterator<Item = Page> {
        let is_exported =
            |page: &Page| matches!(page, Page::Board | Page::List | Page::Graph | Page::Charts | Page::Releases);
        // Operators of a server open no project.
        let of_server = |page: &Page| !self.project.is_empty() || *page == Page::Settings;
        Page::ALL.into_iter().filter(move |page| if self.is_served() { of_server(page) } else { is_exported(page) })
    }

    /// An address below `/ui/`; only where pages are served.
    pub fn ui(&self, path: &str) -> String {
        format!("{}/ui/{path}", self.root)
    }

    /// The hidden fields of every form that changes something.
    pub fn hidden(&self) -> Markup {
        html! {
            @if let Some(csrf) = &self.csrf { input type="hidden" name="csrf" value=(csrf); }
            input type="hidden" name="back" value=(self.here);
        }
    }

    /// A form that runs an operation of the catalog. Its fields are those of the operation; empty ones are left out
    /// unless the operation changes a record, where they clear.
    pub fn form(&self, operation: &str, class: &str, fields: Markup) -> Markup {
        html! {
            form method="post" action=(self.ui(&format!("do/{operation}"))) class=(class) { (self.hidden()) (fields) }
        }
    }
}

/// A whole page.
pub fn page(frame: &Frame, title: &str, body: Markup) -> Markup {
    html! {
        (head(frame, title))
        body data-root=(frame.root) data-last-event=(frame.last_event) {
            a.skip href="#main" { "Skip to the content" }
            (header(frame))
            div #messages aria-live="polite" { @if let Some(notice) = &frame.notice { (self::notice(notice)) } }
            main #main tabindex="-1" { (body) }
        }
    }
}

fn head(frame: &Frame, title: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en";
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) @if !frame.project.is_empty() { " · " (frame.project) } }
            (style(frame))
            @match frame.medium {
                Medium::Served => {
                    link rel="icon" href=(assets::icon());
                    @for script in assets::scripts() { script src=(script) defer {} }
                }
                Medium::Files => {
                    @for asset in assets::static_scripts() { script src=(format!("{}{}", frame.root, asset.name)) defer {} }
                }
                Medium::SingleFile => {}
            }
        }
    }
}

fn style(frame: &Frame) -> Markup {
    html! {
        @match frame.medium {
            Medium::Served => { @for style in assets::styles() { link rel="stylesheet" href=(style); } }
            Medium::Files => {
                @for asset in assets::STYLES.iter() { link rel="stylesheet" href=(format!("{}{}", frame.root, asset.name)); }
            }
            Medium::SingleFile => { style { @for asset in assets::STYLES.iter() { (PreEscaped(asset.text)) } } }
        }
    }
}

/// The top of a page.
pub(crate) fn header(frame: &Frame) -> Markup {
    html! {
        header.top {
            a.project href=(frame.href(Page::Board)) { (frame.project) }
            nav aria-label="Pages" {
                @for page in frame.pages() {
                    @let is_current = frame.current == Some(page);
                    a href=(frame.href(page)) aria-current=[is_current.then_some("page")] { (page.name()) }
                }
            }
            @if frame.is_served() {
                span #presence role="status" {}
                span #live role="status" {}
            }
            @if let Some(actor) = &frame.actor { span.actor title="Changes are made under this name" { (actor) } }
            @if frame.has_session {
                form.logout method="post" action="/ui/logout" { (frame.hidden()) button { "Log out" } }
            }
        }
    }
}

fn notice(notice: &PageNotice) -> Markup {
    html! {
        div.notice .error[notice.is_error] role=(if notice.is_error { "alert" } else { "status" }) {
            p { (notice.text) }
            @if let Some(hint) = &notice.hint { p.hint { (hint) } }
        }
    }
}

/// A page without navigation, for readers who are not logged in.
pub fn login(notice: Option<&PageNotice>, asks_name: bool) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en";
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { "Log in · Pensa" }
            link rel="icon" href=(assets::icon());
            @for style in assets::styles() { link rel="stylesheet" href=(style); }
        }
        body.login {
            main #main {
                h1 { "Pensa" }
                @if let Some(notice) = notice { (self::notice(notice)) }
                form method="post" action="/login" {
                    label { "Token" input type="password" name="token" required autocomplete="current-password"; }
                    @if asks_name {
                        label { "Your name" input name="name" autocomplete="username"; }
                        p.hint { "Your changes are made under this name. Without one, under the id of the token." }
                    }
                    button.primary { "Log in" }
                }
            }
        }
    }
}

/// A page without content: what is to be said stands above it.
pub fn message_page(frame: &Frame, title: &str) -> Markup {
    page(frame, title, html! {})
}

/// A page that asks for itself again at once. A browser that follows a link of another site leaves out our cookie; when
/// our own page asks, it does not.
pub fn ask_again() -> Markup {
    html! { (DOCTYPE) meta http-equiv="refresh" content="0"; title { "Pensa" } }
}

/// Names with their values.
pub fn facts(facts: &[(String, String)]) -> Markup {
    html! { dl { @for (name, value) in facts { dt { (name) } dd { code { (value) } } } } }
}

/// A time as `2026-02-27 14:30`, in UTC.
pub fn time(at: Timestamp) -> Markup {
    let text = at.to_string();
    let shown = text.get(..16).unwrap_or(&text).replace('T', " ");
    html! { time datetime=(text) title=(text) { (shown) } }
}

/// How long ago a time was, in words.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    match age(at, now) {
        just if just == "now" => "just now".to_owned(),
        age => format!("{age} ago"),
    }
}

/// How long ago a time was, in one unit.
pub fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_millis().saturating_sub(at.as_millis()).max(0) / 1000;
    match seconds {
        0..60 => "now".to_owned(),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A name for the file of a record. An id may have any character; one that is no part of a plain name becomes `_` and its
/// bytes in hexadecimal, so that different ids have different names.
pub fn file_stem(id: &str) -> String {
    let one = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '.' {
            return c.to_string();
        }
        c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("_{byte:02x}")).collect()
    };
    let stem: String = id.chars().map(one).collect();
    if stem.starts_with('.') { stem.replacen('.', "_2e", 1) } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_records_stay_in_their_directory() {
        for (id, stem) in [
            ("pn-1a2b3c4d", "pn-1a2b3c4d"),
            ("bd-42.1", "bd-42.1"),
            ("../x", "_2e._2fx"),
            ("..", "_2e."),
            ("a_2f", "a_5f2f"),
            ("a/", "a_2f"),
            ("é\\", "_c3_a9_5c"),
        ] {
            assert_eq!(file_stem(id), stem);
        }
    }
}
