//! Agents who share one SQLite store by `pn` processes, what a poll of theirs costs, and the first command after a
//! boot.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::BenchPlan;
use super::cpu;
use super::lab::{BenchProject, Lab};
use super::processes::READY;
use super::report::{ReportRow, grouped};
use super::samples::{Contender, Samples, WARM_UP, alternate};
use super::timetable::{Timetable, TimetableResult};
use super::worker::{CHOICE, Worker, WorkerStep};
use crate::Result;

const SIZE: usize = 10_000;
const AGENTS: usize = 20;
/// How often each agent runs a command.
const EVERY: Duration = Duration::from_millis(500);

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let store = lab.filled_store(SIZE)?;
    let mut rows = work(lab, plan, &store)?;
    rows.push(poll(lab, plan, &store, "ready", &READY)?);
    rows.push(poll(lab, plan, &store, "context", &["context", "--actor", "agent-1"])?);
    rows.push(cold(lab, plan, &store)?);
    lab.discard(&store)?;
    Ok(rows)
}

fn work(lab: &Lab, plan: &BenchPlan, store: &BenchProject) -> Result<Vec<ReportRow>> {
    let mut workers: Vec<Worker> = (0..AGENTS).map(Worker::new).collect();
    let table = Timetable::new(AGENTS, EVERY, plan.lasting);
    let outcome = table.run(&mut workers, AGENTS, |table, first, own| {
        let mut outcome = TimetableResult::default();
        for round in 0..table.rounds {
            for (at, worker) in own.iter_mut().enumerate() {
                let due = table.due(first + at, round);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                outcome.add(due, step(lab, store, worker));
            }
        }
        Ok(outcome)
    })?;
    let about = format!(
        "{AGENTS} agents on one SQLite store of {} issues, each of whom runs `pn ready`, `pn update --claim`, `pn comment \
         add` and `pn close` in turn, a process each, {} in a second in all; to lose a claim to another is no error",
        grouped(SIZE),
        AGENTS as f64 / EVERY.as_secs_f64()
    );
    Ok(outcome.rows(&workers.iter().collect::<Vec<_>>(), None, &about))
}

/// The next command of an agent.
fn step(lab: &Lab, store: &BenchProject, worker: &mut Worker) -> Result {
    let choice = CHOICE.to_string();
    let args: &[&str] = match &worker.step {
        WorkerStep::Ready => &["ready", "-n", &choice, "--json"],
        WorkerStep::Claim(id) => &["update", id, "--claim", "--json"],
        WorkerStep::Comment(id) => &["comment", "add", id, "found the cause", "--json"],
        WorkerStep::Close(id) => &["close", id, "--reason", "done", "--json"],
    };
    let done = lab.pn(store, args).env("PN_ACTOR", &worker.name).output()?;
    let text = [done.stdout, done.stderr].concat();
    worker.answered(done.status.success(), &String::from_utf8_lossy(&text))
}

fn poll(lab: &Lab, plan: &BenchPlan, store: &BenchProject, what: &str, args: &[&str]) -> Result<ReportRow> {
    let before = cpu::of_ended_children()?;
    let [times] = alternate(plan.runs, [Contender::new(|_| Ok(lab.pn(store, args)))])?;
    let used = (cpu::of_ended_children()? - before) / (plan.runs + WARM_UP) as f64 * 1000.0;
    Ok(ReportRow::measured(
        format!("a poll of `{what}`"),
        format!("{:.2} ms, CPU {used:.2} ms", times.median()),
        "The same command again and again as a process of its own, while nothing else happens: the median, and the \
         processor time of each",
    ))
}

/// A command that finds neither itself nor its store in memory.
fn cold(lab: &Lab, plan: &BenchPlan, store: &BenchProject) -> Result<ReportRow> {
    let name = "first `pn ready` after a boot".to_owned();
    let about = format!(
        "`pn ready -n 10 --json` in a store of {} issues after the kernel has dropped what it keeps of files in memory, \
         the binary among them: the median, and the longest",
        grouped(SIZE)
    );
    let mut times = Vec::new();
    for _ in 0..plan.rounds {
        rustix::fs::sync();
        if let Err(e) = fs::write("/proc/sys/vm/drop_caches", "3") {
            return Ok(ReportRow::measured(
                name,
                format!("not measured: cannot drop the page cache ({})", e.kind()),
                about,
            ));
        }
        let mut ready = lab.pn(store, &READY);
        let start = Instant::now();
        let done = ready.output()?;
        times.push(start.elapsed());
        if !done.status.success() {
            return Err(format!("{ready:?} failed: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
    }
    let times = Samples::new(times);
    Ok(ReportRow::measured(name, format!("{:.0} ms (longest {:.0})", times.median(), times.percentile(100)), about))
}
