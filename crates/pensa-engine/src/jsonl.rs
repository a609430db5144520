//! The JSONL files beside a store: one record a line, in a fixed order, written whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use pensa_core::comment::Comment;
use pensa_core::dep::Dep;
use pensa_core::event::{self, EventType};
use pensa_core::issue::Issue;
use pensa_core::ops::store::Transfer;
use pensa_core::{Error, Result, json, text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::context::Context;
use crate::db::Tx;
use crate::store::StoreDir;
use crate::tables::{comments, deps, events, issues};
use crate::{error, ops};

const NAMES: [&str; 3] = ["issues.jsonl", "deps.jsonl", "comments.jsonl"];

pub(crate) fn files(store: &StoreDir) -> Vec<PathBuf> {
    NAMES.iter().map(|name| store.root().join(name)).collect()
}

/// Whether there is anything to import.
pub(crate) fn any(store: &StoreDir) -> bool {
    files(store).iter().any(|path| path.exists())
}

/// The lines of each file, as the database has them now.
fn render(tx: &Tx<'_>) -> Result<[(Vec<u8>, i64); 3]> {
    let mut parts: [(Vec<u8>, i64); 3] = Default::default();
    let [of_issues, of_deps, of_comments] = &mut parts;
    issues::for_each(tx, |issue| add_line(of_issues, issue))?;
    deps::for_each(tx, |dep| add_line(of_deps, dep))?;
    comments::for_each(tx, |comment| add_line(of_comments, comment))?;
    Ok(parts)
}

fn add_line<T: Serialize>((bytes, count): &mut (Vec<u8>, i64), record: &T) -> Result<()> {
    json::write_line(bytes, record)?;
    bytes.push(b'\n');
    *count += 1;
    Ok(())
}

pub(crate) fn export(store: &StoreDir, tx: &Tx<'_>) -> Result<Transfer> {
    let parts = render(tx)?;
    let drafts = store.local_dir("")?;
    for (path, (bytes, _)) in files(store).iter().zip(&parts) {
        if fs::read(path).ok().as_ref() != Some(bytes) {
            write_atomically(&drafts, path, bytes).map_err(|e| error::io("write", path, &e))?;
        }
    }
    let [issues, deps, comments] = parts.map(|(_, count)| count);
    Ok(Transfer { status: "ok".into(), issues, deps, comments })
}

/// The files that are there and differ from what an export would write.
pub(crate) fn drifted(store: &StoreDir, tx: &Tx<'_>) -> Result<Vec<&'static str>> {
    if !any(store) {
        return Ok(Vec::new());
    }
    let parts = render(tx)?;
    let differs = |path: &Path, bytes: &Vec<u8>| fs::read(path).unwrap_or_default() != *bytes;
    let each = NAMES.into_iter().zip(files(store)).zip(&parts);
    Ok(each.filter(|((_, path), (bytes, _))| differs(path, bytes)).map(|((name, _), _)| name).collect())
}

/// The draft lies in `drafts`, where git does not look, under a name that nobody can have taken.
fn write_atomically(drafts: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = drafts.join(format!("export-{}.tmp", Uuid::new_v4().simple()));
    let written = (|| {
        let mut file = File::create_new(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(path.parent().unwrap_or(path))?.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Reads every file before anything is changed, then adds what is missing and takes over what is newer.
pub(crate) fn import(cx: &Context<'_>, tx: &Tx<'_>) -> Result<Transfer> {
    let store = cx.store.dir()?;
    let [issue_file, dep_file, comment_file] = NAMES.map(|name| store.root().join(name));
    let all_issues: Vec<(usize, Issue)> = parse::<Issue>(&issue_file)?
        .into_iter()
        .map(|(line, issue)| Ok((line, issue.adopt().map_err(|e| bad_line(&issue_file, line, e))?)))
        .collect::<Result<_>>()?;
    let all_deps: Vec<(usize, Dep)> = parse(&dep_file)?;
    let all_comments: Vec<(usize, Comment)> = parse(&comment_file)?;

    tx.expect_many_rows()?;
    for (_, issue) in &all_issues {
        take_issue(cx, tx, issue)?;
    }
    for (line, issue) in &all_issues {
        if let Some(bug) = &issue.fixes {
            require(tx, bug, &issue_file, *line)?;
        }
    }
    for (line, dep) in &all_deps {
        if dep.issue_id == dep.depends_on_id {
            return Err(bad_line(&dep_file, *line, "an issue cannot wait for itself"));
        }
        let parent = require(tx, &dep.depends_on_id, &dep_file, *line)?;
        let child = require(tx, &dep.issue_id, &dep_file, *line)?;
        ops::dep::link(cx, tx, &child, &parent)?;
    }
    for (line, comment) in &all_comments {
        require(tx, &comment.issue_id, &comment_file, *line)?;
        text::fits_block("comment", &comment.text).map_err(|e| bad_line(&comment_file, *line, e))?;
        if !comments::exists(tx, &comment.id)? {
            ops::comment::record(cx, tx, comment)?;
        }
    }
    let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    Ok(Transfer {
        status: "ok".into(),
        issues: count(all_issues.len()),
        deps: count(all_deps.len()),
        comments: count(all_comments.len()),
    })
}

fn take_issue(cx: &Context<'_>, tx: &Tx<'_>, issue: &Issue) -> Result<()> {
    match issues::get(tx, &issue.id)? {
        None => {
            issues::insert(tx, issue)?;
            events::log(cx, tx, &issue.id, EventType::Created, event::changes(None, issue))
        }
        Some(known) if known.updated_at < issue.updated_at => {
            issues::replace(tx, &known, issue)?;
            events::log(cx, tx, &issue.id, EventType::Updated, event::changes(Some(&known), issue))
        }
        Some(_) => Ok(()),
    }
}

fn require(tx: &Tx<'_>, id: &pensa_core::id::IssueId, file: &Path, line: usize) -> Result<Issue> {
    issues::get(tx, id)?.ok_or_else(|| bad_line(file, line, format!("it refers to {id}, which does not exist")))
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<Vec<(usize, T)>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(error::io("read", path, &e)),
    };
    let mut records = Vec::new();
    for (at, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|e| bad_line(path, at + 1, e))?;
        if !line.trim().is_empty() {
            records.push((at + 1, serde_json::from_str(&line).map_err(|e| bad_line(path, at + 1, e))?));
        }
    }
    Ok(records)
}

fn bad_line(path: &Path, line: usize, why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("{} line {line}: {why}", path.display())).hint("mend the file; nothing was imported")
}
