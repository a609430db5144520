//! The stream of events to many who follow it, against a bare loop that sends the same line from memory.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::BenchPlan;
use super::cpu;
use super::lab::Lab;
use super::load::{self, KeptAliveConnection};
use super::report::{BenchTarget, ReportRow, grouped, rates};
use super::samples::median;
use super::server::BenchServer;
use crate::Result;

const SUBSCRIBERS: usize = 100;
const EVENTS: usize = 10_000;
/// Events that are written with one request.
const AT_ONCE: usize = 250;
/// Deliveries that a core of the server has to manage in a second.
const PER_CORE: f64 = 50_000.0;
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn rows(lab: &Lab, plan: &BenchPlan) -> Result<Vec<ReportRow>> {
    let project = lab.empty_store("stream")?;
    let daemon = BenchServer::daemon(lab, &project)?;
    let mut writer = KeptAliveConnection::open(daemon.address)?;
    let batch = batch(&mut writer, daemon.address)?;
    let line = lab.dir().join("event.json");
    fs::write(&line, typical_event(&mut writer, daemon.address)?)?;
    let bare = BenchServer::start(&mut lab.example("bare_stream", &[line.as_os_str()])?)?;
    let mut sender = KeptAliveConnection::open(bare.address)?;
    let (mut ours, mut per_core, mut reference) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let sent = deliveries(&bare, || {
            sender.ask(&load::post(bare.address, &format!("/send/{EVENTS}"), &json!({}))).map(drop)
        })?;
        reference.push(sent.per_second);
        let report = deliveries(&daemon, || (0..EVENTS / AT_ONCE).try_for_each(|_| writer.ask(&batch).map(drop)))?;
        ours.push(report.per_second);
        per_core.push(report.per_core);
    }
    for server in [daemon, bare] {
        server.stop()?;
    }
    lab.discard(&project)?;
    let about = "10,000 events, written with 40 requests while 100 connections follow: events that arrive, all of them \
        at each, in a second";
    let to = format!("{} subscribers", grouped(SUBSCRIBERS));
    let in_all = rates(
        format!("stream to {to}"),
        &ours,
        &reference,
        BenchTarget::AtLeast(0.5),
        &format!("{about}, against a bare axum loop that sends one such event from memory as often"),
    );
    let cores = ReportRow::new(
        format!("stream to {to}, a core"),
        format!("{:.0} /s", median(&per_core)),
        format!("{PER_CORE:.0} /s"),
        median(&per_core) / PER_CORE,
        BenchTarget::AtLeast(1.0),
        format!("{about} of the daemon's processor time, that of writing them included"),
    );
    Ok(vec![in_all, cores])
}

/// A request that adds many events.
fn batch(writer: &mut KeptAliveConnection, address: SocketAddr) -> Result<Vec<u8>> {
    let issue = json!({"title": "talked about", "issue_type": "task"});
    let made: Value = serde_json::from_slice(writer.ask(&load::post(address, "/issues", &issue))?)?;
    let said = json!({"op": "comment.add", "id": made["id"], "text": "as long as what agents say to each other"});
    Ok(load::post(address, "/batch", &json!({"operations": vec![&said; AT_ONCE]})))
}

fn typical_event(writer: &mut KeptAliveConnection, address: SocketAddr) -> Result<String> {
    let page: Value = serde_json::from_slice(writer.ask(&load::get(address, "/log?limit=1"))?)?;
    Ok(page["events"][0].to_string())
}

struct Rate {
    per_second: f64,
    /// In a second of the server's processor time.
    per_core: f64,
}

/// How fast all events arrive at all who follow.
fn deliveries(server: &BenchServer, send: impl FnOnce() -> Result) -> Result<Rate> {
    let everybody = Barrier::new(SUBSCRIBERS + 1);
    let (before, took) = thread::scope(|scope| -> Result<_> {
        let follow = || {
            let stream = open(server.address);
            everybody.wait();
            stream.and_then(count).map_err(|e| e.to_string())
        };
        let followers: Vec<_> = (0..SUBSCRIBERS).map(|_| scope.spawn(follow)).collect();
        everybody.wait();
        let (start, before) = (Instant::now(), cpu::of_process(server.pid())?);
        send()?;
        for follower in followers {
            follower.join().map_err(|_| "a subscriber's thread panicked")??;
        }
        Ok((before, start.elapsed()))
    })?;
    let used = cpu::of_process(server.pid())? - before;
    let all = (SUBSCRIBERS * EVENTS) as f64;
    Ok(Rate { per_second: all / took.as_secs_f64(), per_core: all / used.max(0.01) })
}

/// Follows what happens from now on; the first word of the server has arrived.
fn open(address: SocketAddr) -> Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(&load::get(address, "/events"))?;
    let mut got = Vec::new();
    while !got.ends_with(b"\n\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        got.push(byte[0]);
    }
    Ok(stream)
}

/// Reads until all events have arrived, each of which ends with an empty line. Signs of life come between them, so that
/// no single read times out.
fn count(mut stream: TcpStream) -> Result {
    let end = Instant::now() + TIMEOUT;
    let (mut buffer, mut seen, mut last) = (vec![0; 64 << 10], 0, 0);
    while seen < EVENTS {
        let count = stream.read(&mut buffer)?;
        if count == 0 || Instant::now() > end {
            return Err(format!("the stream ended or stalled after {seen} events").into());
        }
        for byte in &buffer[..count] {
            seen += usize::from(*byte == b'\n' && last == b'\n');
            last = *byte;
        }
    }
    Ok(())
}
