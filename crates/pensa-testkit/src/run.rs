//! Runs `pn` and checks its result.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::daemon::Daemon;
use crate::disk::Disk;

/// A command line of `pn` with its environment.
#[derive(Debug)]
pub struct Run {
    command: Command,
    args: Vec<OsString>,
    stdin: Vec<u8>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub(crate) fn new<S: AsRef<OsStr>>(command: Command, args: impl IntoIterator<Item = S>) -> Self {
        Self { command, args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(), stdin: Vec::new() }
    }

    #[must_use]
    pub fn actor(self, name: &str) -> Self {
        self.env("PN_ACTOR", name)
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    #[must_use]
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Runs in the namespace of `disk`.
    #[must_use]
    pub fn on(mut self, disk: &Disk) -> Self {
        self.command = disk.enter(&self.command);
        self
    }

    /// Runs under another program that takes a command line as its last arguments, such as `strace` or `timeout`.
    #[must_use]
    pub fn under<S: AsRef<OsStr>>(mut self, program: &str, args: impl IntoIterator<Item = S>) -> Self {
        let mut outer = copy_environment(&self.command, program);
        outer.args(args).arg(self.command.get_program()).args(self.command.get_args());
        self.command = outer;
        self
    }

    /// Redirects standard error to a file, for daemons.
    #[must_use]
    pub fn errors_to(mut self, file: &Path) -> Self {
        self.command.stderr(File::create(file).expect("a file for standard error"));
        self
    }

    #[must_use]
    pub fn json(mut self) -> Self {
        self.args.insert(0, "--json".into());
        self
    }

    /// Starts a daemon that runs until the guard is dropped.
    pub fn serve(mut self) -> Daemon {
        self.command.args(&self.args);
        Daemon::start(&mut self.command)
    }

    /// Starts the process with standard output and error on pipes.
    pub fn spawn(self) -> Child {
        let (child, feeding) = self.start();
        drop(feeding);
        child
    }

    fn start(mut self) -> (Child, thread::JoinHandle<io::Result<()>>) {
        let piped = || Stdio::piped();
        self.command.args(&self.args).stdin(piped()).stdout(piped()).stderr(piped());
        let program = self.command.get_program().to_owned();
        let mut child = self.command.spawn().unwrap_or_else(|e| panic!("these tests need {program:?}: {e}"));
        let mut stdin = child.stdin.take().expect("a pipe");
        let bytes = self.stdin;
        // A program that does not read its input must not block the test.
        let feeding = thread::spawn(move || stdin.write_all(&bytes));
        (child, feeding)
    }

    pub fn answer(self) -> Answer {
        let (child, feeding) = self.start();
        let output = child.wait_with_output().expect("an answer");
        let _ = feeding.join();
        let text = |bytes| String::from_utf8(bytes).expect("pn prints UTF-8");
        Answer { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Expects success. Returns standard output.
    #[track_caller]
    pub fn ok(self) -> String {
        let description = self.description();
        let answer = self.answer();
        assert_eq!(answer.code, Some(0), "{description}: {answer:?}");
        answer.stdout
    }

    /// Expects success and one line of JSON.
    #[track_caller]
    pub fn ok_json(self) -> Value {
        let description = self.description();
        let lines = self.ok_json_lines();
        assert_eq!(lines.len(), 1, "{description}: {lines:?}");
        lines.into_iter().next().expect("one line")
    }

    /// Expects success and lines of JSON.
    #[track_caller]
    pub fn ok_json_lines(self) -> Vec<Value> {
        let description = self.description();
        let shown = self.json().ok();
        assert!(shown.is_empty() || shown.ends_with('\n'), "{description}: the last line has no end");
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{description}: {e}: {line}"));
        shown.lines().map(parse).collect()
    }

    /// Expects an error with this code: exit 1, nothing on standard output, one line of JSON on standard error.
    #[track_caller]
    pub fn fails(self, code: &str) -> Value {
        let description = self.description();
        let answer = self.json().answer();
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(1), ""), "{description}: {answer:?}");
        let error = answer.error();
        assert_eq!(error["code"], code, "{description}: {error}");
        assert!(error["error"].as_str().is_some_and(|message| !message.is_empty()), "{description}: {error}");
        error
    }

    /// Expects a usage error: exit 2, and one line of JSON on standard error.
    #[track_caller]
    pub fn misused(self) -> Value {
        let description = self.description();
        let answer = self.json().answer();
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""), "{description}: {answer:?}");
        answer.error()
    }

    fn description(&self) -> String {
        let mut description = format!("pn {}", self.args.join(OsStr::new(" ")).to_string_lossy());
        if description.len() > 300 {
            description = description.chars().take(300).chain("…".chars()).collect();
        }
        description
    }
}

impl Answer {
    /// The one line of JSON on standard error.
    #[track_caller]
    pub fn error(&self) -> Value {
        assert_eq!(self.stderr.lines().count(), 1, "one line of JSON on standard error: {self:?}");
        serde_json::from_str(&self.stderr).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// A command for another program with the same directory and environment.
pub(crate) fn copy_environment(of: &Command, program: impl AsRef<OsStr>) -> Command {
    let mut copy = Command::new(program);
    copy.env_clear();
    for (name, value) in of.get_envs() {
        if let Some(value) = value {
            copy.env(name, value);
        }
    }
    if let Some(dir) = of.get_current_dir() {
        copy.current_dir(dir);
    }
    copy
}
