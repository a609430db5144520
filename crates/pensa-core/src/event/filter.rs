//! Which events are meant: by what they are about, what happened, and who did it.
//!
//! Which subject a text means is left to whoever can ask the store.

use std::fmt;
use std::str::FromStr;

use super::{EventType, LogEntry};
use crate::error::{Error, Result};

/// What events can be about.
pub const KINDS: [&str; 26] = [
    "issue",
    "agent",
    "session",
    "run",
    "repo",
    "workspace",
    "harness",
    "runtime",
    "snapshot",
    "kv",
    "work",
    "release",
    "skills",
    "learning",
    "loop",
    "signal",
    "lock",
    "job",
    "record",
    "collection",
    "comment",
    "tombstone",
    "peer",
    "store",
    "project",
    "token",
];

/// Most patterns of one filter.
const MAX_PATTERNS: usize = 32;

/// What the wanted events are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Everything of a kind.
    Kind(String),
    /// One thing, and for an issue also what was done about it.
    Id(String),
}

/// What the wanted events say has happened: `closed`, `issue.closed`, `task.*` or `agent.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    is_prefix: bool,
}

impl Pattern {
    /// The name it asks for, or the beginning of one.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// Whether an event has the name, with or without its kind before it.
    fn matches(&self, kind: &str, event_type: &str) -> bool {
        let with_kind = || self.text.strip_prefix(kind).and_then(|rest| rest.strip_prefix('.'));
        match self.is_prefix {
            true => {
                event_type.starts_with(&self.text)
                    || with_kind().is_some_and(|rest| event_type.starts_with(rest))
                    || kind.strip_prefix(self.text.as_str()).is_some()
            }
            false => event_type == self.text || with_kind() == Some(event_type),
        }
    }

    fn can_match(&self) -> bool {
        KINDS.iter().any(|kind| EventType::ALL.iter().any(|event| self.matches(kind, event.as_str())))
    }
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (text, is_prefix) = text.strip_suffix('*').map_or((text, false), |text| (text, true));
        let pattern = Self { text: text.to_owned(), is_prefix };
        if pattern.can_match() {
            return Ok(pattern);
        }
        let shown: String = text.chars().take(60).collect();
        Err(Error::invalid(format!("no event has the type {shown:?}"))
            .hint("such as created, closed, issue.created, task.* or agent.*"))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text, if self.is_prefix { "*" } else { "" })
    }
}

/// Reads types as they are given: any number, each perhaps several with commas between.
pub fn patterns(given: &[String]) -> Result<Vec<Pattern>> {
    let each = given.iter().flat_map(|given| given.split(',')).map(str::trim).filter(|text| !text.is_empty());
    let patterns: Vec<Pattern> = each.take(MAX_PATTERNS + 1).map(str::parse).collect::<Result<_>>()?;
    if patterns.len() > MAX_PATTERNS {
        return Err(Error::invalid(format!("more than {MAX_PATTERNS} types")).hint("leave them out: all are told then"));
    }
    Ok(patterns)
}

/// What is looked at to decide whether an event is wanted.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub kind: &'a str,
    pub subject_id: &'a str,
    pub issue_id: Option<&'a str>,
    pub event_type: &'a str,
    pub actor: &'a str,
}

impl<'a> From<&'a LogEntry> for About<'a> {
    fn from(entry: &'a LogEntry) -> Self {
        Self {
            kind: &entry.subject_kind,
            subject_id: &entry.subject_id,
            issue_id: entry.issue_id.as_ref().map(|id| id.as_str()),
            event_type: &entry.event_type,
            actor: &entry.actor,
        }
    }
}

/// The events that are wanted; by default all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub subject: Option<Subject>,
    /// Any of them; none means all.
    pub types: Vec<Pattern>,
    pub by: Option<String>,
}

impl Filter {
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    pub fn matches(&self, event: &About<'_>) -> bool {
        let is_meant = match &self.subject {
            None => true,
            Some(Subject::Kind(kind)) => kind == event.kind,
            Some(Subject::Id(id)) => event.issue_id.unwrap_or(event.subject_id) == id,
        };
        is_meant
            && self.by.as_ref().is_none_or(|by| by == event.actor)
            && (self.types.is_empty() || self.types.iter().any(|one| one.matches(event.kind, event.event_type)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about<'a>(kind: &'a str, event_type: &'a str) -> About<'a> {
        About { kind, subject_id: "x-1", issue_id: None, event_type, actor: "ana" }
    }

    #[test]
    fn a_type_is_a_name_with_or_without_its_kind_or_the_beginning_of_one() {
        let cases = [
            ("closed", "issue", "closed", true),
            ("closed", "issue", "created", false),
            ("issue.closed", "issue", "closed", true),
            ("issue.created", "agent", "created", false),
            ("task.created", "work", "task.created", true),
            ("work.task.created", "work", "task.created", true),
            ("task.*", "work", "task.paused", true),
            ("task.*", "work", "subtask.completed", false),
            ("work.task.*", "work", "task.paused", true),
            ("agent.*", "agent", "killed", true),
            ("agent.*", "issue", "created", false),
            ("dep_*", "issue", "dep_removed", true),
            ("*", "kv", "deleted", true),
        ];
        for (pattern, kind, event_type, expected) in cases {
            let parsed: Pattern = pattern.parse().expect("a pattern");
            assert_eq!(parsed.matches(kind, event_type), expected, "{pattern} {kind}.{event_type}");
            assert_eq!(parsed.to_string(), pattern);
        }
    }

    #[test]
    fn a_type_that_nothing_can_have_is_refused() {
        for bad in ["crated", "issue", "issue.crated", "nothing.*", ".", "closed**", "\u{1b}[2J"] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad:?}");
        }
        assert!(patterns(&vec!["closed".to_owned(); MAX_PATTERNS + 1]).is_err());
        assert!(patterns(&[",".repeat(1 << 20)]).expect("nothing").is_empty());
    }

    #[test]
    fn every_part_of_a_filter_has_to_match() {
        let event = About { issue_id: Some("pn-1"), ..about("issue", "closed") };
        let subject = |text: &str| Some(Subject::Id(text.to_owned()));
        let filter = |subject, types: &str, by: Option<&str>| Filter {
            subject,
            types: patterns(&[types.to_owned()]).expect("types"),
            by: by.map(str::to_owned),
        };
        assert!(filter(None, "", None).is_all());
        assert!(filter(subject("pn-1"), "created,closed", Some("ana")).matches(&event));
        assert!(filter(Some(Subject::Kind("issue".into())), "", None).matches(&event));
        assert!(!filter(Some(Subject::Kind("work".into())), "", None).matches(&event));
        assert!(!filter(subject("x-1"), "", None).matches(&event), "it concerns an issue");
        assert!(filter(subject("x-1"), "", None).matches(&about("run", "started")));
        assert!(!filter(None, "created", None).matches(&event));
        assert!(!filter(None, "", Some("ben")).matches(&event));
    }
}
