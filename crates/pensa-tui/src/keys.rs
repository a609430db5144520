//! Which key does what: one table, from which keys are looked up, `?` is written and the palette is filled.

use pensa_core::{Error, Result};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::rows::Motion;

/// What a person can ask for with a key, or by name in the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserCommand {
    Create,
    Edit,
    Editor,
    Claim,
    Release,
    Close,
    Reopen,
    Priority,
    Assign,
    Label,
    Parent,
    Depend,
    Comment,
    Run,
    Signal,
    Copy,
    Mark,
    Undo,
    Redo,
    MoveOn,
    MoveBack,
    Open,
    Numbers,
    Verify,
    Forget,
    Supersede,
    Tree,
    Group,
    Lanes,
    Sort,
    Scope,
    ScopeOpen,
    ScopeReady,
    ScopeAll,
    Span,
    Filter,
    Palette,
    Help,
    Theme,
    View(ViewKind),
    NextView,
    PreviousView,
    Step(Motion),
    Reload,
    Suspend,
    Back,
    Quit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ViewKind {
    Board,
    List,
    Tree,
    Agents,
    Insights,
    Memory,
    Sessions,
    Log,
    Charts,
}

impl ViewKind {
    pub(crate) const ALL: [(ViewKind, &str); 9] = [
        (ViewKind::Board, "Board"),
        (ViewKind::List, "List"),
        (ViewKind::Tree, "Tree"),
        (ViewKind::Agents, "Agents"),
        (ViewKind::Insights, "Insights"),
        (ViewKind::Memory, "Memory"),
        (ViewKind::Sessions, "Sessions"),
        (ViewKind::Log, "Log"),
        (ViewKind::Charts, "Charts"),
    ];

    pub(crate) fn index(self) -> usize {
        Self::ALL.iter().position(|(kind, _)| *kind == self).unwrap_or_default()
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self.index()].1
    }
}

/// Where a key means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyScope {
    Everywhere,
    /// Views that show issues
    Issues,
    Only(&'static [ViewKind]),
}

impl KeyScope {
    fn covers(self, view: ViewKind) -> bool {
        match self {
            Everywhere => true,
            Issues => !matches!(view, ViewKind::Memory | ViewKind::Sessions | ViewKind::Charts),
            Only(views) => views.contains(&view),
        }
    }
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyBinding {
    /// The keys that do it; the first is the one that is shown.
    keys: &'static [&'static str],
    pub(crate) verb: &'static str,
    pub(crate) command: UserCommand,
    scope: KeyScope,
}

const fn bind(keys: &'static [&'static str], verb: &'static str, command: UserCommand, scope: KeyScope) -> KeyBinding {
    KeyBinding { keys, verb, command, scope }
}

use KeyScope::{Everywhere, Issues, Only};
use UserCommand as Do;

const BINDINGS: &[KeyBinding] = &[
    bind(&["n"], "create", Do::Create, Everywhere),
    bind(&["c"], "claim", Do::Claim, Issues),
    bind(&["d"], "close", Do::Close, Issues),
    bind(&[">"], "move", Do::MoveOn, Issues),
    bind(&["<"], "move-back", Do::MoveBack, Issues),
    bind(&["u"], "undo", Do::Undo, Everywhere),
    bind(&["U", "ctrl-r"], "redo", Do::Redo, Everywhere),
    bind(&["space"], "mark", Do::Mark, Issues),
    bind(&["e"], "edit", Do::Edit, Issues),
    bind(&["E"], "editor", Do::Editor, Issues),
    bind(&["R"], "release", Do::Release, Issues),
    bind(&["O"], "reopen", Do::Reopen, Issues),
    bind(&["p"], "priority", Do::Priority, Issues),
    bind(&["A"], "assign", Do::Assign, Issues),
    bind(&["L"], "label", Do::Label, Issues),
    bind(&["P"], "parent", Do::Parent, Issues),
    bind(&["D"], "depend", Do::Depend, Issues),
    bind(&["C"], "comment", Do::Comment, Issues),
    bind(&["!"], "run", Do::Run, Issues),
    bind(&["S"], "signal", Do::Signal, Only(&[ViewKind::Agents])),
    bind(&["y"], "copy", Do::Copy, Everywhere),
    bind(&["v"], "verify", Do::Verify, Only(&[ViewKind::Memory])),
    bind(&["F"], "forget", Do::Forget, Only(&[ViewKind::Memory])),
    bind(&["K"], "keep", Do::Supersede, Only(&[ViewKind::Memory])),
    bind(&["enter"], "open", Do::Open, Everywhere),
    bind(&["x"], "numbers", Do::Numbers, Issues),
    bind(&["t"], "tree", Do::Tree, Issues),
    bind(&["b"], "columns", Do::Group, Only(&[ViewKind::Board])),
    bind(&["w"], "lanes", Do::Lanes, Only(&[ViewKind::Board])),
    bind(&["s"], "sort", Do::Sort, Only(&[ViewKind::List])),
    bind(&["f"], "scope", Do::Scope, Only(&[ViewKind::List, ViewKind::Memory])),
    bind(&["o"], "open-only", Do::ScopeOpen, Only(&[ViewKind::List])),
    bind(&["r"], "ready-only", Do::ScopeReady, Only(&[ViewKind::List])),
    bind(&["a"], "all", Do::ScopeAll, Only(&[ViewKind::List])),
    bind(&["z"], "span", Do::Span, Only(&[ViewKind::Charts])),
    bind(&["/"], "filter", Do::Filter, Everywhere),
    bind(&[":", "ctrl-p"], "palette", Do::Palette, Everywhere),
    bind(&["j", "down"], "down", Do::Step(Motion::Down), Everywhere),
    bind(&["k", "up"], "up", Do::Step(Motion::Up), Everywhere),
    bind(&["h", "left"], "left", Do::Step(Motion::Left), Everywhere),
    bind(&["l", "right"], "right", Do::Step(Motion::Right), Everywhere),
    bind(&["g", "home"], "top", Do::Step(Motion::Top), Everywhere),
    bind(&["G", "end"], "bottom", Do::Step(Motion::Bottom), Everywhere),
    bind(&["ctrl-d", "pagedown"], "page-down", Do::Step(Motion::PageDown), Everywhere),
    bind(&["ctrl-u", "pageup"], "page-up", Do::Step(Motion::PageUp), Everywhere),
    bind(&["1"], "board", Do::View(ViewKind::Board), Everywhere),
    bind(&["2"], "list", Do::View(ViewKind::List), Everywhere),
    bind(&["3"], "graph", Do::View(ViewKind::Tree), Everywhere),
    bind(&["4"], "agents", Do::View(ViewKind::Agents), Everywhere),
    bind(&["5"], "insights", Do::View(ViewKind::Insights), Everywhere),
    bind(&["6"], "memory", Do::View(ViewKind::Memory), Everywhere),
    bind(&["7"], "sessions", Do::View(ViewKind::Sessions), Everywhere),
    bind(&["8"], "log", Do::View(ViewKind::Log), Everywhere),
    bind(&["9"], "charts", Do::View(ViewKind::Charts), Everywhere),
    bind(&["tab"], "next", Do::NextView, Everywhere),
    bind(&["shift-tab"], "previous", Do::PreviousView, Everywhere),
    bind(&["T"], "theme", Do::Theme, Everywhere),
    bind(&["ctrl-l"], "redraw", Do::Reload, Everywhere),
    bind(&["ctrl-z"], "suspend", Do::Suspend, Everywhere),
    bind(&["?"], "help", Do::Help, Everywhere),
    bind(&["esc"], "back", Do::Back, Everywhere),
    bind(&["q"], "quit", Do::Quit, Everywhere),
];

/// The table, with the keys that the user has chosen.
#[derive(Debug, Clone, Default)]
pub struct KeyTable {
    /// The key of a verb, in place of those in the table.
    chosen: Vec<(&'static str, String)>,
}

impl KeyTable {
    /// Reads `verb=key` pairs, separated by commas or lines: `close=x,create=a`.
    pub fn parse(text: &str) -> Result<Self> {
        let pairs = text.split([',', '\n']).map(str::trim).filter(|pair| !pair.is_empty());
        let mut chosen: Vec<(&'static str, String)> = Vec::new();
        for pair in pairs {
            let (verb, key) = pair.split_once('=').ok_or_else(|| {
                Error::invalid(format!("{pair:?} is not a verb and its key")).hint("close=x, for example")
            })?;
            let (verb, key) = (verb.trim(), key.trim());
            let binding = BINDINGS.iter().find(|binding| binding.verb == verb).ok_or_else(|| {
                let verbs: Vec<&str> = BINDINGS.iter().map(|binding| binding.verb).collect();
                Error::invalid(format!("{verb:?} is nothing that a key does")).hint(verbs.join(", "))
            })?;
            if !is_key(key) {
                return Err(Error::invalid(format!("{key:?} is no key")).hint("a character, or a name such as ctrl-x"));
            }
            chosen.push((binding.verb, key.to_owned()));
        }
        Ok(Self { chosen })
    }

    /// The key that is shown for a line of the table; none if it was given to something else.
    fn key<'a>(&'a self, binding: &'a KeyBinding) -> Option<&'a str> {
        if let Some((_, key)) = self.chosen.iter().find(|(verb, _)| *verb == binding.verb) {
            return Some(key);
        }
        binding.keys.iter().copied().find(|key| !self.chosen.iter().any(|(_, taken)| taken == key))
    }

    pub(crate) fn find(&self, event: KeyEvent, view: ViewKind) -> Option<UserCommand> {
        let name = name_of(event)?;
        if let Some((verb, _)) = self.chosen.iter().find(|(_, key)| *key == name) {
            return BINDINGS.iter().find(|binding| binding.verb == *verb).map(|binding| binding.command);
        }
        let is_free = |binding: &&KeyBinding| !self.chosen.iter().any(|(verb, _)| *verb == binding.verb);
        let bound = BINDINGS
            .iter()
            .filter(is_free)
            .find(|binding| binding.keys.contains(&name.as_str()) && binding.scope.covers(view));
        bound.map(|binding| binding.command)
    }

    /// Every key of a view with its verb.
    pub(crate) fn of_view(&self, view: ViewKind) -> Vec<(String, &'static str, UserCommand)> {
        let covered = BINDINGS.iter().filter(|binding| binding.scope.covers(view));
        covered.filter_map(|binding| Some((self.key(binding)?.to_owned(), binding.verb, binding.command))).collect()
    }
}

/// The name of a key, as in the table.
fn name_of(event: KeyEvent) -> Option<String> {
    let name = match event.code {
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "enter".to_owned(),
        KeyCode::Esc => "esc".to_owned(),
        KeyCode::Tab => "tab".to_owned(),
        KeyCode::BackTab => "shift-tab".to_owned(),
        KeyCode::Up => "up".to_owned(),
        KeyCode::Down => "down".to_owned(),
        KeyCode::Left => "left".to_owned(),
        KeyCode::Right => "right".to_owned(),
        KeyCode::Home => "home".to_owned(),
        KeyCode::End => "end".to_owned(),
        KeyCode::PageUp => "pageup".to_owned(),
        KeyCode::PageDown => "pagedown".to_owned(),
        KeyCode::Backspace => "backspace".to_owned(),
        KeyCode::Delete => "delete".to_owned(),
        KeyCode::F(number) => format!("f{number}"),
        _ => return None,
    };
    Some(if event.modifiers.contains(KeyModifiers::CONTROL) {
        format!("ctrl-{name}")
    } else if event.modifiers.contains(KeyModifiers::ALT) {
        format!("alt-{name}")
    } else {
        name
    })
}

fn is_key(name: &str) -> bool {
    const NAMED: [&str; 15] = [
        "space",
        "enter",
        "esc",
        "tab",
        "shift-tab",
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "pageup",
        "pagedown",
        "backspace",
        "delete",
    ];
    let plain = name.strip_prefix("ctrl-").or_else(|| name.strip_prefix("alt-")).unwrap_or(name);
    let is_function =
        plain.strip_prefix('f').is_some_and(|number| number.parse::<u8>().is_ok_and(|n| (1..=12).contains(&n)));
    NAMED.contains(&plain) || is_function || plain.chars().count() == 1 && !plain.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(c: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)
    }

    #[test]
    fn no_key_of_a_view_has_two_meanings() {
        for (view, name) in ViewKind::ALL {
            let covered = BINDINGS.iter().filter(|binding| binding.scope.covers(view));
            let mut keys: Vec<&str> = covered.flat_map(|binding| binding.keys).copied().collect();
            assert!(keys.iter().all(|key| is_key(key)), "{keys:?}");
            keys.sort_unstable();
            let count = keys.len();
            keys.dedup();
            assert_eq!(keys.len(), count, "{name}");
        }
        let mut verbs: Vec<&str> = BINDINGS.iter().map(|binding| binding.verb).collect();
        verbs.sort_unstable();
        let count = verbs.len();
        verbs.dedup();
        assert_eq!(verbs.len(), count);
    }

    #[test]
    fn chosen_keys_replace_those_of_the_table() {
        let keys = KeyTable::parse("close=x, create=d").expect("valid");
        assert_eq!(keys.find(press('x'), ViewKind::List), Some(UserCommand::Close));
        assert_eq!(keys.find(press('d'), ViewKind::List), Some(UserCommand::Create));
        assert_eq!(keys.find(press('n'), ViewKind::List), None, "it was given another key");
        let shown = keys.of_view(ViewKind::List);
        assert!(shown.iter().any(|(key, verb, _)| (key.as_str(), *verb) == ("x", "close")));
        assert!(!shown.iter().any(|(_, verb, _)| *verb == "numbers"), "its key was taken");
        for bad in ["close", "fly=x", "close=xyz", "close="] {
            assert!(KeyTable::parse(bad).is_err(), "{bad}");
        }
    }
}
