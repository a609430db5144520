//! Finding and creating stores, bad disks, and foreign files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use pensa_testkit::{Disk, Sandbox};
use serde_json::json;

use crate::steps::{create, elements, ids, show, task, text};

fn bare() -> Sandbox {
    Sandbox::bare(crate::PN)
}

fn path_of(value: &serde_json::Value) -> String {
    text(&value["path"])
}

fn real(path: impl AsRef<Path>) -> String {
    fs::canonicalize(path).expect("a path").to_string_lossy().into_owned()
}

#[test]
fn init_creates_a_store_once() {
    let pn = bare();
    let made = pn.pn(["init"]).ok_json();
    assert_eq!((path_of(&made), &made["created"]), (real(pn.store()), &json!(true)));
    let id = task(&pn, "one");
    let config = fs::read_to_string(pn.store().join("config.toml")).expect("a config");
    assert!(config.contains(&text(&made["store_id"])), "{config}");
    let again = pn.pn(["init"]).ok_json();
    assert_eq!((&again["store_id"], &again["created"]), (&made["store_id"], &json!(false)));
    assert_eq!(fs::read_to_string(pn.store().join("config.toml")).expect("a config"), config);
    assert_eq!(ids(&pn, &["list"]), [id]);
}

#[test]
fn init_in_a_subdirectory_creates_the_store_at_the_repository_root() {
    let pn = bare();
    pn.git_init();
    let deep = pn.project().join("a/b");
    fs::create_dir_all(&deep).expect("made");
    let made = pn.pn(["init"]).dir(&deep).ok_json();
    assert_eq!(path_of(&made), real(pn.store()));
    let created = pn.pn(["create", "one", "-t", "task"]).dir(&deep).ok_json();
    assert_eq!(ids(&pn, &["list"]), [text(&created["id"])]);
    let other = pn.path("elsewhere/new");
    fs::create_dir(&other).expect("made");
    assert_eq!(path_of(&pn.pn(["init", other.to_str().expect("a path")]).ok_json()), real(other.join(".pensa")));
}

#[test]
fn git_sees_the_shared_files_and_not_the_database() {
    let pn = bare();
    pn.git_init();
    pn.pn(["init"]).ok();
    task(&pn, "one");
    pn.pn(["export"]).ok();
    let staged = pn.git(["diff", "--cached", "--name-only"]);
    for name in ["issues.jsonl", "deps.jsonl", "comments.jsonl"] {
        assert!(staged.contains(&format!(".pensa/{name}")), "{staged}");
    }
    pn.git(["add", "--all"]);
    let tracked = pn.git(["ls-files"]);
    assert!(tracked.contains(".pensa/config.toml") && tracked.contains(".pensa/.gitignore"), "{tracked}");
    assert!(!tracked.contains("db.sqlite") && !tracked.contains("local/"), "{tracked}");
}

#[test]
fn every_worktree_shares_the_main_store() {
    let pn = bare();
    pn.git_init();
    pn.pn(["init"]).ok();
    let id = task(&pn, "one");
    pn.pn(["export"]).ok();
    pn.git(["add", "--all"]);
    pn.git(["commit", "--quiet", "--message=store"]);
    let tree = pn.path("tree");
    pn.git(["worktree", "add", "--quiet", tree.to_str().expect("a path")]);
    assert!(tree.join(".pensa/issues.jsonl").exists(), "the worktree has its own checkout of the files");
    let deep = tree.join("src");
    fs::create_dir(&deep).expect("made");
    for dir in [&tree, &deep] {
        assert_eq!(path_of(&pn.pn(["where"]).dir(dir).ok_json()), real(pn.store()));
    }
    pn.pn(["update", &id, "--claim"]).dir(&deep).actor("ana").ok_json();
    assert_eq!(show(&pn, &id)["assignee"], "ana");
    assert!(!tree.join(".pensa/db.sqlite").exists());
    assert_eq!(path_of(&pn.pn(["init"]).dir(&tree).ok_json()), real(pn.store()));
}

#[test]
fn a_worktree_without_the_files_finds_the_main_store_too() {
    let pn = bare();
    pn.git_init();
    pn.pn(["init"]).ok();
    let tree = pn.path("tree");
    pn.git(["worktree", "add", "--quiet", tree.to_str().expect("a path")]);
    assert!(!tree.join(".pensa").exists(), "the store was never committed");
    assert_eq!(path_of(&pn.pn(["where"]).dir(&tree).ok_json()), real(pn.store()));
}

#[test]
fn the_store_can_be_named_by_its_project_or_itself() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    let elsewhere = pn.path("elsewhere");
    for dir in [pn.project(), pn.store(), "../project".into(), "../project/.pensa/".into()] {
        let dir = dir.to_str().expect("a path").to_owned();
        let by_flag = pn.pn(["--store", &dir, "list"]).dir(&elsewhere).ok_json();
        let by_variable = pn.pn(["list"]).env("PN_STORE", &dir).dir(&elsewhere).ok_json();
        assert_eq!((&by_flag[0]["id"], &by_flag), (&json!(id), &by_variable), "{dir}");
    }
    let other = Sandbox::with_store(crate::PN);
    let flag = other.project();
    let both = pn.pn(["--store", flag.to_str().expect("a path"), "list"]).env("PN_STORE", pn.store());
    assert_eq!(both.ok_json(), json!([]), "the flag beats the variable");
    pn.pn(["--store", "/nonexistent", "list"]).fails("no_store");
}

#[test]
fn without_a_store_every_command_hints_at_init_and_creates_none() {
    let pn = bare();
    for args in [vec!["list"], vec!["create", "x", "-t", "task"], vec![], vec!["where"], vec!["doctor", "--fix"]] {
        let error = pn.pn(args).fails("no_store");
        assert!(text(&error["hint"]).contains("pn init"), "{error}");
    }
    assert_eq!(fs::read_dir(pn.project()).expect("a directory").count(), 0);
    assert_eq!(fs::read_dir(pn.path("home")).expect("a directory").count(), 0);
}

#[test]
fn a_store_that_is_a_link_or_a_file_is_refused() {
    let real = crate::sandbox();
    let pn = bare();
    symlink(real.store(), pn.store()).expect("linked");
    for args in [vec!["list"], vec!["init"], vec!["create", "x", "-t", "task"]] {
        let error = pn.pn(args).fails("invalid_input");
        assert!(text(&error["error"]).contains("symbolic link"), "{error}");
    }
    assert_eq!(real.pn(["list"]).ok_json(), json!([]));
    fs::remove_file(pn.store()).expect("removed");
    fs::write(pn.store(), "a file").expect("written");
    for args in [vec!["list"], vec!["init"]] {
        pn.pn(args).fails("invalid_input");
    }
    assert_eq!(fs::read_to_string(pn.store()).expect("the file"), "a file");
}

#[test]
fn files_of_a_store_that_are_links_are_refused() {
    for name in ["db.sqlite", "local"] {
        let (pn, target) = (crate::sandbox(), crate::sandbox());
        let link = pn.store().join(name);
        fs::rename(&link, pn.path("aside")).expect("moved");
        symlink(target.store().join(name), &link).expect("linked");
        let answer = pn.pn(["create", "x", "-t", "task"]).json().answer();
        assert_eq!(answer.code, Some(1), "{name}: {answer:?}");
        assert_eq!(target.pn(["list"]).ok_json(), json!([]), "{name}");
    }
}

#[test]
fn files_are_for_their_owner_only() {
    let pn = crate::sandbox();
    let mut shell = pn.command("sh");
    let create = format!("umask 000; rm -rf .pensa; {0} init && {0} create x -t task && {0} export", crate::PN);
    pn.tool(shell.args(["-c", &create]));
    let mode = |path: &Path| fs::symlink_metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&pn.store()), 0o700);
    assert_eq!(mode(&pn.store().join("local")), 0o700);
    let durable = pn.durable();
    for dir in [durable.clone(), durable.join("journal"), durable.parent().expect("one for all copies").to_owned()] {
        assert_eq!(mode(&dir), 0o700, "{}", dir.display());
    }
    for name in ["writer.lock", "last-event", "journal/000000000000001.jsonl"] {
        assert_eq!(mode(&durable.join(name)), 0o600, "{name}");
    }
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm", "local/journal-dir", "config.toml"] {
        let path = pn.store().join(name);
        if path.exists() {
            assert_eq!(mode(&path), 0o600, "{name}");
        }
    }
}

#[test]
fn a_fresh_clone_imports_by_itself() {
    let pn = bare();
    pn.git_init();
    pn.pn(["init"]).ok();
    let parent = task(&pn, "parent");
    let child = create(&pn, &["child", "-t", "task", "--dep", &parent]);
    pn.pn(["comment", "add", &child, "seen"]).ok_json();
    pn.pn(["export"]).ok();
    pn.git(["add", "--all"]);
    pn.git(["commit", "--quiet", "--message=issues"]);
    let clone = pn.path("clone");
    pn.git(["clone", "--quiet", ".", clone.to_str().expect("a path")]);
    assert!(!clone.join(".pensa/db.sqlite").exists());
    let view = |dir: &Path| ["list", "ready", "blocked"].map(|view| pn.pn([view]).dir(dir).ok_json());
    assert_eq!(view(&clone), view(&pn.project()));
    assert_eq!(pn.pn(["show", &child]).dir(&clone).ok_json(), show(&pn, &child));
    let report = pn.pn(["doctor"]).dir(&clone).ok_json();
    assert!(elements(&report["findings"]).iter().all(|finding| finding["check"] == "hooks"), "{report}");
}

#[test]
fn a_fresh_clone_with_a_broken_file_fails_until_it_is_repaired() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    pn.pn(["export"]).ok();
    let file = pn.store().join("issues.jsonl");
    let good = fs::read_to_string(&file).expect("an export");
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(pn.store().join(name));
    }
    fs::remove_dir_all(pn.durable()).expect("a clone has none");
    fs::remove_dir_all(pn.store().join("local")).expect("a clone has none");
    let broken = format!("<<<<<<< HEAD\n{good}");
    fs::write(&file, &broken).expect("written");
    for args in [vec!["list"], vec!["create", "x", "-t", "task"], vec!["export"], vec!["list"]] {
        let error = pn.pn(args).fails("invalid_input");
        assert!(text(&error["error"]).contains("issues.jsonl line 1"), "{error}");
    }
    assert_eq!(fs::read_to_string(&file).expect("the file"), broken, "and nothing is written over it");
    fs::write(&file, good).expect("written");
    assert_eq!(ids(&pn, &["list"]), [id]);
}

#[test]
fn a_write_to_a_read_only_store_fails_clearly_and_changes_nothing() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    let disk = Disk::read_only(&pn, &pn.project());
    for args in [vec!["create", "x", "-t", "task"], vec!["update", &id, "--claim"], vec!["export"]] {
        let error = pn.pn(args).on(&disk).fails("forbidden");
        assert!(error["hint"].is_string(), "{error}");
    }
    let fresh = bare();
    let disk = Disk::read_only(&fresh, &fresh.project());
    fresh.pn(["init"]).on(&disk).fails("forbidden");
    assert_eq!(ids(&pn, &["list"]), [id]);
}

#[test]
fn a_read_only_store_can_still_be_read() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    let disk = Disk::read_only(&pn, &pn.project());
    let listed = pn.pn(["list"]).on(&disk).ok_json();
    assert_eq!(listed[0]["id"], id.as_str());
}

#[test]
fn a_full_disk_is_reported_and_loses_nothing_acknowledged() {
    let pn = bare();
    let disk = Disk::small(&pn, &pn.project(), "900k");
    pn.pn(["init"]).on(&disk).ok();
    fs::write(disk.file("ballast"), vec![1u8; 200 * 1024]).expect("room for the ballast");
    let mut acknowledged = Vec::new();
    let error = loop {
        assert!(acknowledged.len() < 1000, "the disk never fills up");
        let run = pn.pn(["create", "a task", "-t", "task", "--description", "-"]).stdin("x".repeat(9000)).json();
        let answer = run.on(&disk).answer();
        if answer.code != Some(0) {
            break answer.error();
        }
        let made: serde_json::Value = serde_json::from_str(&answer.stdout).expect("an issue");
        acknowledged.push(text(&made["id"]));
    };
    assert_eq!(error["code"], "disk_full", "{error}");
    assert!(!acknowledged.is_empty());
    for _ in 0..3 {
        let more = pn.pn(["create", "more", "-t", "task", "--description", "-"]).stdin("x".repeat(90_000));
        more.on(&disk).fails("disk_full");
    }
    fs::remove_file(disk.file("ballast")).expect("removed");
    let listed = pn.pn(["list"]).on(&disk).ok_json();
    let there: Vec<String> = elements(&listed).iter().map(|issue| text(&issue["id"])).collect();
    assert_eq!(there, acknowledged, "what was acknowledged, and nothing else");
    pn.pn(["create", "fits again", "-t", "task"]).on(&disk).ok_json();
    let report = pn.pn(["doctor"]).on(&disk).ok_json();
    assert!(elements(&report["findings"]).iter().all(|finding| finding["severity"] != "error"), "{report}");
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(disk.file(&format!(".pensa/{name}")));
    }
    let rebuilt = elements(&pn.pn(["list"]).on(&disk).ok_json()).len();
    assert_eq!(rebuilt, acknowledged.len() + 1, "nothing was acknowledged that only the database had");
}

#[test]
fn a_disk_that_fills_during_export_keeps_the_last_export() {
    let pn = bare();
    let disk = Disk::small(&pn, &pn.project(), "4m");
    pn.pn(["init"]).on(&disk).ok();
    pn.pn(["create", "first", "-t", "task"]).on(&disk).ok_json();
    pn.pn(["export"]).on(&disk).ok_json();
    let exported = fs::read(disk.file(".pensa/issues.jsonl")).expect("an export");
    let large = pn.pn(["create", "second", "-t", "task", "--description", "-"]).stdin("x".repeat(300_000));
    large.on(&disk).ok_json();
    let mut ballast = fs::File::create(disk.file("ballast")).expect("made");
    while std::io::Write::write_all(&mut ballast, &[1u8; 4096]).is_ok() {}
    pn.pn(["export"]).on(&disk).fails("disk_full");
    assert_eq!(fs::read(disk.file(".pensa/issues.jsonl")).expect("an export"), exported);
    let left = fs::read_dir(disk.file(".pensa")).expect("a store");
    let names: Vec<String> =
        left.map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.contains("tmp")), "{names:?}");
}

/// Runs SQL with the program sqlite3.
fn sqlite(pn: &Sandbox, database: &Path, sql: &str) {
    pn.tool(pn.command("sqlite3").arg(database).arg(sql));
}

#[test]
fn a_database_of_a_newer_pensa_is_refused_untouched() {
    let pn = crate::sandbox();
    task(&pn, "one");
    let database = pn.store().join("db.sqlite");
    sqlite(&pn, &database, "PRAGMA user_version = 999; INSERT INTO _migrations VALUES ('0002_more', '', '')");
    let before = fs::read(&database).expect("a database");
    for args in [vec!["list"], vec!["create", "x", "-t", "task"], vec!["init"], vec!["doctor", "--fix"], vec!["import"]]
    {
        let error = pn.pn(args).fails("newer_schema");
        assert!(text(&error["error"]).contains("999"), "{error}");
    }
    assert!(fs::read(&database).expect("a database") == before, "the file was changed");
}

#[test]
fn a_higher_schema_version_is_newer_whatever_the_migrations_table_has() {
    for sql in [
        "PRAGMA user_version = 999",
        "PRAGMA user_version = 999; DELETE FROM _migrations",
        "PRAGMA user_version = 999; DROP TABLE _migrations",
    ] {
        let pn = crate::sandbox();
        task(&pn, "one");
        pn.pn(["export"]).ok();
        let database = pn.store().join("db.sqlite");
        sqlite(&pn, &database, sql);
        let before = fs::read(&database).expect("a database");
        for args in
            [vec!["list"], vec!["create", "x", "-t", "task"], vec!["doctor", "--fix"], vec!["import"], vec!["upgrade"]]
        {
            pn.pn(args).fails("newer_schema");
        }
        assert!(fs::read(&database).expect("a database") == before, "the file was changed: {sql}");
        assert!(!pn.store().join("local/set-aside").exists(), "{sql}");
    }
}

#[test]
fn a_foreign_or_broken_database_is_refused_untouched() {
    for foreign in [true, false] {
        let pn = crate::sandbox();
        let database = pn.store().join("db.sqlite");
        for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
            let _ = fs::remove_file(pn.store().join(name));
        }
        if foreign {
            sqlite(&pn, &database, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
        } else {
            fs::write(&database, "this is no database\n".repeat(1000)).expect("written");
        }
        let before = fs::read(&database).expect("a database");
        for args in [vec!["list"], vec!["create", "x", "-t", "task"], vec!["init"]] {
            pn.pn(args).fails("corrupt");
        }
        assert!(fs::read(&database).expect("a database") == before, "the file was changed (foreign: {foreign})");
    }
}

#[test]
fn an_import_with_a_bad_line_names_it_and_changes_nothing() {
    let pn = crate::sandbox();
    task(&pn, "one");
    pn.pn(["export"]).ok();
    let before = crate::steps::everything(&pn);
    let file = pn.store().join("issues.jsonl");
    let good = fs::read_to_string(&file).expect("an export");
    let newer = good.replace("\"one\"", "\"uno\"").replace("\"updated_at\":\"20", "\"updated_at\":\"21");
    for bad in ["<<<<<<< HEAD", "{}", "{\"id\":", "[1,2]", "\u{0}"] {
        fs::write(&file, format!("{newer}{bad}\n")).expect("written");
        let error = pn.pn(["import"]).fails("invalid_input");
        assert!(text(&error["error"]).contains("line 2"), "{bad}: {error}");
        assert_eq!(crate::steps::everything(&pn), before, "{bad}");
    }
}

#[test]
fn a_foreign_directory_named_like_a_store_is_left_alone() {
    let pn = bare();
    let other = pn.path("elsewhere");
    fs::create_dir(pn.store()).expect("an empty directory");
    fs::write(other.join("config.toml"), "name = 'somebody else'\n").expect("a config");
    pn.pn(["list"]).fails("no_store");
    pn.pn(["list"]).env("PN_STORE", &other).fails("no_store");
    assert_eq!(fs::read_dir(pn.store()).expect("a directory").count(), 0);
    assert_eq!(fs::read_dir(&other).expect("a directory").count(), 1);
    pn.pn(["init"]).ok();
    pn.pn(["list"]).env("PN_STORE", "").ok();
}

#[test]
fn a_store_recreates_its_local_directory() {
    let pn = crate::sandbox();
    fs::remove_dir_all(pn.store().join("local")).expect("removed");
    pn.pn(["create", "a", "-t", "task"]).ok();
}
