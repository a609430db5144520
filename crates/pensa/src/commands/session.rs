//! `pn session`: reads entries, pages through long histories, and writes transcripts.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};

use pensa_client::Client;
use pensa_core::id::{AgentRef, EntriesRef};
use pensa_core::ops::agent;
use pensa_core::ops::session::{Append, DeletedSessions, History, PRUNED_AT_ONCE, Prune, Show};
use pensa_core::session::{Entry, MAX_ENTRY_BYTES, NewEntry, Object, Summary, markdown, object};
use pensa_core::{Code, Error, Result, json};

use super::agent::pass_on;
use super::stdin;
use crate::cli::{ExportFormat, Options, Session, SessionAppend, SessionExport};
use crate::connect;
use crate::output::Output;
use crate::progress::watched;

/// Longest line of standard input that is an entry: its data, and what stands beside it.
const MAX_LINE: usize = MAX_ENTRY_BYTES + (1 << 20);

pub(super) fn run(options: &Options, output: Output, command: Session) -> Result<()> {
    match command {
        Session::List(op) => {
            let mut all = watched(output, || connect::client_for_agents(options)?.call(&op))?;
            price(options, output, &mut all)?;
            output.answer(&all)
        }
        Session::Show(op) => {
            let mut one = watched(output, || connect::client_for_agents(options)?.call(&op))?;
            price(options, output, std::slice::from_mut(&mut one))?;
            output.answer(&one)
        }
        Session::Archive(op) => pass_on(options, output, &op),
        Session::Delete(op) => pass_on(options, output, &op),
        Session::Prune(op) => output.answer(&watched(output, || prune(&connect::client_for_agents(options)?, &op))?),
        Session::Reset(mut op) => {
            stdin::fill(&mut op.message)?;
            pass_on(options, output, &op)
        }
        Session::Compact(mut op) => {
            stdin::replace(&mut op.summary)?;
            pass_on(options, output, &op)
        }
        Session::Append(args) => pass_on(options, output, &append(args)?),
        Session::History(op) => history(options, output, op),
        Session::Context(op) => pass_on(options, output, &op),
        Session::Export(args) => export(options, output, &args),
        Session::Search(op) => pass_on(options, output, &op),
    }
}

/// Adds what sessions cost, by the prices in the settings. A sum that lacks a model would be wrong, so it is left out.
fn price(options: &Options, output: Output, sessions: &mut [Summary]) -> Result<()> {
    let config = connect::config(options)?;
    if !config.has_prices() {
        return Ok(());
    }
    let mut unpriced = BTreeSet::new();
    for summary in sessions {
        match config.cost(&summary.tokens)? {
            Ok(cost) => summary.cost_usd = Some(cost),
            Err(models) => unpriced.extend(models),
        }
    }
    if !unpriced.is_empty() {
        let models: Vec<String> = unpriced.into_iter().collect();
        output.note(&format!("note: no prices are set for {}", models.join(", ")));
    }
    Ok(())
}

/// Deletes old sessions, some at a time, until there are no more.
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

fn append(args: SessionAppend) -> Result<Append> {
    let SessionAppend { id, input, entry_type, data } = args;
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

/// Reads one entry a line; blank lines count, but say nothing.
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
            let told = format!("entry has more than {MAX_LINE} bytes; the limit is {MAX_ENTRY_BYTES}");
            return Err(within(
                Error::new(Code::TooLarge, told).hint("keep large output in a file and name it in the entry"),
            ));
        }
        let text = str::from_utf8(&line).map_err(|_| within(Error::invalid("entry is not UTF-8")))?;
        if !text.trim().is_empty() {
            entries.push(NewEntry::from_line(text).map_err(within)?);
        }
    }
    Ok(entries)
}

/// Asks for entries until there are no more, or as many as were wanted, a part at a time.
fn pages(client: &Client, mut op: History, mut each: impl FnMut(Vec<Entry>) -> Result<()>) -> Result<()> {
    loop {
        let page = client.call(&op)?;
        let Some(last) = page.last() else { return Ok(()) };
        op.after = Some(last.id);
        let got = u32::try_from(page.len()).unwrap_or(u32::MAX);
        each(page)?;
        op.limit = op.limit.map(|wanted| wanted.saturating_sub(got));
        if op.limit == Some(0) {
            return Ok(());
        }
    }
}

fn history(options: &Options, output: Output, op: History) -> Result<()> {
    let mut entries = Vec::new();
    watched(output, || {
        pages(&connect::client_for_agents(options)?, op, |mut page| {
            entries.append(&mut page);
            Ok(())
        })
    })?;
    output.answer(&entries)
}

fn export(options: &Options, output: Output, args: &SessionExport) -> Result<()> {
    let client = connect::client_for_agents(options)?;
    let session = client.call(&Show { id: args.id.clone() })?.session;
    let op = History { id: EntriesRef::from(&session.id), all: false, after: None, limit: None };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_entries_and_a_bad_one_is_named() {
        let good = "{\"type\":\"note\",\"text\":\"a\"}\n\n  \r\n{\"type\":\"note\",\"data\":{\"text\":\"b\"}}";
        let entries = read_entries(good.as_bytes()).expect("two entries");
        assert_eq!(entries.iter().map(|entry| &entry.data["text"]).collect::<Vec<_>>(), ["a", "b"]);
        assert!(read_entries("".as_bytes()).expect("nothing").is_empty());
        for (bad, told) in [
            (&b"\n{"[..], "line 2: entry is not JSON"),
            (b"{\"type\":\"note\"}\n[]", "line 2: entry is a list"),
            (b"{\"type\":\"note\"}\n\xff\n", "line 2: entry is not UTF-8"),
            (b"{\"type\":\"start\"}", "line 1: start is not a type"),
        ] {
            let error = read_entries(bad).expect_err(told);
            assert!(error.message.starts_with(told), "{error}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let error = read_entries(io::BufReader::new(io::repeat(b'x'))).expect_err("endless");
        assert_eq!(error.code, Code::TooLarge);
        assert!(error.message.contains(&MAX_ENTRY_BYTES.to_string()), "{error}");
    }
}
