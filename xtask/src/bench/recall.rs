//! Recall: how well it finds what answers a question, on public data, and how long it takes among 100,000 texts.
//!
//! The data is not ours to keep: `RECALL_DATA` names a directory with BEAM (`BEAM/chats` of mohammadtavakoli78/BEAM) and
//! MemoryCode (`MemoryCode/dataset` of for-ai/MemoryCode). Without it those rows are left out.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::time::Instant;

use serde_json::json;

use super::BenchPlan;
use super::data::{self, Dice};
use super::lab::{Lab, output};
use super::report::{BenchTarget, ReportRow, grouped};
use super::samples::{Contender, alternate};
use crate::Result;

/// The environment variable with the directory of the public data.
const DATA: &str = "RECALL_DATA";
/// Texts of the store: half of them entries of a session.
const TEXTS: usize = 100_000;
const QUESTIONS: usize = 50;

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let mut rows = match std::env::var_os(DATA) {
        Some(data) => quality(lab, data)?,
        None => {
            println!("skipped: {DATA} names no directory with BEAM and MemoryCode");
            Vec::new()
        }
    };
    rows.extend(among_many(lab, plan)?);
    Ok(rows)
}

/// A line of what the example prints: a ranking on half of a set.
struct Measured {
    set: String,
    half: String,
    ranking: String,
    questions: String,
    /// recall_any and recall_all at 5, 10 and 20, and MRR@10, in percent
    figures: Vec<f64>,
}

impl Measured {
    fn parse(line: &str) -> Option<Self> {
        let [set, half, ranking, questions, figures @ ..] = &line.split('\t').collect::<Vec<_>>()[..] else {
            return None;
        };
        let figures: Vec<f64> = figures.iter().filter_map(|figure| figure.parse().ok()).collect();
        let [set, half, ranking, questions] = [set, half, ranking, questions].map(|text| (*text).to_owned());
        (figures.len() == 7).then_some(Self { set, half, ranking, questions, figures })
    }

    fn shown(&self) -> String {
        let list = |range: std::ops::Range<usize>| {
            self.figures[range].iter().map(|figure| format!("{figure:.1}")).collect::<Vec<_>>().join(" ")
        };
        format!("{} any {}, all {}, MRR {}", self.ranking, list(0..3), list(3..6), list(6..7))
    }
}

/// Recall on public data, held-out half, against the better of BM25 and FTS5.
fn quality(lab: &Lab, data: OsString) -> Result<Vec<ReportRow>> {
    let text = output(&mut lab.example("recall_quality", &[&data])?)?;
    let lines: Vec<Measured> = text.lines().filter_map(Measured::parse).collect();
    let mut rows = Vec::new();
    for ours in lines.iter().filter(|line| line.ranking == "pn recall") {
        let others: Vec<&Measured> = lines
            .iter()
            .filter(|line| line.set == ours.set && line.half == ours.half && line.ranking != ours.ranking)
            .collect();
        let gain =
            |at: usize| others.iter().map(|other| ours.figures[at] - other.figures[at]).fold(f64::INFINITY, f64::min);
        let reference = others.iter().map(|other| other.shown()).collect::<Vec<_>>().join("; ");
        let least = gain(1).min(gain(4));
        rows.push(ReportRow::new(
            format!("{}, {}", ours.set, ours.half),
            ours.shown(),
            reference,
            least,
            (ours.half == "held out").then_some(BenchTarget::AtLeast(3.0)),
            format!(
                "{} questions; recall_any and recall_all at 5, 10 and 20, and MRR@10, in percent; the ratio is how many points \
                 recall_any@10 and recall_all@10 are at least above the others",
                ours.questions
            ),
        ));
    }
    for line in text.lines() {
        if let [set, "size", bytes, index, took] = line.split('\t').collect::<Vec<_>>()[..] {
            let (bytes, index): (f64, f64) = (bytes.parse()?, index.parse()?);
            let shown = format!("{:.2} of the text, {took} ms a question", index / bytes);
            rows.push(ReportRow::limited(
                format!("{set}: index"),
                shown,
                index / bytes,
                Some((1.2, "")),
                "the size of the index in memory, and the time of a ranking without reading the texts",
            ));
        }
    }
    Ok(rows)
}

/// `pn recall` as a process among many texts.
fn among_many(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let start = Instant::now();
    let store = lab.repository("recall", TEXTS)?;
    fs::create_dir(store.dir.join(".pensa"))?;
    let mut lines = BufWriter::new(File::create(store.dir.join(".pensa/learnings.jsonl"))?);
    let mut entries = BufWriter::new(File::create(store.dir.join("entries.jsonl"))?);
    let mut dice = Dice::new(51);
    let mut bytes = 0;
    for n in 0..TEXTS / 2 {
        let learning = json!({"id": data::id(n).replace("pn-", "ln-"), "kind": "pattern", "text": dice.title(),
            "impact": "medium", "revision": 1, "actor": "bench", "created_at": data::time(n), "updated_at": data::time(n)});
        writeln!(lines, "{learning}")?;
        let said = dice.description();
        bytes += said.len();
        writeln!(entries, "{}", json!({"type": "user_message", "text": said}))?;
    }
    lines.flush()?;
    entries.flush()?;
    output(&mut lab.pn(&store, &["init"]))?;
    output(&mut lab.pn(&store, &["agent", "create", "--type", "user", "--name", "bench"]))?;
    let mut append = lab.pn(&store, &["session", "append", "bench", "-"]);
    append.stdin(File::open(store.dir.join("entries.jsonl"))?);
    let appending = Instant::now();
    output(&mut append)?;
    println!(
        "made {TEXTS} texts in {:.1} s; {} bytes of entries appended in {:.1} s",
        start.elapsed().as_secs_f64(),
        bytes,
        appending.elapsed().as_secs_f64()
    );
    let mut dice = Dice::new(3);
    let questions: Vec<String> = (0..QUESTIONS).map(|_| dice.question()).collect();
    let ask =
        |run: usize| lab.pn(&store, &["recall", &questions[run % QUESTIONS], "--in", "learnings,sessions", "--json"]);
    let [took] = alternate(plan.runs, [Contender::new(|run| Ok(ask(run)))])?;
    lab.discard(&store)?;
    Ok(vec![ReportRow::limited(
        format!("`pn recall` at {}", grouped(TEXTS)),
        took.describe(),
        took.median(),
        Some((40.0, " ms")),
        "`pn recall --in learnings,sessions --json` of three words, each of which thousands of texts have; half of the texts \
         are entries of a session",
    )])
}
