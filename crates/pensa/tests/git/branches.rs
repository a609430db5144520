//! Branches, worktrees and fresh clones.

use std::fs;

use crate::clones::Machine;

/// The title of an issue in a store.
fn title(clone: &crate::clones::Clone<'_>, id: &str) -> String {
    clone.json(&["show", id])["title"].as_str().expect("a title").to_owned()
}

#[test]
fn switching_branches_loses_and_reopens_nothing() {
    let machine = Machine::new(1);
    let clone = machine.clone(0);
    let id = clone.pn(&["create", "a task", "-t", "task", "-q"]).trim().to_owned();
    clone.git(&["commit", "--quiet", "--allow-empty", "--message=made"]);
    clone.git(&["checkout", "--quiet", "-b", "feature"]);
    clone.pn(&["close", &id, "--reason", "done"]);
    let extra = clone.pn(&["create", "on the branch", "-t", "task", "-q"]).trim().to_owned();
    clone.git(&["commit", "--quiet", "--allow-empty", "--message=closed"]);
    for _ in 0..3 {
        for branch in ["main", "feature"] {
            clone.git(&["checkout", "--quiet", branch]);
            assert_eq!(clone.json(&["show", &id])["status"], "closed", "on {branch}");
            assert_eq!(title(&clone, &extra), "on the branch");
        }
    }
    assert_eq!(clone.json(&["conflicts"]), serde_json::json!([]));
}

#[test]
fn a_title_changed_after_another_branch_committed_it_is_kept() {
    let machine = Machine::new(2);
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let id = clone.pn(&["create", "first", "-t", "task", "-q"]).trim().to_owned();
    clone.git(&["commit", "--quiet", "--allow-empty", "--message=made"]);
    clone.git(&["checkout", "--quiet", "-b", "feature"]);
    clone.git(&["checkout", "--quiet", "main"]);
    clone.pn(&["update", &id, "--title", "second"]);
    clone.git(&["commit", "--quiet", "--allow-empty", "--message=second"]);
    clone.git(&["push", "--quiet", "origin", "main"]);
    clone.git(&["checkout", "--quiet", "feature"]);
    clone.pn(&["update", &id, "--title", "third"]);
    clone.git(&["commit", "--quiet", "--allow-empty", "--message=third"]);
    mate.git(&["pull", "--quiet", "--no-rebase"]);
    mate.pn(&["update", &id, "--priority", "p0"]);
    mate.git(&["commit", "--quiet", "--allow-empty", "--message=urgent"]);
    mate.git(&["push", "--quiet", "origin", "main"]);
    clone.git(&["checkout", "--quiet", "main"]);
    clone.git(&["pull", "--quiet", "--no-rebase"]);
    let issue = clone.json(&["show", &id]);
    assert_eq!((&issue["title"], &issue["priority"]), (&"third".into(), &"p0".into()));
    assert_eq!(clone.json(&["conflicts"]), serde_json::json!([]));
}

#[test]
fn a_worktree_has_files_of_its_own_and_shares_the_store() {
    let machine = Machine::new(1);
    let main = machine.clone(0);
    let id = main.pn(&["create", "a task", "-t", "task", "-q"]).trim().to_owned();
    main.git(&["commit", "--quiet", "--allow-empty", "--message=made"]);
    let before = main.read("issues.jsonl");
    let linked = main.worktree("feature");
    assert_eq!(title(&linked, &id), "a task");
    linked.pn(&["update", &id, "--title", "by the worktree"]);
    fs::create_dir_all(linked.dir.join("deep/er")).expect("made");
    linked.git(&["commit", "--quiet", "--allow-empty", "--message=in the worktree"]);
    assert!(linked.git(&["show", "--stat", "HEAD"]).contains("issues.jsonl"), "its own file was committed");
    assert!(linked.read("issues.jsonl").contains("by the worktree"));
    assert_eq!(main.read("issues.jsonl"), before, "the main worktree's file is left alone");
    assert!(!linked.dir.join(".pensa/db.sqlite").exists(), "one store for all");
    assert_eq!(title(&main, &id), "by the worktree");
    assert_eq!(main.git(&["status", "--porcelain"]), "");
    main.git(&["merge", "--quiet", "--no-edit", "feature"]);
    assert!(main.read("issues.jsonl").contains("by the worktree"));
    assert_eq!(main.json(&["conflicts"]), serde_json::json!([]));
}

#[test]
fn a_fresh_clone_imports_by_itself_embedded_and_in_the_daemon() {
    let machine = Machine::new(1);
    let first = machine.clone(0);
    let id = first.pn(&["create", "a task", "-t", "task", "-q"]).trim().to_owned();
    first.git(&["commit", "--quiet", "--allow-empty", "--message=made"]);
    first.git(&["push", "--quiet", "origin", "main"]);
    for name in ["fresh", "adopted"] {
        let dir = machine.path(name);
        first.git(&["clone", "--quiet", "../shared.git", dir.to_str().expect("UTF-8")]);
        if name == "adopted" {
            fs::remove_file(dir.join(".pensa/config.toml")).expect("an older tool had none");
        }
        let store = dir.to_str().expect("UTF-8");
        assert_eq!(first.json(&["--store", store, "list"])[0]["id"], id.as_str(), "{name}");
        assert!(dir.join(".pensa/config.toml").exists());
    }
    let dir = machine.path("served");
    first.git(&["clone", "--quiet", "../shared.git", dir.to_str().expect("UTF-8")]);
    let daemon = first.daemon(&dir);
    assert_eq!(first.json(&["--remote-server", &daemon.url, "--store", "..", "list"])[0]["id"], id.as_str());
}
