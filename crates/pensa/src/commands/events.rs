//! `pn events`: prints the log of the store, and with `--follow` new events.

use clap::Args;
use pensa_client::Client;
use pensa_core::event::{LogEntry, describe};
use pensa_core::ops::event::List;
use pensa_core::{Error, Result, json};

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Screen, when};

/// List the events of the store, oldest first; with --follow, also new ones
///
/// With --json each event is a line of its own, as in the event stream of a daemon or server. To continue where an earlier
/// call ended, pass the number of its last event:
///
///   pn events --follow
///   pn events --after 120 --follow --json
///   pn events --subject pn-1a2b --type closed,reopened
///   pn events --subject agent --by ana -n 5
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    pub(crate) op: List,
    /// Continue with new events until interrupted
    #[arg(short, long)]
    pub(crate) follow: bool,
}

/// What the footer counts.
const NOUN: [&str; 2] = ["event", "events"];

pub(super) fn run(options: &GlobalOptions, output: Output, args: EventsArgs) -> Result<()> {
    let EventsArgs { op, follow } = args;
    if follow && op.after.is_some() && op.limit.is_some() {
        return Err(Error::invalid("-n would leave out some of what comes after --after")
            .hint("leave out -n, or --after: then the last N come first"));
    }
    let client = connect::client_for_any_store(options)?;
    if output.is_human() && !follow && op.after.is_none() {
        // A single page, which a terminal may show in the pager.
        let mut screen = Screen::new(output.has_colours());
        let events = client.call(&op)?.events;
        print_events(&events, &mut screen);
        screen.footer(events.len(), NOUN);
        return output.text(screen.as_str());
    }
    let Some((last, count)) = print_existing(&client, output, &op)? else {
        return Ok(());
    };
    if !follow {
        return print_footer(output, count);
    }
    let mut following = client.follow(&op, last)?;
    while print(output, &following.wait()?)? {}
    Ok(())
}

/// Prints the existing events. Returns the number of the last one and their count; `None` if the reader closed the pipe.
fn print_existing(client: &Client, output: Output, op: &List) -> Result<Option<(i64, usize)>> {
    let (mut op, mut count) = (op.clone(), 0);
    loop {
        let page = client.call(&op)?;
        if let Some(after) = op.after.filter(|after| *after > page.end) {
            return Err(Error::new(
                pensa_core::Code::Conflict,
                format!("the log ends at {}, before {after}", page.end),
            )
            .hint("the database was replaced, or the number is of another store"));
        }
        if !print(output, &page.events)? {
            return Ok(None);
        }
        count += page.events.len();
        op.limit = op.limit.map(|limit| limit.saturating_sub(u32::try_from(page.events.len()).unwrap_or(limit)));
        if op.after.is_none() || page.last >= page.end || op.limit == Some(0) {
            return Ok(Some((page.last, count)));
        }
        op.after = Some(page.last);
    }
}

/// Returns false if the reader closed the pipe.
fn print(output: Output, events: &[LogEntry]) -> Result<bool> {
    let mut text = Vec::new();
    if output.is_human() {
        let mut screen = Screen::new(output.has_colours());
        print_events(events, &mut screen);
        text.extend_from_slice(screen.as_bytes());
    }
    for event in events.iter().filter(|_| !output.is_human()) {
        match output.is_json() {
            true => json::write_line(&mut text, event)?,
            false => text.extend_from_slice(event.id.to_string().as_bytes()),
        }
        text.push(b'\n');
    }
    output.try_raw(&text)
}

/// Prints the count below the list, on a terminal only.
fn print_footer(output: Output, count: usize) -> Result<()> {
    if !output.is_human() {
        return Ok(());
    }
    let mut screen = Screen::new(output.has_colours());
    screen.footer(count, NOUN);
    output.raw(screen.as_bytes())
}

/// Prints each event as one line.
fn print_events(events: &[LogEntry], screen: &mut Screen) {
    for event in events {
        screen.faint(&format!("{:>4} {}", event.id, when(event.created_at))).plain(" ").text(&event.event_type);
        screen.plain(" ").text(&event.subject_kind).plain(" ").id(&event.subject_id).plain(" by ").text(&event.actor);
        let changes = describe(&event.detail);
        if !changes.is_empty() {
            screen.plain(": ").cut(&changes);
        }
        screen.end();
    }
}
