//! The trace of one issue: everything that happened to it, in order of time, and the totals.
//!
//! The engine collects the entries; the caller adds the commits from its repository.

mod claims;
mod describe;
mod markdown;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::id::{AgentId, SessionId};
use crate::issue::Issue;
use crate::session::{ModelUsage, Spent, Tokens};
use crate::time::Timestamp;

pub use claims::{Claim, claims};
pub use describe::{describe_issue_event, describe_record_event, describe_work_event, format_duration};
pub use markdown::markdown;

/// Maximum length of an entry's text, in characters.
pub const TEXT_CHARS: usize = 300;

closed_enum! {
    /// What an entry is about.
    Kind "invalid kind: {:?}" {
        Issue "issue",
        Comment "comment",
        Work "work",
        Run "run",
        Session "session",
        Loop "loop",
        Signal "signal",
        Job "job",
        Snapshot "snapshot",
        Commit "commit",
        Learning "learning",
        Release "release",
    }
}

/// One thing that happened.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Moment")]
pub struct TraceEntry {
    pub at: Timestamp,
    pub kind: Kind,
    /// What happened to it: `created`, `claimed`, `started` and so on
    pub event: String,
    /// The id of its subject, if that is not the issue
    pub id: Option<String>,
    pub actor: Option<String>,
    /// A short description
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its duration in milliseconds, if this is its end
    pub duration_ms: Option<i64>,
    /// Whether it failed
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

impl TraceEntry {
    pub fn new(at: Timestamp, kind: Kind, event: impl Into<String>) -> Self {
        Self {
            at,
            kind,
            event: event.into(),
            id: None,
            actor: None,
            text: String::new(),
            duration_ms: None,
            failed: false,
        }
    }

    #[must_use]
    pub fn of(mut self, id: impl fmt::Display) -> Self {
        self.id = Some(id.to_string());
        self
    }

    #[must_use]
    pub fn by(mut self, actor: impl Into<String>) -> Self {
        self.actor = Some(actor.into());
        self
    }

    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        self.text = crate::event::shorten(text.trim(), TEXT_CHARS);
        self
    }

    /// Sets the duration from a start time.
    #[must_use]
    pub fn since(mut self, start: Timestamp) -> Self {
        self.duration_ms = Some(self.at.as_millis().saturating_sub(start.as_millis()).max(0));
        self
    }

    #[must_use]
    pub fn failing(mut self, failed: bool) -> Self {
        self.failed = failed;
        self
    }
}

/// The cost of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCost {
    pub id: SessionId,
    pub agent_id: AgentId,
    pub entries: i64,
    pub tokens: Tokens,
    /// In dollars, if its entries record it, or all its models have a price
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Entries of one kind: how many, how many failed, and how long they took together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Count")]
pub struct ActivityTotal {
    pub count: i64,
    pub failed: i64,
    /// In milliseconds
    pub duration_ms: i64,
}

impl ActivityTotal {
    /// Counts one more.
    pub fn add(&mut self, failed: bool, duration_ms: Option<i64>) {
        self.count += 1;
        self.failed += i64::from(failed);
        self.duration_ms = self.duration_ms.saturating_add(duration_ms.unwrap_or_default());
    }
}

/// Totals of the history of an issue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// From its creation until it was closed, or until now, in milliseconds
    pub age_ms: i64,
    /// Who held it, and for how long
    pub claims: Vec<Claim>,
    /// How long it was held altogether, in milliseconds
    pub claimed_ms: i64,
    pub steps: i64,
    pub steps_done: i64,
    pub comments: i64,
    pub runs: ActivityTotal,
    pub jobs: ActivityTotal,
    pub loops: ActivityTotal,
    pub signals: i64,
    pub snapshots: i64,
    pub sessions: Vec<SessionCost>,
    pub tokens: Tokens,
    /// The tokens by model
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelUsage>,
    /// In dollars, if all models have a price, or the entries record it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub commits: i64,
    pub learnings: i64,
    pub releases: i64,
}

impl Totals {
    /// Adds what a session used.
    pub fn add_session(&mut self, id: SessionId, agent_id: AgentId, entries: i64, spent: Spent) {
        let mut tokens = Tokens::default();
        spent.models.values().for_each(|usage| tokens.add(&usage.tokens));
        self.sessions.push(SessionCost { id, agent_id, entries, tokens, cost_usd: spent.cost_or_reported() });
    }

    /// Sets what all sessions used together: a message may be in several of them.
    pub fn set_spent(&mut self, spent: Spent) {
        (self.tokens, self.cost_usd) = (Tokens::default(), spent.cost_or_reported());
        spent.models.values().for_each(|usage| self.tokens.add(&usage.tokens));
        self.models = spent.models;
    }
}

/// The whole history of one issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    pub issue: Issue,
    /// What happened, oldest first
    pub entries: Vec<TraceEntry>,
    /// How many earlier entries are left out by the limit
    pub left_out: i64,
    pub totals: Totals,
    /// What is missing from the trace, and why
    pub notes: Vec<String>,
}

impl Trace {
    /// Sorts all entries by time and keeps the last `most`.
    pub fn finish(&mut self, most: usize) {
        self.entries.sort_by_key(|entry| entry.at);
        let early = self.entries.len().saturating_sub(most);
        self.entries.drain(..early);
        self.left_out = self.left_out.saturating_add(i64::try_from(early).unwrap_or(i64::MAX));
    }

    /// Adds commits that mention the issue.
    pub fn add_commits(&mut self, commits: Vec<TraceEntry>, most: usize) {
        self.totals.commits = i64::try_from(commits.len()).unwrap_or(i64::MAX);
        self.entries.extend(commits);
        self.finish(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(1_772_202_600_000 + second * 1000).expect("a time")
    }

    #[test]
    fn kind_words_round_trip() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse::<Kind>().expect("known"), kind);
        }
        assert!("thing".parse::<Kind>().is_err());
    }

    #[test]
    fn last_entries_are_kept_and_earlier_ones_counted() {
        let issue = serde_json::json!({"id": "pn-1", "title": "t", "issue_type": "task", "status": "open",
            "priority": "p2", "created_at": at(0), "updated_at": at(0)});
        let mut trace = Trace {
            issue: serde_json::from_value(issue).expect("an issue"),
            entries: [5, 1, 3].map(|second| TraceEntry::new(at(second), Kind::Issue, "updated")).to_vec(),
            left_out: 0,
            totals: Totals::default(),
            notes: Vec::new(),
        };
        trace.finish(2);
        assert_eq!((trace.entries.len(), trace.left_out, trace.entries[0].at), (2, 1, at(3)));
        trace.add_commits(vec![TraceEntry::new(at(4), Kind::Commit, "committed").of("abc")], 2);
        let kinds: Vec<Kind> = trace.entries.iter().map(|entry| entry.kind).collect();
        assert_eq!((kinds, trace.left_out, trace.totals.commits), (vec![Kind::Commit, Kind::Issue], 2, 1));
    }

    #[test]
    fn texts_are_cut_and_durations_not_negative() {
        let long = TraceEntry::new(at(0), Kind::Comment, "said").saying(&"é".repeat(1000));
        assert_eq!(long.text.chars().count(), TEXT_CHARS + 1);
        assert_eq!(TraceEntry::new(at(0), Kind::Run, "finished").since(at(9)).duration_ms, Some(0));
    }
}
