//! Runs a command on a pseudo-terminal: forwards input and output, and keeps its size equal to our terminal's.

use std::fs::File;
use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{getpgrp, ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr, tcsetwinsize};

/// Size of the buffer that forwards input.
const BUFFER_BYTES: usize = 4 << 10;

/// Whether standard input and output are a terminal and this process is in its foreground group. In the background, the
/// first access would stop this process.
pub(crate) fn is_foreground() -> bool {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    stdin.is_terminal() && stdout.is_terminal() && tcgetpgrp(&stdin).map_or(true, |group| group == getpgrp())
}

/// The master side of a command's pseudo-terminal.
#[derive(Debug)]
pub(crate) struct CommandTerminal {
    master: Arc<OwnedFd>,
    /// Dropping this stops forwarding input.
    input: Option<PipeWriter>,
    _raw_mode: RawMode,
}

impl CommandTerminal {
    /// Starts a command on a new pseudo-terminal with the modes and size of our terminal. If our standard error is not
    /// a terminal, the command's is a pipe.
    pub(crate) fn start(command: &Command) -> io::Result<(Self, Child)> {
        let before = tcgetattr(io::stdin())?;
        let (master, slave) = open_pty(&before)?;
        let ((mut reader, report), (stop, input)) = (io::pipe()?, io::pipe()?);
        let mut child = {
            let mut inner = reexec(command)?;
            inner.stdin(report).stdout(slave.try_clone()?);
            inner.stderr(if io::stderr().is_terminal() { Stdio::from(slave) } else { Stdio::piped() });
            inner.spawn()?
        };
        let mut failure = String::new();
        reader.read_to_string(&mut failure)?;
        if let Ok(errno) = failure.parse() {
            child.wait()?;
            return Err(io::Error::from_raw_os_error(errno));
        }
        // An error from here on closes the master, and the hangup ends the command.
        let master = Arc::new(master);
        let raw_mode = RawMode::set(before)?;
        let keys = master.clone();
        thread::Builder::new().spawn(move || forward_input(&keys, &stop))?;
        Ok((Self { master, input: Some(input), _raw_mode: raw_mode }, child))
    }

    /// The command's output. Reading fails with an I/O error once no process has the terminal open.
    pub(crate) fn output(&self) -> io::Result<File> {
        Ok(File::from(self.master.try_clone()?))
    }

    pub(crate) fn size(&self) -> TerminalSize {
        TerminalSize(self.master.clone())
    }

    /// Stops forwarding input, so that the next program gets what is typed.
    pub(crate) fn stop_input(&mut self) {
        drop(self.input.take());
    }
}

/// Sets the size of a command's terminal to that of ours.
#[derive(Debug, Clone)]
pub(crate) struct TerminalSize(Arc<OwnedFd>);

impl TerminalSize {
    pub(crate) fn update(&self) {
        if let Ok(size) = tcgetwinsize(io::stdin()) {
            let _ = tcsetwinsize(&self.0, size);
        }
    }
}

/// Our terminal in raw mode. Dropping this restores the previous modes.
#[derive(Debug)]
struct RawMode {
    before: Termios,
}

impl RawMode {
    fn set(before: Termios) -> io::Result<Self> {
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Opens a pseudo-terminal with these modes and the size of ours.
fn open_pty(modes: &Termios) -> io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(ptsname(&master, Vec::new())?, flags, Mode::empty())?;
    tcsetattr(&slave, OptionalActions::Now, modes)?;
    if let Ok(size) = tcgetwinsize(io::stdin()) {
        tcsetwinsize(&slave, size)?;
    }
    Ok((master, slave))
}

/// A command line that starts this program again, to run [`enter`]: only the new process itself can make the terminal
/// its controlling terminal.
fn reexec(command: &Command) -> io::Result<Command> {
    let running = Path::new("/proc/self/exe");
    // The path of this program may be gone or may have been replaced by now.
    let program = if running.exists() { running.to_owned() } else { std::env::current_exe()? };
    let mut inner = Command::new(program);
    inner.arg0("pn").args(["run", "terminal", "--"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => inner.env(name, value),
            None => inner.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        inner.current_dir(dir);
    }
    Ok(inner)
}

/// Runs in the child of [`CommandTerminal::start`]: takes the controlling terminal and execs the command. Returns only
/// on failure, after writing the error number to standard input, which is a pipe to the parent.
pub fn enter(command: &mut Command) -> io::Error {
    let report = io::stdin().as_fd().try_clone_to_owned();
    let failure = exec_on_terminal(command);
    if let Ok(report) = report {
        let errno = failure.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error());
        let _ = write!(File::from(report), "{errno}");
    }
    failure
}

fn exec_on_terminal(command: &mut Command) -> io::Error {
    let terminal = setsid().and_then(|_| ioctl_tiocsctty(io::stdout()));
    match terminal.map_err(io::Error::from).and_then(|()| io::stdout().as_fd().try_clone_to_owned()) {
        Ok(terminal) => command.stdin(terminal).exec(),
        Err(error) => error,
    }
}

/// Forwards standard input to the terminal until `stop` is closed.
fn forward_input(master: &OwnedFd, stop: &PipeReader) {
    let stdin = io::stdin();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let mut waiting = [PollFd::new(stop, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut waiting, None) {
            Err(Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        if !waiting[0].revents().is_empty() {
            return;
        }
        let typed = match rustix::io::read(&stdin, &mut buffer) {
            Ok(0) => return,
            Ok(count) => &buffer[..count],
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(_) => return,
        };
        let mut left = typed;
        while !left.is_empty() {
            match rustix::io::write(master, left) {
                Ok(count) => left = &left[count..],
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}
