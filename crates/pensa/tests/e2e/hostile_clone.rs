//! A hostile repository that commits other things in place of a store's files: refused, without leaks or hangs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use pensa_testkit::Sandbox;

use crate::hooks_world::{clone, commit_all, git_in, repository, try_git, with_hooks};
use crate::steps::{task, text};

/// A clone of a repository that commits these extra files in the store's directory.
fn clone_with(pn: &Sandbox, paths: &[&str]) -> PathBuf {
    for path in paths {
        git_in(pn, &pn.project(), &["add", "--force", "--", &format!(".pensa/{path}")]);
    }
    git_in(pn, &pn.project(), &["commit", "--quiet", "--no-verify", "--message=hostile"]);
    let dir = pn.path("clone");
    git_in(pn, &pn.project(), &["clone", "--quiet", ".", dir.to_str().expect("a path")]);
    dir
}

#[test]
fn a_database_that_came_with_the_repository_is_not_opened() {
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let pn = repository();
        task(&pn, "planted");
        fs::write(pn.store().join(format!("{name}.copy")), "").expect("written");
        if !pn.store().join(name).exists() {
            fs::write(pn.store().join(name), "x").expect("written");
        }
        let dir = clone_with(&pn, &[name]);
        for args in [&["list"][..], &["create", "x", "-t", "task"], &["init"], &["doctor"], &["upgrade"], &["export"]] {
            let error = pn.pn(args).dir(&dir).fails("forbidden");
            let result = text(&error["error"]);
            assert!(result.contains(&format!(".pensa/{name} is tracked by git")), "{args:?}: {error}");
            assert!(text(&error["hint"]).contains("git rm --cached"), "{error}");
        }
        git_in(&pn, &dir, &["rm", "--quiet", "--cached", &format!(".pensa/{name}")]);
        fs::remove_file(dir.join(".pensa").join(name)).expect("moved away");
        pn.pn(["list"]).dir(&dir).ok();
    }
}

#[test]
fn a_database_that_becomes_tracked_later_is_refused_from_then_on() {
    let pn = repository();
    let id = task(&pn, "mine");
    let git = |args: &[&str]| git_in(&pn, &pn.project(), args);
    for version in ["2", "4"] {
        git(&["update-index", "--index-version", version]);
        pn.pn(["show", &id]).ok();
        git(&["add", "--force", ".pensa/db.sqlite"]);
        pn.pn(["show", &id]).fails("forbidden");
        git(&["rm", "--quiet", "--cached", ".pensa/db.sqlite"]);
        pn.pn(["show", &id]).ok();
    }
    git(&["update-index", "--split-index"]);
    git(&["add", "--force", ".pensa/db.sqlite"]);
    git(&["update-index", "--split-index"]);
    fs::write(pn.project().join("other"), "x").expect("written");
    git(&["add", "other"]);
    pn.pn(["show", &id]).fails("forbidden");
}

#[test]
fn a_store_in_a_submodule_or_subdirectory_is_checked_too() {
    let pn = repository();
    let inner = pn.project().join("inner/deep");
    fs::create_dir_all(inner.join(".pensa")).expect("made");
    fs::copy(pn.store().join("config.toml"), inner.join(".pensa/config.toml")).expect("copied");
    fs::write(inner.join(".pensa/db.sqlite"), "planted").expect("written");
    pn.git(["add", "--force", "inner"]);
    let error = pn.pn(["list"]).dir(&inner).fails("forbidden");
    assert!(text(&error["error"]).contains("inner/deep/.pensa/db.sqlite"), "{error}");

    let planted = pn.path("planted");
    fs::create_dir(&planted).expect("made");
    fs::copy(pn.store().join("config.toml"), planted.join("config.toml")).expect("copied");
    fs::write(planted.join("db.sqlite"), "planted").expect("written");
    git_in(&pn, &planted, &["init", "--quiet"]);
    git_in(&pn, &planted, &["add", "--force", "--all"]);
    git_in(&pn, &planted, &["commit", "--quiet", "--message=planted"]);
    let outer = pn.path("outer");
    fs::create_dir(&outer).expect("made");
    git_in(&pn, &outer, &["init", "--quiet"]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../planted", ".pensa"];
    git_in(&pn, &outer, &add);
    let error = pn.pn(["list"]).dir(&outer).fails("forbidden");
    assert!(text(&error["error"]).contains("outer/.pensa/db.sqlite is tracked by git"), "{error}");
}

#[test]
fn git_is_not_started_while_its_index_is_unchanged() {
    let pn = repository();
    let id = task(&pn, "one");
    let bin = pn.path("bin");
    fs::create_dir(&bin).expect("made");
    let log = pn.path("git.log");
    let script = format!("#!/bin/sh\necho \"$@\" >>'{}'\nexit 1\n", log.display());
    crate::hooks_world::write_program(&bin.join("git"), script);
    pn.pn(["show", &id]).ok();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    pn.pn(["show", &id]).env("PATH", path).ok();
    assert!(!log.exists(), "{:?}", fs::read_to_string(&log));
}

/// Commands that read committed files, and some that do not.
const COMMANDS: [&[&str]; 8] = [
    &["list"],
    &["import"],
    &["export"],
    &["export", "--check"],
    &["import", "--authoritative"],
    &["conflicts", "repair"],
    &["doctor"],
    &["create", "x", "-t", "task"],
];

#[test]
fn a_link_in_place_of_a_committed_file_is_not_followed() {
    for (file, target) in [
        ("issues.jsonl", "secret.jsonl"),
        ("issues.jsonl", "/dev/zero"),
        ("comments.jsonl", "/dev/zero"),
        ("config.toml", "config.toml"),
        ("config.toml", "/dev/zero"),
    ] {
        let pn = repository();
        task(&pn, "mine");
        pn.pn(["export"]).ok();
        let secret = pn.path("secret.jsonl");
        fs::copy(pn.store().join("issues.jsonl"), &secret).expect("copied");
        fs::copy(pn.store().join("config.toml"), pn.path("config.toml")).expect("copied");
        commit_all(&pn, "issues");
        let target = if target.starts_with('/') { PathBuf::from(target) } else { pn.path(target) };
        fs::remove_file(pn.store().join(file)).expect("removed");
        symlink(&target, pn.store().join(file)).expect("a link");
        let dir = clone_with(&pn, &[file]);
        for args in COMMANDS {
            let answer = pn.pn(args).dir(&dir).json().under("timeout", ["20"]).answer();
            assert_eq!(answer.code, Some(1), "{file} {args:?}: {answer:?}");
            assert!(answer.stderr.contains(&format!("{file} is a symbolic link")), "{file} {args:?}: {answer:?}");
        }
        assert!(fs::symlink_metadata(dir.join(".pensa").join(file)).expect("there").is_symlink());
    }
}

#[test]
fn a_link_that_replaces_a_file_later_is_not_exported() {
    let pn = with_hooks();
    task(&pn, "mine");
    commit_all(&pn, "issues");
    let secret = pn.path("secret.jsonl");
    let line =
        fs::read_to_string(pn.store().join("issues.jsonl")).expect("a file").replace("mine", "of another project");
    fs::write(&secret, line.replace("pn-", "pn-f")).expect("written");
    fs::remove_file(pn.store().join("issues.jsonl")).expect("removed");
    symlink(&secret, pn.store().join("issues.jsonl")).expect("a link");
    for args in [&["import"][..], &["export"], &["export", "--check"]] {
        pn.pn(args).fails("invalid_input");
    }
    fs::write(pn.project().join("code"), "x").expect("written");
    pn.git(["add", "code"]);
    let answer = try_git(&pn, &pn.project(), &["commit", "--quiet", "--message=code"]);
    assert!(answer.code == Some(1) && answer.stderr.contains("symbolic link"), "{answer:?}");
}

#[test]
fn a_store_that_is_a_link_is_refused() {
    let pn = repository();
    let other = pn.path("other");
    fs::create_dir(&other).expect("made");
    fs::rename(pn.store(), other.join(".pensa")).expect("moved");
    symlink(other.join(".pensa"), pn.store()).expect("a link");
    for args in COMMANDS {
        let answer = pn.pn(args).json().answer();
        assert!(answer.code == Some(1) && answer.stderr.contains("symbolic link"), "{args:?}: {answer:?}");
    }
}

#[test]
fn a_committed_file_over_the_limit_is_refused_and_the_repository_cannot_raise_it() {
    let pn = repository();
    task(&pn, "mine");
    pn.pn(["export"]).ok();
    let file = pn.store().join("comments.jsonl");
    fs::File::options().write(true).open(&file).and_then(|file| file.set_len(3 << 20)).expect("made large");
    let limit = |value: &str| pn.pn(["import"]).env("PN_IMPORT_MAX_FILE", value);
    let error = limit("2").fails("too_large");
    assert!(text(&error["error"]).contains("comments.jsonl is larger than 2097152 bytes"), "{error}");
    limit("4").fails("invalid_input");
    pn.pn(["config", "set", "--user", "import.max-file", "2"]).ok();
    pn.pn(["import"]).fails("too_large");
    pn.pn(["config", "set", "--project", "import.max-file", "4"]).ok();
    pn.pn(["import"]).fails("too_large");
    pn.pn(["config", "set", "--local", "import.max-file", "4"]).ok();
    pn.pn(["import"]).fails("invalid_input");
    pn.git(["add", "--force", ".pensa/local/config.toml"]);
    pn.pn(["import"]).fails("too_large");
    pn.pn(["config", "unset", "--local", "import.max-file"]).ok();
    pn.pn(["config", "set", "--user", "import.max-file", "4"]).ok();
    pn.pn(["config", "set", "--project", "import.max-file", "1"]).ok();
    pn.pn(["import"]).fails("too_large");
}

#[test]
fn committing_everything_does_not_publish_private_files() {
    let pn = with_hooks();
    let dir = clone(&pn, "clone", true);
    fs::write(dir.join(".pensa/.gitignore"), "!*\n").expect("written");
    pn.pn(["create", "mine", "-t", "task"]).dir(&dir).ok();
    let commit = |args: &[&str]| try_git(&pn, &dir, &[&["commit", "--quiet", "--message=all"], args].concat());
    git_in(&pn, &dir, &["add", "--all"]);
    let staged = git_in(&pn, &dir, &["diff", "--cached", "--name-only"]);
    assert!(staged.contains(".pensa/db.sqlite") && staged.contains(".pensa/local/"), "{staged}");
    let answer = commit(&[]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    for part in [".pensa/db.sqlite", "git rm -r --cached -- .pensa/db.sqlite", ".pensa/local", "pn doctor"] {
        assert!(answer.stderr.contains(part), "{part}: {}", answer.stderr);
    }
    assert_eq!(git_in(&pn, &dir, &["log", "--oneline"]).lines().count(), 3, "nothing was committed");
    git_in(&pn, &dir, &["rm", "--quiet", "-r", "--cached", "--", ".pensa/local"]);
    let answer = commit(&[]);
    assert!(answer.code == Some(1) && !answer.stderr.contains(".pensa/local"), "{answer:?}");
    git_in(
        &pn,
        &dir,
        &["rm", "--quiet", "--cached", "--", ".pensa/db.sqlite", ".pensa/db.sqlite-wal", ".pensa/db.sqlite-shm"],
    );
    assert_eq!(commit(&[]).code, Some(0));
    let tracked = git_in(&pn, &dir, &["ls-files"]);
    assert!(!tracked.contains("db.sqlite") && !tracked.contains("local/"), "{tracked}");
    assert!(Path::new(&dir).join(".pensa/db.sqlite").exists());
    // Removing files publishes nothing.
    git_in(&pn, &dir, &["add", "--force", ".pensa/local/journal-dir"]);
    git_in(&pn, &dir, &["commit", "--quiet", "--no-verify", "--message=by mistake"]);
    git_in(&pn, &dir, &["rm", "--quiet", "-r", "--cached", ".pensa/local"]);
    assert_eq!(commit(&[]).code, Some(0));
}
