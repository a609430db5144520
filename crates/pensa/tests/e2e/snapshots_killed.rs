//! `kill -9` of `pn snapshot` at any moment leaves no record without content, and no content without a record.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;

use pensa_testkit::{Run, Sandbox, eventually};

use crate::snapshots::{picture, refs, snapshot, take, write_tree};
use crate::steps::{elements, text};

/// The system calls that change files, or start and await programs, and how many are skipped between two kills.
const CALLS: [(&str, usize); 11] = [
    ("openat", 17),
    ("write", 2),
    ("pwrite64", 3),
    ("fsync", 1),
    ("fdatasync", 1),
    ("renameat2", 1),
    ("unlink", 1),
    ("mkdir", 1),
    ("flock", 1),
    ("clone3", 1),
    ("wait4", 1),
];

/// Runs what `run` makes, killed at a system call, then at a later one, and so on until it gets through; `wider` steps
/// make fewer kills. Only `pn` is killed: the programs that it has started continue.
fn sweep(wider: usize, mut run: impl FnMut() -> Run, mut check: impl FnMut(&str, bool)) {
    let mut kills = 0;
    for (call, stride) in CALLS.map(|(call, stride)| (call, stride * wider)) {
        for at in 0.. {
            let point = format!("{call} {}", 1 + at * stride);
            let inject = format!("inject={call}:signal=SIGKILL:when={}", 1 + at * stride);
            let strace = ["-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject];
            let answer = run().under("strace", strace).answer();
            let done = answer.code == Some(0);
            assert!(
                done || answer.code.is_none(),
                "these tests need strace and the right to use it: {point}: {answer:?}"
            );
            check(&point, done);
            if done {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 20, "only {kills} kills: strace does not inject");
}

/// The entries of the directory of contents.
fn contents(pn: &Sandbox) -> BTreeSet<String> {
    let entries = fs::read_dir(pn.store().join("local/snapshots")).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// Checks that after the next command records and contents agree, and every content is complete. Returns the ids.
#[track_caller]
fn assert_agreed(pn: &Sandbox, base: &str, point: &str) -> BTreeSet<String> {
    eventually("the end of what was stopped", || {
        snapshot(pn, &["verify", base]).ok();
        (!contents(pn).iter().any(|name| name.starts_with(".note."))).then_some(())
    });
    let all = elements(&snapshot(pn, &["list"]).ok_json());
    let of = |provider: &str| -> BTreeSet<String> {
        all.iter().filter(|one| one["provider"] == provider).map(|one| text(&one["id"])).collect()
    };
    assert_eq!(refs(pn).into_iter().collect::<BTreeSet<_>>(), of("git"), "{point}");
    let copies: BTreeSet<String> = contents(pn).into_iter().filter(|name| !is_scratch_of(name, &all)).collect();
    assert_eq!(copies, of("copy"), "{point}");
    for one in &all {
        let proof = snapshot(pn, &["verify", &text(&one["id"])]).ok_json();
        assert_eq!(proof["ok"], true, "{point}: {proof}");
    }
    all.iter().map(|one| text(&one["id"])).collect()
}

/// A killed restore leaves its scratch directory until the snapshot is deleted.
fn is_scratch_of(name: &str, all: &[serde_json::Value]) -> bool {
    all.iter().any(|one| name.starts_with(&format!(".scratch.{}.", text(&one["id"]))))
}

/// Deletes all but the first snapshot, so that each round is as long as the last.
fn tidy_up(pn: &Sandbox, ids: &BTreeSet<String>, base: &str) {
    ids.iter().filter(|id| *id != base).for_each(|id| drop(snapshot(pn, &["delete", id]).ok()));
}

#[test]
fn create_killed_at_any_system_call_leaves_a_whole_snapshot_or_nothing() {
    for provider in ["git", "copy"] {
        let pn = crate::sandbox();
        let before = picture(&write_tree(&pn));
        let base = take(&pn, &["--provider", provider]);
        sweep(
            1,
            || snapshot(&pn, &["create", "--provider", provider]),
            |point, done| {
                let ids = assert_agreed(&pn, &base, point);
                assert!(ids.len() == 2 || (ids.len() == 1 && !done), "{point}: {ids:?}");
                assert_eq!(picture(&pn.project()), before, "{point}");
                tidy_up(&pn, &ids, &base);
            },
        );
    }
}

#[test]
fn delete_killed_at_any_system_call_leaves_a_whole_snapshot_or_nothing() {
    for provider in ["git", "copy"] {
        let pn = crate::sandbox();
        write_tree(&pn);
        let base = take(&pn, &["--provider", provider]);
        sweep(
            1,
            || {
                let id = take(&pn, &["--provider", provider]);
                snapshot(&pn, &["delete", &id])
            },
            |point, done| {
                let ids = assert_agreed(&pn, &base, point);
                assert!(ids.len() == 1 || (ids.len() == 2 && !done), "{point}: {ids:?}");
                tidy_up(&pn, &ids, &base);
            },
        );
    }
}

#[test]
fn restore_killed_at_any_system_call_can_be_repeated_or_undone() {
    for provider in ["git", "copy"] {
        let pn = crate::sandbox();
        let root = write_tree(&pn);
        let good = picture(&root);
        let base = take(&pn, &["--provider", provider]);
        let messy = RefCell::new(good.clone());
        sweep(
            3,
            || {
                for (at, text) in [("committed.txt", "changed"), ("newer", "x"), ("src/deep/er/more", "y")] {
                    fs::write(root.join(at), text).expect("a file");
                }
                messy.replace(picture(&root));
                snapshot(&pn, &["restore", &base])
            },
            |point, done| {
                let now = picture(&root);
                assert!(!done || now == good, "{point}");
                let ids = assert_agreed(&pn, &base, point);
                let safety = ids.iter().find(|id| **id != base);
                assert!(safety.is_some() || now == *messy.borrow(), "{point}: nothing was changed before it was kept");
                if let Some(safety) = safety {
                    snapshot(&pn, &["restore", safety]).ok();
                    assert_eq!(picture(&root), *messy.borrow(), "{point}: taken back");
                }
                snapshot(&pn, &["restore", &base]).ok();
                assert_eq!(picture(&root), good, "{point}: done again");
                let all: BTreeSet<String> = snapshot(&pn, &["list", "-q"]).ok().lines().map(str::to_owned).collect();
                tidy_up(&pn, &all, &base);
            },
        );
    }
}
