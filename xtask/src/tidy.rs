//! `cargo xtask tidy`: the repository tests its own shape. What the compiler and clippy can see is left to them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Result, layers, repo};

/// Longest source file: past this, it does more than one job.
const MAX_LINES: usize = 700;
/// The one crate that may speak SQL.
const SQL_CRATE: &str = "pensa-engine";
/// Reads the database of another tool, which is no concern of ours.
const FOREIGN_SQL: &str = "crates/pensa-interop/src/prjct/database.rs";
/// The one crate that is never shipped.
const TEST_CRATE: &str = "pensa-testkit";

/// The crates that are built without a database where the feature `embedded` is off.
const HTTP_ONLY: [&str; 2] = ["pensa-client", "pensa-taskstore"];
/// What would bring a database into a build.
const DATABASES: [&str; 4] = ["rusqlite", "libsqlite3-sys", "tokio-postgres", SQL_CRATE];

/// A text file of the repository.
pub(crate) struct Source {
    /// Relative to the root, with `/` between its parts.
    pub(crate) name: String,
    pub(crate) text: String,
}

pub(crate) fn run() -> Result {
    let root = repo::root();
    let mut rust = read(&root, repo::files(&root.join("crates"), "rs")?)?;
    rust.extend(read(&root, repo::files(&root.join("xtask"), "rs")?)?);
    let mut problems: Vec<String> = rust.iter().flat_map(shape).chain(rust.iter().filter_map(stray_sql)).collect();
    problems.extend(architecture(&root, &rust)?);
    problems.extend(layers::problems(&rust, &read(&root, repo::files(&root.join("crates"), "toml")?)?));
    let docs = read(&root, documents(&root)?)?;
    problems.extend(docs.iter().flat_map(machine_paths));
    for krate in HTTP_ONLY {
        problems.extend(databases(krate, &built_in(krate)?));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("the repository is not tidy:\n  {}", problems.join("\n  ")).into())
}

fn read(root: &Path, paths: Vec<PathBuf>) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).map_err(|e| format!("{name}: {e}"))?;
        sources.push(Source { name, text });
    }
    Ok(sources)
}

/// Everything that is written for people.
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

fn shape(source: &Source) -> Vec<String> {
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

/// Only what ships counts: tests may look into a database.
fn stray_sql(source: &Source) -> Option<String> {
    let (krate, file) = source.name.strip_prefix("crates/")?.split_once('/')?;
    let is_sql = |line: &str| ["SELECT ", "INSERT INTO", "DELETE FROM"].iter().any(|word| line.contains(word));
    if [SQL_CRATE, TEST_CRATE].contains(&krate) || !file.starts_with("src/") || source.name == FOREIGN_SQL {
        return None;
    }
    let at = source.text.lines().position(is_sql)?;
    Some(format!("{}:{}: SQL outside {SQL_CRATE}", source.name, at + 1))
}

/// The packages that a crate is built from without its default features, one on a line.
fn built_in(krate: &str) -> Result<String> {
    let args = ["tree", "--package", krate, "--no-default-features", "--edges", "normal,build", "--prefix", "none"];
    let told = repo::cargo(&args).output()?;
    if !told.status.success() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&told.stderr).trim()).into());
    }
    Ok(String::from_utf8(told.stdout)?)
}

fn databases(krate: &str, packages: &str) -> Vec<String> {
    let is_there = |name: &&str| packages.lines().any(|line| line.split(' ').next() == Some(*name));
    let found = DATABASES.into_iter().filter(is_there);
    found
        .map(|name| format!("crates/{krate}/Cargo.toml: without the feature embedded it still builds {name}"))
        .collect()
}

fn architecture(root: &Path, rust: &[Source]) -> Result<Vec<String>> {
    let Ok(text) = fs::read_to_string(root.join("ARCHITECTURE.md")) else {
        return Ok(vec!["ARCHITECTURE.md: not there".into()]);
    };
    let mut problems = untested_invariants(&text, &functions(rust));
    for entry in fs::read_dir(root.join("crates"))? {
        let name = entry?.file_name().display().to_string();
        if !text.contains(&format!("`{name}`")) && !text.contains(&format!("crates/{name}")) {
            problems.push(format!("ARCHITECTURE.md: does not mention the crate {name}"));
        }
    }
    Ok(problems)
}

/// The names of all functions, among them the tests'.
fn functions(rust: &[Source]) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    rust.iter()
        .flat_map(|source| source.text.split("fn ").skip(1))
        .map(|rest| &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())])
        .collect()
}

/// Invariants are items `1. **text** … (test: `name`, `name`)`; each must name tests that exist.
fn untested_invariants(text: &str, functions: &BTreeSet<&str>) -> Vec<String> {
    let items = numbered_items(text);
    if items.is_empty() {
        return vec!["ARCHITECTURE.md: has no numbered invariants".into()];
    }
    let mut problems = Vec::new();
    for item in items {
        let number = item.split('.').next().unwrap_or_default();
        let tests: Vec<&str> = named_tests(&item);
        if tests.is_empty() {
            problems.push(format!("ARCHITECTURE.md: invariant {number} names no test"));
        }
        for test in tests {
            let name = test.rsplit("::").next().unwrap_or(test);
            if !functions.contains(name) {
                problems.push(format!("ARCHITECTURE.md: invariant {number} names {test}, which is no function here"));
            }
        }
    }
    problems
}

/// The items that open with a number and bold words, each with its continuation lines.
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

/// What stands in backticks after `(test:` or `(tests:`.
fn named_tests(item: &str) -> Vec<&str> {
    let Some((_, list)) = item.split_once("(test") else {
        return Vec::new();
    };
    let list = list.split(')').next().unwrap_or_default();
    list.split('`').skip(1).step_by(2).collect()
}

/// A path of somebody's machine means nothing on the reader's.
fn machine_paths(source: &Source) -> Vec<String> {
    let lines = source.text.lines().enumerate();
    let bad = lines.filter(|(_, line)| ["/root", "/work", "/home"].iter().any(|dir| names_directory(line, dir)));
    bad.map(|(at, _)| format!("{}:{}: a path of one machine", source.name, at + 1)).collect()
}

fn names_directory(line: &str, dir: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || "_-.~".contains(c);
    line.match_indices(dir).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + dir.len()..].chars().next();
        !before.is_some_and(|c| part_of_word(c) || "/}>$".contains(c)) && !after.is_some_and(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> Source {
        Source { name: name.into(), text: text.into() }
    }

    #[test]
    fn long_or_unexplained_files_are_told() {
        assert!(shape(&source("a.rs", "//! Says why.\n")).is_empty());
        assert_eq!(shape(&source("a.rs", "fn main() {}\n")).len(), 1);
        assert_eq!(shape(&source("a.rs", &"//!\n".repeat(MAX_LINES + 1))).len(), 1);
    }

    #[test]
    fn sql_outside_the_engine_is_told() {
        assert!(stray_sql(&source("crates/pensa/src/a.rs", "//!\n\"SELECT 1\"")).is_some());
        assert!(stray_sql(&source("crates/pensa-engine/src/a.rs", "SELECT 1")).is_none());
        assert!(stray_sql(&source("crates/pensa/tests/a.rs", "SELECT 1")).is_none());
        assert!(stray_sql(&source("crates/pensa-testkit/src/a.rs", "SELECT 1")).is_none());
    }

    #[test]
    fn a_database_in_a_build_over_http_only_is_told() {
        assert!(databases("a", "a v0.1.0\nrusqlite-like v1.0\npensa-core v0.1.0").is_empty());
        assert_eq!(databases("a", "a v0.1.0\nrusqlite v0.41.0 (*)\nlibsqlite3-sys v0.38.0").len(), 2);
    }

    #[test]
    fn an_invariant_must_name_a_test_that_exists() {
        let functions = BTreeSet::from(["known", "other"]);
        let told = |text: &str| untested_invariants(text, &functions).len();
        assert_eq!(told("1. **All is well** always (test: `known`)"), 0);
        assert_eq!(told("1. **All is well** always\n   (tests: `a::known`,\n   `other`)\n\n1. a list"), 0);
        assert_eq!(told("1. **All is well**\n2. **So is this** (test: `unknown`, `known`)"), 2);
        assert_eq!(told("nothing"), 1);
    }

    #[test]
    fn paths_of_one_machine_are_told() {
        assert!(names_directory("see /home/ann/pensa", "/home"));
        assert!(names_directory("in `/work`", "/work"));
        assert!(!names_directory("https://a.test/work and target/work, /workspace", "/work"));
    }
}
