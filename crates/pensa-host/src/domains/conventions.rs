//! Finds the conventions of a repository: by the settings of tools, where tests are, and how subjects of commits look.

use std::collections::BTreeSet;

use pensa_git::CommitSummary;

use super::classify::{is_foreign, last_name};

/// Of how many commits, and of which share of them, a form of subjects is a convention.
const MIN_COMMITS: usize = 10;
const SHARE: usize = 60;

const CODE: &[&str] = &["backend", "frontend", "testing"];
const BACKEND: &[&str] = &["backend", "testing", "database"];
const SCRIPTS: &[&str] = &["frontend", "backend", "testing"];
const ALL: &[&str] = &[];

/// Files that state a convention: what they are about, and for which domains; none means all.
const FILES: &[(&str, &str, &[&str])] = &[
    ("CONTRIBUTING.md", "read first", ALL),
    ("ARCHITECTURE.md", "the map", ALL),
    ("STYLE.md", "style", ALL),
    ("CODEOWNERS", "who reviews what", ALL),
    (".editorconfig", "indentation and line ends", ALL),
    (".pre-commit-config.yaml", "checks before a commit", ALL),
    ("rustfmt.toml", "formatting of Rust", BACKEND),
    (".rustfmt.toml", "formatting of Rust", BACKEND),
    ("clippy.toml", "lints of Rust", BACKEND),
    ("deny.toml", "allowed dependencies", BACKEND),
    ("ruff.toml", "lints of Python", BACKEND),
    ("mypy.ini", "types of Python", BACKEND),
    (".flake8", "lints of Python", BACKEND),
    (".golangci.yml", "lints of Go", BACKEND),
    (".rubocop.yml", "style of Ruby", BACKEND),
    (".clang-format", "formatting of C and C++", BACKEND),
    ("tsconfig.json", "types of TypeScript", SCRIPTS),
    ("biome.json", "formatting and lints", SCRIPTS),
    (".prettierrc", "formatting", SCRIPTS),
    (".prettierrc.json", "formatting", SCRIPTS),
    ("prettier.config.js", "formatting", SCRIPTS),
    (".eslintrc.json", "lints of JavaScript", SCRIPTS),
    (".eslintrc.js", "lints of JavaScript", SCRIPTS),
    ("eslint.config.js", "lints of JavaScript", SCRIPTS),
    ("eslint.config.mjs", "lints of JavaScript", SCRIPTS),
    (".stylelintrc.json", "lints of CSS", &["frontend"]),
    ("nextest.toml", "how tests are run", &["testing"]),
    (".markdownlint.json", "style of pages", &["docs"]),
    (".vale.ini", "style of prose", &["docs"]),
];

/// Types of Conventional Commits.
const TYPES: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];

/// The conventions, each with its domains; none means all.
pub(super) fn found(paths: &[String], commits: &[CommitSummary]) -> Vec<(&'static [&'static str], String)> {
    let names: BTreeSet<&str> = paths.iter().filter(|path| !is_foreign(path)).map(|path| last_name(path)).collect();
    let files = FILES.iter().filter(|(name, ..)| names.contains(name));
    let mut all: Vec<_> = files.map(|(name, about, domains)| (*domains, format!("`{name}` ({about})"))).collect();
    all.extend(tests_are(paths).map(|text| (CODE, text.to_owned())));
    all.extend(subjects_are(commits).map(|text| (ALL, text.to_owned())));
    all
}

/// Where the tests are.
fn tests_are(paths: &[String]) -> Option<&'static str> {
    const DIRS: [&str; 5] = ["test", "tests", "__tests__", "spec", "specs"];
    let is_named = |path: &&String| {
        let name = last_name(path);
        name.contains("_test.") || name.contains(".test.") || name.contains(".spec.") || name.contains("_spec.")
    };
    let in_dirs = |path: &&String| path.split('/').rev().skip(1).any(|dir| DIRS.contains(&dir));
    let apart = paths.iter().filter(in_dirs).count();
    let beside = paths.iter().filter(|path| is_named(path) && !in_dirs(path)).count();
    match (apart, beside) {
        (0, 0) => None,
        (apart, beside) if beside > apart => Some("tests are beside the code"),
        _ => Some("tests are in directories of their own"),
    }
}

/// How most subjects of commits look.
fn subjects_are(commits: &[CommitSummary]) -> Option<&'static str> {
    let area = |subject: &str| {
        let (area, rest) = subject.split_once(": ")?;
        let is_area = area.len() <= 40 && area.chars().all(|c| c.is_alphanumeric() || " ,/()_-!.*".contains(c));
        (is_area && !rest.is_empty()).then(|| area.to_owned())
    };
    let areas: Vec<String> = commits.iter().filter_map(|commit| area(&commit.subject)).collect();
    if commits.len() < MIN_COMMITS || areas.len() * 100 < commits.len() * SHARE {
        return None;
    }
    let is_type = |area: &&String| TYPES.contains(&area.split(['(', '!']).next().unwrap_or_default());
    let is_conventional = areas.iter().filter(is_type).count() * 100 >= commits.len() * SHARE;
    Some(if is_conventional {
        "subjects of commits are Conventional Commits (`fix(area): what`)"
    } else {
        "subjects of commits begin with the area (`area: what`)"
    })
}
