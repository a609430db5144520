//! Claims that expire.

use pensa_testkit::{Sandbox, eventually};
use serde_json::{Value, json};

use crate::steps::{event_types, history, ids, show, task, text};

crate::in_both_modes! {
    a_claim_without_ttl_never_expires,
    an_expired_lease_makes_the_issue_claimable_and_ready_again,
    a_former_holder_learns_that_the_lease_is_lost,
    every_former_holder_learns_it_not_only_the_last,
    a_heartbeat_renews_the_lease,
    a_heartbeat_of_another_is_refused,
    claiming_again_leaves_the_lease_alone,
    a_lease_ends_with_the_claim,
}

/// Claims with the shortest lease and waits until it has expired.
fn lose(pn: &Sandbox, id: &str, holder: &str, next: &str, ttl_of_next: Option<&str>) {
    pn.pn(["update", id, "--claim", "--ttl", "1s"]).actor(holder).ok_json();
    take_over(pn, id, next, ttl_of_next);
}

fn take_over(pn: &Sandbox, id: &str, next: &str, ttl: Option<&str>) {
    let mut args = vec!["update", id, "--claim"];
    args.extend(ttl.iter().flat_map(|ttl| ["--ttl", ttl]));
    eventually("a lease of a second runs out", || {
        let answer = pn.pn(&args).actor(next).json().answer();
        if answer.code != Some(0) {
            assert_eq!(answer.error()["code"], "already_claimed");
        }
        (answer.code == Some(0)).then_some(())
    });
}

fn a_claim_without_ttl_never_expires(pn: &Sandbox) {
    let id = task(pn, "one");
    let claimed = pn.pn(["update", &id, "--claim"]).actor("ana").ok_json();
    assert!(claimed.get("lease_expires_at").is_none(), "{claimed}");
    let beat = pn.pn(["heartbeat", &id]).actor("ana").ok_json();
    assert!(beat.get("lease_expires_at").is_none(), "{beat}");
}

fn an_expired_lease_makes_the_issue_claimable_and_ready_again(pn: &Sandbox) {
    let id = task(pn, "one");
    let claimed = pn.pn(["update", &id, "--claim", "--ttl", "1s"]).actor("ana").ok_json();
    assert!(text(&claimed["lease_expires_at"]) > text(&claimed["updated_at"]), "{claimed}");
    pn.pn(["update", &id, "--claim"]).actor("ben").fails("already_claimed");
    eventually("the issue is ready again", || (ids(pn, &["ready"]) == [id.clone()]).then_some(()));
    let issue = show(pn, &id);
    assert_eq!(issue["status"], "open");
    assert!(issue.get("assignee").is_none() && issue.get("lease_expires_at").is_none(), "{issue}");
    let expired = &history(pn, &id)[0];
    assert_eq!(expired["event_type"], "lease_expired");
    assert_eq!(expired["detail"]["assignee"], json!({"old": "ana", "new": null}));
    assert_eq!(pn.pn(["update", &id, "--claim"]).actor("ben").ok_json()["assignee"], "ben");
    assert_eq!(event_types(pn, &id), ["created", "claimed", "lease_expired", "claimed"]);
}

fn a_former_holder_learns_that_the_lease_is_lost(pn: &Sandbox) {
    let id = task(pn, "one");
    lose(pn, &id, "ana", "ben", None);
    let before = show(pn, &id);
    let attempts: [&[&str]; 5] = [
        &["heartbeat", &id],
        &["close", &id],
        &["release", &id],
        &["update", &id, "--unclaim"],
        &["update", &id, "--status", "closed"],
    ];
    for args in attempts {
        pn.pn(args).actor("ana").fails("lease_lost");
    }
    assert_eq!(show(pn, &id), before);
    assert_eq!(pn.pn(["close", &id]).actor("ben").ok_json()["status"], "closed");
}

fn every_former_holder_learns_it_not_only_the_last(pn: &Sandbox) {
    let id = task(pn, "one");
    lose(pn, &id, "ana", "ben", Some("1s"));
    take_over(pn, &id, "cleo", None);
    for former in ["ben", "ana"] {
        pn.pn(["heartbeat", &id]).actor(former).fails("lease_lost");
        pn.pn(["close", &id]).actor(former).fails("lease_lost");
    }
    assert_eq!(show(pn, &id)["assignee"], "cleo");
}

fn expiry(issue: &Value) -> String {
    text(&issue["lease_expires_at"])
}

fn a_heartbeat_renews_the_lease(pn: &Sandbox) {
    let id = task(pn, "one");
    let claimed = pn.pn(["update", &id, "--claim", "--ttl", "1h"]).actor("ana").ok_json();
    eventually("a later end", || {
        let beat = pn.pn(["heartbeat", &id]).actor("ana").ok_json();
        (expiry(&beat) > expiry(&claimed)).then_some(())
    });
    let longer = pn.pn(["heartbeat", &id, "--ttl", "1d"]).actor("ana").ok_json();
    let (from, until) = (text(&longer["updated_at"]), expiry(&longer));
    assert_ne!(from[..10], until[..10], "a day later: {longer}");
    assert_eq!(from[10..], until[10..], "a day later: {longer}");
}

fn a_heartbeat_of_another_is_refused(pn: &Sandbox) {
    let id = task(pn, "one");
    pn.pn(["heartbeat", &id]).actor("ana").fails("lease_lost");
    pn.pn(["update", &id, "--claim", "--ttl", "1h"]).actor("ana").ok_json();
    let error = pn.pn(["heartbeat", &id]).actor("ben").fails("lease_lost");
    assert!(text(&error["error"]).contains("ana"), "{error}");
}

fn claiming_again_leaves_the_lease_alone(pn: &Sandbox) {
    let id = task(pn, "one");
    let first = pn.pn(["update", &id, "--claim", "--ttl", "1h"]).actor("ana").ok_json();
    pn.pn(["update", &id, "--claim", "--ttl", "2h"]).actor("ana").fails("already_claimed");
    assert_eq!(expiry(&show(pn, &id)), expiry(&first));
}

fn a_lease_ends_with_the_claim(pn: &Sandbox) {
    let id = task(pn, "one");
    let ends: [&[&str]; 4] =
        [&["release", &id], &["update", &id, "--status", "open"], &["update", &id, "-a", "ben"], &["close", &id]];
    for args in ends {
        pn.pn(["update", &id, "--claim", "--ttl", "1h"]).actor("ana").ok_json();
        let ended = pn.pn(args).actor("ana").ok_json();
        assert!(ended.get("lease_expires_at").is_none(), "{args:?}: {ended}");
        if ended["assignee"] == "ben" {
            pn.pn(["release", &id]).ok_json();
        }
    }
}

#[test]
fn a_process_with_a_wrong_clock_ends_no_lease_and_takes_no_lock() {
    let pn = crate::sandbox();
    let id = task(&pn, "held");
    pn.pn(["update", &id, "--claim", "--ttl", "1h"]).actor("ana").ok_json();
    pn.pn(["lock", "acquire", "deploy", "--ttl", "1h"]).actor("ana").ok_json();
    let in_2035 = |args: &[&str]| pn.pn(args).actor("ben").under("faketime", ["2035-01-01 00:00:00"]);
    for args in [&["list"][..], &["show", &id], &["ready"], &["create", "by ben", "-t", "task"], &["list"]] {
        let result = in_2035(args).answer();
        assert_eq!(result.code, Some(0), "{args:?}: {result:?}");
        assert_eq!(result.stderr.lines().count(), 1, "{args:?}: one warning: {result:?}");
        assert!(
            result.stderr.contains("2035-01-01") && result.stderr.contains("no lease was ended"),
            "{args:?}: {result:?}"
        );
        assert_eq!(show(&pn, &id)["assignee"], "ana", "{args:?}");
    }
    let result = in_2035(&["list"]).json().answer();
    assert!(serde_json::from_str::<Value>(&result.stderr).expect("JSON")["warning"].is_string(), "{result:?}");
    let refused = in_2035(&["update", &id, "--claim"]).json().answer();
    assert!(refused.stderr.contains("\"code\":\"already_claimed\""), "{refused:?}");
    assert_ne!(in_2035(&["lock", "acquire", "deploy"]).answer().code, Some(0));
    assert_eq!(event_types(&pn, &id), ["created", "claimed"]);
    // Its write is in the log with the wrong time, which must not make that time plausible.
    assert!(in_2035(&["list"]).answer().stderr.contains("no lease was ended"));
    assert_eq!(pn.pn(["list"]).answer().stderr, "", "a right clock is not doubted");
}

#[test]
fn a_daemon_with_a_wrong_clock_ends_no_lease() {
    let pn = crate::sandbox();
    let id = task(&pn, "held");
    pn.pn(["update", &id, "--claim", "--ttl", "1h"]).actor("ana").ok_json();
    let log = pn.path("daemon.log");
    // Set directly instead of with `faketime`, which would be the process that is killed.
    let library =
        pn.tool(pn.command("faketime").args(["2035-01-01 00:00:00", "sh", "-c", "printf %s \"$LD_PRELOAD\""]));
    let daemon = pn.pn(["daemon", "--port", "0"]).json().errors_to(&log);
    let daemon = daemon.env("LD_PRELOAD", library).env("FAKETIME", "@2035-01-01 00:00:00").serve();
    let through = |args: &[&str]| pn.pn(args).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere"));
    for _ in 0..3 {
        assert_eq!(through(&["show", &id]).ok_json()["assignee"], "ana");
        through(&["create", "another", "-t", "task"]).ok();
    }
    assert!(std::fs::read_to_string(&log).expect("a log").contains("no lease was ended"));
    assert_eq!(event_types(&pn, &id), ["created", "claimed"]);
}

#[test]
fn leases_of_a_long_unused_store_expire() {
    let pn = crate::sandbox();
    let id = task(&pn, "held");
    pn.pn(["update", &id, "--claim", "--ttl", "1h"]).actor("ana").ok_json();
    let sql = "UPDATE events SET created_at = '2026-01-01T00:00:00.000Z';
         UPDATE issues SET lease_expires_at = '2026-01-01T01:00:00.000Z'";
    pn.tool(pn.command("sqlite3").arg(pn.store().join("db.sqlite")).arg(sql));
    let result = pn.pn(["list"]).answer();
    assert_eq!(result.stderr, "");
    assert_eq!(event_types(&pn, &id), ["created", "claimed", "lease_expired"]);
}
