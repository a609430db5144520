//! `cargo xtask tidy`, layers: checks which crates and which modules of the engine use each other. Tests may use
//! anything.

use std::collections::BTreeSet;

use crate::tidy::SourceFile;

/// The crates of the workspace, each with the crates that it may depend on.
const CRATES: &[(&str, &[&str])] = &[
    ("pensa-core", &[]),
    ("pensa-redact", &[]),
    ("pensa-embed", &["pensa-core"]),
    ("pensa-git", &["pensa-core"]),
    ("pensa-snapshot", &["pensa-core"]),
    ("pensa-interop", &["pensa-core"]),
    ("pensa-engine", &["pensa-core", "pensa-git", "pensa-redact"]),
    ("pensa-host", &["pensa-core", "pensa-git", "pensa-redact"]),
    ("pensa-client", &["pensa-core", "pensa-engine", "pensa-git", "pensa-redact"]),
    ("pensa-taskstore", &["pensa-client", "pensa-core", "pensa-engine", "pensa-interop"]),
    ("pensa-web", &["pensa-core"]),
    ("pensa-server", &["pensa-core", "pensa-engine", "pensa-web"]),
    ("pensa-tui", &["pensa-client", "pensa-core"]),
    (
        "pensa",
        &[
            "pensa-client",
            "pensa-core",
            "pensa-embed",
            "pensa-engine",
            "pensa-git",
            "pensa-host",
            "pensa-interop",
            "pensa-redact",
            "pensa-server",
            "pensa-snapshot",
            "pensa-tui",
            "pensa-web",
        ],
    ),
    ("pensa-testkit", &[]),
];

/// The layers of the engine, from the lowest. A module may use those of lower layers and of its own. Sync, operations
/// and the engine are one layer: some operations run only on an engine, the engine fills a new store through sync, and
/// sync restores deleted issues as undo does.
const ENGINE: &[&[&str]] = &[
    &["error", "progress"],
    &["clock", "store"],
    &["journal"],
    &["db"],
    &["context"],
    &["clock_check", "entity", "loop_dirs", "tables"],
    &["lease", "replay", "taskstore"],
    &["recover"],
    &["engine", "execute", "group", "ops", "pages", "redaction", "sync"],
    &["projects", "upgrade"],
];

/// All imports that the layers do not allow.
pub(crate) fn problems(rust: &[SourceFile], manifests: &[SourceFile]) -> Vec<String> {
    manifests.iter().flat_map(of_manifest).chain(rust.iter().flat_map(of_engine)).collect()
}

/// Forbidden dependencies in a manifest, except dev-dependencies.
fn of_manifest(manifest: &SourceFile) -> Vec<String> {
    let Some(krate) = manifest.name.strip_prefix("crates/").and_then(|name| name.strip_suffix("/Cargo.toml")) else {
        return Vec::new();
    };
    let Some((_, allowed)) = CRATES.iter().find(|(name, _)| *name == krate) else {
        return vec![format!("{}: the crate has no place among the layers (xtask/src/layers.rs)", manifest.name)];
    };
    let (mut problems, mut section) = (Vec::new(), "");
    for (at, line) in manifest.text.lines().enumerate() {
        if line.starts_with('[') {
            section = line.trim();
        }
        let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
        let is_ours = CRATES.iter().any(|(krate, _)| *krate == name);
        if section == "[dependencies]" && is_ours && !allowed.contains(&name) {
            problems.push(format!("{}:{}: {krate} must not depend on {name}", manifest.name, at + 1));
        }
    }
    problems
}

/// Uses of modules in higher layers by a file of the engine.
fn of_engine(source: &SourceFile) -> Vec<String> {
    let Some(path) = source.name.strip_prefix("crates/pensa-engine/src/") else { return Vec::new() };
    let own = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    if own == "lib" {
        return Vec::new();
    }
    let Some(layer) = layer(own) else {
        return vec![format!("{}: the module has no place among the layers (xtask/src/layers.rs)", source.name)];
    };
    let text = without_tests(&source.text);
    let mut problems = Vec::new();
    for (at, used) in uses(text) {
        // A name that is not a module is exported at the root, which is above all layers.
        let is_above = self::layer(used).map_or(used != own, |other| other > layer);
        if is_above {
            let line = text[..at].matches('\n').count() + 1;
            problems.push(format!("{}:{line}: {own} must not use {used}, which is above it", source.name));
        }
    }
    problems
}

fn layer(module: &str) -> Option<usize> {
    ENGINE.iter().position(|layer| layer.contains(&module))
}

/// The part of a file before its tests.
pub(crate) fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod ").map_or(text, |end| &text[..end])
}

/// The names after `crate::`, alone or in braces, with their positions. Ignores comments.
fn uses(text: &str) -> BTreeSet<(usize, &str)> {
    let mut found = BTreeSet::new();
    for (at, key) in text.match_indices("crate::") {
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        if line.trim_start().starts_with("//") || line.ends_with('$') {
            continue;
        }
        let from = at + key.len();
        match text[from..].strip_prefix('{') {
            Some(list) => found.extend(in_braces(list).map(|(inner, name)| (from + 1 + inner, name))),
            None => drop(found.insert((from, word(&text[from..])))),
        }
    }
    found
}

/// The names directly in a list that starts after an opening brace, without those of nested lists.
fn in_braces(list: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut depth, mut is_next) = (0_i32, true);
    let names = list.char_indices().map_while(move |(at, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        let is_first = is_next && depth == 0 && (c.is_alphanumeric() || c == '_');
        is_next = (is_next && c.is_whitespace()) || (c == ',' && depth == 0);
        (depth >= 0).then_some(is_first.then_some(at))
    });
    names.flatten().map(|at| (at, word(&list[at..])))
}

fn word(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> SourceFile {
        SourceFile { name: name.into(), text: text.into() }
    }

    #[test]
    fn an_import_from_a_higher_layer_is_found_with_its_line() {
        let found = |file: &str, text: &str| of_engine(&source(&format!("crates/pensa-engine/src/{file}"), text));
        assert_eq!(
            found("db/mod.rs", "//! Drivers.\n\nuse crate::store::StoreDir;\nuse crate::tables::issues;\n"),
            ["crates/pensa-engine/src/db/mod.rs:4: db must not use tables, which is above it"]
        );
        let list = "//! x\nuse crate::{\n    error,\n    store::{StoreDir, sync},\n    ops::issue,\n};\n";
        assert_eq!(
            found("journal.rs", list),
            ["crates/pensa-engine/src/journal.rs:5: journal must not use ops, which is above it"]
        );
        assert_eq!(found("store/mod.rs", "//! x\nfn a() {\n    crate::db::open()\n}\n").len(), 1, "a path without use");
        assert_eq!(found("store/mod.rs", "//! x\nuse crate::StoreDir;\n").len(), 1, "what is exported at the root");
        assert_eq!(found("db/mod.rs", "//! x\n// use crate::ops;\nuse crate::db::Tx;\n").len(), 0);
        assert_eq!(
            found("db/mod.rs", "//! x\n#[cfg(test)]\nmod tests {\n    use crate::engine::Engine;\n}\n").len(),
            0
        );
        assert_eq!(found("new.rs", "//! x\n").len(), 1, "a module without a place");
    }

    #[test]
    fn a_crate_that_depends_on_one_above_it_is_found_with_its_line() {
        let host = |text: &str| of_manifest(&source("crates/pensa-host/Cargo.toml", text));
        assert!(host("[dependencies]\npensa-core.workspace = true\nserde.workspace = true\n").is_empty());
        assert!(host("[dependencies]\n[dev-dependencies]\npensa-engine.workspace = true\n").is_empty());
        assert_eq!(
            host("[dependencies]\npensa-core.workspace = true\npensa-engine = { workspace = true }\n"),
            ["crates/pensa-host/Cargo.toml:3: pensa-host must not depend on pensa-engine"]
        );
    }
}
