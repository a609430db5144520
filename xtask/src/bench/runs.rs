//! What it costs to keep a record of a command that does nothing.

use super::Plan;
use super::lab::{Lab, output};
use super::report::{Row, Target};
use super::samples::{Contender, alternate};
use crate::Result;

/// Most milliseconds that a record may add to a command.
const MOST: f64 = 15.0;

/// Runs that are there already.
const BEFORE: usize = 50;

pub(super) fn rows(lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
    let (store, bare) = (lab.empty_store("runs")?, lab.empty_store("runs-bare")?);
    let exec = || lab.pn(&store, &["run", "exec", "--", "true"]);
    for _ in 0..BEFORE {
        output(&mut exec())?;
    }
    output(&mut lab.sqlite3(&bare, &[], "CREATE TABLE kept (id INTEGER PRIMARY KEY, at TEXT NOT NULL, what TEXT)"))?;
    let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";
    let insert = "INSERT INTO kept (at, what) VALUES (datetime(), hex(zeroblob(300)))";
    let reference = || {
        let mut sqlite3 =
            lab.sqlite3(&bare, &["-cmd", ".dbconfig no_ckpt_on_close on"], &format!("{pragmas} {insert}"));
        sqlite3.args([".shell true", insert]);
        sqlite3
    };
    let [ours, sqlite, alone] = alternate(
        plan.runs,
        [Contender::new(|_| Ok(exec())), Contender::new(|_| Ok(reference())), Contender::new(|_| Ok(lab.bare_true()))],
    )?;
    let made = output(&mut lab.pn(&store, &["run", "list", "--status", "succeeded", "-q"]))?;
    if made.lines().count() != BEFORE + plan.runs + 3 {
        return Err(format!("{} runs were recorded", made.lines().count()).into());
    }
    for project in [&store, &bare] {
        lab.discard(project)?;
    }
    let added = ours.median() - alone.median();
    Ok(vec![
        Row::new(
            "`pn run exec -- true`".into(),
            ours.describe(),
            sqlite.describe(),
            ours.median() / sqlite.median(),
            None,
            "`pn run exec -- true` (the repository found, a run recorded, its output kept, its end recorded) against one \
             `sqlite3` process that inserts a row, runs `true` and inserts another, both rows durable with the same \
             pragmas",
        ),
        Row::new(
            "`pn run exec -- true`, added".into(),
            format!("{added:.2} ms"),
            format!("{MOST} ms"),
            added / MOST,
            Target::AtMost(1.0),
            "What `pn run exec -- true` takes longer than `true` alone, against what it may",
        ),
    ])
}
