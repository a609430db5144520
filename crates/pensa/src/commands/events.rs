//! `pn events`: the log so far, and what happens from then on.

use pensa_client::Client;
use pensa_core::event::LogEntry;
use pensa_core::ops::event::List;
use pensa_core::{Error, Result, json};

use crate::cli::{Events, Options};
use crate::connect;
use crate::output::Output;
use crate::render::{Screen, log};

pub(super) fn run(options: &Options, output: Output, args: Events) -> Result<()> {
    let Events { op, follow } = args;
    if follow && op.after.is_some() && op.limit.is_some() {
        return Err(Error::invalid("-n would leave out some of what comes after --after")
            .hint("leave out -n, or --after: then the last N come first"));
    }
    let client = connect::client_for_any(options)?;
    let Some(last) = so_far(&client, output, &op)? else {
        return Ok(());
    };
    if !follow {
        return Ok(());
    }
    let mut following = client.follow(&op, last)?;
    while print(output, &following.wait()?)? {}
    Ok(())
}

/// Prints what there is, and gives the number of its end; nothing if nobody reads any more.
fn so_far(client: &Client, output: Output, op: &List) -> Result<Option<i64>> {
    let mut op = op.clone();
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
        op.limit = op.limit.map(|limit| limit.saturating_sub(u32::try_from(page.events.len()).unwrap_or(limit)));
        if op.after.is_none() || page.last >= page.end || op.limit == Some(0) {
            return Ok(Some(page.last));
        }
        op.after = Some(page.last);
    }
}

/// False if nobody reads it any more.
fn print(output: Output, events: &[LogEntry]) -> Result<bool> {
    let mut text = Vec::new();
    if output.is_for_people() {
        let mut screen = Screen::new(output.has_colours());
        events.iter().for_each(|event| log::line(event, &mut screen));
        text.extend_from_slice(screen.as_bytes());
    }
    for event in events.iter().filter(|_| !output.is_for_people()) {
        match output.is_json() {
            true => json::write_line(&mut text, event)?,
            false => text.extend_from_slice(event.id.to_string().as_bytes()),
        }
        text.push(b'\n');
    }
    output.try_raw(&text)
}
