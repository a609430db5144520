//! A terminal on which a test types.

use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Stdio};

use pensa_testkit::{Sandbox, reap};

/// A shell command on a terminal of its own.
pub(crate) struct Terminal {
    child: Child,
    screen: ChildStdout,
    shown: String,
}

impl Terminal {
    pub(crate) fn run(pn: &Sandbox, line: &str) -> Self {
        let mut command = pn.command("script");
        command.args(["-qec", line, "/dev/null"]).env("SHELL", "/bin/sh").env("PN", crate::PN);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script of util-linux");
        let screen = child.stdout.take().expect("a pipe");
        Self { child, screen, shown: String::new() }
    }

    /// Types once `prompt` is shown: before that, the terminal itself would echo.
    pub(crate) fn answer(&mut self, prompt: &str, typed: &str) {
        let mut byte = [0u8];
        while !self.shown.ends_with(prompt) {
            self.screen.read_exact(&mut byte).unwrap_or_else(|e| panic!("{e}: {:?}", self.shown));
            self.shown.push(char::from(byte[0]));
        }
        self.child.stdin.as_mut().expect("a pipe").write_all(typed.as_bytes()).expect("typed");
    }

    /// Its whole output and its exit status.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        self.screen.read_to_string(&mut self.shown).expect("UTF-8");
        (self.shown, reap(&mut self.child).code())
    }
}
