//! Counts the instructions of commands with callgrind, which do not depend on the load of the machine.

use std::process::Command;

use super::lab::{BenchProject, Lab};
use super::processes::{READING, show_sql};
use super::report::{BenchTarget, ReportRow, grouped};
use super::{BenchPlan, data};
use crate::{Result, tools};

/// Issues in the store. The counts hardly depend on it.
const SIZE: usize = 1_000;

/// Frequent commands, each with its limit relative to the instructions of `sqlite3` showing an issue.
const COMMANDS: [(&str, &[&str], f64); 6] = [
    ("pn show", &["show", "ID", "--json"], 1.5),
    ("pn ready", &["ready", "-n", "10", "--json"], 1.6),
    ("pn create", &["create", "a title that nobody has", "--json"], 2.5),
    ("pn update --claim", &["update", "ID", "--claim", "--json"], 2.5),
    ("pn close", &["close", "ID", "--json"], 2.5),
    ("pn undo", &["undo", "--json"], 3.5),
];

pub(super) fn rows(lab: &Lab, _: &BenchPlan) -> Result<Vec<ReportRow>> {
    tools::install_packages(&[("valgrind", "valgrind")])?;
    let store = lab.filled_store(SIZE)?;
    let id = data::id(7);
    let reference = counted(lab.sqlite3(&store, &READING, &show_sql(&id)))?;
    COMMANDS.iter().map(|(name, args, most)| row(lab, &store, &id, reference, (name, args, *most))).collect()
}

fn row(lab: &Lab, store: &BenchProject, id: &str, reference: u64, what: (&str, &[&str], f64)) -> Result<ReportRow> {
    let (name, args, most) = what;
    let args: Vec<&str> = args.iter().map(|arg| if *arg == "ID" { id } else { arg }).collect();
    let ours = counted(lab.pn(store, &args))?;
    Ok(ReportRow::new(
        format!("instructions of `{name}`"),
        format_count(ours),
        format_count(reference),
        ours as f64 / reference as f64,
        BenchTarget::AtMost(most),
        format!(
            "What callgrind counts of `{}` in a store of {} issues against `sqlite3` showing one",
            what.1.join(" "),
            grouped(SIZE)
        ),
    ))
}

fn format_count(count: u64) -> String {
    format!("{:.2} million", count as f64 / 1e6)
}

/// Runs a command under callgrind.
fn counted(command: Command) -> Result<u64> {
    let mut counting = Command::new("valgrind");
    counting.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(command.get_program());
    counting.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => counting.env(name, value),
            None => counting.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        counting.current_dir(dir);
    }
    let output = counting.output().map_err(|e| format!("valgrind: {e}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{counting:?} failed: {stderr}").into());
    }
    let count = stderr.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    count.ok_or_else(|| format!("callgrind did not count: {stderr}").into())
}
