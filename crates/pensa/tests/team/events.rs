//! Tests that the event stream is complete and ordered, across servers, reconnects and processes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pensa_testkit::{Http, Sandbox};
use serde_json::json;

use crate::fixture::{ProjectToken, ServeProcess, Team, create, create_all};

/// Subscribers are promised one second; this allows for busy test machines.
const MAX_DELAY: Duration = Duration::from_secs(5);

fn team_of_two_servers() -> (Team, ProjectToken, [ServeProcess; 2]) {
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "agent");
    let servers = [team.serve(), team.serve()];
    (team, token, servers)
}

#[test]
fn event_through_one_server_reaches_subscribers_of_another() {
    let (team, token, servers) = team_of_two_servers();
    create(&mut servers[0].client(&token), "old");
    let stream = servers[1].client(&token).ask("GET", "/events").events();
    for at in 0..5 {
        let id = create(&mut servers[0].client(&token), &format!("new {at}"));
        let event = stream.next_within(MAX_DELAY).expect("news in time");
        assert_eq!(event.id, at + 2, "only what is new, each with the next number");
        assert_eq!((&event.data["subject_id"], &event.data["event_type"]), (&id.into(), &"created".into()));
        assert_eq!(event.data["id"], event.id);
    }
    team.through(&servers[0], &token, ["create", "by pn", "-t", "task"]).ok();
    assert_eq!(stream.next_within(MAX_DELAY).expect("news in time").data["detail"]["title"]["new"], "by pn");
}

#[test]
fn stream_starts_after_the_requested_event() {
    let (_team, token, servers) = team_of_two_servers();
    let mut http = servers[0].client(&token);
    create_all(&mut http, (0..450).map(|at| format!("issue {at}")));
    let first_of = |stream: pensa_testkit::http::Events| stream.next().id;
    assert_eq!(first_of(http.ask("GET", "/events?after=0").events()), 1);
    assert_eq!(first_of(http.ask("GET", "/events?after=449").events()), 450);
    assert_eq!(first_of(http.ask("GET", "/events").header("Last-Event-ID", "100").events()), 101);
    let both = http.ask("GET", "/events?after=7").header("Last-Event-ID", "100").events();
    assert_eq!(first_of(both), 101, "where a stream broke off goes before where it began");
    let whole = servers[1].client(&token).ask("GET", "/events?after=0").events();
    assert_eq!((0..450).map(|_| whole.next().id).collect::<Vec<_>>(), (1..=450).collect::<Vec<_>>());
    for bad in ["/events?after=x", "/events?after=-1", "/events?before=1", "/events?after="] {
        http.get(bad).refused(400, "invalid_input");
    }
    http.ask("GET", "/events").header("Last-Event-ID", "x").reply().refused(400, "invalid_input");
}

/// Follows from the start to the event `last`, and reconnects after every few events.
fn follow(mut connect: impl FnMut(usize) -> Http, last: i64, resume_by_header: bool) {
    let mut seen = 0;
    for turn in 0.. {
        let mut http = connect(turn);
        let stream = match resume_by_header && seen > 0 {
            true => http.ask("GET", "/events").header("Last-Event-ID", &seen.to_string()).events(),
            false => http.ask("GET", &format!("/events?after={seen}")).events(),
        };
        for _ in 0..7 + turn % 13 {
            let event = stream.next();
            assert_eq!(event.id, seen + 1, "nothing skipped, nothing twice");
            seen = event.id;
            if seen == last {
                return;
            }
        }
    }
}

#[test]
fn no_event_is_skipped_or_repeated_across_reconnects_under_load() {
    const WRITERS: usize = 4;
    const WRITES: usize = 60;
    let (_team, token, servers) = team_of_two_servers();
    thread::scope(|scope| {
        let (token, servers) = (&token, &servers);
        for at in 0..WRITERS {
            scope.spawn(move || {
                let mut http = servers[at % 2].client(token);
                (0..WRITES).for_each(|round| drop(create(&mut http, &format!("{at} {round}"))));
            });
        }
        let last = (WRITERS * WRITES) as i64;
        for by_header in [true, false] {
            scope.spawn(move || follow(|turn| servers[turn % 2].client(token), last, by_header));
        }
        scope.spawn(move || {
            let stream = servers[0].client(token).ask("GET", "/events?after=0").events();
            (1..=last).for_each(|number| assert_eq!(stream.next().id, number, "one that never breaks off"));
        });
    });
}

#[test]
fn daemon_streams_changes_of_other_processes() {
    let pn = Sandbox::with_store(crate::PN);
    let daemon = pn.daemon();
    let stream = Http::to(&daemon.url).ask("GET", "/events?after=0").events();
    create(&mut Http::to(&daemon.url), "through it");
    pn.pn(["create", "beside it", "-t", "task"]).ok();
    let events: Vec<_> = [stream.next(), stream.next()].into();
    assert_eq!((events[0].id, events[1].id), (1, 2));
    assert_eq!(events[1].data["detail"]["title"]["new"], "beside it");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                pn.pn(["create", "beside it again", "-t", "task"]).ok();
            }
        });
        follow(|_| Http::to(&daemon.url), 30, true);
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn open_streams_do_not_prevent_a_stop() {
    let (_team, token, [one, _other]) = team_of_two_servers();
    let stream = one.client(&token).ask("GET", "/events").events();
    let exit = one.process.stop(rustix::process::Signal::TERM);
    assert_eq!(exit.code(), Some(0), "{exit:?}");
    assert!(stream.ends_within(MAX_DELAY));
}

#[test]
fn filtered_streams_send_matching_events_and_end_with_the_token() {
    let (team, token, servers) = team_of_two_servers();
    let mut http = servers[0].client(&token);
    let first = create(&mut http, "first");
    let closed = servers[1].client(&token).ask("GET", "/events?type=closed,reopened").events();
    let of_first = servers[1].client(&token).ask("GET", &format!("/events?after=0&subject={}", &first[..8])).events();
    let by_nobody = servers[1].client(&token).ask("GET", "/events?after=0&by=nobody").events();
    create_all(&mut http, (0..300).map(|at| format!("issue {at}")));
    http.post(&format!("/issues/{first}/close"), &serde_json::json!({})).ok();
    // Skip position updates.
    let wanted = |stream: &pensa_testkit::http::Events| loop {
        let events = stream.next();
        if !events.data.is_null() {
            return events;
        }
    };
    let events = wanted(&closed);
    let of_first = [wanted(&of_first), wanted(&of_first)];
    assert_eq!(events.data["subject_id"], first);
    assert_eq!((of_first[0].id, of_first[1].id), (1, events.id));
    let far = by_nobody.next();
    assert!(far.data.is_null() && far.id >= 200, "how far it is: {far:?}");
    let beyond = format!("/events?after={}", events.id + 1);
    http.get(&beyond).refused(409, "conflict");
    for (bad, code) in [("/events?subject=pn-none", 404), ("/events?type=none", 400)] {
        assert_eq!(http.get(bad).status, code, "{bad}");
    }
    team.direct(&["token", "revoke", &token.id]).ok();
    assert!(closed.ends_within(MAX_DELAY), "whoever may no longer look");
}

#[test]
fn pn_keeps_following_after_the_server_restarts() {
    use std::io::{BufRead, BufReader};
    let team = Team::on_postgres();
    team.project("web");
    let token = team.token("web", "agent");
    let server = team.serve();
    let address = format!("127.0.0.1:{}", server.process.port());
    let mut child = team.through(&server, &token, ["events", "--after", "0", "--follow"]).json().spawn();
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = move || -> serde_json::Value {
        serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON")
    };
    create(&mut server.client(&token), "before");
    assert_eq!(next()["id"], 1);
    assert_eq!(server.process.stop(rustix::process::Signal::TERM).code(), Some(0));
    let server = team.serve_with(&["--rate", "0", "--listen", &address]);
    create(&mut server.client(&token), "after");
    assert_eq!(next()["id"], 2);
    child.kill().expect("a child of ours");
    child.wait().expect("gone");
}

/// Later readers learn only that the issue was deleted, from the log and from buffered events alike.
#[test]
fn only_the_deletion_of_a_deleted_issue_is_streamed_and_audited() {
    let (team, _, servers) = team_of_two_servers();
    let admin = team.token("web", "admin");
    let early: Vec<_> =
        servers.iter().map(|server| server.client(&admin).ask("GET", "/events?after=0").events()).collect();
    let mut http = servers[0].client(&admin);
    let id = create(&mut http, "a heron");
    http.post(&format!("/issues/{id}/comments"), &json!({"text": "an otter"})).ok();
    http.ask("PATCH", &format!("/issues/{id}")).body(&json!({"description": "an ibex"})).reply().ok();
    http.ask("DELETE", &format!("/issues/{id}?force=true")).reply().ok();
    for stream in &early {
        let last = std::iter::repeat_with(|| stream.next()).find(|event| event.data["event_type"] == "deleted");
        assert_eq!(last.map(|event| event.id), Some(4));
    }
    let removed = json!({"issue": {"old": {"id": id, "title": "a heron"}, "new": null}});
    for server in &servers {
        for after in 0..4 {
            let event = server.client(&admin).ask("GET", &format!("/events?after={after}")).events().next();
            assert_eq!((event.id, &event.data["detail"]), (4, &removed), "after {after}");
        }
        let audit = server.client(&admin).get("/audit").ok();
        let of_it: Vec<_> =
            crate::fixture::elements(&audit).into_iter().filter(|line| line["subject_id"] == id.as_str()).collect();
        assert_eq!(of_it.len(), 1, "{audit}");
        assert_eq!((&of_it[0]["event_type"], &of_it[0]["detail"]), (&"deleted".into(), &removed));
        assert!(!audit.to_string().contains("otter") && !audit.to_string().contains("ibex"), "{audit}");
    }
}
