//! Stores the answers to requests with an idempotency key, so that a retry never acts twice.

use std::borrow::Cow;

use pensa_core::{Code, Error, Result, Span, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::context::Context;
use crate::db::{Tx, params};

/// How long answers are kept.
const KEEP_FOR: Span = Span::from_millis(24 * 3_600_000);
/// One in this many stored answers triggers a cleanup.
const SWEEP_EVERY: u128 = 64;
/// Longest answer in the journal. For a longer one, the journal only has the fact that it was given.
const MAX_JOURNALED: usize = 64 << 10;

/// A stored answer, as the journal has it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredAnswer<'a> {
    key: Cow<'a, str>,
    question: Cow<'a, str>,
    /// Empty if it contains a secret or is too long to be kept
    #[serde(default, skip_serializing_if = "str::is_empty")]
    answer: Cow<'a, str>,
    at: Timestamp,
}

impl StoredAnswer<'_> {
    fn insert(&self, tx: &Tx<'_>, clash: &str) -> Result<()> {
        tx.send(
            &format!("INSERT INTO answers (request_key, question, answer, created_at) VALUES (?1, ?2, ?3, ?4){clash}"),
            params![&*self.key, &*self.question, &*self.answer, self.at],
        )
    }

    /// Restores it from the journal, unless it exists.
    pub(crate) fn replay(&self, tx: &Tx<'_>) -> Result<()> {
        self.insert(tx, " ON CONFLICT (request_key) DO NOTHING")
    }
}

/// Deletes answers that had expired when the newest was given.
pub(crate) fn delete_expired(tx: &Tx<'_>) -> Result<()> {
    let newest: Option<Timestamp> =
        tx.query_one("SELECT MAX(created_at) FROM answers", params![], |row| row.parse_or_null(0))?.flatten();
    newest.map_or(Ok(()), |newest| delete_before(tx, newest.minus(KEEP_FOR)))
}

fn delete_before(tx: &Tx<'_>, time: Timestamp) -> Result<()> {
    tx.send("DELETE FROM answers WHERE created_at < ?1", params![time])
}

/// A request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentRequest {
    key: String,
    question: String,
    /// Whether the answer contains a secret, which must not be stored
    secret: bool,
}

impl IdempotentRequest {
    /// Longest key
    pub const MAX_KEY: usize = 255;

    /// `key` is chosen by the client and only valid with the same token; `parts` are the request's content.
    pub fn new(token: Option<&str>, key: &str, parts: &[&[u8]], secret: bool) -> Result<Self> {
        let is_fine = |byte: u8| byte.is_ascii_graphic();
        if key.is_empty() || key.len() > Self::MAX_KEY || !key.bytes().all(is_fine) {
            return Err(Error::invalid(format!(
                "an Idempotency-Key has 1 to {} printable ASCII characters",
                Self::MAX_KEY
            )));
        }
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Ok(Self { key: format!("{} {key}", token.unwrap_or("-")), question: hex::encode(hash.finalize()), secret })
    }
}

/// Executes a request, unless the same one was answered before; then returns that answer.
pub(crate) fn execute_once(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    request: Option<&IdempotentRequest>,
    work: &mut dyn FnMut() -> Result<String>,
) -> Result<String> {
    let Some(request) = request else { return work() };
    if let Some(answer) = stored_answer(tx, request)? {
        return Ok(answer);
    }
    let answer = work()?;
    store(cx, tx, request, &answer)?;
    Ok(answer)
}

/// The stored answer to this request; an error if the key was used for another request, or the answer was not stored.
fn stored_answer(tx: &Tx<'_>, request: &IdempotentRequest) -> Result<Option<String>> {
    let stored =
        tx.query_one("SELECT question, answer FROM answers WHERE request_key = ?1", params![&request.key], |row| {
            Ok((row.text(0)?, row.text(1)?))
        })?;
    match stored {
        None => Ok(None),
        Some((question, _)) if question != request.question => {
            Err(Error::new(Code::Conflict, "this Idempotency-Key was used for another request")
                .hint("use a new key for each change, and the same one only to try that change again"))
        }
        Some(_) if request.secret => {
            Err(Error::new(Code::Conflict, "this was done before, and its secret was shown only once")
                .hint("revoke what was made and make another"))
        }
        Some((_, answer)) if answer.is_empty() => {
            Err(Error::new(Code::Conflict, "this was done before, and its answer is lost")
                .hint("check its effect; to do it again, use another Idempotency-Key"))
        }
        Some((_, answer)) => {
            // The first commit may have failed to reach its standby, and its client never got the answer.
            tx.force_commit();
            Ok(Some(answer))
        }
    }
}

fn store(cx: &Context<'_>, tx: &Tx<'_>, request: &IdempotentRequest, answer: &str) -> Result<()> {
    if cx.uuid().as_u128().is_multiple_of(SWEEP_EVERY) {
        delete_before(tx, cx.now.minus(KEEP_FOR))?;
    }
    let answer = if request.secret { "" } else { answer };
    let [key, question, answer] = [&request.key, &request.question, answer].map(Cow::from);
    let mut stored = StoredAnswer { key, question, answer, at: cx.now };
    stored.insert(tx, "")?;
    if stored.answer.len() > MAX_JOURNALED {
        stored.answer = Cow::from("");
    }
    tx.journal("answer", &stored)
}
