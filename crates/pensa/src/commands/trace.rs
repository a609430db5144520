//! `pn trace`: the life of an issue, with the commits that only this machine knows.

use pensa_core::trace::{Kind, Moment, markdown};
use pensa_core::{Result, Timestamp, json};
use pensa_git::Commit;

use crate::cli::{Options, TraceArgs, TraceFormat};
use crate::connect;
use crate::output::Output;

/// Most commits that are told.
const MOST_COMMITS: usize = 1000;

pub(super) fn run(options: &Options, output: Output, args: &TraceArgs) -> Result<()> {
    let mut trace = connect::client(options)?.call(&args.op)?;
    if !args.no_commits {
        let dir = connect::project_store(options).and_then(|store| Some(store.root().parent()?.to_owned()));
        let dir = dir.map_or_else(connect::cwd, Ok)?;
        // The life of an issue is worth telling without them.
        match pensa_git::mentions(&dir, &trace.issue.id, MOST_COMMITS) {
            Ok(commits) => trace.add_commits(commits.into_iter().filter_map(moment).collect(), args.op.most()),
            Err(e) => trace.notes.push(format!("commits are missing: {}", e.message)),
        }
    }
    match args.format {
        TraceFormat::Md if !output.is_json() => output.raw(markdown(&trace).as_bytes()),
        TraceFormat::Json => output.line(&json::to_line(&trace)?),
        TraceFormat::Md | TraceFormat::Text => output.answer(&trace),
    }
}

fn moment(commit: Commit) -> Option<Moment> {
    let at = Timestamp::from_millis(commit.seconds.checked_mul(1000)?).ok()?;
    let moment = Moment::new(at, Kind::Commit, "committed").of(&commit.id).by(commit.author);
    Some(moment.saying(&commit.subject))
}
