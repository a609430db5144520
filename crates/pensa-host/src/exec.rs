//! A command that runs under our eyes: its output passes through and is kept, signals reach it, its end is told as it
//! was.

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio, exit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use pensa_core::job::Collected;
use pensa_core::run::Process;
use pensa_redact::{Redactor, Stream};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::emulate_default_handler;
use signal_hook::low_level::siginfo::Cause;

use super::terminal::{self, Size, Terminal};

/// Bytes of output that are moved at once.
const CHUNK: usize = 64 << 10;
/// How long a pipe may be silent after its command has ended: somebody else may hold it open for ever.
const SILENCE: Duration = Duration::from_millis(100);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exit(i32),
    Signal(i32),
}

impl Ended {
    pub fn is_success(self) -> bool {
        self == Ended::Exit(0)
    }

    fn of(status: ExitStatus) -> Self {
        status.signal().map_or_else(|| Ended::Exit(status.code().unwrap_or(1)), Ended::Signal)
    }

    /// Ends this process in the same way.
    pub fn repeat(self) -> ! {
        let _ = io::stdout().flush();
        match self {
            Ended::Exit(code) => exit(code),
            Ended::Signal(signal) => {
                let _ = emulate_default_handler(signal);
                exit(128 + signal)
            }
        }
    }
}

/// Where a command's output is kept, besides being passed on.
pub trait Keep: Send + Sync + 'static {
    fn keep(&self, bytes: &[u8]) -> io::Result<()>;
}

/// What is kept of output, without the secrets in it. What passes to a terminal is not touched.
struct Redacted {
    log: Arc<dyn Keep>,
    /// Of standard output and standard error, whose lines must not be mixed up; none if secrets are kept.
    streams: [Mutex<Option<Stream>>; 2],
}

impl Redacted {
    fn new(log: Arc<dyn Keep>, redactor: Option<Redactor>) -> Self {
        let other = redactor.as_ref().map(Redactor::another);
        let stream = |redactor: Option<Redactor>| Mutex::new(redactor.map(Stream::new));
        Self { log, streams: [stream(redactor), stream(other)] }
    }

    fn keep(&self, source: usize, bytes: &[u8]) -> io::Result<()> {
        match self.streams[source].lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(stream) => self.log.keep(&stream.push(bytes)),
            None => self.log.keep(bytes),
        }
    }

    /// Keeps what was held back of a line that has no end.
    fn finish(&self, source: usize) -> io::Result<()> {
        match self.streams[source].lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(stream) => self.log.keep(&stream.finish()),
            None => Ok(()),
        }
    }
}

impl Keep for File {
    fn keep(&self, bytes: &[u8]) -> io::Result<()> {
        { self }.write_all(bytes)
    }
}

impl Keep for Mutex<Collected> {
    fn keep(&self, bytes: &[u8]) -> io::Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        Ok(())
    }
}

/// What a command has to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A terminal, if we have one that it may have
    Terminal,
    /// Nothing, as one of several
    Shared,
    /// A process group, which is ended as a whole. Nobody types for it.
    Group,
}

/// A command that runs.
pub struct Job {
    pub process: Process,
    leash: Leash,
    terminal: Option<Terminal>,
    readers: mpsc::Receiver<()>,
    traffic: Arc<Traffic>,
    log: Arc<Redacted>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Job({:?})", self.process)
    }
}

/// What passes from a command to us.
#[derive(Debug, Default)]
struct Traffic {
    /// How often something came.
    moved: AtomicU64,
    /// How many pipes have something that whoever reads our output has yet to take.
    held_up: AtomicU64,
}

impl Job {
    /// Starts a command whose output goes to ours and, without what `redactor` takes out, to `log`.
    pub fn start(
        command: &mut Command,
        log: Arc<dyn Keep>,
        redactor: Option<Redactor>,
        place: Place,
    ) -> io::Result<Self> {
        let log = Arc::new(Redacted::new(log, redactor));
        let (terminal, mut child) = if place == Place::Terminal && terminal::is_ours() {
            let (terminal, child) = Terminal::start(command)?;
            (Some(terminal), child)
        } else {
            command.stdin(Stdio::inherit());
            if place == Place::Group {
                command.process_group(0);
                // Whoever reads from a terminal in a group of its own is stopped.
                if io::stdin().is_terminal() {
                    command.stdin(Stdio::null());
                }
            }
            (None, command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
        };
        let (traffic, (done, readers)) = (Arc::new(Traffic::default()), mpsc::channel());
        if let Err(e) = listen(&mut child, terminal.as_ref(), &log, &traffic, done) {
            let _ = child.kill().and_then(|()| child.wait());
            return Err(e);
        }
        let process = super::process(child.id());
        let size = terminal.as_ref().map(Terminal::size);
        let leash = Leash { child: Arc::new(Mutex::new(Some(child))), size, is_group: place == Place::Group };
        Ok(Self { process, leash, terminal, readers, traffic, log })
    }

    pub fn leash(&self) -> Leash {
        self.leash.clone()
    }

    /// Waits until it has ended and what it wrote has been passed on.
    pub fn wait(mut self) -> io::Result<Ended> {
        let pid = i32::try_from(self.process.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It stays until its end is asked for below, so that its number is nobody else's.
            while waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                .is_err_and(|e| e == rustix::io::Errno::INTR)
            {}
        }
        let child = self.leash.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        let status =
            child.map_or_else(|| Err(io::Error::other("the command was waited for twice")), |mut it| it.wait());
        self.terminal.as_mut().map(Terminal::stop_typing);
        self.drain();
        // Somebody may hold a pipe open for ever.
        let _ = self.log.finish(0).and_then(|()| self.log.finish(1));
        status.map(Ended::of)
    }

    fn drain(&self) {
        let moved = || self.traffic.moved.load(Ordering::Acquire);
        loop {
            let before = moved();
            match self.readers.recv_timeout(SILENCE) {
                Ok(()) => {}
                // All of them have come to their end.
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    // A reader that takes its time is no silence.
                    if self.traffic.held_up.load(Ordering::Acquire) == 0 && moved() == before {
                        return;
                    }
                }
            }
        }
    }
}

/// What reaches a command as long as it runs.
#[derive(Debug, Clone)]
pub struct Leash {
    child: Arc<Mutex<Option<Child>>>,
    size: Option<Size>,
    is_group: bool,
}

impl Leash {
    pub fn send(&self, signal: Signal) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let pid = child.as_ref().and_then(|child| Pid::from_raw(i32::try_from(child.id()).ok()?));
        if let Some(pid) = pid {
            let _ = if self.is_group { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        }
    }
}

/// Signals that reach us and that are meant for commands. They wait until somebody takes them.
#[derive(Debug)]
pub struct Signals(SignalsInfo<WithOrigin>);

impl Signals {
    /// Catches them from now on: before a command starts, so that none ends us and leaves the command behind.
    pub fn caught() -> io::Result<Self> {
        SignalsInfo::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH]).map(Self)
    }

    /// Those that came since the last look.
    pub fn pending(&mut self) -> Vec<Signal> {
        self.0.pending().filter_map(|origin| Signal::from_named_raw(origin.signal)).collect()
    }

    /// Hands over each that comes, on a thread of its own.
    pub fn each(mut self, mut each: impl FnMut(Signal) + Send + 'static) -> io::Result<()> {
        let passing = thread::Builder::new().spawn(move || {
            for origin in &mut self.0 {
                Signal::from_named_raw(origin.signal).into_iter().for_each(&mut each);
            }
        });
        passing.map(drop)
    }

    /// Has them reach these commands. Keys of a terminal reach all of its programs anyway.
    pub fn pass_to(mut self, commands: Vec<Leash>) -> io::Result<()> {
        let passing = thread::Builder::new().spawn(move || {
            for origin in &mut self.0 {
                if origin.signal == SIGWINCH {
                    // Whoever shares our terminal has been told by it.
                    commands.iter().filter_map(|leash| leash.size.as_ref()).for_each(Size::follow);
                    continue;
                }
                let is_key = matches!(origin.signal, SIGINT | SIGQUIT) && origin.cause == Cause::Kernel;
                if !is_key && let Some(signal) = Signal::from_named_raw(origin.signal) {
                    commands.iter().for_each(|leash| leash.send(signal));
                }
            }
        });
        passing.map(drop)
    }
}

/// Passes on all that a command writes, each stream on a thread of its own.
fn listen(
    child: &mut Child,
    terminal: Option<&Terminal>,
    log: &Arc<Redacted>,
    traffic: &Arc<Traffic>,
    done: mpsc::Sender<()>,
) -> io::Result<()> {
    let out = terminal.map(Terminal::output).transpose()?;
    let out = out.or_else(|| child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe))));
    if let Some(pipe) = out {
        let (log, traffic, done) = (log.clone(), traffic.clone(), done.clone());
        thread::Builder::new().spawn(move || pass(pipe, io::stdout(), (&log, 0), &traffic, &done))?;
    }
    if let Some(pipe) = child.stderr.take() {
        let (log, traffic) = (log.clone(), traffic.clone());
        thread::Builder::new().spawn(move || pass(pipe, io::stderr(), (&log, 1), &traffic, &done))?;
    }
    Ok(())
}

/// Moves bytes from a pipe to where they would have gone, and into the log.
fn pass(
    mut from: impl Read,
    mut to: impl Write,
    (log, source): (&Redacted, usize),
    traffic: &Traffic,
    done: &mpsc::Sender<()>,
) {
    let mut buffer = vec![0; CHUNK];
    let mut keeps_log = true;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        traffic.held_up.fetch_add(1, Ordering::AcqRel);
        traffic.moved.fetch_add(1, Ordering::AcqRel);
        if keeps_log && let Err(e) = log.keep(source, &buffer[..count]) {
            keeps_log = false;
            let _ = writeln!(io::stderr(), "pensa: the output is no longer kept: {e}");
        }
        // Nobody reads it any more: the command is to feel that as it would without us.
        let written = to.write_all(&buffer[..count]).and_then(|()| to.flush());
        traffic.held_up.fetch_sub(1, Ordering::AcqRel);
        if written.is_err() {
            break;
        }
    }
    drop(from);
    let _ = log.finish(source);
    let _ = done.send(());
}
