//! The terminal: taken over while the interface runs, and given back on every way out: quit, signal and panic.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pensa_core::{Error, Result};
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use crate::app::Msg;
use crate::record::Recorder;

/// How long the input thread waits for keys at a time, so that it can be paused.
const INPUT_POLL: Duration = Duration::from_millis(100);

/// Whether the terminal is taken over.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The modes of a terminal that was taken over without keys.
static MODES: Mutex<Option<Termios>> = Mutex::new(None);
/// Standard error as it was. Meanwhile what is written there becomes notes, because it would spoil the screen.
static STDERR: Mutex<Option<OwnedFd>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(e: impl std::fmt::Display) -> Error {
    Error::internal(format!("cannot use the terminal: {e}"))
}

/// Takes the terminal over.
pub(crate) fn take_over() -> Result<()> {
    enable_raw_mode().map_err(failed)?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, cursor::Hide).map_err(failed)
}

/// Takes only the screen over. Keys do nothing but send signals, such as Ctrl-C; they are not echoed.
pub(crate) fn take_over_without_keys() -> Result<()> {
    // Standard input may be something else.
    if let Ok(mut modes) = tcgetattr(rustix::stdio::stdin()) {
        *lock(&MODES) = Some(modes.clone());
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &modes).map_err(failed)?;
    }
    TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, cursor::Hide).map_err(failed)
}

/// Gives the terminal back. A terminal that is gone cannot fail any more.
pub(crate) fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let Some(modes) = lock(&MODES).take() else {
        let _ = execute!(io::stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
        return;
    };
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
    // What was typed meanwhile is not for the shell.
    let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &modes);
}

/// Makes lines on standard error notes.
pub(crate) fn redirect_errors(to: Sender<Msg>) -> Result<()> {
    let kept = rustix::io::dup(rustix::stdio::stderr()).map_err(failed)?;
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(failed)?;
    rustix::stdio::dup2_stderr(&writer).map_err(failed)?;
    *lock(&STDERR) = Some(kept);
    thread::spawn(move || {
        let lines = BufReader::new(File::from(reader)).lines().map_while(io::Result::ok);
        for line in lines.filter(|line| !line.trim().is_empty()) {
            if to.send(Msg::Said(Ok(line))).is_err() {
                return;
            }
        }
    });
    Ok(())
}

pub(crate) fn restore_errors() {
    if let Some(kept) = lock(&STDERR).take() {
        let _ = rustix::stdio::dup2_stderr(kept);
    }
}

/// Has a panic of the main thread give the terminal back before it is reported.
pub(crate) fn install_panic_hook(recorder: Recorder) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().name() == Some("main") {
            give_back();
            restore_errors();
            recorder.finish();
        }
        usual(panic);
    }));
}

/// Sends signals as messages, so that they are handled between two frames.
pub(crate) fn watch_signals(to: Sender<Msg>) -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGTSTP]).map_err(failed)?;
    thread::spawn(move || signals.forever().try_for_each(|signal| to.send(Msg::Signal(signal))));
    Ok(())
}

/// Dies of a signal, as a program does that does not handle it.
pub(crate) fn die_of(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// The thread that reads keys, which can be paused while another program has the terminal.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputReader {
    state: Arc<(Mutex<InputState>, Condvar)>,
}

#[derive(Debug, Default)]
struct InputState {
    is_wanted: bool,
    is_paused: bool,
}

impl InputReader {
    pub(crate) fn start(to: Sender<Msg>) -> Self {
        let reader = Self::default();
        let here = reader.clone();
        thread::spawn(move || {
            loop {
                here.wait_while_paused();
                let read = event::poll(INPUT_POLL).and_then(|is_there| is_there.then(event::read).transpose());
                let is_over = match read {
                    Ok(Some(event)) => to.send(Msg::Input(event)).is_err(),
                    Ok(None) => false,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => false,
                    Err(_) => {
                        let _ = to.send(Msg::InputEnded);
                        true
                    }
                };
                if is_over {
                    return;
                }
            }
        });
        reader
    }

    fn wait_while_paused(&self) {
        let (state, changed) = &*self.state;
        let mut state = lock(state);
        while state.is_wanted {
            state.is_paused = true;
            changed.notify_all();
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_paused = false;
    }

    /// Runs something while keys are not read.
    pub(crate) fn paused<T>(&self, act: impl FnOnce() -> T) -> T {
        let (state, changed) = &*self.state;
        let mut held = lock(state);
        held.is_wanted = true;
        // The thread ends when the terminal is gone; then nobody answers.
        let limit = INPUT_POLL * 5;
        let waited = changed.wait_timeout_while(held, limit, |state| !state.is_paused);
        drop(waited);
        let result = act();
        lock(state).is_wanted = false;
        changed.notify_all();
        result
    }
}

/// Sends a text to the clipboard of the terminal, which works through ssh as well.
pub(crate) fn copy(text: &str) {
    let _ = execute!(io::stdout(), crossterm::clipboard::CopyToClipboard::to_clipboard_from(text));
    let _ = io::stdout().flush();
}
