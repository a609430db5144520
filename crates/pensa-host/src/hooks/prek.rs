//! Edits the entries for our hooks in the configuration of prek and pre-commit.
//!
//! The file is edited as text, to preserve comments and order. A file too unusual for that is refused with a hint.

use std::path::PathBuf;

use pensa_core::{Code, Error, Result};
use pensa_git::{Repo, files};
use serde_json::Value;

use super::script::Hook;

const NAMES: [&str; 2] = [".pre-commit-config.yaml", ".pre-commit-config.yml"];
const OPENING: &str = "# >>> pensa (pn hooks install --prek writes these entries)";
const CLOSING: &str = "# <<< pensa";
/// Marks a line that we added outside the entries.
const OURS: &str = "# pensa";

/// A repository's configuration file.
#[derive(Debug)]
pub(super) struct PrekConfig {
    path: PathBuf,
    text: Option<String>,
    /// The repository has a `prek.toml`, which prek would read instead.
    has_toml: bool,
}

impl PrekConfig {
    pub(super) fn of(repo: &Repo) -> Result<Self> {
        let path = |name| repo.top.join(name);
        let path = NAMES.map(path).into_iter().find(|path| path.exists()).unwrap_or_else(|| path(NAMES[0]));
        Ok(Self { text: files::read_text(&path)?, has_toml: repo.top.join("prek.toml").exists(), path })
    }

    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(super) fn has_entries(&self) -> bool {
        self.text.as_deref().is_some_and(|text| text.lines().any(|line| line.trim() == OPENING))
    }

    /// The text with the entries added; `project` is a quoted shell word.
    pub(super) fn with_entries(&self, project: &str) -> Result<Option<String>> {
        if self.has_toml && self.text.is_none() {
            return Err(Error::new(Code::Unsupported, "this project configures prek in prek.toml")
                .hint("add hooks there that run pn hooks run pre-commit and so on, each in its stage"));
        }
        let rest = self.without_entries();
        insert(rest.as_deref(), project).map(Some).ok_or_else(|| {
            Error::new(Code::Unsupported, format!("the list of repos in {} is not one item a line", self.name()))
                .hint("write it as a list with one item a line, then try again")
        })
    }

    /// The text without the entries; `None` if nothing else is left.
    pub(super) fn without_entries(&self) -> Option<String> {
        let text = self.text.as_deref()?;
        if !self.has_entries() {
            return Some(text.to_owned());
        }
        Some(remove_entries(text)).filter(|rest| !rest.is_empty())
    }

    pub(super) fn write_if_changed(&self, new: Option<String>) -> Result<bool> {
        files::write_if_changed(&self.path, self.text.as_deref(), new.as_deref())
    }
}

/// The entries, each line indented by `indent`.
fn entries(indent: &str, project: &str, end: &str) -> String {
    let mut lines = vec![OPENING.to_owned(), "- repo: local".to_owned(), "  hooks:".to_owned()];
    for hook in Hook::ALL {
        let what = if hook == Hook::PreCommit { "export" } else { "import" };
        let flag = if hook == Hook::PreCommit { ", with the commit" } else { "" };
        lines.extend([
            format!("    - id: pensa-{hook}"),
            format!("      name: {what} issues{flag}"),
            format!("      entry: {}", scalar(&format!("pn --store {project} hooks run {hook}"))),
            "      language: system".to_owned(),
            "      pass_filenames: false".to_owned(),
            "      always_run: true".to_owned(),
            format!("      stages: [{hook}]"),
        ]);
    }
    lines.push(CLOSING.to_owned());
    lines.iter().map(|line| format!("{indent}{line}{end}")).collect()
}

/// A YAML scalar, quoted if it contains any special character.
fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./'+@ ".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { Value::from(text).to_string() }
}

fn types(end: &str) -> String {
    let names = Hook::ALL.map(Hook::name).join(", ");
    format!("default_install_hook_types: [{names}]  {OURS}{end}")
}

/// Adds the entries at the end of the list of repos; `None` if the list is not in block style.
fn insert(text: Option<&str>, project: &str) -> Option<String> {
    let text = text.unwrap_or_default();
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let types = if text.lines().any(|line| line.starts_with("default_install_hook_types:")) {
        String::new()
    } else {
        types(end)
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(key) = lines.iter().position(|line| line.starts_with("repos:")) else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { end };
        return Some(format!("{text}{gap}{types}repos:  {OURS}{end}{}", entries("  ", project, end)));
    };
    let value = lines.get(key)?.strip_prefix("repos:")?.split(" #").next()?.trim();
    let before = lines.get(..key)?.concat();
    if value == "[]" {
        let after = lines.get(key + 1..)?.concat();
        let repos = format!("repos:  {OURS}: was empty{end}");
        return Some(format!("{before}{types}{repos}{}{after}", entries("  ", project, end)));
    }
    if !value.is_empty() {
        return None;
    }
    let (last, indent) = last_of_list(&lines, key)?;
    let list = lines.get(key..=last)?.concat();
    let after = lines.get(last + 1..)?.concat();
    let entries = entries(&indent, project, end);
    if list.ends_with('\n') {
        return Some(format!("{before}{types}{list}{entries}{after}"));
    }
    // Keep a missing newline at the end missing.
    Some(format!("{before}{types}{list}{end}{}", entries.strip_suffix(end)?))
}

/// The last line of the list under the key in line `key`, and the indentation of its items.
fn last_of_list(lines: &[&str], key: usize) -> Option<(usize, String)> {
    let counts = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let first = lines.iter().skip(key + 1).find(|line| counts(line))?;
    let indent: String = first.chars().take_while(|c| *c == ' ').collect();
    if !first.trim_start().starts_with("- ") {
        return None;
    }
    let belongs = |line: &str| line.starts_with(' ') || (indent.is_empty() && line.starts_with("- "));
    let mut last = key;
    for (at, line) in lines.iter().enumerate().skip(key + 1).filter(|(_, line)| counts(line)) {
        if !belongs(line) {
            break;
        }
        last = at;
    }
    Some((last, indent))
}

/// Removes everything that `insert` adds.
fn remove_entries(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = |mark: &str| lines.iter().position(|line| line.trim() == mark);
    let (Some(start), Some(stop)) = (at(OPENING), at(CLOSING)) else { return text.to_owned() };
    let is_last_without_end = stop + 1 == lines.len() && !text.ends_with('\n');
    let has_more = lines.get(stop + 1).is_some_and(|line| line.trim_start().starts_with("- "));
    let mut rest = String::new();
    for (number, line) in lines.iter().enumerate() {
        let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
        match line.trim_end() {
            _ if (start..=stop).contains(&number) => {}
            line if line.starts_with("default_install_hook_types:") && line.ends_with(OURS) => {}
            "repos:  # pensa" if !has_more => {}
            "repos:  # pensa: was empty" if !has_more => rest.push_str(&format!("repos: []{end}")),
            _ => rest.push_str(line),
        }
    }
    if is_last_without_end {
        return rest.strip_suffix("\r\n").or_else(|| rest.strip_suffix('\n')).unwrap_or(&rest).to_owned();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "# ours\nrepos:\n- repo: https://a.test/x\n  rev: v1\n  hooks:\n  - id: a # why\n\n# the end\nci:\n  skip: [a]\n";

    #[test]
    fn removing_entries_restores_the_text() {
        let indented =
            PLAIN.replace("\n- repo", "\n    - repo").replace("\n  ", "\n      ").replace("      skip", "  skip");
        let texts = [
            PLAIN.to_owned(),
            indented,
            PLAIN.replace('\n', "\r\n"),
            "repos: []\nfail_fast: true\n".to_owned(),
            "fail_fast: true\n".to_owned(),
            "---\n# nothing yet\n".to_owned(),
            "repos:\n  - repo: local\n    hooks: []".to_owned(),
            "default_install_hook_types: [pre-push]\nrepos:\n- repo: meta\n  hooks: []\n".to_owned(),
        ];
        for text in texts {
            let with = insert(Some(&text), ".").expect("a plain list");
            assert_ne!(with, text);
            assert_eq!(remove_entries(&with), text, "{with}");
        }
        assert_eq!(remove_entries(&insert(None, ".").expect("a new file")), "");
    }

    #[test]
    fn entries_go_to_the_end_of_the_list_with_its_indentation() {
        let with = insert(Some(PLAIN), "'my app'").expect("a plain list");
        let expected = "  - id: a # why\n# >>> pensa (pn hooks install --prek writes these entries)\n- repo: local\n  hooks:\n    - id: pensa-pre-commit\n";
        assert!(with.contains(expected), "{with}");
        assert!(with.contains("      entry: pn --store 'my app' hooks run pre-commit\n"), "{with}");
        assert!(with.contains("# <<< pensa\n\n# the end\nci:\n"), "{with}");
        let with = insert(Some(PLAIN), "'a #b: \"c\"'").expect("a plain list");
        assert!(with.contains(r#"entry: "pn --store 'a #b: \"c\"' hooks run pre-commit""#), "{with}");
    }

    #[test]
    fn a_list_without_one_item_per_line_is_left_alone() {
        for text in
            ["repos: [{repo: local, hooks: []}]\n", "repos:\n  repo: local\n", "repos:\n", "repos: &a\n- repo: x\n"]
        {
            assert_eq!(insert(Some(text), "."), None, "{text}");
        }
    }
}
