//! `pn session`: appends entries, reads long histories page by page, and writes transcripts.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};

use clap::{Args, Subcommand, ValueEnum};
use pensa_client::Client;
use pensa_core::id::{AgentRef, EntriesRef, SessionRef};
use pensa_core::ops::session::{Append, Appended, DeletedSessions, EntryMatch, History, PRUNED_AT_ONCE, Prune, Show};
use pensa_core::ops::{agent, session};
use pensa_core::session::{
    Entry, EntryType, MAX_ENTRY_BYTES, Message, NewEntry, Object, Session, SessionSummary, Spent, Tokens, markdown,
    object,
};
use pensa_core::{Code, Error, Result, Span, json};

use super::agent::run_agent_op;
use super::replay::{self, SessionReplayArgs};
use super::stdin;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{ListItem, Render, Screen, counted, field, print_redactions, shorten, shorten_json, when};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SessionCommand {
    List(session::List),
    Show(Show),
    Archive(session::Archive),
    Delete(session::Delete),
    Prune(Prune),
    Reset(session::Reset),
    Compact(session::Compact),
    Append(SessionAppendArgs),
    History(History),
    Context(session::Context),
    Export(SessionExportArgs),
    Replay(SessionReplayArgs),
    Search(session::Search),
}

/// Append entries to the active session of an agent: all of them, or none
///
/// One entry is given by --type and --data. With - in place of them, standard input has one entry a line:
///
///   {"type":"user_message","data":{"text":"hello"}}
///   {"type":"user_message","text":"hello","at":"2026-02-27T14:30:00.000Z"}
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SessionAppendArgs {
    /// Which agent: its id, the beginning of it, or its name
    #[arg(value_name = "AGENT")]
    pub(crate) id: AgentRef,
    /// Read entries from standard input, one JSON object a line
    #[arg(value_name = "-", value_parser = ["-"], required_unless_present = "entry_type",
        conflicts_with_all = ["entry_type", "data"])]
    pub(crate) input: Option<String>,
    /// What kind of entry it is, such as user_message, assistant_message, tool_result or note
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub(crate) entry_type: Option<EntryType>,
    /// The content, a JSON object; - reads it from standard input
    #[arg(short, long, value_name = "JSON", allow_hyphen_values = true, requires = "entry_type")]
    pub(crate) data: Option<String>,
}

/// Print all entries of a session, as JSON Lines or as a transcript
#[derive(Debug, Args)]
pub(crate) struct SessionExportArgs {
    /// Which session: its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    pub(crate) id: SessionRef,
    /// One entry a line, or a transcript that a person can read
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    pub(crate) format: ExportFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Jsonl,
    Markdown,
}

/// The most bytes of an entry line on standard input: its data and the other fields.
const MAX_LINE: usize = MAX_ENTRY_BYTES + (1 << 20);

pub(super) fn run(options: &GlobalOptions, output: Output, command: SessionCommand) -> Result<()> {
    match command {
        SessionCommand::List(op) => {
            let mut all = with_progress(output, || connect::client_for_agents(options)?.call(&op))?;
            price(options, output, &mut all)?;
            output.answer(&all)
        }
        SessionCommand::Show(op) => {
            let mut one = with_progress(output, || connect::client_for_agents(options)?.call(&op))?;
            price(options, output, std::slice::from_mut(&mut one))?;
            output.answer(&one)
        }
        SessionCommand::Archive(op) => run_agent_op(options, output, &op),
        SessionCommand::Delete(op) => run_agent_op(options, output, &op),
        SessionCommand::Prune(op) => {
            output.answer(&with_progress(output, || prune(&connect::client_for_agents(options)?, &op))?)
        }
        SessionCommand::Reset(mut op) => {
            stdin::fill(&mut op.message)?;
            run_agent_op(options, output, &op)
        }
        SessionCommand::Compact(mut op) => {
            stdin::replace(&mut op.summary)?;
            run_agent_op(options, output, &op)
        }
        SessionCommand::Append(args) => run_agent_op(options, output, &append(args)?),
        SessionCommand::History(op) => history(options, output, op),
        SessionCommand::Context(op) => run_agent_op(options, output, &op),
        SessionCommand::Export(args) => export(options, output, &args),
        SessionCommand::Replay(args) => replay::run(options, output, &args),
        SessionCommand::Search(op) => run_agent_op(options, output, &op),
    }
}

/// Computes the cost of sessions by the prices in the settings, if there are any. Without a price for every model there is
/// no cost: a partial sum would be wrong.
fn price(options: &GlobalOptions, output: Output, sessions: &mut [SessionSummary]) -> Result<()> {
    let config = connect::config(options)?;
    if !config.has_prices() {
        return Ok(());
    }
    let (prices, mut unpriced) = (config.prices()?, BTreeSet::new());
    for summary in sessions {
        let spent = Spent::new(std::mem::take(&mut summary.tokens), &prices);
        unpriced.extend(spent.unpriced(&prices).map(str::to_owned));
        (summary.tokens, summary.cost_usd) = (spent.models, spent.cost_usd);
    }
    if !unpriced.is_empty() {
        let models: Vec<String> = unpriced.into_iter().collect();
        output.note(&format!("note: no prices are set for {}", models.join(", ")));
    }
    Ok(())
}

/// Deletes old sessions in batches until none are left.
fn prune(client: &Client, op: &Prune) -> Result<DeletedSessions> {
    let mut all = DeletedSessions::default();
    loop {
        let gone = client.call(op)?;
        let is_last = gone.ids.len() < PRUNED_AT_ONCE as usize;
        all.ids.extend(gone.ids);
        all.entries += gone.entries;
        if is_last {
            return Ok(all);
        }
    }
}

fn append(args: SessionAppendArgs) -> Result<Append> {
    let SessionAppendArgs { id, input, entry_type, data } = args;
    let entries = match (entry_type, input) {
        (Some(entry_type), _) => {
            let data = data.map_or_else(|| Ok(Object::new()), |text| parse_data(&text))?;
            vec![NewEntry { entry_type, at: None, data }]
        }
        (None, _) => read_entries(io::stdin().lock())?,
    };
    Ok(Append { id, entries, no_redact: false })
}

fn parse_data(text: &str) -> Result<Object> {
    let piped = if text == "-" { Some(stdin::read_within(MAX_LINE)?) } else { None };
    object::parse_within("data", piped.as_deref().unwrap_or(text), MAX_ENTRY_BYTES)
}

/// Reads one entry per line; blank lines are skipped but counted.
fn read_entries(mut lines: impl BufRead) -> Result<Vec<NewEntry>> {
    let (mut entries, mut line) = (Vec::new(), Vec::new());
    for number in 1.. {
        line.clear();
        let within = |error: Error| error.within(format!("line {number}"));
        let read = lines.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line);
        if read.map_err(|e| within(Error::internal(format!("cannot read standard input: {e}"))))? == 0 {
            break;
        }
        if line.len() > MAX_LINE {
            let message = format!("entry has more than {MAX_LINE} bytes; the limit is {MAX_ENTRY_BYTES}");
            return Err(within(
                Error::new(Code::TooLarge, message).hint("keep large output in a file and name it in the entry"),
            ));
        }
        let text = str::from_utf8(&line).map_err(|_| within(Error::invalid("entry is not UTF-8")))?;
        if !text.trim().is_empty() {
            entries.push(NewEntry::from_line(text).map_err(within)?);
        }
    }
    Ok(entries)
}

/// Calls `each` with page after page of a history, up to the limit of `op`.
pub(super) fn pages(client: &Client, mut op: History, mut each: impl FnMut(Vec<Entry>) -> Result<()>) -> Result<()> {
    loop {
        let page = client.call(&op)?;
        let Some(last) = page.last() else { return Ok(()) };
        op.after = Some(last.id);
        let got = u32::try_from(page.len()).unwrap_or(u32::MAX);
        each(page)?;
        op.limit = op.limit.map(|limit| limit.saturating_sub(got));
        if op.limit == Some(0) {
            return Ok(());
        }
    }
}

fn history(options: &GlobalOptions, output: Output, op: History) -> Result<()> {
    let mut entries = Vec::new();
    with_progress(output, || {
        pages(&connect::client_for_agents(options)?, op, |mut page| {
            entries.append(&mut page);
            Ok(())
        })
    })?;
    output.answer(&entries)
}

fn export(options: &GlobalOptions, output: Output, args: &SessionExportArgs) -> Result<()> {
    let client = connect::client_for_agents(options)?;
    let session = client.call(&Show { id: args.id.clone() })?.session;
    let op = History { id: EntriesRef::from(&session.id), all: false, after: None, skip: None, limit: None };
    if args.format == ExportFormat::Jsonl {
        return pages(&client, op, |page| {
            let mut lines = Vec::new();
            for entry in &page {
                json::write_line(&mut lines, entry)?;
                lines.push(b'\n');
            }
            output.raw(&lines)
        });
    }
    let agent = client.call(&agent::Show { id: AgentRef::from(&session.agent_id) })?;
    let mut entries = Vec::new();
    pages(&client, op, |mut page| {
        entries.append(&mut page);
        Ok(())
    })?;
    let mut transcript = String::new();
    markdown(&agent, &session, &entries, &mut transcript);
    output.raw(transcript.as_bytes())
}

impl Render for Session {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(&format!(" of {} opened by {}", self.agent_id, self.opened_by)).end();
        field(screen, "opened", Some(when(self.created_at)));
        field(screen, "ended", self.ended_at.map(when));
        field(screen, "issue", self.issue_id.as_ref().map(ToString::to_string));
        field(screen, "run", self.run_id.as_ref().map(ToString::to_string));
        field(screen, "inference", self.inference_session_id.clone());
        if let Some(message) = &self.reset_message {
            screen.block(message);
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

/// The tokens of all models, and their cost.
fn spent(summary: &SessionSummary) -> Option<String> {
    let total = summary.tokens.values().fold(0_i64, |sum, usage| sum.saturating_add(usage.tokens.total));
    let cost = summary.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    (total > 0).then(|| format!("{total} tokens{cost}"))
}

impl Render for SessionSummary {
    fn render(&self, screen: &mut Screen) {
        self.session.render(screen);
        let took = Span::from_millis(self.duration_ms);
        field(screen, "entries", Some(format!("{} in {took}", self.entries)));
        field(screen, "archived", self.session.archived_at.map(when));
        field(screen, "spent", spent(self));
        for (model, usage) in &self.tokens {
            let Tokens { input, output, cache_read, cache_write, .. } = usage.tokens;
            let words =
                format!("{model}: input {input}, output {output}, cache read {cache_read}, cache write {cache_write}");
            field(screen, "", Some(words));
        }
    }

    fn ids(&self) -> Vec<String> {
        self.session.ids()
    }
}

impl ListItem for SessionSummary {
    const NOUN: [&str; 2] = ["session", "sessions"];

    fn render_item(&self, screen: &mut Screen) {
        let session = &self.session;
        screen.id(&session.id).plain(&format!(" {} {:<10} ", session.agent_id, session.opened_by));
        screen.faint(&when(session.created_at));
        screen.plain(&format!(" {}", counted(usize::try_from(self.entries).unwrap_or(0), "entry", "entries")));
        if let Some(spent) = spent(self) {
            screen.plain(", ").plain(&spent);
        }
        if session.ended_at.is_none() {
            screen.plain(" active");
        }
        if session.archived_at.is_some() {
            screen.plain(" archived");
        }
        if let Some(message) = &session.reset_message {
            screen.plain(" ").text(&shorten(message));
        }
        screen.end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.session.id.to_string()]
    }
}

impl Render for DeletedSessions {
    fn render(&self, screen: &mut Screen) {
        for id in &self.ids {
            screen.plain("deleted ").id(id).end();
        }
        let (sessions, entries) = (self.ids.len(), usize::try_from(self.entries).unwrap_or(0));
        let counts = (counted(sessions, "session", "sessions"), counted(entries, "entry", "entries"));
        screen.plain(&format!("{} with {}", counts.0, counts.1)).end();
    }

    fn ids(&self) -> Vec<String> {
        self.ids.iter().map(ToString::to_string).collect()
    }
}

impl Render for Appended {
    fn render(&self, screen: &mut Screen) {
        let entries = match (self.first, self.last) {
            (first, last) if first == last => format!("entry {first}"),
            (first, last) => format!("entries {first} to {last}"),
        };
        screen.plain(&format!("appended {entries} to ")).id(&self.session_id).end();
        print_redactions(screen, self.redactions);
    }

    fn ids(&self) -> Vec<String> {
        (self.first..=self.last).map(|id| id.to_string()).collect()
    }
}

impl ListItem for Entry {
    const NOUN: [&str; 2] = ["entry", "entries"];

    fn render_item(&self, screen: &mut Screen) {
        screen.faint(&format!("{:>6} {}", self.id, self.at)).plain(&format!(" {} ", self.entry_type));
        screen.text(&shorten_json(&self.data)).end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for Vec<Message> {
    fn render(&self, screen: &mut Screen) {
        for message in self {
            let role = format!("{:?}", message.role).to_lowercase();
            screen.heading(&role);
            if let Some(call) = &message.tool_call_id {
                screen.plain(" ").faint(call);
            }
            if message.is_error {
                screen.plain(" error");
            }
            screen.end();
            screen.block(&message.content);
            for call in &message.tool_calls {
                screen.plain("  -> ").text(&call.name).plain(" ").faint(&call.id).plain(" ");
                screen.text(&shorten_json(&call.arguments)).end();
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().filter_map(|message| message.entry).map(|id| id.to_string()).collect()
    }
}

impl ListItem for EntryMatch {
    const NOUN: [&str; 2] = ["entry", "entries"];

    fn render_item(&self, screen: &mut Screen) {
        screen.faint(&format!("{:>6} {}", self.id, self.at)).plain(" ").id(&self.agent_id).plain(" ");
        screen.id(&self.session_id).plain(&format!(" {} ", self.entry_type)).text(&self.excerpt).end();
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_entry_line_is_named_by_its_number() {
        let good = "{\"type\":\"note\",\"text\":\"a\"}\n\n  \r\n{\"type\":\"note\",\"data\":{\"text\":\"b\"}}";
        let entries = read_entries(good.as_bytes()).expect("two entries");
        assert_eq!(entries.iter().map(|entry| &entry.data["text"]).collect::<Vec<_>>(), ["a", "b"]);
        assert!(read_entries("".as_bytes()).expect("nothing").is_empty());
        for (bad, message) in [
            (&b"\n{"[..], "line 2: entry is not JSON"),
            (b"{\"type\":\"note\"}\n[]", "line 2: entry is a list"),
            (b"{\"type\":\"note\"}\n\xff\n", "line 2: entry is not UTF-8"),
            (b"{\"type\":\"start\"}", "line 1: start is not a type"),
        ] {
            let error = read_entries(bad).expect_err(message);
            assert!(error.message.starts_with(message), "{error}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let error = read_entries(io::BufReader::new(io::repeat(b'x'))).expect_err("endless");
        assert_eq!(error.code, Code::TooLarge);
        assert!(error.message.contains(&MAX_ENTRY_BYTES.to_string()), "{error}");
    }
}
