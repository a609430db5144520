//! The terminal user interface of Pensa: everything that a store knows, live, and changed from the keyboard.
//!
//! [`run`] takes the terminal, starts the threads that use the store, and passes messages from them and from the keyboard to
//! the state in `app`, which `window` draws. State comes from operations and from the log only.

mod app;
mod detail;
mod field;
mod form;
mod keys;
mod picker;
mod prompt;
mod record;
mod remembered;
mod rows;
mod store;
mod terminal;
mod text;
mod theme;
mod views;
mod watch;
mod window;
mod worker;

#[cfg(test)]
mod screens;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use pensa_core::id::IssueId;
use pensa_core::{Error, Result, Timestamp};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::terminal::size as window_size;
use signal_hook::consts::SIGTSTP;

use app::{App, AppOptions, Effect, Msg};
use record::{RecordedOutput, Recorder};
use remembered::ViewMemory;
use terminal::InputReader;
use worker::Workers;

pub use keys::KeyTable;
pub use theme::Theme;
pub use watch::WatchWindow;
pub use worker::Connect;

/// Runs a command on an issue, and says what was started.
pub type RunOnIssue = Arc<dyn Fn(&IssueId, &str) -> Result<String> + Send + Sync>;

/// What the interface needs to know.
pub struct TuiOptions {
    /// What the project is called
    pub project: String,
    pub connect: Connect,
    /// Whether the store is on a server
    pub is_remote: bool,
    /// The theme that was asked for, if any
    pub theme: Option<Theme>,
    pub keys: KeyTable,
    /// Whether the terminal can show ASCII only
    pub is_ascii: bool,
    /// Labels that have a column on the board
    pub board_labels: Vec<String>,
    /// Commands that can be run on an issue by their names
    pub run_commands: BTreeMap<String, String>,
    pub run: RunOnIssue,
    /// The file that is there once the user has read the guide
    pub guide_file: Option<PathBuf>,
    /// The file that remembers how the views of this project were left
    pub memory_file: Option<PathBuf>,
    /// The file to which the last screen or the session is written
    pub record: Option<PathBuf>,
}

impl fmt::Debug for TuiOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TuiOptions({})", self.project)
    }
}

/// Runs the interface until the user leaves it, or a signal ends it.
pub fn run(options: TuiOptions) -> Result<()> {
    let (to, from) = mpsc::channel();
    let workers = Workers::start(&options.connect, &to);
    // A store that cannot be opened is an error of the command, not a screen.
    if let Ok(Msg::Connected(opened)) = from.recv() {
        opened?;
    }
    let size = window_size().map_err(|e| Error::internal(format!("no size of a terminal: {e}")))?;
    let recorder = Recorder::new(options.record.as_deref(), size)?;
    terminal::install_panic_hook(recorder.clone());
    terminal::watch_signals(to.clone())?;
    let result = terminal::redirect_errors(to.clone()).and_then(|()| terminal::take_over());
    let mut session = match result {
        Ok(()) => UserSession::new(options, workers, (to, from), recorder, size),
        Err(error) => {
            terminal::give_back();
            terminal::restore_errors();
            return Err(error);
        }
    };
    let ended = session.run();
    terminal::give_back();
    terminal::restore_errors();
    session.recorder.finish();
    session.app.remember().write(session.options.memory_file.as_deref());
    if let Some(signal) = ended? {
        terminal::die_of(signal);
    }
    Ok(())
}

/// What there is while the interface runs.
struct UserSession {
    options: TuiOptions,
    app: App,
    workers: Workers,
    input: InputReader,
    to: Sender<Msg>,
    from: Receiver<Msg>,
    recorder: Recorder,
    /// Whether everything has to be drawn again
    is_spoiled: bool,
}

impl UserSession {
    fn new(
        options: TuiOptions,
        workers: Workers,
        (to, from): (Sender<Msg>, Receiver<Msg>),
        recorder: Recorder,
        size: (u16, u16),
    ) -> Self {
        let memory = ViewMemory::read(options.memory_file.as_deref());
        let remembered = memory.theme.as_deref().and_then(|name| Theme::named(name).ok());
        let app_options = AppOptions {
            project: options.project.clone(),
            theme: options.theme.or(remembered).unwrap_or(Theme::Dark),
            keys: options.keys.clone(),
            is_ascii: options.is_ascii,
            board_labels: options.board_labels.clone(),
            is_remote: options.is_remote,
            shows_guide: !remembered::has_read_guide(options.guide_file.as_deref()),
            run_commands: options.run_commands.clone(),
        };
        let mut app = App::new(app_options, size, Instant::now(), now());
        app.restore(&memory);
        let input = InputReader::start(to.clone());
        Self { options, app, workers, input, to, from, recorder, is_spoiled: false }
    }

    /// Returns the signal that ended it, if one did.
    fn run(&mut self) -> Result<Option<i32>> {
        let failed = |e: std::io::Error| Error::internal(format!("cannot draw: {e}"));
        let backend = CrosstermBackend::new(RecordedOutput::new(self.recorder.clone()));
        let mut screen = Terminal::new(backend).map_err(failed)?;
        let mut panics = std::env::var_os("PN_TUI_PANIC").is_some_and(|value| value == "1");
        let mut effects = self.app.update(Msg::Connected(Ok(())), Instant::now(), now());
        loop {
            for effect in effects.drain(..) {
                if matches!(effect, Effect::Quit) {
                    return Ok(None);
                }
                self.perform(effect)?;
            }
            if std::mem::take(&mut self.is_spoiled) {
                screen.clear().map_err(failed)?;
            }
            let at = Instant::now();
            let frame = screen.draw(|frame| window::draw(&self.app, frame, at, now())).map_err(failed)?;
            if self.recorder.wants_frames() {
                self.recorder.frame(frame.buffer);
            }
            assert!(!std::mem::take(&mut panics), "PN_TUI_PANIC is set");
            let wait = self.app.deadline().saturating_duration_since(Instant::now());
            let mut next = match self.from.recv_timeout(wait) {
                Ok(msg) => Some(msg),
                Err(RecvTimeoutError::Timeout) => Some(Msg::Tick),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            };
            // Whatever has come meanwhile is drawn at once.
            while let Some(msg) = next.take() {
                match msg {
                    Msg::Signal(SIGTSTP) => effects.push(Effect::Suspend),
                    Msg::Signal(signal) => return Ok(Some(signal)),
                    msg => effects.extend(self.app.update(msg, Instant::now(), now())),
                }
                next = self.from.try_recv().ok().filter(|_| effects.len() < 64);
            }
        }
    }

    fn perform(&mut self, effect: Effect) -> Result<()> {
        match effect {
            Effect::Ask(query) => self.workers.ask(query),
            Effect::Change(ticket, changes) => self.workers.change(ticket, changes),
            Effect::Copy(text) => terminal::copy(&text),
            Effect::Redraw => self.is_spoiled = true,
            Effect::GuideRead => remembered::note_guide_read(self.options.guide_file.as_deref()),
            Effect::Suspend => self.without_terminal(|| {
                terminal::die_of(SIGTSTP);
                Ok(())
            })?,
            Effect::Editor(id, text) => {
                let edited = self.without_terminal(|| Ok(edit(&text)))?;
                match edited {
                    Ok(Some(new)) => {
                        for effect in self.app.edited(&id, new) {
                            self.perform(effect)?;
                        }
                    }
                    Ok(None) => drop(self.to.send(Msg::Said(Ok("nothing was changed".to_owned())))),
                    Err(error) => drop(self.to.send(Msg::Said(Err(error)))),
                }
            }
            Effect::Run(issues, command) => {
                let (run, to) = (self.options.run.clone(), self.to.clone());
                thread::spawn(move || {
                    for id in issues {
                        let _ = to.send(Msg::Said(run(&id, &command)));
                    }
                });
            }
            Effect::Quit => {}
        }
        Ok(())
    }

    /// Gives the terminal to another program for a while.
    fn without_terminal<T>(&mut self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        self.is_spoiled = true;
        self.input.paused(|| {
            terminal::give_back();
            let result = act();
            terminal::take_over()?;
            result
        })
    }
}

/// Lets the user edit a text. `None` if it was left as it was.
fn edit(text: &str) -> Result<Option<String>> {
    let failed = |e: std::io::Error| Error::internal(format!("cannot edit the description: {e}"));
    let file = tempfile::Builder::new().prefix("pn-").suffix(".md").tempfile().map_err(failed)?;
    std::fs::write(file.path(), text).map_err(failed)?;
    let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let words = shlex::split(&editor).unwrap_or_default();
    let Some((program, args)) = words.split_first() else {
        return Err(Error::invalid(format!("{editor:?} is no command")).hint("set EDITOR"));
    };
    let status = Command::new(program).args(args).arg(file.path()).status();
    let status = status.map_err(|e| Error::invalid(format!("cannot start {program}: {e}")).hint("set EDITOR"))?;
    if !status.success() {
        return Err(Error::invalid(format!("{program} ended with {status}; the description is as it was")));
    }
    let new = std::fs::read_to_string(file.path()).map_err(failed)?;
    let new = new.trim_end_matches('\n').to_owned();
    Ok((new != text.trim_end_matches('\n')).then_some(new))
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(millis).unwrap_or_else(|_| epoch())
}

/// A clock that is out of range shows ages of nothing.
fn epoch() -> Timestamp {
    match Timestamp::from_millis(0) {
        Ok(epoch) => epoch,
        Err(_) => unreachable!("the epoch is a time"),
    }
}
