//! Limits the request rate of each caller, with bursts.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};

/// With fewer callers than this, idle ones are not removed.
const MIN_SWEEP: usize = 1 << 10;

#[derive(Debug)]
pub(crate) struct RateLimit {
    /// `None` means no limit.
    limiter: Option<DefaultKeyedRateLimiter<String>>,
    /// The number of callers at which idle ones are next removed.
    sweep_at: AtomicUsize,
}

impl RateLimit {
    /// Allows `per_second` requests per caller, 0 for no limit, and bursts of `burst` (at least one).
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        let quota = NonZeroU32::new(per_second).map(|rate| Quota::per_second(rate).allow_burst(burst));
        Self { limiter: quota.map(DefaultKeyedRateLimiter::keyed), sweep_at: AtomicUsize::new(MIN_SWEEP) }
    }

    /// Counts a request of `caller`. The error is the time until the next request is allowed; refused requests do not
    /// count.
    pub(crate) fn admit(&self, caller: &str) -> Result<(), Duration> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        if limiter.len() >= self.sweep_at.load(Ordering::Relaxed) {
            // Doubling the threshold keeps the amortized cost per new caller low.
            limiter.retain_recent();
            limiter.shrink_to_fit();
            self.sweep_at.store((limiter.len() * 2).max(MIN_SWEEP), Ordering::Relaxed);
        }
        limiter.check_key(&caller.to_owned()).map_err(|refusal| refusal.wait_time_from(DefaultClock::default().now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    fn admitted(limit: &RateLimit, caller: &str, tries: usize) -> usize {
        (0..tries).filter(|_| limit.admit(caller).is_ok()).count()
    }

    #[test]
    fn burst_is_allowed_and_then_the_rate_applies() {
        let limit = RateLimit::new(1, 5);
        assert_eq!(admitted(&limit, "a", 20), 5);
        let wait = limit.admit("a").expect_err("too fast");
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(1), "{wait:?}");
        sleep(wait);
        assert_eq!(admitted(&limit, "a", 20), 1);
    }

    #[test]
    fn callers_do_not_share_a_limit() {
        let limit = RateLimit::new(1, 1);
        assert_eq!(["a", "b", ""].map(|caller| admitted(&limit, caller, 9)), [1, 1, 1]);
    }

    #[test]
    fn rate_of_zero_means_no_limit() {
        assert_eq!(admitted(&RateLimit::new(0, 0), "a", 1000), 1000);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        for (per_second, burst) in [(1, u32::MAX), (u32::MAX, u32::MAX), (u32::MAX, 0), (1, 0)] {
            assert_eq!(RateLimit::new(per_second, burst).admit("a"), Ok(()), "{per_second} {burst}");
        }
    }

    #[test]
    fn idle_callers_are_forgotten() {
        let limit = RateLimit::new(1_000_000, 1);
        for number in 0..20 * MIN_SWEEP {
            assert_eq!(limit.admit(&number.to_string()), Ok(()));
        }
        assert!(limit.limiter.expect("a limit").len() <= 2 * MIN_SWEEP);
    }
}
