//! Times processes in alternation, with statistics of the times.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// One side of a comparison: prepares a run, and returns the process to time.
pub(super) struct Contender<'a>(Box<dyn FnMut(usize) -> Result<Command> + 'a>);

impl<'a> Contender<'a> {
    pub(super) fn new(prepare: impl FnMut(usize) -> Result<Command> + 'a) -> Self {
        Self(Box::new(prepare))
    }

    fn time(&mut self, run: usize) -> Result<Duration> {
        let mut command = (self.0)(run)?;
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = command.status()?;
        let took = start.elapsed();
        if status.success() { Ok(took) } else { Err(format!("{command:?} failed: {status}").into()) }
    }
}

/// Warm-up runs of each contender.
pub(super) const WARM_UP: usize = 3;

/// Runs the contenders in turn, `runs` times each. The first one alternates, because it warms the caches.
pub(super) fn alternate<const N: usize>(runs: usize, mut contenders: [Contender<'_>; N]) -> Result<[Samples; N]> {
    let mut times = [const { Vec::new() }; N];
    for run in 0..runs + WARM_UP {
        for turn in 0..N {
            let which = (run + turn) % N;
            let took = contenders[which].time(run)?;
            if run >= WARM_UP {
                times[which].push(took);
            }
        }
    }
    Ok(times.map(Samples::new))
}

/// Times, sorted.
pub(super) struct Samples(Vec<Duration>);

impl Samples {
    pub(super) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// In milliseconds.
    pub(super) fn percentile(&self, percent: usize) -> f64 {
        let at = self.0.len().saturating_sub(1) * percent / 100;
        self.0.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
    }

    pub(super) fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// `2.31 ms (2.10–2.92)`
    pub(super) fn describe(&self) -> String {
        format!("{:.2} ms ({:.2}–{:.2})", self.median(), self.percentile(10), self.percentile(90))
    }
}

/// The median of a few numbers.
pub(super) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
