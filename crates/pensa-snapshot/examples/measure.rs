//! Times a snapshot of a tree of 10,000 files against `git add -A && git write-tree` on a scratch index.
//!
//! `cargo run --release -p pensa-snapshot --example measure [DIR]`; what the numbers should be is left to the reader.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use pensa_snapshot::{Provider, SnapshotDirs};

const FILES: usize = 10_000;
const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let base = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, Into::into);
    let dir = base.join(format!("pensa-measure-{}", std::process::id()));
    fs::create_dir(&dir)?;
    let measured = measure(&dir);
    fs::remove_dir_all(&dir)?;
    measured
}

fn measure(dir: &Path) -> Result<(), Box<dyn Error>> {
    for (name, is_stored) in [("contents are new", false), ("contents are known", true)] {
        let (mut plain, mut ours, mut copied) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            // Whoever comes first has the colder caches, so they take turns.
            let mut first = || time(dir, &mut plain, round, is_stored, &|root, _| add(root));
            if round % 2 == 0 {
                first()?;
            }
            time(dir, &mut ours, round, is_stored, &|root, data| snapshot(Provider::Git, root, data))?;
            if round % 2 == 1 {
                first()?;
            }
            time(dir, &mut copied, round, is_stored, &|root, data| snapshot(Provider::Copy, root, data))?;
        }
        let (plain, ours, copied) = (median(plain), median(ours), median(copied));
        let ratio = ours.as_secs_f64() / plain.as_secs_f64();
        println!("{name}: git add {plain:.2?}, snapshot by git {ours:.2?} ({ratio:.2}x), by copy {copied:.2?}");
    }
    Ok(())
}

type Step<'s> = &'s dyn Fn(&Path, &Path) -> Result<(), Box<dyn Error>>;

/// Times a step on a fresh tree, whose contents the repository may know already.
fn time(
    dir: &Path,
    times: &mut Vec<Duration>,
    round: usize,
    is_stored: bool,
    step: Step<'_>,
) -> Result<(), Box<dyn Error>> {
    let (root, data) = (dir.join("root"), dir.join("data"));
    make(&root, round)?;
    if is_stored {
        git(&root, &["add", "-A"])?;
        git(&root, &["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "all"])?;
    }
    let start = Instant::now();
    step(&root, &data)?;
    times.push(start.elapsed());
    fs::remove_dir_all(&root)?;
    if data.exists() {
        fs::remove_dir_all(&data)?;
    }
    Ok(())
}

fn make(root: &Path, round: usize) -> Result<(), Box<dyn Error>> {
    for number in 0..FILES {
        let dir = root.join(format!("d{}/e{}", number % 20, number % 100));
        fs::create_dir_all(&dir)?;
        let text = format!("file {number} of round {round}\n").repeat(1 + number % 200);
        fs::write(dir.join(format!("f{number}.txt")), text)?;
    }
    git(root, &["init", "-q"])
}

fn add(root: &Path) -> Result<(), Box<dyn Error>> {
    for args in [["add", "-A"].as_slice(), &["write-tree"]] {
        let ended =
            Command::new("git").args(args).current_dir(root).env("GIT_INDEX_FILE", "../scratch-index").output()?;
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    Ok(fs::remove_file(root.join("../scratch-index"))?)
}

fn git(root: &Path, args: &[&str]) -> Result<(), Box<dyn Error>> {
    let ended = Command::new("git").args(args).current_dir(root).output()?;
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    Ok(())
}

fn snapshot(provider: Provider, root: &Path, data: &Path) -> Result<(), Box<dyn Error>> {
    let taken = pensa_snapshot::create(provider, &SnapshotDirs { root, data, id: "snap-1" }, None, None)?;
    assert_eq!(taken.metadata["files"], FILES);
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
