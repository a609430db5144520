//! `pn gc`: what is old goes, by hand and by itself, and what takes up too much space is told.

use std::time::{Duration, Instant};

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::steps::{elements, keys, text};

crate::in_both_modes! {
    what_is_old_is_removed_and_told,
    snapshots_that_were_taken_automatically_go_with_their_contents,
    a_disk_that_is_nearly_full_is_told,
    what_was_left_behind_is_given_back_once,
    deleted_issues_are_purged_and_no_journal_brings_them_back,
}

const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";

fn old_signals(pn: &Sandbox) {
    let dir = pn.path("elsewhere/.taskstore");
    std::fs::create_dir_all(&dir).expect("a directory");
    let lines = [
        json!({"id": "sg-1", "signal_type": "info", "created_at": LONG_AGO, "acknowledged_at": LONG_AGO}),
        json!({"id": "sg-2", "signal_type": "stop", "created_at": LONG_AGO, "target_loop": "lp-1"}),
    ];
    let lines = lines.map(|line| line.to_string()).join("\n");
    std::fs::write(dir.join("signals.jsonl"), format!("{lines}\n")).expect("written");
    pn.pn(["import-from", "taskstore", dir.to_str().expect("UTF-8")]).ok();
}

fn signals(pn: &Sandbox) -> usize {
    pn.pn(["record", "query", "signals", "-q"]).ok().lines().count()
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
    assert_eq!(pn.pn(["events", "--type", "collected"]).ok_json_lines().len(), 1);
    let refused = pn.pn(["gc", "--older-than", "soon"]).answer();
    assert!(refused.code == Some(2) && refused.stderr.contains("not a duration"), "{refused:?}");
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

fn deleted_issues_are_purged_and_no_journal_brings_them_back(pn: &Sandbox) {
    let words = ["zebrafish", "heron", "walrus"];
    let id = text(&pn.pn(["create", words[0], "-t", "task", "-d", words[1]]).ok_json()["id"]);
    let stays = text(&pn.pn(["create", "something else", "-t", "task"]).ok_json()["id"]);
    pn.pn(["comment", "add", &id, words[2]]).ok();
    pn.pn(["delete", &id, "--force"]).ok();
    let events = || pn.pn(["events", "--after", "0", "--subject", &id]).ok_json_lines();
    let event = events()[0]["id"].to_string();
    assert_eq!(pn.pn(["undo", "--event", &event, "--dry-run"]).ok_json()["undone"][0]["event_type"], "deleted");
    assert_eq!(pn.pn(["gc"]).ok_json()["removed"]["deleted_issues"], 0, "it was deleted just now");
    std::thread::sleep(Duration::from_millis(1100));
    assert!(pn.pn(["gc", "--older-than", "1s", "--dry-run"]).ok().contains("would remove 1 deleted issues"));
    assert_eq!(pn.pn(["gc", "--older-than", "1s"]).ok_json()["removed"]["deleted_issues"], 1);
    let told = json!({"issue": {"old": {"id": id}, "new": null}, "purged": true});
    let is_purged = || {
        let all = pn.pn(["events", "--after", "0"]).ok_json_lines();
        assert_eq!(words.iter().find(|word| json!(all).to_string().contains(**word)), None, "{all:?}");
        assert_eq!((events().len(), &events()[0]["detail"]), (1, &told));
        let refused = pn.pn(["undo", "--event", &event]).fails("conflict");
        assert!(json!(refused).to_string().contains("pn gc has removed for good"), "{refused:?}");
        pn.pn(["show", &stays]).ok();
    };
    is_purged();
    let dump = || pn.tool(pn.command("sqlite3").arg(pn.store().join("db.sqlite")).arg(".dump events tombstones work"));
    let before = dump();
    assert_eq!(words.iter().find(|word| before.contains(**word)), None, "{before}");
    for file in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = std::fs::remove_file(pn.store().join(file));
    }
    is_purged();
    assert_eq!(dump(), before);
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
    // Less than the minute after which it would do so untold.
    let deadline = Instant::now() + Duration::from_secs(40);
    while signals(&pn) == 2 {
        assert!(Instant::now() < deadline, "the daemon has removed nothing");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(pn.pn(["events", "--type", "collected"]).ok_json_lines()[0]["actor"], "daemon");
}

/// A loop that runs in a process that is gone, with its worktree or without.
fn left_behind(pn: &Sandbox, worktree: Option<&str>, then: Option<&str>) -> String {
    let make = ["loop", "create", "-t", "code", "--prompt-path", "p.md", "--validation-command", "true", "--worktree"];
    let dir = pn.project().join(worktree.unwrap_or("nowhere"));
    let made = pn.pn([&make[..], &[dir.to_str().expect("UTF-8")]].concat()).ok_json();
    let id = text(&made["id"]);
    // No process has this number: it is more than a machine has.
    pn.pn(["loop", "start", &id, "--pid", "2147483000"]).ok();
    if let Some(then) = then {
        pn.pn(["loop", then, &id]).ok();
    }
    id
}

fn status(pn: &Sandbox, id: &str) -> String {
    text(&pn.pn(["loop", "show", id]).ok_json()["status"])
}

fn what_was_left_behind_is_given_back_once(pn: &Sandbox) {
    std::fs::create_dir(pn.project().join("work")).expect("a directory");
    let there = left_behind(pn, Some("work"), None);
    let rebased = left_behind(pn, Some("work"), Some("rebase"));
    let lost = left_behind(pn, None, None);
    let paused = left_behind(pn, None, Some("pause"));
    let asks = left_behind(pn, None, Some("submit"));
    let alive = left_behind(pn, Some("work"), Some("pause"));
    pn.pn(["loop", "resume", &alive, "--pid", &std::process::id().to_string()]).ok();
    let told = pn.pn(["recover"]).ok_json();
    assert_eq!((keys(&told), elements(&told["loops"]).len()), (vec!["loops", "jobs"], 3), "{told}");
    let stands: Vec<String> = [&there, &rebased, &lost, &paused, &asks, &alive].map(|id| status(pn, id)).to_vec();
    assert_eq!(stands, ["pending", "pending", "failed", "paused", "awaiting_approval", "running"]);
    let count = || pn.pn(["events", "--subject", &there, "--after", "0"]).ok_json_lines().len();
    let before = count();
    assert!(pn.pn(["recover"]).ok().contains("nothing was left behind"));
    assert_eq!(count(), before);
    assert_eq!(pn.pn(["loop", "claim"]).ok_json()["id"], there, "it can be claimed again");
}

#[test]
fn a_daemon_that_starts_gives_back_loops_whose_runners_are_gone() {
    let pn = crate::sandbox();
    let lost = left_behind(&pn, None, None);
    let _daemon = pn.daemon();
    assert_eq!(status(&pn, &lost), "failed");
}
