//! Holds every caller to a rate: a burst at once, and then so many requests a second.
//!
//! Who a caller is, and what one that is too fast is told, is left to the service.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};

/// So many callers are remembered without looking which of them can be forgotten.
const FEW_CALLERS: usize = 1 << 10;

#[derive(Debug)]
pub(crate) struct RateLimit {
    /// None if there is no limit.
    limiter: Option<DefaultKeyedRateLimiter<String>>,
    /// How many callers are remembered when the idle ones are next forgotten.
    sweep_at: AtomicUsize,
}

impl RateLimit {
    /// `per_second` requests a second from each caller, and `burst` (at least one) at once after a rest.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        let quota = NonZeroU32::new(per_second).map(|rate| Quota::per_second(rate).allow_burst(burst));
        Self { limiter: quota.map(DefaultKeyedRateLimiter::keyed), sweep_at: AtomicUsize::new(FEW_CALLERS) }
    }

    /// Counts a request of `who`, or says how long until the next one would be admitted. A request that is refused
    /// costs nothing.
    pub(crate) fn admit(&self, who: &str) -> Result<(), Duration> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        if limiter.len() >= self.sweep_at.load(Ordering::Relaxed) {
            // The next sweep waits until the rest has doubled, so that it costs each newcomer little.
            limiter.retain_recent();
            limiter.shrink_to_fit();
            self.sweep_at.store((limiter.len() * 2).max(FEW_CALLERS), Ordering::Relaxed);
        }
        limiter.check_key(&who.to_owned()).map_err(|refusal| refusal.wait_time_from(DefaultClock::default().now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    fn admitted(limit: &RateLimit, who: &str, tries: usize) -> usize {
        (0..tries).filter(|_| limit.admit(who).is_ok()).count()
    }

    #[test]
    fn a_burst_is_admitted_and_then_the_rate() {
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
        assert_eq!(["a", "b", ""].map(|who| admitted(&limit, who, 9)), [1, 1, 1]);
    }

    #[test]
    fn a_rate_of_zero_is_no_limit() {
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
        for number in 0..20 * FEW_CALLERS {
            assert_eq!(limit.admit(&number.to_string()), Ok(()));
        }
        assert!(limit.limiter.expect("a limit").len() <= 2 * FEW_CALLERS);
    }
}
