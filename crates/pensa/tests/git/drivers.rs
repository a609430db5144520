//! The merge driver without a store, and on files that do not belong to a store.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::clones::{Clone, Machine};

const DRIVER: &str = "pn merge-driver %O %A %B %P";

/// Two branches that changed one issue's title differently. Returns the issue and the clone, which is on main.
fn two_titles(machine: &Machine) -> (Clone<'_>, String) {
    let clone = machine.clone(0);
    let id = clone.pn(&["create", "old", "-t", "task", "-q"]).trim().to_owned();
    fs::create_dir(clone.dir.join("src")).expect("made");
    fs::write(clone.dir.join("src/code"), "x\n").expect("written");
    clone.git(&["add", "src"]);
    clone.git(&["commit", "--quiet", "--all", "--message=made"]);
    clone.git(&["checkout", "--quiet", "-b", "feature"]);
    clone.pn(&["update", &id, "--title", "theirs"]);
    clone.pn(&["create", "only theirs", "-t", "task"]);
    clone.git(&["commit", "--quiet", "--all", "--allow-empty", "--message=theirs"]);
    clone.git(&["push", "--quiet", "origin", "main", "feature"]);
    // In another clone, so that this store does not have one change when it makes the other.
    let dir = machine.path("elsewhere-clone");
    let from = machine.path("shared.git");
    clone.git(&["clone", "--quiet", from.to_str().expect("UTF-8"), dir.to_str().expect("UTF-8")]);
    let mate = clone.at(&dir);
    mate.pn(&["update", &id, "--title", "ours"]);
    mate.pn(&["export"]);
    mate.git(&["commit", "--quiet", "--all", "--message=ours"]);
    mate.git(&["push", "--quiet", "origin", "main"]);
    (mate, id)
}

fn fresh<'m>(machine: &'m Machine, like: &Clone<'m>, name: &str, flags: &[&str]) -> Clone<'m> {
    let (from, dir) = (machine.path("shared.git"), machine.path(name));
    let args = [&["clone", "--quiet"], flags, &[from.to_str().expect("UTF-8"), dir.to_str().expect("UTF-8")]].concat();
    like.git(&args);
    let clone = like.at(&dir);
    clone.git(&["config", "merge.pensa.driver", DRIVER]);
    clone
}

fn titles(conflicts: &Value) -> Vec<Value> {
    let all = conflicts.as_array().expect("a list").iter();
    let mut titles: Vec<Value> =
        all.filter(|it| it["field"] == "title").flat_map(|it| [it["kept"].clone(), it["other"].clone()]).collect();
    titles.sort_by_key(Value::to_string);
    titles
}

#[test]
fn a_conflict_merged_before_the_first_use_of_a_clone_is_reported() {
    let machine = Machine::new(1);
    let (mate, id) = two_titles(&machine);
    let clone = fresh(&machine, &mate, "fresh", &[]);
    assert!(!clone.dir.join(".pensa/db.sqlite").exists());
    clone.git(&["merge", "--quiet", "--no-edit", "origin/feature"]);
    let conflicts = clone.json(&["conflicts"]);
    assert_eq!(titles(&conflicts), [json!("ours"), json!("theirs")], "{conflicts}");
    assert_eq!(conflicts[0]["record_id"], json!(id));
    clone.pn(&["import"]);
    assert_eq!(clone.json(&["conflicts"]), conflicts, "once");
}

#[test]
fn a_sparse_checkout_without_the_store_merges_both_sides() {
    let machine = Machine::new(1);
    let (mate, _) = two_titles(&machine);
    let clone = fresh(&machine, &mate, "sparse", &[]);
    clone.git(&["sparse-checkout", "set", "src"]);
    assert!(!clone.dir.join(".pensa/issues.jsonl").exists());
    clone.git(&["merge", "--quiet", "--no-edit", "origin/feature"]);
    let merged = clone.git(&["show", "HEAD:.pensa/issues.jsonl"]);
    assert!(
        merged.contains("only theirs") && (merged.contains("\"ours\"") || merged.contains("\"theirs\"")),
        "{merged}"
    );
    clone.git(&["sparse-checkout", "disable"]);
    let conflicts = clone.json(&["conflicts"]);
    assert_eq!(titles(&conflicts), [json!("ours"), json!("theirs")], "{conflicts}");
}

#[test]
fn a_bare_clone_merges_trees_with_both_sides() {
    let machine = Machine::new(1);
    let (mate, _) = two_titles(&machine);
    let bare = fresh(&machine, &mate, "bare.git", &["--bare"]);
    fs::create_dir_all(bare.dir.join("info")).expect("made");
    fs::write(bare.dir.join("info/attributes"), ".pensa/*.jsonl merge=pensa\n").expect("written");
    let tree = bare.git(&["merge-tree", "--write-tree", "main", "feature"]);
    let merged = bare.git(&["show", &format!("{}:.pensa/issues.jsonl", tree.trim())]);
    assert!(merged.contains("only theirs") && !merged.contains("<<<<<<<"), "{merged}");
}

/// Two versions of a file on two branches, in a clone that uses the driver for all files.
fn both_changed(clone: &Clone<'_>, path: &str, [base, ours, theirs]: [&str; 3]) {
    fs::write(clone.dir.join(".gitattributes"), "* merge=pensa\n").expect("written");
    let put = |text: &str, message: &str| {
        let file = clone.dir.join(path);
        fs::create_dir_all(file.parent().expect("a directory")).expect("made");
        fs::write(file, text).expect("written");
        clone.git(&["add", "--", ".gitattributes", path]);
        clone.git(&["commit", "--quiet", "--no-verify", "--message", message]);
    };
    put(base, "base");
    clone.git(&["checkout", "--quiet", "-b", "theirs"]);
    put(theirs, "theirs");
    clone.git(&["checkout", "--quiet", "main"]);
    put(ours, "ours");
}

fn read(dir: &Path, path: &str) -> String {
    fs::read_to_string(dir.join(path)).expect("a file")
}

#[test]
fn a_foreign_file_is_merged_as_git_does() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    both_changed(&clone, "data/issues.jsonl", [lines, &lines.replace('1', "one"), &lines.replace('9', "nine")]);
    clone.git(&["merge", "--quiet", "--no-edit", "theirs"]);
    assert_eq!(read(&clone.dir, "data/issues.jsonl"), lines.replace('1', "one").replace('9', "nine"));
}

#[test]
fn a_conflict_in_a_foreign_file_is_marked() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    both_changed(&clone, "src/code", ["a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n"]);
    let result = clone.try_git(&["merge", "--no-edit", "theirs"]).expect_err("a conflict");
    assert!(result.contains("CONFLICT"), "{result}");
    let text = read(&clone.dir, "src/code");
    assert!(text.contains("<<<<<<<") && text.contains("ours\n") && text.contains("theirs\n"), "{text}");
}

#[test]
fn an_unreadable_file_of_ours_keeps_both_sides_with_markers() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    both_changed(&clone, ".pensa/issues.jsonl", ["", "{\"not\":1}\n", "{\"not\":2}\n"]);
    clone.try_git(&["-c", "core.hooksPath=/nowhere", "merge", "--no-edit", "theirs"]).expect_err("not merged");
    let text = read(&clone.dir, ".pensa/issues.jsonl");
    assert!(text.contains("<<<<<<<") && text.contains("\"not\":1") && text.contains("\"not\":2"), "{text}");
}
