//! The state of the interface, and what each message makes of it. It draws nothing and asks nobody: it returns effects.

mod commands;
mod input;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::{Discriminant, discriminant};
use std::time::{Duration, Instant};

use pensa_core::id::IssueId;
use pensa_core::ops::issue::Update;
use pensa_core::{Code, Error, Result, Timestamp};
use ratatui::crossterm::event::Event;
use ratatui::layout::Rect;

use crate::detail::DetailPane;
use crate::form::IssueForm;
use crate::keys::{KeyTable, ViewKind};
use crate::picker::Picker;
use crate::prompt::{Prompt, PromptPurpose};
use crate::remembered::ViewMemory;
use crate::rows::{FLASH, ListRow, RowList, RowSubject};
use crate::store::{Answer, ChangeOutcome, OutputOf, StoreChange, StoreQuery};
use crate::theme::{Theme, Tone};
use crate::views::agents::AgentsView;
use crate::views::board::BoardView;
use crate::views::charts::ChartsView;
use crate::views::insights::InsightsView;
use crate::views::list::ListView;
use crate::views::log::LogView;
use crate::views::memory::MemoryView;
use crate::views::sessions::SessionsView;
use crate::views::tree::TreeView;
use crate::views::{TuiView, ViewContext};

/// In a window at least this wide the page of an issue is beside the view, else over it.
const BESIDE: u16 = 110;
/// How long a note stays.
const NOTE: Duration = Duration::from_secs(4);
/// The pause between attempts to reach a lost store.
const RETRY: Duration = Duration::from_secs(1);
/// How often a server is asked whether it is there.
const PING: Duration = Duration::from_secs(2);
/// How often views with a running clock are made anew.
const CLOCK: Duration = Duration::from_secs(15);

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Msg {
    /// The store was opened, or could not be.
    Connected(Result<()>),
    Answer(StoreQuery, Result<Answer>),
    Changed(u64, ChangeOutcome),
    /// There is news in the log.
    News,
    /// The log can no longer be followed.
    Lost(Error),
    Input(Event),
    /// What a person should know
    Said(Result<String>),
    Signal(i32),
    Tick,
    /// The terminal is gone.
    InputEnded,
}

/// Something to do.
#[derive(Debug)]
pub(crate) enum Effect {
    Ask(StoreQuery),
    Change(u64, Vec<StoreChange>),
    /// Edit the description of an issue in the user's editor
    Editor(IssueId, String),
    Copy(String),
    /// Run a command on issues
    Run(Vec<IssueId>, String),
    Suspend,
    Redraw,
    GuideRead,
    Quit,
}

/// What is over the view.
#[derive(Debug)]
pub(crate) enum Overlay {
    Prompt(Prompt),
    Form(IssueForm),
    Picker(Picker),
    Output(OutputPage),
    Help(usize),
    Guide,
}

/// What a job or a run says, as it says it.
#[derive(Debug)]
pub(crate) struct OutputPage {
    pub(crate) of: OutputOf,
    pub(crate) text: String,
    /// Lines above its end; new ones come at the end
    pub(crate) above_end: usize,
}

/// A line for the person in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShortNote {
    pub(crate) text: String,
    pub(crate) tone: Tone,
    /// None for one that stays until the next key
    until: Option<Instant>,
}

/// Where things were drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WindowAreas {
    pub(crate) body: Rect,
    pub(crate) detail: Rect,
    /// The end of each tab in the first line
    pub(crate) tabs: [u16; 9],
}

/// An issue that is edited once its page has come.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PendingEdit {
    Form(IssueId),
    Editor(IssueId),
}

/// What the interface starts with.
#[derive(Debug, Clone)]
pub(crate) struct AppOptions {
    pub(crate) project: String,
    pub(crate) theme: Theme,
    pub(crate) keys: KeyTable,
    pub(crate) is_ascii: bool,
    pub(crate) board_labels: Vec<String>,
    /// Whether the store is on a server, which may go away unseen
    pub(crate) is_remote: bool,
    pub(crate) shows_guide: bool,
    /// Commands that can be run on an issue by their names
    pub(crate) run_commands: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) options: AppOptions,
    pub(crate) size: (u16, u16),
    pub(crate) areas: Cell<WindowAreas>,
    views: [Box<dyn TuiView>; 9],
    pub(crate) current: ViewKind,
    pub(crate) filters: [String; 9],
    pub(crate) detail: Option<DetailPane>,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) marks: HashSet<IssueId>,
    pub(crate) note: Option<ShortNote>,
    /// Why the store cannot be reached
    pub(crate) lost: Option<Error>,
    in_flight: HashMap<Discriminant<StoreQuery>, Option<StoreQuery>>,
    effects: Vec<Effect>,
    tickets: u64,
    /// What to select once it is there, and how many answers may still bring it
    select_soon: Option<(String, u8)>,
    /// The issue that is being moved
    moving: Option<String>,
    pending_edit: Option<PendingEdit>,
    /// Texts from the editor that the store has not taken yet, by ticket
    edited: HashMap<u64, String>,
    pressed: Option<(u16, u16)>,
    refresh_at: Option<Instant>,
    refreshed: Instant,
    flash_until: Option<Instant>,
    retry_at: Option<Instant>,
    ping_at: Option<Instant>,
    clock_at: Instant,
    at: Instant,
    now: Timestamp,
}

impl App {
    pub(crate) fn new(options: AppOptions, size: (u16, u16), at: Instant, now: Timestamp) -> Self {
        let views: [Box<dyn TuiView>; 9] = [
            Box::new(BoardView::new(options.board_labels.clone())),
            Box::new(ListView::default()),
            Box::new(TreeView::default()),
            Box::new(AgentsView::default()),
            Box::new(InsightsView::default()),
            Box::new(MemoryView::default()),
            Box::new(SessionsView::default()),
            Box::new(LogView::default()),
            Box::new(ChartsView::default()),
        ];
        Self {
            overlay: options.shows_guide.then_some(Overlay::Guide),
            ping_at: options.is_remote.then(|| at + PING),
            options,
            size,
            areas: Cell::default(),
            views,
            current: ViewKind::Board,
            filters: Default::default(),
            detail: None,
            marks: HashSet::new(),
            note: None,
            lost: None,
            in_flight: HashMap::new(),
            effects: Vec::new(),
            tickets: 0,
            select_soon: None,
            moving: None,
            pending_edit: None,
            edited: HashMap::new(),
            pressed: None,
            refresh_at: None,
            refreshed: at,
            flash_until: None,
            retry_at: None,
            clock_at: at + CLOCK,
            at,
            now,
        }
    }

    pub(crate) fn view(&self) -> &dyn TuiView {
        &*self.views[self.current.index()]
    }

    fn view_mut(&mut self) -> &mut dyn TuiView {
        &mut *self.views[self.current.index()]
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filters[self.current.index()]
    }

    fn context(&self) -> ViewContext {
        ViewContext { now: self.now, at: self.at, size: self.size }
    }

    /// Whether the page of an issue is beside the view.
    pub(crate) fn is_beside(&self) -> bool {
        self.size.0 >= BESIDE
    }

    pub(crate) fn restore(&mut self, memory: &ViewMemory) {
        let known = ViewKind::ALL.iter().find(|(_, name)| Some(*name) == memory.view.as_deref());
        self.current = known.map_or(self.current, |(kind, _)| *kind);
        self.views.iter_mut().for_each(|view| view.restore(memory));
    }

    pub(crate) fn remember(&self) -> ViewMemory {
        let mut memory = ViewMemory { view: Some(self.current.name().to_owned()), ..ViewMemory::default() };
        let theme = Theme::ALL.iter().find(|(_, theme)| *theme == self.options.theme);
        memory.theme = theme.map(|(name, _)| (*name).to_owned());
        self.views.iter().for_each(|view| view.remember(&mut memory));
        memory
    }

    /// When something changes by itself next.
    pub(crate) fn deadline(&self) -> Instant {
        let times = [
            self.refresh_at,
            self.flash_until,
            self.retry_at,
            self.ping_at,
            self.note.as_ref().and_then(|note| note.until),
        ];
        times.into_iter().flatten().chain([self.clock_at]).min().unwrap_or(self.clock_at)
    }

    /// What a message makes of the state.
    pub(crate) fn update(&mut self, msg: Msg, at: Instant, now: Timestamp) -> Vec<Effect> {
        (self.at, self.now) = (at, now);
        match msg {
            Msg::Connected(_) => self.refresh(),
            Msg::Answer(query, answer) => self.answered(&query, answer),
            Msg::Changed(ticket, outcome) => self.changed(ticket, outcome),
            Msg::News => {
                let due = self.refreshed + self.view().pause();
                self.flash_until = Some(at + FLASH);
                if due <= at { self.refresh() } else { self.refresh_at = Some(due) }
            }
            Msg::Lost(error) => self.lose(error),
            Msg::Said(Ok(text)) => self.tell(text),
            Msg::Said(Err(error)) => self.complain(&error),
            Msg::Input(event) => self.input(event),
            Msg::Tick => self.tick(),
            Msg::Signal(_) | Msg::InputEnded => self.effects.push(Effect::Quit),
        }
        std::mem::take(&mut self.effects)
    }

    fn tick(&mut self) {
        let at = self.at;
        let is_due = |time: &mut Option<Instant>| time.take_if(|time| *time <= at).is_some();
        if self.note.as_ref().is_some_and(|note| note.until.is_some_and(|until| until <= at)) {
            self.note = None;
        }
        is_due(&mut self.flash_until);
        if is_due(&mut self.ping_at) {
            self.ping_at = Some(at + PING);
            self.ask(StoreQuery::Ping);
        }
        if self.clock_at <= at {
            self.clock_at = at + CLOCK;
            // Only what is a matter of time: how long claims still hold.
            if self.current == ViewKind::Agents {
                self.refresh();
            }
        }
        if is_due(&mut self.refresh_at) | is_due(&mut self.retry_at) {
            self.refresh();
        }
    }

    /// Asks for what is shown.
    fn refresh(&mut self) {
        self.refreshed = self.at;
        self.refresh_at = None;
        let query = self.view().query();
        self.ask(query);
        if let Some(pane) = &self.detail {
            let query = StoreQuery::Detail(pane.id.clone());
            self.ask(query);
        }
        if let Some(Overlay::Output(page)) = &self.overlay {
            let query = StoreQuery::Output(page.of.clone());
            self.ask(query);
        }
    }

    /// Asks, unless the same kind of question is being answered: then afterwards.
    fn ask(&mut self, query: StoreQuery) {
        let kind = discriminant(&query);
        match self.in_flight.get_mut(&kind) {
            Some(next) => *next = Some(query),
            None => {
                self.in_flight.insert(kind, None);
                self.effects.push(Effect::Ask(query));
            }
        }
    }

    fn answered(&mut self, query: &StoreQuery, answer: Result<Answer>) {
        if let Some(Some(next)) = self.in_flight.remove(&discriminant(query)) {
            self.ask(next);
        }
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.unanswered(query, error),
        };
        if self.lost.take().is_some() {
            self.tell("connected again");
            self.refresh();
        }
        match answer {
            Answer::Pong => {}
            Answer::Find(issues) => {
                if let Some(Overlay::Picker(picker)) = &mut self.overlay {
                    picker.set_issues(issues);
                }
            }
            Answer::Output(text) => {
                if let Some(Overlay::Output(page)) = &mut self.overlay {
                    page.text = text;
                }
            }
            Answer::Similar(similar) => {
                if let Some(Overlay::Form(form)) = &mut self.overlay {
                    form.similar = similar;
                }
            }
            Answer::Detail(page) => self.take_page(page),
            answer => {
                let context = self.context();
                for view in &mut self.views {
                    // An answer to what is no longer asked is followed by another.
                    if view.query() == *query {
                        view.take(answer, &context);
                        break;
                    }
                }
                if let Some((key, tries)) = self.select_soon.take() {
                    self.view_mut().select(&key);
                    // The first answer may be older than the change.
                    self.select_soon = (tries > 1).then_some((key, tries - 1));
                }
                self.follow_selection();
            }
        }
    }

    fn take_page(&mut self, page: Box<crate::store::IssuePage>) {
        let id = page.detail.issue.id.clone();
        match self.pending_edit.take() {
            Some(PendingEdit::Form(wanted)) if wanted == id => {
                self.overlay = Some(Overlay::Form(IssueForm::edit(page.detail.issue.clone())));
            }
            Some(PendingEdit::Editor(wanted)) if wanted == id => {
                let text = page.detail.issue.description.clone().unwrap_or_default();
                self.effects.push(Effect::Editor(id.clone(), text));
            }
            other => self.pending_edit = other,
        }
        if let Some(pane) = self.detail.as_mut().filter(|pane| pane.id == id) {
            (pane.page, pane.error) = (Some(page), None);
        }
    }

    fn unanswered(&mut self, query: &StoreQuery, error: Error) {
        let is_about_query = matches!(
            error.code,
            Code::InvalidInput | Code::NotFound | Code::AmbiguousId | Code::Unsupported | Code::Forbidden
        );
        match (query, is_about_query) {
            (StoreQuery::Detail(id), true) => {
                self.pending_edit = None;
                if let Some(pane) = self.detail.as_mut().filter(|pane| pane.id == *id) {
                    (pane.page, pane.error) = (None, Some(error));
                }
            }
            (_, true) => self.complain(&error),
            (_, false) => self.lose(error),
        }
    }

    fn lose(&mut self, error: Error) {
        self.lost = Some(error);
        self.retry_at = Some(self.at + RETRY);
    }

    fn tell(&mut self, text: impl Into<String>) {
        self.note = Some(ShortNote { text: text.into(), tone: Tone::Good, until: Some(self.at + NOTE) });
    }

    fn complain(&mut self, error: &Error) {
        let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        self.note = Some(ShortNote { text: format!("{}{hint}", error.message), tone: Tone::Bad, until: None });
    }

    fn change(&mut self, changes: Vec<StoreChange>) -> Option<u64> {
        if changes.is_empty() {
            return None;
        }
        self.tickets += 1;
        self.effects.push(Effect::Change(self.tickets, changes));
        Some(self.tickets)
    }

    fn changed(&mut self, ticket: u64, outcome: ChangeOutcome) {
        let ChangeOutcome { done, refused, created } = outcome;
        let edited = self.edited.remove(&ticket);
        let is_all_refused = done.is_empty() && !refused.is_empty();
        let error = refused.first().map(|(_, error)| error.clone());
        match &mut self.overlay {
            Some(Overlay::Prompt(prompt)) if prompt.ticket == Some(ticket) => {
                (prompt.ticket, prompt.error) = (None, error.clone());
                if !is_all_refused {
                    self.overlay = None;
                }
            }
            Some(Overlay::Form(form)) if form.ticket == Some(ticket) => {
                (form.ticket, form.error) = (None, error.clone());
                if !is_all_refused {
                    self.overlay = None;
                }
            }
            _ => {}
        }
        if let Some((subject, error)) = refused.first() {
            let what = if subject.is_empty() { String::new() } else { format!("{subject}: ") };
            let made = if done.is_empty() { String::new() } else { format!("{} done; ", done.len()) };
            let mut text = error.clone();
            text.message = format!("{made}{what}{}", error.message);
            self.complain(&text);
            if let Some(text) = edited.filter(|_| is_all_refused) {
                self.keep_edited(text);
            }
        } else if let [one] = &done[..] {
            self.tell(one.clone());
        } else if let Some(last) = done.last() {
            self.tell(format!("{} issues: {last} …", done.len()));
        }
        if refused.is_empty() {
            self.marks.clear();
        }
        let changed = created.map(|id| id.to_string()).or(self.moving.take().filter(|_| refused.is_empty()));
        self.select_soon = changed.map(|key| (key, 2)).or(self.select_soon.take());
        self.flash_until = Some(self.at + FLASH);
        self.refresh();
    }

    /// A text that was refused is opened again, so that nothing typed is lost.
    fn keep_edited(&mut self, text: String) {
        let mut prompt = Prompt::new(PromptPurpose::Comment, self.targets(), &text);
        prompt.error = Some(Error::invalid("the description was refused; keep the text as a comment, or copy it"));
        self.overlay = Some(Overlay::Prompt(prompt));
    }

    /// The description of an issue came back from the editor.
    pub(crate) fn edited(&mut self, id: &IssueId, text: String) -> Vec<Effect> {
        let update = Update { description: Some(text.clone()), ..Update::of(id.into()) };
        if let Some(ticket) = self.change(vec![StoreChange::Update(Box::new(update))]) {
            self.edited.insert(ticket, text);
        }
        std::mem::take(&mut self.effects)
    }

    /// What the cursor is on.
    fn subject(&self) -> Option<RowSubject> {
        self.row().and_then(|row| row.subject.clone())
    }

    fn row(&self) -> Option<&ListRow> {
        self.view().list().and_then(RowList::selected)
    }

    /// The issues that a command is about: those that are marked, else the one that is read or selected.
    fn targets(&self) -> Vec<IssueId> {
        if !self.marks.is_empty() {
            let mut marked: Vec<IssueId> = self.marks.iter().cloned().collect();
            marked.sort_unstable();
            return marked;
        }
        match &self.detail {
            Some(pane) if !self.is_beside() => vec![pane.id.clone()],
            _ => self.subject().and_then(|subject| subject.issue().cloned()).into_iter().collect(),
        }
    }
}
