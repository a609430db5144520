//! What was found out: `pn recall` among many learnings against a bare full-text query.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::time::Instant;

use serde_json::{Value, json};

use super::BenchPlan;
use super::data::{self, Dice};
use super::lab::{BenchProject, Lab, output};
use super::report::{BenchTarget, ReportRow, grouped};
use super::samples::{Contender, alternate};
use crate::Result;

/// Learnings of the store.
const LEARNINGS: usize = 50_000;
/// Questions, each of three words that thousands of learnings have.
const QUESTIONS: usize = 50;

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    Ok(vec![recall(lab, plan)?])
}

/// A store with learnings, and beside it a database with a full-text table of the same texts.
fn fill(lab: &Lab) -> Result<[BenchProject; 2]> {
    let start = Instant::now();
    let ours = lab.repository("learnings", LEARNINGS)?;
    let reference = BenchProject { dir: lab.dir().join("full-text"), size: LEARNINGS };
    fs::create_dir(ours.dir.join(".pensa"))?;
    fs::create_dir_all(reference.dir.join(".pensa"))?;
    let mut lines = BufWriter::new(File::create(ours.dir.join(".pensa/learnings.jsonl"))?);
    let mut rows = BufWriter::new(File::create(reference.dir.join("rows.sql"))?);
    writeln!(rows, "BEGIN; CREATE VIRTUAL TABLE learnings USING fts5(id UNINDEXED, text);")?;
    let mut dice = Dice::new(50);
    for n in 0..LEARNINGS {
        let (id, text) = (data::id(n).replace("pn-", "ln-"), dice.title());
        let learning = json!({"id": id, "kind": "pattern", "text": text, "impact": "medium", "revision": 1,
            "actor": "bench", "created_at": data::time(n), "updated_at": data::time(n)});
        writeln!(lines, "{learning}")?;
        writeln!(rows, "INSERT INTO learnings VALUES ('{id}', '{text}');")?;
    }
    writeln!(rows, "COMMIT;")?;
    lines.flush()?;
    rows.flush()?;
    output(&mut lab.pn(&ours, &["init"]))?;
    let read = format!(".read {}", reference.dir.join("rows.sql").display());
    output(&mut lab.sqlite3(&reference, &[], &read))?;
    println!("made {LEARNINGS} learnings in {:.1} s", start.elapsed().as_secs_f64());
    Ok([ours, reference])
}

fn recall(lab: &Lab, plan: &BenchPlan) -> Result<ReportRow> {
    let [store, bare] = fill(lab)?;
    let mut dice = Dice::new(3);
    let questions: Vec<String> = (0..QUESTIONS).map(|_| dice.question()).collect();
    let ours = |run: usize| lab.pn(&store, &["recall", &questions[run % QUESTIONS], "--json"]);
    let reference = |run: usize| {
        let words = questions[run % QUESTIONS].replace(' ', " OR ");
        let sql = format!("SELECT id, text FROM learnings WHERE learnings MATCH '{words}' ORDER BY rank LIMIT 10");
        lab.sqlite3(&bare, &["-json"], &sql)
    };
    for mut command in [ours(0), reference(0)] {
        let hits: Value = serde_json::from_str(&output(&mut command)?)?;
        if hits.as_array().map(Vec::len) != Some(10) {
            return Err(format!("{command:?} found not ten of {LEARNINGS} learnings").into());
        }
    }
    let [ours, reference] =
        alternate(plan.runs, [Contender::new(|run| Ok(ours(run))), Contender::new(|run| Ok(reference(run)))])?;
    for project in [&store, &bare] {
        lab.discard(project)?;
    }
    Ok(ReportRow::new(
        format!("`pn recall` at {}", grouped(LEARNINGS)),
        ours.describe(),
        reference.describe(),
        ours.median() / reference.median(),
        BenchTarget::AtMost(2.0),
        "`pn recall --json` of three words, each of which thousands of learnings have, against `sqlite3 -json` asking \
         an FTS5 table of the same texts for the ten best rows with any of these words; another question every time",
    ))
}
