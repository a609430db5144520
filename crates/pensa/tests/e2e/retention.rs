//! `pn gc`: what is old goes, by hand and by itself, and what takes up too much space is told.

use std::time::{Duration, Instant};

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::steps::{elements, keys, text};

crate::in_both_modes! {
    what_is_old_is_removed_and_told,
    snapshots_that_were_taken_automatically_go_with_their_contents,
    a_disk_that_is_nearly_full_is_told,
}

const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";

fn old_signals(pn: &Sandbox) {
    for (id, at) in [("sg-1", json!(LONG_AGO)), ("sg-2", json!(null))] {
        pn.pn(["record", "put", "signals", "--id", id, &json!({"acknowledged_at": at}).to_string()]).ok();
    }
}

fn signals(pn: &Sandbox) -> usize {
    elements(&pn.pn(["record", "query", "signals"]).ok_json()["records"]).len()
}

fn what_is_old_is_removed_and_told(pn: &Sandbox) {
    assert!(pn.pn(["gc"]).ok().starts_with("removed nothing from before 20"));
    old_signals(pn);
    let told = pn.pn(["gc", "--dry-run"]).ok_json();
    assert_eq!(keys(&told), ["dry_run", "until", "removed", "warnings"]);
    assert_eq!((&told["removed"]["signals"], signals(pn)), (&json!(1), 2));
    assert!(pn.pn(["gc", "--dry-run"]).ok().starts_with("would remove 1 signals from before"));
    let done = pn.pn(["gc", "--older-than", "30d"]).ok_json();
    assert_eq!((&done["removed"], signals(pn)), (&told["removed"], 1));
    assert_eq!(elements(&pn.pn(["events", "--type", "collected"]).ok_json()["events"]).len(), 1);
    let refused = pn.pn(["gc", "--older-than", "soon"]).answer();
    assert!(refused.code == Some(2) && refused.stderr.contains("durations look like"), "{refused:?}");
}

fn snapshots_that_were_taken_automatically_go_with_their_contents(pn: &Sandbox) {
    pn.git_init();
    let taken = text(&pn.pn(["snapshot", "create", "--label", "mine"]).dir(pn.project()).ok_json()["id"]);
    for _ in 0..2 {
        pn.pn(["snapshot", "restore", &taken]).dir(pn.project()).ok();
    }
    let safety = || -> Vec<String> {
        let all = elements(&pn.pn(["snapshot", "list"]).ok_json());
        all.iter().filter(|it| it["kind"] == "safety").map(|it| text(&it["id"])).collect()
    };
    let before = safety();
    assert_eq!(before.len(), 2);
    assert_eq!(pn.pn(["gc"]).ok_json()["removed"]["snapshots"], 0, "they are young");
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(pn.pn(["gc", "--older-than", "1s", "--dry-run"]).ok_json()["removed"]["snapshots"], 1);
    assert_eq!(pn.pn(["gc", "--older-than", "1s"]).ok_json()["removed"]["snapshots"], 1);
    assert_eq!(safety(), before[..1], "the last of the tree stays, and what a person took");
    pn.pn(["snapshot", "show", &taken]).ok();
    let refs = pn.git(["for-each-ref", "refs/pensa"]);
    assert!(refs.contains(&before[0]) && !refs.contains(&before[1]), "{refs}");
}

fn a_disk_that_is_nearly_full_is_told(pn: &Sandbox) {
    let about_the_disk = |pn: &Sandbox| -> Vec<String> {
        let findings = elements(&pn.pn(["doctor"]).ok_json()["findings"]);
        findings.iter().filter(|it| it["check"] == "disk").map(|it| text(&it["message"])).collect()
    };
    pn.pn(["config", "set", "disk.min-free", "0"]).ok();
    assert!(about_the_disk(pn).is_empty());
    pn.pn(["config", "set", "disk.min-free", "999999999999"]).ok();
    pn.pn(["config", "set", "disk.max-part", "0"]).ok();
    let told = about_the_disk(pn);
    assert!(told.iter().any(|it| it.contains("MB are free on the disk")), "{told:?}");
    assert!(told.iter().any(|it| it.contains("the database takes up")), "{told:?}");
    assert!(pn.pn(["gc"]).ok().contains("warning: only "));
    pn.pn(["config", "set", "disk.min-free", "much"]).fails("invalid_input");
}

#[test]
fn a_daemon_removes_what_is_old_by_itself() {
    let pn = crate::sandbox();
    old_signals(&pn);
    pn.pn(["config", "set", "gc.after", "1s"]).ok();
    pn.pn(["config", "set", "gc.auto", "false"]).ok();
    let still = pn.daemon();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(signals(&pn), 2, "it was told not to");
    drop(still);
    pn.pn(["config", "unset", "gc.auto"]).ok();
    let _daemon = pn.daemon();
    let deadline = Instant::now() + Duration::from_secs(60);
    while signals(&pn) == 2 {
        assert!(Instant::now() < deadline, "the daemon has removed nothing");
        std::thread::sleep(Duration::from_millis(50));
    }
    let events = pn.pn(["events", "--type", "collected"]).ok_json();
    assert_eq!(events["events"][0]["actor"], "daemon");
}
