//! `cargo xtask tidy`, names: a type name stands for one thing in the whole workspace.
//!
//! Exempt are operations (`issue::List`, `agent::List`), associated types, and test code, including the crate for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::path::Path;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::lines::{Tests, test_modules};
use crate::tidy::{SourceFile, TEST_CRATE};
use crate::{Result, repo};

/// Names that several types may share, each with the reason. `cargo xtask tidy --names` rewrites this list.
const SHARED: &[(&str, &str)] = &[
    ("Change", "what a caller asks of records, and what a transaction did to a row"),
    ("Collection", "records in the database, and the same when they are synced"),
    ("Column", "a column of a table, and of a board"),
    ("Columns", "columns of a board, as data and as they are drawn"),
    ("Contents", "what all files of a place hold: exported files, and a copy of the database"),
    ("Counted", "outputs of operations, each in its own module"),
    ("Counts", "not renamed yet"),
    ("Cursor", "a place in something ordered: records, the log, the rows of a statement"),
    ("Database", "one of each database"),
    ("Deleted", "outputs of operations, each in its own module"),
    ("Document", "not renamed yet"),
    ("Entry", "an item of a session, and an item of the catalog of operations"),
    ("Event", "a line of the log, in the database and in a file"),
    ("Field", "a field of a row, and one of a request"),
    ("Fields", "fields by name, of a record and of a request"),
    ("Filter", "conditions of a listing, of issues and of records"),
    ("Indexed", "not renamed yet"),
    ("Layer", "a layer of settings, and one of a chart"),
    ("Layers", "layers of a drawing, and of an overlay file system"),
    ("Lists", "what has lists: a learning of the seed, and operations that list issues"),
    ("Operation", "who runs an operation, for the journal and for undo"),
    ("Options", "options of a connection, and of a server"),
    ("Peer", "another store, and the other end of a connection"),
    ("Postgres", "one of each database"),
    ("Query", "not renamed yet"),
    ("Reader", "not renamed yet"),
    ("Record", "the entity, and what Rust programs make of it"),
    ("Removed", "outputs of operations, each in its own module"),
    ("Repo", "a git repository on disk, the entity, and its command line"),
    ("Result", "an alias with the error type of each"),
    ("Row", "one of each database"),
    ("Schema", "the schema of a database, as it is and as it is to be"),
    ("Side", "a side of a merge"),
    ("Slot", "a place in a lane, and in a layer of a drawing"),
    ("Term", "not renamed yet"),
    ("Token", "a token as a client has it, and as a server lists it"),
    ("Transaction", "one of each database, and what Rust programs see of it"),
    ("Triage", "the graph with its measures, and its commands"),
    ("Wakeups", "one of each database"),
];

/// The reason of names that were added by `cargo xtask tidy --names`.
const NO_REASON: &str = "not renamed yet";
/// Where this list is, and the lines around it.
const FILE: &str = "xtask/src/names.rs";
const LIST_START: &str = "const SHARED: &[(&str, &str)] = &[";
const LIST_END: &str = "];\n";
const OPERATIONS: &str = "crates/pensa-core/src/ops/";

/// Names of several types that are not in the list, and names in the list that only one type has.
pub(crate) fn problems(rust: &[SourceFile]) -> Result<Vec<String>> {
    Ok(compare(&repeated(rust)?, SHARED))
}

/// Makes the list exactly the names that several types have now, with the reasons that it has.
pub(crate) fn rewrite_list(rust: &[SourceFile]) -> Result {
    let path = repo::root().join(FILE);
    let text = fs::read_to_string(&path)?;
    let list: String = repeated(rust)?.keys().map(|name| format!("    ({name:?}, {:?}),\n", reason(name))).collect();
    let (before, rest) = text.split_once(LIST_START).ok_or("the list of shared names is gone")?;
    let (_, after) = rest.split_once(LIST_END).ok_or("the list of shared names has no end")?;
    Ok(fs::write(path, format!("{before}{LIST_START}\n{list}{LIST_END}{after}"))?)
}

fn reason(name: &str) -> &'static str {
    SHARED.iter().find(|(shared, _)| *shared == name).map_or(NO_REASON, |(_, reason)| reason)
}

fn compare(repeated: &BTreeMap<String, Vec<String>>, shared: &[(&str, &str)]) -> Vec<String> {
    let is_listed = |name: &str| shared.iter().any(|(listed, _)| *listed == name);
    let unlisted = repeated.iter().filter(|(name, _)| !is_listed(name));
    let mut problems: Vec<String> = unlisted
        .map(|(name, places)| format!("{name} names {} types: rename all but one: {}", places.len(), places.join(", ")))
        .collect();
    let outdated = shared.iter().filter(|(name, _)| !repeated.contains_key(*name));
    problems.extend(outdated.map(|(name, _)| format!("{FILE}: {name} is listed, but only one type has this name")));
    if !problems.is_empty() {
        problems.push(format!("cargo xtask tidy --names makes the list in {FILE} match the code; then give reasons"));
    }
    problems
}

/// The type names that more than one file defines, with the places.
fn repeated(rust: &[SourceFile]) -> Result<BTreeMap<String, Vec<String>>> {
    let is_source = |source: &&SourceFile| {
        source.name.contains("/src/") && !source.name.starts_with(&format!("crates/{TEST_CRATE}/"))
    };
    let sources: Vec<&SourceFile> = rust.iter().filter(is_source).collect();
    let mut test_files = Vec::new();
    for source in &sources {
        test_files.extend(test_modules(Path::new(&source.name), &source.text)?);
    }
    let is_test = |name: &str| {
        let path = Path::new(name);
        test_files.iter().any(|tests| path.starts_with(tests) || path == tests.with_extension("rs"))
    };
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources.into_iter().filter(|source| !is_test(&source.name)) {
        for (name, line) in definitions(source)? {
            all.entry(name).or_default().push(format!("{}:{line}", source.name));
        }
    }
    all.retain(|_, places| places.len() > 1);
    Ok(all)
}

/// The types that a file defines, with their lines. One that is defined twice, under different `cfg`s, counts once.
fn definitions(source: &SourceFile) -> Result<BTreeMap<String, usize>> {
    let text = &source.text;
    let tokens: TokenStream = text.parse().map_err(|e| format!("{}: not Rust: {e}", source.name))?;
    let mut finder = Finder { tests: Tests::of(text)?.lines, found: BTreeMap::new() };
    finder.visit(tokens, false);
    let is_operation = |name: &str| source.name.starts_with(OPERATIONS) && text.contains(&format!("op!({name} =>"));
    finder.found.retain(|name, _| !is_operation(name));
    Ok(finder.found)
}

/// Finds the definitions of types in the tokens of a file.
struct Finder {
    tests: BTreeSet<usize>,
    found: BTreeMap<String, usize>,
}

impl Finder {
    /// `has_associated_types` is true in the body of a trait or an impl.
    fn visit(&mut self, tokens: TokenStream, has_associated_types: bool) {
        let mut tokens = tokens.into_iter().peekable();
        // Whether the next block is the body of a trait or an impl.
        let mut is_body_next = false;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => {
                    let is_body = is_body_next && group.delimiter() == Delimiter::Brace;
                    is_body_next &= !is_body;
                    self.visit(group.stream(), is_body);
                }
                TokenTree::Ident(word) => match word.to_string().as_str() {
                    "impl" => is_body_next = true,
                    "macro_rules" => skip_macro(&mut tokens),
                    "trait" => {
                        is_body_next = true;
                        self.define(&mut tokens);
                    }
                    "type" if has_associated_types => {}
                    "struct" | "enum" | "union" | "type" => self.define(&mut tokens),
                    _ => {}
                },
                TokenTree::Punct(punct) => is_body_next &= punct.as_char() != ';',
                TokenTree::Literal(_) => {}
            }
        }
    }

    fn define(&mut self, tokens: &mut Peekable<IntoIter>) {
        if let Some(TokenTree::Ident(name)) = tokens.peek() {
            let line = name.span().start().line;
            if !self.tests.contains(&line) {
                self.found.entry(name.to_string()).or_insert(line);
            }
        }
    }
}

/// Skips `! name { … }`: what a macro defines has the name that its caller gives.
fn skip_macro(tokens: &mut Peekable<IntoIter>) {
    for token in tokens.by_ref() {
        if matches!(token, TokenTree::Group(_)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> SourceFile {
        SourceFile { name: name.into(), text: text.into() }
    }

    fn names(name: &str, text: &str) -> Vec<String> {
        definitions(&source(name, text)).expect("Rust").into_keys().collect()
    }

    #[test]
    fn types_are_found_without_associated_types_macros_and_tests() {
        let text = "struct A;\nenum B { X }\npub trait C { type D; }\ntype E = u8;\nimpl C for A { type D = u8; }\n\
                    fn f() -> impl Iterator { struct G; }\nmacro_rules! m { () => { struct H; } }\n\
                    #[cfg(test)]\nmod tests { struct I; }\n";
        assert_eq!(names("crates/a/src/lib.rs", text), ["A", "B", "C", "E", "G"]);
    }

    #[test]
    fn operations_are_exempt_and_other_types_beside_them_are_not() {
        let text = "pub struct List {}\npub struct Place {}\nop!(List => u8, \"a.list\", get(\"/a\"), Read);\n";
        assert_eq!(names("crates/pensa-core/src/ops/a.rs", text), ["Place"]);
        assert_eq!(names("crates/pensa/src/a.rs", text), ["List", "Place"]);
    }

    #[test]
    fn a_name_of_two_types_must_be_listed_and_a_listed_name_must_have_two() {
        let rust = [
            source("crates/a/src/a.rs", "struct Kind;\nstruct Other;\n#[cfg(test)]\nmod helpers;\n"),
            source("crates/a/src/a/helpers.rs", "struct Other;\n"),
            source("crates/b/src/b.rs", "//! b\nenum Kind {}\n"),
            source("crates/b/tests/b.rs", "struct Other;\n"),
        ];
        let repeated = repeated(&rust).expect("Rust");
        assert_eq!(repeated["Kind"], ["crates/a/src/a.rs:1", "crates/b/src/b.rs:2"]);
        assert_eq!(repeated.len(), 1, "{repeated:?}");
        assert!(compare(&repeated, &[("Kind", "why")]).is_empty());
        assert_eq!(compare(&repeated, &[]).len(), 2, "the problem and how to solve it");
        assert_eq!(compare(&repeated, &[("Kind", "why"), ("Gone", "why")]).len(), 2);
    }
}
