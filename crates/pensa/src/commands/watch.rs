//! `pn watch`: a view that is shown again whenever it changes.
//!
//! Nothing is left to restore on a terminal: every drawing is one piece of text that ends with the terminal as it was.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pensa_client::Client;
use pensa_core::issue::Status;
use pensa_core::ops::event;
use pensa_core::ops::issue::Show;
use pensa_core::{Code, Error, Result, json};
use rustix::termios::{Winsize, tcgetwinsize};
use serde::Serialize;
use serde_json::json;

use crate::cli::{Options, UntilIssue, UntilReady, Watch, WatchIssue, WatchReady};
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// How often it is looked whether the terminal has another size.
const GLANCE: Duration = Duration::from_millis(250);

pub(super) fn run(options: &Options, output: Output, command: Watch) -> Result<()> {
    let client = connect::client(options)?;
    match command {
        Watch::Ready(args) => ready(&client, output, &args),
        Watch::Issue(args) => issue(&client, output, args),
    }
}

fn ready(client: &Client, output: Output, args: &WatchReady) -> Result<()> {
    let mut view = View::new(client, output)?;
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

fn issue(client: &Client, output: Output, args: WatchIssue) -> Result<()> {
    let mut view = View::new(client, output)?;
    let mut id = args.id;
    let mut is_first = true;
    loop {
        let detail = match client.call(&Show { id: id.clone() }) {
            Err(e) if e.code == Code::NotFound && !is_first => return deleted(&view, &id.to_string(), args.until),
            shown => shown?,
        };
        // What a prefix means may be another tomorrow.
        id = (&detail.issue.id).into();
        if !view.show(&detail)? {
            return Ok(());
        }
        let status = detail.issue.status;
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

/// The end of watching an issue that is gone. Whoever waits for something else waits in vain.
fn deleted(view: &View, id: &str, until: Option<UntilIssue>) -> Result<()> {
    if until.is_some_and(|until| until != UntilIssue::Changed) {
        return Err(Error::not_found("issue", id).hint("it was deleted while it was watched; pn undo brings it back"));
    }
    if view.terminal.is_none() {
        return view.output.line(&json::to_line(&json!({"status": "deleted", "id": id}))?);
    }
    view.output.note(&format!("{id} was deleted"));
    Ok(())
}

/// Where something is shown again and again.
struct View {
    output: Output,
    news: Receiver<Result<()>>,
    /// What was shown last, as JSON.
    last: Option<String>,
    has_changed: bool,
    /// If it is drawn in place.
    terminal: Option<Terminal>,
}

impl View {
    fn new(client: &Client, output: Output) -> Result<Self> {
        // From before the first look: what changes in between is seen twice rather than never.
        let end = client.call(&event::List { limit: Some(0), ..event::List::default() })?.end;
        let mut following = client.follow(&event::List::default(), end)?;
        let (tell, news) = mpsc::sync_channel(1);
        thread::spawn(move || {
            loop {
                let told = following.wait().map(drop);
                let is_over = told.is_err();
                if tell.send(told).is_err() || is_over {
                    return;
                }
            }
        });
        let terminal = (output.is_for_people() && output.can_draw()).then(Terminal::default);
        Ok(Self { output, news, last: None, has_changed: false, terminal })
    }

    /// Shows it, if it is not what was shown before. False if nobody looks any more.
    fn show<T: Serialize + Render>(&mut self, what: &T) -> Result<bool> {
        let line = json::to_line(what)?;
        self.has_changed = self.last.as_ref() != Some(&line);
        let Some(terminal) = &mut self.terminal else {
            let is_new = self.has_changed;
            let told = format!("{line}\n");
            self.last = Some(line);
            return if is_new { self.output.try_raw(told.as_bytes()) } else { Ok(true) };
        };
        self.last = Some(line);
        let mut screen = Screen::new(self.output.has_colours());
        what.render(&mut screen);
        let text = String::from_utf8_lossy(screen.as_bytes());
        let drawn = terminal.draw(if text.is_empty() { "nothing\n" } else { &text }, size());
        self.output.try_raw(drawn.as_bytes())
    }

    /// Waits until there is a reason to look again.
    fn wait(&self) -> Result<()> {
        loop {
            match self.news.recv_timeout(GLANCE) {
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

/// Lines and columns of the terminal.
type Size = (usize, usize);

fn size() -> Size {
    match tcgetwinsize(io::stdout()) {
        Ok(Winsize { ws_row: rows @ 1.., ws_col: columns @ 1.., .. }) => (rows.into(), columns.into()),
        _ => (24, 80),
    }
}

/// What was drawn last.
#[derive(Debug, Default)]
struct Terminal {
    lines: usize,
    size: Option<Size>,
    text: String,
}

impl Terminal {
    /// What draws `text` over what was drawn before, as far as there is room; nothing if it is there already.
    fn draw(&mut self, text: &str, size: Size) -> String {
        let same_size = self.size == Some(size);
        if same_size && self.text == text {
            return String::new();
        }
        let room = size.0.saturating_sub(1).max(1);
        let all = text.lines().count();
        let shown = if all > room { room - 1 } else { all };
        // Lines that are too long end at the margin instead of going on in the next.
        let mut drawn = "\u{1b}[?7l".to_owned();
        match (self.lines, same_size) {
            (0, _) => {}
            // Where the lines are now, nobody knows.
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
    fn a_view_is_drawn_over_the_one_before_and_never_beyond_the_terminal() {
        let mut terminal = Terminal::default();
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
