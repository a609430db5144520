//! Snapshots of real work trees: taken, verified, restored and deleted, with nothing else touched.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use pensa_testkit::{Run, Sandbox};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::steps::{elements, keys, text};

crate::in_both_modes! {
    a_restore_can_be_undone_by_its_safety_snapshot,
    snapshots_form_a_chain_and_contents_are_deleted_with_records,
    a_snapshot_is_found_by_its_run,
    a_linked_work_tree_has_snapshots_of_its_own,
}

/// `pn snapshot` in the project, in the mode of the sandbox.
pub(crate) fn snapshot(pn: &Sandbox, args: &[&str]) -> Run {
    pn.pn([&["snapshot"], args].concat()).dir(pn.project())
}

#[track_caller]
pub(crate) fn take(pn: &Sandbox, args: &[&str]) -> String {
    text(&snapshot(pn, &[&["create"], args].concat()).ok_json()["id"])
}

fn put(root: &Path, at: &str, content: &str, mode: u32) {
    let path = root.join(at);
    fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    fs::write(&path, content).expect("a file");
    fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
}

/// A repository with files of every kind: committed, staged, untracked and ignored.
pub(crate) fn write_tree(pn: &Sandbox) -> PathBuf {
    pn.git_init();
    let root = pn.project();
    put(&root, ".gitignore", "*.log\n/build/\n", 0o644);
    put(&root, "committed.txt", "one\r\ntwo\n", 0o644);
    put(&root, "src/deep/er/main.rs", "fn main() {}\n", 0o600);
    pn.git(["add", ".gitignore", "committed.txt", "src"]);
    pn.git(["commit", "--quiet", "--message=some"]);
    put(&root, "staged.sh", "#!/bin/sh\n", 0o755);
    pn.git(["add", "staged.sh"]);
    put(&root, "untracked é\n.txt", "u", 0o640);
    put(&root, "committed.txt", "three\n", 0o644);
    symlink("committed.txt", root.join("link")).expect("a link");
    symlink("/nowhere/at all", root.join("dangling")).expect("a link");
    symlink("src/deep", root.join("dir-link")).expect("a link");
    put(&root, "noise.log", "ignored", 0o644);
    put(&root, "build/out/x", "ignored too", 0o600);
    root
}

/// Everything in a directory except `.git` and `.pensa`: type, mode, and content or target.
pub(crate) fn picture(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path == root.join(".git") || path == root.join(".pensa") {
                continue;
            }
            let meta = path.symlink_metadata().expect("there");
            let mode = meta.permissions().mode();
            let result = if meta.is_symlink() {
                format!("-> {:?}", fs::read_link(&path).expect("a target"))
            } else if meta.is_dir() {
                dirs.push(path.clone());
                format!("dir {mode:o}")
            } else {
                format!("{mode:o} {:?}", fs::read(&path).expect("a content"))
            };
            all.insert(path.strip_prefix(root).expect("inside").to_owned(), result);
        }
    }
    all
}

/// The git state that a snapshot must never touch: HEAD, branches and index.
fn of_git(pn: &Sandbox) -> (String, String, Vec<u8>) {
    let refs = pn.git(["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]);
    (pn.git(["rev-parse", "HEAD"]), refs, fs::read(pn.project().join(".git/index")).expect("an index"))
}

/// The snapshots whose contents git holds.
pub(crate) fn refs(pn: &Sandbox) -> Vec<String> {
    let result = pn.git(["for-each-ref", "--format=%(refname:lstrip=3)", "refs/pensa/snapshots"]);
    result.lines().map(str::to_owned).collect()
}

/// Changes the tree in every way.
fn change_everything(pn: &Sandbox) {
    let root = pn.project();
    put(&root, "committed.txt", "another", 0o600);
    fs::remove_file(root.join("src/deep/er/main.rs")).expect("removed");
    put(&root, "new/er/file", "new", 0o644);
    fs::set_permissions(root.join("staged.sh"), Permissions::from_mode(0o644)).expect("a mode");
    fs::remove_file(root.join("link")).expect("removed");
    put(&root, "link/is a directory/now", "x", 0o644);
    fs::remove_file(root.join("untracked é\n.txt")).expect("removed");
    // A directory of the tree is now a link that points out of it.
    let outside = pn.path("outside");
    put(&outside, "er/main.rs", "not yours", 0o644);
    fs::remove_dir_all(root.join("src/deep")).expect("removed");
    symlink(&outside, root.join("src/deep")).expect("a link");
}

fn a_restore_can_be_undone_by_its_safety_snapshot(pn: &Sandbox) {
    let root = write_tree(pn);
    let (before, git) = (picture(&root), of_git(pn));
    for provider in ["git", "copy"] {
        let made = snapshot(pn, &["create", "--provider", provider, "--label", "good"]).ok_json();
        assert_eq!(
            (&made["kind"], &made["provider"], &made["label"]),
            (&json!("manual"), &json!(provider), &json!("good"))
        );
        assert_eq!(made["root"], fs::canonicalize(&root).expect("a path").to_str().expect("UTF-8"));
        assert_eq!((&made["metadata"]["files"], &made["actor"]), (&json!(8), &json!("tester")));
        let id = text(&made["id"]);
        let proof = snapshot(pn, &["verify", &id]).ok_json();
        assert_eq!(proof, json!({"id": id, "ok": true, "files": 8, "problems": []}));
        assert_eq!((picture(&root), of_git(pn)), (before.clone(), git.clone()), "{provider}: taking changes nothing");
        change_everything(pn);
        put(&root, "noise.log", "ignored, and newer", 0o600);
        let (messy, kept) = (picture(&root), fs::read(root.join(".pensa/config.toml")).expect("a file"));
        let result = snapshot(pn, &["restore", &id]).dir(root.join("new/er")).ok_json();
        assert_eq!(keys(&result), ["status", "id", "safety_id", "written", "removed", "kept"]);
        assert_eq!((&result["status"], &result["id"]), (&json!("restored"), &json!(id)));
        let restored = |from: &BTreeMap<PathBuf, String>| {
            let mut expected = from.clone();
            expected.insert("noise.log".into(), messy[Path::new("noise.log")].clone());
            expected
        };
        assert_eq!(picture(&root), restored(&before), "{provider}");
        assert_eq!(of_git(pn), git, "{provider}: neither HEAD nor the index");
        assert_eq!(fs::read(root.join(".pensa/config.toml")).expect("a file"), kept);
        let outside = picture(&pn.path("outside"));
        assert!(outside[Path::new("er/main.rs")].contains(&format!("{:?}", b"not yours")), "{outside:?}");
        let safety = snapshot(pn, &["show", &text(&result["safety_id"])]).ok_json();
        assert_eq!(
            (&safety["kind"], &safety["provider"], &safety["parent_id"]),
            (&json!("safety"), &json!(provider), &json!(id))
        );
        assert!(snapshot(pn, &["show", &id]).ok_json()["restored_at"].is_string());
        let back = snapshot(pn, &["restore", &text(&safety["id"])]).ok_json();
        assert_eq!(picture(&root), messy, "{provider}: and back again");
        let human = snapshot(pn, &["restore", &id]).ok();
        assert!(
            human.starts_with(&format!("restored {id}: ")) && human.contains("what was there before is snap-"),
            "{human}"
        );
        assert_eq!(picture(&root), restored(&before));
        assert_eq!(snapshot(pn, &["restore", &id, "-q"]).ok().len(), "snap-00000000\n".len());
        assert_ne!(back["safety_id"], result["safety_id"]);
        put(&root, "noise.log", "ignored", 0o644);
    }
}

fn snapshots_form_a_chain_and_contents_are_deleted_with_records(pn: &Sandbox) {
    write_tree(pn);
    for provider in ["git", "copy"] {
        let flags = ["--provider", provider];
        let ids: Vec<String> = (0..4).map(|_| take(pn, &flags)).collect();
        let parent = |id: &str| snapshot(pn, &["show", id]).ok_json()["parent_id"].clone();
        assert!(parent(&ids[0]).is_null());
        assert_eq!([&ids[1], &ids[2], &ids[3]].map(|id| parent(id)), [&ids[0], &ids[1], &ids[2]].map(|id| json!(id)));
        let chosen = take(pn, &[&flags[..], &["--parent", &ids[1]]].concat());
        assert_eq!(parent(&chosen), json!(ids[1]));
        let listed = elements(&snapshot(pn, &["list", "--provider", provider, "-n", "2"]).ok_json());
        assert_eq!([&listed[0]["id"], &listed[1]["id"]], [&json!(chosen), &json!(ids[3])]);
        let path = PathBuf::from(listed[0]["path"].as_str().unwrap_or("/nowhere"));
        assert_eq!((path.is_dir(), refs(pn).contains(&chosen)), (provider == "copy", provider == "git"));
        let gone = snapshot(pn, &["delete", &ids[1]]).ok_json();
        assert_eq!(gone, json!({"status": "deleted", "id": ids[1]}));
        assert!(parent(&ids[2]).is_null() && parent(&chosen).is_null());
        for id in [&ids[0], &ids[2], &ids[3], &chosen] {
            assert_eq!(snapshot(pn, &["verify", id]).ok_json()["ok"], true, "a content stands by itself");
            snapshot(pn, &["delete", id]).ok();
        }
        assert!(refs(pn).is_empty() && !path.exists());
        snapshot(pn, &["delete", &chosen]).fails("not_found");
    }
    let (by_git, by_copy) = (take(pn, &["--provider", "git"]), take(pn, &["--provider", "copy"]));
    let error = snapshot(pn, &["create", "--provider", "copy", "--parent", &by_git]).fails("invalid_input");
    assert!(text(&error["error"]).contains("cannot be the parent"), "{error}");
    let left: Vec<String> = snapshot(pn, &["list", "-q"]).ok().lines().map(str::to_owned).collect();
    assert_eq!(left, [by_copy, by_git.clone()], "a refused one leaves nothing");
    assert_eq!(refs(pn), [by_git]);
}

fn a_snapshot_is_found_by_its_run(pn: &Sandbox) {
    write_tree(pn);
    let run = text(&pn.pn(["run", "start"]).dir(pn.project()).ok_json()["id"]);
    take(pn, &[]);
    let of_run = take(pn, &["--run", &run]);
    let listed = elements(&snapshot(pn, &["list", "--run", &run]).ok_json());
    assert_eq!((listed.len(), &listed[0]["id"], &listed[0]["run_id"]), (1, &json!(of_run), &json!(run)));
    assert!(snapshot(pn, &["list"]).ok().contains(&format!(" for {run}")));
    let repo = text(&listed[0]["repo_id"]);
    assert_eq!(elements(&snapshot(pn, &["list", "--repo", &repo]).ok_json()).len(), 2);
    snapshot(pn, &["create", "--run", "run-none"]).fails("not_found");
    assert_eq!(refs(pn).len(), 2);
    let elsewhere = pn.pn(["snapshot", "create", "--repo", &repo, "--store", pn.project().to_str().expect("UTF-8")]);
    let made = elsewhere.dir(pn.path("elsewhere")).ok_json();
    assert_eq!((&made["root"], &made["repo_id"]), (&listed[0]["root"], &json!(repo)));
    let outside = pn.pn(["snapshot", "create", "--store", pn.project().to_str().expect("UTF-8")]);
    outside.dir(pn.path("elsewhere")).fails("no_repo");
    let error = pn.pn(["repo", "remove", &repo]).fails("conflict");
    assert!(text(&error["error"]).contains("run took place"), "{error}");
}

fn a_linked_work_tree_has_snapshots_of_its_own(pn: &Sandbox) {
    let root = write_tree(pn);
    let linked = pn.path("linked");
    pn.git(["worktree", "add", "--quiet", linked.to_str().expect("UTF-8"), "-b", "side"]);
    put(&linked, "only here", "x", 0o600);
    let (here, main) = (picture(&linked), picture(&root));
    let at = |args: &[&str]| snapshot(pn, args).dir(linked.join("src"));
    for provider in ["git", "copy"] {
        let made = at(&["create", "--provider", provider]).ok_json();
        assert_eq!(made["root"], fs::canonicalize(&linked).expect("a path").to_str().expect("UTF-8"));
        let id = text(&made["id"]);
        put(&linked, "only here", "changed", 0o644);
        fs::remove_file(linked.join(".gitignore")).expect("removed");
        let elsewhere = snapshot(pn, &["restore", &id]).fails("invalid_input");
        assert!(text(&elsewhere["error"]).contains("and this is"), "{elsewhere}");
        assert_eq!(picture(&root), main, "{provider}: the main tree is another");
        at(&["restore", &id]).ok();
        assert_eq!((picture(&linked), picture(&root)), (here.clone(), main.clone()), "{provider}");
    }
    pn.git(["worktree", "remove", "--force", linked.to_str().expect("UTF-8")]);
    let all: Vec<String> = snapshot(pn, &["list", "-q"]).ok().lines().map(str::to_owned).collect();
    assert_eq!(all.len(), 4);
    for id in &all {
        assert_eq!(snapshot(pn, &["verify", id]).ok_json()["ok"], true, "the content outlives the tree");
        snapshot(pn, &["delete", id]).ok();
    }
    assert!(refs(pn).is_empty());
}

#[test]
fn damaged_content_is_found_and_a_failed_restore_can_be_undone() {
    let pn = crate::sandbox();
    let root = write_tree(&pn);
    let by_copy = take(&pn, &["--provider", "copy"]);
    let by_git = take(&pn, &["--provider", "git"]);
    let copied = pn.store().join("local/snapshots").join(&by_copy).join("tree/committed.txt");
    fs::write(&copied, "thrEe\n").expect("damaged");
    let blob = pn.git(["hash-object", "committed.txt"]).trim().to_owned();
    let object = root.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::set_permissions(&object, Permissions::from_mode(0o644)).expect("a mode");
    fs::write(&object, fs::read(&object).expect("an object").split_last().expect("bytes").1).expect("damaged");
    put(&root, "committed.txt", "now", 0o644);
    let before = picture(&root);
    for id in [&by_copy, &by_git] {
        let answer = snapshot(&pn, &["verify", id]).json().answer();
        assert_eq!((answer.code, &answer.error()["code"]), (Some(1), &json!("corrupt")), "{answer:?}");
        let proof: Value = serde_json::from_str(&answer.stdout).expect("JSON");
        assert!(proof["ok"] == false && text(&proof["problems"][0]).contains("committed.txt"), "{proof}");
        let human = snapshot(&pn, &["verify", id]).answer();
        assert!(human.stdout.starts_with(&format!("{id} is damaged, ")), "{human:?}");
        let error = snapshot(&pn, &["restore", id]).fails("corrupt");
        let hint = text(&error["hint"]);
        let safety = hint.split_whitespace().find(|word| word.starts_with("snap-")).expect("the way back");
        snapshot(&pn, &["restore", safety]).ok();
        assert_eq!(picture(&root), before);
    }
    pn.git(["update-ref", "-d", &format!("refs/pensa/snapshots/{by_git}")]);
    snapshot(&pn, &["restore", &by_git]).fails("corrupt");
    fs::remove_dir_all(pn.store().join("local/snapshots").join(&by_copy)).expect("removed");
    snapshot(&pn, &["verify", &by_copy]).json().answer().error();
    snapshot(&pn, &["delete", &by_copy]).ok();
    snapshot(&pn, &["delete", &by_git]).ok();
}

#[test]
fn a_changed_chain_is_found() {
    let pn = crate::sandbox();
    write_tree(&pn);
    let ids: Vec<String> = (0..3)
        .map(|at| {
            put(&pn.project(), "grows", &"x".repeat(at), 0o644);
            take(&pn, &[])
        })
        .collect();
    let raw = Connection::open(pn.store().join("db.sqlite")).expect("opens");
    raw.execute("UPDATE fs_snapshots SET parent_id = ?1 WHERE id = ?2", [&ids[0], &ids[2]]).expect("changed");
    let answer = snapshot(&pn, &["verify", &ids[2]]).answer();
    assert!(answer.code == Some(1) && answer.stdout.contains("another snapshot than"), "{answer:?}");
}

#[test]
fn an_unsupported_snapshot_is_refused_and_leaves_nothing() {
    let pn = crate::sandbox();
    write_tree(&pn);
    for (provider, reason) in [("btrfs", "btrfs"), ("zfs", "ZFS"), ("overlay", "overlay")] {
        let error = snapshot(&pn, &["create", "--provider", provider]).fails("unsupported");
        assert!(text(&error["error"]).contains(reason) && text(&error["hint"]).contains("git and copy"), "{error}");
    }
    snapshot(&pn, &["create", "--provider", "tape"]).misused();
    snapshot(&pn, &["create", "--label", "two\nlines"]).fails("invalid_input");
    assert!(elements(&snapshot(&pn, &["list"]).ok_json()).is_empty() && refs(&pn).is_empty());
    assert_eq!(fs::read_dir(pn.store().join("local/snapshots")).expect("a directory").count(), 0);
    let inner = pn.project().join("inner");
    fs::create_dir_all(inner.join(".hg")).expect("directories");
    let error = snapshot(&pn, &["create", "--provider", "git"]).dir(&inner).fails("unsupported");
    assert!(text(&error["error"]).contains("a repository of hg"), "{error}");
    let made = snapshot(&pn, &["create"]).dir(&inner).ok_json();
    assert_eq!((&made["provider"], &made["metadata"]["files"]), (&json!("copy"), &json!(0)), "not the tree around it");
}

#[test]
fn a_snapshot_of_another_machine_is_left_alone() {
    let pn = crate::sandbox();
    let root = write_tree(&pn);
    let (far, moved) = (take(&pn, &[]), take(&pn, &[]));
    let raw = Connection::open(pn.store().join("db.sqlite")).expect("opens");
    raw.execute("UPDATE fs_snapshots SET host = 'far' WHERE id = ?1", [&far]).expect("changed");
    raw.execute("UPDATE fs_snapshots SET root = '/etc' WHERE id = ?1", [&moved]).expect("changed");
    put(&root, "new", "x", 0o644);
    let before = picture(&root);
    for command in ["verify", "restore", "delete"] {
        let error = snapshot(&pn, &[command, &far]).fails("unsupported");
        assert!(text(&error["error"]).contains("was taken on far"), "{error}");
        assert_eq!(text(&error["hint"]).contains("--record-only"), command == "delete", "{error}");
    }
    let error = snapshot(&pn, &["restore", &moved]).fails("invalid_input");
    assert!(text(&error["error"]).contains("is of /etc"), "a record does not say which files are replaced: {error}");
    assert_eq!(picture(&root), before);
    assert_eq!(elements(&snapshot(&pn, &["list"]).ok_json()).len(), 2, "no safety snapshot was needed");
    snapshot(&pn, &["delete", &moved, "--record-only"]).fails("invalid_input");
    snapshot(&pn, &["delete", &far, "--record-only"]).ok();
    snapshot(&pn, &["show", &far]).fails("not_found");
    assert!(refs(&pn).contains(&far), "its content is not ours");
}

#[test]
fn without_a_project_snapshots_are_in_the_users_store() {
    let pn = Sandbox::bare(crate::PN);
    let root = write_tree(&pn);
    let before = picture(&root);
    let id = take(&pn, &["--provider", "copy"]);
    change_everything(&pn);
    snapshot(&pn, &["restore", &id]).ok();
    assert_eq!(picture(&root), before);
    assert!(!pn.store().exists(), "nothing was made in the project");
}

#[test]
fn many_snapshots_at_once_lose_none() {
    let pn = crate::sandbox();
    write_tree(&pn);
    std::thread::scope(|scope| {
        for at in 0..12 {
            let pn = &pn;
            scope.spawn(move || take(pn, &["--provider", if at % 2 == 0 { "git" } else { "copy" }]));
        }
    });
    let all = elements(&snapshot(&pn, &["list"]).ok_json());
    assert_eq!((all.len(), refs(&pn).len()), (12, 6));
    for one in &all {
        assert_eq!(snapshot(&pn, &["verify", &text(&one["id"])]).ok_json()["ok"], true);
    }
}
