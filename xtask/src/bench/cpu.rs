//! How much of the machine each side of a measurement used. For whoever looks for what limits a rate; in no table.

use std::fmt;
use std::fs;
use std::time::Instant;

use crate::Result;

/// Linux counts processor time in hundredths of a second, whatever the kernel's own clock does.
const TICKS: f64 = 100.0;
/// How often processes are looked at until none of them ends meanwhile.
const TRIES: usize = 100;

/// The processes that are watched: a server, a PostgreSQL, and ourselves with whom we started.
pub(super) struct Watched {
    pub(super) server: u32,
    pub(super) postmaster: u32,
}

/// Processor time used so far, in seconds, and when that was.
struct Reading {
    at: Instant,
    server: f64,
    postgres: f64,
    load: f64,
}

/// Cores used on average, over all the times that were added.
#[derive(Default)]
pub(super) struct Used {
    seconds: f64,
    server: f64,
    postgres: f64,
    load: f64,
}

impl Watched {
    fn read(&self) -> Result<Reading> {
        let (server, load) = (Times::of(&self.server.to_string())?.own, Times::of("self")?.with_ended());
        Ok(Reading { at: Instant::now(), server, postgres: self.of_postgres()?, load })
    }

    /// The postmaster and its children. One that ends while we look may be missed, so then we look again.
    fn of_postgres(&self) -> Result<f64> {
        let postmaster = || Times::of(&self.postmaster.to_string());
        let mut before = postmaster()?;
        for _ in 0..TRIES {
            let running: f64 = self.children()?.iter().map(|times| times.own).sum();
            let after = postmaster()?;
            if after.ended <= before.ended {
                return Ok(after.with_ended() + running);
            }
            before = after;
        }
        Err("PostgreSQL's processes never rest".into())
    }

    fn children(&self) -> Result<Vec<Times>> {
        let names = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let pids = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        Ok(pids.filter_map(|pid| Times::of(&pid).ok()).filter(|times| times.parent == self.postmaster).collect())
    }

    /// Does the work, and adds what it used.
    pub(super) fn during<T>(&self, used: &mut Used, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = self.read()?;
        let done = work()?;
        let after = self.read()?;
        used.seconds += (after.at - before.at).as_secs_f64();
        used.server += after.server - before.server;
        used.postgres += after.postgres - before.postgres;
        used.load += after.load - before.load;
        Ok(done)
    }
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = |seconds: f64| seconds / self.seconds;
        let [server, postgres, load] = [self.server, self.postgres, self.load].map(cores);
        write!(f, "cores: server {server:.2}, PostgreSQL {postgres:.2}, load {load:.2}")
    }
}

/// Processor time that a process has used so far, in seconds.
pub(super) fn of_process(pid: u32) -> Result<f64> {
    Ok(Times::of(&pid.to_string())?.own)
}

/// One process's times: its own, and those of its children that have ended and were waited for.
struct Times {
    parent: u32,
    own: f64,
    ended: f64,
}

impl Times {
    fn of(pid: &str) -> Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&path)?;
        // The name of the program comes before, in brackets, and may hold anything.
        let (_, rest) = text.rsplit_once(')').ok_or_else(|| format!("{path} is not understood"))?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number =
            |at: usize| -> Result<u32> { Ok(words.get(at).ok_or_else(|| format!("{path} is short"))?.parse()?) };
        let seconds = |at: usize| -> Result<f64> { Ok(f64::from(number(at)?) / TICKS) };
        Ok(Self { parent: number(1)?, own: seconds(11)? + seconds(12)?, ended: seconds(13)? + seconds(14)? })
    }

    fn with_ended(&self) -> f64 {
        self.own + self.ended
    }
}
