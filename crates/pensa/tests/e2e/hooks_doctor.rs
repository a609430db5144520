//! Findings of doctor about git: clones without hooks, and files that should not be tracked or ignored.

use std::fs;

use pensa_testkit::Sandbox;
use serde_json::Value;

use crate::hooks::is_complete;
use crate::hooks_world::{clone, commit_all, hook, repository, snapshot, with_hooks, write_program};
use crate::steps::{elements, text};

/// The findings of doctor about git, as (check, severity, fixable, message).
fn findings(report: &Value) -> Vec<(String, String, bool, String)> {
    let ours = ["hooks", "merge_driver", "tracked_database", "ignored_jsonl", "unignored_database"];
    let of = |finding: &Value| {
        let fixable = finding["fixable"].as_bool().expect("a yes or no");
        (text(&finding["check"]), text(&finding["severity"]), fixable, text(&finding["message"]))
    };
    elements(&report["findings"]).iter().map(of).filter(|(check, ..)| ours.contains(&check.as_str())).collect()
}

fn checks(report: &Value) -> Vec<(String, String, bool)> {
    findings(report).into_iter().map(|(check, severity, fixable, _)| (check, severity, fixable)).collect()
}

fn doctor(pn: &Sandbox) -> Value {
    pn.pn(["doctor"]).ok_json()
}

#[test]
fn a_clone_without_hooks_and_driver_is_reported_and_fixed() {
    let pn = with_hooks();
    assert_eq!(checks(&doctor(&pn)), []);
    let dir = clone(&pn, "clone", false);
    let report = pn.pn(["doctor"]).dir(&dir).ok_json();
    let missing = |check: &str| (check.to_owned(), "warning".to_owned(), true);
    let mut expected = vec![missing("hooks"); 4];
    expected.push(missing("merge_driver"));
    assert_eq!(checks(&report), expected);
    assert!(!dir.join(".git/hooks/pre-commit").exists(), "only looking changes nothing");
    let fixed = pn.pn(["doctor", "--fix"]).dir(&dir).ok_json();
    let fixes = elements(&fixed["fixes_applied"]);
    assert!(
        fixes.contains(&"installed pre-commit".into()) && fixes.contains(&"installed git config merge.pensa".into()),
        "{fixed}"
    );
    assert!(is_complete(&pn.pn(["hooks", "status"]).dir(&dir).ok_json()));
    assert_eq!(checks(&pn.pn(["doctor"]).dir(&dir).ok_json()), []);
}

#[test]
fn a_project_without_hooks_gets_a_hint_only() {
    let pn = repository();
    let before = snapshot(&pn);
    let report = pn.pn(["doctor", "--fix"]).ok_json();
    assert_eq!(checks(&report), [("hooks".to_owned(), "info".to_owned(), false)]);
    assert_eq!(snapshot(&pn), before);
    pn.git(["config", "--global", "core.hooksPath", "/nonexistent/hooks"]);
    assert_eq!(checks(&doctor(&pn)), [("hooks".to_owned(), "info".to_owned(), false)]);
}

#[test]
fn overwritten_hooks_and_a_lost_line_of_gitattributes_are_reported_and_fixed() {
    let pn = with_hooks();
    write_program(&hook(&pn, "pre-commit"), "#!/bin/sh\n");
    pn.git(["rm", "--quiet", ".gitattributes"]);
    let found = findings(&doctor(&pn));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].3.contains("overwritten the pre-commit hook") && found[1].3.contains(".gitattributes"),
        "{found:?}"
    );
    pn.pn(["doctor", "--fix"]).ok();
    assert!(is_complete(&pn.pn(["hooks", "status"]).ok_json()));
}

#[test]
fn a_hook_whose_pn_is_gone_is_reported() {
    let pn = repository();
    let copy = pn.path("home/pn");
    fs::copy(crate::PN, &copy).expect("copied");
    pn.tool(pn.command(&copy).args(["hooks", "install"]));
    assert_eq!(checks(&doctor(&pn)), [], "another pn is as good");
    fs::remove_file(&copy).expect("removed");
    let found = findings(&doctor(&pn));
    assert!(found.len() == 4 && found.iter().all(|finding| finding.3.contains("a pn that is not there")), "{found:?}");
    pn.pn(["doctor", "--fix"]).ok();
    assert_eq!(checks(&doctor(&pn)), []);
}

#[test]
fn tracked_private_files_and_ignored_shared_files_are_reported() {
    let pn = with_hooks();
    pn.git(["add", "--force", ".pensa/local/journal-dir"]);
    let found = findings(&doctor(&pn));
    let tracked: Vec<&str> = found.iter().map(|finding| finding.3.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(tracked, [".pensa/local/journal-dir"], "{found:?}");
    assert!(
        found
            .iter()
            .all(|finding| (finding.0.as_str(), finding.1.as_str(), finding.2) == ("tracked_database", "error", false))
    );
    pn.git(["reset", "--quiet"]);

    pn.git(["rm", "--quiet", "--cached", ".pensa/deps.jsonl"]);
    fs::write(pn.project().join(".gitignore"), "*.jsonl\n!issues.jsonl\n").expect("written");
    let found = findings(&doctor(&pn));
    assert_eq!(found.len(), 1, "tracked files and those that a rule brings back are seen: {found:?}");
    assert_eq!(found[0].3, "git ignores deps.jsonl: .gitignore:1:*.jsonl");
    let error = pn.pn(["export"]).fails("internal");
    assert!(text(&error["hint"]).contains("pn doctor"), "{error}");
}

#[test]
fn doctor_reports_nothing_about_git_without_git() {
    let pn = crate::sandbox();
    assert_eq!(doctor(&pn), serde_json::json!({"findings": [], "fixes_applied": []}));
    let git = pn.path("elsewhere");
    let mut init = pn.command("git");
    pn.tool(init.arg("init").current_dir(&git));
    let report = pn.pn(["--store", pn.store().to_str().expect("a path"), "doctor"]).dir(&git).ok_json();
    assert_eq!(checks(&report), [], "nor of the repository that one happens to stand in");
}

#[test]
fn prek_entries_without_its_hooks_are_reported() {
    let pn = repository();
    pn.pn(["hooks", "install", "--prek"]).ok();
    commit_all(&pn, "prek");
    let found = findings(&doctor(&pn));
    assert!(
        found.len() == 4 && found.iter().all(|finding| !finding.2 && finding.3.contains("prek install")),
        "{found:?}"
    );
}

#[test]
fn a_gitignore_that_exposes_the_database_is_reported_before_staging() {
    let pn = with_hooks();
    fs::write(pn.store().join(".gitignore"), "!*\n").expect("written");
    let found = findings(&doctor(&pn));
    let unignored: Vec<&str> = found.iter().map(|finding| finding.3.as_str()).collect();
    assert_eq!(unignored.len(), 3, "{found:?}");
    for (message, name) in unignored.iter().zip(["db.sqlite ", "db.sqlite-wal ", "local/token "]) {
        assert!(message.starts_with(&format!("git does not ignore {name}(.pensa/.gitignore:1:!*)")), "{message}");
    }
    assert!(found.iter().all(|finding| (finding.0.as_str(), finding.1.as_str()) == ("unignored_database", "warning")));
    fs::write(pn.store().join(".gitignore"), "db.sqlite*\nlocal\n").expect("written");
    assert_eq!(checks(&doctor(&pn)), []);
}
