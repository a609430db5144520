//! `cargo xtask soak`: the random tests for as long as it takes, instead of the few rounds that each change can wait for.

use std::path::Path;
use std::time::Instant;

use crate::Result;
use crate::repo::cargo;

/// Histories of three clones that a whole soak tries.
const HISTORIES: usize = 10_000;
/// Tests among which they are divided; as many as `tests/git/histories.rs` has.
const TESTS: usize = 8;

pub(crate) fn run(flags: &[&str]) -> Result {
    let histories = match flags {
        [] => HISTORIES,
        ["--histories", count] => count.parse().map_err(|_| format!("not a number: {count}"))?,
        _ => return Err(format!("soak has only --histories COUNT, not {}", flags.join(" ")).into()),
    };
    let (each, start) = (histories.div_ceil(TESTS), Instant::now());
    println!("{} histories; each prints how to repeat it", each * TESTS);
    // Without nextest, whose limit for a test that hangs is meant for short ones.
    // All at once, however few the cores, so that none is idle while a history waits.
    let at_once = format!("--test-threads={TESTS}");
    let mut tests = cargo(&["test", "--release", "--package", "pensa", "--test", "git", "histories", "--", &at_once]);
    // What histories find is not a matter of disks, which take most of the time.
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tests.env("TMPDIR", memory);
    }
    let status = tests.env("PENSA_HISTORIES", each.to_string()).status()?;
    println!("took {:.0} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("a history failed: {status}").into()) }
}
