//! `pn batch`: runs operations from a file or standard input in one transaction.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;

use clap::Args;
use pensa_core::ops::batch::Batch as Op;
use pensa_core::{Error, Result, json};
use serde_json::{Map, Value};

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;

/// Run many operations in one transaction: all of them happen, or none
///
/// Reads one JSON object a line: the operation's name as "op", and its fields. A line may name what it creates with
/// "as"; later lines refer to its id as "@name":
///
///   {"op":"issue.create","title":"log in","issue_type":"task","as":"login"}
///   {"op":"issue.create","title":"log out","issue_type":"task","deps":["@login"]}
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct BatchArgs {
    /// The file to read; without it, or with -, standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &BatchArgs) -> Result<()> {
    let operations = match &args.file {
        Some(path) if path.as_os_str() != "-" => {
            let file = File::open(path).map_err(|e| Error::invalid(format!("cannot read {}: {e}", path.display())))?;
            parse(BufReader::new(file))?
        }
        _ => parse(io::stdin().lock())?,
    };
    for result in connect::client(options)?.call(&Op { operations })? {
        output.line(&json::to_line(&result)?)?;
    }
    Ok(())
}

fn parse(lines: impl BufRead) -> Result<Vec<Option<Map<String, Value>>>> {
    let mut operations = Vec::new();
    for (at, line) in lines.lines().enumerate() {
        let bad = |why: &dyn std::fmt::Display| Error::invalid(format!("line {}: {why}", at + 1));
        let line = line.map_err(|e| bad(&e))?;
        let blank = line.trim().is_empty();
        let operation = || serde_json::from_str(&line).map_err(|e| bad(&e).hint("each line is one JSON object"));
        operations.push(if blank { None } else { Some(operation()?) });
    }
    Ok(operations)
}
