//! `pn batch`.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use pensa_core::ops::batch::Batch as Op;
use pensa_core::{Error, Result, json};
use serde_json::{Map, Value};

use crate::cli::{Batch, Options};
use crate::connect;
use crate::output::Output;

pub(super) fn run(options: &Options, output: Output, args: &Batch) -> Result<()> {
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
