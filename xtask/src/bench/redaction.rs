//! Redaction: how many planted secrets each noun catches, what alarms falsely on real code and logs, and what it costs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::BenchPlan;
use super::lab::{BenchProject, Lab, output};
use super::report::{BenchTarget, ReportRow};
use crate::Result;

/// Lines of code and logs that are looked through.
const LINES: usize = 20_000;

pub(super) fn rows(lab: &Lab, _: &BenchPlan) -> Result<Vec<ReportRow>> {
    let mut rows = caught(lab)?;
    rows.extend(alarms()?);
    Ok(rows)
}

/// Texts with a secret each, and a part of it. Prefixes are in pieces, so that nothing here looks like one.
fn planted() -> Vec<(String, String)> {
    let alnum =
        "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5kL7nP9rT1vX3zB5dF7hJ9lN1pR3tV5xZ7bD9fH1jL3nP5rT7vX9zA2cE4gI6kM8oQ0sU";
    let hex = "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0";
    let forms = [
        ["gh".to_owned() + "p_", alnum[..36].to_owned()],
        ["pensa".to_owned() + "_", hex.to_owned()],
        ["sk-or-".to_owned() + "v1-", hex.to_owned()],
        ["gs".to_owned() + "k_", alnum[..52].to_owned()],
        ["xa".to_owned() + "i-", alnum[..80].to_owned()],
        ["whs".to_owned() + "ec_", alnum[..32].to_owned()],
        ["dckr_".to_owned() + "pat_", alnum[..27].to_owned()],
        ["nt".to_owned() + "n_", alnum[..46].to_owned()],
        ["sb".to_owned() + "p_", hex[..40].to_owned()],
        ["cf".to_owned() + "ut_", alnum[..48].to_owned()],
        ["AK".to_owned() + "IA", "QYZ2345ABCDEFGHX".to_owned()],
        ["IQoJb3JpZ2lu".to_owned() + "X2Vj", alnum.to_owned()],
        ["AWS_SECRET_ACCESS_KEY=".to_owned(), alnum[..40].to_owned()],
        ["Authorization: Bearer ".to_owned(), alnum[..32].to_owned()],
        ["Authorization: Basic ".to_owned(), "YWRhOng5S3EzIXZUd0xwNw==".to_owned()],
        ["Cookie: session=".to_owned(), alnum[..32].to_owned()],
        ["machine x.example.com login ada password ".to_owned(), "x9Kq3vTwLp7z".to_owned()],
        ["//registry.example.com/:_authToken=".to_owned(), alnum[..36].to_owned()],
        ["SharedAccessKeyName=Root;SharedAccessKey=".to_owned(), alnum[..43].to_owned() + "="],
        ["DB_PASSWORD=".to_owned(), "x9Kq3vTwLp7z".to_owned()],
        ["password: ".to_owned(), "x9Kq3vTwLp7z".to_owned()],
        ["postgres://ada:".to_owned(), "x9Kq3vTwLp7z@db.example.com/app".to_owned()],
    ];
    forms.into_iter().map(|[name, secret]| (format!("use {name}{secret} here"), secret[2..12].to_owned())).collect()
}

/// Commands that store the text `TEXT`, by the noun that keeps it.
const NOUNS: [(&str, &[&str]); 10] = [
    ("title", &["create", "TEXT", "-t", "task"]),
    ("description", &["create", "a task", "-t", "task", "-d", "TEXT"]),
    ("capture", &["capture", "TEXT"]),
    ("comment", &["comment", "add", "ISSUE", "TEXT"]),
    ("reason", &["close", "ISSUE", "--force", "--reason", "TEXT"]),
    ("release", &["ship", "TEXT", "--version", "1.0.0"]),
    ("learning", &["remember", "TEXT"]),
    ("value", &["kv", "set", "note", "TEXT", "--scope", "user"]),
    ("loop", &["loop", "create", "-t", "plan", "--prompt-path", "p.md", "--validation-command", "TEXT"]),
    ("agent", &["agent", "create", "-t", "user", "--name", "TEXT"]),
];

fn caught(lab: &Lab) -> Result<Vec<ReportRow>> {
    let store = lab.repository("redaction", 1)?;
    output(&mut lab.pn(&store, &["init"]))?;
    NOUNS.iter().map(|(noun, command)| noun_row(lab, &store, noun, command)).collect()
}

fn noun_row(lab: &Lab, store: &BenchProject, noun: &str, command: &[&str]) -> Result<ReportRow> {
    let planted = planted();
    let mut caught = 0;
    for (text, part) in &planted {
        let issue = output(&mut lab.pn(store, &["create", "an issue", "-t", "task", "-q"]))?;
        let issue = issue.trim().to_owned();
        let words = command.iter().map(|word| match *word {
            "TEXT" => text.as_str(),
            "ISSUE" => issue.as_str(),
            other => other,
        });
        let words: Vec<&str> = words.chain(["--json"]).collect();
        let answer = output(&mut lab.pn(store, &words))?;
        caught += usize::from(!answer.contains(part.as_str()));
    }
    let part = caught as f64 / planted.len() as f64;
    let about = "Forms of secrets that the answer to a command which stores them no longer has";
    let name = format!("planted in a {noun}");
    Ok(ReportRow::new(name, format!("{caught}"), planted.len().to_string(), part, BenchTarget::AtLeast(0.95), about))
}

/// Code of other people and logs of this machine, as far as there are any.
fn real_lines() -> Result<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let mut files = Vec::new();
    gather(&home.ok_or("no directory of cargo")?.join("registry/src"), &mut files);
    files.sort_by_key(|path| path.components().next_back().map(|name| name.as_os_str().to_owned()));
    let mut logs = Vec::new();
    gather(Path::new("/var/log"), &mut logs);
    let mut text = String::new();
    for file in logs.iter().chain(files.iter().step_by(7)) {
        if text.lines().take(LINES).count() >= LINES {
            break;
        }
        text.push_str(&fs::read_to_string(file).unwrap_or_default());
        text.push('\n');
    }
    Ok(text.lines().take(LINES).collect::<Vec<_>>().join("\n"))
}

fn gather(dir: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
        let is_text =
            path.extension().is_some_and(|kind| ["rs", "md", "toml", "log", "txt"].iter().any(|k| kind == *k));
        if path.is_dir() {
            gather(&path, found);
        } else if is_text {
            found.push(path);
        }
    }
}

fn alarms() -> Result<Vec<ReportRow>> {
    let text = real_lines()?;
    let lines = text.lines().count();
    let alarms: Vec<&str> = text.lines().filter(|line| pensa_redact::text(line).1 > 0).collect();
    alarms.iter().for_each(|line| println!("alarm: {}", line.trim()));
    let start = Instant::now();
    let rounds = 10;
    for _ in 0..rounds {
        std::hint::black_box(pensa_redact::text(&text));
    }
    let megabytes = text.len() as f64 * f64::from(rounds) / 1e6;
    let cost = start.elapsed().as_secs_f64() * 1e3 / megabytes;
    Ok(vec![
        ReportRow::new(
            "false alarms".to_owned(),
            alarms.len().to_string(),
            format!("{lines} lines"),
            alarms.len() as f64,
            BenchTarget::AtMost(0.0),
            "Lines of other people's code and of this machine's logs in which something is taken for a secret",
        ),
        ReportRow::measured(
            "cost of redaction".to_owned(),
            format!("{cost:.1} ms per MB"),
            "The same lines as one text, all rules compiled",
        ),
    ])
}
