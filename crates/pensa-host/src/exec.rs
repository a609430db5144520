//! Runs a command: forwards its output and signals, logs the output, and reports how the command ended.

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

use pensa_core::job::CapturedOutput;
use pensa_core::run::Process;
use pensa_redact::{RedactingStream, Redactor};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::emulate_default_handler;
use signal_hook::low_level::siginfo::Cause;

use super::terminal::{self, CommandTerminal, TerminalSize};

/// Size of the buffer that forwards output.
const BUFFER_BYTES: usize = 64 << 10;
/// How long a pipe may be silent after its command has exited: a background process may hold the pipe open forever.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandExit {
    Exit(i32),
    Signal(i32),
}

impl CommandExit {
    pub fn is_success(self) -> bool {
        self == CommandExit::Exit(0)
    }

    fn of(status: ExitStatus) -> Self {
        status.signal().map_or_else(|| CommandExit::Exit(status.code().unwrap_or(1)), CommandExit::Signal)
    }

    /// Exits this process with the same exit code or signal.
    pub fn exit_same_way(self) -> ! {
        let _ = io::stdout().flush();
        match self {
            CommandExit::Exit(code) => exit(code),
            CommandExit::Signal(signal) => {
                let _ = emulate_default_handler(signal);
                exit(128 + signal)
            }
        }
    }
}

/// Stores a command's output, in addition to it being forwarded.
pub trait OutputSink: Send + Sync + 'static {
    fn append(&self, bytes: &[u8]) -> io::Result<()>;
}

/// Removes secrets from output before it is stored. Forwarded output stays as it is.
struct RedactedLog {
    log: Arc<dyn OutputSink>,
    /// One redactor each for standard output and standard error, so that their lines do not mix; `None` if redaction is
    /// off.
    streams: [Mutex<Option<RedactingStream>>; 2],
}

impl RedactedLog {
    fn new(log: Arc<dyn OutputSink>, redactor: Option<Redactor>) -> Self {
        let other = redactor.as_ref().map(Redactor::another);
        let stream = |redactor: Option<Redactor>| Mutex::new(redactor.map(RedactingStream::new));
        Self { log, streams: [stream(redactor), stream(other)] }
    }

    fn append(&self, source: usize, bytes: &[u8]) -> io::Result<()> {
        match self.streams[source].lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(stream) => self.log.append(&stream.push(bytes)),
            None => self.log.append(bytes),
        }
    }

    /// Stores the last line if it has no newline.
    fn finish(&self, source: usize) -> io::Result<()> {
        match self.streams[source].lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(stream) => self.log.append(&stream.finish()),
            None => Ok(()),
        }
    }
}

impl OutputSink for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        { self }.write_all(bytes)
    }
}

impl OutputSink for Mutex<CapturedOutput> {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        Ok(())
    }
}

/// What a command gets as its terminal and process group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdioMode {
    /// A pseudo-terminal of its own, if this process runs in the foreground of a terminal; else like `Shared`
    Terminal,
    /// Our standard input and process group, like other commands running at the same time
    Shared,
    /// A process group of its own, which can be terminated as a whole, and no input from a terminal
    Group,
}

/// A running command.
pub struct RunningCommand {
    pub process: Process,
    handle: ProcessHandle,
    terminal: Option<CommandTerminal>,
    readers: mpsc::Receiver<()>,
    activity: Arc<OutputActivity>,
    log: Arc<RedactedLog>,
}

impl fmt::Debug for RunningCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunningCommand({:?})", self.process)
    }
}

/// Counts forwarded output, to tell a slow reader from a silent pipe.
#[derive(Debug, Default)]
struct OutputActivity {
    /// How many chunks have been read.
    chunks: AtomicU64,
    /// How many forwarders are waiting for the reader of our output.
    blocked: AtomicU64,
}

impl RunningCommand {
    /// Starts a command. Its output goes to our output and, redacted, to `log`.
    pub fn start(
        command: &mut Command,
        log: Arc<dyn OutputSink>,
        redactor: Option<Redactor>,
        mode: StdioMode,
    ) -> io::Result<Self> {
        let log = Arc::new(RedactedLog::new(log, redactor));
        let (terminal, mut child) = if mode == StdioMode::Terminal && terminal::is_foreground() {
            let (terminal, child) = CommandTerminal::start(command)?;
            (Some(terminal), child)
        } else {
            command.stdin(Stdio::inherit());
            if mode == StdioMode::Group {
                command.process_group(0);
                // A background process group that reads from a terminal is stopped by SIGTTIN.
                if io::stdin().is_terminal() {
                    command.stdin(Stdio::null());
                }
            }
            (None, command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
        };
        let (activity, (done, readers)) = (Arc::new(OutputActivity::default()), mpsc::channel());
        if let Err(e) = start_forwarders(&mut child, terminal.as_ref(), &log, &activity, done) {
            let _ = child.kill().and_then(|()| child.wait());
            return Err(e);
        }
        let process = super::process(child.id());
        let size = terminal.as_ref().map(CommandTerminal::size);
        let handle =
            ProcessHandle { child: Arc::new(Mutex::new(Some(child))), size, is_group: mode == StdioMode::Group };
        Ok(Self { process, handle, terminal, readers, activity, log })
    }

    pub fn handle(&self) -> ProcessHandle {
        self.handle.clone()
    }

    /// Waits until the command has exited and its output has been forwarded.
    pub fn wait(mut self) -> io::Result<CommandExit> {
        let pid = i32::try_from(self.process.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // Waits without reaping it, so that its process id is not reused while signals may still be sent.
            while waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                .is_err_and(|e| e == rustix::io::Errno::INTR)
            {}
        }
        let child = self.handle.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        let status =
            child.map_or_else(|| Err(io::Error::other("the command was waited for twice")), |mut it| it.wait());
        self.terminal.as_mut().map(CommandTerminal::stop_input);
        self.drain();
        // The forwarders may still be reading from a pipe that a background process holds open.
        let _ = self.log.finish(0).and_then(|()| self.log.finish(1));
        status.map(CommandExit::of)
    }

    fn drain(&self) {
        let chunks = || self.activity.chunks.load(Ordering::Acquire);
        loop {
            let before = chunks();
            match self.readers.recv_timeout(DRAIN_TIMEOUT) {
                Ok(()) => {}
                // All forwarders are done.
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    // If a forwarder waits for a slow reader of our output, the pipe is not silent.
                    if self.activity.blocked.load(Ordering::Acquire) == 0 && chunks() == before {
                        return;
                    }
                }
            }
        }
    }
}

/// Sends signals to a command as long as it runs.
#[derive(Debug, Clone)]
pub struct ProcessHandle {
    child: Arc<Mutex<Option<Child>>>,
    size: Option<TerminalSize>,
    is_group: bool,
}

impl ProcessHandle {
    pub fn send(&self, signal: Signal) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let pid = child.as_ref().and_then(|child| Pid::from_raw(i32::try_from(child.id()).ok()?));
        if let Some(pid) = pid {
            let _ = if self.is_group { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        }
    }
}

/// Receives the signals sent to this process, which are meant for its commands. Signals queue up until they are read.
#[derive(Debug)]
pub struct SignalReceiver(SignalsInfo<WithOrigin>);

impl SignalReceiver {
    /// Starts catching signals. Call this before starting a command: a signal in between would end this process and
    /// leave the command running.
    pub fn catch() -> io::Result<Self> {
        SignalsInfo::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH]).map(Self)
    }

    /// The signals received since the last call.
    pub fn pending(&mut self) -> Vec<Signal> {
        self.0.pending().filter_map(|origin| Signal::from_named_raw(origin.signal)).collect()
    }

    /// Calls `handle` for each signal, on a new thread.
    pub fn for_each(mut self, mut handle: impl FnMut(Signal) + Send + 'static) -> io::Result<()> {
        let spawned = thread::Builder::new().spawn(move || {
            for origin in &mut self.0 {
                Signal::from_named_raw(origin.signal).into_iter().for_each(&mut handle);
            }
        });
        spawned.map(drop)
    }

    /// Forwards signals to these commands, on a new thread. Ctrl-C and Ctrl-\ are not forwarded: the terminal sends
    /// them to the whole foreground process group.
    pub fn forward_to(mut self, commands: Vec<ProcessHandle>) -> io::Result<()> {
        let spawned = thread::Builder::new().spawn(move || {
            for origin in &mut self.0 {
                if origin.signal == SIGWINCH {
                    // Commands that share our terminal got this signal from it.
                    commands.iter().filter_map(|handle| handle.size.as_ref()).for_each(TerminalSize::update);
                    continue;
                }
                let is_key = matches!(origin.signal, SIGINT | SIGQUIT) && origin.cause == Cause::Kernel;
                if !is_key && let Some(signal) = Signal::from_named_raw(origin.signal) {
                    commands.iter().for_each(|handle| handle.send(signal));
                }
            }
        });
        spawned.map(drop)
    }
}

/// Starts a thread for each output stream of a command that forwards and logs it.
fn start_forwarders(
    child: &mut Child,
    terminal: Option<&CommandTerminal>,
    log: &Arc<RedactedLog>,
    activity: &Arc<OutputActivity>,
    done: mpsc::Sender<()>,
) -> io::Result<()> {
    let out = terminal.map(CommandTerminal::output).transpose()?;
    let out = out.or_else(|| child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe))));
    if let Some(pipe) = out {
        let (log, activity, done) = (log.clone(), activity.clone(), done.clone());
        thread::Builder::new().spawn(move || forward(pipe, io::stdout(), (&log, 0), &activity, &done))?;
    }
    if let Some(pipe) = child.stderr.take() {
        let (log, activity) = (log.clone(), activity.clone());
        thread::Builder::new().spawn(move || forward(pipe, io::stderr(), (&log, 1), &activity, &done))?;
    }
    Ok(())
}

/// Copies a pipe to our output stream and to the log until the pipe ends.
fn forward(
    mut from: impl Read,
    mut to: impl Write,
    (log, source): (&RedactedLog, usize),
    activity: &OutputActivity,
    done: &mpsc::Sender<()>,
) {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut is_logging = true;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        activity.blocked.fetch_add(1, Ordering::AcqRel);
        activity.chunks.fetch_add(1, Ordering::AcqRel);
        if is_logging && let Err(e) = log.append(source, &buffer[..count]) {
            is_logging = false;
            let _ = writeln!(io::stderr(), "pensa: the output is no longer kept: {e}");
        }
        // If nobody reads our output any more, close the pipe, so that the command gets SIGPIPE as it would without us.
        let written = to.write_all(&buffer[..count]).and_then(|()| to.flush());
        activity.blocked.fetch_sub(1, Ordering::AcqRel);
        if written.is_err() {
            break;
        }
    }
    drop(from);
    let _ = log.finish(source);
    let _ = done.send(());
}
