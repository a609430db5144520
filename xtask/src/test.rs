//! `cargo xtask test`: runs all checks that a change must pass, and stops at the first failure.

use std::process::{Command, Stdio};
use std::time::Instant;

use pensa_testkit::postgres::{Cluster, SHARED_CLUSTER};

use crate::repo::cargo;
use crate::{Result, tidy, tools};

/// The client crates, built without the engine.
const HTTP_ONLY: &[&str] = &["--package", "pensa-client", "--package", "pensa-taskstore", "--no-default-features"];

pub(crate) fn run() -> Result {
    let start = Instant::now();
    step("tools", tools::install_missing)?;
    cargo_step(&["fmt", "--all", "--check"])?;
    cargo_step(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    cargo_step(&["clippy", "--package", "pensa", "--no-default-features", "--", "-D", "warnings"])?;
    cargo_step(&[&["clippy"], HTTP_ONLY, &["--", "-D", "warnings"]].concat())?;
    step("cargo xtask tidy", tidy::run)?;
    cargo_step(&["test", "--doc", "--workspace"])?;
    tests(&["--workspace", "--no-fail-fast"])?;
    cargo_step(&[&["test"], HTTP_ONLY, &["--test", "http_only", "--", "--ignored"]].concat())?;
    if has("deny") {
        cargo_step(&["deny", "check", "bans", "licenses", "sources"])?;
    } else {
        println!("== skipped: cargo deny is not installed (cargo install cargo-deny --locked)");
    }
    println!("== all passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Runs tests with one PostgreSQL cluster. With nextest, each test is a process and would start its own.
pub(crate) fn tests(which: &[&str]) -> Result {
    let postgres = Cluster::start();
    let all: &[&str] = if has("nextest") { &["nextest", "run"] } else { &["test"] };
    let args = [all, which].concat();
    run_step(&args, cargo(&args).env(SHARED_CLUSTER, postgres.address()))
}

/// Whether cargo knows this subcommand.
fn has(subcommand: &str) -> bool {
    let mut ask = cargo(&[subcommand, "--version"]);
    ask.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn cargo_step(args: &[&str]) -> Result {
    run_step(args, &mut cargo(args))
}

fn run_step(args: &[&str], command: &mut Command) -> Result {
    step(&format!("cargo {}", args.join(" ")), || {
        let status = command.status()?;
        if status.success() { Ok(()) } else { Err(status.to_string().into()) }
    })
}

fn step(name: &str, work: impl FnOnce() -> Result) -> Result {
    println!("== {name}");
    let start = Instant::now();
    work().map_err(|e| format!("{name} failed: {e}"))?;
    println!("== {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
