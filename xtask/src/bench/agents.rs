//! Conversations of many agents: one of them read, many entries at once, and single ones from many writers.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::BenchPlan;
use super::entries::Conversation;
use super::lab::{BenchProject, Lab, output};
use super::load::{self, CONNECTIONS, KeptAliveConnection};
use super::report::{BenchTarget, ReportRow, grouped, rates};
use super::samples::{Contender, alternate};
use super::server::BenchServer;
use crate::Result;

/// Entries of each agent.
const ENTRIES: usize = 1_000;
/// Entries that an agent says before the others have their turn, so that those of one lie all over the database.
const AT_ONCE: usize = 10;
/// Entries that are appended at once.
const BULK: usize = 100_000;
/// Agents that many writers append to.
const WRITTEN: usize = 8;
/// Entries of each connection before it repeats itself.
const DIFFERENT: usize = 1_000;

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    Ok(vec![context(lab, plan)?, bulk(lab, plan)?, singles(lab, plan)?])
}

/// A store with agents in it.
struct Crowd {
    project: BenchProject,
    agents: Vec<String>,
}

impl Crowd {
    /// Agents with [`ENTRIES`] each, which came in turns.
    fn gather(lab: &Lab, name: &str, count: usize) -> Result<Self> {
        let start = Instant::now();
        let project = lab.empty_store(name)?;
        let daemon = BenchServer::daemon(lab, &project)?;
        let agents = (0..count).map(|_| create(&daemon)).collect::<Result<Vec<_>>>()?;
        let talked: std::result::Result<(), String> = thread::scope(|scope| {
            let (daemon, agents) = (&daemon, &agents);
            let talk = |first| move || talk(daemon, agents, first).map_err(|e| e.to_string());
            let workers: Vec<_> = (0..CONNECTIONS).map(|first| scope.spawn(talk(first))).collect();
            workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a thread panicked")?)
        });
        talked?;
        daemon.stop()?;
        println!("made {count} agents of {ENTRIES} entries each in {:.1} s", start.elapsed().as_secs_f64());
        Ok(Self { project, agents })
    }
}

/// Makes an agent, and tells its id.
pub(super) fn create(daemon: &BenchServer) -> Result<String> {
    let mut connection = KeptAliveConnection::open(daemon.address)?;
    let answer = connection.ask(&load::post(daemon.address, "/agents", &json!({"type": "user"})))?;
    let agent: Value = serde_json::from_slice(answer)?;
    Ok(agent["id"].as_str().ok_or_else(|| format!("the daemon made {agent}"))?.to_owned())
}

/// Has every agent say its entries whose turn it is on this connection.
fn talk(daemon: &BenchServer, agents: &[String], first: usize) -> Result {
    let mut connection = KeptAliveConnection::open(daemon.address)?;
    let own = agents.iter().enumerate().skip(first).step_by(CONNECTIONS);
    let mut own: Vec<_> = own.map(|(at, id)| (id, Conversation::new(at))).collect();
    for _ in 0..ENTRIES / AT_ONCE {
        for (id, conversation) in &mut own {
            connection.ask(&append(daemon, id, conversation.next(AT_ONCE)))?;
        }
    }
    Ok(())
}

fn append(daemon: &BenchServer, agent: &str, entries: Vec<Value>) -> Vec<u8> {
    load::post(daemon.address, &format!("/agents/{agent}/entries"), &json!({"entries": entries}))
}

/// What one agent's context costs among others and alone.
fn context(lab: &Lab, plan: &BenchPlan) -> Result<ReportRow> {
    let (many, one) = (Crowd::gather(lab, "crowd", plan.agents)?, Crowd::gather(lab, "alone", 1)?);
    let ask = |crowd: &Crowd, at: usize| {
        lab.pn(&crowd.project, &["session", "context", &crowd.agents[at % crowd.agents.len()], "--json"])
    };
    for crowd in [&many, &one] {
        let messages: Value = serde_json::from_str(&output(&mut ask(crowd, 0))?)?;
        if messages.as_array().map(Vec::len) != Some(ENTRIES) {
            return Err(format!("the context of an agent has not {ENTRIES} messages").into());
        }
    }
    let [ours, reference] = alternate(
        plan.runs,
        // The step is no divisor of how many there are: another agent each time, and none next to the last.
        [Contender::new(|run| Ok(ask(&many, run * 37))), Contender::new(|_| Ok(ask(&one, 0)))],
    )?;
    for crowd in [many, one] {
        lab.discard(&crowd.project)?;
    }
    Ok(ReportRow::new(
        format!("`pn session context` at {}", grouped(plan.agents * ENTRIES)),
        ours.describe(),
        reference.describe(),
        ours.median() / reference.median(),
        BenchTarget::AtMost(1.5),
        format!(
            "`pn session context AGENT --json` of {} entries in a store where {} agents took turns of {AT_ONCE} \
             entries, another agent every time, against the same in a store with one such agent",
            grouped(ENTRIES),
            grouped(plan.agents)
        ),
    ))
}

/// A store with one agent that has said nothing, and many entries in a file.
struct Bulk<'a> {
    lab: &'a Lab,
    fresh: BenchProject,
    agent: String,
    session: String,
    entries: PathBuf,
}

impl Bulk<'_> {
    /// A command that reads the entries, on another copy of the store.
    fn anew(&self, command: impl FnOnce(&BenchProject) -> Result<Command>) -> Result<Command> {
        let copy = BenchProject { dir: self.lab.dir().join("bulk-copy-0"), size: 0 };
        if copy.dir.exists() {
            self.lab.discard(&copy)?;
        }
        let mut command = command(&self.lab.copy(&self.fresh, "bulk-copy")?)?;
        command.stdin(File::open(&self.entries)?);
        Ok(command)
    }

    fn ours(&self) -> Result<Command> {
        self.anew(|copy| Ok(self.lab.pn(copy, &["session", "append", &self.agent, "-"])))
    }

    fn reference(&self) -> Result<Command> {
        let at = "2026-01-01T00:00:00.000Z";
        self.anew(|copy| {
            let args = [copy.database().into_os_string(), self.session.clone().into(), at.into()];
            self.lab.example("bare_append", &args.each_ref().map(|arg| arg.as_os_str()))
        })
    }
}

fn bulk(lab: &Lab, plan: &BenchPlan) -> Result<ReportRow> {
    let fresh = lab.empty_store("bulk")?;
    let report: Value =
        serde_json::from_str(&output(&mut lab.pn(&fresh, &["agent", "create", "-t", "user", "--json"]))?)?;
    let field =
        |name: &str| report[name].as_str().map(str::to_owned).ok_or_else(|| format!("pn agent create: {report}"));
    let entries = lab.dir().join("entries.jsonl");
    fs::write(&entries, Conversation::new(0).lines(BULK))?;
    let bulk = Bulk { lab, agent: field("id")?, session: field("active_session_id")?, fresh, entries };
    let [ours, reference] =
        alternate(plan.rounds * 2 + 1, [Contender::new(|_| bulk.ours()), Contender::new(|_| bulk.reference())])?;
    let rate = |milliseconds: f64| BULK as f64 / milliseconds * 1000.0;
    Ok(rates(
        format!("`pn session append` of {}", grouped(BULK)),
        &[rate(ours.median())],
        &[rate(reference.median())],
        BenchTarget::AtLeast(0.5),
        "Entries per second of one `pn session append AGENT -` into a new store (checked, secrets taken out, logged, \
         and the store copied into a backup because so much does not go into the journal) against a program that reads \
         the same lines with serde_json and inserts the same rows into the same table, with its checks and its index, \
         in one SQLite transaction with the same pragmas; both are whole processes",
    ))
}

/// One entry at a time, from many writers and from one process after another.
fn singles(lab: &Lab, plan: &BenchPlan) -> Result<ReportRow> {
    let crowd = Crowd::gather(lab, "written", WRITTEN)?;
    let embedded = lab.copy(&crowd.project, "written-copy")?;
    let daemon = BenchServer::daemon(lab, &crowd.project)?;
    let mut conversation = Conversation::new(WRITTEN);
    let requests = load::requests(CONNECTIONS, DIFFERENT, |connection| {
        append(&daemon, &crowd.agents[connection % WRITTEN], conversation.next(1))
    });
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        reference.push(one_after_another(lab, plan, &embedded, &crowd.agents, &mut conversation)?);
        ours.push(load::rate(daemon.address, plan.round, &requests)?);
    }
    daemon.stop()?;
    for project in [&crowd.project, &embedded] {
        lab.discard(project)?;
    }
    Ok(rates(
        "daemon: appends".into(),
        &ours,
        &reference,
        BenchTarget::AtLeast(10.0),
        &format!(
            "`POST /agents/ID/entries` of one entry over {CONNECTIONS} kept-alive connections to {WRITTEN} agents \
             against `pn session append` processes one after another on a copy of the store; every answer on either \
             side means that the entry is on the disk"
        ),
    ))
}

/// How many `pn session append` processes, one after another, finish in a second.
fn one_after_another(
    lab: &Lab,
    plan: &BenchPlan,
    store: &BenchProject,
    agents: &[String],
    conversation: &mut Conversation,
) -> Result<f64> {
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < plan.round {
        let entry = conversation.next(1).swap_remove(0);
        let (kind, data) = (entry["type"].as_str().unwrap_or_default(), entry["data"].to_string());
        let agent = &agents[done % agents.len()];
        output(&mut lab.pn(store, &["session", "append", agent, "--type", kind, "--data", &data, "--json"]))?;
        done += 1;
    }
    Ok(done as f64 / start.elapsed().as_secs_f64())
}
