//! `cargo xtask lines`: counts the source lines of each crate, without tests.
//!
//! Tests are items under `#[cfg(test)]`, the files of such modules, and the crate for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tidy::TEST_CRATE;
use crate::{Result, repo};

pub(crate) fn run() -> Result {
    let mut counts = BTreeMap::new();
    for entry in fs::read_dir(repo::root().join("crates"))? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.display().to_string()).unwrap_or_default();
        if name != TEST_CRATE {
            counts.insert(name, count(&path.join("src"))?);
        }
    }
    let total = counts.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    counts.iter().for_each(|(name, count)| print(name, *count));
    print("total", total);
    Ok(())
}

fn print(name: &str, (source, tests): (usize, usize)) {
    println!("{name:<16} {source:>7}  (and {tests} of tests)");
}

/// The source lines and the lines of tests below a directory.
fn count(dir: &Path) -> Result<(usize, usize)> {
    let files = repo::files(dir, "rs")?;
    let mut lines = Vec::new();
    let mut only_tests: Vec<PathBuf> = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path)?;
        let tests = Tests::of(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        only_tests.extend(tests.files(path));
        lines.push((text.lines().count(), tests.lines.len()));
    }
    let is_test = |path: &Path| only_tests.iter().any(|of| path.starts_with(of) || path == of.with_extension("rs"));
    let counts = files.iter().zip(lines).map(|(path, (all, tests))| match is_test(path) {
        true => (0, all),
        false => (all - tests, tests),
    });
    Ok(counts.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1)))
}

/// The files and directories, without ending, of the modules that a file declares for tests only.
pub(crate) fn test_modules(file: &Path, text: &str) -> Result<Vec<PathBuf>> {
    Ok(Tests::of(text)?.files(file))
}

/// Where the compiler looks for the modules that a file declares.
fn directory_of_modules(file: &Path) -> PathBuf {
    match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") => file.parent().unwrap_or(file).to_owned(),
        _ => file.with_extension(""),
    }
}

/// The parts of a file that are compiled for tests only.
#[derive(Default)]
pub(crate) struct Tests {
    pub(crate) lines: BTreeSet<usize>,
    /// Modules in separate files.
    modules: Vec<String>,
}

impl Tests {
    pub(crate) fn of(text: &str) -> Result<Self> {
        let tokens: TokenStream = text.parse().map_err(|e| format!("not Rust: {e}"))?;
        let mut tests = Self::default();
        tests.visit(tokens);
        Ok(tests)
    }

    fn files(&self, file: &Path) -> Vec<PathBuf> {
        let dir = directory_of_modules(file);
        self.modules.iter().map(|name| dir.join(name)).collect()
    }

    fn visit(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            if let TokenTree::Group(group) = token {
                self.visit(group.stream());
            } else if is_punct(&token, '#') {
                self.visit_attributes(token.span().start().line, &mut tokens);
            }
        }
    }

    /// Reads attributes that start on the line `first`, and their item if it is a test.
    fn visit_attributes(&mut self, first: usize, tokens: &mut Peekable<IntoIter>) {
        let (mut is_test, mut of_file) = (false, false);
        loop {
            let inner = tokens.next_if(|token| is_punct(token, '!')).is_some();
            if let Some(TokenTree::Group(group)) = tokens.next()
                && is_cfg_test(group.stream())
            {
                (is_test, of_file) = (true, of_file || inner);
            }
            if tokens.next_if(|token| is_punct(token, '#')).is_none() {
                break;
            }
        }
        if !is_test {
            return;
        }
        let mut item = Vec::new();
        for token in tokens.by_ref() {
            item.push(token);
            if !of_file && item.last().is_some_and(|last| is_punct(last, ';') || is_block(last)) {
                break;
            }
        }
        let last = item.last().map_or(first, |token| token.span().end().line);
        self.lines.extend(first..=last);
        self.modules.extend(module_in_file(&item));
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_block(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// The name in `mod name;`, after any visibility.
fn module_in_file(item: &[TokenTree]) -> Option<String> {
    match item {
        [.., TokenTree::Ident(word), TokenTree::Ident(name), end] if word == "mod" && is_punct(end, ';') => {
            Some(name.to_string())
        }
        _ => None,
    }
}

/// Whether an attribute is `cfg(test)` or `cfg(all(test, …))`.
fn is_cfg_test(attribute: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = attribute.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(name), TokenTree::Group(condition)] if name == "cfg" => is_only_test(condition.stream()),
        _ => false,
    }
}

fn is_only_test(condition: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = condition.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(name)] => name == "test",
        [TokenTree::Ident(name), TokenTree::Group(all)] if name == "all" => {
            let parts: Vec<TokenTree> = all.stream().into_iter().collect();
            parts.split(|token| is_punct(token, ',')).any(|part| is_only_test(part.iter().cloned().collect()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_lines(text: &str) -> Vec<usize> {
        Tests::of(text).expect("Rust").lines.into_iter().collect()
    }

    #[test]
    fn items_for_tests_are_found_with_their_attributes_and_documentation() {
        assert_eq!(
            test_lines("fn a() {}\n\n/// Why.\n#[cfg(test)]\nmod tests {\n    // }\n}\nfn b() {}\n"),
            [3, 4, 5, 6, 7]
        );
        assert_eq!(
            test_lines("#[cfg(test)]\n#[rustfmt::skip]\nconst A: [u8; 2] =\n    [1, 2];\nfn b() {}"),
            [1, 2, 3, 4]
        );
        assert_eq!(test_lines("#[cfg(all(test, unix))]\nuse a::{b, c};\nfn a() {}"), [1, 2]);
        assert_eq!(test_lines("#![cfg(test)]\nfn a() {}\nfn b() {}"), [1, 2, 3]);
        assert_eq!(
            test_lines("impl A {\n    #[cfg(test)]\n    fn a(&self) -> u8 {\n        1\n    }\n    fn b() {}\n}"),
            [2, 3, 4, 5]
        );
    }

    #[test]
    fn braces_in_strings_characters_and_comments_do_not_count() {
        let text = "#[cfg(test)]\nmod tests {\n    const A: &str = r#\"}\"#;\n    const B: char = '}'; /* } */\n}\nfn b<'a>() {}";
        assert_eq!(test_lines(text), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_is_built_without_tests_too_is_source() {
        assert!(
            test_lines("#[cfg(not(test))]\nfn a() {}\n#[cfg(any(test, unix))]\nfn b() {}\n#[test]\nfn c() {}")
                .is_empty()
        );
    }

    #[test]
    fn files_of_test_modules_are_tests_whole() -> Result {
        let dir = std::env::temp_dir().join(format!("xtask-lines-{}", std::process::id()));
        fs::create_dir_all(dir.join("a/tests"))?;
        fs::write(dir.join("lib.rs"), "mod a;\n\n#[cfg(test)]\nmod model;\n")?;
        fs::write(dir.join("model.rs"), "fn m() {}\n")?;
        fs::write(dir.join("a.rs"), "fn a() {}\n#[cfg(test)]\nmod tests;\n")?;
        fs::write(dir.join("a/tests/mod.rs"), "mod deep;\n")?;
        fs::write(dir.join("a/tests/deep.rs"), "fn deep() {}\n")?;
        let counted = count(&dir);
        fs::remove_dir_all(&dir)?;
        assert_eq!(counted?, (3, 7));
        Ok(())
    }
}
