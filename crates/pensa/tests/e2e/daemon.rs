//! The daemon as a process: how it starts, stops, and shares the store with embedded commands.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use pensa_testkit::{Daemon, Disk, PATIENCE, Sandbox};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::steps::{ids, keys, show, task, text};

#[test]
fn a_daemon_prints_its_address_and_project() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    assert_eq!(keys(&daemon.ready), ["url", "project_dir", "version", "store_id"]);
    assert!(daemon.url.starts_with("http://127.0.0.1:"), "only this machine: {}", daemon.url);
    let project = std::fs::canonicalize(pn.project()).expect("a project");
    assert_eq!(daemon.ready["project_dir"], json!(project));
    let config = std::fs::read_to_string(pn.store().join("config.toml")).expect("a config");
    assert!(config.contains(&text(&daemon.ready["store_id"])), "{config}");
}

#[test]
fn status_shows_whether_a_daemon_answers() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let status = || pn.pn(["daemon", "status"]).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere"));
    assert_eq!(status().ok_json(), daemon.ready);
    let result = status().ok();
    assert!(result.contains(&daemon.url) && result.contains("project"), "{result}");
    let url = daemon.url.clone();
    daemon.stop(Signal::TERM);
    pn.pn(["daemon", "status"]).env("PN_DAEMON", url).fails("unreachable");
}

#[test]
fn a_daemon_creates_the_store_of_the_given_project_only() {
    let pn = Sandbox::bare(crate::PN);
    pn.pn(["daemon", "--port", "0"]).fails("no_store");
    assert!(!pn.store().exists());
    let daemon = pn.daemon();
    let made = pn.pn(["create", "one", "-t", "task"]).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere"));
    let id = text(&made.ok_json()["id"]);
    assert_eq!(ids(&pn, &["list"]), [id]);
}

/// A request whose head the daemon has and whose body it awaits.
struct HalfSent {
    stream: TcpStream,
    body: String,
}

impl HalfSent {
    fn start(daemon: &Daemon, title: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", daemon.port())).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let body = json!({"title": title, "issue_type": "task"}).to_string();
        let head = format!(
            "POST /issues HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Pensa-Actor: ana\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
            daemon.port(),
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut line = String::new();
        reader.read_line(&mut line).expect("an answer to the head");
        assert!(line.starts_with("HTTP/1.1 100"), "{line}");
        Self { stream, body }
    }

    fn finish(mut self) -> (String, Value) {
        self.stream.write_all(self.body.as_bytes()).expect("sent");
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).expect("an answer");
        let answer = answer.trim_start();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("an answer: {answer:?}"));
        (head.lines().next().unwrap_or_default().to_owned(), serde_json::from_str(body).expect("JSON"))
    }
}

#[test]
fn term_and_int_stop_a_daemon_after_pending_requests() {
    for signal in [Signal::TERM, Signal::INT] {
        let pn = crate::sandbox();
        let daemon = pn.daemon();
        let request = HalfSent::start(&daemon, "in flight");
        daemon.signal(signal);
        let (status, made) = request.finish();
        assert_eq!(status, "HTTP/1.1 201 Created");
        let exit = daemon.stop(signal);
        assert_eq!(exit.code(), Some(0), "{signal:?}: {exit:?}");
        assert_eq!(ids(&pn, &["list"]), [text(&made["id"])], "and what was answered is there");
    }
}

#[test]
fn an_idle_connection_does_not_keep_a_daemon_alive() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    pn.pn(["daemon", "status"]).env("PN_DAEMON", &daemon.url).ok();
    let _idle = TcpStream::connect(("127.0.0.1", daemon.port())).expect("a connection");
    assert_eq!(daemon.stop(Signal::TERM).code(), Some(0));
}

#[test]
fn a_stop_right_after_the_start_is_clean_too() {
    let pn = crate::sandbox();
    for _ in 0..10 {
        let exit = pn.daemon().stop(Signal::TERM);
        assert_eq!(exit.code(), Some(0), "{exit:?}");
    }
}

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let pn = crate::sandbox();
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let error = pn.pn(["daemon", "--port", &port]).fails("conflict");
    assert!(text(&error["error"]).contains(&port), "{error}");
    assert!(error["hint"].is_string(), "{error}");
}

#[test]
fn an_unreachable_daemon_is_an_error_and_never_a_fallback() {
    let pn = crate::sandbox();
    let free = TcpListener::bind(("127.0.0.1", 0)).expect("a free port").local_addr().expect("an address");
    let url = format!("http://{free}");
    for args in [vec!["create", "x", "-t", "task"], vec!["list"], vec![], vec!["where"], vec!["batch"]] {
        let error = pn.pn(&args).env("PN_DAEMON", &url).fails("unreachable");
        assert!(text(&error["error"]).contains(&url), "{error}");
        pn.pn([&["--remote-server", &url], &args[..]].concat()).fails("unreachable");
    }
    pn.pn(["list"]).env("PN_DAEMON", "not a url").fails("invalid_input");
    assert_eq!(pn.pn(["list"]).env("PN_DAEMON", "").ok_json(), json!([]), "an empty variable is none");
}

#[test]
fn another_server_on_the_port_is_not_mistaken_for_a_daemon() {
    let pn = crate::sandbox();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a caller");
        let mut head = [0u8; 1024];
        let _ = stream.read(&mut head);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello").expect("sent");
    });
    pn.pn(["list"]).env("PN_DAEMON", url).fails("unreachable");
    other.join().expect("a server that ends");
}

#[test]
fn the_token_is_not_sent_to_a_host_with_a_similar_name() {
    let pn = crate::sandbox();
    drop(pn.daemon());
    assert!(pn.store().join("local/token").exists(), "the daemon has made its token");
    let listener = TcpListener::bind(("127.0.0.10", 0)).expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a caller");
        let mut head = [0u8; 4096];
        let length = stream.read(&mut head).expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]").expect("sent");
        String::from_utf8_lossy(&head[..length]).to_lowercase()
    });
    pn.pn(["list"]).env("PN_DAEMON", url).ok_json();
    let head = other.join().expect("a server that ends");
    assert!(!head.contains("authorization"), "{head}");
}

#[test]
fn the_daemon_of_another_project_is_refused() {
    let (here, there) = (crate::sandbox(), crate::sandbox());
    let daemon = there.daemon();
    for args in [vec!["create", "x", "-t", "task"], vec!["list"], vec!["import"]] {
        here.pn(args).env("PN_DAEMON", &daemon.url).fails("wrong_store");
    }
    assert_eq!(there.pn(["list"]).ok_json(), json!([]));
    assert_eq!(here.pn(["list"]).ok_json(), json!([]));
}

#[test]
fn a_clone_of_the_project_may_use_its_daemon() {
    let pn = Sandbox::bare(crate::PN);
    pn.git_init();
    pn.pn(["init"]).ok();
    let id = task(&pn, "one");
    pn.git(["add", "--all"]);
    pn.git(["commit", "--quiet", "--message=store"]);
    let clone = pn.path("clone");
    pn.git(["clone", "--quiet", ".", clone.to_str().expect("a path")]);
    let daemon = pn.daemon();
    let listed = pn.pn(["list"]).env("PN_DAEMON", &daemon.url).dir(&clone).ok_json();
    assert_eq!(listed[0]["id"], id.as_str());
}

#[test]
fn daemons_and_direct_writers_see_each_others_writes() {
    let pn = crate::sandbox();
    let daemons = [pn.daemon(), pn.daemon()];
    let elsewhere = pn.path("elsewhere");
    let through = |at: usize, args: &[&str]| pn.pn(args).env("PN_DAEMON", &daemons[at].url).dir(&elsewhere);
    for round in 0..10 {
        let id = text(&through(round % 2, &["create", "one", "-t", "task"]).ok_json()["id"]);
        assert_eq!(show(&pn, &id)["status"], "open");
        pn.pn(["update", &id, "--claim"]).actor("ana").ok_json();
        through((round + 1) % 2, &["update", &id, "--claim"]).actor("ben").fails("already_claimed");
        assert_eq!(through(round % 2, &["close", &id]).ok_json()["status"], "closed");
        assert_eq!(show(&pn, &id)["status"], "closed");
    }
}

#[test]
fn a_daemon_whose_database_is_deleted_switches_to_the_new_one() {
    let pn = crate::sandbox();
    let kept = task(&pn, "exported");
    pn.pn(["export"]).ok();
    let daemon = pn.daemon();
    let through = |args: &[&str]| pn.pn(args).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere"));
    assert_eq!(through(&["list", "-q"]).ok().trim(), kept);
    for file in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = std::fs::remove_file(pn.store().join(file));
    }
    let made = text(&through(&["create", "made after", "-t", "task"]).ok_json()["id"]);
    let both = |listed: String| listed.contains(&kept) && listed.contains(&made) && listed.lines().count() == 2;
    assert!(both(through(&["list", "-q"]).ok()));
    assert!(both(pn.pn(["list", "-q"]).ok()));
}

#[test]
fn a_token_that_came_with_the_repository_is_refused() {
    let pn = crate::sandbox();
    pn.git_init();
    std::fs::write(pn.store().join("local/token"), "known to everybody\n").expect("a token");
    pn.git(["add", "--force", ".pensa/local/token"]);
    let result = pn.pn(["daemon", "--port", "0"]).fails("forbidden");
    assert!(text(&result["error"]).contains("tracked by git"), "{result}");
}

#[test]
fn the_project_that_is_named_is_served_even_inside_a_repository() {
    let pn = crate::sandbox();
    pn.git_init();
    let inner = pn.project().join("inner");
    std::fs::create_dir(&inner).expect("a directory");
    std::fs::rename(pn.store(), inner.join(".pensa")).expect("a store inside");
    let daemon = pn.pn(["daemon", "--port", "0", "--project-dir", "inner"]).json().serve();
    assert!(text(&daemon.ready["project_dir"]).ends_with("/inner"), "{}", daemon.ready);
    assert!(!pn.store().exists(), "no second store at the root");
}

/// Creates issues through a daemon until one is refused. Returns the acknowledged ones and the error.
fn create_until_refused(pn: &Sandbox, url: &str) -> (Vec<String>, Value) {
    let mut acknowledged = Vec::new();
    for _ in 0..200 {
        let run = pn.pn(["create", "a task", "-t", "task", "--description", "-"]).stdin("x".repeat(9000)).json();
        let answer = run.env("PN_DAEMON", url).dir(pn.path("elsewhere")).answer();
        if answer.code != Some(0) {
            return (acknowledged, answer.error());
        }
        acknowledged.push(text(&serde_json::from_str::<Value>(&answer.stdout).expect("an issue")["id"]));
    }
    panic!("the disk never fills up");
}

#[test]
fn a_full_disk_behind_a_daemon_fails_every_caller_and_loses_nothing_acknowledged() {
    let pn = Sandbox::bare(crate::PN);
    let disk = Disk::small(&pn, &pn.project(), "1500k");
    pn.pn(["init"]).on(&disk).ok();
    std::fs::write(disk.file("ballast"), vec![1u8; 400 * 1024]).expect("room for the ballast");
    let daemon = pn.pn(["daemon", "--port", "0"]).json().on(&disk).serve();
    let result: Vec<(Vec<String>, Value)> = thread::scope(|scope| {
        let callers: Vec<_> = (0..8).map(|_| scope.spawn(|| create_until_refused(&pn, &daemon.url))).collect();
        callers.into_iter().map(|caller| caller.join().expect("a caller")).collect()
    });
    for (_, error) in &result {
        assert_eq!(error["code"], "disk_full", "{error}");
    }
    std::fs::remove_file(disk.file("ballast")).expect("removed");
    let through = |args: &[&str]| pn.pn(args).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere"));
    let mut acknowledged: Vec<String> = result.into_iter().flat_map(|(made, _)| made).collect();
    assert!(!acknowledged.is_empty(), "some fitted");
    acknowledged.push(text(&through(&["create", "fits again", "-t", "task"]).ok_json()["id"]));
    acknowledged.sort();
    let mut there: Vec<String> = through(&["list", "-q"]).ok().lines().map(str::to_owned).collect();
    there.sort();
    assert_eq!(there, acknowledged, "what was acknowledged, and nothing else");
}
