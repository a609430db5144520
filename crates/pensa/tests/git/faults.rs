//! Exports and imports that are killed, or run out of disk space.

use std::fs;
use std::path::Path;

use pensa_testkit::{Disk, Run, Sandbox};
use serde_json::Value;

const NAMES: [&str; 4] = ["issues.jsonl", "deps.jsonl", "comments.jsonl", "tombstones.jsonl"];

/// The system calls that change files.
const CALLS: [&str; 11] = [
    "pwrite64",
    "write",
    "fsync",
    "fdatasync",
    "rename",
    "renameat2",
    "ftruncate",
    "unlink",
    "mkdir",
    "linkat",
    "openat",
];

fn files(store: &Path) -> Vec<Option<String>> {
    NAMES.iter().map(|name| fs::read_to_string(store.join(name)).ok()).collect()
}

/// Runs what `run` makes, killed at its first system call of each kind, its second, and so on until it completes.
fn sweep(mut run: impl FnMut() -> Run, mut check: impl FnMut(&str, bool)) {
    let mut kills = 0;
    for call in CALLS {
        for nth in 1.. {
            assert!(nth < 2_000, "{call} never ends");
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=SIGKILL:when={nth}"));
            let strace = ["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
            let answer = run().under("strace", strace).answer();
            let done = answer.code == Some(0);
            check(&format!("{call} {nth}"), done);
            if done {
                break;
            }
            assert_eq!(answer.code, None, "these tests need strace and the right to use it: {answer:?}");
            kills += 1;
        }
    }
    assert!(kills > 20, "only {kills} kills: strace does not inject");
}

fn list(pn: &Sandbox) -> Value {
    let issues = pn.pn(["list"]).ok_json();
    let details = issues
        .as_array()
        .expect("a list")
        .iter()
        .map(|issue| pn.pn(["show", issue["id"].as_str().expect("an id")]).ok_json());
    details.collect()
}

/// A store with an issue, a dependency, a comment and a deletion, exported.
fn exported() -> Sandbox {
    let pn = Sandbox::with_store(crate::PN);
    let make = |title: &str| pn.pn(["create", title, "-t", "task", "-q"]).ok().trim().to_owned();
    let (a, b, gone) = (make("a"), make("b"), make("gone"));
    pn.pn(["dep", "add", &a, &b]).ok();
    pn.pn(["comment", "add", &a, "a word"]).ok();
    pn.pn(["delete", &gone]).ok();
    pn.pn(["export"]).ok();
    pn
}

#[test]
fn an_export_killed_at_any_system_call_leaves_each_file_old_or_new() {
    let pn = exported();
    let old = files(&pn.store());
    let id = old[0].as_deref().and_then(|lines| lines.split('"').nth(3)).expect("an id").to_owned();
    pn.pn(["update", &id, "--title", "changed"]).ok();
    pn.pn(["comment", "add", &id, "another"]).ok();
    let state = list(&pn);
    pn.pn(["export"]).ok();
    let new = files(&pn.store());
    let restore = || {
        for (name, text) in NAMES.iter().zip(&old) {
            fs::write(pn.store().join(name), text.as_deref().unwrap_or_default()).expect("written");
        }
        pn.pn(["export"])
    };
    sweep(restore, |point, done| {
        let now = files(&pn.store());
        for (at, text) in now.iter().enumerate() {
            let known = *text == old[at] || *text == new[at];
            assert!(known && (!done || *text == new[at]), "{point}: {}: {text:?}", NAMES[at]);
        }
        pn.pn(["import"]).ok();
        assert_eq!(list(&pn), state, "{point}: an import copes with files of two ages");
    });
}

#[test]
fn an_import_killed_at_any_system_call_happened_or_did_not() {
    let (pn, other) = (exported(), Sandbox::with_store(crate::PN));
    for name in NAMES {
        fs::copy(pn.store().join(name), other.store().join(name)).expect("copied");
    }
    other.pn(["import"]).ok();
    let local = other.pn(["create", "never exported", "-t", "task", "-q"]).ok().trim().to_owned();
    let before = list(&other);
    let id = before[0]["id"].as_str().expect("an id").to_owned();
    pn.pn(["update", &id, "--title", "changed"]).ok();
    pn.pn(["export"]).ok();
    let saved = other.path("saved");
    let copy = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        other.tool(other.command("cp").arg("-a").arg(from).arg(to));
    };
    copy(&other.store(), &saved);
    let run = || {
        copy(&saved, &other.store());
        for name in NAMES {
            fs::copy(pn.store().join(name), other.store().join(name)).expect("copied");
        }
        other.pn(["import"])
    };
    sweep(run, |point, done| {
        let now = list(&other);
        let title =
            &now.as_array().expect("a list").iter().find(|issue| issue["id"] == id.as_str()).expect("there")["title"];
        assert!(title == "changed" || (!done && *title == before[0]["title"]), "{point}: {title}");
        other.pn(["import"]).ok();
        let shown = other.pn(["show", &id]).ok_json();
        assert_eq!(shown["title"], "changed", "{point}: the next import goes on");
        assert_eq!(other.pn(["show", &local]).ok_json()["title"], "never exported", "{point}");
    });
}

#[test]
fn export_and_import_on_a_full_disk_fail_and_change_nothing() {
    let pn = Sandbox::bare(crate::PN);
    let disk = Disk::small(&pn, &pn.project(), "3m");
    pn.pn(["init"]).on(&disk).ok();
    let text = "x".repeat(2_000);
    for at in 0..40 {
        let title = format!("issue {at}");
        pn.pn(["create", &title, "-t", "task", "--description", &text]).on(&disk).ok();
    }
    pn.pn(["export"]).on(&disk).ok();
    let store = disk.file(".pensa");
    let before = files(&store);
    for at in 0..40 {
        let title = format!("more {at}");
        pn.pn(["create", &title, "-t", "task", "--description", &text]).on(&disk).ok();
    }
    fill(&disk.file("ballast"));
    pn.pn(["export"]).on(&disk).fails("disk_full");
    assert_eq!(files(&store), before, "old files are intact");
    fs::remove_file(disk.file("ballast")).expect("removed");
    let many: String = (0..400)
        .map(|at| {
            format!(
                "{{\"id\":\"pn-x{at}\",\"title\":\"t\",\"description\":\"{text}\",\"issue_type\":\"task\",\"status\":\"open\",\
                 \"priority\":\"p2\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-01T00:00:00Z\"}}\n"
            )
        })
        .collect();
    fs::write(store.join("issues.jsonl"), many).expect("written");
    fill(&disk.file("ballast"));
    let count = |run: Run| run.ok_json()["count"].clone();
    pn.pn(["import"]).on(&disk).fails("disk_full");
    assert_eq!(count(pn.pn(["count"]).on(&disk)), 80, "nothing was imported");
}

/// Fills a disk.
fn fill(path: &Path) {
    use std::io::Write;
    let mut file = fs::File::create(path).expect("made");
    for size in [64 * 1024, 4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}
