//! What happens to a run when its supervisor is killed, or the disk is full.

use std::fs;
use std::path::Path;

use pensa_testkit::{Disk, Sandbox, eventually};
use serde_json::{Value, json};

use crate::crash::{CALLS, assert_sound, sweep};
use crate::steps::{elements, task, text};

fn repository() -> Sandbox {
    let pn = crate::sandbox();
    pn.git_init();
    pn
}

fn runs(pn: &Sandbox) -> Vec<Value> {
    elements(&pn.pn(["run", "list"]).ok_json())
}

fn is_over(run: &Value) -> bool {
    run["status"] != "running" && run["status"] != "created"
}

/// The processes whose command line contains this word.
fn processes(word: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let lines = all.filter_map(|process| String::from_utf8(fs::read(process.path().join("cmdline")).ok()?).ok());
    lines.filter(|line| line.split('\0').any(|part| part == word)).collect()
}

#[test]
fn exec_killed_at_any_system_call_leaves_a_failed_run_and_its_log() {
    let pn = repository();
    let id = task(&pn, "worked on");
    let exec = |point: &str| {
        let label = format!("point={point}");
        let script = "printf 123; printf 456; exit 0";
        pn.pn(["run", "exec", "--issue", &id, "--ttl", "1m", "--label", &label, "--", "sh", "-c", script])
    };
    let check = |point: &str, done: bool| {
        assert_sound(&pn);
        let mut made = runs(&pn).into_iter().filter(|run| run["labels"]["point"] == point).collect::<Vec<_>>();
        assert!(made.len() == 1 || (made.is_empty() && !done), "{point}: {made:?}");
        if let Some(run) = made.pop() {
            assert!(is_over(&run), "{point}: {run}");
            let log = fs::read_to_string(text(&run["log_path"])).unwrap_or_default();
            assert!("123456".starts_with(&log) && (log == "123456" || !done), "{point}: {log:?}");
            assert!(run["status"] == "succeeded" || !done, "{point}: {run}");
            assert_eq!(run["status"] == "succeeded", run["exit_code"] == 0, "{point}: {run}");
        }
        let issue = pn.pn(["show", &id]).ok_json();
        let is_free = issue["status"] == "open";
        assert!(is_free || issue["lease_expires_at"].is_string(), "{point}: {issue}");
        if !is_free {
            pn.pn(["release", &id]).ok();
        }
    };
    let seldom: usize = CALLS.iter().filter(|call| **call != "openat").map(|call| sweep(call, 1, exec, check)).sum();
    let more: usize = ["clone3", "pipe2", "waitid", "execve"].map(|call| sweep(call, 1, exec, check)).iter().sum();
    let often: usize = ["openat", "read", "close"].map(|call| sweep(call, 5, exec, check)).iter().sum();
    assert!(seldom > 10 && more > 3 && often > 5, "{seldom} {more} {often} kills");
}

#[test]
fn an_instance_that_cannot_start_ends_and_fails_the_others() {
    let pn = repository();
    let id = task(&pn, "worked on");
    let args = ["run", "exec", "--instances", "50", "--issue", &id, "--", "sleep", "7654"];
    let answer = pn.pn(args).under("prlimit", ["--nofile=60:60"]).answer();
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stderr.contains("Too many open files"), "{answer:?}");
    let all = runs(&pn);
    assert!(all.len() > 2 && all.iter().all(|run| run["status"] == "failed"), "{all:?}");
    let ended = all.iter().filter(|run| run["signal"] == 15).count();
    assert_eq!(ended, all.len() - 1, "{all:?}");
    assert!(processes("7654").is_empty());
    assert_eq!(pn.pn(["show", &id]).ok_json()["status"], "open");
    let answer = pn.pn(["run", "exec", "--instances", "3", "--issue", &id, "--", "no-such-program"]).answer();
    assert_eq!(answer.code, Some(127), "{answer:?}");
    assert!(runs(&pn).iter().all(is_over));
    assert_eq!(pn.pn(["show", &id]).ok_json()["status"], "open");
}

#[test]
fn a_full_disk_loses_the_log_but_not_the_command() {
    let pn = Sandbox::bare(crate::PN);
    pn.git_init();
    let store = pn.project().join(".pensa");
    fs::create_dir(&store).expect("a directory");
    let disk = Disk::small(&pn, &store, "2m");
    pn.pn(["init"]).on(&disk).ok();
    let script = "head -c 5000000 /dev/zero; touch ran; exit 3";
    let answer = pn.pn(["run", "exec", "--", "sh", "-c", script]).on(&disk).answer();
    assert_eq!((answer.code, answer.stdout.len()), (Some(3), 5_000_000), "{}", answer.stderr);
    assert!(answer.stderr.contains("no longer kept"), "{}", answer.stderr);
    assert!(pn.project().join("ran").exists());
    let logs = disk.file("local/runs");
    let log = fs::read_dir(&logs).expect("logs").next().expect("a log").expect("a log").path();
    let kept = fs::metadata(&log).expect("a log").len();
    assert!(kept > 0 && kept < 5_000_000, "{kept}");
    fs::remove_file(&log).expect("removed");
    let run = elements(&pn.pn(["run", "list"]).on(&disk).ok_json()).remove(0);
    assert!(run["status"] == "failed", "{run}");
}

#[test]
fn an_unwritable_log_fails_before_the_command_runs() {
    let pn = repository();
    let id = task(&pn, "worked on");
    let logs = pn.store().join("local/runs");
    fs::create_dir_all(logs.parent().unwrap_or(Path::new("/"))).expect("a directory");
    fs::write(&logs, "in the way").expect("a file");
    let answer = pn.pn(["run", "exec", "--issue", &id, "--", "touch", "ran"]).json().answer();
    assert!(answer.code == Some(1) && answer.error()["code"].is_string(), "{answer:?}");
    assert!(!pn.project().join("ran").exists() && runs(&pn).iter().all(is_over));
    assert_eq!(pn.pn(["show", &id]).ok_json()["status"], "open");
    fs::remove_file(&logs).expect("removed");
    assert_eq!(pn.pn(["run", "exec", "--issue", &id, "--", "touch", "ran"]).answer().code, Some(0));
    assert_eq!(pn.pn(["show", &id]).ok_json()["status"], json!("in_progress"));
    eventually("it ran", || pn.project().join("ran").exists().then_some(()));
}
