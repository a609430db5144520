//! Checks tokens against the control store, and caches the results for a few seconds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pensa_core::{Code, Error, Result};
use pensa_engine::{Engine, Grant, Projects};
use sha2::{Digest, Sha256};
use tokio::task;

use crate::dispatch::unexpected;
use crate::request_context::TokenHash;

/// How long a result is used: a token that was revoked elsewhere stops working after this time.
const CACHE_TTL: Duration = Duration::from_secs(2);
/// Maximum cached secrets, including wrong ones; then the cache is cleared.
const MAX_CACHED: usize = 10_000;

/// The time of the lookup and its result; `None` for an unknown secret.
type CachedGrant = (Instant, Option<Arc<Grant>>);

#[derive(Debug)]
pub(super) struct TokenCache {
    projects: Projects,
    /// Unused handles on the control store.
    idle: Mutex<Vec<Engine>>,
    cached: Mutex<HashMap<TokenHash, CachedGrant>>,
}

impl TokenCache {
    pub(super) fn new(projects: Projects) -> Self {
        Self { projects, idle: Mutex::default(), cached: Mutex::default() }
    }

    /// Looks up what a secret grants; an error if it is not valid.
    pub(super) async fn admit(self: &Arc<Self>, secret: &[u8]) -> Result<(TokenHash, Arc<Grant>)> {
        let wrong = || unauthorized("the token is not valid");
        // No database lookup for text that does not have the form of a token.
        if !Projects::could_be_secret(secret) {
            return Err(wrong());
        }
        let token_hash: TokenHash = Sha256::digest(secret).into();
        let grant = self.grant(&token_hash).await?.ok_or_else(wrong)?;
        Ok((token_hash, grant))
    }

    /// Looks up what the token with this hash grants; `None` if it is not valid.
    pub(super) async fn grant(self: &Arc<Self>, token_hash: &TokenHash) -> Result<Option<Arc<Grant>>> {
        let grant = match self.cached(token_hash) {
            Some(grant) => grant,
            None => self.look_up(*token_hash).await?,
        };
        Ok(grant.filter(|grant| is_valid(grant)))
    }

    /// Whether a token that was accepted before is still valid for its project.
    pub(super) async fn is_still_valid(self: &Arc<Self>, token_hash: &TokenHash) -> bool {
        let grant = match self.cached(token_hash) {
            Some(grant) => grant,
            // A short database outage does not end open streams.
            None => match self.look_up(*token_hash).await {
                Ok(grant) => grant,
                Err(_) => return true,
            },
        };
        let is_served = |grant: &Grant| grant.project.as_ref().is_some_and(|project| project.archived_at.is_none());
        grant.is_some_and(|grant| is_valid(&grant) && is_served(&grant))
    }

    /// Empties the cache, after a change to tokens or projects on this server.
    pub(super) fn clear(&self) {
        lock(&self.cached).clear();
    }

    fn cached(&self, token_hash: &TokenHash) -> Option<Option<Arc<Grant>>> {
        let cached = lock(&self.cached);
        let (at, grant) = cached.get(token_hash)?;
        (at.elapsed() < CACHE_TTL).then(|| grant.clone())
    }

    async fn look_up(self: &Arc<Self>, token_hash: TokenHash) -> Result<Option<Arc<Grant>>> {
        let this = Arc::clone(self);
        let started = Instant::now();
        let lookup = task::spawn_blocking(move || {
            let idle = lock(&this.idle).pop().filter(|control| !control.is_orphaned());
            let control = idle.map_or_else(|| this.projects.control(), Ok)?;
            let grant = Projects::grant(&control, &token_hash)?;
            lock(&this.idle).push(control);
            Ok(grant.map(Arc::new))
        });
        let grant = lookup.await.map_err(|_| unexpected())??;
        let mut cached = lock(&self.cached);
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(token_hash, (started, grant.clone()));
        Ok(grant)
    }
}

fn is_valid(grant: &Grant) -> bool {
    use pensa_engine::{Clock, SystemClock};
    SystemClock.now().is_ok_and(|now| grant.token.is_valid_at(now))
}

pub(super) fn unauthorized(what: &str) -> Error {
    Error::new(Code::Unauthorized, what)
        .hint("set PN_TOKEN, or send \"Authorization: Bearer TOKEN\"; an administrator makes one with pn token create")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
