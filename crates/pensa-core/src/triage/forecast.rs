//! When everything may be closed, from how much was closed on each day so far.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::{Span, Timestamp};

const DAY: i64 = 86_400_000;
/// The most and the fewest observed days.
const WINDOW: i64 = 90;
const SHORTEST: i64 = 7;
/// Fewer closed issues allow no forecast.
const FEWEST: usize = 3;
/// Of ten such forecasts, eight end within this many standard deviations.
const DEVIATIONS: f64 = 1.2816;
/// Later dates are meaningless.
const FARTHEST: f64 = 36_500.0;

/// When all issues may be closed, at the observed daily rate and without new issues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// The median: an earlier and a later date are equally likely
    pub date: Timestamp,
    /// The 10th percentile: one outcome in ten is earlier
    pub earliest: Timestamp,
    /// The 90th percentile: one outcome in ten is later
    pub latest: Timestamp,
    /// Issues that are not closed
    pub left: u32,
    /// Issues closed within the observed days
    pub closed: u32,
    /// The number of observed days
    pub days: u32,
    /// Average number of issues closed per day
    pub per_day: f64,
    /// The standard deviation of that number
    pub deviation: f64,
}

impl Forecast {
    pub(super) fn new(left: usize, closings: &[Timestamp], now: Timestamp) -> Option<Self> {
        let days_ago = |at: &Timestamp| (now.as_millis() - at.as_millis()).div_euclid(DAY);
        let recent: Vec<i64> = closings.iter().map(days_ago).filter(|ago| (0..WINDOW).contains(ago)).collect();
        if recent.len() < FEWEST {
            return None;
        }
        let days = (recent.iter().max().copied().unwrap_or_default() + 1).max(SHORTEST);
        let mut closed = vec![0.0; usize::try_from(days).ok()?];
        for ago in &recent {
            closed[usize::try_from(*ago).ok()?] += 1.0;
        }
        let per_day = recent.len() as f64 / closed.len() as f64;
        let squares: f64 = closed.iter().map(|count| (count - per_day).powi(2)).sum();
        let deviation = (squares / (closed.len() - 1) as f64).sqrt();
        // The time until the n-th of independent events is about normal, with this mean and spread.
        let mean = left as f64 / per_day;
        let spread = deviation * mean.sqrt() / per_day;
        let after = |days: f64| {
            let millis = (days.clamp(0.0, FARTHEST) * DAY as f64).round();
            now.plus(Span::from_millis(millis as i64))
        };
        Some(Self {
            date: after(mean),
            earliest: after(mean - DEVIATIONS * spread),
            latest: after(mean + DEVIATIONS * spread),
            left: super::count(left),
            closed: super::count(recent.len()),
            days: super::count(closed.len()),
            per_day,
            deviation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(number: i64) -> Timestamp {
        Timestamp::from_millis(1_772_202_600_000 + number * DAY).expect("a time")
    }

    #[test]
    fn the_same_every_day_goes_on_like_that() {
        let closings: Vec<Timestamp> = (0..20).flat_map(|at| [day(-at), day(-at)]).collect();
        let forecast = Forecast::new(10, &closings, day(0)).expect("a forecast");
        assert_eq!((forecast.closed, forecast.days, forecast.per_day, forecast.deviation), (40, 20, 2.0, 0.0));
        assert_eq!((forecast.earliest, forecast.date, forecast.latest), (day(5), day(5), day(5)));
    }

    #[test]
    fn the_less_regular_the_wider_the_range() {
        let closings = [[day(0); 5], [day(-6); 5], [day(-9); 5]].concat();
        let forecast = Forecast::new(15, &closings, day(0)).expect("a forecast");
        assert!(forecast.earliest < forecast.date && forecast.date < forecast.latest, "{forecast:?}");
        assert_eq!(forecast.date, day(10));
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(Forecast::new(10, &[day(-1), day(-2)], day(0)), None);
        assert_eq!(Forecast::new(10, &[day(-100); 9], day(0)), None);
        let done = Forecast::new(0, &[day(-1); 3], day(0)).expect("a forecast");
        assert_eq!((done.date, done.latest), (day(0), day(0)));
    }
}
