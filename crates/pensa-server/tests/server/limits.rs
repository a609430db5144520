//! Tests size limits and shutdown.

use std::net::{SocketAddr, TcpListener};
use std::sync::Barrier;
use std::thread;

use crate::daemon::Daemon;
use pensa_core::Code;
use pensa_server::{Options, Server};

const MIB: usize = 1 << 20;

#[test]
fn oversized_content_length_is_refused_before_the_body_arrives() {
    let daemon = Daemon::start();
    let mut connection = daemon.connect();
    let length = 17 * MIB;
    let head = format!(
        "POST /issues HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
        daemon.address
    );
    connection.write(head.as_bytes()).expect("sent");
    let refused = connection.answer().expect("an answer without a byte of the body");
    assert_eq!((refused.status, refused.code()), (413, "too_large"));
}

#[test]
fn client_with_a_slightly_oversized_body_reads_the_error() {
    let daemon = Daemon::start();
    let refused = daemon.json("POST", "/issues", &" ".repeat(17 * MIB));
    assert_eq!((refused.status, refused.code()), (413, "too_large"));
}

#[test]
fn an_endless_body_is_cut_off() {
    let daemon = Daemon::start();
    let mut connection = daemon.connect();
    let head = format!(
        "POST /issues HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        daemon.address
    );
    connection.write(head.as_bytes()).expect("sent");
    let chunk = [format!("{MIB:x}\r\n").as_bytes(), &vec![b' '; MIB], b"\r\n"].concat();
    let sent = (0..1024).take_while(|_| connection.write(&chunk).is_ok()).count();
    assert!(sent < 100, "{sent} MiB were taken");
    let refused = connection.answer().expect("an answer");
    assert_eq!((refused.status, refused.code()), (413, "too_large"));
    assert_eq!(daemon.get("/status").status, 200);
}

#[test]
fn a_body_of_the_allowed_size_is_read() {
    let daemon = Daemon::start();
    let body = format!("{}{}", " ".repeat(16 * MIB - 2), "{}");
    assert_eq!(daemon.json("POST", "/export", &body).status, 200);
}

#[test]
fn session_entries_have_a_larger_body_limit() {
    let daemon = Daemon::start();
    let agent = daemon.json("POST", "/agents", r#"{"type":"user"}"#);
    let path = format!("/agents/{}/entries", agent.body["id"].as_str().expect("an id"));
    let entry = format!(r#"{{"type":"note","text":"{}"}}"#, "x".repeat(10 * MIB));
    let taken = daemon.json("POST", &path, &format!(r#"{{"entries":[{entry},{entry}]}}"#));
    assert_eq!((taken.status, taken.body["count"].as_i64()), (201, Some(2)), "{taken:?}");
    let entry = format!(r#"{{"type":"note","text":"{}"}}"#, "x".repeat(17 * MIB));
    let refused = daemon.json("POST", &path, &format!(r#"{{"entries":[{entry}]}}"#));
    assert_eq!((refused.status, refused.code()), (413, "too_large"));
    assert!(refused.body["error"].as_str().is_some_and(|text| text.contains("16777216")), "{refused:?}");
    let refused = daemon.json("POST", &path, &" ".repeat(65 * MIB));
    assert_eq!((refused.status, refused.code()), (413, "too_large"));
    assert!(refused.body["error"].as_str().is_some_and(|text| text.contains("64 MiB")), "{refused:?}");
}

#[test]
fn oversized_head_is_refused() {
    let daemon = Daemon::start();
    let refused = daemon.send("GET", "/status", &[("X", &"x".repeat(MIB / 8))], "");
    assert_eq!(refused.status, 431);
    let names: Vec<String> = (0..200).map(|n| format!("X-{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    assert_eq!(daemon.send("GET", "/status", &many, "").status, 431);
}

#[test]
fn stopping_does_not_wait_for_idle_connections() {
    let mut daemon = Daemon::start();
    let mut used = daemon.connect();
    assert_eq!(used.send("GET", "/status", &[], "").status, 200);
    let mut fresh = daemon.connect();
    daemon.stop_and_join().expect("a clean stop");
    assert!(used.is_over() && fresh.is_over());
    assert!(std::net::TcpStream::connect(daemon.address).is_err(), "nobody listens any more");
}

#[test]
fn request_in_flight_is_answered_when_the_server_stops() {
    let mut daemon = Daemon::start();
    let body = r#"{"title":"last words","issue_type":"task"}"#;
    let mut connection = daemon.connect();
    // Half a request: the server has read the head and asks for the body.
    let head = format!(
        "POST /issues HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Expect: 100-continue\r\n\r\n",
        daemon.address,
        body.len()
    );
    connection.write(head.as_bytes()).expect("sent");
    assert_eq!(connection.answer().expect("go ahead").status, 100);
    daemon.stop();
    connection.write(body.as_bytes()).expect("sent");
    let made = connection.answer().expect("an answer");
    assert_eq!(made.status, 201, "{made:?}");
    assert!(connection.answer().is_none(), "the connection ends with its answer");
    daemon.stop_and_join().expect("a clean stop");
}

#[test]
fn every_acknowledged_write_survives_a_stop() {
    let mut daemon = Daemon::start();
    let begun = Barrier::new(5);
    let made: Vec<String> = thread::scope(|scope| {
        let write = || {
            let mut connection = daemon.connect();
            let mut made = Vec::new();
            for n in 0..2_000 {
                let body = format!(r#"{{"title":"write {n}","issue_type":"task"}}"#);
                let head = format!(
                    "POST /issues HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    daemon.address,
                    body.len()
                );
                let sent = connection.write(format!("{head}{body}").as_bytes());
                let Some(answer) = sent.ok().and_then(|()| connection.answer()) else { break };
                assert_eq!(answer.status, 201, "{answer:?}");
                made.push(answer.body["id"].as_str().expect("an id").to_owned());
                if n == 0 {
                    begun.wait();
                }
            }
            made
        };
        let writers: Vec<_> = (0..4).map(|_| scope.spawn(write)).collect();
        begun.wait();
        daemon.stop();
        writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect()
    });
    daemon.stop_and_join().expect("a clean stop");
    let engine = crate::daemon::engine(&daemon.dir);
    let all = engine.call("test", &pensa_core::ops::issue::List::default()).expect("a list");
    let stored: std::collections::HashSet<&str> = all.iter().map(|issue| issue.id.as_str()).collect();
    assert!(made.len() >= 4 && made.iter().all(|id| stored.contains(id.as_str())));
}

fn bind(listen: SocketAddr) -> pensa_core::Error {
    let dir = tempfile::tempdir().expect("a directory");
    Server::bind(crate::daemon::engine(&dir), Options { listen, allowed_hosts: Vec::new(), actor: "tester".into() })
        .expect_err("cannot listen there")
}

#[test]
fn error_for_an_unavailable_address_names_it() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = taken.local_addr().expect("an address");
    let error = bind(address);
    assert_eq!(error.code, Code::Conflict);
    assert!(error.message.contains(&address.to_string()), "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("another port")));

    let error = bind(([192, 0, 2, 1], 7533).into());
    assert_eq!(error.code, Code::InvalidInput);
    assert!(error.message.contains("192.0.2.1:7533"), "{error}");
}
