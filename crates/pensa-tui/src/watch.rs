//! One view without keys, drawn again whenever it changes: what `pn watch` shows on a terminal.

use std::collections::HashSet;
use std::io::{self, Stdout};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{fmt, thread};

use pensa_core::issue::{Issue, IssueDetail};
use pensa_core::text::printable_line;
use pensa_core::{Error, Result, Timestamp};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Constraint, Layout};
use ratatui::{Frame, Terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use crate::detail::DetailPane;
use crate::rows::{ListRow, Look, RowList, draw_line, piece};
use crate::store::IssuePage;
use crate::terminal;
use crate::theme::{Theme, Tone};
use crate::views::{ViewContext, issue_row};

type WatchScreen = Terminal<CrosstermBackend<Stdout>>;

/// A terminal that shows the queue or an issue until it is dropped.
pub struct WatchWindow {
    /// Locked while a frame is written, so that a signal does not end the program within one
    screen: Arc<Mutex<WatchScreen>>,
    view: WatchView,
}

impl fmt::Debug for WatchWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchWindow").field("view", &self.view).finish_non_exhaustive()
    }
}

impl WatchWindow {
    /// Takes the terminal over. A signal that ends or suspends the program gives it back first.
    pub fn open(theme: Theme, is_ascii: bool) -> Result<Self> {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGTSTP]).map_err(failed)?;
        let screen = Arc::new(Mutex::new(Terminal::new(CrosstermBackend::new(io::stdout())).map_err(failed)?));
        let shared = Arc::clone(&screen);
        thread::spawn(move || obey(signals, &shared));
        terminal::take_over_without_keys().inspect_err(|_| terminal::give_back())?;
        Ok(Self { screen, view: WatchView::new(theme, is_ascii) })
    }

    pub fn show_queue(&mut self, issues: &[Issue]) -> Result<()> {
        self.view.issues = issues.to_vec();
        self.view.set_rows(&self.context()?);
        self.redraw()
    }

    pub fn show_issue(&mut self, detail: IssueDetail) -> Result<()> {
        self.view.set_issue(detail);
        self.redraw()
    }

    /// Draws what is shown once more: what has changed no longer stands out, and the window may have another size.
    pub fn redraw(&mut self) -> Result<()> {
        let cx = self.context()?;
        if cx.size != self.view.size {
            self.view.set_rows(&cx);
        }
        let drawn = lock(&self.screen).draw(|frame| self.view.draw(frame, Instant::now(), crate::now())).map(drop);
        drawn.map_err(failed)
    }

    fn context(&self) -> Result<ViewContext> {
        let size = lock(&self.screen).size().map_err(failed)?;
        Ok(ViewContext { now: crate::now(), at: Instant::now(), size: size.into() })
    }
}

impl Drop for WatchWindow {
    fn drop(&mut self) {
        let _held = lock(&self.screen);
        terminal::give_back();
    }
}

fn obey(mut signals: Signals, screen: &Mutex<WatchScreen>) {
    for signal in &mut signals {
        let mut held = lock(screen);
        terminal::give_back();
        terminal::die_of(signal);
        // It was suspended, and goes on.
        let _ = terminal::take_over_without_keys().and_then(|()| held.clear().map_err(failed));
    }
}

fn lock(screen: &Mutex<WatchScreen>) -> MutexGuard<'_, WatchScreen> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(e: impl fmt::Display) -> Error {
    Error::internal(format!("cannot draw: {e}"))
}

/// What is shown.
#[derive(Debug)]
pub(crate) struct WatchView {
    theme: Theme,
    is_ascii: bool,
    title: String,
    pub(crate) issues: Vec<Issue>,
    /// The issues, for a window of this size
    rows: RowList,
    size: (u16, u16),
    issue: Option<DetailPane>,
}

impl WatchView {
    pub(crate) fn new(theme: Theme, is_ascii: bool) -> Self {
        let (title, issues, rows) = (String::new(), Vec::new(), RowList::default());
        Self { theme, is_ascii, title, issues, rows, size: (0, 0), issue: None }
    }

    pub(crate) fn set_rows(&mut self, cx: &ViewContext) {
        if self.issue.is_some() {
            return;
        }
        self.title = match self.issues.len() {
            0 => "nothing is ready".to_owned(),
            1 => "1 issue is ready".to_owned(),
            count => format!("{count} issues are ready"),
        };
        let rows: Vec<ListRow> = self.issues.iter().map(|issue| issue_row(issue, cx)).collect();
        self.rows.set(rows, cx.at);
        self.size = cx.size;
    }

    pub(crate) fn set_issue(&mut self, detail: IssueDetail) {
        self.title = printable_line(&detail.issue.title);
        let mut pane = DetailPane::new(detail.issue.id.clone());
        pane.page = Some(Box::new(IssuePage { detail, history: Vec::new(), why: None }));
        self.issue = Some(pane);
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, at: Instant, now: Timestamp) {
        let marks = HashSet::new();
        let look = Look { theme: self.theme, is_ascii: self.is_ascii, now, at, marks: &marks };
        let [top, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(frame.area());
        let title = [piece(self.title.as_str(), Tone::Strong), piece("  live; Ctrl-C ends", Tone::Faint)];
        draw_line(frame.buffer_mut(), top, &title, &look);
        match &self.issue {
            Some(pane) => pane.draw(frame.buffer_mut(), body, &look),
            None => self.rows.draw_without_cursor(frame.buffer_mut(), body, &look),
        }
    }
}
