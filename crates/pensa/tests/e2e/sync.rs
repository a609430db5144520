//! `pn sync` between a store and a daemon with another store.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc;
use std::thread;

use pensa_testkit::{Daemon, PATIENCE, Sandbox, eventually, reap};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::steps::{elements, keys, show, task, text};

crate::in_both_modes! {
    sync_exchanges_changes_in_both_directions,
    sync_status_lists_waiting_events,
    the_user_selects_the_server_to_sync_with,
    a_remote_name_for_another_store_starts_a_new_sync,
}

/// Another machine with a store and a daemon, known to `pn` under a name.
fn other(pn: &Sandbox, name: &str) -> (Sandbox, Daemon) {
    let other = crate::sandbox();
    let daemon = other.daemon();
    pn.pn(["remote", "add", name, &daemon.url, "--no-token"]).ok();
    (other, daemon)
}

fn titles(pn: &Sandbox) -> Vec<String> {
    let mut titles: Vec<String> =
        elements(&pn.pn(["list"]).ok_json()).iter().map(|issue| text(&issue["title"])).collect();
    titles.sort();
    titles
}

fn sync_exchanges_changes_in_both_directions(pn: &Sandbox) {
    let (there, _daemon) = other(pn, "home");
    let (one, two) = (task(pn, "one"), task(&there, "two"));
    pn.pn(["comment", "add", &one, "said"]).ok();
    there.pn(["remember", "found out"]).ok();
    let done = pn.pn(["sync", "home"]).ok_json();
    assert_eq!(
        keys(&done),
        ["status", "remote", "store_id", "pulled", "pushed", "conflicts", "held", "notes"],
        "{done}"
    );
    assert_eq!((&done["pulled"], &done["pushed"], &done["conflicts"]), (&json!(2), &json!(2), &json!(0)));
    for side in [pn, &there] {
        assert_eq!(titles(side), ["one", "two"]);
        assert_eq!(elements(&show(side, &one)["comments"]).len(), 1);
        assert_eq!(elements(&side.pn(["learning", "list"]).ok_json()).len(), 1);
    }
    let again = pn.pn(["sync"]).ok_json();
    assert_eq!((&again["pulled"], &again["pushed"]), (&json!(0), &json!(0)));
    // A dependency on a synced issue; and both sides change one title.
    pn.pn(["dep", "add", &one, &two]).ok();
    there.pn(["update", &two, "--title", "by there"]).ok();
    pn.pn(["update", &two, "--title", "by here"]).ok();
    let done = pn.pn(["sync"]).ok_json();
    assert_eq!(done["conflicts"], 1, "{done}");
    for side in [pn, &there] {
        assert_eq!(titles(side), ["by here", "one"]);
        assert_eq!(elements(&show(side, &one)["deps"]).len(), 1);
    }
    let result = pn.pn(["conflicts"]).ok_json();
    assert_eq!((&result[0]["kept"], &result[0]["other"]), (&json!("by here"), &json!("by there")));
    let printed = pn.pn(["sync"]).answer();
    assert_eq!(
        (printed.stdout.as_str(), printed.stderr.as_str()),
        ("synced with home: 0 changes here, 0 records sent\n", "")
    );
    // Synced changes of others are not undone as one's own.
    let undone = pn.pn(["undo", "--dry-run"]).ok_json();
    assert_eq!(undone["undone"][0]["event_type"], "updated", "{undone}");
}

fn sync_status_lists_waiting_events(pn: &Sandbox) {
    assert_eq!(pn.pn(["sync", "status"]).ok_json(), json!([]));
    let (_there, daemon) = other(pn, "home");
    let one = task(pn, "one");
    let status = || pn.pn(["sync", "status", "home"]).ok_json();
    let before = status();
    assert_eq!(keys(&before), ["name", "url", "events", "more", "held", "lastSync"]);
    assert_eq!((&before["url"], &before["lastSync"]), (&json!(daemon.url), &Value::Null));
    let [event] = &elements(&before["events"])[..] else { panic!("{before}") };
    assert_eq!(keys(event), ["id", "type", "timestamp", "data", "synced"]);
    assert_eq!((&event["type"], &event["synced"]), (&json!("issue.created"), &json!(false)));
    assert_eq!(event["data"]["id"], one.as_str());
    pn.pn(["sync"]).ok();
    assert_eq!(status()["events"], json!([]));
    assert!(text(&status()["lastSync"]).ends_with('Z'));
    // Offline, with the server gone.
    drop(daemon);
    pn.pn(["close", &one]).ok();
    pn.pn(["kv", "set", "k", "v", "--scope", "session"]).ok();
    let waiting = status();
    assert_eq!(elements(&waiting["events"]).len(), 1, "only what is exchanged: {waiting}");
    assert_eq!(waiting["events"][0]["type"], "issue.closed");
    assert!(pn.pn(["sync", "status"]).ok().starts_with("home 1 change to send, last synced 20"));
    pn.pn(["sync"]).fails("unreachable");
    assert_eq!(elements(&status()["events"]).len(), 1, "what was not acknowledged goes on waiting");
}

fn the_user_selects_the_server_to_sync_with(pn: &Sandbox) {
    let none = pn.pn(["sync"]).fails("not_found");
    assert!(text(&none["hint"]).contains("pn remote add"), "{none}");
    pn.pn(["sync", "nowhere"]).fails("not_found");
    pn.pn(["sync", "status", "nowhere"]).fails("not_found");
    pn.pn(["sync", "http://localhost:1"]).misused();
    pn.pn(["remote", "add", "gone", "http://127.0.0.1:1", "--no-token"]).ok();
    let gone = pn.pn(["sync"]).fails("unreachable");
    assert!(text(&gone["error"]).starts_with("gone: "), "{gone}");
    let (_there, _daemon) = other(pn, "home");
    let several = pn.pn(["sync"]).fails("invalid_input");
    assert!(text(&several["hint"]).contains("sync.remote"), "{several}");
    pn.pn(["config", "set", "sync.remote", "home", "--user"]).ok();
    assert_eq!(pn.pn(["sync"]).ok_json()["remote"], "home");
    pn.pn(["sync"]).env("PN_SYNC_REMOTE", "gone").fails("unreachable");
}

#[test]
fn a_repository_cannot_select_the_server_to_sync_with() {
    let pn = crate::sandbox();
    let (_there, _daemon) = other(&pn, "home");
    task(&pn, "ours");
    pn.pn(["config", "set", "sync.remote", "home", "--project"]).ok();
    let refused = pn.pn(["sync"]).fails("forbidden");
    assert!(text(&refused["hint"]).contains("a repository does not decide that"), "{refused}");
    assert_eq!(pn.pn(["sync", "home"]).ok_json()["pushed"], 1);
}

#[test]
fn a_repository_cannot_enable_sending_sessions() {
    let pn = crate::sandbox();
    let (there, _daemon) = other(&pn, "home");
    pn.pn(["agent", "create", "-t", "user", "--name", "claude"]).ok();
    pn.pn(["session", "append", "claude", "--type", "note", "--data", "{\"text\":\"a heron\"}"]).ok();
    pn.pn(["config", "set", "sync.sessions", "true", "--project"]).ok();
    let refused = pn.pn(["sync"]).fails("forbidden");
    assert!(text(&refused["hint"]).contains("a repository does not decide that"), "{refused}");
    pn.pn(["config", "set", "sync.sessions", "false", "--project"]).ok();
    pn.pn(["sync"]).ok();
    let found = || elements(&there.pn(["session", "search", "heron"]).ok_json()).len();
    assert_eq!(found(), 0);
    pn.pn(["sync"]).env("PN_SYNC_SESSIONS", "true").ok();
    assert_eq!(found(), 1);
}

fn a_remote_name_for_another_store_starts_a_new_sync(pn: &Sandbox) {
    let (first, _daemon) = other(pn, "home");
    task(pn, "ours");
    task(&first, "of the first");
    pn.pn(["sync"]).ok();
    pn.pn(["remote", "remove", "home"]).ok();
    let (second, _daemon) = other(pn, "home");
    assert_eq!(pn.pn(["sync", "status", "home"]).ok_json()["lastSync"], Value::Null);
    task(&second, "of the second");
    pn.pn(["sync"]).ok();
    for side in [pn, &second] {
        assert_eq!(titles(side), ["of the first", "of the second", "ours"]);
    }
}

#[test]
fn a_restored_server_gets_back_what_it_lost() {
    let pn = crate::sandbox();
    let (there, daemon) = other(&pn, "home");
    let old = task(&there, "old");
    pn.pn(["sync"]).ok();
    there.pn(["backup", "before.sqlite"]).ok();
    let new = task(&pn, "new");
    there.pn(["update", &old, "--title", "edited"]).ok();
    pn.pn(["sync"]).ok();
    there.pn(["restore", "before.sqlite"]).ok();
    assert_eq!(titles(&there), ["old"]);
    task(&there, "made since");
    let done = pn.pn(["sync"]).ok_json();
    assert!(text(&done["notes"][0]).contains("is not what it was"), "{done}");
    for side in [&pn, &there] {
        assert_eq!(titles(side), ["edited", "made since", "new"], "{done}");
    }
    assert_eq!(show(&there, &new)["title"], "new");
    drop(daemon);
}

#[test]
fn a_store_that_was_refilled_is_treated_as_new() {
    let pn = crate::sandbox();
    let (there, _daemon) = other(&pn, "home");
    task(&pn, "ours");
    pn.pn(["export"]).ok();
    task(&there, "theirs");
    pn.pn(["sync"]).ok();
    fs::write(pn.store().join("learnings.jsonl"), "").expect("written");
    pn.pn(["import", "--authoritative"]).ok();
    assert_eq!(titles(&pn), ["ours"]);
    pn.pn(["sync"]).ok();
    for side in [&pn, &there] {
        assert_eq!(titles(side), ["ours", "theirs"], "only a tombstone deletes");
    }
}

/// A running `pn sync --watch` and its output.
struct Watch {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Watch {
    fn start(pn: &Sandbox) -> Self {
        let mut child = pn.pn(["--json", "sync", "--watch"]).spawn();
        let stdout = child.stdout.take().expect("a pipe");
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Self { child, lines }
    }

    fn next(&self) -> Value {
        serde_json::from_str(&self.lines.recv_timeout(PATIENCE).expect("a line")).expect("JSON")
    }

    fn stop(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).expect("sent");
        reap(&mut self.child).code()
    }
}

#[test]
fn sync_watch_exchanges_changes_soon_also_after_an_outage() {
    let pn = crate::sandbox();
    let (there, daemon) = other(&pn, "home");
    task(&pn, "at first");
    let watch = Watch::start(&pn);
    assert_eq!(watch.next()["pushed"], 1);
    let arrives = |side: &Sandbox, title: &str| {
        eventually(title, || titles(side).iter().any(|known| known == title).then_some(()));
    };
    task(&pn, "from here");
    arrives(&there, "from here");
    task(&there, "from there");
    arrives(&pn, "from there");
    let port = daemon.port().to_string();
    daemon.stop(Signal::KILL);
    task(&pn, "meanwhile here");
    task(&there, "meanwhile there");
    let _again = there.pn(["daemon", "--port", &port]).json().serve();
    arrives(&there, "meanwhile here");
    arrives(&pn, "meanwhile there");
    assert_eq!(watch.stop(Signal::INT), Some(0));
    let watch = Watch::start(&pn);
    task(&there, "the last");
    arrives(&pn, "the last");
    assert_eq!(watch.stop(Signal::TERM), Some(0));
}
