//! A terminal of a command's own, behind ours: keys pass in, output passes out, and its size follows. Who waits for the
//! command is left to the caller.

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

/// Bytes of typing that are moved at once.
const CHUNK: usize = 4 << 10;

/// Whether standard input and output are a terminal that this process may use as it likes: in the background, the first
/// touch would stop it.
pub(crate) fn is_ours() -> bool {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    stdin.is_terminal() && stdout.is_terminal() && tcgetpgrp(&stdin).map_or(true, |group| group == getpgrp())
}

/// Our end of a command's terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    master: Arc<OwnedFd>,
    /// Nothing is typed any more once this is dropped.
    typing: Option<PipeWriter>,
    _ours: Raw,
}

impl Terminal {
    /// Starts a command on a terminal that is like ours. Its standard error is left on a pipe if ours is no terminal.
    pub(crate) fn start(command: &Command) -> io::Result<(Self, Child)> {
        let before = tcgetattr(io::stdin())?;
        let (master, slave) = pair(&before)?;
        let ((mut told, report), (stop, typing)) = (io::pipe()?, io::pipe()?);
        let mut child = {
            let mut inner = entering(command)?;
            inner.stdin(report).stdout(slave.try_clone()?);
            inner.stderr(if io::stderr().is_terminal() { Stdio::from(slave) } else { Stdio::piped() });
            inner.spawn()?
        };
        let mut failure = String::new();
        told.read_to_string(&mut failure)?;
        if let Ok(errno) = failure.parse() {
            child.wait()?;
            return Err(io::Error::from_raw_os_error(errno));
        }
        // What fails from here on closes the terminal, which ends the command.
        let master = Arc::new(master);
        let ours = Raw::set(before)?;
        let keys = master.clone();
        thread::Builder::new().spawn(move || type_into(&keys, &stop))?;
        Ok((Self { master, typing: Some(typing), _ours: ours }, child))
    }

    /// What the command writes. It ends with an error when nobody has the terminal any more.
    pub(crate) fn output(&self) -> io::Result<File> {
        Ok(File::from(self.master.try_clone()?))
    }

    pub(crate) fn size(&self) -> Size {
        Size(self.master.clone())
    }

    /// What is typed from now on is for whoever comes next.
    pub(crate) fn stop_typing(&mut self) {
        drop(self.typing.take());
    }
}

/// What has the size of a command's terminal follow ours.
#[derive(Debug, Clone)]
pub(crate) struct Size(Arc<OwnedFd>);

impl Size {
    pub(crate) fn follow(&self) {
        if let Ok(size) = tcgetwinsize(io::stdin()) {
            let _ = tcsetwinsize(&self.0, size);
        }
    }
}

/// Our terminal while it passes on everything untouched. Put back as it was, whatever ends this.
#[derive(Debug)]
struct Raw {
    before: Termios,
}

impl Raw {
    fn set(before: Termios) -> io::Result<Self> {
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// A new terminal with these modes and the size of ours.
fn pair(modes: &Termios) -> io::Result<(OwnedFd, OwnedFd)> {
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

/// This program, which makes the terminal its own and then becomes the command: only the process itself can do that.
fn entering(command: &Command) -> io::Result<Command> {
    let running = Path::new("/proc/self/exe");
    // The name may mean another file by now, or none.
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

/// The inner half of [`Terminal::start`]: becomes the command. Standard input is where a failure is told.
pub fn enter(command: &mut Command) -> io::Error {
    let report = io::stdin().as_fd().try_clone_to_owned();
    let failure = become_it(command);
    if let Ok(report) = report {
        let errno = failure.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error());
        let _ = write!(File::from(report), "{errno}");
    }
    failure
}

fn become_it(command: &mut Command) -> io::Error {
    let terminal = setsid().and_then(|_| ioctl_tiocsctty(io::stdout()));
    match terminal.map_err(io::Error::from).and_then(|()| io::stdout().as_fd().try_clone_to_owned()) {
        Ok(terminal) => command.stdin(terminal).exec(),
        Err(error) => error,
    }
}

/// Passes on what is typed until it is stopped.
fn type_into(master: &OwnedFd, stop: &PipeReader) {
    let stdin = io::stdin();
    let mut buffer = vec![0; CHUNK];
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
