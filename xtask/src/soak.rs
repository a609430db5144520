//! `cargo xtask soak`: runs the random tests with many more histories than a change can wait for.

use std::path::Path;
use std::time::Instant;

use crate::Result;
use crate::repo::cargo;

/// Default number of histories of three clones.
const CLONE_HISTORIES: usize = 10_000;

/// Random tests of one kind, which divide the histories among them.
struct RandomTests {
    /// What takes part in a history.
    label: &'static str,
    /// The test binary of the package `pensa`, and the module in it.
    binary: &'static str,
    module: &'static str,
    /// The number of tests in the module.
    tests: usize,
}

const CLONES: RandomTests = RandomTests { label: "three clones", binary: "git", module: "histories", tests: 8 };
const MEETINGS: RandomTests =
    RandomTests { label: "three stores and a server", binary: "team", module: "meetings", tests: 3 };

pub(crate) fn run(flags: &[&str]) -> Result {
    let (mut histories, mut meetings) = (CLONE_HISTORIES, 0);
    for pair in flags.chunks(2) {
        let (target, count) = match pair {
            ["--histories", count] => (&mut histories, count),
            ["--meetings", count] => (&mut meetings, count),
            _ => return Err(format!("soak has --histories COUNT and --meetings COUNT, not {}", pair.join(" ")).into()),
        };
        *target = count.parse().map_err(|_| format!("not a number: {count}"))?;
    }
    CLONES.run(histories)?;
    MEETINGS.run(meetings)
}

impl RandomTests {
    fn run(&self, histories: usize) -> Result {
        if histories == 0 {
            return Ok(());
        }
        let (each, start) = (histories.div_ceil(self.tests), Instant::now());
        println!("{} histories of {}; each prints how to repeat it", each * self.tests, self.label);
        // Not with nextest, whose time limit is meant for short tests. All tests run at once, however few cores there
        // are, because a history often waits for processes.
        let threads = format!("--test-threads={}", self.tests);
        let args = ["test", "--release", "--package", "pensa", "--test", self.binary, self.module, "--", &threads];
        let mut tests = cargo(&args);
        // Most of the time would be spent on the disk, which the histories do not test.
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            tests.env("TMPDIR", memory);
        }
        let status = tests.env("PENSA_HISTORIES", each.to_string()).status()?;
        println!("took {:.0} s", start.elapsed().as_secs_f64());
        if status.success() { Ok(()) } else { Err(format!("a history of {} failed: {status}", self.label).into()) }
    }
}
