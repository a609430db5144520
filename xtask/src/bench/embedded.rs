//! Agents who share one SQLite store by `pn` processes, what a poll of theirs costs, and the first command after a boot.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::Plan;
use super::cpu;
use super::lab::{Lab, Project};
use super::processes::READY;
use super::report::{Row, grouped};
use super::samples::{Contender, Samples, WARM_UP, alternate};
use super::timetable::{Outcome, Timetable};
use super::worker::{CHOICE, Step, Worker};
use crate::Result;

const SIZE: usize = 10_000;
const AGENTS: usize = 20;
/// How often each agent runs a command.
const EVERY: Duration = Duration::from_millis(500);

pub(super) fn rows(lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
    let store = lab.filled_store(SIZE)?;
    let mut rows = work(lab, plan, &store)?;
    rows.push(poll(lab, plan, &store, "ready", &READY)?);
    rows.push(poll(lab, plan, &store, "context", &["context", "--actor", "agent-1"])?);
    rows.push(cold(lab, plan, &store)?);
    lab.discard(&store)?;
    Ok(rows)
}

fn work(lab: &Lab, plan: &Plan, store: &Project) -> Result<Vec<Row>> {
    let mut workers: Vec<Worker> = (0..AGENTS).map(Worker::new).collect();
    let table = Timetable::new(AGENTS, EVERY, plan.lasting);
    let outcome = table.run(&mut workers, AGENTS, |table, first, own| {
        let mut outcome = Outcome::default();
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
fn step(lab: &Lab, store: &Project, worker: &mut Worker) -> Result {
    let choice = CHOICE.to_string();
    let args: &[&str] = match &worker.step {
        Step::Ready => &["ready", "-n", &choice, "--json"],
        Step::Claim(id) => &["update", id, "--claim", "--json"],
        Step::Comment(id) => &["comment", "add", id, "found the cause", "--json"],
        Step::Close(id) => &["close", id, "--reason", "done", "--json"],
    };
    let done = lab.pn(store, args).env("PN_ACTOR", &worker.name).output()?;
    let text = [done.stdout, done.stderr].concat();
    worker.answered(done.status.success(), &String::from_utf8_lossy(&text))
}

fn poll(lab: &Lab, plan: &Plan, store: &Project, what: &str, args: &[&str]) -> Result<Row> {
    let before = cpu::of_ended_children()?;
    let [times] = alternate(plan.runs, [Contender::new(|_| Ok(lab.pn(store, args)))])?;
    let used = (cpu::of_ended_children()? - before) / (plan.runs + WARM_UP) as f64 * 1000.0;
    Ok(Row::told(
        format!("a poll of `{what}`"),
        format!("{:.2} ms, CPU {used:.2} ms", times.median()),
        "The same command again and again as a process of its own, while nothing else happens: the median, and the \
         processor time of each",
    ))
}

/// A command that finds neither itself nor its store in memory.
fn cold(lab: &Lab, plan: &Plan, store: &Project) -> Result<Row> {
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
            return Ok(Row::told(name, format!("not measured: cannot drop the page cache ({})", e.kind()), about));
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
    Ok(Row::told(name, format!("{:.0} ms (longest {:.0})", times.median(), times.percentile(100)), about))
}
