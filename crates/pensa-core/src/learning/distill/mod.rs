//! Proposes learnings from what happened, without a model: sessions, comments, reasons of closes, files of commits.
//!
//! [`prompt`] asks an agent for them instead, and [`answer`] reads what it says.

mod answer;
mod commands;
mod prompt;
mod sentences;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::{Kind, recalled};
use crate::closed_enum::closed_enum;
use crate::comment::Comment;
use crate::id::{IssueId, SessionId};
use crate::issue::Issue;
use crate::session::Message;
use crate::similar;
use crate::text;

pub use answer::{MAX_ANSWER_BYTES, MAX_ANSWERS, answer};
pub use prompt::{DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS, prompt};

/// Most proposals.
pub const MAX_PROPOSALS: usize = 100;
/// Most proposals from one session or issue, so that none crowds out others.
const MAX_PER_SOURCE: usize = 20;
/// How often two files changed together at least, and in how many of a hundred commits of either.
const TOGETHER: (usize, usize) = (4, 80);
/// A commit of more files says little about any two of them.
const MAX_FILES: usize = 20;
/// Most pairs of files that are proposed.
const MAX_PAIRS: usize = 10;
/// Words that a reason for a close has at least to be worth remembering.
const REASON_WORDS: usize = 5;

closed_enum! {
    /// How a learning was found.
    ProposalOrigin "unknown finding: {:?}" {
        /// Somebody stated it
        Stated "stated",
        /// A command failed, and another one worked
        FixedCommand "fixed_command",
        /// Files always change together
        ChangedTogether "changed_together",
        /// An issue was closed with this reason
        CloseReason "close_reason",
        /// An agent was asked
        Answered "answered",
    }
}

/// A learning that somebody may accept.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    /// Its number in the list, or this id, accepts it
    pub id: String,
    pub kind: Kind,
    pub text: String,
    pub found: ProposalOrigin,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    pub issue_id: Option<IssueId>,
    pub session_id: Option<SessionId>,
    /// The entry of the session that it is from
    pub entry: Option<i64>,
}

impl Proposal {
    fn new(kind: Kind, found: ProposalOrigin, text: String) -> Self {
        let id = format!("{:08x}", similar::hash64(text.as_bytes()) >> 32);
        let (tags, files) = (Vec::new(), Vec::new());
        Self { id, kind, text, found, tags, files, issue_id: None, session_id: None, entry: None }
    }
}

/// A session with its messages.
#[derive(Debug, Clone)]
pub struct SessionText {
    pub id: SessionId,
    pub issue_id: Option<IssueId>,
    pub messages: Vec<Message>,
}

/// What happened.
#[derive(Debug, Clone, Default)]
pub struct DistillInput {
    pub sessions: Vec<SessionText>,
    pub comments: Vec<Comment>,
    /// Closed issues
    pub closed: Vec<Issue>,
    /// The files of each commit
    pub commits: Vec<Vec<String>>,
}

/// The learnings that can be proposed from what happened. The same history gives the same list.
pub fn proposals(history: &DistillInput) -> Vec<Proposal> {
    let mut found = Vec::new();
    for issue in &history.closed {
        found.extend(of_close(issue));
    }
    for session in &history.sessions {
        let place = |proposal| Proposal {
            session_id: Some(session.id.clone()),
            issue_id: session.issue_id.clone(),
            ..proposal
        };
        let mut own = commands::fixed(&session.messages);
        own.extend(session.messages.iter().flat_map(sentences::of_message));
        found.extend(own.into_iter().take(MAX_PER_SOURCE).map(place));
    }
    let mut per_issue: BTreeMap<&IssueId, usize> = BTreeMap::new();
    for comment in &history.comments {
        for proposal in sentences::of_text(&comment.text, false) {
            let count = per_issue.entry(&comment.issue_id).or_default();
            *count += 1;
            if *count <= MAX_PER_SOURCE {
                found.push(Proposal { issue_id: Some(comment.issue_id.clone()), ..proposal });
            }
        }
    }
    found.extend(together(&history.commits));
    distinct(found)
}

/// The first of each that say the same.
fn distinct(found: Vec<Proposal>) -> Vec<Proposal> {
    let mut kept: Vec<Proposal> = Vec::new();
    for proposal in found {
        if kept.len() < MAX_PROPOSALS && !kept.iter().any(|known| similar::restates(&known.text, &proposal.text)) {
            kept.push(proposal);
        }
    }
    kept
}

/// Why an issue was closed, if that says more than that it was.
fn of_close(issue: &Issue) -> Option<Proposal> {
    let own = recalled::own_text(issue.close_reason.as_deref()?);
    let reason = text::printable_line(&own);
    let reason = reason.trim().trim_end_matches('.');
    let is_telling = reason.split_whitespace().count() >= REASON_WORDS && reason.len() <= sentences::MAX_SENTENCE * 2;
    is_telling.then(|| {
        let text = format!("{}: {reason}", issue.title.trim_end_matches(['.', ':']));
        let kind = sentences::kind_of(reason).unwrap_or(Kind::Approach);
        Proposal { issue_id: Some(issue.id.clone()), ..Proposal::new(kind, ProposalOrigin::CloseReason, text) }
    })
}

/// Pairs of files that nearly always change in the same commits.
fn together(commits: &[Vec<String>]) -> Vec<Proposal> {
    let (mut single, mut pairs) = (BTreeMap::<&str, usize>::new(), BTreeMap::<(&str, &str), usize>::new());
    for commit in commits {
        let files: BTreeSet<&str> = commit.iter().map(String::as_str).filter(|file| is_written(file)).collect();
        for file in &files {
            *single.entry(file).or_default() += 1;
        }
        if files.len() > MAX_FILES {
            continue;
        }
        let files: Vec<&str> = files.into_iter().collect();
        for (at, one) in files.iter().enumerate() {
            for other in &files[at + 1..] {
                *pairs.entry((one, other)).or_default() += 1;
            }
        }
    }
    let (least, percent) = TOGETHER;
    let is_pair = |((one, other), count): &((&str, &str), usize)| {
        *count >= least && *count * 100 >= single[one].max(single[other]) * percent
    };
    let mut pairs: Vec<((&str, &str), usize)> = pairs.into_iter().filter(is_pair).collect();
    pairs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let proposal = |((one, other), _): ((&str, &str), usize)| Proposal {
        files: vec![one.to_owned(), other.to_owned()],
        ..Proposal::new(Kind::Pattern, ProposalOrigin::ChangedTogether, format!("{one} and {other} change together"))
    };
    pairs.into_iter().take(MAX_PAIRS).map(proposal).collect()
}

/// Whether somebody writes a file, rather than a tool.
fn is_written(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let is_generated = name.ends_with(".lock") || name.ends_with(".snap") || name == "package-lock.json";
    let is_store = file.starts_with(".pensa/") || file.contains("/.pensa/");
    !is_generated && !is_store && !name.eq_ignore_ascii_case("changelog.md")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn closed(reason: &str) -> Issue {
        serde_json::from_value(
            json!({"id": "pn-1", "title": "fix the resolver.", "issue_type": "bug", "status": "closed",
            "priority": "p1", "close_reason": reason, "created_at": "2026-01-01T00:00:00.000Z",
            "updated_at": "2026-01-01T00:00:00.000Z"}),
        )
        .expect("an issue")
    }

    fn texts(history: &DistillInput) -> Vec<String> {
        proposals(history).into_iter().map(|one| format!("{} {} {}", one.found, one.kind, one.text)).collect()
    }

    #[test]
    fn reasons_that_say_how_are_proposed_and_others_are_not() {
        let history = DistillInput {
            closed: ["done", "merged in main", "walk up with a limit, since the root is its own parent."]
                .map(closed)
                .to_vec(),
            ..DistillInput::default()
        };
        let reason = "close_reason approach fix the resolver: walk up with a limit, since the root is its own parent";
        assert_eq!(texts(&history), [reason]);
        assert_eq!(proposals(&history)[0].issue_id.as_ref().map(IssueId::as_str), Some("pn-1"));
    }

    #[test]
    fn files_that_nearly_always_change_together_are_proposed() {
        let commit = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
        let mut commits = vec![commit(&["api.rs", "api.ts", "Cargo.lock"]); 5];
        commits.extend(vec![commit(&["api.rs", "main.rs"]); 1]);
        commits.extend(vec![commit(&["main.rs", ".pensa/issues.jsonl"]); 6]);
        commits.push((0..50).map(|at| format!("{at}.rs")).collect());
        let history = DistillInput { commits, ..DistillInput::default() };
        assert_eq!(texts(&history), ["changed_together pattern api.rs and api.ts change together"]);
        assert_eq!(proposals(&history)[0].files, ["api.rs", "api.ts"]);
        let few = DistillInput { commits: history.commits[..3].to_vec(), ..DistillInput::default() };
        assert_eq!(texts(&few), [""; 0]);
    }

    #[test]
    fn one_issue_does_not_crowd_out_others() {
        let comment = |at: usize, issue: &str| -> Comment {
            serde_json::from_value(json!({"id": format!("pn-c{at}"), "issue_id": issue, "actor": "a",
                "text": format!("We decided to keep the number {at} of the tables"), "created_at": "2026-01-01T00:00:00.000Z"}))
            .expect("a comment")
        };
        let mut comments: Vec<Comment> = (0..200).map(|at| comment(at, "pn-1")).collect();
        comments.push(comment(900, "pn-2"));
        let history = DistillInput { comments, ..DistillInput::default() };
        let found = proposals(&history);
        assert_eq!(found.len(), MAX_PER_SOURCE + 1);
        assert_eq!(found.last().and_then(|one| one.issue_id.clone()).map(|id| id.to_string()), Some("pn-2".to_owned()));
    }
}
