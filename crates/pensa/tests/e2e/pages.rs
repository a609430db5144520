//! The pages besides board, list and issue, as a daemon serves them: what they show, and what their forms do.

use std::fs;

use pensa_testkit::{Daemon, Http, Sandbox};
use serde_json::Value;

use crate::steps::{create, task};

/// A project with something on every page.
fn project() -> (Sandbox, Vec<String>) {
    let pn = crate::sandbox();
    let first = task(&pn, "lay the keel");
    let second = create(&pn, &["raise the mast", "-t", "task", "--dep", &first]);
    pn.pn(["update", &first, "--claim", "--ttl", "1h"]).ok();
    pn.pn(["remember", "masts go up before sails", "--issue", &second, "--tag", "rigging"]).ok();
    pn.pn(["ship", "the hull", "--version", "1.0"]).ok();
    let agent = pn.pn(["agent", "create", "-t", "user", "--name", "bosun"]).ok_json();
    let entries = "{\"type\":\"user_message\",\"text\":\"where is the **sail**?\"}\n{\"type\":\"assistant_message\",\"text\":\"below\"}\n";
    pn.pn(["session", "append", agent["id"].as_str().expect("an id"), "-"]).stdin(entries).ok();
    (pn, vec![first, second])
}

fn http(daemon: &Daemon) -> Http {
    Http::to(&daemon.url)
}

#[track_caller]
fn page(http: &mut Http, path: &str) -> String {
    let reply = http.get(path);
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    assert!(!reply.body.contains(" style=") && !reply.body.contains("<script>"), "{path} has inline code");
    reply.body
}

#[track_caller]
fn send(http: &mut Http, daemon: &Daemon, path: &str, fields: &[(&str, &str)]) {
    let own = format!("http://127.0.0.1:{}", daemon.port());
    let reply = http.ask("POST", path).header("Origin", &own).form(fields).reply();
    assert_eq!(reply.status, 303, "{path}: {}", reply.body);
}

#[test]
fn every_page_shows_what_is_there() {
    let (pn, ids) = project();
    let daemon = pn.daemon();
    let mut http = http(&daemon);
    let session = pn.pn(["session", "list"]).ok_json()[0]["id"].as_str().expect("an id").to_owned();
    for (path, parts) in [
        ("/ui/graph", vec!["<svg", "class=\"edge critical\"", "raise the mast", ids[0].as_str()]),
        ("/ui/graph?q=mast", vec!["raise the mast"]),
        ("/ui/agents", vec!["Claims", "left", "bosun", "/ui/do/signal.send"]),
        ("/ui/sessions", vec![session.as_str(), "aria-label=\"Sessions\""]),
        ("/ui/sessions?q=SAIL", vec!["Found", "where is the"]),
        ("/ui/memory", vec!["masts go up before sails", "/ui/do/learning.verify", "rigging"]),
        ("/ui/memory?q=sails&kind=pattern", vec!["masts go up"]),
        ("/ui/insights", vec!["Critical path", "Unblock first"]),
        ("/ui/charts", vec!["Burndown: 2 left", "Throughput", "<table>"]),
        ("/ui/log", vec!["dep_added", "/ui/do/undo"]),
        ("/ui/log?type=claimed", vec!["claimed"]),
        ("/ui/releases", vec!["the hull", "/ui/do/release.ship"]),
        ("/ui/settings", vec!["1 open", "pn config list"]),
    ] {
        let html = page(&mut http, path);
        for part in parts {
            assert!(html.contains(part), "{path} has no {part}: {html}");
        }
    }
    let replay = page(&mut http, &format!("/ui/sessions/{session}"));
    assert!(replay.contains("<strong>sail</strong>") && replay.contains("data-who=\"assistant\""), "{replay}");
    assert!(!page(&mut http, "/ui/memory?q=sails&kind=gotcha").contains("masts go up"));
    assert!(!page(&mut http, "/ui/log?type=claimed").contains("dep_added"));
}

#[test]
fn what_is_not_there_or_wrong_is_said_on_a_page() {
    let (pn, _) = project();
    let daemon = pn.daemon();
    let mut http = http(&daemon);
    for (path, status) in [
        ("/ui/nothing", 404),
        ("/ui/sessions/se-none", 404),
        ("/ui/runs/run-none", 404),
        ("/ui/jobs/job-none", 404),
        ("/ui/runs/run-none/log", 404),
        ("/ui/memory?kind=rumour", 400),
        ("/ui/sessions/%zz", 400),
    ] {
        let reply = http.get(path);
        assert_eq!(reply.status, status, "{path}: {}", reply.body);
        assert!(reply.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{path}");
    }
}

#[test]
fn forms_run_operations() {
    let (pn, ids) = project();
    let daemon = pn.daemon();
    let mut http = http(&daemon);
    let learning = pn.pn(["learning", "list"]).ok_json()[0]["id"].as_str().expect("an id").to_owned();
    send(&mut http, &daemon, "/ui/do/learning.verify", &[("id", &learning)]);
    assert!(pn.pn(["learning", "list"]).ok_json()[0]["verified_at"].is_string());
    send(
        &mut http,
        &daemon,
        "/ui/do/learning.remember",
        &[("text", "a\r\nb"), ("kind", "gotcha"), ("tags", ""), ("issue", "")],
    );
    let texts: Vec<Value> = pn
        .pn(["learning", "list"])
        .ok_json()
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["text"].clone())
        .collect();
    assert!(texts.contains(&"a\nb".into()), "{texts:?}");
    send(
        &mut http,
        &daemon,
        "/ui/do/release.ship",
        &[("name", "the mast"), ("version", "1.1"), ("kind", "feature"), ("issues", &ids[1])],
    );
    assert_eq!(http.get("/releases").ok()[0]["name"], "the mast");
    pn.pn(["update", &ids[1], "--title", "raise both masts"]).ok();
    let log = page(&mut http, "/ui/log");
    let event = log.split("name=\"event\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    send(&mut http, &daemon, "/ui/do/undo", &[("event", event.expect("something to undo"))]);
    assert_eq!(crate::steps::show(&pn, &ids[1])["title"], "raise the mast");
}

#[test]
fn the_output_of_a_run_is_followed_and_no_other_file_is_read() {
    let (pn, _) = project();
    pn.git_init();
    let daemon = pn.daemon();
    let mut http = http(&daemon);
    let secret = pn.path("secret");
    fs::write(&secret, "not for the browser").expect("written");
    let run = pn.pn(["run", "start", "--log-path", secret.to_str().expect("a path")]).ok_json();
    let id = run["id"].as_str().expect("an id").to_owned();
    assert!(page(&mut http, &format!("/ui/runs/{id}")).contains("This machine has no log of it."));
    assert_eq!(http.get(&format!("/ui/runs/{id}/log")).status, 404);
    let logs = pn.store().join("local/runs");
    fs::create_dir_all(&logs).expect("a directory");
    fs::write(logs.join(format!("{id}.log")), "line 1\n").expect("written");
    let html = page(&mut http, &format!("/ui/runs/{id}"));
    assert!(html.contains(&format!("data-log=\"/ui/runs/{id}/log\" data-offset=\"7\">line 1\n")), "{html}");
    fs::write(logs.join(format!("{id}.log")), "line 1\nline 2\n").expect("written");
    let more = http.get(&format!("/ui/runs/{id}/log?offset=7"));
    assert_eq!((more.body.as_str(), more.header("pensa-offset")), ("line 2\n", Some("14")));
    assert_eq!(more.header("content-type"), Some("text/plain; charset=utf-8"));
}

#[test]
fn badges_and_charts_are_pictures() {
    let (pn, _) = project();
    task(&pn, "hoist the flag");
    let daemon = pn.daemon();
    let mut http = http(&daemon);
    let badge = http.get("/badge/ready.svg");
    assert_eq!((badge.status, badge.header("content-type")), (200, Some("image/svg+xml")));
    assert!(badge.body.contains("aria-label=\"ready: 1\""), "{}", badge.body);
    let chart = http.get("/chart/burndown.svg");
    assert!(chart.status == 200 && chart.body.starts_with("<svg") && chart.body.contains("Burndown: 3 left"));
    http.get("/chart/nothing.svg").refused(404, "not_found");
}
