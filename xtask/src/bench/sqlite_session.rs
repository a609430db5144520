//! Pensa as the memory of a program that stays, against `SQLiteSession` of openai-agents.
//!
//! Both are libraries in the process of their caller; rows without a target report what a daemon costs instead.
//! `sqlite_session.py` times what happens in Python, so that the start of an interpreter does not count.

use std::fs;
use std::time::Instant;

use pensa_testkit::pypi::Package;
use serde_json::{Value, json};

use super::BenchPlan;
use super::agents;
use super::entries::Conversation;
use super::lab::{Lab, output};
use super::load::{self, KeptAliveConnection};
use super::report::{BenchTarget, ReportRow, rates};
use super::server::BenchServer;
use crate::Result;

const OPENAI_AGENTS: Package = Package { name: "openai-agents", version: "0.24.0", with_dependencies: true };
const SCRIPT: &str = include_str!("sqlite_session.py");
/// Items that are added one by one, and how often all of them are then read.
const ITEMS: usize = 1_000;
const GETS: usize = 100;
/// How SQLite numbers the mode in which a commit waits for the disk.
const FULL: i64 = 2;

/// Rates of one kind of session, one of each for every round.
#[derive(Default)]
struct Rates {
    add: Vec<f64>,
    get: Vec<f64>,
}

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let Package { name, version, .. } = OPENAI_AGENTS;
    let packages = OPENAI_AGENTS.install().map_err(|e| format!("cannot fetch {name} {version} from PyPI: {e}"))?;
    let items = lab.dir().join("items.jsonl");
    fs::write(&items, Conversation::new(0).lines(ITEMS))?;
    let store = lab.empty_store("memory")?;
    let daemon = BenchServer::daemon(lab, &store)?;
    let embedded = lab.empty_store("own-memory")?;
    let mut sides: [Rates; 4] = Default::default();
    for round in 0..plan.rounds {
        let mut python = lab.python(&packages, SCRIPT);
        python.arg(&items).arg(lab.dir().join("session.sqlite")).arg(format!("session-{round}"));
        python.args([daemon.address.to_string(), GETS.to_string()]);
        let report: Value = serde_json::from_str(&output(&mut python)?)?;
        let pragmas = &report["pragmas"];
        if pragmas["journal_mode"] != "wal" || pragmas["synchronous"] != FULL {
            return Err(format!("SQLiteSession does not wait for the disk as Pensa does: {pragmas}").into());
        }
        let [ours, theirs, over_http, from_python] = &mut sides;
        let (store, gets) = (embedded.dir.join(".pensa"), GETS.to_string());
        let own = &mut lab.example("embedded_session", &[items.as_ref(), store.as_ref(), gets.as_ref()])?;
        ours.take(&serde_json::from_str(&output(own)?)?)?;
        over_http.measure(&daemon)?;
        theirs.take(&report["sqlite_session"])?;
        from_python.take(&report["pensa"])?;
    }
    daemon.stop()?;
    lab.discard(&store)?;
    lab.discard(&embedded)?;
    Ok(result_rows(&sides))
}

impl Rates {
    /// Takes what the script measured.
    fn take(&mut self, report: &Value) -> Result {
        let rate = |name: &str| report[name].as_f64().ok_or_else(|| format!("no rate of {name} in {report}"));
        self.add.push(rate("add")?);
        self.get.push(rate("get")?);
        Ok(())
    }

    /// Does the same as the script over one connection from here.
    fn measure(&mut self, daemon: &BenchServer) -> Result {
        let entries = Conversation::new(0).next(ITEMS);
        let items: Vec<Value> = entries.iter().map(|entry| entry["data"].clone()).collect();
        let agent = agents::create(daemon)?;
        let mut connection = KeptAliveConnection::open(daemon.address)?;
        let start = Instant::now();
        for entry in &entries {
            let body = json!({"entries": [entry]});
            connection.ask(&load::post(daemon.address, &format!("/agents/{agent}/entries"), &body))?;
        }
        self.add.push(ITEMS as f64 / start.elapsed().as_secs_f64());
        let (start, mut got) = (Instant::now(), Vec::new());
        for _ in 0..GETS {
            let answer = connection.ask(&load::get(daemon.address, &format!("/sessions/{agent}/entries")))?;
            got = answer.to_vec();
        }
        self.get.push(GETS as f64 / start.elapsed().as_secs_f64());
        let got: Value = serde_json::from_slice(&got)?;
        let same = got.as_array().is_some_and(|got| got.iter().map(|entry| &entry["data"]).eq(&items));
        if same { Ok(()) } else { Err("Pensa gave back other items than it was given".into()) }
    }
}

fn result_rows([ours, theirs, over_http, from_python]: &[Rates; 4]) -> Vec<ReportRow> {
    let Package { name, version, .. } = OPENAI_AGENTS;
    let what = |kind: &str| match kind {
        "add" => "Items of about 300 bytes added durably, one at a time",
        _ => "All 1,000 items of a session read, time and again",
    };
    let row = |kind: &str, client: &str, ours: &[f64], theirs: &[f64], target: Option<BenchTarget>, about: &str| {
        let about = format!(
            "{}: {about}, against `SQLiteSession` of {name} {version} in Python on a file, with the settings that it \
             has by itself (journal_mode WAL, synchronous FULL)",
            what(kind)
        );
        rates(format!("`SQLiteSession`: {kind}{client}"), ours, theirs, target, &about)
    };
    let own = "the engine in the process of its caller, which is a Rust program";
    let near = "Pensa's daemon over one kept-alive connection of this bench, which does not parse the \
                answers; reported without a target";
    let python = "Pensa's daemon from the same Python process, over one kept-alive connection of `http.client`, \
                  reported without a target";
    let target = Some(BenchTarget::AtLeast(1.0));
    vec![
        row("add", "", &ours.add, &theirs.add, target, own),
        row("get", "", &ours.get, &theirs.get, target, own),
        row("add", ", over HTTP", &over_http.add, &theirs.add, None, near),
        row("get", ", over HTTP", &over_http.get, &theirs.get, None, near),
        row("add", ", from Python", &from_python.add, &theirs.add, None, python),
        row("get", ", from Python", &from_python.get, &theirs.get, None, python),
    ]
}
