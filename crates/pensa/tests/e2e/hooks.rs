//! The git hooks: every commit exports the issues, every merge, checkout and rebase imports them.

use std::fs::{self, File};
use std::path::Path;

use pensa_testkit::{Answer, Sandbox};

use crate::hooks_world::{
    answer, clone, commit_all, git_in, hook, repository, titles, try_git, with_hooks, write_program,
};
use crate::steps::{elements, task, text};
use crate::typing::Terminal;

const ISSUES: &str = ".pensa/issues.jsonl";

/// Checks that the last commit has the issue, and that index and work tree are clean.
#[track_caller]
fn assert_committed(pn: &Sandbox, title: &str, how: &str) {
    let committed = pn.git(["show", &format!("HEAD:{ISSUES}")]);
    assert!(committed.contains(title), "{how}: {committed}");
    assert_eq!(pn.git(["status", "--porcelain", "--", ".pensa"]), "", "{how}");
}

#[test]
fn every_kind_of_commit_carries_the_issues_as_they_are() {
    let pn = with_hooks();
    let project = pn.project();
    fs::create_dir(project.join("sub")).expect("made");
    for name in ["a", "b", "sub/c"] {
        fs::write(project.join(name), "0").expect("written");
    }
    commit_all(&pn, "files");
    let kinds: [(&[&str], &str); 7] = [
        (&["commit", "--quiet", "--message=x"], "."),
        (&["commit", "--quiet", "--all", "--message=x"], "."),
        (&["commit", "--quiet", "--message=x", "a"], "."),
        (&["commit", "--quiet", "--include", "--message=x", "a"], "."),
        (&["commit", "--quiet", "--amend", "--message=x"], "."),
        (&["commit", "--quiet", "--allow-empty", "--message=x"], "sub"),
        (&["commit", "--quiet", "--message=x", "c"], "sub"),
    ];
    for (number, (args, dir)) in kinds.into_iter().enumerate() {
        for name in ["a", "b", "sub/c"] {
            fs::write(project.join(name), format!("{number}.{name}")).expect("written");
        }
        pn.git(["add", "b"]);
        let title = format!("before commit {number}");
        task(&pn, &title);
        git_in(&pn, &project.join(dir), args);
        assert_committed(&pn, &title, &format!("{args:?} in {dir}"));
    }
    assert_eq!(pn.git(["stash", "list"]), "");
}

#[test]
fn a_commit_through_a_daemon_carries_the_issues_too() {
    let pn = with_hooks();
    let daemon = pn.daemon();
    fs::write(pn.project().join("a"), "0").expect("written");
    commit_all(&pn, "files");
    for args in [vec!["commit", "--quiet", "--all", "--message=x"], vec!["commit", "--quiet", "--message=x", "a"]] {
        fs::write(pn.project().join("a"), format!("{args:?}")).expect("written");
        let title = format!("before {args:?}").replace('"', "");
        task(&pn, &title);
        let printed = answer(pn.command("git").args(&args).env("PN_DAEMON", &daemon.url));
        assert_eq!(printed.code, Some(0), "{printed:?}");
        assert_committed(&pn, &title, "through a daemon");
    }
    let printed =
        answer(pn.command("git").args(["commit", "--allow-empty", "-m", "x"]).env("PN_DAEMON", "http://localhost:1"));
    assert_ne!(printed.code, Some(0), "a server that was asked for is used: {printed:?}");
}

#[test]
fn a_commit_in_the_middle_of_a_rebase_and_a_merge_carries_the_issues() {
    let pn = with_hooks();
    let project = pn.project();
    let write = |text: &str| fs::write(project.join("a"), text).expect("written");
    write("0");
    commit_all(&pn, "base");
    pn.git(["checkout", "--quiet", "-b", "side"]);
    write("side");
    pn.git(["commit", "--quiet", "--all", "--message=side"]);
    pn.git(["checkout", "--quiet", "main"]);
    write("main");
    pn.git(["commit", "--quiet", "--all", "--message=main"]);
    assert_ne!(try_git(&pn, &project, &["merge", "--quiet", "side"]).code, Some(0), "a conflict");
    write("both");
    task(&pn, "while merging");
    git_in(&pn, &project, &["commit", "--all", "--no-edit"]);
    assert_committed(&pn, "while merging", "merge");

    pn.git(["checkout", "--quiet", "side"]);
    write("more");
    pn.git(["commit", "--quiet", "--all", "--message=more"]);
    assert_ne!(try_git(&pn, &project, &["rebase", "--quiet", "main"]).code, Some(0), "a conflict");
    write("all");
    task(&pn, "while rebasing");
    pn.git(["add", "a"]);
    git_in(&pn, &project, &["-c", "core.editor=true", "commit", "--quiet", "--message=by hand"]);
    assert_committed(&pn, "while rebasing", "rebase");
    try_git(&pn, &project, &["rebase", "--skip"]);
}

#[test]
fn a_store_below_the_root_of_the_repository_is_carried_too() {
    let pn = Sandbox::bare(crate::PN);
    let app = pn.path("elsewhere/it's an app");
    fs::create_dir(&app).expect("made");
    pn.pn(["init"]).dir(&app).ok();
    let top = pn.path("elsewhere");
    git_in(&pn, &top, &["init", "--quiet"]);
    for (name, value) in [("user.name", "x"), ("user.email", "x@example.test")] {
        git_in(&pn, &top, &["config", name, value]);
    }
    let report = pn.pn(["hooks", "install"]).dir(&app).ok_json();
    assert!(is_complete(&report), "{report}");
    pn.pn(["create", "deep below", "-t", "task"]).dir(&app).ok();
    git_in(&pn, &top, &["commit", "--quiet", "--allow-empty", "--message=x"]);
    assert!(git_in(&pn, &top, &["show", "HEAD:it's an app/.pensa/issues.jsonl"]).contains("deep below"));
    let attribute = git_in(&pn, &top, &["check-attr", "merge", "--", "it's an app/.pensa/issues.jsonl"]);
    assert!(attribute.ends_with("merge: pensa\n"), "{attribute}");
}

/// Whether a report has everything installed.
pub(crate) fn is_complete(report: &serde_json::Value) -> bool {
    let installed = |hook: &serde_json::Value| hook["state"] == "installed";
    elements(&report["hooks"]).iter().all(installed)
        && report["merge_driver"] == true
        && report["gitattributes"] == true
}

#[test]
fn a_merge_a_rebase_and_a_checkout_bring_the_issues() {
    let pn = with_hooks();
    let (there, here) = (clone(&pn, "clone", true), pn.project());
    let file = |dir: &Path, name: &str| {
        fs::write(dir.join(name), name).expect("written");
        git_in(&pn, dir, &["add", name]);
    };
    task(&pn, "merged");
    file(&here, "one");
    git_in(&pn, &here, &["commit", "--quiet", "--message=one"]);
    git_in(&pn, &there, &["pull", "--quiet", "--no-rebase"]);
    assert_eq!(titles(&pn, &there), ["merged"]);

    task(&pn, "rebased");
    git_in(&pn, &here, &["commit", "--quiet", "--allow-empty", "--message=two"]);
    file(&there, "three");
    git_in(&pn, &there, &["commit", "--quiet", "--no-verify", "--message=three"]);
    git_in(&pn, &there, &["pull", "--quiet", "--rebase"]);
    assert_eq!(titles(&pn, &there), ["merged", "rebased"]);

    git_in(&pn, &here, &["checkout", "--quiet", "-b", "side"]);
    task(&pn, "checked out");
    git_in(&pn, &here, &["commit", "--quiet", "--allow-empty", "--message=four"]);
    git_in(&pn, &there, &["fetch", "--quiet"]);
    git_in(&pn, &there, &["checkout", "--quiet", "side"]);
    assert_eq!(titles(&pn, &there), ["checked out", "merged", "rebased"]);
}

#[test]
fn a_checkout_imports_only_if_it_touches_our_files() {
    let pn = with_hooks();
    let (there, here) = (clone(&pn, "clone", true), pn.project());
    task(&pn, "in a file");
    git_in(&pn, &here, &["commit", "--quiet", "--allow-empty", "--message=one"]);
    git_in(&pn, &there, &["fetch", "--quiet"]);
    git_in(&pn, &there, &["checkout", "origin/main", "--", ISSUES]);
    assert_eq!(titles(&pn, &there), ["in a file"]);
    // An import would wait for this lock and time out.
    let lock = File::open(pn.durable_of(&there).join("writer.lock")).expect("a lock");
    lock.lock().expect("locked");
    let printed = git_in(&pn, &there, &["checkout", "HEAD", "--", ".gitattributes"]);
    assert!(!printed.contains("pensa:"), "{printed}");
    drop(lock);
}

#[test]
fn a_failing_export_stops_the_commit_and_says_what_to_do() {
    let pn = with_hooks();
    task(&pn, "one");
    fs::remove_file(pn.project().join(ISSUES)).expect("removed");
    fs::create_dir_all(pn.project().join(ISSUES).join("in the way")).expect("made");
    let head = pn.git(["rev-parse", "HEAD"]);
    let printed = try_git(&pn, &pn.project(), &["commit", "--allow-empty", "--message=x"]);
    assert_ne!(printed.code, Some(0), "{printed:?}");
    for words in ["the commit was stopped", "issues.jsonl", "hint: ", "--no-verify"] {
        assert!(printed.stderr.contains(words), "{words}: {printed:?}");
    }
    assert_eq!(pn.git(["rev-parse", "HEAD"]), head);
    git_in(&pn, &pn.project(), &["commit", "--quiet", "--no-verify", "--allow-empty", "--message=x"]);
    fs::remove_dir_all(pn.project().join(ISSUES)).expect("removed");
    git_in(&pn, &pn.project(), &["commit", "--quiet", "--allow-empty", "--message=x"]);
    assert_committed(&pn, "one", "after it was put right");
}

#[test]
fn a_failing_import_is_reported_and_fails_no_git_command() {
    let pn = with_hooks();
    task(&pn, "one");
    commit_all(&pn, "one");
    pn.git(["checkout", "--quiet", "-b", "broken"]);
    fs::write(pn.project().join(ISSUES), "<<<<<<< HEAD\n").expect("written");
    git_in(&pn, &pn.project(), &["commit", "--quiet", "--no-verify", "--all", "--message=broken"]);
    git_in(&pn, &pn.project(), &["checkout", "--quiet", "main"]);
    for args in
        [&["checkout", "--quiet", "broken"][..], &["checkout", "main", "--", "."], &["checkout", "broken", "--", "."]]
    {
        let printed = try_git(&pn, &pn.project(), args);
        assert_eq!(printed.code, Some(0), "{args:?}: {printed:?}");
        let is_bad = !args.contains(&"main");
        assert_eq!(printed.stderr.contains("issues were not imported"), is_bad, "{args:?}: {printed:?}");
        assert_eq!(printed.stderr.contains("issues.jsonl line 1"), is_bad, "{args:?}: {printed:?}");
    }
    git_in(&pn, &pn.project(), &["checkout", "--quiet", "--force", "main"]);
    let printed = git_in(&pn, &pn.project(), &["merge", "--no-edit", "broken"]);
    assert!(printed.contains("issues were not imported") && printed.contains("pn import"), "{printed}");
    assert_eq!(titles(&pn, &pn.project()), ["one"]);
}

#[test]
fn a_hook_that_waits_too_long_gives_up() {
    let pn = with_hooks();
    task(&pn, "one");
    let lock = File::open(pn.durable().join("writer.lock")).expect("a lock");
    lock.lock().expect("locked");
    for (hook, code) in [("pre-commit", 1), ("post-merge", 0), ("post-checkout", 0), ("post-rewrite", 0)] {
        let printed = pn.pn(["--store", ".", "hooks", "run", hook, "--limit", "1"]).answer();
        assert_eq!((printed.code, printed.stdout.as_str()), (Some(code), ""), "{hook}: {printed:?}");
        assert!(printed.stderr.contains("gave up after 1 s"), "{hook}: {printed:?}");
    }
}

#[test]
fn a_hook_does_not_read_standard_input() {
    let pn = with_hooks();
    let script = fs::read_to_string(hook(&pn, "pre-commit")).expect("a hook");
    // The same hook with a pn that prints its standard input.
    let bin = pn.path("bin");
    write_program(&bin.join("pn"), "#!/bin/sh\necho \"read: <$(cat)>\" >&2\n");
    fs::write(hook(&pn, "pre-commit"), script.replace(crate::PN, "/nonexistent/pn")).expect("written");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let mut commit = pn.command("sh");
    let printed = answer(commit.args(["-c", "echo words | git commit --allow-empty -m x"]).env("PATH", path));
    assert!(printed.code == Some(0) && printed.stderr.contains("read: <>"), "{printed:?}");
}

/// A run of git after the pn that installed the hooks was deleted, and with none on the path.
fn without_pn(pn: &Sandbox, args: &[&str]) -> Answer {
    let empty = pn.path("bin");
    fs::create_dir_all(&empty).expect("made");
    for program in ["git", "sh", "dirname", "cat"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").expect("a path"))
            .map(|dir| dir.join(program))
            .find(|path| path.is_file())
            .unwrap_or_else(|| panic!("these tests need {program}"));
        let _ = std::os::unix::fs::symlink(found, empty.join(program));
    }
    answer(pn.command("git").args(args).env("PATH", empty))
}

#[test]
fn without_pn_git_continues_with_a_warning() {
    let pn = repository();
    let copy = pn.path("it's gone/pn");
    fs::create_dir(pn.path("it's gone")).expect("made");
    fs::copy(crate::PN, &copy).expect("copied");
    let mut install = pn.command(&copy);
    pn.tool(install.args(["hooks", "install"]));
    let driver = pn.git(["config", "merge.pensa.driver"]);
    assert!(driver.starts_with('\'') && driver.ends_with("it'\\''s gone/pn' merge-driver %O %A %B %P\n"), "{driver}");
    task(&pn, "by a path with a quote");
    commit_all(&pn, "one");
    assert_committed(&pn, "by a path with a quote", "quoted");
    fs::remove_file(&copy).expect("removed");
    let printed = without_pn(&pn, &["commit", "--quiet", "--allow-empty", "--message=x"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert_eq!(printed.stderr, "pensa: pn is not installed here: issues are not exported with this commit\n");
    let printed = without_pn(&pn, &["checkout", "--quiet", "-b", "side"]);
    assert_eq!((printed.code, printed.stderr.lines().count()), (Some(0), 1), "{printed:?}");
}

#[test]
fn hooks_call_pn_by_name_if_that_is_the_same_program() {
    let pn = repository();
    let bin = pn.path("bin");
    fs::create_dir(&bin).expect("made");
    std::os::unix::fs::symlink(crate::PN, bin.join("pn")).expect("linked");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    pn.pn(["hooks", "install"]).env("PATH", &path).ok();
    assert_eq!(pn.git(["config", "merge.pensa.driver"]), "pn merge-driver %O %A %B %P\n");
    assert!(fs::read_to_string(hook(&pn, "pre-commit")).expect("a hook").contains("\npensa_pn=pn\n"));
    write_program(&pn.path("other/pn"), "#!/bin/sh\nexit 0\n");
    let other = format!("{}:{path}", pn.path("other").display());
    pn.pn(["hooks", "install"]).env("PATH", other).ok();
    assert!(pn.git(["config", "merge.pensa.driver"]).starts_with('/'));
}

#[test]
fn a_branch_from_before_the_store_is_left_alone() {
    let pn = with_hooks();
    task(&pn, "one");
    commit_all(&pn, "one");
    let first = pn.git(["rev-list", "--max-parents=0", "HEAD"]);
    let printed = git_in(&pn, &pn.project(), &["checkout", "--quiet", "-b", "old", first.trim()]);
    assert_eq!(printed, "");
    git_in(&pn, &pn.project(), &["commit", "--quiet", "--allow-empty", "--message=x"]);
    assert_eq!(pn.git(["ls-files"]), "");
    assert_eq!(git_in(&pn, &pn.project(), &["checkout", "--quiet", "main"]), "");
    assert_eq!(titles(&pn, &pn.project()), ["one"]);
}

#[test]
fn a_commit_in_a_linked_worktree_runs_the_hooks() {
    let pn = with_hooks();
    let tree = pn.path("tree");
    pn.git(["worktree", "add", "--quiet", tree.to_str().expect("a path")]);
    let status = pn.pn(["hooks", "status"]).dir(&tree).ok_json();
    assert!(is_complete(&status), "{status}");
    assert_eq!(status["hooks_dir"], pn.project().join(".git/hooks").to_str().expect("a path"));
    assert_eq!(pn.pn(["hooks", "install"]).dir(&tree).ok_json()["changed"], serde_json::json!([]));
    pn.pn(["create", "in a worktree", "-t", "task"]).dir(&tree).ok();
    fs::write(tree.join("a"), "a").expect("written");
    git_in(&pn, &tree, &["add", "a"]);
    git_in(&pn, &tree, &["commit", "--quiet", "--message=x"]);
    let exported = |dir: &Path| fs::read_to_string(dir.join(ISSUES)).is_ok_and(|text| text.contains("in a worktree"));
    assert!(exported(&tree) || exported(&pn.project()));
}

#[test]
fn init_installs_hooks_with_the_flag_and_else_hints_at_them() {
    let fresh = |args: &[&str]| {
        let pn = Sandbox::bare(crate::PN);
        pn.git_init();
        let printed = pn.pn(args).answer();
        assert_eq!(printed.code, Some(0), "{printed:?}");
        (hook(&pn, "pre-commit").exists(), printed.stderr)
    };
    assert_eq!(fresh(&["init", "--hooks"]), (true, String::new()));
    assert_eq!(fresh(&["init", "--no-hooks"]), (false, String::new()));
    assert_eq!(fresh(&["init", "--json"]), (false, String::new()));
    let (installed, printed) = fresh(&["init"]);
    assert!(!installed && printed.lines().count() == 1 && printed.contains("pn hooks install"), "{printed}");
    let pn = Sandbox::bare(crate::PN);
    assert_eq!(pn.pn(["init", "--hooks"]).fails("no_repo")["hint"].as_str().map(str::is_empty), Some(false));
    assert!(!pn.store().exists());
    assert_eq!(pn.pn(["init"]).answer().stderr, "", "no word of git where there is none");
    assert!(text(&pn.pn(["hooks", "install"]).fails("no_repo")["hint"]).contains("git init"));
}

#[test]
fn init_on_a_terminal_asks_once_whether_to_install_hooks() {
    for (typed, wanted) in [("\n", true), ("y\n", true), ("n\n", false), ("what\n", false), ("\u{4}", false)] {
        let pn = Sandbox::bare(crate::PN);
        pn.git_init();
        let mut terminal = Terminal::run(&pn, r#""$PN" init"#);
        terminal.answer("[Y/n] ", typed);
        let (shown, code) = terminal.end();
        assert_eq!((code, hook(&pn, "pre-commit").exists()), (Some(0), wanted), "{typed:?}: {shown}");
        assert_eq!(shown.matches("[Y/n]").count(), 1, "{shown}");
    }
    let pn = Sandbox::bare(crate::PN);
    pn.git_init();
    let (shown, code) = Terminal::run(&pn, r#""$PN" init --hooks && "$PN" init && "$PN" --json init"#).end();
    assert!(code == Some(0) && !shown.contains("[Y/n]"), "{shown}");
}
