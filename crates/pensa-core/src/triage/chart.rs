//! How many issues were open, in progress and closed on each day, and how long each took, from when their status changed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::IssueId;
use crate::issue::Status;
use crate::time::{Span, Timestamp};

const DAY: i64 = 86_400_000;
/// Maximum number of days in one chart.
pub const MOST_DAYS: i64 = 3_660;

/// Figures to draw: one entry for each day in UTC, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chart {
    pub since: Timestamp,
    pub until: Timestamp,
    pub days: Vec<Day>,
    /// Issues closed in this period, in order of closing
    pub closed: Vec<Cycle>,
    /// The median of their durations, in milliseconds
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<i64>,
    /// The 85th percentile of their durations, in milliseconds
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p85_ms: Option<i64>,
}

/// The state at the end of a day, and its events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Day {
    /// Such as `2026-02-27`
    pub day: String,
    pub open: u32,
    pub in_progress: u32,
    pub closed: u32,
    /// Issues created on this day
    pub created: u32,
    /// Issues closed on this day
    pub done: u32,
}

/// The duration of an issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cycle {
    pub id: IssueId,
    /// When it was first claimed, or created if it never was claimed
    pub started_at: Timestamp,
    pub closed_at: Timestamp,
    /// In milliseconds
    pub took_ms: i64,
}

/// The life of an issue, by its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusHistory {
    pub id: IssueId,
    pub created_at: Timestamp,
    pub status: Status,
    pub closed_at: Option<Timestamp>,
    /// When its status changed, and from what to what; oldest first
    pub changes: Vec<(Timestamp, Status, Status)>,
}

impl StatusHistory {
    /// Its statuses, each with when it began. Without a log, what it is now is all there is to know.
    fn statuses(&self) -> Vec<(Timestamp, Status)> {
        let mut statuses = match (self.changes.first(), self.closed_at) {
            (Some((_, old, _)), _) => vec![(self.created_at, *old)],
            (None, Some(closed)) => vec![(self.created_at, Status::Open), (closed, Status::Closed)],
            (None, None) => vec![(self.created_at, self.status)],
        };
        statuses.extend(self.changes.iter().map(|(at, _, new)| (*at, *new)));
        statuses
    }

    /// How long it took until it was closed for the last time.
    fn cycle(&self) -> Option<Cycle> {
        let statuses = self.statuses();
        let (closed_at, _) = *statuses.last().filter(|(_, status)| *status == Status::Closed)?;
        let claimed = statuses.iter().find(|(_, status)| *status == Status::InProgress);
        let started_at = claimed.map_or(self.created_at, |(at, _)| *at);
        let took_ms = closed_at.since(started_at).map_or(0, Span::as_millis);
        Some(Cycle { id: self.id.clone(), started_at, closed_at, took_ms })
    }
}

/// Adds up what happened to issues between two times.
pub fn chart(lives: &[StatusHistory], since: Timestamp, until: Timestamp) -> Chart {
    let day_of = |at: Timestamp| at.as_millis().div_euclid(DAY);
    let (first, last) = (day_of(since), day_of(until));
    // How much each count changes on a day; what was before the first day counts as its beginning.
    let mut steps: BTreeMap<i64, [i64; 5]> = BTreeMap::new();
    for life in lives {
        let mut before = None;
        for (at, status) in life.statuses() {
            let day = day_of(at);
            let step = steps.entry(day.max(first - 1)).or_default();
            step[place(status)] += 1;
            match before {
                Some(before) => step[place(before)] -= 1,
                None => step[3] += i64::from(day >= first),
            }
            step[4] += i64::from(status == Status::Closed && before != Some(Status::Closed) && day >= first);
            before = Some(status);
        }
    }
    let mut now = [0; 3];
    let mut days = Vec::new();
    for day in first - 1..=last {
        let step = steps.get(&day).copied().unwrap_or_default();
        now.iter_mut().zip(step).for_each(|(count, step)| *count += step);
        if day >= first {
            let [open, in_progress, closed] = now.map(positive);
            let [created, done] = [step[3], step[4]].map(positive);
            days.push(Day { day: name(day), open, in_progress, closed, created, done });
        }
    }
    let mut closed: Vec<Cycle> = lives.iter().filter_map(StatusHistory::cycle).collect();
    closed.retain(|cycle| (since..=until).contains(&cycle.closed_at));
    closed.sort_by(|a, b| (a.closed_at, &a.id).cmp(&(b.closed_at, &b.id)));
    let mut took: Vec<i64> = closed.iter().map(|cycle| cycle.took_ms).collect();
    took.sort_unstable();
    let at = |part: usize| took.get((took.len() * part).div_ceil(100).saturating_sub(1)).copied();
    Chart { since, until, median_ms: at(50), p85_ms: at(85), days, closed }
}

fn place(status: Status) -> usize {
    match status {
        Status::Open => 0,
        Status::InProgress => 1,
        Status::Closed => 2,
    }
}

fn positive(count: i64) -> u32 {
    u32::try_from(count).unwrap_or_default()
}

fn name(day: i64) -> String {
    let at = Timestamp::from_millis(day * DAY).map(|at| at.to_string());
    at.map(|at| at[..10].to_owned()).unwrap_or_default()
}

/// The latest beginning of a chart that is not too long.
pub fn earliest(until: Timestamp) -> Timestamp {
    until.minus(Span::from_millis(MOST_DAYS * DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: i64, hour: i64) -> Timestamp {
        Timestamp::from_millis((20_000 + day) * DAY + hour * 3_600_000).expect("a time")
    }

    fn life(id: &str, created: Timestamp, changes: &[(Timestamp, Status, Status)]) -> StatusHistory {
        let status = changes.last().map_or(Status::Open, |(_, _, new)| *new);
        let id = id.parse().expect("an id");
        StatusHistory { id, created_at: created, status, closed_at: None, changes: changes.to_vec() }
    }

    #[test]
    fn each_day_counts_what_there_was_at_its_end() {
        use Status::{Closed, InProgress, Open};
        let claimed = [(at(1, 2), Open, InProgress), (at(2, 8), InProgress, Closed)];
        let again = [(at(1, 3), Open, Closed), (at(2, 1), Closed, Open)];
        let lives = [
            life("pn-1", at(0, 1), &claimed),
            life("pn-2", at(1, 1), &again),
            StatusHistory { closed_at: Some(at(-9, 0)), status: Closed, ..life("pn-3", at(-20, 0), &[]) },
            life("pn-4", at(2, 23), &[]),
        ];
        let chart = chart(&lives, at(0, 0), at(2, 23));
        let counts: Vec<_> = chart.days.iter().map(|day| [day.open, day.in_progress, day.closed]).collect();
        assert_eq!(counts, [[1, 0, 1], [0, 1, 2], [2, 0, 2]]);
        let events: Vec<_> = chart.days.iter().map(|day| (day.created, day.done)).collect();
        assert_eq!(events, [(1, 0), (1, 1), (1, 1)]);
        assert_eq!(chart.days[0].day, "2024-10-04");
        assert_eq!(
            (chart.closed.len(), chart.closed[0].took_ms),
            (1, 30 * 3_600_000),
            "what was opened again is not closed"
        );
        assert_eq!((chart.median_ms, chart.p85_ms), (Some(108_000_000), Some(108_000_000)));
    }
}
