//! Runs `pn daemon`, and stops it when the guard is dropped.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{PATIENCE, eventually};

/// A daemon that runs until dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    /// Its first line of output: `url`, `project_dir`, `version`, `store_id`.
    pub ready: Value,
    pub url: String,
}

impl Daemon {
    /// Starts a daemon and waits until it is ready.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("a daemon that starts");
        let stdout = child.stdout.take().expect("a pipe");
        let (send, lines) = mpsc::channel();
        thread::spawn(move || BufReader::new(stdout).lines().try_for_each(|line| send.send(line)));
        let Ok(Ok(first)) = lines.recv_timeout(PATIENCE) else {
            let ended = child.try_wait();
            let _ = child.kill();
            panic!("the daemon did not say that it is ready: {ended:?}");
        };
        let ready: Value = serde_json::from_str(&first).expect("a daemon whose first line is JSON");
        let url = ready["url"].as_str().expect("a daemon that tells its address").to_owned();
        // Discard later lines, so that the daemon never writes to a closed pipe.
        thread::spawn(move || lines.into_iter().for_each(drop));
        Self { child, ready, url }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The port in its URL.
    pub fn port(&self) -> u16 {
        let port = self.url.rsplit(':').next().expect("an address with a port");
        port.trim_end_matches('/').parse().expect("a port")
    }

    /// Sends a signal and waits for the exit.
    pub fn stop(mut self, signal: Signal) -> ExitStatus {
        self.end(signal)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    fn end(&mut self, signal: Signal) -> ExitStatus {
        if let Ok(Some(status)) = self.child.try_wait() {
            return status;
        }
        self.signal(signal);
        reap(&mut self.child)
    }
}

/// Waits for a process to exit, up to [`PATIENCE`].
pub fn reap(child: &mut Child) -> ExitStatus {
    eventually("the end of a process", || child.try_wait().expect("a child of ours"))
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let running = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        if !running(&mut self.child) {
            return;
        }
        self.signal(Signal::TERM);
        let deadline = Instant::now() + PATIENCE;
        while running(&mut self.child) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
