//! `pn watch`: shows the queue or an issue again whenever it changes. On a terminal `pensa-tui` draws it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use pensa_client::Client;
use pensa_core::id::IssueRef;
use pensa_core::issue::Status;
use pensa_core::ops::issue::Show;
use pensa_core::ops::{event, issue};
use pensa_core::{Code, Error, Result, json};
use serde::Serialize;
use serde_json::json;

use super::issue::ShownIssue;
use super::tui::WatchWindow;
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::Render;

/// Watch the queue or an issue, and show it again whenever it changes
///
/// A terminal shows it on the whole screen, and what it was at the end once that is over. Any other output gets one line of
/// JSON per change.
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

/// How often a terminal is drawn again although nothing has changed: ages grow, and its size may be another.
const REDRAW: Duration = Duration::from_millis(250);

pub(super) fn run(options: &GlobalOptions, output: Output, command: WatchCommand) -> Result<()> {
    let client = connect::client(options)?;
    let draws = output.is_human() && output.can_draw();
    let window = if draws { super::tui::watch_window(options)? } else { None };
    let view = WatchedView::new(&client, output, window)?;
    match command {
        WatchCommand::Ready(args) => ready(&client, view, &args),
        WatchCommand::Issue(args) => issue(&client, view, args),
    }
}

fn ready(client: &Client, mut view: WatchedView, args: &WatchReadyArgs) -> Result<()> {
    let mut is_first = true;
    loop {
        let queue = client.call(&args.op)?;
        if !view.show(&queue, |window| window.show_queue(&queue))? {
            return Ok(());
        }
        match args.until {
            Some(UntilReady::Some) if !queue.is_empty() => return view.end(&queue),
            Some(UntilReady::Changed) if !is_first && view.has_changed => return view.end(&queue),
            _ => {}
        }
        is_first = false;
        view.wait()?;
    }
}

fn issue(client: &Client, mut view: WatchedView, args: WatchIssueArgs) -> Result<()> {
    let mut id = args.id;
    let mut is_first = true;
    loop {
        let detail = match client.call(&Show { id: id.clone() }) {
            Err(e) if e.code == Code::NotFound && !is_first => return deleted(view, &id.to_string(), args.until),
            shown => shown?,
        };
        // Use the full id: a prefix may match another issue later.
        id = (&detail.issue.id).into();
        let status = detail.issue.status;
        if !view.show(&detail, |window| window.show_issue(detail.clone()))? {
            return Ok(());
        }
        let is_over = args.until.is_some_and(|until| match until {
            UntilIssue::Open => status == Status::Open,
            UntilIssue::InProgress => status == Status::InProgress,
            UntilIssue::Closed => status == Status::Closed,
            UntilIssue::Changed => !is_first && view.has_changed,
        });
        if is_over {
            return view.end(&ShownIssue { detail, created_by: None });
        }
        is_first = false;
        view.wait()?;
    }
}

/// Ends the watch of a deleted issue; an error if the caller waits for a status.
fn deleted(view: WatchedView, id: &str, until: Option<UntilIssue>) -> Result<()> {
    let (output, has_window) = (view.output, view.window.is_some());
    drop(view);
    if until.is_some_and(|until| until != UntilIssue::Changed) {
        return Err(Error::not_found("issue", id).hint("it was deleted while it was watched; pn undo brings it back"));
    }
    if !has_window {
        return output.line(&json::to_line(&json!({"status": "deleted", "id": id}))?);
    }
    output.note(&format!("{id} was deleted"));
    Ok(())
}

/// A view that is shown again whenever it changes.
struct WatchedView {
    output: Output,
    news: Receiver<Result<()>>,
    /// The last answer, as JSON.
    last: Option<String>,
    has_changed: bool,
    /// Draws it, if standard output is a terminal for people.
    window: Option<WatchWindow>,
}

impl WatchedView {
    fn new(client: &Client, output: Output, window: Option<WatchWindow>) -> Result<Self> {
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
        Ok(Self { output, news, last: None, has_changed: false, window })
    }

    /// Draws or prints an answer if it has changed. Returns false if the reader closed the pipe.
    fn show<T: Serialize>(&mut self, answer: &T, draw: impl FnOnce(&mut WatchWindow) -> Result<()>) -> Result<bool> {
        let line = json::to_line(answer)?;
        self.has_changed = self.last.as_ref() != Some(&line);
        if !self.has_changed {
            return Ok(true);
        }
        let is_open = match &mut self.window {
            Some(window) => draw(window).map(|()| true),
            None => self.output.try_raw(format!("{line}\n").as_bytes()),
        };
        self.last = Some(line);
        is_open
    }

    /// Gives the terminal back and leaves the last answer on it.
    fn end<T: Serialize + Render>(self, answer: &T) -> Result<()> {
        let (output, has_window) = (self.output, self.window.is_some());
        drop(self);
        if has_window { output.answer(answer) } else { Ok(()) }
    }

    /// Waits for an event.
    fn wait(&mut self) -> Result<()> {
        loop {
            match self.news.recv_timeout(REDRAW) {
                Ok(news) => return news,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("nobody follows the log any more")),
                Err(RecvTimeoutError::Timeout) => self.window.as_mut().map_or(Ok(()), WatchWindow::redraw)?,
            }
        }
    }
}
