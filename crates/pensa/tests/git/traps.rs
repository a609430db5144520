//! Merges with a difficult merge base, or with values that must become conflicts.

use std::fs;

use serde_json::{Value, json};

use crate::clones::{Clone, Machine};

fn create(clone: &Clone<'_>, title: &str) -> String {
    clone.pn(&["create", title, "-t", "task", "-q"]).trim().to_owned()
}

fn commit(clone: &Clone<'_>, message: &str) {
    clone.git(&["commit", "--quiet", "--all", "--allow-empty", "--message", message]);
}

fn shared(clone: &Clone<'_>, message: &str) {
    commit(clone, message);
    clone.git(&["push", "--quiet", "origin", "HEAD:main"]);
}

fn pull(clone: &Clone<'_>) {
    clone.git(&["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
}

fn field(clone: &Clone<'_>, id: &str, name: &str) -> Value {
    clone.json(&["show", id])[name].clone()
}

fn conflicts(clone: &Clone<'_>) -> Vec<(Value, Value, Value)> {
    let result = clone.json(&["conflicts"]);
    let all = result.as_array().expect("a list").iter();
    all.map(|conflict| (conflict["field"].clone(), conflict["kept"].clone(), conflict["other"].clone())).collect()
}

#[test]
fn a_reopened_issue_is_not_closed_by_the_branch_that_closed_it() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let id = create(&clone, "a task");
    commit(&clone, "made");
    clone.git(&["checkout", "--quiet", "-b", "feature"]);
    clone.pn(&["close", &id]);
    clone.pn(&["update", &id, "--priority", "p0"]);
    commit(&clone, "closed");
    clone.git(&["checkout", "--quiet", "main"]);
    clone.pn(&["reopen", &id]);
    clone.pn(&["update", &id, "--priority", "p2"]);
    commit(&clone, "reopened");
    for branch in ["feature", "main", "feature", "main"] {
        clone.git(&["checkout", "--quiet", branch]);
        assert_eq!((field(&clone, &id, "status"), field(&clone, &id, "priority")), (json!("open"), json!("p2")));
    }
    assert_eq!(conflicts(&clone), []);
}

#[test]
fn an_issue_closed_on_a_branch_stays_closed_after_an_unrelated_merge() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = create(&clone, "a task");
    shared(&clone, "made");
    pull(&mate);
    clone.git(&["checkout", "--quiet", "-b", "feature"]);
    clone.pn(&["close", &id]);
    commit(&clone, "closed");
    mate.pn(&["update", &id, "--priority", "p0"]);
    shared(&mate, "urgent");
    clone.git(&["fetch", "--quiet", "origin", "main:main"]);
    clone.git(&["checkout", "--quiet", "main"]);
    assert_eq!((field(&clone, &id, "status"), field(&clone, &id, "priority")), (json!("closed"), json!("p0")));
    assert_eq!(conflicts(&clone), []);
}

#[test]
fn changing_back_after_an_unseen_merge_is_a_change() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = create(&clone, "a task");
    shared(&clone, "made");
    pull(&mate);
    // This store has both branches, but not their merge and what followed.
    clone.git(&["checkout", "--quiet", "-b", "feature"]);
    clone.pn(&["update", &id, "--priority", "p0"]);
    commit(&clone, "urgent");
    clone.git(&["push", "--quiet", "origin", "feature"]);
    mate.pn(&["update", &id, "--title", "another title"]);
    shared(&mate, "titled");
    clone.git(&["checkout", "--quiet", "main"]);
    pull(&clone);
    mate.git(&["fetch", "--quiet", "origin"]);
    mate.git(&["merge", "--quiet", "--no-edit", "origin/feature"]);
    assert_eq!(field(&mate, &id, "priority"), json!("p0"));
    mate.pn(&["update", &id, "--priority", "p2"]);
    shared(&mate, "not urgent");
    pull(&clone);
    assert_eq!(field(&clone, &id, "priority"), json!("p2"));
    assert_eq!(conflicts(&clone), []);
}

#[test]
fn without_a_common_history_dropped_values_are_conflicts() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = create(&clone, "old");
    shared(&clone, "made");
    pull(&mate);
    clone.git(&["checkout", "--quiet", "-b", "feature"]);
    clone.pn(&["update", &id, "--title", "new"]);
    commit(&clone, "titled");
    clone.git(&["push", "--quiet", "origin", "feature"]);
    mate.pn(&["update", &id, "--priority", "p0"]);
    shared(&mate, "urgent");
    let shallow = machine.path("shallow");
    let from = format!("file://{}", machine.path("shared.git").display());
    let to = shallow.to_str().expect("UTF-8");
    clone.git(&["clone", "--quiet", "--depth=1", "--no-single-branch", "--branch=feature", &from, to]);
    let shallow = clone.at(&shallow);
    shallow.pn(&["hooks", "install"]);
    assert_eq!(field(&shallow, &id, "title"), json!("new"));
    shallow.git(&["checkout", "--quiet", "main"]);
    let result = conflicts(&shallow);
    let kept = field(&shallow, &id, "title");
    let other = if kept == "new" { "old" } else { "new" };
    assert!(result.contains(&(json!("title"), kept, json!(other))), "{result:?}");
    shallow.git(&["checkout", "--quiet", "feature"]);
    assert_eq!(conflicts(&shallow), result, "told once");
}

#[test]
fn an_export_that_fails_to_stage_loses_no_conflict() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let id = create(&clone, "one");
    commit(&clone, "made");
    let file = clone.dir.join(".pensa/issues.jsonl");
    let text = fs::read_to_string(&file).expect("a file");
    fs::write(&file, text.replace("\"one\"", "\"from the file\"")).expect("edited");
    clone.pn(&["update", &id, "--title", "from here"]);
    let lock = clone.dir.join(".git/index.lock");
    fs::write(&lock, "").expect("another git command");
    let refused = clone.try_pn(&["export"]).expect_err("git's index is locked");
    assert!(refused.contains("index is locked"), "{refused}");
    clone.pn(&["export", "--no-stage"]);
    fs::remove_file(&lock).expect("it ends");
    clone.pn(&["export"]);
    assert_eq!(conflicts(&clone), [(json!("title"), json!("from here"), json!("from the file"))]);
}

#[test]
fn committing_everything_through_a_daemon_records_the_merge_base() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = create(&clone, "A");
    shared(&clone, "made");
    pull(&mate);
    let daemon = clone.daemon(&clone.dir);
    let clone = clone.through(&daemon);
    clone.pn(&["update", &id, "--title", "B"]);
    // Git holds the lock on its index while the daemon exports.
    shared(&clone, "B");
    pull(&mate);
    mate.pn(&["update", &id, "--title", "A"]);
    shared(&mate, "back to A");
    pull(&clone);
    assert_eq!(field(&clone, &id, "title"), json!("A"), "a change back is a change");
    assert_eq!(conflicts(&clone), []);
}

#[test]
fn a_restored_issue_brings_back_its_comments_and_dependencies() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let (id, parent) = (create(&clone, "one"), create(&clone, "its parent"));
    clone.pn(&["dep", "add", &id, &parent]);
    clone.pn(&["comment", "add", &id, "precious"]);
    shared(&clone, "made");
    pull(&mate);
    mate.git(&["branch", "old"]);
    mate.pn(&["delete", &id, "--force"]);
    commit(&mate, "deleted");
    clone.pn(&["update", &id, "--title", "edited later"]);
    commit(&clone, "edited");
    clone.git(&["push", "--quiet", "origin", "HEAD:edited"]);
    mate.git(&["fetch", "--quiet", "origin"]);
    mate.git(&["checkout", "--quiet", "old"]);
    assert!(mate.try_pn(&["show", &id]).is_err(), "an old branch brings nothing back");
    mate.git(&["checkout", "--quiet", "--no-track", "-b", "edited", "origin/edited"]);
    let whole = mate.json(&["show", &id]);
    assert_eq!((&whole["title"], &whole["comments"][0]["text"]), (&json!("edited later"), &json!("precious")));
    assert_eq!(whole["deps"][0]["id"], json!(parent));
    commit(&mate, "more");
    assert!(mate.read("comments.jsonl").contains("precious") && mate.read("deps.jsonl").contains(&parent));
}

#[test]
fn a_comment_unknown_to_the_deleter_is_a_conflict_and_can_be_restored() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let (id, parent) = (create(&clone, "one"), create(&clone, "its parent"));
    clone.pn(&["dep", "add", &id, &parent]);
    clone.pn(&["comment", "add", &id, "known to all"]);
    shared(&clone, "made");
    pull(&mate);
    mate.pn(&["comment", "add", &id, "a finding"]);
    commit(&mate, "commented");
    clone.pn(&["delete", &id, "--force"]);
    shared(&clone, "deleted");
    pull(&mate);
    assert!(mate.try_pn(&["show", &id]).is_err());
    let result = mate.json(&["conflicts"]);
    assert_eq!(result.as_array().map(Vec::len), Some(1), "{result}");
    assert_eq!((&result[0]["collection"], &result[0]["other"]["text"]), (&json!("comments"), &json!("a finding")));
    mate.pn(&["conflicts", "resolve", result[0]["id"].as_str().expect("an id"), "--take", "other"]);
    shared(&mate, "had back");
    pull(&clone);
    for clone in [&mate, &clone] {
        let whole = clone.json(&["show", &id]);
        let printed: Vec<&Value> = whole["comments"].as_array().expect("a list").iter().map(|it| &it["text"]).collect();
        assert_eq!(printed, ["known to all", "a finding"]);
        assert_eq!(whole["deps"][0]["id"], json!(parent));
    }
    assert_eq!(clone.exported(), mate.exported());
}

#[test]
fn a_restore_is_not_reverted_by_the_next_commit() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let id = create(&clone, "good");
    commit(&clone, "made");
    let backup = machine.path("backup.sqlite");
    clone.pn(&["backup", backup.to_str().expect("UTF-8")]);
    clone.git(&["checkout", "--quiet", "-b", "bad"]);
    clone.pn(&["update", &id, "--title", "bad"]);
    create(&clone, "junk");
    commit(&clone, "bad");
    clone.git(&["checkout", "--quiet", "main"]);
    clone.pn(&["restore", backup.to_str().expect("UTF-8")]);
    for branch in ["main", "bad", "main"] {
        clone.git(&["checkout", "--quiet", branch]);
        commit(&clone, "after");
        assert_eq!(
            (field(&clone, &id, "title"), clone.json(&["list"]).as_array().map(Vec::len)),
            (json!("good"), Some(1))
        );
    }
}

#[test]
fn undo_skips_what_a_pull_brought() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let (one, two) = (create(&clone, "one"), create(&clone, "two"));
    shared(&clone, "made");
    pull(&mate);
    mate.pn(&["close", &one]);
    shared(&mate, "closed");
    clone.pn(&["update", &two, "--title", "a mistake"]);
    commit(&clone, "mistaken");
    pull(&clone);
    clone.pn(&["undo"]);
    assert_eq!((field(&clone, &one, "status"), field(&clone, &two, "title")), (json!("closed"), json!("two")));
}

#[test]
fn the_same_two_values_can_conflict_again() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = create(&clone, "a task");
    shared(&clone, "made");
    pull(&mate);
    for _ in 0..2 {
        clone.pn(&["update", &id, "--priority", "p1"]);
        commit(&clone, "p1");
        mate.pn(&["update", &id, "--priority", "p0"]);
        shared(&mate, "p0");
        pull(&clone);
        assert_eq!(conflicts(&clone), [(json!("priority"), json!("p0"), json!("p1"))]);
        let conflict = clone.json(&["conflicts"])[0]["id"].as_str().expect("an id").to_owned();
        clone.pn(&["conflicts", "resolve", &conflict, "--take", "kept"]);
        assert_eq!(conflicts(&clone), []);
        clone.pn(&["update", &id, "--priority", "p2"]);
        shared(&clone, "p2");
        pull(&mate);
    }
}

#[test]
fn deleted_worktrees_are_forgotten() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let id = create(&clone, "a task");
    commit(&clone, "made");
    for name in ["one", "two"] {
        let linked = clone.worktree(name);
        linked.pn(&["update", &id, "--title", name]);
        commit(&linked, name);
        clone.git(&["worktree", "remove", "--force", linked.dir.to_str().expect("UTF-8")]);
    }
    clone.pn(&["update", &id, "--title", "last"]);
    commit(&clone, "last");
    assert_eq!(clone.places(), [""]);
}

#[test]
fn a_branch_older_than_the_store_leaves_it_alone() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let id = create(&clone, "one");
    commit(&clone, "made");
    clone.git(&["checkout", "--quiet", "--orphan", "old"]);
    clone.git(&["rm", "--quiet", "-r", "--force", "."]);
    fs::write(clone.dir.join("code"), "").expect("a file");
    clone.git(&["add", "--all"]);
    clone.git(&["commit", "--quiet", "--message=other work"]);
    assert_eq!(clone.git(&["ls-files"]), "code\n");
    clone.git(&["checkout", "--quiet", "main"]);
    assert_eq!(field(&clone, &id, "title"), json!("one"));
    assert!(clone.json(&["history", &id]).as_array().is_some_and(|lines| !lines.is_empty()), "and not from its files");
}

#[test]
fn a_removed_and_recreated_dependency_exists_in_all_clones() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let (child, parent) = (create(&clone, "child"), create(&clone, "parent"));
    for command in ["add", "remove", "add"] {
        clone.pn(&["dep", command, &child, &parent]);
        shared(&clone, command);
        pull(&mate);
        let deps = mate.json(&["dep", "list", &child]);
        assert_eq!(deps.as_array().map(Vec::len), Some(usize::from(command == "add")), "{command}: {deps}");
    }
    assert_eq!(clone.exported(), mate.exported());
}

#[test]
fn data_dropped_by_an_authoritative_import_returns_with_the_next_merge() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = create(&clone, "old");
    shared(&clone, "made");
    pull(&mate);
    mate.pn(&["update", &id, "--title", "new"]);
    mate.pn(&["close", &id]);
    shared(&mate, "changed");
    pull(&clone);
    clone.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    clone.pn(&["import", "--authoritative"]);
    assert_eq!(field(&clone, &id, "title"), json!("old"));
    commit(&clone, "dropped");
    pull(&clone);
    assert_eq!((field(&clone, &id, "title"), field(&clone, &id, "status")), (json!("new"), json!("closed")));
}

#[test]
fn both_sides_of_a_conflict_that_git_left_in_a_file_are_merged_field_by_field() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = create(&clone, "a task");
    shared(&clone, "made");
    pull(&mate);
    // As in a clone without the driver.
    fs::create_dir_all(clone.dir.join(".git/info")).expect("a directory");
    fs::write(clone.dir.join(".git/info/attributes"), ".pensa/*.jsonl merge=text\n").expect("a rule");
    mate.pn(&["update", &id, "--title", "theirs"]);
    mate.pn(&["update", &id, "--priority", "p0"]);
    shared(&mate, "theirs");
    clone.pn(&["update", &id, "--title", "ours"]);
    commit(&clone, "ours");
    clone.git(&["fetch", "--quiet", "origin"]);
    clone.try_git(&["merge", "--no-edit", "origin/main"]).expect_err("no driver, so git leaves marks");
    assert!(clone.try_pn(&["import"]).expect_err("refused").contains("mark of a conflict"));
    let file = clone.dir.join(".pensa/issues.jsonl");
    let text = fs::read_to_string(&file).expect("a file");
    let kept: String = text.lines().filter(|line| line.starts_with('{')).map(|line| format!("{line}\n")).collect();
    assert_eq!(kept.lines().count(), 2, "{text}");
    fs::write(&file, kept).expect("mended as the hint says");
    clone.pn(&["import"]);
    assert_eq!((field(&clone, &id, "title"), field(&clone, &id, "priority")), (json!("ours"), json!("p0")));
    assert_eq!(conflicts(&clone), [(json!("title"), json!("ours"), json!("theirs"))]);
}

#[test]
fn files_checked_out_from_another_branch_do_not_break_its_merge() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = create(&clone, "a task");
    shared(&clone, "made");
    pull(&mate);
    mate.pn(&["update", &id, "--priority", "p0"]);
    shared(&mate, "urgent");
    clone.pn(&["update", &id, "--title", "newer"]);
    commit(&clone, "titled");
    clone.git(&["fetch", "--quiet", "origin"]);
    clone.git(&["checkout", "--quiet", "origin/main", "--", ".pensa"]);
    commit(&clone, "with their files");
    clone.git(&["merge", "--quiet", "--no-edit", "origin/main"]);
    assert_eq!((field(&clone, &id, "title"), field(&clone, &id, "priority")), (json!("newer"), json!("p0")));
}

#[test]
fn a_manual_edit_is_an_ordinary_change() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = create(&clone, "xx");
    shared(&clone, "made");
    pull(&mate);
    let file = clone.dir.join(".pensa/issues.jsonl");
    for (from, to) in [("xx", "yy"), ("yy", "xx")] {
        let before = field(&clone, &id, "updated_at");
        let text = fs::read_to_string(&file).expect("a file");
        fs::write(&file, text.replace(&format!("\"{from}\""), &format!("\"{to}\""))).expect("edited");
        shared(&clone, to);
        assert_eq!(field(&clone, &id, "title"), json!(to));
        assert!(field(&clone, &id, "updated_at").as_str() > before.as_str(), "it has a time of its own");
        pull(&mate);
        assert_eq!(field(&mate, &id, "title"), json!(to));
    }
}

#[test]
fn checking_out_old_commits_in_a_fresh_clone_changes_nothing() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let id = create(&clone, "first");
    commit(&clone, "made");
    for title in ["second", "third", "fourth"] {
        clone.pn(&["update", &id, "--title", title]);
        commit(&clone, title);
    }
    clone.git(&["push", "--quiet", "origin", "main"]);
    let dir = machine.path("fresh");
    clone.git(&["clone", "--quiet", "../shared.git", dir.to_str().expect("UTF-8")]);
    let fresh = clone.at(&dir);
    fresh.pn(&["hooks", "install"]);
    assert_eq!(field(&fresh, &id, "title"), json!("fourth"));
    for old in ["main~3", "main~1", "main~2", "main"] {
        fresh.git(&["checkout", "--quiet", old]);
        assert_eq!(field(&fresh, &id, "title"), json!("fourth"), "at {old}");
    }
    assert_eq!(conflicts(&fresh), []);
}

#[test]
fn importing_the_second_half_of_a_cycle_warns() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let (one, other) = (create(&clone, "one"), create(&clone, "other"));
    shared(&clone, "made");
    pull(&mate);
    clone.pn(&["dep", "add", &one, &other]);
    shared(&clone, "one waits");
    mate.pn(&["dep", "add", &other, &one]);
    commit(&mate, "the other waits");
    let result = mate.git_output(&["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
    assert!(result.contains(&format!("pensa: {one} and {other} now wait for each other")), "{result}");
}

#[test]
fn a_dependency_on_an_issue_deleted_elsewhere_is_reported() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let (one, other) = (create(&clone, "one"), create(&clone, "other"));
    shared(&clone, "made");
    pull(&mate);
    clone.pn(&["delete", &other, "--force"]);
    shared(&clone, "deleted");
    mate.pn(&["dep", "add", &one, &other]);
    commit(&mate, "waits");
    let result = mate.git_output(&["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
    assert!(result.contains(&format!("pensa: {one} no longer waits for {other}, which clone-0 deleted")), "{result}");
}

#[test]
fn a_clone_with_other_line_ends_has_the_same_files() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    create(&clone, "a task");
    shared(&clone, "made");
    mate.git(&["config", "core.autocrlf", "true"]);
    pull(&mate);
    assert_eq!(mate.read("issues.jsonl"), clone.read("issues.jsonl"));
    mate.pn(&["export", "--check"]);
    assert_eq!(mate.git(&["status", "--porcelain"]), "");
}
