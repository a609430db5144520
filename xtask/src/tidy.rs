//! `cargo xtask tidy`: checks the structure of the repository, beyond what the compiler and clippy check.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Result, guide, layers, names, repo, writes};

/// Limit on the lines of a source file.
const MAX_LINES: usize = 700;
/// Limit on the size of ARCHITECTURE.md, in bytes.
const MAX_MAP: usize = 12 << 10;
/// Limit on the lines of a decision record: one page.
const MAX_RECORD: usize = 60;
/// The only crate that may contain SQL.
const SQL_CRATE: &str = "pensa-engine";
/// Reads the database of another tool.
const FOREIGN_SQL: [&str; 2] =
    ["crates/pensa-interop/src/database.rs", "crates/pensa-interop/src/transcript/opencode.rs"];
/// The crate for tests, which is not shipped.
pub(crate) const TEST_CRATE: &str = "pensa-testkit";

/// The crates that must build without a database if the feature `embedded` is off.
const HTTP_ONLY: [&str; 2] = ["pensa-client", "pensa-taskstore"];
/// Packages that contain a database.
const DATABASES: [&str; 4] = ["rusqlite", "libsqlite3-sys", "tokio-postgres", SQL_CRATE];

/// A text file of the repository.
pub(crate) struct SourceFile {
    /// The path relative to the root, separated by `/`.
    pub(crate) name: String,
    pub(crate) text: String,
}

pub(crate) fn run() -> Result {
    let root = repo::root();
    let rust = rust_sources(&root)?;
    let mut problems: Vec<String> = rust.iter().flat_map(shape).chain(rust.iter().filter_map(stray_sql)).collect();
    problems.extend(architecture(&root, &rust)?);
    problems.extend(layers::problems(&rust, &read(&root, repo::files(&root.join("crates"), "toml")?)?));
    problems.extend(writes::problems(&rust, &read(&root, repo::files(&root.join("crates"), "sql")?)?));
    problems.extend(names::problems(&rust)?);
    problems.extend(guide::problems(&fs::read_to_string(root.join("CONTRIBUTING.md"))?, &rust));
    let docs = read(&root, documents(&root)?)?;
    problems.extend(decisions(&docs, &functions(&rust)));
    problems.extend(docs.iter().flat_map(machine_paths));
    for krate in HTTP_ONLY {
        problems.extend(databases(krate, &built_in(krate)?));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("the repository is not tidy:\n  {}", problems.join("\n  ")).into())
}

/// Rewrites the list of names that several types share; see [`names`].
pub(crate) fn rewrite_names() -> Result {
    names::rewrite_list(&rust_sources(&repo::root())?)
}

fn rust_sources(root: &Path) -> Result<Vec<SourceFile>> {
    let mut rust = read(root, repo::files(&root.join("crates"), "rs")?)?;
    rust.extend(read(root, repo::files(&root.join("xtask"), "rs")?)?);
    Ok(rust)
}

fn read(root: &Path, paths: Vec<PathBuf>) -> Result<Vec<SourceFile>> {
    let mut sources = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).map_err(|e| format!("{name}: {e}"))?;
        sources.push(SourceFile { name, text });
    }
    Ok(sources)
}

/// All Markdown documents.
fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = repo::files(&root.join("docs"), "md")?;
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn shape(source: &SourceFile) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = source.text.lines().count();
    if lines > MAX_LINES {
        problems.push(format!("{}: {lines} lines, more than {MAX_LINES}: split it", source.name));
    }
    if !source.text.starts_with("//!") {
        problems.push(format!("{}: does not open with a //! sentence on its job", source.name));
    }
    problems
}

/// SQL in shipped code outside the engine. Tests may use a database directly.
fn stray_sql(source: &SourceFile) -> Option<String> {
    let (krate, file) = source.name.strip_prefix("crates/")?.split_once('/')?;
    let is_sql = |line: &str| ["SELECT ", "INSERT INTO", "DELETE FROM"].iter().any(|word| line.contains(word));
    if [SQL_CRATE, TEST_CRATE].contains(&krate)
        || !file.starts_with("src/")
        || FOREIGN_SQL.contains(&source.name.as_str())
    {
        return None;
    }
    let at = source.text.lines().position(is_sql)?;
    Some(format!("{}:{}: SQL outside {SQL_CRATE}", source.name, at + 1))
}

/// The dependencies of a crate without default features, one per line.
fn built_in(krate: &str) -> Result<String> {
    let args = ["tree", "--package", krate, "--no-default-features", "--edges", "normal,build", "--prefix", "none"];
    let output = repo::cargo(&args).output()?;
    if !output.status.success() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn databases(krate: &str, packages: &str) -> Vec<String> {
    let is_there = |name: &&str| packages.lines().any(|line| line.split(' ').next() == Some(*name));
    let found = DATABASES.into_iter().filter(is_there);
    found
        .map(|name| format!("crates/{krate}/Cargo.toml: without the feature embedded it still builds {name}"))
        .collect()
}

fn architecture(root: &Path, rust: &[SourceFile]) -> Result<Vec<String>> {
    let name = "ARCHITECTURE.md".to_owned();
    let Ok(text) = fs::read_to_string(root.join(&name)) else {
        return Ok(vec![format!("{name}: missing")]);
    };
    let map = SourceFile { name, text };
    let mut problems = untested_invariants(&map, &functions(rust));
    if numbered_items(&map.text).is_empty() {
        problems.push(format!("{}: has no numbered invariants", map.name));
    }
    if map.text.len() > MAX_MAP {
        problems.push(format!("{}: {} bytes, more than {MAX_MAP}", map.name, map.text.len()));
    }
    let lost = named_paths(&map.text).filter(|path| !root.join(path).exists());
    problems.extend(lost.map(|path| format!("{}: names {path}, which does not exist", map.name)));
    for entry in fs::read_dir(root.join("crates"))? {
        let krate = entry?.file_name().display().to_string();
        if !map.text.contains(&format!("`{krate}`")) {
            problems.push(format!("{}: does not mention the crate {krate}", map.name));
        }
    }
    Ok(problems)
}

/// The paths of this repository in backticks.
fn named_paths(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter(|path| ["crates/", "xtask/", "docs/"].iter().any(|dir| path.starts_with(dir)))
}

/// Checks that each `docs/decisions/NNNN-title.md` is one dated page, is in the index, and names existing tests.
fn decisions(docs: &[SourceFile], functions: &BTreeSet<&str>) -> Vec<String> {
    const DIR: &str = "docs/decisions/";
    const PARTS: [&str; 5] = ["\nDate: 2", "\nStatus: ", "\n## Context\n", "\n## Decision\n", "\n## Consequences\n"];
    let index = docs.iter().find(|doc| doc.name == "docs/decisions/README.md").map_or("", |doc| &doc.text);
    let mut problems = Vec::new();
    for record in docs.iter().filter(|doc| doc.name.starts_with(DIR) && doc.name != "docs/decisions/README.md") {
        let name = &record.name;
        let file = &name[DIR.len()..];
        let number = file.split('-').next().unwrap_or_default();
        if number.len() != 4 || !record.text.starts_with(&format!("# {}. ", number.trim_start_matches('0'))) {
            problems.push(format!("{name}: its title does not begin with the number of its file"));
        }
        let missing = PARTS.iter().filter(|part| !record.text.contains(**part));
        problems.extend(missing.map(|part| format!("{name}: has no line {:?}", part.trim())));
        if !index.contains(&format!("({file})")) {
            problems.push(format!("docs/decisions/README.md: does not list {file}"));
        }
        let lines = record.text.lines().count();
        if lines > MAX_RECORD {
            problems.push(format!("{name}: {lines} lines, more than {MAX_RECORD}"));
        }
        problems.extend(untested_invariants(record, functions));
    }
    problems
}

/// The names of all functions, including tests.
fn functions(rust: &[SourceFile]) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    rust.iter()
        .flat_map(|source| source.text.split("fn ").skip(1))
        .map(|rest| &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())])
        .collect()
}

/// Checks that each invariant, an item `1. **text** … (test: `name`, `name`)`, names existing tests.
fn untested_invariants(document: &SourceFile, functions: &BTreeSet<&str>) -> Vec<String> {
    let mut problems = Vec::new();
    for item in numbered_items(&document.text) {
        let place = format!("{}: invariant {}", document.name, item.split('.').next().unwrap_or_default());
        let tests: Vec<&str> = named_tests(&item);
        if tests.is_empty() {
            problems.push(format!("{place} names no test"));
        }
        for test in tests {
            let name = test.rsplit("::").next().unwrap_or(test);
            if !functions.contains(name) {
                problems.push(format!("{place} names {test}, which is not a function in this repository"));
            }
        }
    }
    problems
}

/// The items that start with a number and bold text, with their continuation lines.
fn numbered_items(text: &str) -> Vec<String> {
    let opens = |line: &str| {
        line.split_once(". **")
            .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut items: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if opens(line) {
            items.push(line.to_owned());
            inside = true;
        } else if inside && line.starts_with(' ') {
            if let Some(item) = items.last_mut() {
                item.push_str(line);
            }
        } else {
            inside = false;
        }
    }
    items
}

/// The names in backticks after `(test:` or `(tests:`.
fn named_tests(item: &str) -> Vec<&str> {
    let Some((_, list)) = item.split_once("(test") else {
        return Vec::new();
    };
    let list = list.split(')').next().unwrap_or_default();
    list.split('`').skip(1).step_by(2).collect()
}

/// The home directory of the example user in the guides.
const EXAMPLE_HOME: &str = "/home/ana";

/// Paths of the author's machine, which mean nothing on the reader's.
fn machine_paths(source: &SourceFile) -> Vec<String> {
    let lines = source.text.lines().enumerate();
    let bad = lines.filter(|(_, line)| ["/root", "/work", "/home"].iter().any(|dir| names_directory(line, dir)));
    bad.map(|(at, _)| format!("{}:{}: a path of one machine", source.name, at + 1)).collect()
}

fn names_directory(line: &str, dir: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || "_-.~".contains(c);
    line.match_indices(dir).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + dir.len()..].chars().next();
        let rest = line[at..].strip_prefix(EXAMPLE_HOME);
        let is_example =
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-'));
        !is_example
            && !before.is_some_and(|c| part_of_word(c) || "/}>$".contains(c))
            && !after.is_some_and(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> SourceFile {
        SourceFile { name: name.into(), text: text.into() }
    }

    #[test]
    fn long_or_undocumented_files_are_problems() {
        assert!(shape(&source("a.rs", "//! Says why.\n")).is_empty());
        assert_eq!(shape(&source("a.rs", "fn main() {}\n")).len(), 1);
        assert_eq!(shape(&source("a.rs", &"//!\n".repeat(MAX_LINES + 1))).len(), 1);
    }

    #[test]
    fn sql_outside_the_engine_is_a_problem() {
        assert!(stray_sql(&source("crates/pensa/src/a.rs", "//!\n\"SELECT 1\"")).is_some());
        assert!(stray_sql(&source("crates/pensa-engine/src/a.rs", "SELECT 1")).is_none());
        assert!(stray_sql(&source("crates/pensa/tests/a.rs", "SELECT 1")).is_none());
        assert!(stray_sql(&source("crates/pensa-testkit/src/a.rs", "SELECT 1")).is_none());
    }

    #[test]
    fn a_database_in_an_http_only_build_is_a_problem() {
        assert!(databases("a", "a v0.1.0\nrusqlite-like v1.0\npensa-core v0.1.0").is_empty());
        assert_eq!(databases("a", "a v0.1.0\nrusqlite v0.41.0 (*)\nlibsqlite3-sys v0.38.0").len(), 2);
    }

    #[test]
    fn an_invariant_must_name_a_test_that_exists() {
        let functions = BTreeSet::from(["known", "other"]);
        let found = |text: &str| untested_invariants(&source("ARCHITECTURE.md", text), &functions).len();
        assert_eq!(found("1. **All is well** always (test: `known`)"), 0);
        assert_eq!(found("1. **All is well** always\n   (tests: `a::known`,\n   `other`)\n\n1. a list"), 0);
        assert_eq!(found("1. **All is well**\n2. **So is this** (test: `unknown`, `known`)"), 2);
    }

    #[test]
    fn paths_in_backticks_are_found() {
        let text = "`crates/a/src/b.rs` and `xtask/src`, not crates/c or `src/d.rs`\n```\ncrates/e\n```";
        assert_eq!(named_paths(text).collect::<Vec<_>>(), ["crates/a/src/b.rs", "xtask/src"]);
    }

    #[test]
    fn a_decision_is_a_dated_page_in_the_index_with_tests_that_exist() {
        let functions = BTreeSet::from(["known"]);
        let good = "# 7. Why\n\nDate: 2026-01-02\n\nStatus: accepted\n\n## Context\n\n## Decision\n\n## Consequences\n";
        let found = |file: &str, text: &str| {
            let index = source("docs/decisions/README.md", "[0007](0007-why.md)");
            decisions(&[index, source(&format!("docs/decisions/{file}"), text)], &functions)
        };
        assert!(found("0007-why.md", good).is_empty());
        assert!(found("0007-why.md", &format!("{good}\n1. **It holds** (test: `known`)\n")).is_empty());
        assert_eq!(found("0007-why.md", &format!("{good}\n1. **It holds** (test: `unknown`)\n")).len(), 1);
        assert_eq!(found("0007-why.md", &good.replace("Date: ", "")).len(), 1);
        assert_eq!(found("0007-why.md", &good.replace("## Decision", "")).len(), 1);
        assert_eq!(found("0007-why.md", &format!("{good}{}", "\n".repeat(MAX_RECORD))).len(), 1);
        assert_eq!(found("0008-why.md", good).len(), 2, "another number, and not in the index");
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert!(names_directory("see /home/ann/pensa", "/home"));
        assert!(names_directory("in `/work`", "/work"));
        assert!(!names_directory("https://a.test/work and target/work, /workspace", "/work"));
    }

    #[test]
    fn the_home_of_the_example_user_is_allowed() {
        let problems = |text: &str| machine_paths(&source("docs/a.md", text)).len();
        assert_eq!(problems("in `/home/ana/web/.pensa`, /home/ana\nand /home/ana."), 0);
        assert_eq!(problems("/home/anabel/web\n/home/ana-b\n/home/ana and /home/bob\n/home"), 4);
    }
}
