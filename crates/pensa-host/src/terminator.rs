//! Terminates a command when it takes too long, is cancelled, or this process receives a termination signal.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::run::Process;
use rustix::process::Signal;

use crate::exec::ProcessHandle;
use crate::process::{has_members, signal_group};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

/// Whether a signal asks a process to terminate.
pub fn is_termination(signal: Signal) -> bool {
    [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT].contains(&signal)
}

/// Why a command was terminated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Timeout,
    Cancelled,
}

/// What the terminator reacts to.
#[derive(Debug)]
pub enum StopEvent {
    /// This process received a signal.
    Signal(Signal),
    Cancel,
    /// The command has exited.
    Exited,
}

/// A thread that terminates a command with SIGTERM or the signal received, and after a grace period with SIGKILL.
#[derive(Debug)]
pub struct Terminator(thread::JoinHandle<Option<StopReason>>);

impl Terminator {
    pub fn start(handle: ProcessHandle, timeout: Duration, events: mpsc::Receiver<StopEvent>) -> io::Result<Self> {
        let spawned = thread::Builder::new().spawn(move || {
            let (mut why, mut next) = (None, Instant::now() + timeout);
            loop {
                match events.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Ok(StopEvent::Exited) | Err(mpsc::RecvTimeoutError::Disconnected) => return why,
                    Ok(StopEvent::Signal(signal)) if !is_termination(signal) => handle.send(signal),
                    Ok(event) => {
                        if why.is_none() {
                            (why, next) = (Some(StopReason::Cancelled), Instant::now() + GRACE);
                        }
                        handle.send(if let StopEvent::Signal(signal) = event { signal } else { Signal::TERM });
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        handle.send(if why.is_none() { Signal::TERM } else { Signal::KILL });
                        why = why.or(Some(StopReason::Timeout));
                        next = Instant::now() + GRACE;
                    }
                }
            }
        });
        spawned.map(Self)
    }

    /// Stops the thread; call it when the command has exited. Returns why the command was terminated, if it was.
    pub fn finish(self, events: &mpsc::Sender<StopEvent>) -> Option<StopReason> {
        let _ = events.send(StopEvent::Exited);
        self.0.join().ok().flatten()
    }
}

/// Waits until all processes of a terminated group have exited, and kills them after a grace period.
pub fn await_group_exit(leader: &Process) {
    let deadline = Instant::now() + GRACE;
    while has_members(leader.pid) {
        if Instant::now() >= deadline {
            signal_group(leader.pid, Signal::KILL);
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}
