//! Tests outages: when the database is down, hangs or is busy, callers get an error within seconds, and the server
//! recovers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pensa_testkit::postgres::Cluster;
use pensa_testkit::{Http, Reply, eventually};

use crate::fixture::{ProjectToken, ServeProcess, Team, create, task, titles};

/// The promised response time during an outage.
const MAX_RESPONSE_TIME: Duration = Duration::from_secs(5);
const DATABASE: &str = "team";

/// Checks that a response arrives in time.
#[track_caller]
fn in_time(what: &str, ask: impl FnOnce() -> Reply) -> Reply {
    let start = Instant::now();
    let reply = ask();
    let took = start.elapsed();
    assert!(took <= MAX_RESPONSE_TIME, "{what} took {took:?}: {reply:?}");
    reply
}

fn own_cluster() -> (Cluster, Team, ProjectToken, ServeProcess) {
    let cluster = Cluster::start();
    cluster.psql("postgres", &format!("CREATE DATABASE {DATABASE}"));
    let team = Team::at("--database", &cluster.url(DATABASE));
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve();
    create(&mut server.client(&token), "before");
    (cluster, team, token, server)
}

/// Sends reads, writes and probes in several rounds during an outage; each must fail in time with one of the codes.
fn assert_errors_in_time(server: &ServeProcess, tokens: &[&ProjectToken], codes: &[&str]) {
    let assert_unavailable = |what: String, reply: &Reply| {
        assert_eq!(reply.status, 503, "{what}: {reply:?}");
        let error = reply.json();
        assert!(codes.iter().any(|code| error["code"] == *code), "{what}: {error}");
        assert!(error["hint"].is_string(), "{error}");
    };
    thread::scope(|scope| {
        for round in 0..6_u64 {
            for token in tokens {
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(400 * round));
                    let what = format!("a read in round {round}");
                    assert_unavailable(what.clone(), &in_time(&what, || server.client(token).get("/issues?limit=5")));
                });
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(400 * round + 100));
                    let what = format!("a write in round {round}");
                    assert_unavailable(
                        what.clone(),
                        &in_time(&what, || server.client(token).post("/issues", &task("during"))),
                    );
                });
            }
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(400 * round));
                let alive = in_time("healthz", || server.anonymous().get("/healthz"));
                assert_eq!(alive.status, 200, "{alive:?}");
                assert_unavailable("readyz".into(), &in_time("readyz", || server.anonymous().get("/readyz")));
            });
        }
    });
}

fn assert_recovery(server: &ServeProcess, token: &ProjectToken) {
    let mut http = server.client(token);
    eventually("a server that has recovered", || (http.get("/issues").status == 200).then_some(()));
    eventually("a server that is ready", || (server.anonymous().get("/readyz").status == 200).then_some(()));
    eventually("a write", || (http.post("/issues", &task("after")).status == 201).then_some(()));
}

#[test]
fn stopped_database_gives_errors_within_seconds_and_recovers() {
    let (mut cluster, team, token, server) = own_cluster();
    let unknown = team.token("web", "agent");
    for way in [Cluster::stop, Cluster::kill] {
        way(&mut cluster);
        assert_errors_in_time(&server, &[&token, &unknown], &["unreachable"]);
        cluster.restart();
        assert_recovery(&server, &token);
    }
    assert_eq!(cluster.psql(DATABASE, "SELECT count(*) FROM pensa.issues WHERE title = 'before'"), "1");
    assert_eq!(cluster.psql(DATABASE, "SELECT count(*) FROM pensa.issues WHERE title = 'during'"), "0");
}

#[test]
fn hanging_database_gives_errors_within_seconds_and_recovers() {
    let (cluster, team, token, server) = own_cluster();
    let unknown = team.token("web", "agent");
    // The server has cached the first token, but not the second.
    server.client(&token).get("/issues").ok();
    cluster.pause();
    assert_errors_in_time(&server, &[&token, &unknown], &["unreachable", "busy"]);
    cluster.resume();
    assert_recovery(&server, &token);
}

#[test]
fn server_without_its_database_does_not_start_and_reports_why() {
    let (mut cluster, team, ..) = own_cluster();
    cluster.stop();
    let error = team.direct(&["serve", "--listen", "127.0.0.1:0"]).fails("unreachable");
    assert!(error["hint"].is_string(), "{error}");
    team.direct(&["project", "list"]).fails("unreachable");
}

/// Locks the row of every store for some seconds, like a stuck writer.
const HOLD_LOCK: &str = "SELECT 1 FROM pensa.stores FOR UPDATE; SELECT pg_sleep(12)";
const IS_HELD: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";

/// Writes with known and new tokens while a store is locked and the server has one connection.
fn write_while_locked(new_tokens: usize) {
    let team = Team::on_postgres();
    team.project("web");
    let known = team.token("web", "agent");
    let new_tokens: Vec<ProjectToken> = (0..new_tokens).map(|_| team.token("web", "agent")).collect();
    let server = team.serve_with(&["--rate", "0", "--pool-size", "1"]);
    create(&mut server.client(&known), "before");
    thread::scope(|scope| {
        let database = team.database();
        let held = scope.spawn(|| database.psql(HOLD_LOCK));
        eventually("a lock", || (database.psql(IS_HELD) == "1").then_some(()));
        for (at, token) in [&known].into_iter().chain(&new_tokens).enumerate() {
            let server = &server;
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(300 * at as u64));
                let mut http = server.client(token);
                let reply = in_time("a write", || http.post("/issues", &task(&format!("during {at}"))));
                reply.refused(503, "busy");
            });
        }
        held.join().expect("a lock that ends");
    });
    let mut http = server.client(&known);
    create(&mut http, "after");
    assert_eq!(titles(&http.get("/issues").ok()).len(), 2, "nothing was done behind our back");
}

#[test]
fn busy_connections_give_errors_within_seconds() {
    write_while_locked(0);
}

/// New tokens must be looked up over the same connections.
#[test]
fn busy_connections_give_errors_within_seconds_for_new_tokens_too() {
    write_while_locked(2);
}

/// Sends requests while a table is locked for longer than any request waits.
fn assert_answers_while_table_is_locked(table: &str, ask: impl Fn(&mut Http, usize) -> Reply + Sync) {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve();
    let mut http = server.client(&token);
    create(&mut http, "before");
    http.get("/issues/search?q=before").ok();
    let lock = format!("BEGIN; LOCK TABLE pensa.{table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(12)");
    let codes: Vec<u16> = thread::scope(|scope| {
        let database = team.database();
        let held = scope.spawn(|| database.psql(&lock));
        eventually("a lock", || (database.psql(IS_HELD) == "1").then_some(()));
        let asked: Vec<_> = (0..40)
            .map(|at| {
                let (mut http, ask) = (server.client(&token), &ask);
                scope.spawn(move || {
                    let reply = in_time(&format!("request {at}"), || ask(&mut http, at));
                    if reply.status >= 300 {
                        reply.refused(503, "busy");
                    }
                    reply.status
                })
            })
            .collect();
        let codes = asked.into_iter().map(|asked| asked.join().expect("an answer")).collect();
        held.join().expect("a lock that ends");
        codes
    });
    assert!(codes.contains(&503), "the table was locked: {codes:?}");
    assert_recovery(&server, &token);
}

#[test]
fn searches_are_answered_within_seconds_while_a_table_is_locked() {
    assert_answers_while_table_is_locked("issues", |http, at| http.get(&format!("/issues/search?q=number{at}")));
}

#[test]
fn changes_are_answered_within_seconds_while_a_table_is_locked() {
    assert_answers_while_table_is_locked("issues", |http, at| http.post("/issues", &task(&format!("at {at}"))));
}

#[test]
fn requests_are_answered_within_seconds_while_the_store_list_is_locked() {
    assert_answers_while_table_is_locked("stores", |http, at| match at % 2 {
        0 => http.get(&format!("/issues/search?q=number{at}")),
        _ => http.post("/issues", &task(&format!("at {at}"))),
    });
}

#[test]
fn changes_in_flight_when_the_database_hangs_are_answered_within_seconds() {
    let (cluster, _team, token, server) = own_cluster();
    let (done, over) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let slowest = thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|at| {
                let (mut http, done, over) = (server.client(&token), &done, &over);
                scope.spawn(move || {
                    loop {
                        let start = Instant::now();
                        let reply = http.post("/issues", &task(&format!("{at} under way")));
                        done.fetch_add(1, Ordering::Relaxed);
                        if reply.status != 201 {
                            over.fetch_add(1, Ordering::Relaxed);
                            return (start.elapsed(), reply);
                        }
                    }
                })
            })
            .collect();
        eventually("a load", || (done.load(Ordering::Relaxed) > 100).then_some(()));
        cluster.pause();
        eventually("answers", || (over.load(Ordering::Relaxed) == 8).then_some(()));
        cluster.resume();
        writers.into_iter().map(|writer| writer.join().expect("a writer")).max_by_key(|(took, _)| *took)
    });
    let (took, reply) = slowest.expect("eight writers");
    assert_eq!(reply.status, 503, "{reply:?}");
    assert_recovery(&server, &token);
    assert!(took <= MAX_RESPONSE_TIME, "the slowest took {took:?}: {reply:?}");
}

/// Uses enough projects that the writers compete for connections.
#[test]
fn no_acknowledged_write_is_lost_when_connections_are_cut() {
    const CUT: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let team = Team::on_postgres();
    let projects: Vec<String> = (0..8).map(|at| format!("web{at}")).collect();
    projects.iter().for_each(|name| drop(team.project(name)));
    let tokens: Vec<ProjectToken> = projects.iter().map(|name| team.token(name, "agent")).collect();
    let server = team.serve_with(&["--rate", "0"]);
    let done = AtomicUsize::new(0);
    let acknowledged: Vec<Vec<String>> = thread::scope(|scope| {
        let of_project = |token| {
            let (server, done) = (&server, &done);
            let agent = move |agent: usize| {
                let mut http = server.client(token);
                let mut made = |title: &String| {
                    let reply = http.post("/issues", &task(title));
                    done.fetch_add(1, Ordering::Relaxed);
                    assert!(matches!(reply.status, 201 | 503), "{reply:?}");
                    if reply.status == 503 {
                        // Without a pause, all attempts would be used up before the database is back.
                        thread::sleep(Duration::from_millis(50));
                    }
                    reply.status == 201
                };
                let titles = (0..25).map(|at| format!("thing {at} of agent {agent}"));
                titles.filter(|title| made(title)).collect::<Vec<_>>()
            };
            (0..4).map(|number| scope.spawn(move || agent(number))).collect::<Vec<_>>()
        };
        let agents: Vec<_> = tokens.iter().map(of_project).collect();
        for load in [100, 300, 500] {
            eventually("a load", || (done.load(Ordering::Relaxed) > load).then_some(()));
            team.database().psql(CUT);
        }
        let all = |agents: Vec<thread::ScopedJoinHandle<'_, Vec<String>>>| {
            agents.into_iter().flat_map(|agent| agent.join().expect("an agent")).collect()
        };
        agents.into_iter().map(all).collect()
    });
    assert!(acknowledged.iter().map(Vec::len).sum::<usize>() > 400, "most are made all the same");
    for (token, acknowledged) in tokens.iter().zip(acknowledged) {
        let stored = titles(&server.client(token).get("/issues").ok());
        for title in acknowledged {
            assert_eq!(stored.iter().filter(|known| **known == title).count(), 1, "{title}");
        }
    }
}
