//! The lock: a name with at most one holder, a lease and a fencing number that only grows.
//!
//! Locks are advisory. A resource protected by a lock should refuse requests with a smaller fencing number than the last.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::error::{Code, Error, Result};
use crate::text;
use crate::time::{Span, Timestamp};

/// The record collection of locks.
pub const COLLECTION: &str = "locks";
/// Default lease of a lock.
pub const DEFAULT_TTL: Span = Span::from_millis(60_000);
/// Maximum lease of a lock.
pub const MAX_TTL: Span = Span::from_millis(24 * 3_600_000);
/// Maximum length of a name, in bytes.
const NAME_BYTES: usize = 100;
/// Maximum length of a token, in bytes.
const TOKEN_BYTES: usize = 200;

/// A lock as it is stored. The record stays after a release, so that a fencing number is never reused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRecord {
    pub name: String,
    /// Grows by one with each acquisition
    pub fencing: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

/// The holder of a lock, and when the lease ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub holder: String,
    /// Hash of the holder's token
    pub token_hash: String,
    pub acquired_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The state of a lock, as shown to clients.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lock {
    pub name: String,
    pub held: bool,
    /// Grows by one with each acquisition, and never goes back
    pub fencing: i64,
    pub holder: Option<String>,
    pub acquired_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    /// The secret that renews and releases the lock; only in the answer to acquire
    pub token: Option<String>,
}

/// The result of acquiring a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acquired {
    New,
    Renewed,
}

impl LockRecord {
    /// A lock that was never held.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), fencing: 0, hold: None }
    }

    /// The current holder; `None` if the lease has ended.
    pub fn held(&self, now: Timestamp) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| hold.expires_at > now)
    }

    /// Acquires the lock for `holder`, or renews it if the token is the holder's. Returns an error if somebody else holds it.
    pub fn acquire(&mut self, holder: &str, token_hash: &str, ttl: Span, now: Timestamp) -> Result<Acquired> {
        let expires_at = now.plus(ttl);
        if let Some(hold) = self.held(now) {
            if hold.token_hash != token_hash {
                return Err(self.held_by_other(hold, holder));
            }
            let expires_at = expires_at.max(hold.expires_at);
            self.hold = Some(Hold { expires_at, ..hold.clone() });
            return Ok(Acquired::Renewed);
        }
        self.fencing += 1;
        let (holder, token_hash) = (holder.to_owned(), token_hash.to_owned());
        self.hold = Some(Hold { holder, token_hash, acquired_at: now, expires_at });
        Ok(Acquired::New)
    }

    fn held_by_other(&self, hold: &Hold, requester: &str) -> Error {
        let Hold { holder, expires_at, .. } = hold;
        let error = Error::new(Code::AlreadyClaimed, format!("{holder} holds lock {} until {expires_at}", self.name));
        if holder == requester {
            error.hint("renew it with the --token of its acquisition; --wait 30s waits until it is free")
        } else {
            error.hint("--wait 30s waits until it is free")
        }
    }

    /// Releases the lock and returns whether it was held. The token must be the holder's; without a token, the actor must
    /// be the holder.
    pub fn release(&mut self, actor: &str, token_hash: Option<&str>, force: bool, now: Timestamp) -> Result<bool> {
        let Some(hold) = self.held(now) else { return Ok(false) };
        let is_own = token_hash.map_or(hold.holder == actor, |hash| hash == hold.token_hash);
        if !is_own && !force {
            let message = format!("lock {} is held by {}, and not by you", self.name, hold.holder);
            let hint = if token_hash.is_some() { "the token is another's; " } else { "" };
            return Err(
                Error::new(Code::AlreadyClaimed, message).hint(format!("{hint}--force takes it away from them"))
            );
        }
        self.hold = None;
        Ok(true)
    }

    /// The state as shown to clients, without the token.
    pub fn state(&self, now: Timestamp) -> Lock {
        let hold = self.held(now);
        Lock {
            name: self.name.clone(),
            held: hold.is_some(),
            fencing: self.fencing,
            holder: hold.map(|hold| hold.holder.clone()),
            acquired_at: hold.map(|hold| hold.acquired_at),
            expires_at: hold.map(|hold| hold.expires_at),
            token: None,
        }
    }
}

/// Checks the name of a lock.
pub fn name(given: &str) -> Result<&str> {
    let name = text::line("the name of a lock", given)?;
    if name.len() > NAME_BYTES {
        return Err(Error::new(Code::TooLarge, format!("the name of a lock has more than {NAME_BYTES} bytes")));
    }
    Ok(name)
}

/// Checks a lock token.
pub fn token(given: &str) -> Result<&str> {
    if (1..=TOKEN_BYTES).contains(&given.len()) && given.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(given);
    }
    Err(Error::invalid("not a token of a lock").hint("use the one returned by pn lock acquire"))
}

/// Checks the lease, or returns the default.
pub fn ttl(given: Option<Span>) -> Result<Span> {
    let ttl = given.unwrap_or(DEFAULT_TTL);
    if ttl > MAX_TTL {
        return Err(Error::invalid(format!("a lock is held for at most {MAX_TTL}")).hint("renew it"));
    }
    Ok(ttl)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(1_772_202_600_000 + second * 1000).expect("a time")
    }

    const TTL: Span = Span::from_millis(10_000);

    #[test]
    fn fencing_number_grows_only_with_acquisition() {
        let mut lock = LockRecord::new("merge");
        assert_eq!(lock.acquire("ana", "1", TTL, at(0)).expect("free"), Acquired::New);
        assert_eq!(lock.acquire("ana", "1", TTL, at(5)).expect("own"), Acquired::Renewed);
        assert_eq!((lock.fencing, lock.state(at(14)).held, lock.state(at(15)).held), (1, true, false));
        assert_eq!(lock.acquire("ben", "2", TTL, at(15)).expect("expired"), Acquired::New);
        assert_eq!(lock.fencing, 2);
        assert!(lock.release("ben", None, false, at(16)).expect("own"));
        assert_eq!((lock.fencing, lock.state(at(16)).holder), (2, None));
        lock.acquire("ana", "3", TTL, at(16)).expect("free");
        assert_eq!(lock.fencing, 3);
    }

    #[test]
    fn shorter_renewal_does_not_shorten_the_lease() {
        let mut lock = LockRecord::new("merge");
        lock.acquire("ana", "1", TTL, at(0)).expect("free");
        lock.acquire("ana", "1", Span::from_millis(1000), at(1)).expect("own");
        assert!(lock.state(at(9)).held);
    }

    #[test]
    fn only_the_holder_renews_and_releases() {
        let mut lock = LockRecord::new("merge");
        lock.acquire("ana", "1", TTL, at(0)).expect("free");
        // Agents often share a name; the name alone does not renew.
        for (actor, hash) in [("ben", "2"), ("ana", "2")] {
            assert_eq!(lock.acquire(actor, hash, TTL, at(1)).expect_err("held").code, Code::AlreadyClaimed);
        }
        for (actor, hash) in [("ben", None), ("ben", Some("2")), ("ana", Some("2"))] {
            assert_eq!(lock.release(actor, hash, false, at(1)).expect_err("held").code, Code::AlreadyClaimed);
        }
        assert!(lock.release("ben", None, true, at(1)).expect("forced"));
        assert!(!lock.release("ben", None, false, at(1)).expect("nobody has it"));
        lock.acquire("ana", "1", TTL, at(1)).expect("free");
        assert!(lock.release("ben", Some("1"), false, at(2)).expect("shows the token"));
        lock.acquire("ana", "1", TTL, at(2)).expect("free");
        assert!(!lock.release("ben", None, false, at(20)).expect("it has run out"));
    }

    #[test]
    fn names_tokens_and_leases_are_checked() {
        for bad in ["", " ", "a\nb", "\u{1b}", &"x".repeat(101)] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "a b", "é", "a\n", &"x".repeat(201)] {
            assert!(token(bad).is_err(), "{bad:?}");
        }
        assert!(ttl(Some(Span::from_millis(MAX_TTL.as_millis() + 1))).is_err());
        assert_eq!(ttl(None).expect("the usual"), DEFAULT_TTL);
    }
}
