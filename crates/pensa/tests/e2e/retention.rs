//! `pn gc`: old data is removed by command and by the daemon, and disk space warnings.

use std::time::{Duration, Instant};

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::steps::{elements, keys, text};

crate::in_both_modes! {
    old_data_is_removed_and_counted,
    automatic_snapshots_are_deleted_with_their_contents,
    a_nearly_full_disk_is_reported,
    abandoned_loops_are_released_once,
    purged_issues_are_not_restored_from_the_journal,
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

fn old_data_is_removed_and_counted(pn: &Sandbox) {
    assert!(pn.pn(["gc"]).ok().starts_with("removed nothing from before 20"));
    old_signals(pn);
    let result = pn.pn(["gc", "--dry-run"]).ok_json();
    assert_eq!(keys(&result), ["dry_run", "until", "removed", "warnings"]);
    assert_eq!((&result["removed"]["signals"], signals(pn)), (&json!(1), 2));
    assert!(pn.pn(["gc", "--dry-run"]).ok().starts_with("would remove 1 signals from before"));
    let done = pn.pn(["gc", "--older-than", "30d"]).ok_json();
    assert_eq!((&done["removed"], signals(pn)), (&result["removed"], 1));
    assert_eq!(pn.pn(["events", "--type", "collected"]).ok_json_lines().len(), 1);
    let refused = pn.pn(["gc", "--older-than", "soon"]).answer();
    assert!(refused.code == Some(2) && refused.stderr.contains("not a duration"), "{refused:?}");
}

fn automatic_snapshots_are_deleted_with_their_contents(pn: &Sandbox) {
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

fn purged_issues_are_not_restored_from_the_journal(pn: &Sandbox) {
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
    let result = json!({"issue": {"old": {"id": id}, "new": null}, "purged": true});
    let is_purged = || {
        let all = pn.pn(["events", "--after", "0"]).ok_json_lines();
        assert_eq!(words.iter().find(|word| json!(all).to_string().contains(**word)), None, "{all:?}");
        assert_eq!((events().len(), &events()[0]["detail"]), (1, &result));
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

fn a_nearly_full_disk_is_reported(pn: &Sandbox) {
    let about_the_disk = |pn: &Sandbox| -> Vec<String> {
        let findings = elements(&pn.pn(["doctor"]).ok_json()["findings"]);
        findings.iter().filter(|it| it["check"] == "disk").map(|it| text(&it["message"])).collect()
    };
    pn.pn(["config", "set", "disk.min-free", "0"]).ok();
    assert!(about_the_disk(pn).is_empty());
    pn.pn(["config", "set", "disk.min-free", "999999999999"]).ok();
    pn.pn(["config", "set", "disk.max-part", "0"]).ok();
    let result = about_the_disk(pn);
    assert!(result.iter().any(|it| it.contains("MB are free on the disk")), "{result:?}");
    assert!(result.iter().any(|it| it.contains("the database takes up")), "{result:?}");
    assert!(pn.pn(["gc"]).ok().contains("warning: only "));
    pn.pn(["config", "set", "disk.min-free", "much"]).fails("invalid_input");
}

#[test]
fn a_daemon_removes_old_data_by_itself() {
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
    // Less than the default delay of one minute.
    let deadline = Instant::now() + Duration::from_secs(40);
    while signals(&pn) == 2 {
        assert!(Instant::now() < deadline, "the daemon has removed nothing");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(pn.pn(["events", "--type", "collected"]).ok_json_lines()[0]["actor"], "daemon");
}

/// A running loop whose process is gone, with or without its worktree.
fn abandoned_loop(pn: &Sandbox, worktree: Option<&str>, then: Option<&str>) -> String {
    let make = ["loop", "create", "-t", "code", "--prompt-path", "p.md", "--validation-command", "true", "--worktree"];
    let dir = pn.project().join(worktree.unwrap_or("nowhere"));
    let made = pn.pn([&make[..], &[dir.to_str().expect("UTF-8")]].concat()).ok_json();
    let id = text(&made["id"]);
    // Larger than any process id.
    pn.pn(["loop", "start", &id, "--pid", "2147483000"]).ok();
    if let Some(then) = then {
        pn.pn(["loop", then, &id]).ok();
    }
    id
}

fn status(pn: &Sandbox, id: &str) -> String {
    text(&pn.pn(["loop", "show", id]).ok_json()["status"])
}

fn abandoned_loops_are_released_once(pn: &Sandbox) {
    std::fs::create_dir(pn.project().join("work")).expect("a directory");
    let there = abandoned_loop(pn, Some("work"), None);
    let rebased = abandoned_loop(pn, Some("work"), Some("rebase"));
    let lost = abandoned_loop(pn, None, None);
    let paused = abandoned_loop(pn, None, Some("pause"));
    let asks = abandoned_loop(pn, None, Some("submit"));
    let alive = abandoned_loop(pn, Some("work"), Some("pause"));
    pn.pn(["loop", "resume", &alive, "--pid", &std::process::id().to_string()]).ok();
    let result = pn.pn(["recover"]).ok_json();
    assert_eq!((keys(&result), elements(&result["loops"]).len()), (vec!["loops", "jobs"], 3), "{result}");
    let stands: Vec<String> = [&there, &rebased, &lost, &paused, &asks, &alive].map(|id| status(pn, id)).to_vec();
    assert_eq!(stands, ["pending", "pending", "failed", "paused", "awaiting_approval", "running"]);
    let count = || pn.pn(["events", "--subject", &there, "--after", "0"]).ok_json_lines().len();
    let before = count();
    assert!(pn.pn(["recover"]).ok().contains("nothing was left behind"));
    assert_eq!(count(), before);
    assert_eq!(pn.pn(["loop", "claim"]).ok_json()["id"], there, "it can be claimed again");
}

#[test]
fn a_starting_daemon_releases_loops_whose_runners_are_gone() {
    let pn = crate::sandbox();
    let lost = abandoned_loop(&pn, None, None);
    let _daemon = pn.daemon();
    assert_eq!(status(&pn, &lost), "failed");
}
