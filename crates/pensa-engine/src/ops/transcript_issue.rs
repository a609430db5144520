//! Finds the issue that a session of a transcript is about: by its claim, its branch, the ids said in it, and by the time
//! of claims, in this order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pensa_core::id::IssueId;
use pensa_core::session::{NewEntry, Session};
use pensa_core::{Result, Timestamp};
use serde_json::Value;

use crate::db::{Tx, params};
use crate::tables::{issues, work};

/// Most words of one session that are looked up.
const MAX_WORDS: usize = 200;
/// Longest word that may be an id here. Longer ids are not found in texts.
const MAX_WORD_BYTES: usize = 64;
/// Most words of a branch that make up an id.
const MAX_BRANCH_WORDS: usize = 4;
/// Most claims during a session that are looked at.
const MAX_CLAIMS: i64 = 100;

/// How often the active session of an agent mentions each word that may be an id.
#[derive(Debug, Default)]
pub(super) struct Mentions(BTreeMap<String, u64>);

impl Mentions {
    pub(super) fn new(counts: BTreeMap<String, u64>) -> Self {
        Self(counts)
    }

    pub(super) fn into_counts(self) -> BTreeMap<String, u64> {
        self.0
    }

    /// Counts what people and the model said, and what tools were asked. Results of tools would count every list.
    pub(super) fn count(&mut self, entries: &[NewEntry]) {
        for entry in entries {
            if !matches!(entry.entry_type.as_str(), "user_message" | "assistant_message") {
                continue;
            }
            for field in ["text", "tool_calls"] {
                entry.data.get(field).into_iter().for_each(|value| self.count_in(value));
            }
        }
    }

    fn count_in(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                for word in words(text) {
                    if let Some(count) = self.0.get_mut(word) {
                        *count += 1;
                    } else if self.0.len() < MAX_WORDS {
                        self.0.insert(word.to_owned(), 1);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.count_in(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.count_in(field)),
            _ => {}
        }
    }
}

/// The words of a text that may be ids: `pn-a1b2c3d4`, `bd-7.2`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let words = text.split(move |c| !is_part(c)).map(|word| word.trim_matches(['-', '_', '.']));
    words.filter(|word| {
        let starts_well = word.starts_with(|c: char| c.is_ascii_alphabetic());
        let has_digit = word.bytes().any(|byte| byte.is_ascii_digit()) || word.starts_with(IssueId::PREFIX);
        starts_well && has_digit && word.contains('-') && word.len() <= MAX_WORD_BYTES
    })
}

/// Finds issues, and remembers which words are none.
#[derive(Debug, Default)]
pub(super) struct IssueFinder {
    known: HashMap<String, Option<IssueId>>,
    linked: BTreeSet<IssueId>,
}

impl IssueFinder {
    /// The issue of a session, if anything says so. `until` is the time of its last entry, once that is known.
    pub(super) fn find(
        &mut self,
        tx: &Tx<'_>,
        session: &Session,
        mentions: &mut Mentions,
        branch: Option<&str>,
        until: Option<Timestamp>,
    ) -> Result<Option<IssueId>> {
        let claims = match until {
            Some(until) => claims_during(tx, session.created_at, until)?,
            None => Vec::new(),
        };
        let own = session.inference_session_id.as_deref();
        let by_claim = claims.iter().find(|claim| own.is_some() && claim.session.as_deref() == own);
        let found = match by_claim.map(|claim| claim.issue.clone()) {
            Some(issue) => Some(issue),
            None => match self.of_branch(tx, branch)? {
                Some(issue) => Some(issue),
                None => self.of_mentions(tx, mentions)?,
            },
        };
        let found = found.or_else(|| {
            let claimed: BTreeSet<&IssueId> = claims.iter().map(|claim| &claim.issue).collect();
            claimed.first().filter(|_| claimed.len() == 1 && session.issue_id.is_none()).map(|issue| (*issue).clone())
        });
        self.linked.extend(found.clone());
        Ok(found)
    }

    pub(super) fn into_linked(self) -> Vec<IssueId> {
        self.linked.into_iter().collect()
    }

    fn issue(&mut self, tx: &Tx<'_>, word: &str) -> Result<Option<IssueId>> {
        if let Some(known) = self.known.get(word) {
            return Ok(known.clone());
        }
        let found = match word.parse() {
            Ok(id) => issues::get(tx, &id)?.map(|issue| issue.id),
            Err(_) => None,
        };
        self.known.insert(word.to_owned(), found.clone());
        Ok(found)
    }

    /// The issue mentioned most, of several the first by id. Forgets words that are no issues.
    fn of_mentions(&mut self, tx: &Tx<'_>, mentions: &mut Mentions) -> Result<Option<IssueId>> {
        let mut found = BTreeMap::new();
        for (word, count) in &mentions.0 {
            if let Some(issue) = self.issue(tx, word)? {
                found.insert(issue.to_string(), *count);
            }
        }
        mentions.0 = found;
        let most = mentions.0.values().max();
        Ok(mentions.0.iter().find(|(_, count)| Some(*count) == most).and_then(|(id, _)| id.parse().ok()))
    }

    /// The issue whose id a branch contains, or on which work is done in that branch: `fix/pn-a1b2c3d4-resolver`.
    fn of_branch(&mut self, tx: &Tx<'_>, branch: Option<&str>) -> Result<Option<IssueId>> {
        let Some(branch) = branch.filter(|branch| branch.len() <= 4 * MAX_WORD_BYTES) else { return Ok(None) };
        for segment in branch.split('/') {
            let words: Vec<&str> = segment.split('-').collect();
            for start in 0..words.len() {
                for length in 2..=MAX_BRANCH_WORDS.min(words.len() - start) {
                    if let Some(issue) = self.issue(tx, &words[start..start + length].join("-"))? {
                        return Ok(Some(issue));
                    }
                }
            }
        }
        work::on_branch(tx, branch)
    }
}

/// A claim of an issue.
struct ClaimEvent {
    issue: IssueId,
    session: Option<String>,
}

fn claims_during(tx: &Tx<'_>, from: Timestamp, until: Timestamp) -> Result<Vec<ClaimEvent>> {
    let sql = "SELECT issue_id, session FROM events WHERE event_type = 'claimed' AND issue_id IS NOT NULL
         AND created_at >= ?1 AND created_at <= ?2 ORDER BY id LIMIT ?3";
    tx.query(sql, params![from, until, MAX_CLAIMS], |row| {
        Ok(ClaimEvent { issue: row.parse(0)?, session: row.text_or_null(1)? })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_that_may_be_ids_are_counted_where_people_speak() {
        let entry = |kind: &str, data: Value| NewEntry {
            entry_type: kind.parse().expect("a type"),
            at: None,
            data: data.as_object().expect("an object").clone(),
        };
        let mut mentions = Mentions::default();
        mentions.count(&[
            entry("user_message", json!({"text": "do pn-a1b2c3d4, then (bd-7.2). Not well-known"})),
            entry(
                "assistant_message",
                json!({"text": "", "tool_calls": [{"arguments": {"command": "pn close pn-a1b2c3d4"}}]}),
            ),
            entry("tool_result", json!({"output": "pn-11111111 pn-22222222"})),
        ]);
        let counted: Vec<(&str, u64)> = mentions.0.iter().map(|(word, count)| (word.as_str(), *count)).collect();
        assert_eq!(counted, [("bd-7.2", 1), ("pn-a1b2c3d4", 2)]);
    }
}
