//! How far the long work of this process has come, for whoever wants to show it.
//!
//! Whether it is shown, and how, is left to the surfaces; nothing else depends on it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Pieces of work, whatever they are: how many there are, and how many are done.
#[derive(Debug, Default)]
pub struct Meter {
    total: AtomicU64,
    done: AtomicU64,
}

static METER: Meter = Meter { total: AtomicU64::new(0), done: AtomicU64::new(0) };

/// That of this process.
pub fn meter() -> &'static Meter {
    &METER
}

impl Meter {
    /// What is done of what there is; nothing if there is no work that takes long.
    pub fn read(&self) -> Option<(u64, u64)> {
        let (total, done) = (self.total.load(Ordering::Relaxed), self.done.load(Ordering::Relaxed));
        (total > 0).then_some((done.min(total), total))
    }

    pub fn begin(&self, total: usize) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total as u64, Ordering::Relaxed);
    }

    pub fn advance(&self, pieces: usize) {
        self.done.fetch_add(pieces as u64, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.total.store(0, Ordering::Relaxed);
    }
}
