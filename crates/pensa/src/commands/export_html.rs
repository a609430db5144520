//! `pn export --html`: writes the project as pages that need no server.

use std::fs;
use std::path::{Path, PathBuf};

use pensa_client::{Call, Client};
use pensa_core::issue::{Issue, Sort, Status};
use pensa_core::ops::issue::{Count, Counted, History, List, Show};
use pensa_core::ops::store::Info;
use pensa_core::ops::{conflict, event, release, trace, triage};
use pensa_core::sync::{Conflict, ISSUES};
use pensa_core::time::Since;
use pensa_core::{Error, Result, Span, Timestamp};
use pensa_redact::Redactor;
use pensa_web::board::{BoardContent, StatusColumn};
use pensa_web::charts::ChartsContent;
use pensa_web::export::{ExportedPage, ProjectContent};
use pensa_web::graph::GraphContent;
use pensa_web::issue::IssueContent;
use pensa_web::list::{ListContent, ListField};
use pensa_web::releases::ReleasesContent;
use serde::Serialize;

use super::context;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, counted};

/// Days of the charts.
const DAYS: u32 = 90;
/// Issues of the graph.
const DRAWN: u32 = 200;
/// Entries of the history of an issue.
const HISTORY: u32 = 200;
/// Every index of an export contains it. Only beside such an index may files be replaced.
const OURS: &str = "<body data-root=\"\" data-last-event=\"";
/// The first index of a new directory: an export that was interrupted can be repeated.
const UNFINISHED: &str = "<!DOCTYPE html><title>Unfinished</title><body data-root=\"\" data-last-event=\"0\">\
     <p>This export was interrupted. Run pn export --html again.\n";

/// What was written.
#[derive(Debug, Serialize)]
struct WrittenPages {
    path: PathBuf,
    files: usize,
    issues: usize,
    /// How many secrets were replaced
    redactions: usize,
}

pub(super) fn run(options: &GlobalOptions, output: Output, target: &Path, is_single: bool) -> Result<()> {
    let written = with_progress(output, || {
        let (client, redactor) = (connect::client(options)?, Redactor::new(None));
        let mut reader = AnswerReader { client, redactor, conflicts: Vec::new() };
        reader.conflicts = reader.call(&conflict::List::default())?;
        let (project, issues) = reader.project()?;
        let files = if is_single {
            let contents = issues.iter().map(|issue| reader.issue(issue)).collect::<Result<Vec<_>>>()?;
            context::write_atomically(target, &project.single(&contents)?, 0o666)?;
            1
        } else {
            write_directory(target, &project, &issues, &mut reader)?
        };
        Ok(WrittenPages { path: target.to_owned(), files, issues: issues.len(), redactions: reader.redactor.count() })
    })?;
    output.answer(&written)
}

/// Writes all files, and removes those of an earlier export that are no more.
fn write_directory(dir: &Path, project: &ProjectContent, issues: &[Issue], reader: &mut AnswerReader) -> Result<usize> {
    check_target(dir)?;
    fs::create_dir_all(dir).map_err(|e| failed("make", dir, &e))?;
    let index = dir.join("index.html");
    if !index.exists() {
        context::write_atomically(&index, UNFINISHED, 0o666)?;
    }
    let issue_dir = dir.join("issues");
    fs::create_dir_all(&issue_dir).map_err(|e| failed("make", &issue_dir, &e))?;
    let mut kept: Vec<PathBuf> = Vec::new();
    let mut write = |file: ExportedPage| {
        let path = dir.join(&file.path);
        context::write_atomically(&path, &file.text, 0o666)?;
        kept.push(path);
        Result::Ok(())
    };
    for issue in issues {
        write(project.issue_file(&reader.issue(issue)?))?;
    }
    // The index comes last: an export that was interrupted still has the old one.
    project.files()?.into_iter().rev().try_for_each(&mut write)?;
    for old in [dir, &issue_dir] {
        remove_stale(old, &kept)?;
    }
    Ok(kept.len())
}

/// Refuses a directory with files that are not an earlier export.
fn check_target(dir: &Path) -> Result<()> {
    let is_empty = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => true,
        Err(e) => return Err(failed("read", dir, &e)),
    };
    let is_ours = || fs::read_to_string(dir.join("index.html")).is_ok_and(|index| index.contains(OURS));
    if is_empty || is_ours() {
        return Ok(());
    }
    Err(Error::invalid(format!("{} has files that are not an earlier export", dir.display()))
        .hint("name an empty directory, or a new one"))
}

/// Removes files with names such as an export gives that this one did not write.
fn remove_stale(dir: &Path, kept: &[PathBuf]) -> Result<()> {
    let entries = fs::read_dir(dir).map_err(|e| failed("read", dir, &e))?;
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_ours = name.ends_with(".html") || [".css", ".js"].iter().any(|end| name.ends_with(end));
        if is_ours && !kept.contains(&path) {
            fs::remove_file(&path).map_err(|e| failed("remove", &path, &e))?;
        }
    }
    Ok(())
}

fn failed(what: &str, path: &Path, e: &std::io::Error) -> Error {
    Error::internal(format!("cannot {what} {}: {e}", path.display()))
}

/// Reads answers, without secrets.
struct AnswerReader {
    client: Client,
    redactor: Redactor,
    /// Those that nobody has resolved
    conflicts: Vec<Conflict>,
}

impl AnswerReader {
    fn call<O: Call>(&mut self, op: &O) -> Result<O::Output> {
        let answer = self.client.call(op)?;
        let mut value = serde_json::to_value(&answer).map_err(Error::internal)?;
        if !pensa_redact::may_be_in(&value) {
            return Ok(answer);
        }
        self.redactor.value(&mut value);
        serde_json::from_value(value).map_err(Error::internal)
    }

    fn project(&mut self) -> Result<(ProjectContent, Vec<Issue>)> {
        let log = self.call(&event::List { limit: Some(1), ..event::List::default() })?;
        // A store without events is as old as time.
        let until = log.events.last().map_or(Timestamp::from_millis(0), |event| Ok(event.created_at))?;
        let issues = self.call(&List::default())?;
        let since = until.minus(Span::from_millis(i64::from(DAYS - 1) * 86_400_000));
        let chart = triage::Chart { since: Some(Since::At(since)), until: Some(Since::At(until)) };
        let plan = self.call(&triage::Plan { agents: None, limit: Some(1) })?;
        let graph = triage::Graph { q: None, limit: Some(DRAWN) };
        let project = ProjectContent {
            project: self.name()?,
            last_event: log.end,
            until,
            board: BoardContent { query: String::new(), lanes: None, columns: self.columns()?, views: Vec::new() },
            list: ListContent {
                query: String::new(),
                sort: String::new(),
                fields: ListField::DEFAULT.to_vec(),
                limit: u32::MAX,
                issues: issues.clone(),
            },
            graph: GraphContent { query: String::new(), network: self.call(&graph)?, critical: plan.longest_chain },
            charts: ChartsContent { days: DAYS, chart: self.call(&chart)?, cost: None },
            releases: ReleasesContent {
                releases: self.call(&release::List::default())?,
                changelog: self.call(&release::Changelog::default())?.markdown,
            },
        };
        Ok((project, issues))
    }

    /// What the directory of the project is called.
    fn name(&mut self) -> Result<String> {
        let info = self.call(&Info::default())?;
        let name = Path::new(&info.project_dir).file_name().and_then(|name| name.to_str());
        Ok(name.unwrap_or("Pensa").to_owned())
    }

    fn columns(&mut self) -> Result<Vec<StatusColumn>> {
        let Counted::Grouped { groups, .. } = self.call(&Count { by_status: true, ..Count::default() })? else {
            return Ok(Vec::new());
        };
        let total = |status| groups.iter().filter(|group| group.status == Some(status)).map(|group| group.count).sum();
        let mut columns = Vec::new();
        for status in Status::ALL {
            let is_closed = status == Status::Closed;
            let (sort, limit) = if is_closed { (Some(Sort::UpdatedAt.into()), Some(50)) } else { (None, None) };
            let issues = self.call(&List { status: Some(status), sort, limit, ..List::default() })?;
            columns.push(StatusColumn { status, total: total(status), issues });
        }
        Ok(columns)
    }

    fn issue(&mut self, issue: &Issue) -> Result<IssueContent> {
        let id = &issue.id;
        let of_issue = |known: &&Conflict| known.collection == ISSUES.name && known.record_id == id.as_str();
        let conflicts = self.conflicts.iter().filter(of_issue).cloned().collect();
        Ok(IssueContent {
            detail: self.call(&Show { id: id.into() })?,
            history: self.call(&History { id: id.into(), limit: Some(HISTORY) })?,
            trace: self.call(&trace::Trace { id: id.into(), limit: None })?,
            conflicts,
        })
    }
}

impl Render for WrittenPages {
    fn render(&self, screen: &mut Screen) {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        screen.text(&self.path.to_string_lossy()).plain(": ");
        screen.plain(&counted(count(self.issues), "issue", "issues")).plain(" in ");
        screen.plain(&counted(count(self.files), "file", "files")).end();
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}
