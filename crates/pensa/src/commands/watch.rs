//! `pn watch`: shows the queue or an issue again whenever it changes.
//!
//! Each redraw is one write that resets the terminal modes it sets, so an interrupt leaves nothing to restore.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use std::{io, thread};

use clap::{Args, Subcommand, ValueEnum};
use pensa_client::Client;
use pensa_core::id::IssueRef;
use pensa_core::issue::Status;
use pensa_core::ops::issue::Show;
use pensa_core::ops::{event, issue};
use pensa_core::{Code, Error, Result, json};
use rustix::termios::{Winsize, tcgetwinsize};
use serde::Serialize;
use serde_json::json;

use super::issue::ShownIssue;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// Watch the queue or an issue, and show it again whenever it changes
///
/// A terminal is redrawn in place. Any other output gets one line of JSON per change.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum WatchCommand {
    Ready(WatchReadyArgs),
    Issue(WatchIssueArgs),
}

/// Watch the queue: open issues that nothing blocks, most urgent first
///
///   pn watch ready -n 10
///   pn watch ready --until some && pn next
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WatchReadyArgs {
    #[command(flatten)]
    pub(crate) op: issue::Ready,
    /// End as soon as an issue is ready, or as soon as anything changes
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) until: Option<UntilReady>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UntilReady {
    Some,
    Changed,
}

/// Watch an issue with its dependencies and comments, until it is deleted
///
///   pn watch issue pn-1a2b
///   pn watch issue pn-1a2b --until closed --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WatchIssueArgs {
    /// Which issue: its id, or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) id: IssueRef,
    /// End as soon as it has this status, or as soon as anything changes
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) until: Option<UntilIssue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum UntilIssue {
    Open,
    InProgress,
    Closed,
    Changed,
}

/// How often the size of the terminal is checked.
const RESIZE_POLL: Duration = Duration::from_millis(250);

pub(super) fn run(options: &GlobalOptions, output: Output, command: WatchCommand) -> Result<()> {
    let client = connect::client(options)?;
    match command {
        WatchCommand::Ready(args) => ready(&client, output, &args),
        WatchCommand::Issue(args) => issue(&client, output, args),
    }
}

fn ready(client: &Client, output: Output, args: &WatchReadyArgs) -> Result<()> {
    let mut view = WatchedView::new(client, output)?;
    let mut is_first = true;
    loop {
        let queue = client.call(&args.op)?;
        if !view.show(&queue)? {
            return Ok(());
        }
        match args.until {
            Some(UntilReady::Some) if !queue.is_empty() => return Ok(()),
            Some(UntilReady::Changed) if !is_first && view.has_changed => return Ok(()),
            _ => {}
        }
        is_first = false;
        view.wait()?;
    }
}

fn issue(client: &Client, output: Output, args: WatchIssueArgs) -> Result<()> {
    let mut view = WatchedView::new(client, output)?;
    let mut id = args.id;
    let mut is_first = true;
    loop {
        let detail = match client.call(&Show { id: id.clone() }) {
            Err(e) if e.code == Code::NotFound && !is_first => return deleted(&view, &id.to_string(), args.until),
            shown => shown?,
        };
        // Use the full id: a prefix may match another issue later.
        id = (&detail.issue.id).into();
        let status = detail.issue.status;
        if !view.show(&ShownIssue { detail, created_by: None })? {
            return Ok(());
        }
        let is_over = args.until.is_some_and(|until| match until {
            UntilIssue::Open => status == Status::Open,
            UntilIssue::InProgress => status == Status::InProgress,
            UntilIssue::Closed => status == Status::Closed,
            UntilIssue::Changed => !is_first && view.has_changed,
        });
        if is_over {
            return Ok(());
        }
        is_first = false;
        view.wait()?;
    }
}

/// Ends the watch of a deleted issue; an error if the caller waits for a status.
fn deleted(view: &WatchedView, id: &str, until: Option<UntilIssue>) -> Result<()> {
    if until.is_some_and(|until| until != UntilIssue::Changed) {
        return Err(Error::not_found("issue", id).hint("it was deleted while it was watched; pn undo brings it back"));
    }
    if view.terminal.is_none() {
        return view.output.line(&json::to_line(&json!({"status": "deleted", "id": id}))?);
    }
    view.output.note(&format!("{id} was deleted"));
    Ok(())
}

/// A view that is printed whenever it changes.
struct WatchedView {
    output: Output,
    news: Receiver<Result<()>>,
    /// The last answer, as JSON.
    last: Option<String>,
    has_changed: bool,
    /// Redraws in place, if standard output is a terminal for people.
    terminal: Option<InPlaceDisplay>,
}

impl WatchedView {
    fn new(client: &Client, output: Output) -> Result<Self> {
        // Follow from before the first query, so that no change in between is missed.
        let end = client.call(&event::List { limit: Some(0), ..event::List::default() })?.end;
        let mut following = client.follow(&event::List::default(), end)?;
        let (sender, news) = mpsc::sync_channel(1);
        thread::spawn(move || {
            loop {
                let event = following.wait().map(drop);
                let is_over = event.is_err();
                if sender.send(event).is_err() || is_over {
                    return;
                }
            }
        });
        let terminal = (output.is_human() && output.can_draw()).then(InPlaceDisplay::default);
        Ok(Self { output, news, last: None, has_changed: false, terminal })
    }

    /// Prints an answer if it has changed. Returns false if the reader closed the pipe.
    fn show<T: Serialize + Render>(&mut self, what: &T) -> Result<bool> {
        let line = json::to_line(what)?;
        self.has_changed = self.last.as_ref() != Some(&line);
        let Some(terminal) = &mut self.terminal else {
            let is_new = self.has_changed;
            let text = format!("{line}\n");
            self.last = Some(line);
            return if is_new { self.output.try_raw(text.as_bytes()) } else { Ok(true) };
        };
        self.last = Some(line);
        let mut screen = Screen::new(self.output.has_colours());
        what.render(&mut screen);
        let text = String::from_utf8_lossy(screen.as_bytes());
        let drawn = terminal.draw(if text.is_empty() { "nothing\n" } else { &text }, size());
        self.output.try_raw(drawn.as_bytes())
    }

    /// Waits for an event or a new terminal size.
    fn wait(&self) -> Result<()> {
        loop {
            match self.news.recv_timeout(RESIZE_POLL) {
                Ok(news) => return news,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("nobody follows the log any more")),
                Err(RecvTimeoutError::Timeout) => {
                    if self.terminal.as_ref().is_some_and(|terminal| terminal.size != Some(size())) {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Lines and columns of a terminal.
type ScreenSize = (usize, usize);

fn size() -> ScreenSize {
    match tcgetwinsize(io::stdout()) {
        Ok(Winsize { ws_row: rows @ 1.., ws_col: columns @ 1.., .. }) => (rows.into(), columns.into()),
        _ => (24, 80),
    }
}

/// Redraws text in place on a terminal.
#[derive(Debug, Default)]
struct InPlaceDisplay {
    lines: usize,
    size: Option<ScreenSize>,
    text: String,
}

impl InPlaceDisplay {
    /// Returns what draws `text` over the previous text, as far as the terminal has lines; empty if nothing has changed.
    fn draw(&mut self, text: &str, size: ScreenSize) -> String {
        let same_size = self.size == Some(size);
        if same_size && self.text == text {
            return String::new();
        }
        let room = size.0.saturating_sub(1).max(1);
        let all = text.lines().count();
        let shown = if all > room { room - 1 } else { all };
        // Turn off line wrap: long lines end at the margin.
        let mut drawn = "\u{1b}[?7l".to_owned();
        match (self.lines, same_size) {
            (0, _) => {}
            // After a resize the position of the old lines is unknown.
            (_, false) => drawn.push_str("\u{1b}[H\u{1b}[2J"),
            (lines, true) => drawn.push_str(&format!("\u{1b}[{lines}F")),
        }
        for line in text.lines().take(shown) {
            drawn.push_str(&format!("{line}\u{1b}[K\n"));
        }
        if all > shown {
            drawn.push_str(&format!("… and {} more lines\u{1b}[K\n", all - shown));
        }
        drawn.push_str("\u{1b}[J\u{1b}[?7h");
        *self = Self { lines: all.min(room), size: Some(size), text: text.to_owned() };
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_replaces_the_previous_one_and_fits_the_terminal() {
        let mut terminal = InPlaceDisplay::default();
        assert_eq!(terminal.draw("a\nb\n", (5, 80)), "\u{1b}[?7la\u{1b}[K\nb\u{1b}[K\n\u{1b}[J\u{1b}[?7h");
        assert_eq!(terminal.draw("a\nb\n", (5, 80)), "", "nothing has changed");
        assert!(terminal.draw("c\n", (5, 80)).starts_with("\u{1b}[?7l\u{1b}[2Fc\u{1b}[K\n"));
        let long = terminal.draw(&"x\n".repeat(50), (5, 80));
        assert!(long.starts_with("\u{1b}[?7l\u{1b}[1Fx"), "{long:?}");
        assert_eq!((long.matches('\n').count(), long.contains("… and 47 more lines")), (4, true), "{long:?}");
        assert!(terminal.draw("d\n", (5, 80)).contains("\u{1b}[4Fd"));
        assert!(terminal.draw("d\n", (9, 20)).contains("\u{1b}[H\u{1b}[2Jd"), "another size is a new beginning");
        assert!(terminal.draw("e\nf\n", (1, 1)).matches('\n').count() == 1);
    }
}
