//! Doctor's checks of a store's git repository: hooks, merge driver, tracked and ignored files.
//!
//! Reports nothing outside a repository and for stores that do not belong to a project.

use std::path::Path;

use pensa_core::ops::store::{Finding, Report, Severity};
use pensa_core::{Code, Result, STORE_DIR};
use pensa_git::{Repo, jsonl_files};

use super::{HookState, Hooks, HooksReport};

/// Checks the repository around a store. A failing git command becomes a finding rather than an error.
pub fn check_up(store: &Path, fix: bool, report: &mut Report) {
    let Some(project) = store.parent().filter(|_| store.file_name().is_some_and(|name| name == STORE_DIR)) else {
        return;
    };
    match check(store, project, fix, report) {
        Ok(()) => {}
        Err(e) if e.code == Code::NoRepo => {}
        // A hooks directory shared by all repositories is the user's choice.
        Err(e) if e.code == Code::Unsupported => add_finding(report, "hooks", Severity::Info, e.message, false),
        Err(e) => add_finding(report, "hooks", Severity::Warning, e.message, false),
    }
}

fn check(store: &Path, project: &Path, fix: bool, report: &mut Report) -> Result<()> {
    let hooks = Hooks::of(project, project)?;
    check_tracked(&hooks.repo, store, report)?;
    check_ignored(&hooks.repo, store, report)?;
    check_unignored(&hooks.repo, store, report)?;
    check_installed(&hooks, &hooks.status()?, fix, report)
}

fn add_finding(report: &mut Report, check: &str, severity: Severity, message: String, fixable: bool) {
    report.findings.push(Finding { check: check.to_owned(), severity, message, issue_id: None, fixable });
}

/// If any part is installed, or `.gitattributes` asks for the merge driver, everything should be installed.
fn check_installed(hooks: &Hooks, status: &HooksReport, fix: bool, report: &mut Report) -> Result<()> {
    let before = report.findings.len();
    let any = |state| status.hooks.iter().any(|hook| hook.state == state);
    let is_expected = status.gitattributes
        || status.prek
        || [HookState::Installed, HookState::Outdated, HookState::Overwritten].into_iter().any(any);
    if !is_expected {
        let message = "commits do not export issues and merges do not import them here; pn hooks install changes that";
        add_finding(report, "hooks", Severity::Info, message.to_owned(), false);
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
        add_finding(report, "hooks", Severity::Warning, message, !status.prek);
    }
    if !status.merge_driver {
        let message = "git does not merge the JSONL files with pn: it would leave conflict markers in them";
        add_finding(report, "merge_driver", Severity::Warning, message.to_owned(), true);
    }
    if !status.gitattributes {
        let message = ".gitattributes does not give the JSONL files to the merge driver";
        add_finding(report, "merge_driver", Severity::Warning, message.to_owned(), true);
    }
    let fixable = report.findings.iter().skip(before).any(|finding| finding.fixable);
    if fix && fixable {
        let done = hooks.install()?;
        report.fixes_applied.extend(done.changed.into_iter().map(|what| format!("installed {what}")));
    }
    Ok(())
}

/// Finds committed machine-local files: each merge and checkout would overwrite them.
fn check_tracked(repo: &Repo, store: &Path, report: &mut Report) -> Result<()> {
    let mut git = repo.git();
    git.args(["ls-files", "-z", "--"]).arg(store.join("db.sqlite*")).arg(store.join("local"));
    let output = pensa_git::run(&mut git)?;
    for name in output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = String::from_utf8_lossy(name);
        let message =
            format!("{name} is tracked by git, but belongs to this machine only; take it out of the repository");
        add_finding(report, "tracked_database", Severity::Error, message, false);
    }
    Ok(())
}

/// Finds JSONL files that git ignores, so that they would never be shared.
fn check_ignored(repo: &Repo, store: &Path, report: &mut Report) -> Result<()> {
    let mut paths = jsonl_files(store);
    let usual = store.join("issues.jsonl");
    if !paths.contains(&usual) {
        paths.push(usual);
    }
    paths.sort();
    let output = pensa_git::run(repo.git().args(["check-ignore", "--verbose", "--"]).args(&paths))?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // "source:line:pattern", a tab, and the path
        let Some((rule, path)) = line.split_once('\t') else { continue };
        // The deciding rule may be a negation, which includes the file again.
        if !pattern(rule).starts_with('!') {
            let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
            add_finding(report, "ignored_jsonl", Severity::Warning, format!("git ignores {name}: {rule}"), false);
        }
    }
    Ok(())
}

/// Finds machine-local files that `git add --all` would add.
fn check_unignored(repo: &Repo, store: &Path, report: &mut Report) -> Result<()> {
    let names = ["db.sqlite", "db.sqlite-wal", "local/token"];
    let mut git = repo.git();
    git.args(["check-ignore", "--no-index", "--verbose", "--non-matching", "--"]);
    let output = pensa_git::run(git.args(names.map(|name| store.join(name))))?;
    for (line, name) in String::from_utf8_lossy(&output.stdout).lines().zip(names) {
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
        add_finding(report, "unignored_database", Severity::Warning, message, false);
    }
    Ok(())
}

/// The pattern of a rule `source:line:pattern`, where the source may contain colons.
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
