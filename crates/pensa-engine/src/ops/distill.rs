//! Reads what happened, for proposals of learnings and for the prompt that asks a model for them.
//!
//! `pensa_core::learning::distill` finds the learnings.

use pensa_core::id::{IssueRef, SessionRef};
use pensa_core::issue::Issue;
use pensa_core::learning::Learning;
use pensa_core::learning::distill::{self, DEFAULT_TOKENS, DistillInput, Proposal, SessionText};
use pensa_core::ops::distill::{Distill, DistillPrompt, Prompt};
use pensa_core::session::{Rebuild, Session};
use pensa_core::time::Since;
use pensa_core::{Result, Span, similar};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::{comments, entries, issues, learnings, sessions};

/// How far back is read by default.
const DEFAULT_SINCE: Span = Span::from_millis(7 * 86_400_000);
/// Most sessions, and most issues and comments, that are read; the newest.
const MAX_SESSIONS: u32 = 50;
const MAX_ITEMS: u32 = 500;
/// Most entries of a session, the newest, and most characters of each: longer ones are output, not speech.
const MAX_ENTRIES: i64 = 2_000;
const MAX_ENTRY_CHARS: i64 = 64 << 10;
/// Most learnings that a proposal is compared with.
const MAX_KNOWN: usize = 5_000;

/// What to look at.
struct HistoryScope<'o> {
    session: Option<&'o SessionRef>,
    issue: Option<&'o IssueRef>,
    since: Option<Since>,
}

impl HistoryScope<'_> {
    fn read(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<DistillInput> {
        let mut history = DistillInput::default();
        let found = match (self.session, self.issue) {
            (Some(session), _) => vec![sessions::find(tx, session)?],
            (None, Some(issue)) => {
                let issue = issues::find(cx, tx, issue)?;
                history.comments = comments::of_issue(tx, &issue.id)?;
                let found = sessions::about(tx, &issue.id, &[], MAX_SESSIONS)?;
                history.closed = Some(issue).filter(has_reason).into_iter().collect();
                found
            }
            (None, None) => {
                let since = self.since.unwrap_or(Since::Ago(DEFAULT_SINCE)).as_of(cx.now);
                history.comments = comments::since(tx, since, MAX_ITEMS)?;
                history.closed = issues::closed_since(tx, since, MAX_ITEMS)?.into_iter().filter(has_reason).collect();
                sessions::with_entries_since(tx, since, MAX_SESSIONS)?
            }
        };
        history.sessions = found.into_iter().map(|session| session_text(tx, session)).collect::<Result<_>>()?;
        Ok(history)
    }
}

fn has_reason(issue: &Issue) -> bool {
    issue.close_reason.is_some()
}

/// A session with the messages of its newest entries.
fn session_text(tx: &Tx<'_>, session: Session) -> Result<SessionText> {
    let mut rebuild = Rebuild::new(&session);
    for entry in entries::newest(tx, &session.id, MAX_ENTRIES, MAX_ENTRY_CHARS)? {
        rebuild.push(&entry);
    }
    Ok(SessionText { messages: rebuild.finish(None), id: session.id, issue_id: session.issue_id })
}

/// Proposals without those that are known.
fn new_ones(proposals: Vec<Proposal>, known: &[Learning]) -> Vec<Proposal> {
    let is_known = |text: &str| known.iter().any(|learning| similar::restates(&learning.text, text));
    proposals.into_iter().filter(|proposal| !is_known(&proposal.text)).collect()
}

impl Execute for Distill {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Proposal>> {
        let scope = HistoryScope { session: self.session.as_ref(), issue: self.issue.as_ref(), since: self.since };
        let history = DistillInput { commits: self.commits.clone(), ..scope.read(cx, tx)? };
        Ok(new_ones(distill::proposals(&history), &learnings::valid(tx, cx.now, MAX_KNOWN)?))
    }
}

impl Execute for Prompt {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<DistillPrompt> {
        let scope = HistoryScope { session: self.session.as_ref(), issue: self.issue.as_ref(), since: self.since };
        let mut known = learnings::valid(tx, cx.now, MAX_KNOWN)?;
        // The newest lines of a section are kept, so they come last.
        known.reverse();
        let prompt = distill::prompt(&scope.read(cx, tx)?, &known, self.max_tokens.unwrap_or(DEFAULT_TOKENS))?;
        Ok(DistillPrompt { prompt })
    }
}
