//! Ends a command when it is time to: it took too long, was cancelled, or a signal asks for it.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::run::Process;
use rustix::process::Signal;

use crate::exec::Leash;
use crate::process::{has_members, signal_group};

/// How long a command that is to end has before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// Whether a signal asks for the end.
pub fn ends(signal: Signal) -> bool {
    [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT].contains(&signal)
}

/// Why a command was told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Timeout,
    Cancelled,
}

/// What a command's end may depend on.
#[derive(Debug)]
pub enum Word {
    Signal(Signal),
    Cancel,
    Ended,
}

/// The thread that ends a command when it is time to.
#[derive(Debug)]
pub struct Ender(thread::JoinHandle<Option<Why>>);

impl Ender {
    pub fn begin(leash: Leash, timeout: Duration, heard: mpsc::Receiver<Word>) -> io::Result<Self> {
        let spawned = thread::Builder::new().spawn(move || {
            let (mut why, mut next) = (None, Instant::now() + timeout);
            loop {
                match heard.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Ok(Word::Ended) | Err(mpsc::RecvTimeoutError::Disconnected) => return why,
                    Ok(Word::Signal(signal)) if !ends(signal) => leash.send(signal),
                    Ok(word) => {
                        if why.is_none() {
                            (why, next) = (Some(Why::Cancelled), Instant::now() + GRACE);
                        }
                        leash.send(if let Word::Signal(signal) = word { signal } else { Signal::TERM });
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        leash.send(if why.is_none() { Signal::TERM } else { Signal::KILL });
                        why = why.or(Some(Why::Timeout));
                        next = Instant::now() + GRACE;
                    }
                }
            }
        });
        spawned.map(Self)
    }

    /// Why the command was told to end, if it was.
    pub fn end(self, words: &mpsc::Sender<Word>) -> Option<Why> {
        let _ = words.send(Word::Ended);
        self.0.join().ok().flatten()
    }
}

/// Sees to it that nobody is left of a group that was told to end.
pub fn end_rest(leader: &Process) {
    let deadline = Instant::now() + GRACE;
    while has_members(leader.pid) {
        if Instant::now() >= deadline {
            signal_group(leader.pid, Signal::KILL);
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}
