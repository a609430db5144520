//! The daemon under 32 connections, against embedded processes and against a bare HTTP handler.

use std::fs;
use std::net::SocketAddr;
use std::time::Instant;

use serde_json::json;

use super::BenchPlan;
use super::data::{self, Dice};
use super::lab::{BenchProject, Lab, output};
use super::load::{self, CONNECTIONS, KeptAliveConnection};
use super::report::{BenchTarget, ReportRow, grouped, rates};
use super::server::BenchServer;
use crate::Result;

/// Most memory that the daemon may keep resident, in MB.
const MOST_MEMORY: f64 = 64.0;
/// Creations of each connection before it repeats itself; more than it gets through in a round.
const DIFFERENT: usize = 1_000;

pub(super) fn rows(lab: &Lab, plan: &BenchPlan, store: &BenchProject) -> Result<Vec<ReportRow>> {
    let (served, embedded) = (lab.copy(store, "served")?, lab.copy(store, "embedded")?);
    let daemon = BenchServer::daemon(lab, &served)?;
    let rows = vec![
        creates(lab, plan, &daemon, &embedded)?,
        reads(lab, plan, &daemon, store.size)?,
        memory(&daemon, store.size)?,
    ];
    daemon.stop()?;
    for copy in [served, embedded] {
        lab.discard(&copy)?;
    }
    Ok(rows)
}

fn creates(lab: &Lab, plan: &BenchPlan, daemon: &BenchServer, embedded: &BenchProject) -> Result<ReportRow> {
    let mut dice = Dice::new(19);
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        reference.push(embedded_creates(lab, plan, embedded, &mut dice)?);
        let requests = load::requests(CONNECTIONS, DIFFERENT, |_| post(daemon.address, &mut dice));
        ours.push(load::rate(daemon.address, plan.round, &requests)?);
    }
    Ok(rates(
        format!("daemon: creates at {}", grouped(embedded.size)),
        &ours,
        &reference,
        BenchTarget::AtLeast(10.0),
        "`POST /issues` over 32 kept-alive connections against `pn create` processes one after another on a copy of \
         the store; every answer on either side means that the issue is on the disk",
    ))
}

/// How many `pn create` processes, one after another, finish in a second.
fn embedded_creates(lab: &Lab, plan: &BenchPlan, store: &BenchProject, dice: &mut Dice) -> Result<f64> {
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < plan.round {
        let (title, description) = (dice.title(), dice.description());
        output(&mut lab.pn(store, &["create", &title, "-t", "task", "--description", &description, "--json"]))?;
        done += 1;
    }
    Ok(f64::from(done) / start.elapsed().as_secs_f64())
}

fn post(address: SocketAddr, dice: &mut Dice) -> Vec<u8> {
    let body = json!({"title": dice.title(), "description": dice.description(), "issue_type": "task"});
    load::post(address, "/issues", &body)
}

fn get(address: SocketAddr, id: &str) -> Vec<u8> {
    load::get(address, &format!("/issues/{id}"))
}

fn reads(lab: &Lab, plan: &BenchPlan, daemon: &BenchServer, size: usize) -> Result<ReportRow> {
    let mut dice = Dice::new(13);
    let ids: Vec<String> = (0..CONNECTIONS).map(|_| data::id(dice.below(size))).collect();
    let answer = lab.dir().join("answer.json");
    fs::write(&answer, typical_answer(daemon, &ids)?)?;
    let bare = BenchServer::start(&mut lab.example("bare", &[answer.as_os_str()])?)?;
    let of_bare = load::requests(CONNECTIONS, 1, |connection| get(bare.address, &ids[connection]));
    let of_daemon = load::requests(CONNECTIONS, 1, |connection| get(daemon.address, &ids[connection]));
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        reference.push(load::rate(bare.address, plan.round, &of_bare)?);
        ours.push(load::rate(daemon.address, plan.round, &of_daemon)?);
    }
    bare.stop()?;
    Ok(rates(
        format!("daemon: reads at {}", grouped(size)),
        &ours,
        &reference,
        BenchTarget::AtLeast(0.5),
        "`GET /issues/ID` over 32 kept-alive connections, another issue on each, against a bare axum handler that \
         returns the bytes of one such answer from memory; the load generator shares the cores with either server",
    ))
}

/// The answer of middle length.
fn typical_answer(daemon: &BenchServer, ids: &[String]) -> Result<Vec<u8>> {
    let mut connection = KeptAliveConnection::open(daemon.address)?;
    let mut answers = Vec::new();
    for id in ids {
        answers.push(connection.ask(&get(daemon.address, id))?.to_vec());
    }
    answers.sort_by_key(Vec::len);
    Ok(answers.swap_remove(answers.len() / 2))
}

fn memory(daemon: &BenchServer, size: usize) -> Result<ReportRow> {
    let (now, peak) = daemon.memory()?;
    Ok(ReportRow::new(
        format!("daemon: memory at {}", grouped(size)),
        format!("{peak:.1} MB (now {now:.1})"),
        format!("{MOST_MEMORY} MB"),
        peak / MOST_MEMORY,
        BenchTarget::AtMost(1.0),
        "The most memory that the daemon ever had resident (and what it has now), after the two loads above, against \
         the limit of 64 MB",
    ))
}
