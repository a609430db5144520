//! What doctor has to say about a store's git repository, and what it puts right there.
//!
//! Silent outside a repository, and for stores that are not part of a project.

use std::path::Path;

use pensa_core::ops::store::{Finding, Report, Severity};
use pensa_core::{Code, Result, STORE_DIR};
use pensa_git::{Repo, jsonl_files};

use super::{HookState, Hooks, HooksReport};

/// Looks at the repository around a store. What git can't tell or do is a finding, and no end of the check-up.
pub fn check_up(store: &Path, fix: bool, report: &mut Report) {
    let Some(project) = store.parent().filter(|_| store.file_name().is_some_and(|name| name == STORE_DIR)) else {
        return;
    };
    match look(store, project, fix, report) {
        Ok(()) => {}
        Err(e) if e.code == Code::NoRepo => {}
        // The user's hooks lie in one place for all repositories, which is nothing wrong.
        Err(e) if e.code == Code::Unsupported => found(report, "hooks", Severity::Info, e.message, false),
        Err(e) => found(report, "hooks", Severity::Warning, e.message, false),
    }
}

fn look(store: &Path, project: &Path, fix: bool, report: &mut Report) -> Result<()> {
    let hooks = Hooks::of(project, project)?;
    tracked(&hooks.repo, store, report)?;
    ignored(&hooks.repo, store, report)?;
    not_ignored(&hooks.repo, store, report)?;
    installed(&hooks, &hooks.status()?, fix, report)
}

fn found(report: &mut Report, check: &str, severity: Severity, message: String, fixable: bool) {
    report.findings.push(Finding { check: check.to_owned(), severity, message, issue_id: None, fixable });
}

/// A project that asks for the merge driver, or a clone that has a part of it all, should have all of it.
fn installed(hooks: &Hooks, status: &HooksReport, fix: bool, report: &mut Report) -> Result<()> {
    let before = report.findings.len();
    let any = |state| status.hooks.iter().any(|hook| hook.state == state);
    let wanted = status.gitattributes
        || status.prek
        || [HookState::Installed, HookState::Outdated, HookState::Overwritten].into_iter().any(any);
    if !wanted {
        let message = "commits do not export issues and merges do not import them here; pn hooks install changes that";
        found(report, "hooks", Severity::Info, message.to_owned(), false);
        return Ok(());
    }
    for hook in status.hooks.iter().filter(|hook| hook.state != HookState::Installed) {
        let name = hook.name;
        let message = match hook.state {
            HookState::Overwritten => format!("another tool has overwritten the {name} hook"),
            HookState::Outdated => format!("the {name} hook is not up to date or calls a pn that is not there"),
            _ if status.prek => format!("the {name} hook is not installed; prek install does it"),
            _ => format!("the {name} hook is not installed"),
        };
        found(report, "hooks", Severity::Warning, message, !status.prek);
    }
    if !status.merge_driver {
        let message = "git is not told how to merge the JSONL files: it would leave conflict markers in them";
        found(report, "merge_driver", Severity::Warning, message.to_owned(), true);
    }
    if !status.gitattributes {
        let message = ".gitattributes does not give the JSONL files to the merge driver";
        found(report, "merge_driver", Severity::Warning, message.to_owned(), true);
    }
    let fixable = report.findings.iter().skip(before).any(|finding| finding.fixable);
    if fix && fixable {
        let done = hooks.install()?;
        report.fixes_applied.extend(done.changed.into_iter().map(|what| format!("installed {what}")));
    }
    Ok(())
}

/// Files of this machine that were committed: each merge and checkout would write over them.
fn tracked(repo: &Repo, store: &Path, report: &mut Report) -> Result<()> {
    let mut git = repo.git();
    git.args(["ls-files", "-z", "--"]).arg(store.join("db.sqlite*")).arg(store.join("local"));
    let told = pensa_git::run(&mut git)?;
    for name in told.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = String::from_utf8_lossy(name);
        let message =
            format!("{name} is tracked by git, but belongs to this machine only; take it out of the repository");
        found(report, "tracked_database", Severity::Error, message, false);
    }
    Ok(())
}

/// JSONL files that git does not see reach nobody.
fn ignored(repo: &Repo, store: &Path, report: &mut Report) -> Result<()> {
    let mut paths = jsonl_files(store);
    let usual = store.join("issues.jsonl");
    if !paths.contains(&usual) {
        paths.push(usual);
    }
    paths.sort();
    let told = pensa_git::run(repo.git().args(["check-ignore", "--verbose", "--"]).args(&paths))?;
    for line in String::from_utf8_lossy(&told.stdout).lines() {
        // "source:line:pattern", a tab, and the path
        let Some((rule, path)) = line.split_once('\t') else { continue };
        // The last rule that matches may be one that brings a file back.
        if !pattern(rule).starts_with('!') {
            let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
            found(report, "ignored_jsonl", Severity::Warning, format!("git ignores {name}: {rule}"), false);
        }
    }
    Ok(())
}

/// Files of this machine that `git add --all` would take into the repository.
fn not_ignored(repo: &Repo, store: &Path, report: &mut Report) -> Result<()> {
    let names = ["db.sqlite", "db.sqlite-wal", "local/token"];
    let mut git = repo.git();
    git.args(["check-ignore", "--no-index", "--verbose", "--non-matching", "--"]);
    let told = pensa_git::run(git.args(names.map(|name| store.join(name))))?;
    for (line, name) in String::from_utf8_lossy(&told.stdout).lines().zip(names) {
        let Some((rule, _)) = line.split_once('\t') else { continue };
        let why = match pattern(rule) {
            "" => "no rule says so".to_owned(),
            negated if negated.starts_with('!') => rule.to_owned(),
            _ => continue,
        };
        let message = format!(
            "git does not ignore {name} ({why}), so git add could publish it; the store's .gitignore must have db.sqlite* \
             and local"
        );
        found(report, "unignored_database", Severity::Warning, message, false);
    }
    Ok(())
}

/// The pattern of a rule behind its place, which may have colons too.
fn pattern(rule: &str) -> &str {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = rule;
    while let Some((_, after)) = rest.split_once(':') {
        match after.split_once(':') {
            Some((part, pattern)) if number(part) => return pattern,
            _ => rest = after,
        }
    }
    rest
}
