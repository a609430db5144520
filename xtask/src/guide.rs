//! `cargo xtask tidy`, guide: checks that the diff in "Adding a noun" in CONTRIBUTING.md matches the code, and its
//! size.

use crate::tidy::SourceFile;

/// Limits on the source lines and files that an entity attached to issues may need.
const MAX_LINES: usize = 120;
const MAX_FILES: usize = 6;
/// Text that identifies code of the guide's entity.
const MARKS: [&str; 2] = ["refs::", "RefId"];
/// Other features that use the entity.
const USERS: [&str; 2] =
    ["crates/pensa-engine/src/ops/import_records.rs", "crates/pensa-engine/src/tables/issue_query.rs"];

/// Differences between the guide and the code, and exceeded limits.
pub(crate) fn problems(guide: &str, rust: &[SourceFile]) -> Vec<String> {
    let files = added(guide);
    if files.is_empty() {
        return vec!["CONTRIBUTING.md: the diff of a noun is gone".into()];
    }
    let mut problems = Vec::new();
    let lines: usize = files.iter().map(|(_, lines)| lines.len()).sum();
    if lines > MAX_LINES || files.len() > MAX_FILES {
        problems.push(format!("CONTRIBUTING.md: a noun costs {lines} lines in {} files", files.len()));
    }
    for (name, lines) in &files {
        if name.starts_with("crates/pensa-engine/src/") && !name.starts_with("crates/pensa-engine/src/ops/") {
            problems.push(format!("CONTRIBUTING.md: a noun needs {name}"));
        }
        let text = rust.iter().find(|source| source.name == *name).map_or("", |source| source.text.as_str());
        let mut rest = text.lines();
        let missing = lines.iter().find(|line| !rest.any(|other| other == **line));
        problems.extend(missing.map(|line| format!("CONTRIBUTING.md: {name} has no {line:?} there")));
    }
    let is_source = |source: &&SourceFile| {
        source.name.starts_with("crates/") && source.name.contains("/src/") && !USERS.contains(&source.name.as_str())
    };
    for source in rust.iter().filter(is_source) {
        let shown = files.iter().find(|(name, _)| source.name == *name).map_or(&[][..], |(_, lines)| lines);
        for (at, line) in source.text.lines().enumerate() {
            if MARKS.iter().any(|mark| line.contains(mark)) && !shown.contains(&line) {
                problems.push(format!("{}:{}: CONTRIBUTING.md does not show this", source.name, at + 1));
            }
        }
    }
    problems
}

/// The lines added by the diff of the guide, by file.
fn added(guide: &str) -> Vec<(&str, Vec<&str>)> {
    let diff = guide.split("````diff\n").nth(1).and_then(|rest| rest.split("````").next()).unwrap_or_default();
    let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in diff.lines() {
        match (line.strip_prefix("+++ b/"), line.strip_prefix('+'), files.last_mut()) {
            (Some(name), ..) => files.push((name, Vec::new())),
            (None, Some(line), Some((_, lines))) => lines.push(line),
            _ => {}
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(diff: &str, files: &[(&str, &str)]) -> Vec<String> {
        let rust: Vec<SourceFile> =
            files.iter().map(|(name, text)| SourceFile { name: (*name).into(), text: (*text).into() }).collect();
        problems(&format!("# Guide\n\n````diff\n{diff}````\n"), &rust)
    }

    #[test]
    fn a_diff_that_differs_from_the_code_is_a_problem() {
        let core = ("crates/pensa-core/src/a.rs", "use x;\nfn b() {}\n");
        assert_eq!(found("+++ b/crates/pensa-core/src/a.rs\n+use x;\n+fn b() {}\n", &[core]), Vec::<String>::new());
        assert_eq!(found("+++ b/crates/pensa-core/src/a.rs\n+fn b() {}\n+use x;\n", &[core]).len(), 1, "in its order");
        assert_eq!(found("", &[core]).len(), 1);
        let more = ("crates/pensa/src/b.rs", "let id = refs::Add {};\n");
        let output = found("+++ b/crates/pensa-core/src/a.rs\n+use x;\n", &[core, more]);
        assert_eq!(output, ["crates/pensa/src/b.rs:1: CONTRIBUTING.md does not show this"]);
    }

    #[test]
    fn an_entity_that_needs_too_much_is_a_problem() {
        let long = "x\n".repeat(MAX_LINES + 1);
        let diff = format!("+++ b/crates/pensa-core/src/a.rs\n{}", "+x\n".repeat(MAX_LINES + 1));
        assert_eq!(found(&diff, &[("crates/pensa-core/src/a.rs", &long)]).len(), 1);
        let engine = "crates/pensa-engine/src/tables/a.rs";
        assert_eq!(found(&format!("+++ b/{engine}\n+x\n"), &[(engine, "x\n")]).len(), 1);
    }
}
