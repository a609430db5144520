//! Records: many made at once and few found among many, by the library against hand-written SQL.

use std::fs;

use serde_json::Value;

use super::BenchPlan;
use super::lab::{Lab, output};
use super::report::{BenchTarget, ReportRow, grouped, rates};
use super::samples::median;
use crate::Result;

/// Records that are made at once.
const MADE: usize = 100_000;
/// Records of the store in which a hundred are looked for, and how often that is done.
const RECORDS: usize = 1_000_000;
const QUESTIONS: usize = 300;

/// What both sides took, one of each for every round.
#[derive(Default)]
struct RoundTimes {
    creates: Vec<f64>,
    queries: Vec<f64>,
}

impl RoundTimes {
    fn measure(&mut self, lab: &Lab, side: &str, records: usize) -> Result {
        // A repository of its own: a store keeps its journal in the git directory around it, which would be that of
        // the workspace.
        let dir = lab.repository(&format!("records-{side}"), 0)?.dir;
        let (made, records, questions) = (MADE.to_string(), records.to_string(), QUESTIONS.to_string());
        let args = [side.as_ref(), dir.as_os_str(), made.as_ref(), records.as_ref(), questions.as_ref()];
        let report: Value = serde_json::from_str(&output(&mut lab.example("records", &args)?)?)?;
        let number = |name: &str| report[name].as_f64().ok_or_else(|| format!("no {name} in {report}"));
        self.creates.push(number("create")?);
        self.queries.push(number("query")?);
        Ok(fs::remove_dir_all(dir)?)
    }
}

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let [mut ours, mut bare] = [RoundTimes::default(), RoundTimes::default()];
    for _ in 0..plan.rounds {
        ours.measure(lab, "ours", MADE)?;
        bare.measure(lab, "bare", MADE)?;
    }
    let [mut our_many, mut many] = [RoundTimes::default(), RoundTimes::default()];
    our_many.measure(lab, "ours", RECORDS)?;
    many.measure(lab, "bare", RECORDS)?;
    let report = |seconds: f64| format!("{:.3} ms", seconds * 1000.0);
    let (our_query, query) = (median(&our_many.queries), median(&many.queries));
    Ok(vec![
        rates(
            format!("`create_many` of {} records", grouped(MADE)),
            &ours.creates,
            &bare.creates,
            BenchTarget::AtLeast(0.5),
            "`create_many` of `pensa-taskstore` (checked, logged, in the journal and in a file besides) against one \
             SQLite transaction that inserts the same rows and index rows",
        ),
        ReportRow::new(
            format!("100 records of {}", grouped(RECORDS)),
            report(our_query),
            report(query),
            our_query / query,
            BenchTarget::AtMost(2.0),
            "`query` of `pensa-taskstore` by a field with an index, which has 100 records of another value every time, \
             against hand-written SQL on the same tables; both make values of a Rust type of them",
        ),
    ])
}
