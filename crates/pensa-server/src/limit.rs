//! Holds every caller to a rate: a burst at once, and then so many requests a second.
//!
//! Who a caller is, and what one that is too fast is told, is left to the service.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most callers remembered at a time.
const MAX_BUCKETS: usize = 1 << 16;
/// So many callers are remembered without looking which of them can be forgotten.
const FEW_BUCKETS: usize = 1 << 10;

/// A token bucket for every caller.
#[derive(Debug)]
pub(crate) struct RateLimit {
    /// None if there is no limit.
    pace: Option<Pace>,
    /// Callers are known by a hash under a secret key: memory then does not depend on how long their names are.
    hasher: RandomState,
    buckets: Mutex<Buckets>,
}

impl RateLimit {
    /// `per_second` requests a second from each caller, and `burst` (at least one) at once after a rest.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let each = Duration::from_secs(1).checked_div(per_second);
        let pace = each.map(|each| Pace { each, slack: each * burst.saturating_sub(1) });
        Self { pace, hasher: RandomState::new(), buckets: Mutex::default() }
    }

    /// Counts a request of `who`, or says how long until the next one would be admitted. A request that is refused
    /// costs nothing.
    pub(crate) fn admit(&self, who: &str, now: Instant) -> Result<(), Duration> {
        let Some(pace) = self.pace else {
            return Ok(());
        };
        let who = self.hasher.hash_one(who);
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner).admit(who, pace, now)
    }
}

#[derive(Debug, Clone, Copy)]
struct Pace {
    /// The time in which a bucket gains one request.
    each: Duration,
    /// How far ahead of an even pace a caller may be.
    slack: Duration,
}

/// A bucket is kept as the moment at which it will be full again: that says all, and after it nothing.
#[derive(Debug)]
struct Buckets {
    full_at: HashMap<u64, Instant>,
    sweep_at: usize,
}

impl Default for Buckets {
    fn default() -> Self {
        Self { full_at: HashMap::new(), sweep_at: FEW_BUCKETS }
    }
}

impl Buckets {
    fn admit(&mut self, who: u64, pace: Pace, now: Instant) -> Result<(), Duration> {
        let known = self.full_at.get_mut(&who);
        let full_at = known.as_deref().map_or(now, |full_at| now.max(*full_at));
        let ahead = full_at.duration_since(now);
        if ahead > pace.slack {
            return Err(ahead - pace.slack);
        }
        let full_at = full_at + pace.each;
        match known {
            Some(known) => *known = full_at,
            None => self.remember(who, full_at, now),
        }
        Ok(())
    }

    fn remember(&mut self, who: u64, full_at: Instant, now: Instant) {
        if self.full_at.len() >= self.sweep_at {
            self.sweep(now);
        }
        self.full_at.insert(who, full_at);
    }

    /// Forgets the buckets that are full, and waits with the next sweep until the rest has doubled, so that a
    /// sweep costs each newcomer little.
    fn sweep(&mut self, now: Instant) {
        self.full_at.retain(|_, full_at| *full_at > now);
        if self.full_at.len() > MAX_BUCKETS / 2 {
            // So many callers at once are no single caller's fault: all start anew, none is refused for want of room.
            self.full_at.clear();
        }
        self.sweep_at = (self.full_at.len() * 2).max(FEW_BUCKETS);
        self.full_at.shrink_to(self.sweep_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    fn admitted(limit: &RateLimit, who: &str, now: Instant, tries: usize) -> usize {
        (0..tries).filter(|_| limit.admit(who, now).is_ok()).count()
    }

    fn remembered(limit: &RateLimit) -> usize {
        limit.buckets.lock().expect("not poisoned").full_at.len()
    }

    #[test]
    fn a_burst_is_admitted_and_then_the_rate() {
        let (limit, start) = (RateLimit::new(10, 5), Instant::now());
        assert_eq!(admitted(&limit, "a", start, 20), 5);
        assert_eq!(admitted(&limit, "a", start + 99 * MILLI, 20), 0);
        assert_eq!(admitted(&limit, "a", start + 100 * MILLI, 20), 1);
        assert_eq!(admitted(&limit, "a", start + 450 * MILLI, 20), 3);
        assert_eq!(admitted(&limit, "a", start + Duration::from_secs(3600), 20), 5);
    }

    #[test]
    fn over_a_long_time_no_more_than_the_rate_is_admitted() {
        let (limit, start) = (RateLimit::new(100, 10), Instant::now());
        let admitted: usize = (0..10_000).map(|at| admitted(&limit, "a", start + at * MILLI, 3)).sum();
        assert_eq!(admitted, 10 + 999);
    }

    #[test]
    fn who_is_refused_is_admitted_after_the_time_it_was_told() {
        let (limit, start) = (RateLimit::new(3, 2), Instant::now());
        assert_eq!(admitted(&limit, "a", start, 2), 2);
        let wait = limit.admit("a", start).expect_err("too fast");
        assert!(wait > Duration::ZERO);
        assert!(limit.admit("a", start + wait - Duration::from_nanos(1)).is_err());
        assert_eq!(limit.admit("a", start + wait), Ok(()));
    }

    #[test]
    fn callers_do_not_share_a_bucket() {
        let (limit, now) = (RateLimit::new(1, 1), Instant::now());
        assert_eq!(admitted(&limit, "a", now, 9), 1);
        assert_eq!(admitted(&limit, "b", now, 9), 1);
        assert_eq!(admitted(&limit, "", now, 9), 1);
    }

    #[test]
    fn a_rate_of_zero_is_no_limit_and_remembers_nobody() {
        let (limit, now) = (RateLimit::new(0, 0), Instant::now());
        assert_eq!(admitted(&limit, "a", now, 1000), 1000);
        assert_eq!(remembered(&limit), 0);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let now = Instant::now();
        for (per_second, burst) in [(1, u32::MAX), (u32::MAX, u32::MAX), (u32::MAX, 0), (1, 0)] {
            assert_eq!(RateLimit::new(per_second, burst).admit("a", now), Ok(()), "{per_second} {burst}");
        }
    }

    #[test]
    fn a_clock_read_before_another_threads_later_one_is_no_harm() {
        let (limit, now) = (RateLimit::new(10, 2), Instant::now());
        assert_eq!(limit.admit("a", now + 50 * MILLI), Ok(()));
        // Full again at 150 ms, and ahead by at most 100: what is refused is only early.
        assert_eq!(limit.admit("a", now), Err(50 * MILLI));
        assert_eq!(limit.admit("a", now + 50 * MILLI), Ok(()));
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let (limit, mut now) = (RateLimit::new(1000, 1), Instant::now());
        for number in 0..20 * FEW_BUCKETS {
            now += MILLI;
            assert_eq!(limit.admit(&number.to_string(), now), Ok(()));
        }
        assert!(remembered(&limit) <= FEW_BUCKETS);
    }

    #[test]
    fn memory_is_bounded_when_no_bucket_is_full() {
        let (limit, now) = (RateLimit::new(1, 1), Instant::now());
        for number in 0..3 * MAX_BUCKETS {
            assert_eq!(limit.admit(&number.to_string(), now), Ok(()));
            if number % 1000 == 0 {
                assert!(remembered(&limit) <= MAX_BUCKETS);
            }
        }
        assert!(remembered(&limit) > 0);
    }
}
