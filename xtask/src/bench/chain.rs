//! `pn dep add`, which must look for cycles, on a long chain and on next to nothing.

use serde_json::{Value, json};

use super::Plan;
use super::data::Dice;
use super::lab::{Lab, Project, output};
use super::report::{Row, Target, grouped};
use super::samples::{Contender, Samples, alternate};
use crate::Result;

const LENGTH: usize = 5_000;
const TARGET: Target = Target::AtMost(2.0);

/// A store and the ids of a chain in it: each waits for the one before. The last id stands alone.
struct Chain {
    project: Project,
    ids: Vec<String>,
}

impl Chain {
    fn build(lab: &Lab, name: &str, length: usize) -> Result<Self> {
        let project = lab.empty_store(name)?;
        let mut dice = Dice::new(17);
        let mut lines = String::new();
        for n in 0..=length {
            let deps = if n == 0 || n == length { Vec::new() } else { vec![format!("@c{}", n - 1)] };
            let line = json!({"op": "issue.create", "title": dice.title(), "issue_type": "task",
                "as": format!("c{n}"), "deps": deps});
            lines.push_str(&format!("{line}\n"));
        }
        let file = project.dir.join("batch.jsonl");
        std::fs::write(&file, lines)?;
        let made = output(&mut lab.pn(&project, &["batch", "batch.jsonl", "--json"]))?;
        let mut ids = Vec::new();
        for line in made.lines() {
            let issue: Value = serde_json::from_str(line)?;
            ids.push(issue["id"].as_str().ok_or_else(|| format!("pn batch said {line}"))?.to_owned());
        }
        if ids.len() != length + 1 {
            return Err(format!("pn batch made {} issues, not {}", ids.len(), length + 1).into());
        }
        Ok(Self { project, ids })
    }

    /// Adds one and the same dependency time and again; removing it is not timed.
    fn adding<'a>(&'a self, lab: &'a Lab, child: usize, parent: usize) -> Contender<'a> {
        let (child, parent) = (&self.ids[child], &self.ids[parent]);
        Contender::new(move |run| {
            if run > 0 {
                output(&mut lab.pn(&self.project, &["dep", "remove", child, parent]))?;
            }
            Ok(lab.pn(&self.project, &["dep", "add", child, parent]))
        })
    }

    /// Tries to close a cycle.
    fn closing<'a>(&'a self, lab: &'a Lab, child: usize, parent: usize) -> Contender<'a> {
        let (child, parent) = (&self.ids[child], &self.ids[parent]);
        Contender::refused(move |_| Ok(lab.pn(&self.project, &["dep", "add", child, parent])))
    }
}

pub(super) fn rows(lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
    let long = Chain::build(lab, "chain", LENGTH)?;
    // Two issues, one of which waits for the other once the dependency is added.
    let two = Chain::build(lab, "two", 1)?;
    let pair = Chain::build(lab, "pair", 2)?;
    let (alone, last) = (LENGTH, LENGTH - 1);
    let [end, nothing_end] = alternate(plan.runs, [long.adding(lab, alone, last), two.adding(lab, 1, 0)])?;
    let [middle, nothing_middle] =
        alternate(plan.runs, [long.adding(lab, LENGTH / 2 + 100, LENGTH / 2 - 100), two.adding(lab, 1, 0)])?;
    let [refused, nothing, refused_pair] =
        alternate(plan.runs, [long.closing(lab, 0, last), two.adding(lab, 1, 0), pair.closing(lab, 0, 1)])?;
    let row = |place: &str, ours: &Samples, reference: &Samples, about: &str| {
        let name = format!("`pn dep add` {place}");
        let ratio = ours.median() / reference.median();
        Row::new(name, ours.describe(), reference.describe(), ratio, TARGET, about)
    };
    let length = grouped(LENGTH);
    Ok(vec![
        row(
            "at the end of a chain",
            &end,
            &nothing_end,
            &format!(
                "A new issue comes to wait for the last of a chain of {length}, against the same in a store of two"
            ),
        ),
        row(
            "inside a chain",
            &middle,
            &nothing_middle,
            &format!(
                "An issue just behind the middle of a chain of {length} comes to wait for one just before it, which is \
                 the longest search there is, against adding a dependency in a store of two"
            ),
        ),
        row(
            "closing a cycle",
            &refused,
            &nothing,
            &format!(
                "The first of a chain of {length} is refused to wait for the last, against adding a dependency in a \
                 store of two"
            ),
        ),
        row(
            "closing a cycle, both refused",
            &refused,
            &refused_pair,
            "The same refusal against that of a cycle of two: neither has anything to write, so only the search differs",
        ),
    ])
}
