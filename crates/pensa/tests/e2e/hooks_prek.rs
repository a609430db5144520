//! Hooks as entries in the configuration of prek, with the real prek.

use std::fs;
use std::path::Path;
use std::process::Command;

use pensa_testkit::{Answer, Sandbox, prek};
use serde_json::json;

use crate::hooks::is_complete;
use crate::hooks_world::{answer, git_in, hook, repository, snapshot, with_hooks};
use crate::steps::{elements, task, text};

const CONFIG: &str = ".pre-commit-config.yaml";

/// Runs a program with pn and prek on the path.
fn command(pn: &Sandbox, program: &str, dir: &Path) -> Command {
    let bin = pn.path("bin");
    fs::create_dir_all(&bin).expect("made");
    for (name, target) in [("pn", crate::PN.into()), ("prek", prek::program())] {
        let _ = std::os::unix::fs::symlink(target, bin.join(name));
    }
    let mut command = pn.command(program);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    command.env("PATH", path).env("PREK_HOME", pn.path("xdg/cache/prek")).current_dir(dir);
    command
}

#[track_caller]
fn run(pn: &Sandbox, dir: &Path, line: &[&str]) -> Answer {
    let (program, args) = line.split_first().expect("a program");
    let printed = answer(command(pn, program, dir).args(args));
    assert_eq!(printed.code, Some(0), "{line:?}: {printed:?}");
    printed
}

#[test]
fn one_commit_with_prek_carries_the_issues_and_a_checkout_brings_them() {
    let pn = repository();
    let here = pn.project();
    let printed = run(&pn, &here, &["pn", "hooks", "install", "--prek"]);
    assert!(printed.stderr.contains("next: prek install"), "{printed:?}");
    let printed = run(&pn, &here, &["prek", "install"]);
    for name in ["pre-commit", "post-merge", "post-checkout", "post-rewrite"] {
        assert!(hook(&pn, name).exists(), "{name}: {printed:?}");
    }
    let status = pn.pn(["hooks", "status"]).ok_json();
    assert!(is_complete(&status) && status["prek"] == true, "{status}");
    let report = pn.pn(["doctor"]).ok_json();
    assert_eq!(report["findings"], json!([]));

    fs::write(here.join("a"), "0").expect("written");
    run(&pn, &here, &["git", "add", "--all"]);
    let kinds: [&[&str]; 3] = [
        &["git", "commit", "--message=x"],
        &["git", "commit", "--all", "--message=x"],
        &["git", "commit", "--message=x", "a"],
    ];
    for (number, line) in kinds.into_iter().enumerate() {
        let title = format!("before commit {number}");
        task(&pn, &title);
        run(&pn, &here, line);
        assert!(pn.git(["show", "HEAD:.pensa/issues.jsonl"]).contains(&title), "{line:?}");
        assert_eq!(pn.git(["status", "--porcelain"]), "", "{line:?}");
        fs::write(here.join("a"), format!("{number}.")).expect("written");
    }
    // prek stashes unstaged changes.
    task(&pn, "beside other changes");
    run(&pn, &here, &["git", "commit", "--allow-empty", "--message=x"]);
    assert!(pn.git(["show", "HEAD:.pensa/issues.jsonl"]).contains("beside other changes"));
    assert_eq!(pn.git(["status", "--porcelain"]), " M a\n");

    let there = pn.path("clone");
    run(&pn, &here, &["git", "clone", "--quiet", ".", there.to_str().expect("a path")]);
    run(&pn, &there, &["prek", "install"]);
    run(&pn, &there, &["pn", "list"]);
    task(&pn, "for the clone");
    run(&pn, &here, &["git", "commit", "--all", "--message=x"]);
    run(&pn, &there, &["git", "pull", "--quiet"]);
    assert!(run(&pn, &there, &["pn", "list"]).stdout.contains("for the clone"));
    let driver = run(&pn, &there, &["git", "config", "merge.pensa.driver"]).stdout;
    assert_eq!(driver, "pn merge-driver %O %A %B %P\n", "the hooks see to it");
}

#[test]
fn prek_entries_leave_the_rest_of_the_file_alone_and_can_be_removed() {
    let pn = repository();
    let text = "# our checks\nrepos:\n- repo: local  # ours\n  hooks:\n  - {id: x, name: x, entry: 'true', language: system}\n\n# the end\nfail_fast: true\n";
    fs::write(pn.project().join(CONFIG), text).expect("written");
    let before = snapshot(&pn);
    let installed = pn.pn(["hooks", "install", "--prek"]).ok_json();
    assert_eq!(installed["changed"], json!([CONFIG, ".gitattributes", "git config merge.pensa"]));
    let with = fs::read_to_string(pn.project().join(CONFIG)).expect("there");
    for line in text.lines() {
        assert!(with.lines().any(|kept| kept == line), "{line}: {with}");
    }
    run(&pn, &pn.project(), &["prek", "validate-config", CONFIG]);
    let first = snapshot(&pn);
    for args in [&["hooks", "install", "--prek"][..], &["hooks", "install"]] {
        assert_eq!(pn.pn(args).ok_json()["changed"], json!([]), "{args:?}");
        assert_eq!(snapshot(&pn), first, "{args:?}");
    }
    pn.pn(["hooks", "remove"]).ok();
    assert_eq!(snapshot(&pn), before);
    fs::write(pn.project().join(CONFIG), "repos: [{repo: meta, hooks: [{id: identity}]}]\n").expect("written");
    let before = snapshot(&pn);
    pn.pn(["hooks", "install", "--prek"]).fails("unsupported");
    assert_eq!(snapshot(&pn), before);
}

#[test]
fn prek_entries_replace_hooks() {
    let pn = with_hooks();
    let report = pn.pn(["hooks", "install", "--prek"]).ok_json();
    let missing = elements(&report["hooks"]).iter().all(|hook| text(&hook["state"]) == "missing");
    assert!(missing && report["prek"] == true && report["merge_driver"] == true, "{report}");
}

#[test]
fn hooks_and_prek_installed_one_after_the_other_both_run() {
    let config = "repos:\n- repo: local\n  hooks:\n  - {id: x, name: theirs, entry: 'true', language: system, always_run: true}\n";
    for prek_first in [true, false] {
        let pn = repository();
        let here = pn.project();
        fs::write(here.join(CONFIG), config).expect("written");
        let installs: [&[&str]; 2] = [&["prek", "install"], &["pn", "hooks", "install"]];
        for install in if prek_first { [0, 1] } else { [1, 0] } {
            run(&pn, &here, installs[install]);
        }
        assert!(is_complete(&pn.pn(["hooks", "status"]).ok_json()));
        task(&pn, "one");
        run(&pn, &here, &["git", "add", "--all"]);
        let printed = run(&pn, &here, &["git", "commit", "--message=x"]);
        assert!(printed.stderr.contains("theirs"), "{prek_first}: {printed:?}");
        assert!(pn.git(["show", "HEAD:.pensa/issues.jsonl"]).contains("one"), "{prek_first}");
        let again = run(&pn, &here, &["pn", "hooks", "install", "--quiet"]);
        assert_eq!(again.stdout, "", "{prek_first}: nothing to change");
        pn.pn(["hooks", "remove"]).ok();
        let printed = git_in(&pn, &here, &["config", "--list"]);
        assert!(!printed.contains("pensa"), "{printed}");
        for entry in fs::read_dir(hook(&pn, "")).expect("there") {
            let path = entry.expect("a file").path();
            assert!(!fs::read_to_string(&path).expect("text").contains("pensa"), "{prek_first}: {}", path.display());
        }
    }
}
