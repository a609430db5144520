//! Installing hooks next to other tools' hooks, and removing them without a trace.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::thread;

use pensa_testkit::{Disk, Sandbox};
use serde_json::json;

use crate::hooks::is_complete;
use crate::hooks_world::{commit_all, git_in, hook, repository, snapshot, try_git, with_hooks, write_program};
use crate::steps::{elements, task, text};

const HOOKS: [&str; 4] = ["pre-commit", "post-merge", "post-checkout", "post-rewrite"];

/// A hook that records its arguments and input, and fails on request.
const SHELL: &str = r#"#!/bin/sh
{ echo "$(basename "$0") $# $*"; cat; } >>"$LOG"
exit "${STATUS:-0}"
"#;
const PYTHON: &str = r#"#!/usr/bin/env python3
import os, sys
with open(os.environ["LOG"], "a") as log:
    log.write(f"python {len(sys.argv) - 1} {' '.join(sys.argv[1:])}\n{sys.stdin.read()}")
sys.exit(int(os.environ.get("STATUS", "0")))
"#;

fn states(report: &serde_json::Value) -> Vec<String> {
    elements(&report["hooks"]).iter().map(|hook| text(&hook["state"])).collect()
}

#[test]
fn a_second_install_changes_not_a_byte_and_remove_puts_everything_back() {
    let pn = repository();
    let before = snapshot(&pn);
    assert_eq!(states(&pn.pn(["hooks", "status"]).ok_json()), ["missing"; 4]);
    let first = pn.pn(["hooks", "install"]).ok_json();
    assert!(is_complete(&first), "{first}");
    assert_eq!(
        first["changed"],
        json!([
            "pre-commit",
            "post-merge",
            "post-checkout",
            "post-rewrite",
            ".gitattributes",
            "git config merge.pensa"
        ])
    );
    assert_eq!(
        fs::read_to_string(pn.project().join(".gitattributes")).expect("there"),
        ".pensa/*.jsonl text eol=lf merge=pensa\n"
    );
    assert!(pn.git(["config", "merge.pensa.driver"]).ends_with("pn merge-driver %O %A %B %P\n"));
    assert_ne!(pn.git(["config", "merge.pensa.name"]), "");
    let identities = || HOOKS.map(|name| fs::metadata(hook(&pn, name)).expect("there").ino());
    let (installed, files) = (snapshot(&pn), identities());
    assert_eq!(pn.pn(["hooks", "install"]).ok_json()["changed"], json!([]));
    assert_eq!((snapshot(&pn), identities()), (installed, files));
    assert!(is_complete(&pn.pn(["hooks", "status"]).ok_json()));
    let removed = pn.pn(["hooks", "remove"]).ok_json();
    assert_eq!(states(&removed), ["missing"; 4]);
    assert_eq!(snapshot(&pn), before);
    assert_eq!(pn.pn(["hooks", "remove"]).ok_json()["changed"], json!([]));
}

#[test]
fn many_installs_at_once_are_one_install() {
    let pn = repository();
    fs::write(hook(&pn, "pre-commit"), PYTHON).expect("written");
    let before = snapshot(&pn);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| pn.pn(["hooks", "install"]).ok_json());
        }
    });
    assert!(is_complete(&pn.pn(["hooks", "status"]).ok_json()));
    pn.pn(["hooks", "remove"]).ok();
    assert_eq!(snapshot(&pn), before);
}

/// Hooks of other tools of every kind: shell scripts, other scripts, links, and a disabled one.
fn others(pn: &Sandbox) {
    write_program(&hook(pn, "pre-commit"), SHELL);
    write_program(&hook(pn, "post-rewrite"), PYTHON);
    write_program(&pn.project().join("scripts/checkout"), SHELL);
    symlink("../../scripts/checkout", hook(pn, "post-checkout")).expect("linked");
    fs::write(hook(pn, "post-merge"), "#!/bin/sh\nexit 1\n").expect("written");
    fs::set_permissions(hook(pn, "post-merge"), fs::Permissions::from_mode(0o640)).expect("switched off");
    fs::write(pn.project().join(".gitattributes"), "*.png binary\r\n*.txt text").expect("written");
    commit_all(pn, "attributes");
}

#[test]
fn hooks_of_other_tools_are_called_and_later_restored() {
    let pn = repository();
    // Discard the records of these hooks so far.
    fs::write(pn.path("gitconfig"), "[user]\n\tname = x\n\temail = x@example.test\n[core]\n\thooksPath = none\n")
        .expect("written");
    others(&pn);
    fs::write(pn.path("gitconfig"), "[user]\n\tname = x\n\temail = x@example.test\n").expect("written");
    let before = snapshot(&pn);
    let installed = pn.pn(["hooks", "install"]).ok_json();
    assert!(is_complete(&installed), "{installed}");
    assert_eq!(pn.pn(["hooks", "install"]).ok_json()["changed"], json!([]));

    let git = |args: &[&str], status: &str| {
        let _ = fs::remove_file(pn.path("log"));
        let mut git = pn.command("git");
        let printed = crate::hooks_world::answer(git.args(args).env("LOG", pn.path("log")).env("STATUS", status));
        (printed, fs::read_to_string(pn.path("log")).unwrap_or_default())
    };
    task(&pn, "one");
    let (printed, log) = git(&["commit", "--quiet", "--allow-empty", "--message=x"], "0");
    assert_eq!((printed.code, log.as_str()), (Some(0), "pre-commit 0 \n"), "{printed:?}");
    assert!(pn.git(["show", "HEAD:.pensa/issues.jsonl"]).contains("one"));
    let (printed, _) = git(&["commit", "--quiet", "--allow-empty", "--message=x"], "3");
    assert_eq!(printed.code, Some(1), "their refusal counts: {printed:?}");
    let (printed, log) = git(&["checkout", "--quiet", "-b", "side"], "0");
    assert!(printed.code == Some(0) && log.contains(" 3 ") && log.ends_with(" 1\n"), "{log}: {printed:?}");
    let (printed, _) = git(&["checkout", "--quiet", "main"], "5");
    assert_eq!(printed.code, Some(1), "their exit code counts: {printed:?}");
    for name in ["pre-commit", "post-checkout", "post-rewrite"] {
        let mut direct = pn.command(hook(&pn, name));
        let printed = crate::hooks_world::answer(direct.env("LOG", pn.path("log")).env("STATUS", "5"));
        assert_eq!(printed.code, Some(5), "{name}: {printed:?}");
    }
    let old = pn.git(["rev-parse", "HEAD"]);
    let (printed, log) = git(&["commit", "--quiet", "--amend", "--allow-empty", "--message=y"], "0");
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let expected = format!("python 1 amend\n{} {}", old.trim(), pn.git(["rev-parse", "HEAD"]));
    assert!(log.ends_with(&expected), "{log:?}: {expected:?}");
    let (printed, _) = git(&["merge", "--quiet", "side"], "0");
    assert_eq!(printed.code, Some(0), "a hook that is switched off stays so: {printed:?}");

    pn.pn(["hooks", "remove"]).ok();
    let after = snapshot(&pn);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    for (path, look) in &before {
        assert_eq!(after.get(path), Some(look), "{}", path.display());
    }
}

#[test]
fn a_hook_overwritten_by_another_tool_is_reported_and_repaired() {
    let pn = with_hooks();
    write_program(&hook(&pn, "pre-commit"), SHELL);
    write_program(&hook(&pn, "post-merge"), PYTHON);
    fs::remove_file(hook(&pn, "post-checkout")).expect("removed");
    fs::set_permissions(hook(&pn, "post-rewrite"), fs::Permissions::from_mode(0o644)).expect("switched off");
    let status = pn.pn(["hooks", "status"]).ok_json();
    assert_eq!(states(&status), ["overwritten", "overwritten", "missing", "outdated"]);
    assert!(pn.pn(["hooks", "status"]).ok().contains("overwritten by another tool"));
    let repaired = pn.pn(["hooks", "install"]).ok_json();
    assert!(is_complete(&repaired), "{repaired}");
    // Again, over a hook that calls a previous one.
    write_program(&hook(&pn, "post-merge"), format!("{PYTHON}# newer\n"));
    let repaired = pn.pn(["hooks", "install"]).ok_json();
    assert!(is_complete(&repaired), "{repaired}");
    assert!(
        elements(&repaired["notes"]).iter().any(|note| text(note).contains("post-merge.pre-pensa.1")),
        "{repaired}"
    );
    pn.pn(["hooks", "remove"]).ok();
    assert_eq!(fs::read_to_string(hook(&pn, "pre-commit")).expect("theirs"), SHELL);
    assert!(fs::read_to_string(hook(&pn, "post-merge")).expect("theirs").ends_with("# newer\n"));
    assert_eq!(fs::read_to_string(hook(&pn, "post-merge.pre-pensa.1")).expect("kept"), PYTHON);
    assert!(!hook(&pn, "post-checkout").exists() && !hook(&pn, "post-rewrite").exists());
}

#[test]
fn additions_to_our_hook_stay_when_ours_is_removed() {
    let pn = with_hooks();
    let added = "echo added\n";
    let ours = fs::read_to_string(hook(&pn, "pre-commit")).expect("a hook");
    fs::write(hook(&pn, "pre-commit"), format!("{ours}{added}")).expect("written");
    assert!(is_complete(&pn.pn(["hooks", "install"]).ok_json()));
    assert!(git_in(&pn, &pn.project(), &["commit", "--allow-empty", "--message=x"]).contains("added"));
    pn.pn(["hooks", "remove"]).ok();
    assert_eq!(fs::read_to_string(hook(&pn, "pre-commit")).expect("theirs"), format!("#!/bin/sh\n{added}"));
}

#[test]
fn hooks_that_call_each_other_come_to_an_end() {
    let pn = repository();
    write_program(
        &hook(&pn, "post-merge"),
        "#!/usr/bin/env python3\nimport os, sys\nos.execv('.git/hooks/post-merge', sys.argv)\n",
    );
    pn.pn(["hooks", "install"]).ok();
    let printed = crate::hooks_world::answer(pn.command(hook(&pn, "post-merge")).arg("0"));
    assert!(printed.code == Some(1) && printed.stderr.contains("in a circle"), "{printed:?}");
}

#[test]
fn hooks_are_installed_where_git_looks_for_them() {
    let pn = repository();
    pn.git(["config", "core.hooksPath", ".githooks"]);
    write_program(&pn.project().join(".githooks/pre-commit"), "#!/bin/sh\necho theirs\n");
    let before = snapshot(&pn);
    let report = pn.pn(["hooks", "install"]).dir(pn.store()).ok_json();
    assert!(is_complete(&report) && text(&report["hooks_dir"]).ends_with("project/.githooks"), "{report}");
    assert!(!hook(&pn, "pre-commit").exists());
    task(&pn, "one");
    let printed = git_in(&pn, &pn.project(), &["commit", "--allow-empty", "--message=x"]);
    assert!(printed.contains("theirs"), "{printed}");
    assert!(pn.git(["show", "HEAD:.pensa/issues.jsonl"]).contains("one"));
    pn.pn(["hooks", "remove"]).ok();
    assert_eq!(snapshot(&pn), before);
}

/// Sets a hooks directory for all repositories of the user.
fn for_all(pn: &Sandbox, dir: &Path) {
    fs::create_dir_all(dir).expect("made");
    pn.git(["config", "--global", "core.hooksPath", dir.to_str().expect("a path")]);
}

#[test]
fn hooks_of_all_repositories_are_not_touched() {
    let pn = repository();
    // One outside the repository, and one inside.
    for dir in [pn.path("home/hooks"), pn.project().join(".githooks")] {
        for_all(&pn, &dir);
        let before = snapshot(&pn);
        for args in [vec!["hooks", "install"], vec!["hooks", "install", "--prek"], vec!["hooks", "remove"]] {
            let error = pn.pn(args).fails("unsupported");
            assert!(text(&error["hint"]).contains("core.hooksPath"), "{error}");
        }
        assert_eq!(fs::read_dir(&dir).expect("there").count(), 0);
        assert_eq!(snapshot(&pn), before);
    }
    pn.git(["config", "--global", "--unset", "core.hooksPath"]);
    fs::remove_dir(hook(&pn, "")).or_else(|_| fs::remove_dir_all(hook(&pn, ""))).expect("removed");
    symlink(pn.path("home/hooks"), hook(&pn, "").parent().expect("git").join("hooks")).expect("linked");
    pn.pn(["hooks", "install"]).fails("unsupported");
    assert_eq!(fs::read_dir(pn.path("home/hooks")).expect("there").count(), 0);
}

#[test]
fn an_overridden_line_of_gitattributes_is_moved_to_the_end() {
    let pn = with_hooks();
    let file = pn.project().join(".gitattributes");
    let ours = fs::read_to_string(&file).expect("there");
    fs::write(&file, format!("{ours}*.jsonl merge=union\n")).expect("written");
    assert_eq!(pn.pn(["hooks", "status"]).ok_json()["gitattributes"], false);
    assert!(is_complete(&pn.pn(["hooks", "install"]).ok_json()));
    assert_eq!(fs::read_to_string(&file).expect("there"), format!("*.jsonl merge=union\n{ours}"));
    pn.git(["rm", "--quiet", "--force", ".gitattributes"]);
    symlink("elsewhere", &file).expect("linked");
    pn.pn(["hooks", "install"]).fails("invalid_input");
    assert!(try_git(&pn, &pn.project(), &["status"]).code == Some(0));
}

#[test]
fn hooks_are_for_one_store_of_a_repository() {
    let pn = with_hooks();
    let inner = pn.project().join("inner");
    fs::create_dir(&inner).expect("made");
    // A repository around it would have made init choose the root.
    fs::rename(pn.store(), pn.path("aside")).expect("moved");
    fs::rename(pn.project().join(".git"), pn.path("git")).expect("moved");
    pn.pn(["init"]).dir(&inner).ok();
    fs::rename(pn.path("git"), pn.project().join(".git")).expect("moved");
    fs::rename(pn.path("aside"), pn.store()).expect("moved");
    let before = snapshot(&pn);
    let error = pn.pn(["hooks", "install"]).dir(&inner).fails("conflict");
    assert!(text(&error["hint"]).contains("pn hooks remove"), "{error}");
    assert_eq!(snapshot(&pn), before);
}

/// Kills `pn` at the `nth` system call of a kind. Returns whether it completed before.
fn survives(pn: &Sandbox, args: &[&str], call: &str, nth: usize) -> bool {
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=SIGKILL:when={nth}"));
    let strace = ["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
    let printed = pn.pn(args).under("strace", strace).answer();
    assert!(printed.code.is_none_or(|code| code == 0), "these tests need strace and the right to use it: {printed:?}");
    printed.code == Some(0)
}

#[test]
fn install_killed_at_any_system_call_keeps_other_hooks_and_is_finished_by_the_next() {
    let pn = repository();
    write_program(&hook(&pn, "post-merge"), SHELL);
    write_program(&hook(&pn, "post-rewrite"), PYTHON);
    symlink("../../scripts/checkout", hook(&pn, "post-checkout")).expect("linked");
    fs::write(pn.project().join(".gitattributes"), "*.png binary\n").expect("written");
    let before = snapshot(&pn);
    let mut kills = 0;
    for call in ["rename", "linkat", "fsync", "fchmod", "unlink"] {
        for what in ["install", "remove"] {
            for nth in 1.. {
                if what == "remove" {
                    pn.pn(["hooks", "install"]).ok();
                }
                let done = survives(&pn, &["hooks", what], call, nth);
                for name in ["post-merge", "post-rewrite"] {
                    let _ = fs::remove_file(pn.path("log"));
                    crate::hooks_world::answer(pn.command(hook(&pn, name)).arg("x").env("LOG", pn.path("log")));
                    let log = fs::read_to_string(pn.path("log")).unwrap_or_default();
                    assert!(log.contains(" 1 x\n"), "{what} {call} {nth}: {name}: {log:?}");
                }
                if what == "install" {
                    let report = pn.pn(["hooks", "install"]).ok_json();
                    assert!(is_complete(&report), "{call} {nth}: {report}");
                }
                pn.pn(["hooks", "remove"]).ok();
                assert_eq!(snapshot(&pn), before, "{what} {call} {nth}");
                assert!(!pn.git(["status", "--porcelain"]).contains("draft"), "{what} {call} {nth}");
                if done {
                    break;
                }
                kills += 1;
            }
        }
    }
    assert!(kills > 10, "only {kills} kills: strace does not inject");
}

#[test]
fn a_full_disk_leaves_other_hooks_unchanged() {
    let pn = Sandbox::bare(crate::PN);
    let disk = Disk::small(&pn, &pn.project(), "3m");
    let init = pn.pn(["init", "--no-hooks"]).under("sh", ["-c", r#"git init --quiet . && exec "$0" "$@""#]);
    init.on(&disk).ok();
    let theirs = disk.file(".git/hooks/post-merge");
    write_program(&theirs, PYTHON);
    let mut ballast = fs::File::create(disk.file("ballast")).expect("made");
    while std::io::Write::write_all(&mut ballast, &[1u8; 512]).is_ok() {}
    pn.pn(["hooks", "install"]).on(&disk).fails("disk_full");
    assert_eq!(fs::read_to_string(&theirs).expect("theirs"), PYTHON);
    let names: Vec<_> = fs::read_dir(theirs.parent().expect("a directory")).expect("there").flatten().collect();
    let ours = names.iter().filter(|entry| entry.file_name().to_string_lossy().contains("pensa")).count();
    assert_eq!(ours, 0, "{names:?}");
    drop(ballast);
    fs::remove_file(disk.file("ballast")).expect("removed");
    assert!(is_complete(&pn.pn(["hooks", "install"]).on(&disk).ok_json()));
    pn.pn(["hooks", "remove"]).on(&disk).ok();
    assert_eq!(fs::read_to_string(&theirs).expect("theirs"), PYTHON);
}
