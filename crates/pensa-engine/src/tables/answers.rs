//! Rows of `answers`: what was answered to requests that carry a key, so that a retry never acts twice.

use pensa_core::{Code, Error, Result, Span};
use sha2::{Digest, Sha256};

use crate::context::Context;
use crate::db::{Tx, params};

/// How long answers are kept.
const KEPT: Span = Span::from_millis(24 * 3_600_000);
/// One in this many that are kept makes the old ones go.
const SWEEP_EVERY: u128 = 64;

/// A request that is to be done once, however often it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    key: String,
    question: String,
    /// Whether the answer holds a secret, which must not be kept.
    secret: bool,
}

impl Once {
    /// Longest key.
    pub const MAX_KEY: usize = 255;

    /// `key` is the client's own, good only for the token it came with; `parts` are what is asked.
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

/// Does what a request asks, unless the same was answered before.
pub(crate) fn once(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    once: Option<&Once>,
    work: &mut dyn FnMut() -> Result<String>,
) -> Result<String> {
    let Some(once) = once else { return work() };
    if let Some(answer) = given(tx, once)? {
        return Ok(answer);
    }
    let answer = work()?;
    keep(cx, tx, once, &answer)?;
    Ok(answer)
}

/// What was answered to this request before.
fn given(tx: &Tx<'_>, once: &Once) -> Result<Option<String>> {
    let known =
        tx.query_one("SELECT question, answer FROM answers WHERE request_key = ?1", params![&once.key], |row| {
            Ok((row.text(0)?, row.text(1)?))
        })?;
    match known {
        None => Ok(None),
        Some((question, _)) if question != once.question => {
            Err(Error::new(Code::Conflict, "this Idempotency-Key was used for another request")
                .hint("use a new key for each change, and the same one only to try that change again"))
        }
        Some(_) if once.secret => {
            Err(Error::new(Code::Conflict, "this was done before, and its secret was told only once")
                .hint("revoke what was made and make another"))
        }
        Some((_, answer)) => {
            // The first commit may have been answered to nobody because its standby was away.
            tx.insist();
            Ok(Some(answer))
        }
    }
}

fn keep(cx: &Context<'_>, tx: &Tx<'_>, once: &Once, answer: &str) -> Result<()> {
    if cx.uuid().as_u128().is_multiple_of(SWEEP_EVERY) {
        tx.send("DELETE FROM answers WHERE created_at < ?1", params![cx.now.minus(KEPT)])?;
    }
    let answer = if once.secret { "" } else { answer };
    tx.send(
        "INSERT INTO answers (request_key, question, answer, created_at) VALUES (?1, ?2, ?3, ?4)",
        params![&once.key, &once.question, answer, cx.now],
    )
}
