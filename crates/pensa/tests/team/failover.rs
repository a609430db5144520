//! Tests failover: the primary dies under load, and every acknowledged write is in its standby exactly once.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use pensa_testkit::postgres::Cluster;
use pensa_testkit::{Http, eventually};
use serde_json::json;

use crate::fixture::{ProjectToken, ServeProcess, Team, task};

const DATABASE: &str = "team";
const WRITERS: usize = 8;
/// Acknowledged writes to wait for, before and after the primary dies.
const WRITES_PER_PHASE: usize = 150;

/// A primary with a synchronous standby.
struct ReplicatedPair {
    primary: Cluster,
    standby: Cluster,
}

impl ReplicatedPair {
    fn start() -> Self {
        let primary = Cluster::durable();
        primary.psql("postgres", &format!("CREATE DATABASE {DATABASE}"));
        let standby = primary.standby("s1");
        primary.make_synchronous("s1");
        Self { primary, standby }
    }

    /// The URL of whichever of the two accepts writes.
    fn url(&self) -> String {
        let ports = (self.primary.port(), self.standby.port());
        let hosts = format!("127.0.0.1:{},127.0.0.1:{}", ports.0, ports.1);
        format!("postgres://postgres@{hosts}/{DATABASE}?target_session_attrs=read-write")
    }

    fn fail_over(&mut self) {
        self.primary.kill();
        self.standby.promote();
    }

    /// How often each title is stored.
    fn stored(&self) -> HashMap<String, usize> {
        let rows = self.standby.psql(DATABASE, "SELECT count(*), title FROM pensa.issues GROUP BY title");
        let row = |line: &str| {
            let (count, title) = line.split_once('|').expect("two columns");
            (title.to_owned(), count.parse().expect("a count"))
        };
        rows.lines().map(row).collect()
    }
}

/// Writes until stopped, and retries each change with its own idempotency key. Returns the acknowledged titles.
fn write(http: &mut Http, name: &str, stop: &AtomicBool, done: &AtomicUsize) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for at in 0.. {
        let title = format!("{name} {at}");
        loop {
            if stop.load(Ordering::Relaxed) {
                return acknowledged;
            }
            let ask = http.ask("POST", "/issues").header("Idempotency-Key", &format!("{name}-{at}"));
            match ask.body(&task(&title)).try_reply() {
                Ok(reply) if reply.status == 201 => break,
                Ok(reply) => assert_eq!(reply.status, 503, "only what may pass: {reply:?}"),
                Err(e) => panic!("the server itself was never away: {e}"),
            }
            thread::sleep(Duration::from_millis(20));
        }
        acknowledged.push(title);
        done.fetch_add(1, Ordering::Relaxed);
    }
    acknowledged
}

/// Does the same with `pn`, which retries by itself. Returns the acknowledged titles and the number of failures.
fn run_pn(team: &Team, server: &ServeProcess, token: &ProjectToken, stop: &AtomicBool) -> (Vec<String>, usize) {
    let (mut acknowledged, mut failed) = (Vec::new(), 0);
    for at in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let title = format!("pn {at}");
        let answer = team.through(server, token, ["create", &title, "-t", "task", "--json"]).answer();
        match answer.code {
            Some(0) => acknowledged.push(title),
            _ => {
                failed += 1;
                assert_eq!(answer.error()["code"], "unreachable", "{answer:?}");
            }
        }
    }
    (acknowledged, failed)
}

#[test]
fn no_acknowledged_write_is_lost_when_the_primary_dies_under_load() {
    let mut pair = ReplicatedPair::start();
    let team = Team::at("--database", &pair.url());
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve();
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (acknowledged, by_pn) = thread::scope(|scope| {
        let (stop, done) = (&stop, &done);
        let writers: Vec<_> = (0..WRITERS)
            .map(|at| {
                let mut http = server.client(&token);
                scope.spawn(move || write(&mut http, &format!("writer-{at}"), stop, done))
            })
            .collect();
        let pn = scope.spawn(|| run_pn(&team, &server, &token, stop));
        let wait_for_writes = |more: usize| {
            let goal = done.load(Ordering::Relaxed) + more;
            eventually("writes that are acknowledged", || (done.load(Ordering::Relaxed) >= goal).then_some(()));
        };
        wait_for_writes(WRITES_PER_PHASE);
        pair.fail_over();
        wait_for_writes(WRITES_PER_PHASE);
        stop.store(true, Ordering::Relaxed);
        let all = writers.into_iter().flat_map(|writer| writer.join().expect("a writer")).collect::<Vec<_>>();
        (all, pn.join().expect("pn"))
    });
    let stored = pair.stored();
    for title in acknowledged.iter().chain(&by_pn.0) {
        assert_eq!(stored.get(title), Some(&1), "acknowledged: {title}");
    }
    assert!(stored.values().all(|count| *count == 1), "nothing is there twice");
    // Other titles belong to writes that were in flight when the writers stopped, or when pn gave up.
    let known: HashSet<&String> = acknowledged.iter().chain(&by_pn.0).collect();
    let unacknowledged = stored.keys().filter(|title| !known.contains(title)).count();
    assert!(unacknowledged <= WRITERS + by_pn.1, "{unacknowledged} more than were asked for");
    assert!(!by_pn.0.is_empty());
    let events = "SELECT count(*), count(DISTINCT id), max(id), min(id) FROM pensa.events
         WHERE store_id IN (SELECT store::uuid FROM pensa.projects)";
    let count = stored.len();
    assert_eq!(pair.standby.psql(DATABASE, events), format!("{count}|{count}|{count}|1"), "the log has no gap");
    let made = team.through(&server, &token, ["create", "after all", "-t", "task"]).ok_json();
    assert_eq!(made["title"], "after all", "the same process serves on");
}

#[test]
fn retried_change_after_failover_is_made_once() {
    let mut pair = ReplicatedPair::start();
    let team = Team::at("--database", &pair.url());
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve();
    let mut http = server.client(&token);
    let mut send = || http.ask("POST", "/issues").header("Idempotency-Key", "k").body(&task("once")).reply();
    let first = send().ok();
    pair.fail_over();
    let again = eventually("a server that has found the survivor", || Some(send()).filter(|reply| reply.status != 503));
    assert_eq!(again.ok(), first);
    assert_eq!(pair.stored(), HashMap::from([("once".to_owned(), 1)]));
    let other = server.client(&token).ask("POST", "/issues").header("Idempotency-Key", "k").body(&json!({})).reply();
    assert!(other.status == 400 || other.status == 409, "{other:?}");
}
