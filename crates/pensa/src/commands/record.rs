//! `pn record`: reads documents, and asks for page after page until there is no more.

use pensa_core::ops::record::{Apply, Change, Page, Put, Query};
use pensa_core::record::{DATA_BYTES, Record};
use pensa_core::session::object;
use pensa_core::{Error, Op, Result};

use super::agent::pass_on;
use super::stdin;
use crate::cli::{Options, Record as Command, RecordPut};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;

pub(super) fn run(options: &Options, output: Output, command: Command) -> Result<()> {
    match command {
        Command::Put(args) => pass_on(options, output, &put(args)?),
        Command::Get(op) => pass_on(options, output, &op),
        Command::Query(op) => query(options, output, op),
        Command::Count(op) => pass_on(options, output, &op),
        Command::Delete(op) => pass_on(options, output, &op),
        Command::Collections(op) => pass_on(options, output, &op),
        Command::Index(op) => pass_on(options, output, &op),
        Command::Apply(_) => pass_on(options, output, &apply(&stdin::read_within(Apply::MAX_BODY)?)?),
        Command::Compact(op) => pass_on(options, output, &op),
    }
}

fn put(args: RecordPut) -> Result<Put> {
    let RecordPut { op, mut document } = args;
    if document == "-" {
        document = stdin::read_within(2 * DATA_BYTES)?;
    }
    Ok(Put { data: object::parse_within("the record", &document, DATA_BYTES)?, ..op })
}

fn query(options: &Options, output: Output, mut op: Query) -> Result<()> {
    let ask = || {
        let client = connect::client_for_agents(options)?;
        let mut found: Vec<Record> = Vec::new();
        loop {
            let Page { records, next } = client.call(&op)?;
            let got = u32::try_from(records.len()).unwrap_or(u32::MAX);
            found.extend(records);
            op.limit = op.limit.map(|limit| limit.saturating_sub(got));
            op.after = next;
            if op.after.is_none() || op.limit == Some(0) {
                return Ok(found);
            }
        }
    };
    output.answer(&watched(output, ask)?)
}

/// Changes, one a line or spread over many.
fn apply(text: &str) -> Result<Apply> {
    let mut changes = Vec::new();
    for change in serde_json::Deserializer::from_str(text).into_iter::<Change>() {
        let at = changes.len() + 1;
        let told = |e: serde_json::Error| {
            Error::invalid(format!("change {at}: {e}"))
                .hint(r#"such as {"put":{"collection":"loops","id":"lp-1","data":{"status":"running"}}}"#)
        };
        changes.push(change.map_err(told)?);
    }
    Ok(Apply { changes })
}
