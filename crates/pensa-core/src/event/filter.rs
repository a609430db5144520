//! Filters events by subject, type and actor.
//!
//! The engine resolves the subject, because it may be a prefix of an id.

use std::fmt;
use std::str::FromStr;

use super::{EventType, LogEntry};
use crate::error::{Error, Result};

/// The kinds of subjects.
pub const KINDS: [&str; 27] = [
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
    "view",
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

/// Maximum number of patterns in a filter.
const MAX_PATTERNS: usize = 32;

/// The subject to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Every subject of a kind.
    Kind(String),
    /// One subject. An issue also matches the events of other subjects that concern it.
    Id(String),
}

/// A pattern for event types: `closed`, `issue.closed`, `task.*` or `agent.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    is_prefix: bool,
}

impl Pattern {
    /// The type to match, or its prefix.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// Whether an event type matches, with or without its kind in front.
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

/// Parses the values of `--type`, each of which may list several patterns separated by commas.
pub fn patterns(given: &[String]) -> Result<Vec<Pattern>> {
    let each = given.iter().flat_map(|value| value.split(',')).map(str::trim).filter(|text| !text.is_empty());
    let patterns: Vec<Pattern> = each.take(MAX_PATTERNS + 1).map(str::parse).collect::<Result<_>>()?;
    if patterns.len() > MAX_PATTERNS {
        return Err(
            Error::invalid(format!("more than {MAX_PATTERNS} types")).hint("leave them out to get events of all types")
        );
    }
    Ok(patterns)
}

/// The fields of an event that a filter looks at.
#[derive(Debug, Clone, Copy)]
pub struct EventFacts<'a> {
    pub kind: &'a str,
    pub subject_id: &'a str,
    pub issue_id: Option<&'a str>,
    pub event_type: &'a str,
    pub actor: &'a str,
}

impl<'a> From<&'a LogEntry> for EventFacts<'a> {
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

/// Matches events. The default matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub subject: Option<Subject>,
    /// The event matches any of them; if empty, every type matches.
    pub types: Vec<Pattern>,
    pub by: Option<String>,
}

impl EventFilter {
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    pub fn matches(&self, event: &EventFacts<'_>) -> bool {
        let is_subject = match &self.subject {
            None => true,
            Some(Subject::Kind(kind)) => kind == event.kind,
            Some(Subject::Id(id)) => event.issue_id.unwrap_or(event.subject_id) == id,
        };
        is_subject
            && self.by.as_ref().is_none_or(|by| by == event.actor)
            && (self.types.is_empty() || self.types.iter().any(|one| one.matches(event.kind, event.event_type)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event<'a>(kind: &'a str, event_type: &'a str) -> EventFacts<'a> {
        EventFacts { kind, subject_id: "x-1", issue_id: None, event_type, actor: "ana" }
    }

    #[test]
    fn pattern_is_a_type_or_prefix_with_or_without_kind() {
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
    fn pattern_that_matches_no_type_is_refused() {
        for bad in ["crated", "issue", "issue.crated", "nothing.*", ".", "closed**", "\u{1b}[2J"] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad:?}");
        }
        assert!(patterns(&vec!["closed".to_owned(); MAX_PATTERNS + 1]).is_err());
        assert!(patterns(&[",".repeat(1 << 20)]).expect("nothing").is_empty());
    }

    #[test]
    fn all_parts_of_a_filter_must_match() {
        let run = event("run", "started");
        let event = EventFacts { issue_id: Some("pn-1"), ..event("issue", "closed") };
        let subject = |text: &str| Some(Subject::Id(text.to_owned()));
        let filter = |subject, types: &str, by: Option<&str>| EventFilter {
            subject,
            types: patterns(&[types.to_owned()]).expect("types"),
            by: by.map(str::to_owned),
        };
        assert!(filter(None, "", None).is_all());
        assert!(filter(subject("pn-1"), "created,closed", Some("ana")).matches(&event));
        assert!(filter(Some(Subject::Kind("issue".into())), "", None).matches(&event));
        assert!(!filter(Some(Subject::Kind("work".into())), "", None).matches(&event));
        assert!(!filter(subject("x-1"), "", None).matches(&event), "it concerns an issue");
        assert!(filter(subject("x-1"), "", None).matches(&run));
        assert!(!filter(None, "created", None).matches(&event));
        assert!(!filter(None, "", Some("ben")).matches(&event));
    }
}
