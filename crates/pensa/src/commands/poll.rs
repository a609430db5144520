//! Pauses between polls of a lock or signal.

use std::thread;
use std::time::{Duration, Instant};

use pensa_core::Span;

/// The first and the longest pause between polls of a lock or signal.
const POLL_PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));

/// Pauses between polls, which grow until a deadline.
pub(super) struct PollBackoff {
    end: Instant,
    pause: Duration,
}

impl PollBackoff {
    pub(super) fn new(most: Span) -> Self {
        let most = Duration::from_millis(u64::try_from(most.as_millis()).unwrap_or_default());
        Self { end: Instant::now() + most, pause: POLL_PAUSES.0 }
    }

    /// Sleeps for one pause. Returns false if the deadline has passed.
    pub(super) fn sleep(&mut self) -> bool {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(self.pause.min(left));
        self.pause = (self.pause * 3 / 2).min(POLL_PAUSES.1);
        true
    }
}
