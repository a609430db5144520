//! Commits with an unknown outcome, and idempotency keys that make a retry safe.

use pensa_testkit::{Answer, Run, Sandbox};
use serde_json::Value;

use crate::in_both_modes;
use crate::steps::{elements, ids, task, text};

/// Runs a command in which system calls of this kind fail: the given one, or all.
fn failing(run: Run, call: &str, nth: Option<usize>) -> Answer {
    let when = nth.map_or_else(String::new, |nth| format!(":when={nth}"));
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:error=EIO{when}"));
    run.under("strace", ["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]).answer()
}

fn titled(pn: &Sandbox, title: &str) -> Vec<String> {
    let all = elements(&pn.pn(["list"]).ok_json());
    all.iter().filter(|issue| issue["title"] == title).map(|issue| text(&issue["id"])).collect()
}

/// Makes a create fail at one sync and retries it with the same key. Returns the code of the first answer.
#[track_caller]
fn fail_and_retry(pn: &Sandbox, call: &str, nth: Option<usize>) -> Option<String> {
    let title = format!("{call} {nth:?}");
    let key = title.replace(' ', "-");
    let create = || pn.pn(["create", &title, "-t", "task", "--idempotency-key", &key]);
    let answer = failing(create().json(), call, nth);
    let there = titled(pn, &title);
    match answer.code {
        Some(0) => assert_eq!(there.len(), 1, "{title}: acknowledged: {answer:?}"),
        _ => assert!(there.len() <= 1, "{title}: {answer:?}"),
    }
    let again = text(&create().ok_json()["id"]);
    assert_eq!(titled(pn, &title), [again.as_str()], "{title}: {answer:?}");
    if answer.code == Some(0) {
        let first: Value = serde_json::from_str(&answer.stdout).expect("an issue");
        assert_eq!(first["id"], again.as_str(), "{title}: the same answer");
        return None;
    }
    Some(text(&answer.error()["code"]))
}

#[test]
fn a_commit_whose_sync_fails_is_found_stored_or_its_outcome_is_unknown() {
    let pn = crate::sandbox();
    task(&pn, "first");
    assert_eq!(fail_and_retry(&pn, "fsync", Some(1)), None, "a second look finds it, and syncs it elsewhere");
    assert_eq!(fail_and_retry(&pn, "fsync", None).as_deref(), Some("unknown_outcome"), "no sync ever succeeds");
    for nth in 2..6 {
        for call in ["fdatasync", "fsync"] {
            let code = fail_and_retry(&pn, call, Some(nth));
            assert!(code.as_deref().is_none_or(|code| code == "unknown_outcome"), "{call} {nth}: {code:?}");
        }
    }
}

/// While another process has the database open, SQLite does not recover the WAL, so an unsynced commit is not found.
#[test]
fn a_commit_that_fails_while_others_have_the_store_open_is_unknown_and_can_be_tried_again() {
    let pn = crate::sandbox();
    task(&pn, "first");
    let _daemon = pn.daemon();
    let create = || pn.pn(["create", "in doubt", "-t", "task", "--idempotency-key", "k"]);
    let answer = failing(create().json(), "fsync", Some(1));
    assert_eq!(answer.error()["code"], "unknown_outcome", "{answer:?}");
    let result = answer.error();
    assert!(text(&result["error"]).starts_with("not known whether"), "{result}");
    assert!(text(&result["hint"]).contains("--idempotency-key"), "{result}");
    create().ok_json();
    assert_eq!(titled(&pn, "in doubt").len(), 1);
}

fn events(pn: &Sandbox) -> String {
    pn.pn(["events", "--after", "0"]).json().ok()
}

fn a_change_with_a_key_is_made_once(pn: &Sandbox) {
    let (one, two) = (task(pn, "one"), task(pn, "two"));
    pn.pn(["agent", "create", "--type", "user", "--name", "ann"]).ok();
    let commands: [(&[&str], &str); 12] = [
        (&["create", "three", "-t", "task"], ""),
        (&["update", &one, "--priority", "p0"], ""),
        (&["update", &one, "--claim"], ""),
        (&["release", &one], ""),
        (&["comment", "add", &one, "said"], ""),
        (&["dep", "add", &one, &two], ""),
        (&["close", &two], ""),
        (&["kv", "set", "--scope", "s", "colour", "blue"], ""),
        (&["session", "append", "ann", "-"], "{\"type\":\"note\",\"text\":\"said\"}\n"),
        (&["record", "put", "items", "-"], "{\"id\":\"a\"}\n"),
        (&["remember", "the build needs a key"], ""),
        (&["batch"], "{\"op\":\"issue.create\",\"title\":\"in a batch\",\"issue_type\":\"task\"}\n"),
    ];
    for (n, (args, input)) in commands.into_iter().enumerate() {
        let key = format!("key-{n}");
        let run = || pn.pn([args, &["--idempotency-key", &key]].concat()).stdin(input).json().ok();
        let first = run();
        let after = events(pn);
        assert_eq!(run(), first, "{args:?}: the same answer");
        assert_eq!(events(pn), after, "{args:?}: nothing more has happened");
    }
    let all = ids(pn, &["list"]).len();
    pn.pn(["create", "another", "-t", "task", "--idempotency-key", "key-0"]).fails("conflict");
    pn.pn(["create", "another", "-t", "task", "--idempotency-key", ""]).fails("invalid_input");
    assert_eq!(ids(pn, &["list"]).len(), all);
}

in_both_modes! {
    a_change_with_a_key_is_made_once,
}
