//! `pn events`, `pn watch`, and the event stream with many subscribers.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use pensa_testkit::{Daemon, Http, PATIENCE, Run, Sandbox, eventually, reap};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::interactive::Terminal;
use crate::steps::{create, task, text};

crate::in_both_modes! {
    events_are_listed_in_order_and_filtered,
    a_follower_sees_events_of_other_processes_at_once_and_each_once,
    a_follower_continues_after_a_number_and_ends_with_its_reader,
    a_log_that_was_replaced_ends_a_follower_with_an_error,
    a_restored_store_is_followed_further,
    an_issue_is_watched_until_it_is_closed_or_gone,
    the_queue_is_watched,
}

/// A running `pn` and the lines it prints.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(run: Run) -> Self {
        let mut child = run.json().spawn();
        let stdout = child.stdout.take().expect("a pipe");
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Self { child, lines }
    }

    #[track_caller]
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a line in time");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("sent");
    }

    /// Waits for its end; returns exit code and standard error.
    #[track_caller]
    fn ends(mut self) -> (Option<i32>, String) {
        let status = reap(&mut self.child);
        assert!(self.lines.recv_timeout(PATIENCE).is_err(), "nothing comes at the end");
        let mut result = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut result).expect("text");
        (status.code(), result)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn numbers(events: &[Value]) -> Vec<i64> {
    events.iter().map(|event| event["id"].as_i64().expect("a number")).collect()
}

fn events_are_listed_in_order_and_filtered(pn: &Sandbox) {
    let first = task(pn, "first");
    pn.pn(["update", &first, "--claim"]).actor("ana").ok();
    pn.pn(["close", &first]).actor("ana").ok();
    let second = create(pn, &["second", "-t", "bug"]);
    let agent = text(&pn.pn(["agent", "create", "--type", "user"]).ok_json()["id"]);
    let events = |args: &[&str]| pn.pn([&["events"], args].concat()).ok_json_lines();
    let all = events(&["--after", "0"]);
    assert_eq!(numbers(&all), (1..=all.len() as i64).collect::<Vec<_>>());
    let names: Vec<String> =
        all.iter().map(|e| format!("{} {}", text(&e["subject_kind"]), text(&e["event_type"]))).collect();
    assert_eq!(names[..4], ["issue created", "issue claimed", "issue closed", "issue created"]);
    let fields = ["id", "subject_kind", "subject_id", "issue_id", "event_type", "actor", "detail", "created_at"];
    assert_eq!(crate::steps::keys(&all[0]), fields);
    let stream = |path: &str| {
        let daemon = pn.daemon();
        let result = Http::to(&daemon.url).ask("GET", path).events().next();
        (result.id, result.data)
    };
    assert_eq!(stream("/events?after=1"), (2, all[1].clone()), "the same shape as in the stream");
    assert_eq!(stream("/events?after=0&type=closed&by=ana"), (3, all[2].clone()));
    assert_eq!(stream(&format!("/events?after=0&subject={second}")).0, 4);
    for (args, expected) in [
        (vec!["-n", "2", "--after", "1"], vec![2, 3]),
        (vec!["--subject", &first], vec![1, 2, 3]),
        (vec!["--subject", &first[..7], "--type", "closed,claimed"], vec![2, 3]),
        (vec!["--type", "issue.created", "-n", "1"], vec![4]),
        (vec!["--by", "ana"], vec![2, 3]),
        (vec!["--subject", &second[3..], "--after", "0"], vec![4]),
        (vec!["--by", "nobody"], vec![]),
        (vec!["-n", "0"], vec![]),
    ] {
        assert_eq!(numbers(&events(&args)), expected, "{args:?}");
    }
    let of_agents = events(&["--subject", "agent"]);
    assert!(!of_agents.is_empty() && of_agents.iter().all(|event| event["subject_id"] == agent), "{of_agents:?}");
    assert_eq!(events(&["--type", "agent.*"]), of_agents);
    assert_eq!(numbers(&events(&["-n", "1"])), [all.len() as i64], "the last");
    let shown = pn.pn(["events", "--subject", &first]).ok();
    assert!(
        shown.lines().nth(2).is_some_and(|line| line.contains(&format!("closed issue {first} by ana: status"))),
        "{shown}"
    );
    assert_eq!(pn.pn(["events", "-q", "-n", "2", "--after", "0"]).ok(), "1\n2\n");
    for bad in [["--type", "crated"], ["--after", "-1"], ["--after", "x"]] {
        let result = pn.pn(["events", &format!("{}={}", bad[0], bad[1])]).json().answer();
        assert_eq!(
            (result.code.is_some_and(|code| code != 0), &result.error()["code"]),
            (true, &json!("invalid_input"))
        );
    }
    pn.pn(["events", "--subject", "pn-zzzzzzzz"]).fails("not_found");
    pn.pn(["events", "--subject", "pn-"]).fails("ambiguous_id");
    pn.pn(["events", "--after", "1000"]).fails("conflict");
    pn.pn(["events", "--after", "1", "-n", "1", "--follow"]).fails("invalid_input");
}

fn a_follower_sees_events_of_other_processes_at_once_and_each_once(pn: &Sandbox) {
    let first = task(pn, "there before");
    let (all, one) = (
        Following::start(pn.pn(["events", "--follow"])),
        Following::start(pn.pn(["events", "-f", "--subject", &first, "-n", "0", "--type", "commented"])),
    );
    assert_eq!(all.next()["id"], 1);
    for at in 2..12 {
        // Embedded, next to the daemon if there is one.
        match at % 2 {
            0 => pn.embedded(["create", "more", "-t", "task"]).ok(),
            _ => pn.pn(["comment", "add", &first, "said"]).ok(),
        };
        assert_eq!(all.next()["id"], at);
        if at % 2 == 1 {
            assert_eq!(one.next()["id"], at);
        }
    }
    kill_process(Pid::from_child(&all.child), Signal::INT).expect("a child of ours");
    let mut all = all;
    assert_eq!(reap(&mut all.child).signal(), Some(2), "as any command that is interrupted");
}

fn a_follower_continues_after_a_number_and_ends_with_its_reader(pn: &Sandbox) {
    for at in 0..3 {
        task(pn, &format!("issue {at}"));
    }
    let following = Following::start(pn.pn(["events", "--after", "1", "--follow"]));
    assert_eq!([following.next()["id"].clone(), following.next()["id"].clone()], [json!(2), json!(3)]);
    pn.embedded(["create", "before", "-t", "task"]).ok();
    assert_eq!(following.next()["id"], 4);
    let mut pipe = pn.pn(["events", "--follow"]).spawn();
    drop(pipe.stdout.take());
    pn.embedded(["create", "nobody reads of it", "-t", "task"]).ok();
    assert_eq!(following.next()["id"], 5);
    assert_eq!(reap(&mut pipe).code(), Some(0), "a reader that has seen enough is no error");
}

fn a_log_that_was_replaced_ends_a_follower_with_an_error(pn: &Sandbox) {
    for at in 0..3 {
        task(pn, &format!("issue {at}"));
    }
    pn.embedded(["export"]).ok();
    let following = Following::start(pn.pn(["events", "--after", "2", "--follow"]));
    assert_eq!(following.next()["id"], 3);
    // Neither the journal nor a backup is left, so the log begins anew. The follower is stopped meanwhile: it
    // would rebuild the store between two removals.
    following.signal(Signal::STOP);
    fs::remove_dir_all(pn.store().join("local")).expect("removed");
    fs::remove_dir_all(pn.durable()).expect("removed");
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(pn.store().join(name));
    }
    pn.embedded(["create", "in another log", "-t", "task"]).ok();
    following.signal(Signal::CONT);
    let (code, result) = following.ends();
    let result: Value = result.lines().last().map(|line| serde_json::from_str(line).expect("JSON")).expect("a line");
    assert_eq!((code, &result["code"]), (Some(1), &json!("conflict")), "{result}");
}

fn a_restored_store_is_followed_further(pn: &Sandbox) {
    task(pn, "kept");
    let backup = text(&pn.embedded(["backup"]).ok_json()["path"]);
    task(pn, "given up");
    let following = Following::start(pn.pn(["events", "--after", "1", "--follow"]));
    assert_eq!(following.next()["id"], 2);
    pn.embedded(["restore", &backup]).ok();
    let restored = following.next();
    assert_eq!((restored["id"].as_i64() > Some(2), &restored["event_type"]), (true, &json!("restored")), "{restored}");
    fs::remove_file(pn.store().join("db.sqlite")).expect("removed");
    let made = text(&pn.embedded(["create", "after it was rebuilt", "-t", "task"]).ok_json()["id"]);
    assert_eq!(following.next()["subject_id"], made);
}

fn an_issue_is_watched_until_it_is_closed_or_gone(pn: &Sandbox) {
    let (id, other) = (task(pn, "watched"), task(pn, "other"));
    let watching = Following::start(pn.pn(["watch", "issue", &id[..8]]));
    let until = Following::start(pn.pn(["watch", "issue", &id, "--until", "closed"]));
    for each in [&watching, &until] {
        assert_eq!((&each.next()["id"], "open"), (&json!(id), "open"));
    }
    pn.pn(["comment", "add", &other, "of no concern"]).ok();
    pn.pn(["update", &id, "--claim"]).ok();
    for each in [&watching, &until] {
        assert_eq!(each.next()["status"], "in_progress");
    }
    pn.pn(["close", &id]).ok();
    for each in [&watching, &until] {
        assert_eq!(each.next()["status"], "closed");
    }
    assert_eq!(until.ends().0, Some(0));
    let in_vain = Following::start(pn.pn(["watch", "issue", &id, "--until", "open"]));
    assert_eq!(in_vain.next()["status"], "closed");
    pn.pn(["delete", &id]).ok();
    assert_eq!(watching.next(), json!({"status": "deleted", "id": id}));
    assert_eq!(watching.ends().0, Some(0));
    let (code, result) = in_vain.ends();
    assert!(code == Some(1) && result.contains("not_found"), "{result}");
    pn.pn(["watch", "issue", &id]).fails("not_found");
}

fn the_queue_is_watched(pn: &Sandbox) {
    let until = Following::start(pn.pn(["watch", "ready", "--until", "some"]));
    let watching = Following::start(pn.pn(["watch", "ready", "-n", "1"]));
    for each in [&until, &watching] {
        assert_eq!(each.next(), json!([]));
    }
    let id = create(pn, &["work", "-t", "task", "-p", "p1"]);
    for each in [&until, &watching] {
        assert_eq!(each.next()[0]["id"], id);
    }
    assert_eq!(until.ends().0, Some(0));
    task(pn, "of less concern");
    pn.pn(["update", &id, "--claim", "--ttl", "1s"]).ok();
    assert_ne!(watching.next()[0]["id"], id);
    assert_eq!(watching.next()[0]["id"], id, "a lease that runs out is noticed without anybody else looking");
}

#[test]
fn watch_draws_on_a_screen_of_its_own_and_leaves_the_last_answer_behind() {
    let pn = crate::sandbox();
    let id = task(&pn, "watched");
    let watch = ["TERM=xterm", "NO_COLOR=1", crate::PN, "watch", "issue", &id];
    let terminal = Terminal::run(&pn, "env", &[&watch[..], &["--until", "closed"]].concat());
    terminal.until("watched");
    pn.pn(["update", &id, "--title", "RENAMED"]).ok();
    terminal.until("RENAMED");
    pn.pn(["close", &id]).ok();
    let (shown, status) = terminal.end();
    assert_eq!(status.code(), Some(0));
    let (_, after) = shown.split_once("\u{1b}[?1049l").unwrap_or_else(|| panic!("the screen is not left: {shown:?}"));
    assert!(shown.contains("\u{1b}[?1049h") && after.contains("RENAMED") && after.contains("closed"), "{shown:?}");

    let terminal = Terminal::run(&pn, "env", &watch);
    terminal.until("RENAMED");
    pn.pn(["delete", &id]).ok();
    terminal.until("was deleted");
    assert_eq!(terminal.end().1.code(), Some(0));
}

const SUBSCRIBERS: usize = 100;
const EVENTS: i64 = 10_000;

/// Writes events through the daemon, many with each request, until the log has this many.
fn write(url: &str, until: i64) {
    let mut http = Http::to(url);
    let made = json!({"op": "issue.create", "title": "one", "issue_type": "task", "as": "it"});
    let printed: Vec<Value> = std::iter::once(made)
        .chain((1..250).map(|at| json!({"op": "comment.add", "id": "@it", "text": format!("{at}")})))
        .collect();
    let end = |http: &mut Http| http.get("/log?limit=0").ok()["end"].as_i64().expect("a number");
    while end(&mut http) < until {
        http.post("/batch", &json!({"operations": printed})).ok();
    }
}

/// Reads a stream from where an earlier one ended until it ends or is complete.
fn read_on(port: u16, seen: &AtomicI64) -> std::io::Result<()> {
    let after = seen.load(Ordering::Relaxed);
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let asked = format!("GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nLast-Event-ID: {after}\r\n\r\n");
    stream.write_all(asked.as_bytes())?;
    let (mut id, mut is_part) = (None, false);
    for line in BufReader::new(stream).lines() {
        let line = line?;
        assert!(!line.starts_with("event:"), "nobody here is slow");
        if let Some(number) = line.strip_prefix("id: ") {
            id = number.parse::<i64>().ok();
        } else if line.starts_with("data: ") {
            is_part = true;
        } else if line.is_empty()
            && let Some(number) = id.take().filter(|_| std::mem::take(&mut is_part))
        {
            assert_eq!(number, seen.load(Ordering::Relaxed) + 1, "nothing skipped, nothing twice");
            seen.store(number, Ordering::Relaxed);
            if number == EVENTS {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[test]
fn a_hundred_subscribers_get_ten_thousand_events_in_order_and_once_across_a_restart() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let port = daemon.port();
    let seen: Vec<AtomicI64> = (0..SUBSCRIBERS).map(|_| AtomicI64::new(0)).collect();
    thread::scope(|scope| {
        for (at, seen) in seen.iter().enumerate() {
            scope.spawn(move || {
                while seen.load(Ordering::Relaxed) < EVENTS {
                    if read_on(port, seen).is_err() {
                        // The daemon is restarting.
                        thread::sleep(Duration::from_millis(20 + at as u64 % 10));
                    }
                }
            });
        }
        write(&daemon.url, EVENTS / 2);
        eventually("someone is on the way", || (seen[0].load(Ordering::Relaxed) > EVENTS / 4).then_some(()));
        drop(daemon);
        let again = restart(&pn, port);
        write(&again.url, EVENTS);
        eventually("all have all", || seen.iter().all(|seen| seen.load(Ordering::Relaxed) == EVENTS).then_some(()));
    });
}

/// A daemon on the port of one that has just ended.
fn restart(pn: &Sandbox, port: u16) -> Daemon {
    let port = port.to_string();
    pn.embedded(["daemon", "--port", &port]).json().serve()
}

#[test]
fn a_follower_through_a_daemon_continues_after_its_restart() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let port = daemon.port();
    let through = pn.embedded(["events", "--after", "0", "--follow"]).env("PN_DAEMON", &daemon.url);
    let following = Following::start(through);
    task(&pn, "before");
    assert_eq!(following.next()["id"], 1);
    drop(daemon);
    task(&pn, "while it is away");
    let again = restart(&pn, port);
    assert_eq!(following.next()["id"], 2);
    task(&pn, "after");
    assert_eq!(following.next()["id"], 3);
    drop(again);
}

#[test]
fn a_filtered_stream_reports_its_position() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let stream = Http::to(&daemon.url).ask("GET", "/events?after=0&by=nobody").events();
    write(&daemon.url, 500);
    let result = stream.next();
    assert!(result.data.is_null() && result.id >= 200, "{result:?}");
    let behind = Http::to(&daemon.url).ask("GET", "/events?after=0&type=created&by=unknown").events();
    drop(behind);
    Http::to(&daemon.url).get("/events?after=100000").refused(409, "conflict");
    Http::to(&daemon.url).get("/events?subject=pn-nothing").refused(404, "not_found");
    Http::to(&daemon.url).get("/events?type=nothing").refused(400, "invalid_input");
}

/// The memory of a process, in bytes.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// Requests the whole stream with a small receive buffer, and reads nothing.
fn ask_silently(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a daemon");
    rustix::net::sockopt::set_socket_recv_buffer_size(&stream, 16 << 10).expect("a size");
    let asked = format!("GET /events?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(asked.as_bytes()).expect("sent");
    stream
}

#[test]
fn a_subscriber_that_does_not_read_is_dropped_and_costs_no_memory() {
    const SILENT: usize = 8;
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let mut http = Http::to(&daemon.url);
    let large = "x".repeat(60_000);
    let made = json!({"op": "issue.create", "title": "large", "issue_type": "task", "description": large});
    // More than the kernel buffers for a connection.
    for _ in 0..8 {
        http.post("/batch", &json!({"operations": vec![&made; 25]})).ok();
    }
    let before = resident(daemon.pid());
    let mut silent: Vec<TcpStream> = (0..SILENT).map(|_| ask_silently(daemon.port())).collect();
    // Longer than the daemon waits for a slow reader, shorter than the TCP timeout.
    thread::sleep(Duration::from_secs(18));
    let after = resident(daemon.pid());
    // One chunk per subscriber; the whole stream would be 12 MB for each.
    assert!(after < before + (60 << 20), "{before} to {after}");
    let stream = silent.pop().expect("one of them");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut result = String::new();
    let mut lines = BufReader::new(stream);
    while !result.contains("event: dropped") || !result.ends_with("}\n") {
        assert!(lines.read_line(&mut result).expect("text") > 0, "a reason before the end");
        assert!(!result.ends_with(": still here\n"), "it was not dropped");
        result = result.split_off(result.len().saturating_sub(1000));
    }
    let end = result.split("event: dropped").nth(1).expect("a reason");
    assert!(end.contains("\"code\":\"timeout\"") && end.contains("Last-Event-ID"), "{end}");
}
