//! Text for a terminal. What comes from data passes through [`Screen::text`], which disarms it.

use pensa_core::issue::{Issue, Priority, Status};
use pensa_core::text;

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

    /// Words of the program's own.
    pub(crate) fn plain(&mut self, words: &str) -> &mut Self {
        self.buffer.push_str(words);
        self
    }

    /// One line from data.
    pub(crate) fn text(&mut self, data: &str) -> &mut Self {
        self.buffer.push_str(&text::printable_line(data));
        self
    }

    /// Many lines from data, each behind two blanks.
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

    /// What went wrong.
    pub(crate) fn wrong(&mut self, data: &str) -> &mut Self {
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

    pub(crate) fn end(&mut self) {
        self.buffer.push('\n');
    }

    /// One issue in one line, with or without its status.
    pub(crate) fn issue(&mut self, issue: &Issue, with_status: bool) -> &mut Self {
        self.id(&issue.id).plain(" ").priority(issue.priority).plain(&format!(" {:<5} ", issue.issue_type));
        if with_status {
            self.status(issue.status).plain(&" ".repeat(12 - issue.status.as_str().len()));
        }
        self.text(&issue.title);
        if let Some(assignee) = &issue.assignee {
            self.plain(" ").faint(&format!("@{assignee}"));
        }
        self
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
