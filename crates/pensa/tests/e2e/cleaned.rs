//! Git commands that delete ignored files, and stores that come back empty or older: nothing acknowledged is lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;

use pensa_testkit::Sandbox;
use serde_json::Value;

use crate::hooks_world::{answer, commit_all, git_in, repository};
use crate::steps::{elements, task, text};

/// The state of a store in `dir`: issues, and data that is never exported.
#[track_caller]
fn state(pn: &Sandbox, dir: &Path) -> Vec<Value> {
    let ask = |args: &[&str]| pn.pn(args).dir(dir).ok_json();
    let issues = ask(&["list"]);
    let mut all: Vec<Value> = elements(&issues).iter().map(|issue| ask(&["history", &text(&issue["id"])])).collect();
    all.extend([
        issues,
        ask(&["kv", "list", "--scope", "s"]),
        ask(&["agent", "list"]),
        ask(&["session", "history", "ann", "--all"]),
    ]);
    all
}

/// Makes uncommitted changes: issues, a value, an agent with a session.
#[track_caller]
fn live(pn: &Sandbox, dir: &Path) {
    let run = |args: &[&str]| pn.pn(args).dir(dir).ok();
    run(&["create", "committed", "-t", "task"]);
    run(&["backup"]);
    run(&["create", "not committed", "-t", "bug"]);
    run(&["kv", "set", "--scope", "s", "colour", "blue"]);
    run(&["agent", "create", "--type", "user", "--name", "ann"]);
    pn.pn(["session", "append", "ann", "-"]).stdin("{\"type\":\"note\",\"text\":\"said\"}\n").dir(dir).ok();
}

/// Commands that delete a store's ignored files, and commands that restore the directory if it is gone.
const COMMANDS: [(&str, &str); 4] = [
    ("git clean -fdxq", ""),
    ("git stash -aq", ""),
    ("git sparse-checkout set src", "git sparse-checkout disable"),
    ("rm -rf .pensa && git checkout -q .pensa", ""),
];

#[track_caller]
fn sh(pn: &Sandbox, dir: &Path, line: &str) {
    let result = answer(pn.command("sh").args(["-c", line]).current_dir(dir));
    assert_eq!(result.code, Some(0), "{line}: {result:?}");
}

/// Runs each command in `dir`, then compares the state from `dir` and from `other`.
#[track_caller]
fn survives_each_command(pn: &Sandbox, dir: &Path, other: &Path) {
    for (deletes, restores) in COMMANDS {
        survive_everywhere(pn, dir);
        let before = state(pn, dir);
        sh(pn, dir, deletes);
        if !restores.is_empty() {
            // While the directory is missing, a work tree that still has the files keeps working.
            if dir != other {
                assert_eq!(state(pn, other), before, "{deletes}, from elsewhere");
            }
            sh(pn, dir, restores);
        }
        let result = pn.pn(["list"]).dir(dir).answer();
        assert!(result.stderr.lines().count() <= 1, "{deletes}: one warning: {result:?}");
        assert_eq!(state(pn, dir), before, "{deletes}");
        assert_eq!(state(pn, other), before, "{deletes}, from elsewhere");
        assert_eq!(pn.pn(["list"]).dir(dir).answer().stderr, "", "{deletes}: told once");
        let findings = pn.pn(["doctor", "--deep"]).dir(dir).ok_json()["findings"].clone();
        let serious = elements(&findings).into_iter().filter(|finding| finding["severity"] == "error").count();
        assert_eq!(serious, 0, "{deletes}: {findings}");
    }
}

#[track_caller]
fn survive_everywhere(pn: &Sandbox, dir: &Path) {
    pn.pn(["create", "later", "-t", "task"]).dir(dir).ok();
    pn.pn(["session", "append", "ann", "-"]).stdin("{\"type\":\"note\",\"text\":\"more\"}\n").dir(dir).ok();
}

fn with_source(pn: &Sandbox, dir: &Path) {
    fs::create_dir_all(dir.join("src")).expect("made");
    fs::write(dir.join("src/main"), "").expect("written");
    git_in(pn, dir, &["add", "--all"]);
    git_in(pn, dir, &["commit", "--quiet", "--message=source"]);
}

#[test]
fn commands_that_clean_a_work_tree_lose_nothing() {
    let pn = repository();
    live(&pn, &pn.project());
    pn.pn(["export"]).ok();
    with_source(&pn, &pn.project());
    survives_each_command(&pn, &pn.project(), &pn.project());
}

#[test]
fn commands_that_clean_the_main_or_a_linked_worktree_lose_nothing() {
    let pn = repository();
    live(&pn, &pn.project());
    pn.pn(["export"]).ok();
    with_source(&pn, &pn.project());
    let linked = pn.path("linked");
    pn.git(["worktree", "add", "--quiet", linked.to_str().expect("UTF-8"), "-b", "side"]);
    survives_each_command(&pn, &pn.project(), &linked);
    survives_each_command(&pn, &linked, &pn.project());
}

#[test]
fn commands_that_clean_a_submodule_lose_nothing() {
    let pn = repository();
    with_source(&pn, &pn.project());
    let outer = pn.path("outer");
    fs::create_dir(&outer).expect("made");
    git_in(&pn, &outer, &["init", "--quiet"]);
    let from = pn.project().display().to_string();
    git_in(&pn, &outer, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "inner"]);
    let inner = outer.join("inner");
    live(&pn, &inner);
    assert!(outer.join(".git/modules/inner/pensa").is_dir(), "in the submodule's own git directory");
    survives_each_command(&pn, &inner, &inner);
    // The submodule's work tree is removed and restored.
    git_in(&pn, &outer, &["commit", "--quiet", "--all", "--message=inner"]);
    let before = state(&pn, &inner);
    git_in(&pn, &outer, &["submodule", "--quiet", "deinit", "--force", "inner"]);
    git_in(&pn, &outer, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "inner"]);
    assert_eq!(state(&pn, &inner), before);
}

#[test]
fn worktrees_of_a_bare_repository_have_stores_of_their_own_that_survive() {
    let pn = repository();
    with_source(&pn, &pn.project());
    let bare = pn.path("bare.git");
    git_in(&pn, &pn.project(), &["clone", "--quiet", "--bare", ".", bare.to_str().expect("UTF-8")]);
    let trees: Vec<PathBuf> = ["one", "two"].map(|name| pn.path(name)).into();
    for tree in &trees {
        let name = tree.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        git_in(&pn, &bare, &["worktree", "add", "--quiet", "-b", name, tree.to_str().expect("UTF-8")]);
        live(&pn, tree);
        pn.pn(["create", name, "-t", "task"]).dir(tree).ok();
    }
    let both = || trees.iter().map(|tree| state(&pn, tree)).collect::<Vec<_>>();
    let before = both();
    assert_ne!(before[0], before[1]);
    for tree in &trees {
        sh(&pn, tree, "git clean -fdxq");
    }
    assert_eq!(both(), before);
    sh(&pn, &bare, "git worktree remove --force ../one && git worktree add -q ../one one");
    assert_eq!(both(), before);
}

#[test]
fn a_store_that_was_never_committed_comes_back_with_init() {
    let pn = repository();
    sh(&pn, &pn.project(), "git rm -rq --cached .pensa && rm -rf .pensa .git/pensa && git commit -qm none");
    pn.pn(["init"]).ok();
    live(&pn, &pn.project());
    let before = state(&pn, &pn.project());
    sh(&pn, &pn.project(), "git clean -fdxq");
    assert!(!pn.store().exists());
    pn.pn(["list"]).fails("no_store");
    let result = pn.pn(["init"]).answer();
    assert!(result.stderr.contains("rebuilt"), "{result:?}");
    assert_eq!(state(&pn, &pn.project()), before);
}

#[test]
fn a_store_outside_git_survives_the_loss_of_its_files_and_its_copies_are_their_own() {
    let pn = crate::sandbox();
    live(&pn, &pn.project());
    let before = state(&pn, &pn.project());
    let copy = pn.path("copy");
    sh(&pn, &pn.project(), "cp -r . ../copy");
    pn.pn(["create", "in the copy", "-t", "task"]).dir(&copy).ok();
    assert_eq!(state(&pn, &pn.project()), before, "what happens in the copy stays there");
    let in_copy = state(&pn, &copy);
    for dir in [&pn.project(), &copy] {
        sh(&pn, dir, "rm -rf .pensa/local .pensa/db.sqlite*");
    }
    assert_eq!((state(&pn, &pn.project()), state(&pn, &copy)), (before, in_copy));
    // With another home directory, such as that of a service, the journal is still found.
    sh(&pn, &pn.project(), "rm -f .pensa/db.sqlite*");
    let elsewhere = |args: &[&str]| pn.pn(args).env("XDG_STATE_HOME", pn.path("elsewhere")).ok_json();
    assert_eq!(elements(&elsewhere(&["list"])).len(), 2);
}

#[test]
fn a_store_older_than_the_repository_moves_its_journal_into_it() {
    let pn = crate::sandbox();
    live(&pn, &pn.project());
    let (outside, before) = (pn.durable(), state(&pn, &pn.project()));
    pn.git_init();
    sh(&pn, &pn.project(), "rm -f .pensa/db.sqlite*");
    assert_eq!(state(&pn, &pn.project()), before);
    assert!(pn.durable().starts_with(pn.project().join(".git")) && !outside.exists());
    // A moved repository is found at its new path.
    fs::rename(pn.project(), pn.path("moved")).expect("moved");
    sh(&pn, &pn.path("moved"), "rm -rf .pensa/local .pensa/db.sqlite*");
    assert_eq!(state(&pn, &pn.path("moved")), before);
}

/// A store as earlier versions left it.
fn as_before(pn: &Sandbox) {
    for name in ["journal", "backups"] {
        fs::rename(pn.durable().join(name), pn.store().join("local").join(name)).expect("moved");
    }
    fs::remove_dir_all(pn.project().join(".git/pensa")).expect("removed");
    fs::remove_file(pn.store().join("local/journal-dir")).expect("removed");
}

#[test]
fn the_journal_of_an_earlier_version_is_moved_once_despite_kills() {
    let pn = repository();
    live(&pn, &pn.project());
    let before = state(&pn, &pn.project());
    let run = |_: &str| {
        as_before(&pn);
        sh(&pn, &pn.project(), "rm -f .pensa/db.sqlite*");
        pn.pn(["list"])
    };
    let mut kills = 0;
    for call in ["mkdir", "rename", "unlink", "rmdir", "flock", "fsync", "openat", "write"] {
        kills += crate::crash::sweep(call, 1, run, |point, _| {
            assert_eq!(state(&pn, &pn.project()), before, "{point}");
            assert!(pn.durable().join("journal").is_dir() && !pn.store().join("local/journal").exists(), "{point}");
            assert!(!pn.store().join("local/backups").exists(), "{point}");
        });
    }
    assert!(kills > 20, "only {kills} kills: strace does not inject");
}

#[test]
fn a_hostile_store_id_or_link_reaches_nothing_outside_the_repository() {
    let pn = repository();
    task(&pn, "one");
    let config = pn.store().join("config.toml");
    for id in ["../../../elsewhere/x", "/etc/pensa", "..", ".", "a/b", "\\u0000", &"x".repeat(5000)] {
        sh(&pn, &pn.project(), "rm -rf .git/pensa .pensa/local .pensa/db.sqlite*");
        fs::write(&config, format!("store_id = \"{id}\"\n")).expect("written");
        pn.pn(["create", "x", "-t", "task"]).answer();
        assert_eq!(fs::read_dir(pn.path("elsewhere")).expect("listed").count(), 0, "{id}");
        for made in fs::read_dir(pn.project().join(".git/pensa")).into_iter().flatten().flatten() {
            assert!(made.file_name().to_string_lossy().starts_with("sha256-"), "{id}: {made:?}");
        }
    }
    sh(&pn, &pn.project(), "rm -rf .git/pensa .pensa/local .pensa/db.sqlite* && git checkout -q .pensa");
    symlink(pn.path("elsewhere"), pn.project().join(".git/pensa")).expect("linked");
    pn.pn(["list"]).fails("invalid_input");
    assert_eq!(fs::read_dir(pn.path("elsewhere")).expect("listed").count(), 0);
}

#[test]
fn a_read_only_git_directory_stops_no_command() {
    let pn = repository();
    let id = task(&pn, "one");
    let disk = pensa_testkit::Disk::read_only(&pn, &pn.project().join(".git"));
    let made = text(&pn.pn(["create", "in a sandbox", "-t", "task"]).on(&disk).ok_json()["id"]);
    let listed = pn.pn(["list", "-q"]).on(&disk).ok();
    assert!(listed.contains(&id) && listed.contains(&made), "{listed}");
    drop(disk);
    // The next writer with permission completes it.
    pn.pn(["list"]).ok();
    sh(&pn, &pn.project(), "git clean -fdxq");
    assert_eq!(pn.pn(["list", "-q"]).ok(), listed);
}

/// The files of a database that the daemon has open are deleted, and others write to the new one.
#[test]
fn a_store_that_is_deleted_and_brought_back_under_a_daemon_has_one_writer_at_a_time() {
    let pn = repository();
    let daemon = pn.daemon();
    let create = |title: &str, through: bool| {
        let run = pn.pn(["create", title, "-t", "task"]).json();
        let run = if through { run.env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere")) } else { run };
        let answer = run.answer();
        (answer.code == Some(0)).then(|| serde_json::from_str::<Value>(&answer.stdout).expect("an issue")["id"].clone())
    };
    let acknowledged: Vec<Value> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|n| scope.spawn(move || (0..15).filter_map(|at| create(&format!("{n} {at}"), n % 2 == 0)).collect()))
            .collect();
        for _ in 0..5 {
            // Writers create files while others are deleted.
            sh(&pn, &pn.project(), "until rm -rf .pensa; do :; done 2>/dev/null; git checkout -q .pensa");
            thread::sleep(std::time::Duration::from_millis(120));
        }
        writers.into_iter().flat_map(|writer| -> Vec<Value> { writer.join().expect("a writer") }).collect()
    });
    assert!(acknowledged.len() > 20, "{} of 60", acknowledged.len());
    let listed = pn.pn(["list", "-q"]).ok();
    let missing: Vec<&Value> = acknowledged.iter().filter(|id| !listed.contains(&text(id))).collect();
    assert_eq!(missing, Vec::<&Value>::new(), "of {}", acknowledged.len());
    assert_eq!(pn.pn(["list", "-q"]).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere")).ok(), listed);
    commit_all(&pn, "after");
}

#[test]
fn events_that_journal_and_database_have_lost_are_counted_as_lost_once() {
    let pn = crate::sandbox();
    let ids: Vec<String> = (0..5).map(|n| task(&pn, &format!("task {n}"))).collect();
    let segment = pn.durable().join("journal/000000000000001.jsonl");
    let whole = fs::read_to_string(&segment).expect("a journal");
    let first: String = whole.split_inclusive('\n').take(3).collect();
    fs::write(&segment, first).expect("cut at the end of a line");
    sh(&pn, &pn.project(), "rm -f .pensa/db.sqlite*");
    let result = pn.pn(["list", "-q"]).answer();
    assert!(result.stdout.contains(&ids[2]) && !result.stdout.contains(&ids[3]), "{result:?}");
    assert!(result.stderr.contains("2 events are lost"), "{result:?}");
    assert_eq!(pn.pn(["list"]).answer().stderr, "", "told once");
    let later = task(&pn, "later");
    let event = &elements(&pn.pn(["history", &later]).ok_json())[0];
    assert!(event["id"].as_i64().expect("a number") > 5, "no number is given out twice: {event}");
    // From here on nothing is missing.
    sh(&pn, &pn.project(), "rm -f .pensa/db.sqlite*");
    let result = pn.pn(["list", "-q"]).answer();
    assert!(result.stdout.contains(&later) && !result.stderr.contains("lost"), "{result:?}");
}

#[test]
fn the_loss_of_the_whole_log_is_counted_too() {
    let pn = crate::sandbox();
    let id = task(&pn, "exported");
    task(&pn, "another");
    pn.pn(["export"]).ok();
    fs::remove_dir_all(pn.durable().join("journal")).expect("removed");
    let _ = fs::remove_dir_all(pn.durable().join("backups"));
    sh(&pn, &pn.project(), "rm -f .pensa/db.sqlite*");
    let result = pn.pn(["list", "-q"]).answer();
    assert!(result.stdout.contains(&id), "{result:?}");
    let lost = result.stderr.split(" events are lost").next().and_then(|text| text.rsplit(' ').next());
    assert!(lost.is_some_and(|lost| lost.parse::<i64>().is_ok_and(|lost| lost >= 2)), "{result:?}");
    assert_eq!(pn.pn(["list"]).answer().stderr, "", "told once");
}

/// Two work trees can have a database each for one journal, though not at the same time.
#[test]
fn a_database_with_another_history_is_replaced_by_the_journal() {
    let pn = repository();
    task(&pn, "both have it");
    let database = pn.store().join("db.sqlite");
    let sqlite = |sql: &str| pn.tool(pn.command("sqlite3").arg(&database).arg(sql));
    sqlite("PRAGMA wal_checkpoint(TRUNCATE)");
    fs::copy(&database, pn.path("elsewhere/db.sqlite")).expect("copied");
    let kept = task(&pn, "acknowledged");
    sh(&pn, &pn.project(), "rm .pensa/db.sqlite* && cp ../elsewhere/db.sqlite .pensa/");
    // As if the writer was killed before it wrote the journal.
    sqlite(
        "INSERT INTO events (id, subject_kind, subject_id, event_type, actor, detail, created_at, op)
            SELECT MAX(id) + 1, 'issue', 'pn-ffffffff', 'created', 'a', '{}', '2026-01-01T00:00:00.000Z', MAX(id) + 1
            FROM events",
    );
    let result = pn.pn(["list", "-q"]).answer();
    assert!(result.stdout.contains(&kept), "{result:?}");
    assert!(result.stderr.contains("different histories"), "{result:?}");
    assert_eq!(pn.pn(["list"]).answer().stderr, "");
}
