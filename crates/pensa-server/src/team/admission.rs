//! Who is let in: what a shown secret opens, looked up at most every few seconds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pensa_core::{Code, Error, Result};
use pensa_engine::{Engine, Grant, Projects};
use sha2::{Digest, Sha256};
use tokio::task;

use crate::dispatch::unexpected;
use crate::scene::Pass;

/// How long a look is good for: a token that was revoked elsewhere works no longer than this.
const GOOD_FOR: Duration = Duration::from_secs(2);
/// Most secrets remembered, wrong ones among them; then all are forgotten.
const MAX_KNOWN: usize = 10_000;

/// When somebody looked, and what was found.
type Looked = (Instant, Option<Arc<Grant>>);

#[derive(Debug)]
pub(super) struct Admission {
    projects: Projects,
    /// Handles on the control store that nobody uses right now.
    idle: Mutex<Vec<Engine>>,
    known: Mutex<HashMap<Pass, Looked>>,
}

impl Admission {
    pub(super) fn new(projects: Projects) -> Self {
        Self { projects, idle: Mutex::default(), known: Mutex::default() }
    }

    /// What a secret opens now; an error for one that opens nothing.
    pub(super) async fn admit(self: &Arc<Self>, secret: &[u8]) -> Result<(Pass, Arc<Grant>)> {
        let wrong = || unauthorized("the token is not valid");
        // What cannot be a token is not worth a look into the database.
        if !Projects::could_be_secret(secret) {
            return Err(wrong());
        }
        let pass: Pass = Sha256::digest(secret).into();
        let grant = match self.known(&pass) {
            Some(grant) => grant,
            None => self.look_up(pass).await?,
        };
        let grant = grant.filter(|grant| is_valid(grant)).ok_or_else(wrong)?;
        Ok((pass, grant))
    }

    /// Whether what was shown before still opens what it did.
    pub(super) async fn still_admits(self: &Arc<Self>, pass: &Pass) -> bool {
        let grant = match self.known(pass) {
            Some(grant) => grant,
            // A database that is away for a moment does not end what was allowed.
            None => match self.look_up(*pass).await {
                Ok(grant) => grant,
                Err(_) => return true,
            },
        };
        let is_served = |grant: &Grant| grant.project.as_ref().is_some_and(|project| project.archived_at.is_none());
        grant.is_some_and(|grant| is_valid(&grant) && is_served(&grant))
    }

    /// Looks again at everything from now on: this server has changed something.
    pub(super) fn forget(&self) {
        lock(&self.known).clear();
    }

    fn known(&self, pass: &Pass) -> Option<Option<Arc<Grant>>> {
        let known = lock(&self.known);
        let (at, grant) = known.get(pass)?;
        (at.elapsed() < GOOD_FOR).then(|| grant.clone())
    }

    async fn look_up(self: &Arc<Self>, pass: Pass) -> Result<Option<Arc<Grant>>> {
        let this = Arc::clone(self);
        let looked = Instant::now();
        let looking = task::spawn_blocking(move || {
            let idle = lock(&this.idle).pop().filter(|control| !control.is_orphaned());
            let control = idle.map_or_else(|| this.projects.control(), Ok)?;
            let grant = Projects::grant(&control, &pass)?;
            lock(&this.idle).push(control);
            Ok(grant.map(Arc::new))
        });
        let grant = looking.await.map_err(|_| unexpected())??;
        let mut known = lock(&self.known);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(pass, (looked, grant.clone()));
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
