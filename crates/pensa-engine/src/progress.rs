//! Counts the progress of long work in this process, for programs that show it.
//!
//! Nothing else depends on it.

use std::sync::atomic::{AtomicU64, Ordering};

/// A progress counter: total units of work, and units done.
#[derive(Debug, Default)]
pub struct ProgressCounter {
    total: AtomicU64,
    done: AtomicU64,
}

static PROGRESS: ProgressCounter = ProgressCounter { total: AtomicU64::new(0), done: AtomicU64::new(0) };

/// The counter of this process.
pub fn progress() -> &'static ProgressCounter {
    &PROGRESS
}

impl ProgressCounter {
    /// Units done and total; `None` if no long work is running.
    pub fn read(&self) -> Option<(u64, u64)> {
        let (total, done) = (self.total.load(Ordering::Relaxed), self.done.load(Ordering::Relaxed));
        (total > 0).then_some((done.min(total), total))
    }

    pub fn begin(&self, total: usize) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total as u64, Ordering::Relaxed);
    }

    pub fn advance(&self, units: usize) {
        self.done.fetch_add(units as u64, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.total.store(0, Ordering::Relaxed);
    }
}
