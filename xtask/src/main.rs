//! Runs the tasks of this repository; `cargo xtask` lists them. Each task has its own module.

mod bench;
mod guide;
mod layers;
mod lines;
mod names;
mod repo;
mod soak;
mod test;
mod tidy;
mod tools;
mod writes;

use std::error::Error;
use std::process::ExitCode;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "\
Tasks of this repository.

Usage: cargo xtask <TASK>

  test   everything that decides whether work lands; installs missing tools first
           -- ARGS       only these tests, as arguments of cargo nextest run: -- -p pensa labels
  tidy   only the checks of the repository's structure
           --names       rewrite the list of type names that may be shared, in xtask/src/names.rs
  lines  source lines of each crate, without tests
  bench  measure the work of agents, and compare with sqlite3, bare programs and SQLiteSession of openai-agents
           --quick       fewer and shorter runs
           --only GROUP  only one group: team (on PostgreSQL), embedded (on SQLite), local (processes and the
                         daemon), transfer (import and export), agents (their entries), records, stream (events to
                         many followers), learnings, recall (--data DIR), redaction, triage, tui,
                         software (that of agents) or instructions (counted by callgrind)
           --pn FILE     measure this binary instead of building one
           --write       put the results into docs/benchmarks.md
  soak   random histories, for hours
           --histories COUNT  of three git clones [default: 10000]
           --meetings COUNT   of three stores and a server [default: 0]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        [] | ["help" | "-h" | "--help", ..] | [_, "-h" | "--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        ["test"] => test::run(),
        ["test", "--", which @ ..] => test::tests(which),
        ["tidy"] => tidy::run(),
        ["tidy", "--names"] => tidy::rewrite_names(),
        ["lines"] => lines::run(),
        ["bench", flags @ ..] => bench::run(flags),
        ["soak", flags @ ..] => soak::run(flags),
        _ => Err(format!("no such task: {}\n\n{USAGE}", args.join(" ")).into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::FAILURE
        }
    }
}
