//! `pn record`: reads documents and changes from flags and standard input, and queries page by page.

use clap::{Args, Subcommand};
use pensa_core::ops::record::{
    self, Applied, Apply, Change, CollectionInfo, Compacted, Counted, Deleted, Indexed, Put, Query, QueryPage,
};
use pensa_core::record::{DATA_BYTES, Record};
use pensa_core::session::object;
use pensa_core::{Error, Op, Result, json};

use super::agent::run_agent_op;
use super::stdin;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{ListItem, Render, Screen, shorten, when};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RecordCommand {
    Put(RecordPutArgs),
    Get(record::Get),
    Query(Query),
    Count(record::Count),
    Delete(record::Delete),
    Collections(record::Collections),
    Index(record::Index),
    Apply(RecordApplyArgs),
    Compact(record::Compact),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  pn record put jobs '{\"status\":\"running\",\"iteration\":1}' --id job-1
  pn record put jobs - --id job-1 --if-rev 12 <job.json")]
pub(crate) struct RecordPutArgs {
    #[command(flatten)]
    pub(crate) op: Put,
    /// The document, a JSON object; - reads it from standard input
    #[arg(value_name = "JSON")]
    pub(crate) document: String,
}

/// Change many records in one transaction: all changes happen, or none
///
/// Each line of standard input is one change: {"put":{"collection":…,"data":{…}}} with id, if_rev, if_present or
/// updated_at, or {"delete":{"collection":…,"id":…}} with if_rev.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  printf '%s\\n' '{\"put\":{\"collection\":\"jobs\",\"id\":\"job-1\",\"data\":{}}}' | pn record apply")]
pub(crate) struct RecordApplyArgs {}

pub(super) fn run(options: &GlobalOptions, output: Output, command: RecordCommand) -> Result<()> {
    match command {
        RecordCommand::Put(args) => run_agent_op(options, output, &put(args)?),
        RecordCommand::Get(op) => run_agent_op(options, output, &op),
        RecordCommand::Query(op) => query(options, output, op),
        RecordCommand::Count(op) => run_agent_op(options, output, &op),
        RecordCommand::Delete(op) => run_agent_op(options, output, &op),
        RecordCommand::Collections(op) => run_agent_op(options, output, &op),
        RecordCommand::Index(op) => run_agent_op(options, output, &op),
        RecordCommand::Apply(_) => run_agent_op(options, output, &apply(&stdin::read_within(Apply::MAX_BODY)?)?),
        RecordCommand::Compact(op) => run_agent_op(options, output, &op),
    }
}

fn put(args: RecordPutArgs) -> Result<Put> {
    let RecordPutArgs { op, mut document } = args;
    if document == "-" {
        document = stdin::read_within(2 * DATA_BYTES)?;
    }
    Ok(Put { data: object::parse_within("the record", &document, DATA_BYTES)?, ..op })
}

fn query(options: &GlobalOptions, output: Output, mut op: Query) -> Result<()> {
    let all_pages = || {
        let client = connect::client_for_agents(options)?;
        let mut all: Vec<Record> = Vec::new();
        loop {
            let QueryPage { records, next } = client.call(&op)?;
            let got = u32::try_from(records.len()).unwrap_or(u32::MAX);
            all.extend(records);
            op.limit = op.limit.map(|limit| limit.saturating_sub(got));
            op.after = next;
            if op.after.is_none() || op.limit == Some(0) {
                return Ok(all);
            }
        }
    };
    output.answer(&with_progress(output, all_pages)?)
}

/// Parses concatenated JSON changes.
fn apply(text: &str) -> Result<Apply> {
    let mut changes = Vec::new();
    for change in serde_json::Deserializer::from_str(text).into_iter::<Change>() {
        let at = changes.len() + 1;
        let invalid = |e: serde_json::Error| {
            Error::invalid(format!("change {at}: {e}"))
                .hint(r#"such as {"put":{"collection":"loops","id":"lp-1","data":{"status":"running"}}}"#)
        };
        changes.push(change.map_err(invalid)?);
    }
    Ok(Apply { changes })
}

impl Render for Record {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(&format!(" rev {} ", self.rev)).faint(&when(self.updated_at)).end();
        for (name, value) in &self.data {
            screen.plain("  ").text(name).plain(": ");
            match value.as_str() {
                Some(text) => screen.text(text).end(),
                None => screen.text(&json::to_line(value).unwrap_or_default()).end(),
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.clone()]
    }
}

impl ListItem for Record {
    const NOUN: [&str; 2] = ["record", "records"];

    fn render_item(&self, screen: &mut Screen) {
        let data = json::to_line(&self.data).unwrap_or_default();
        screen.id(&self.id).plain(" ").text(&shorten(&data)).end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.clone()]
    }
}

impl Render for Counted {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&self.count.to_string()).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.count.to_string()]
    }
}

impl Render for Deleted {
    fn render(&self, screen: &mut Screen) {
        match self.ids.as_slice() {
            [id] => screen.plain("deleted ").id(id).end(),
            ids => screen.plain(&format!("deleted {} records", ids.len())).end(),
        }
    }

    fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }
}

fn collection_line(collection: &CollectionInfo, screen: &mut Screen) {
    screen.id(&collection.collection).plain(&format!(" {} records", collection.records));
    if !collection.indexes.is_empty() {
        screen.plain(", by ").text(&collection.indexes.join(", "));
    }
    screen.end();
}

impl ListItem for CollectionInfo {
    const NOUN: [&str; 2] = ["collection", "collections"];

    fn render_item(&self, screen: &mut Screen) {
        collection_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.collection.clone()]
    }
}

impl Render for Indexed {
    fn render(&self, screen: &mut Screen) {
        collection_line(&self.collection, screen);
    }

    fn ids(&self) -> Vec<String> {
        self.collection.indexes.clone()
    }
}

impl Render for Vec<Applied> {
    fn render(&self, screen: &mut Screen) {
        for applied in self {
            let became = applied.rev.map_or_else(|| " deleted".to_owned(), |rev| format!(" rev {rev}"));
            screen.id(&applied.id).plain(&became).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|applied| applied.id.clone()).collect()
    }
}

impl Render for Compacted {
    fn render(&self, screen: &mut Screen) {
        let Self { collections, bytes_before, bytes } = self;
        screen.plain(&format!("{collections} collections, {bytes_before} bytes before, {bytes} now")).end();
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}
