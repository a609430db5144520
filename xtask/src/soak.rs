//! `cargo xtask soak`: runs the random tests with many more histories than a change can wait for.

use std::path::Path;
use std::process::{Command, Stdio};
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
}

const CLONES: RandomTests = RandomTests { label: "three clones", binary: "git", module: "histories" };
const MEETINGS: RandomTests =
    RandomTests { label: "three stores and a server", binary: "team", module: "sync_histories" };

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
    /// The command that runs the tests with a flag of the test harness.
    fn tests(&self, flag: &str) -> Command {
        let filter = format!("{}::", self.module);
        cargo(&["test", "--release", "--package", "pensa", "--test", self.binary, &filter, "--", flag])
    }

    /// The number of tests in the module. Fails if there are none: cargo would succeed without running anything.
    fn count(&self) -> Result<usize> {
        let listed = self.tests("--list").stderr(Stdio::inherit()).output()?;
        if !listed.status.success() {
            return Err(format!("cannot list the tests of {}: {}", self.module, listed.status).into());
        }
        match listed_tests(&String::from_utf8_lossy(&listed.stdout)) {
            0 => Err(format!("no tests in the module {} of {}", self.module, self.binary).into()),
            count => Ok(count),
        }
    }

    fn run(&self, histories: usize) -> Result {
        if histories == 0 {
            return Ok(());
        }
        let count = self.count()?;
        let (each, start) = (histories.div_ceil(count), Instant::now());
        println!("{} histories of {}; each prints how to repeat it", each * count, self.label);
        // Not with nextest, whose time limit is meant for short tests. All tests run at once, however few cores there
        // are, because a history often waits for processes.
        let mut tests = self.tests(&format!("--test-threads={count}"));
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

/// The number of tests in the output of `--list`.
fn listed_tests(output: &str) -> usize {
    output.lines().filter(|line| line.ends_with(": test")).count()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::repo::root;

    #[test]
    fn modules_of_random_tests_exist() {
        for RandomTests { binary, module, .. } in [CLONES, MEETINGS] {
            let path = root().join(format!("crates/pensa/tests/{binary}"));
            let main = fs::read_to_string(path.join("main.rs")).expect("a test binary");
            let tests = fs::read_to_string(path.join(format!("{module}.rs"))).expect("a module");
            assert!(main.contains(&format!("mod {module};")) && tests.contains("#[test]"), "{binary}: {module}");
        }
    }

    #[test]
    fn only_tests_are_counted() {
        assert_eq!(listed_tests("m::first: test\nm::second: test\n\n2 tests, 0 benchmarks\n"), 2);
        assert_eq!(listed_tests("0 tests, 0 benchmarks\n"), 0);
    }
}
