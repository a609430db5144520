//! A server that runs for the length of a measurement.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::lab::{BenchProject, Lab, output};
use super::machine;
use crate::Result;

/// A server that runs until it is stopped, or dropped.
pub(super) struct BenchServer {
    child: Child,
    pub(super) address: SocketAddr,
}

impl BenchServer {
    /// Starts a server whose first line is JSON with its `url`.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let report: Value = serde_json::from_str(&line).map_err(|e| format!("{command:?} said {line:?}: {e}"))?;
        let url = report["url"].as_str().unwrap_or_default();
        let address = url.trim_start_matches("http://").trim_end_matches('/').parse();
        let address = address.map_err(|e| format!("{command:?} is at {url:?}: {e}"))?;
        Ok(Self { child, address })
    }

    /// Starts the daemon of a store.
    pub(super) fn daemon(lab: &Lab, store: &BenchProject) -> Result<Self> {
        let dir = store.dir.display().to_string();
        Self::start(&mut lab.pn(store, &["daemon", "--port", "0", "--json", "--project-dir", &dir]))
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has resident now, and the most it ever had, in MB.
    pub(super) fn memory(&self) -> Result<(f64, f64)> {
        Ok((machine::megabytes(self.pid(), "VmRSS")?, machine::megabytes(self.pid(), "VmHWM")?))
    }

    /// Asks it to end, and waits until it has.
    pub(super) fn stop(mut self) -> Result {
        output(Command::new("kill").arg(self.pid().to_string()))?;
        for _ in 0..500 {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err("a server did not stop within 10 s of SIGTERM".into())
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
