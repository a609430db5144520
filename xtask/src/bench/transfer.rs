//! `pn import` and `pn export` of a large store against a program that does the least there is to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::BenchPlan;
use super::data;
use super::lab::{BenchProject, Lab, output};
use super::report::{BenchTarget, ReportRow, grouped};
use super::samples::{Contender, Samples, alternate};
use crate::Result;

const NAMES: [&str; 3] = ["issues.jsonl", "deps.jsonl", "comments.jsonl"];

/// Lines that the merge driver is given.
const MERGED: usize = 10_000;

/// A large store in files, and a place for what the reference makes of it.
struct TransferSetup<'a> {
    lab: &'a Lab,
    project: BenchProject,
    size: usize,
    elsewhere: PathBuf,
}

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let size = *plan.sizes.last().ok_or("a plan has a size")?;
    let runs = plan.rounds * 2 + 1;
    let project = lab.repository("transfer", size)?;
    let store = project.dir.join(".pensa");
    fs::create_dir(&store)?;
    data::write(&store, size, 1)?;
    output(&mut lab.pn(&project, &["init"]))?;
    // From here on the files are as pn writes them.
    output(&mut lab.pn(&project, &["export"]))?;
    let elsewhere = lab.dir().join("elsewhere");
    fs::create_dir(&elsewhere)?;
    let setup = TransferSetup { lab, project, size, elsewhere };
    let memory = setup.memory()?;
    let mut rows = vec![setup.import(runs)?, memory];
    rows.extend(setup.export(runs)?);
    rows.push(setup.merge(runs)?);
    Ok(rows)
}

fn row(name: String, ours: &Samples, reference: &Samples, target: f64, about: &str) -> ReportRow {
    let ratio = ours.median() / reference.median();
    ReportRow::new(name, ours.describe(), reference.describe(), ratio, BenchTarget::AtMost(target), about)
}

impl TransferSetup<'_> {
    fn store(&self) -> PathBuf {
        self.project.dir.join(".pensa")
    }

    /// What a fresh clone has: the files and nothing else.
    fn forget(&self) -> Result {
        for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
            remove(&self.store().join(name))?;
        }
        let local = self.store().join("local");
        if local.exists() {
            fs::remove_dir_all(local)?;
        }
        Ok(())
    }

    fn import(&self, runs: usize) -> Result<ReportRow> {
        let database = self.elsewhere.join("bare.sqlite");
        let ours = || {
            self.forget()?;
            Ok(self.lab.pn(&self.project, &["import"]))
        };
        let reference = || {
            for ending in ["", "-wal", "-shm"] {
                remove(&self.elsewhere.join(format!("bare.sqlite{ending}")))?;
            }
            self.lab.example("bare_transfer", &["import".as_ref(), self.store().as_ref(), database.as_ref()])
        };
        let [ours, reference] = alternate(runs, [Contender::new(|_| ours()), Contender::new(|_| reference())])?;
        let size = self.size;
        Ok(row(
            format!("`pn import` of {}", grouped(size)),
            &ours,
            &reference,
            3.0,
            &format!(
                "`pn import` in a fresh clone with {} issues, {} dependencies and {} comments (checked, merged with \
                 nothing, indexed for every listing, for search and for near-duplicates) against a program that reads \
                 the same lines with serde_json and inserts them into three bare tables in one SQLite transaction",
                grouped(size),
                grouped(2 * size),
                grouped(size)
            ),
        ))
    }

    /// The most memory that an import has, against the size of its files.
    fn memory(&self) -> Result<ReportRow> {
        self.forget()?;
        let files: u64 =
            NAMES.iter().filter_map(|name| fs::metadata(self.store().join(name)).ok()).map(|m| m.len()).sum();
        let peak = peak_memory(&mut self.lab.pn(&self.project, &["import"]))?;
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        Ok(ReportRow::new(
            format!("memory of `pn import` of {}", grouped(self.size)),
            megabytes(peak),
            megabytes(files),
            peak as f64 / files as f64,
            BenchTarget::AtMost(3.0),
            "The most memory that the same import has resident, against the size of the files; up to 64 MB of it are \
             pages of the database, whatever the files' size",
        ))
    }

    /// The merge driver on three versions of a file.
    fn merge(&self, runs: usize) -> Result<ReportRow> {
        let whole = fs::read_to_string(self.store().join("issues.jsonl"))?;
        let base: Vec<&str> = whole.lines().take(MERGED).collect();
        let [at, kept, other] = ["base", "ours", "theirs"].map(|name| self.elsewhere.join(name));
        fs::write(&at, joined(&base, |_, line| Ok(line.to_owned()))?)?;
        // Both sides changed every sixth line, and one of them every third.
        let ours = joined(&base, |at, line| changed(line, at % 3 == 0, "title", "2027-01-01T00:00:00.000Z"))?;
        fs::write(&other, joined(&base, |at, line| changed(line, at % 2 == 0, "title", "2027-01-02T00:00:00.000Z"))?)?;
        let driver = |_: usize| {
            fs::write(&kept, &ours)?;
            let files = [&at, &kept, &other].map(|path| path.to_string_lossy().into_owned());
            let [at, kept, other] = files.each_ref().map(String::as_str);
            Ok(self.lab.pn(&self.project, &["merge-driver", at, kept, other, ".pensa/issues.jsonl"]))
        };
        let [took] = alternate(runs, [Contender::new(driver)])?;
        Ok(ReportRow::new(
            format!("`pn merge-driver` of {} lines", grouped(base.len())),
            took.describe(),
            "500 ms".into(),
            took.median() / 500.0,
            BenchTarget::AtMost(1.0),
            "The merge driver on three versions of `issues.jsonl` of which both sides changed every sixth line, as a \
             whole process, against half a second",
        ))
    }

    fn export(&self, runs: usize) -> Result<[ReportRow; 2]> {
        let anew = || {
            for name in NAMES {
                remove(&self.store().join(name))?;
            }
            Ok(self.lab.pn(&self.project, &["export"]))
        };
        let reference = || {
            let database = self.project.database();
            self.lab.example("bare_transfer", &["export".as_ref(), database.as_ref(), self.elsewhere.as_ref()])
        };
        let [full, bare] = alternate(runs, [Contender::new(|_| anew()), Contender::new(|_| reference())])?;
        let changed = |run: usize| {
            let title = format!("changed {run}");
            output(&mut self.lab.pn(&self.project, &["update", &data::id(run), "--title", &title]))?;
            Ok(self.lab.pn(&self.project, &["export"]))
        };
        let [one, again] = alternate(runs, [Contender::new(changed), Contender::new(|_| anew())])?;
        let size = grouped(self.size);
        Ok([
            row(
                format!("`pn export` of {size}"),
                &full,
                &bare,
                2.0,
                "`pn export` of the same store into files that are not there (rendered, synced, renamed, kept as a base \
                 and staged in git) against a program that selects the same rows in the same order and writes them with \
                 serde_json, without a sync",
            ),
            row(
                format!("`pn export` of {size} after one change"),
                &one,
                &again,
                1.2,
                "`pn export` after one issue was changed, against that of the whole store",
            ),
        ])
    }
}

/// Lines of a file, each made of one that was there.
fn joined(lines: &[&str], made: impl Fn(usize, &str) -> Result<String>) -> Result<String> {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        text.push_str(&made(at, line)?);
        text.push('\n');
    }
    Ok(text)
}

/// A line whose record somebody changed then, if they did.
fn changed(line: &str, is_changed: bool, field: &str, when: &str) -> Result<String> {
    if !is_changed {
        return Ok(line.to_owned());
    }
    let mut record: serde_json::Value = serde_json::from_str(line)?;
    record[field] = format!("changed at {when}").into();
    record["updated_at"] = when.into();
    Ok(record.to_string())
}

fn remove(path: &Path) -> Result {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
        _ => Ok(()),
    }
}

/// The most memory that a process ever had resident, looked at until it ends.
pub(super) fn peak_memory(command: &mut Command) -> Result<u64> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        let report = fs::read_to_string(&status).unwrap_or_default();
        let line = report.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes: u64 = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or_default();
        peak = peak.max(kilobytes * 1024);
        thread::sleep(Duration::from_millis(2));
    };
    if ended.success() { Ok(peak) } else { Err(format!("{command:?} failed: {ended}").into()) }
}
