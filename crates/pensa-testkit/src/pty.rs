//! A terminal of its own for a program that is tested or measured.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Both ends of a terminal.
#[derive(Debug)]
pub struct Pty {
    /// Where keys are typed and the output is read
    pub keys: File,
    /// The end of the program; kept open to read the modes after it has ended
    pub line: OwnedFd,
}

impl Pty {
    pub fn open(rows: u16, columns: u16) -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let line = rustix::fs::open(ptsname(&master, Vec::new())?, flags, Mode::empty())?;
        tcsetwinsize(&master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
        Ok(Self { keys: File::from(master), line })
    }

    /// Starts a command of `setsid --ctty`, which has the terminal for its own.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        command.stdin(self.line.try_clone()?).stdout(self.line.try_clone()?).stderr(self.line.try_clone()?).spawn()
    }
}
