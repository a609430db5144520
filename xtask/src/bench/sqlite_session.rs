//! Pensa as the memory of a Python program, against `SQLiteSession` of openai-agents.
//!
//! The times are taken by `sqlite_session.py`, in one interpreter, so that neither side has to start one.

use std::fs;

use pensa_testkit::pypi::Package;
use serde_json::Value;

use super::Plan;
use super::entries::Conversation;
use super::lab::{Lab, output};
use super::report::{Row, Target, rates};
use super::server::Server;
use crate::Result;

const OPENAI_AGENTS: Package = Package { name: "openai-agents", version: "0.24.0", with_needs: true };
const SCRIPT: &str = include_str!("sqlite_session.py");
/// Items that are added one by one, and then asked for again and again.
const ITEMS: usize = 1_000;
/// How SQLite numbers the mode in which a commit waits for the disk.
const FULL: i64 = 2;

pub(super) fn rows(lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
    let Package { name, version, .. } = OPENAI_AGENTS;
    let packages = OPENAI_AGENTS.install().map_err(|e| format!("cannot fetch {name} {version} from PyPI: {e}"))?;
    let items = lab.dir().join("items.jsonl");
    fs::write(&items, Conversation::new(0).lines(ITEMS))?;
    let store = lab.empty_store("memory")?;
    let daemon = Server::daemon(lab, &store)?;
    let mut python = lab.python(&packages, SCRIPT);
    python.arg(&items).arg(lab.dir().join("session.sqlite"));
    python.args([daemon.address.to_string(), plan.rounds.to_string()]);
    let told: Value = serde_json::from_str(&output(&mut python)?)?;
    daemon.stop()?;
    lab.discard(&store)?;
    let pragmas = &told["pragmas"];
    if pragmas["journal_mode"] != "wal" || pragmas["synchronous"] != FULL {
        return Err(format!("SQLiteSession does not wait for the disk as Pensa does: {pragmas}").into());
    }
    let about = |what: &str| {
        format!(
            "{what}, one at a time, in one Python process: `SQLiteSession` of {name} {version} on a file, with the \
             settings it has by itself (journal_mode WAL, synchronous FULL), against Pensa's daemon over one kept-alive \
             connection of `http.client`; either is called by way of `asyncio.to_thread`"
        )
    };
    let row = |what: &str, about: &str| -> Result<Row> {
        let (ours, reference) = (numbers(&told["ours"], what)?, numbers(&told["reference"], what)?);
        Ok(rates(format!("`SQLiteSession`: {what}"), &ours, &reference, Target::AtLeast(1.0), about))
    };
    Ok(vec![
        row("add", &about("Items of about 300 bytes added durably"))?,
        row("get", &about("All 1,000 items of a session read, as Python objects that are equal to those added"))?,
    ])
}

/// The numbers of this name, one for each round.
fn numbers(rounds: &Value, name: &str) -> Result<Vec<f64>> {
    let found: Option<Vec<f64>> =
        rounds.as_array().and_then(|rounds| rounds.iter().map(|round| round[name].as_f64()).collect());
    found.filter(|found| !found.is_empty()).ok_or_else(|| format!("no rates of {name} in {rounds}").into())
}
