//! Checks the clock: times in the future, and events whose times go backwards.

use pensa_core::id::IssueId;
use pensa_core::ops::store::{Report, Severity};
use pensa_core::{Result, Span, Timestamp};

use super::report_problem;
use crate::context::Context;
use crate::db::{Tx, params};

/// Clock differences between machines up to this are normal.
const MAX_CLOCK_SKEW: Span = Span::from_millis(60_000);
/// Most jumps reported.
const MAX_REPORTED: usize = 5;
/// Most backward steps read.
const MAX_STEPS: i64 = 1000;

pub(super) fn clock(cx: &Context<'_>, tx: &Tx<'_>, report: &mut Report) -> Result<()> {
    let limit = cx.now.plus(MAX_CLOCK_SKEW);
    let ahead = tx.query_one(
        "SELECT id, updated_at FROM issues WHERE updated_at > ?1 ORDER BY updated_at DESC LIMIT 1",
        params![limit],
        |row| Ok((row.parse::<IssueId>(0)?, row.parse::<Timestamp>(1)?)),
    )?;
    if let Some((id, at)) = ahead {
        let message = format!("{id} was changed at {at}, which is still to come: see whether the clock is right");
        report_problem(report, "clock", Severity::Warning, message, Some(&id), false);
    }
    // Times are stored in one format, so they sort as text.
    let steps = tx.query(
        "SELECT id, created_at, earlier FROM (
             SELECT id, created_at, LAG(created_at) OVER (ORDER BY id) AS earlier FROM events) AS steps
         WHERE created_at < earlier OR created_at > ?1 ORDER BY id DESC LIMIT ?2",
        params![limit, MAX_STEPS],
        |row| Ok((row.int(0)?, row.parse::<Timestamp>(1)?, row.parse_or_null::<Timestamp>(2)?)),
    )?;
    let mut reported = 0;
    for (event, at, earlier) in steps {
        let message = match earlier {
            _ if at > limit => format!("event {event} was logged at {at}, which is still to come"),
            Some(earlier) if at.plus(MAX_CLOCK_SKEW) < earlier => {
                format!("event {event} was logged at {at}, after one at {earlier}: the clock went backwards")
            }
            _ => continue,
        };
        reported += 1;
        if reported <= MAX_REPORTED {
            report_problem(report, "clock", Severity::Warning, message, None, false);
        }
    }
    Ok(())
}
