//! What the numbers were measured on, as far as it matters for them.

use std::fs;
use std::path::Path;
use std::process::Command;

use pensa_testkit::postgres::bindir;

use crate::Result;

pub(super) fn describe(dir: &Path) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
        .map_or_else(|| "unknown memory".into(), |kib| format!("{} GB of memory", (kib + 524_288) / 1_048_576));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let sqlite3 = first_word(&["sqlite3", "-version"], 0);
    let postgres = first_word(&[&bindir().join("postgres").display().to_string(), "--version"], 2);
    let rust = first_word(&["rustc", "--version"], 1);
    format!(
        "{cores} cores ({cpu}), {memory}, Linux {}, {}, sqlite3 {sqlite3}, PostgreSQL {postgres}, Rust {rust}",
        kernel.trim(),
        file_system(dir)
    )
}

/// The value after `name :` in one of the kernel's lists.
pub(super) fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

/// Memory of a process in MB, by its name in the status of the process.
pub(super) fn megabytes(pid: u32, name: &str) -> Result<f64> {
    let status = format!("/proc/{pid}/status");
    let text = field(&status, name).ok_or_else(|| format!("{status} has no {name}"))?;
    Ok(text.trim_end_matches(" kB").parse::<f64>()? * 1024.0 / 1e6)
}

/// The kind of the file system that `dir` lies on: that of the longest mount point above it.
pub(super) fn file_system(dir: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let fields = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let above = fields.filter(|(point, _)| dir.starts_with(point));
    above.max_by_key(|(point, _)| point.len()).map_or_else(|| "unknown file system".into(), |(_, kind)| kind.to_owned())
}

fn first_word(command: &[&str], at: usize) -> String {
    let report = Command::new(command[0]).args(&command[1..]).output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&report).split_whitespace().nth(at).unwrap_or("?").to_owned()
}
