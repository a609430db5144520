//! Collects text for a terminal. Text from data goes through [`Screen::text`], which removes control characters.

use pensa_core::issue::{Issue, Priority, Status};
use pensa_core::text;
use pensa_web::svg::Ink;

use super::{counted, fit_line, terminal};

#[derive(Debug)]
pub(crate) struct Screen {
    buffer: String,
    colours: bool,
}

#[derive(Debug, Clone, Copy)]
enum Style {
    Bold,
    Faint,
    Red,
    Green,
    Yellow,
    Cyan,
    /// Of Okabe and Ito's palette, whose colours stay apart for every kind of sight
    Open,
    Doing,
    Done,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Bold => "1",
            Style::Faint => "2",
            Style::Red => "31",
            Style::Green => "32",
            Style::Yellow => "33",
            Style::Cyan => "36",
            Style::Open => "38;5;74",
            Style::Doing => "38;5;214",
            Style::Done => "38;5;36",
        }
    }
}

impl Screen {
    pub(crate) fn new(colours: bool) -> Self {
        Self { buffer: String::new(), colours }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.buffer.as_bytes()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.buffer
    }

    /// Adds text of the program itself, unescaped.
    pub(crate) fn plain(&mut self, words: &str) -> &mut Self {
        self.buffer.push_str(words);
        self
    }

    /// Adds data as one line.
    pub(crate) fn text(&mut self, data: &str) -> &mut Self {
        self.buffer.push_str(&text::printable_line(data));
        self
    }

    /// Adds data to the line, cut to its rest on a terminal.
    pub(crate) fn cut(&mut self, data: &str) -> &mut Self {
        let line = self.buffer.rsplit('\n').next().unwrap_or_default();
        // Escape sequences of colours, `ESC [ … m`, take no room.
        let taken = line.split('\u{1b}').map(|part| part.chars().count());
        let colours = line.split('\u{1b}').skip(1).map(|part| part.split_inclusive('m').next().map_or(0, str::len));
        let taken = taken.sum::<usize>() - colours.sum::<usize>();
        self.plain(&fit_line(&text::printable_line(data), taken))
    }

    /// Adds data as lines, each indented by two spaces.
    pub(crate) fn block(&mut self, data: &str) -> &mut Self {
        for line in text::printable_block(data).lines() {
            self.plain("  ").plain(line).end();
        }
        self
    }

    pub(crate) fn heading(&mut self, data: &str) -> &mut Self {
        self.styled(Style::Bold, &text::printable_line(data))
    }

    pub(crate) fn faint(&mut self, data: &str) -> &mut Self {
        self.styled(Style::Faint, &text::printable_line(data))
    }

    /// A part of a drawing.
    pub(crate) fn drawn(&mut self, ink: Ink, data: &str) -> &mut Self {
        match ink {
            Ink::Lines => self.text(data),
            Ink::Open => self.styled(Style::Open, &text::printable_line(data)),
            Ink::Doing => self.styled(Style::Doing, &text::printable_line(data)),
            Ink::Done => self.styled(Style::Done, &text::printable_line(data)),
        }
    }

    /// Adds data in the colour of failures.
    pub(crate) fn error(&mut self, data: &str) -> &mut Self {
        self.styled(Style::Red, &text::printable_line(data))
    }

    pub(crate) fn id(&mut self, id: &dyn std::fmt::Display) -> &mut Self {
        self.styled(Style::Cyan, &text::printable_line(&id.to_string()))
    }

    pub(crate) fn priority(&mut self, priority: Priority) -> &mut Self {
        match priority {
            Priority::P0 => self.styled(Style::Red, priority.as_str()),
            Priority::P1 => self.styled(Style::Yellow, priority.as_str()),
            Priority::P2 | Priority::P3 => self.plain(priority.as_str()),
        }
    }

    pub(crate) fn status(&mut self, status: Status) -> &mut Self {
        match status {
            Status::Open => self.plain(status.as_str()),
            Status::InProgress => self.styled(Style::Yellow, status.as_str()),
            Status::Closed => self.styled(Style::Green, status.as_str()),
        }
    }

    /// Ends the line.
    pub(crate) fn end(&mut self) {
        self.buffer.push('\n');
    }

    /// Adds an issue in one line, with or without its status.
    pub(crate) fn issue(&mut self, issue: &Issue, with_status: bool) -> &mut Self {
        self.issue_after(0, issue, with_status)
    }

    /// Adds an issue below a heading.
    pub(crate) fn indented(&mut self, issue: &Issue) -> &mut Self {
        self.plain("  ").issue_after(2, issue, true)
    }

    /// Adds an issue to a line that has `taken` characters already.
    pub(crate) fn issue_after(&mut self, taken: usize, issue: &Issue, with_status: bool) -> &mut Self {
        self.id(&issue.id).plain(" ").priority(issue.priority).plain(&format!(" {:<5} ", issue.issue_type));
        if with_status {
            self.status(issue.status).plain(&" ".repeat(12 - issue.status.as_str().len()));
        }
        let assignee = issue.assignee.as_ref().map(|name| format!("@{name}"));
        // Pipes keep the line that programs know.
        let labels = issue.labels.iter().filter(|_| terminal().is_some()).map(|label| format!("#{label}"));
        let due = issue.due.filter(|_| terminal().is_some()).map(|due| format!("due {due}"));
        let facts: Vec<String> = assignee.into_iter().chain(labels).chain(due).collect();
        let title = text::printable_line(&issue.title);
        let before = taken + issue.id.as_str().len() + if with_status { 22 } else { 10 };
        let after: usize = facts.iter().map(|fact| fact.chars().count() + 1).sum();
        self.plain(&fit_line(&title, before + after));
        for fact in &facts {
            self.plain(" ").faint(fact);
        }
        self
    }

    /// Adds a count below a list, on a terminal only.
    pub(crate) fn footer(&mut self, count: usize, [one, many]: [&str; 2]) {
        if terminal().is_some() {
            let footer = if count == 0 {
                format!("no {many}")
            } else {
                counted(i64::try_from(count).unwrap_or(i64::MAX), one, many)
            };
            self.faint(&footer).end();
        }
    }

    fn styled(&mut self, style: Style, text: &str) -> &mut Self {
        if self.colours {
            self.buffer.push_str(&format!("\u{1b}[{}m{text}\u{1b}[0m", style.code()));
        } else {
            self.buffer.push_str(text);
        }
        self
    }
}
