//! The form of every JSON document and of every line of JSON that the product writes to a file.

use std::fs;
use std::path::{Path, PathBuf};

use pensa_testkit::Sandbox;
use serde_json::Value;

use crate::sandbox;
use crate::steps::{keys, text};

/// Every file below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all
}

/// Checks the properties that all JSON files share.
#[track_caller]
fn text_of(path: &Path) -> String {
    let bytes = fs::read(path).expect("a file");
    let text = String::from_utf8(bytes).expect("UTF-8");
    assert!(!text.starts_with('\u{feff}'), "{} begins with a mark", path.display());
    assert!(!text.contains('\r'), "{} has other line ends", path.display());
    assert!(text.is_empty() || text.ends_with('\n'), "{} does not end with a line end", path.display());
    text
}

/// The form of a document, written out by hand so that it does not follow what the product does.
fn spread(value: &Value, depth: usize, to: &mut String) {
    let indent = |depth: usize| format!("\n{}", "  ".repeat(depth));
    let items: Vec<(Option<&str>, &Value)> = match value {
        Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (Some(name.as_str()), value)).collect(),
        plain => return to.push_str(&plain.to_string()),
    };
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    to.push(open);
    for (at, (name, item)) in items.iter().enumerate() {
        to.push_str(if at > 0 { "," } else { "" });
        to.push_str(&indent(depth + 1));
        if let Some(name) = name {
            to.push_str(&format!("{}: ", Value::from(*name)));
        }
        spread(item, depth + 1, to);
    }
    if !items.is_empty() {
        to.push_str(&indent(depth));
    }
    to.push(close);
}

/// Fields that are times by their names.
fn check_times(value: &Value, path: &Path) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| check_times(item, path)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_time = (name.ends_with("_at") || name.ends_with("At")) && value.is_string();
                if is_time {
                    let at = text(value);
                    let millis = at.len() == 24 && at.ends_with('Z') && at.as_bytes()[19] == b'.';
                    assert!(millis, "{}: {name} is {at}", path.display());
                }
                check_times(value, path);
            }
        }
        _ => {}
    }
}

#[track_caller]
fn check_document(path: &Path) -> Value {
    let content = text_of(path);
    let value: Value = serde_json::from_str(&content).expect("JSON");
    let mut expected = String::new();
    spread(&value, 0, &mut expected);
    assert_eq!(content, expected + "\n", "{}", path.display());
    check_times(&value, path);
    value
}

#[track_caller]
fn check_lines(path: &Path) -> usize {
    let content = text_of(path);
    for line in content.lines() {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{}: {e}: {line}", path.display()));
        assert!(value.is_object() || value.is_array(), "{}: {line}", path.display());
        assert!(!line.starts_with(' ') && !line.contains("\": "), "{} is not compact: {line}", path.display());
        check_times(&value, path);
    }
    content.lines().count()
}

fn check_all(dir: &Path) -> (usize, usize) {
    let (mut documents, mut lines) = (0, 0);
    for path in files(dir) {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => {
                check_document(&path);
                documents += 1;
            }
            Some("jsonl") => lines += check_lines(&path),
            _ => {}
        }
    }
    (documents, lines)
}

/// Uses every command that writes a file.
fn live(pn: &Sandbox) {
    let id =
        text(&pn.pn(["create", "é \u{202e} \"quoted\"", "-t", "task", "--description", "two\nlines"]).ok_json()["id"]);
    pn.pn(["comment", "add", &id, "said"]).ok();
    let other = text(&pn.pn(["create", "other", "-t", "bug"]).ok_json()["id"]);
    pn.pn(["dep", "add", &id, &other]).ok();
    pn.pn(["work", "start", "something", "--step", "one"]).ok();
    pn.pn(["ship", "it", "--version", "1.0.0"]).ok();
    pn.pn(["remember", "do not forget", "--tag", "a"]).ok();
    pn.pn(["agent", "create", "--type", "user"]).ok();
    pn.pn(["kv", "set", "k", "v", "--scope", "project"]).ok();
    pn.pn(["delete", &other, "--force"]).ok();
    pn.pn(["config", "set", "--project", "export.events", "true"]).ok();
    pn.pn(["snapshot", "create", "--provider", "copy"]).ok();
    pn.pn(["run", "exec", "--", "true"]).ok();
    pn.pn(["export"]).ok();
}

#[test]
fn every_document_and_line_has_the_documented_form() {
    let pn = sandbox();
    pn.git_init();
    live(&pn);
    let target = pn.project().join("skills.json");
    let file = target.to_str().expect("UTF-8");
    pn.pn(["skill", "export", file]).ok();
    assert_eq!(text_of(&target), "{\n  \"mappings\": {},\n  \"updatedAt\": null\n}\n");
    pn.pn(["skill", "set", "frontend.md", "frontend-design", "é"]).ok();
    assert_eq!(pn.pn(["-q", "skill", "export", file]).ok().trim(), file);
    assert_eq!(keys(&check_document(&target)), ["mappings", "updatedAt"], "as it is documented");
    assert_eq!(pn.pn(["skill", "export", "-"]).ok(), text_of(&target));
    pn.pn(["skill", "import", file]).ok();
    pn.pn(["skill", "export", "nowhere/skills.json"]).fails("not_found");
    let (documents, lines) = check_all(&pn.path(""));
    assert!(documents >= 1 && lines > 20, "{documents} documents, {lines} lines");
}

#[test]
fn the_fields_of_every_line_are_in_the_order_that_is_documented() {
    let pn = sandbox();
    pn.git_init();
    live(&pn);
    let table: [(&str, &[&str]); 5] = [
        (
            "issues.jsonl",
            &["id", "title", "description", "issue_type", "status", "priority", "created_at", "updated_at"],
        ),
        ("comments.jsonl", &["id", "issue_id", "actor", "text", "created_at"]),
        ("releases.jsonl", &["id", "name", "version", "kind", "issues", "actor", "shipped_at"]),
        ("learnings.jsonl", &["id", "kind", "text", "tags", "impact", "revision", "actor", "created_at", "updated_at"]),
        ("tombstones.jsonl", &["collection", "id", "deleted_at", "actor", "version"]),
    ];
    for (name, expected) in table {
        let content = text_of(&pn.store().join(name));
        let first: Value = serde_json::from_str(content.lines().next().expect("a line")).expect("JSON");
        assert_eq!(keys(&first), expected, "{name}");
    }
}
