//! Claims that end by themselves.

use pensa_testkit::{Sandbox, eventually};
use serde_json::{Value, json};

use crate::steps::{event_types, history, ids, show, task, text};

crate::in_both_modes! {
    a_claim_without_ttl_never_expires,
    an_expired_lease_makes_the_issue_claimable_and_ready_again,
    a_former_holder_is_told_that_the_lease_is_lost,
    every_former_holder_is_told_not_only_the_last,
    a_heartbeat_renews_the_lease,
    a_heartbeat_of_another_is_refused,
    claiming_again_leaves_the_lease_alone,
    a_lease_ends_with_the_claim,
}

/// Claims with the shortest lease and waits until it has run out and `next` could claim.
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

fn a_former_holder_is_told_that_the_lease_is_lost(pn: &Sandbox) {
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

fn every_former_holder_is_told_not_only_the_last(pn: &Sandbox) {
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
