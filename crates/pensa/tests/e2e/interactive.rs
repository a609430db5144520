//! `pn run exec` on a terminal: the command gets one too, and ours is restored afterwards.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pensa_testkit::{Pty, Sandbox, eventually, reap};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};

use crate::steps::{elements, text};

/// A terminal, and the program that runs on it.
pub(crate) struct Terminal {
    keys: File,
    /// Kept open to read the terminal modes after the program has ended.
    line: OwnedFd,
    child: Child,
    shown: Arc<Mutex<Vec<u8>>>,
    before: String,
}

impl Terminal {
    /// `pn` on a terminal of 33 lines and 77 columns.
    pub(crate) fn pn(pn: &Sandbox, args: &[&str]) -> Self {
        Self::run(pn, crate::PN, args)
    }

    pub(crate) fn run(pn: &Sandbox, program: &str, args: &[&str]) -> Self {
        let pty = Pty::open(33, 77).expect("a terminal");
        let mut command = pn.command("setsid");
        command.args(["--ctty", "--wait", program]).args(args).env("PN", crate::PN);
        let child = pty.spawn(&mut command).expect("setsid of util-linux");
        let Pty { keys, line } = pty;
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, seen) = (keys.try_clone().expect("another"), shown.clone());
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                seen.lock().unwrap_or_else(PoisonError::into_inner).extend(&buffer[..count]);
            }
        });
        let before = modes(&line);
        Self { keys, line, child, shown, before }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    #[track_caller]
    pub(crate) fn until(&self, wanted: &str) {
        eventually(wanted, || self.shown().contains(wanted).then_some(()));
    }

    pub(crate) fn types(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).expect("typed");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("sent");
    }

    /// Returns the output and the exit status, and checks that the terminal modes are restored.
    #[track_caller]
    pub(crate) fn end(mut self) -> (String, ExitStatus) {
        let status = reap(&mut self.child);
        assert_eq!(modes(&self.line), self.before, "the terminal is as it was");
        // The reading thread may not have the last output yet.
        let mut mark = File::from(self.line.try_clone().expect("another"));
        mark.write_all(b"<end>").expect("written");
        self.until("<end>");
        (self.shown().replace("<end>", ""), status)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::HUP);
            let _ = self.child.wait();
        }
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn modes(line: &OwnedFd) -> String {
    format!("{:?}", tcgetattr(line).expect("modes"))
}

fn repository() -> Sandbox {
    let pn = crate::sandbox();
    pn.git_init();
    pn
}

fn exec(pn: &Sandbox, script: &str) -> Terminal {
    Terminal::pn(pn, &["run", "exec", "--", "sh", "-c", script])
}

fn last(pn: &Sandbox) -> Value {
    elements(&pn.pn(["run", "list", "-n", "1"]).ok_json()).remove(0)
}

fn log(run: &Value) -> String {
    String::from_utf8_lossy(&fs::read(text(&run["log_path"])).expect("a log")).into_owned()
}

#[test]
fn a_command_on_a_terminal_gets_a_terminal_and_a_complete_log() {
    let pn = repository();
    let script = "test -t 0 && test -t 1 && test -t 2 && tty && stty size; trap 'stty size; echo resized' WINCH; \
        echo ready; while ! read line; do :; done; echo \"got $line\"; seq 5000; exit 5";
    let mut terminal = exec(&pn, script);
    terminal.until("33 77\r\n");
    terminal.until("ready\r\n");
    tcsetwinsize(&terminal.keys, size(40, 90)).expect("a size");
    terminal.until("resized\r\n");
    terminal.types(b"helo\x7flo\r");
    let (shown, status) = terminal.end();
    assert_eq!(status.code(), Some(5), "{shown}");
    assert!(shown.contains("40 90\r\nresized\r\n") && shown.contains("got hello\r\n"), "{shown}");
    let run = last(&pn);
    assert_eq!((&run["status"], &run["exit_code"]), (&json!("failed"), &json!(5)));
    assert_eq!(log(&run), shown);
    assert!(shown.ends_with("4999\r\n5000\r\n"), "{shown}");
}

#[test]
fn keys_and_signals_end_the_command_and_leave_the_terminal_as_it_was() {
    let pn = repository();
    let mut terminal = exec(&pn, "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.01; done");
    terminal.until("ready");
    terminal.types(b"\x03");
    let (shown, status) = terminal.end();
    assert_eq!(status.code(), Some(9), "{shown}");
    assert!(shown.contains("caught"), "{shown}");
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1), (Signal::INT, 2), (Signal::QUIT, 3)] {
        let terminal = exec(&pn, "echo ready; exec sleep 60");
        terminal.until("ready");
        terminal.signal(signal);
        let (_, status) = terminal.end();
        assert_eq!(status.signal(), Some(number));
        assert_eq!(last(&pn)["signal"], number);
    }
    let (shown, status) = Terminal::pn(&pn, &["run", "exec", "--", "no-such-program"]).end();
    assert_eq!(status.code(), Some(127), "{shown}");
    assert!(text(&last(&pn)["reason"]).contains("cannot run no-such-program"));
}

#[test]
fn a_shell_on_a_terminal_has_job_control() {
    let pn = repository();
    let mut terminal = Terminal::pn(&pn, &["run", "exec", "--", "bash", "--norc", "-i"]);
    // Before that, our terminal echoes keys, as for every starting program.
    terminal.until("bash-");
    terminal.types(b"sleep 60\r");
    terminal.until("sleep 60\r\n");
    // Typed until the shell has handed the terminal to the program.
    eventually("a program that was stopped", || {
        terminal.types(b"\x1a");
        let shown = terminal.shown();
        shown.split_once("Stopped").is_some_and(|(_, after)| after.contains("bash-")).then_some(())
    });
    terminal.types(b"kill -9 %1; sleep 0.1\r");
    terminal.until("Killed");
    terminal.types(b"exit 4\r");
    let (shown, status) = terminal.end();
    assert_eq!(status.code(), Some(4), "{shown}");
    assert!(!shown.contains("no job control"), "{shown}");
}

#[test]
fn redirected_shared_or_background_commands_get_no_terminal() {
    let pn = repository();
    let line = |line: &str| {
        let (shown, status) = Terminal::run(&pn, "bash", &["-c", line]).end();
        assert!(status.success(), "{line}: {shown}");
        shown
    };
    line("\"$PN\" run exec -- sh -c 'test -t 1 && test ! -t 2 && echo to a file >&2' 2>err");
    assert_eq!(fs::read_to_string(pn.project().join("err")).expect("a file"), "to a file\n");
    assert!(log(&last(&pn)).contains("to a file"));
    line("\"$PN\" run exec -- sh -c 'test ! -t 1 && printf \"a\\nb\"' >out");
    assert_eq!(fs::read_to_string(pn.project().join("out")).expect("a file"), "a\nb");
    line("\"$PN\" run exec --instances 2 -- sh -c 'test ! -t 1'");
    let shown = line("set -m; \"$PN\" run exec -- sh -c 'test ! -t 1 && echo done' & wait %1");
    assert!(shown.contains("done"), "{shown}");
}
