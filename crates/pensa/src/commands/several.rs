//! Commands that take several ids: one operation for each of them, all in one transaction.

use std::collections::HashSet;

use clap::Args;
use pensa_client::Client;
use pensa_core::id::IssueRef;
use pensa_core::ops::batch::{Batch, failed_operation};
use pensa_core::ops::issue::{Close, Delete, Release, Reopen, Update};
use pensa_core::{Error, Op, Result, text};
use pensa_engine::Execute;

use super::{context, stdin};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::Render;

/// An operation on one issue.
pub(crate) trait OneIssueOp: Execute + Clone {
    fn issue_mut(&mut self) -> &mut IssueRef;
}

macro_rules! one_issue_op {
    ($($op:ty),*) => {$(
        impl OneIssueOp for $op {
            fn issue_mut(&mut self) -> &mut IssueRef {
                &mut self.id
            }
        }
    )*};
}

one_issue_op!(Close, Delete, Release, Reopen, Update);

// Without a doc comment: the help begins with that of the operation.
#[derive(Debug, Args)]
pub(crate) struct SeveralArgs<O: Args> {
    #[command(flatten)]
    pub(crate) op: O,
    /// More issues: all of them, or none; - reads ids from standard input, one a line
    #[arg(value_name = "ID")]
    pub(crate) more: Vec<IssueRef>,
}

/// The operations that a command line asks for.
enum Requested<O> {
    /// One issue was named: its answer is printed alone.
    One(O),
    /// Several were, or standard input was: their answers are a list.
    Many(Vec<O>),
}

impl<O: Args + OneIssueOp> SeveralArgs<O> {
    pub(crate) fn new(op: O, more: Vec<IssueRef>) -> Self {
        Self { op, more }
    }

    /// Whether ids come from standard input.
    pub(crate) fn reads_stdin(&mut self) -> bool {
        let first = self.op.issue_mut().as_str() == "-";
        first || self.more.iter().any(|id| id.as_str() == "-")
    }

    fn requested(mut self) -> Result<Requested<O>> {
        if self.more.is_empty() && !self.reads_stdin() {
            return Ok(Requested::One(self.op));
        }
        let given = [vec![self.op.issue_mut().clone()], self.more].concat();
        let mut ids: Vec<IssueRef> = Vec::new();
        for id in given {
            ids.extend(if id.as_str() == "-" { read_ids()? } else { vec![id] });
        }
        let mut seen = HashSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        let operation = |id: IssueRef| {
            let mut op = self.op.clone();
            *op.issue_mut() = id;
            op
        };
        Ok(Requested::Many(ids.into_iter().map(operation).collect()))
    }
}

/// Reads ids from standard input, one a line.
fn read_ids() -> Result<Vec<IssueRef>> {
    let mut ids = Vec::new();
    for (line, number) in stdin::read_within(text::TEXT_BYTES)?.lines().zip(1..) {
        let line = line.trim();
        if line.contains(char::is_whitespace) {
            let error = Error::invalid(format!("line {number} of standard input is not an id"));
            return Err(error.hint("one id a line, as -q prints them"));
        }
        if !line.is_empty() {
            ids.push(line.parse()?);
        }
    }
    Ok(ids)
}

/// Runs an operation on every issue that is named, prints the answers, and calls `note` for each.
pub(super) fn run<O: Args + OneIssueOp>(
    options: &GlobalOptions,
    output: Output,
    args: SeveralArgs<O>,
    note: impl Fn(&O::Output),
) -> Result<()>
where
    O::Output: Render,
    Vec<O::Output>: Render,
{
    match args.requested()? {
        Requested::One(op) => {
            let answer = with_progress(output, || connect::client(options)?.call(&op))?;
            output.answer(&answer)?;
            note(&answer);
        }
        Requested::Many(operations) => {
            let answers = with_progress(output, || call_all(&connect::client(options)?, operations))?;
            output.answer(&answers)?;
            answers.iter().for_each(note);
        }
    }
    context::refresh(options, output);
    Ok(())
}

/// Runs operations in one transaction. An error names the issue that it is about.
fn call_all<O: OneIssueOp>(client: &Client, mut operations: Vec<O>) -> Result<Vec<<O as Op>::Output>> {
    if operations.is_empty() {
        return Ok(Vec::new());
    }
    let mut batch = Batch::default();
    operations.iter().try_for_each(|op| batch.push(op))?;
    let answers = client.call(&batch).map_err(|error| match failed_operation(&error) {
        Some((at, bare)) => match operations.get_mut(at).map(OneIssueOp::issue_mut) {
            Some(id) if !bare.message.contains(id.as_str()) => bare.within(id),
            _ => bare,
        },
        None => error,
    })?;
    answers.into_iter().map(|answer| serde_json::from_value(answer).map_err(Error::internal)).collect()
}
