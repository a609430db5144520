//! Paths, symlinks and records that would lead a restore out of the tree.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use pensa_core::Code;
use pensa_snapshot::Provider::{Copy, Git};
use pensa_snapshot::SnapshotData;

use crate::kit::{Ground, apart, listing};

apart!(a_directory_that_became_a_symlink_is_put_back_and_nothing_is_written_behind_it, Plain, {
    for provider in [Git, Copy] {
        let ground = Ground::with_git();
        ground.write("dir/sub/a", "one");
        ground.write("dir/.gitignore", "*.log\n");
        ground.write("file", "one");
        ground.git(["add", "-A"]);
        let before = ground.listing();
        let taken = ground.take(provider, "snap-1");
        let outside = ground.dir.path().join("outside");
        for name in ["sub/a", "sub/b", ".gitignore", "victim"] {
            let path = outside.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, "outside").expect("written");
        }
        let untouched = listing(&outside);
        fs::remove_dir_all(ground.path("dir")).expect("removed");
        ground.link(&outside, "dir");
        fs::remove_file(ground.path("file")).expect("removed");
        ground.link(outside.join("victim"), "file");
        let meanwhile = ground.take(provider, "snap-2");
        assert_eq!(meanwhile.metadata["files"], 2, "the symlinks themselves");
        ground.restore(provider, "snap-1", &taken);
        assert_eq!(ground.listing(), before, "{provider}");
        assert_eq!(listing(&outside), untouched, "{provider}");
        ground.restore(provider, "snap-2", &meanwhile);
        assert_eq!(fs::read_link(ground.path("dir")).expect("a symlink"), outside);
        assert_eq!(listing(&outside), untouched, "{provider}");
    }
});

/// A tree of one entry, as git would never write it.
fn tree(ground: &Ground, mode: &str, name: &[u8], id: &str) -> String {
    let raw: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).expect("digits")).collect();
    object(ground, "tree", &[mode.as_bytes(), b" ", name, b"\0", &raw].concat())
}

fn object(ground: &Ground, kind: &str, bytes: &[u8]) -> String {
    let mut git = Command::new("git");
    git.current_dir(&ground.root).args(["hash-object", "-w", "--literally", "--stdin", "-t", kind]);
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git");
    child.stdin.take().expect("a pipe").write_all(bytes).expect("written");
    let ended = child.wait_with_output().expect("git");
    assert!(ended.status.success());
    String::from_utf8_lossy(&ended.stdout).trim().to_owned()
}

/// The record of a snapshot that has a tree of somebody else's making.
fn forged(ground: &Ground, tree: &str, files: u64) -> SnapshotData {
    let text = format!("tree {tree}\nauthor x <x> 0 +0000\ncommitter x <x> 0 +0000\n\nx\n\nmodes 644 755 755\n");
    let commit = object(ground, "commit", text.as_bytes());
    ground.git(["update-ref", "refs/pensa/snapshots/snap-1", &commit]);
    let metadata = serde_json::json!({"commit": commit, "tree": tree, "files": files, "submodules": 0});
    let metadata = metadata.as_object().expect("an object").clone();
    SnapshotData { reference: None, path: None, metadata }
}

apart!(trees_with_names_that_lead_elsewhere_are_refused_before_anything_is_written, Plain, {
    let ground = Ground::with_git();
    ground.write("mine", "x");
    let blob = object(&ground, "blob", b"#!/bin/sh\necho harm\n");
    let hook = tree(&ground, "100755", b"post-checkout", &blob);
    let outside = tree(&ground, "100644", b"x", &blob);
    let absolute = ground.dir.path().join("absolute").display().to_string();
    let trees = [
        tree(&ground, "40000", b".git", &tree(&ground, "40000", b"hooks", &hook)),
        tree(&ground, "40000", b".GIT", &hook),
        tree(&ground, "40000", b"git~1", &hook),
        tree(&ground, "40000", b"..", &outside),
        tree(&ground, "40000", b"a", &tree(&ground, "40000", b"..", &tree(&ground, "40000", b"..", &outside))),
        tree(&ground, "100644", b"../x", &blob),
        tree(&ground, "100644", b"a/b", &blob),
        tree(&ground, "100644", absolute.as_bytes(), &blob),
        tree(&ground, "100644", b"", &blob),
        tree(&ground, "40000", b".pensa", &outside),
        tree(&ground, "20000", b"device", &blob),
        tree(&ground, "40000", b"empty", &object(&ground, "tree", b"")),
        tree(&ground, "120000", b"link", &object(&ground, "blob", b"")),
    ];
    let before =
        (listing(&ground.root.join(".git/hooks")), listing(ground.dir.path()).into_keys().collect::<Vec<_>>().len());
    for tree in trees {
        let taken = forged(&ground, &tree, 10);
        let refused = ground.try_restore(Git, "snap-1", &taken).expect_err(&tree);
        assert_eq!(refused.code, Code::Corrupt, "{refused}");
        assert_eq!(ground.read("mine"), b"x", "nothing was changed");
    }
    ground.delete(Git, "snap-1");
    assert_eq!(listing(&ground.root.join(".git/hooks")), before.0);
    assert!(!Path::new(&absolute).exists() && !ground.dir.path().join("x").exists());
    let sound = forged(&ground, &tree(&ground, "100644", b"fine", &blob), 1);
    ground.restore(Git, "snap-1", &sound);
    assert_eq!(ground.listing().len(), 1, "the forgery itself is sound: {:?}", ground.listing());
});

apart!(a_tree_that_stands_for_more_files_than_any_disk_has_is_refused_at_once, Plain, {
    let ground = Ground::with_git();
    let blob = object(&ground, "blob", b"x");
    let raw: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).expect("digits")).collect();
    let many = |mode: &str, raw: &[u8]| -> Vec<u8> {
        (0..100).flat_map(|n| [mode.as_bytes(), format!(" {n:03}\0").as_bytes(), raw].concat()).collect()
    };
    let mut top = object(&ground, "tree", &many("100644", &raw));
    for _ in 0..9 {
        let raw: Vec<u8> =
            (0..20).map(|at| u8::from_str_radix(&top[2 * at..2 * at + 2], 16).expect("digits")).collect();
        top = object(&ground, "tree", &many("40000", &raw));
    }
    let taken = forged(&ground, &top, 1000);
    assert_eq!(ground.try_restore(Git, "snap-1", &taken).expect_err("too many").code, Code::Corrupt);
    assert!(!ground.verify(Git, "snap-1", &taken).ok);
});

apart!(records_that_are_not_ours_are_refused, Plain, {
    let ground = Ground::with_git();
    ground.write("a", "one");
    let taken = ground.take(Git, "snap-1");
    for (key, value) in
        [("commit", "--help"), ("commit", "HEAD"), ("tree", "HEAD^{tree}"), ("tree", ""), ("commit", "\n")]
    {
        let mut other = taken.clone();
        other.metadata.insert(key.to_owned(), value.into());
        assert_eq!(ground.try_restore(Git, "snap-1", &other).expect_err(value).code, Code::Corrupt, "{key} {value}");
        assert!(!ground.verify(Git, "snap-1", &other).ok);
    }
    ground.restore(Git, "snap-1", &taken);
    ground.git(["update-ref", "-d", "refs/pensa/snapshots/snap-1"]);
    let refused = ground.try_restore(Git, "snap-1", &taken).expect_err("no ref of ours holds it");
    assert_eq!(refused.code, Code::Corrupt);
    let nothing = SnapshotData { reference: None, path: None, metadata: serde_json::Map::new() };
    for provider in [Git, Copy] {
        assert_eq!(ground.try_restore(provider, "snap-1", &nothing).expect_err("empty").code, Code::Corrupt);
    }
});

/// A copy whose manifest somebody wrote anew, with a record that fits it.
fn rewritten(ground: &Ground, lines: &str) -> SnapshotData {
    let mut taken = ground.take(Copy, "snap-1");
    let manifest = format!("{{\"kind\":\"snapshot\",\"version\":1,\"id\":\"snap-1\"}}\n{lines}");
    fs::write(ground.data.join("snap-1/manifest.jsonl"), &manifest).expect("written");
    taken.metadata.insert("digest".to_owned(), blake3::hash(manifest.as_bytes()).to_hex().to_string().into());
    taken
}

apart!(a_manifest_with_paths_that_lead_elsewhere_is_refused_though_its_record_fits, Plain, {
    let hash = blake3::hash(b"one").to_hex();
    let file = |path: &str| format!(r#"{{"kind":"file","path":"{path}","mode":420,"size":3,"hash":"{hash}"}}"#);
    let link = |path: &str| format!(r#"{{"kind":"link","path":"{path}","target":".."}}"#);
    let lines = [
        file("../x"),
        file("/etc/x"),
        file("a/../../x"),
        file(".git/hooks/x"),
        file("sub/.GIT/config"),
        file(".pensa/x"),
        file("%2E%2E/x"),
        file(""),
        format!("{}\n{}", link("l"), file("l/x")),
        format!("{}\n{}", file("a"), file("a")),
        file("no/directory"),
        r#"{"kind":"dir","path":"d","mode":99999}"#.to_owned(),
        r#"{"kind":"link","path":"l","target":""}"#.to_owned(),
        r#"{"kind":"socket","path":"l"}"#.to_owned(),
        "[[[[".repeat(100_000),
        String::from("{}"),
    ];
    for lines in lines {
        let ground = Ground::new();
        ground.write("a", "one");
        let taken = rewritten(&ground, &lines);
        let before = listing(ground.dir.path());
        let shown: String = lines.chars().take(80).collect();
        let refused = ground.try_restore(Copy, "snap-1", &taken).expect_err(&shown);
        assert_eq!(refused.code, Code::Corrupt, "{shown}: {refused}");
        assert_eq!(listing(ground.dir.path()), before, "{shown}");
    }
});

apart!(a_symlink_that_was_put_into_a_copy_is_not_followed, Plain, {
    let ground = Ground::new();
    ground.write("dir/a", "one");
    let taken = ground.take(Copy, "snap-1");
    let outside = ground.dir.path().join("outside");
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("a"), "one").expect("written");
    let dir = ground.data.join("snap-1/tree/dir");
    fs::remove_dir_all(&dir).expect("removed");
    std::os::unix::fs::symlink(&outside, &dir).expect("a symlink");
    assert!(!ground.verify(Copy, "snap-1", &taken).ok);
    ground.write("dir/a", "two");
    ground.try_restore(Copy, "snap-1", &taken).expect_err("not followed");
    ground.delete(Copy, "snap-1");
    assert_eq!(fs::read(outside.join("a")).expect("there"), b"one", "a deletion follows none either");
});

apart!(a_very_deep_tree_is_taken_and_restored, Plain, {
    let ground = Ground::new();
    let deep = vec!["d"; 1500].join("/");
    ground.write(format!("{deep}/a"), "one");
    let taken = ground.take(Copy, "snap-1");
    fs::remove_dir_all(ground.path("d")).expect("removed");
    ground.restore(Copy, "snap-1", &taken);
    assert_eq!(ground.read(format!("{deep}/a")), b"one");
});
