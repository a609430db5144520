//! Holds the state of a team server: checked tokens, rate limits, the control store and the open project stores.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use pensa_core::ops::audit::Audit;
use pensa_core::project::Project;
use pensa_core::{Error, Op, Result, json};
use pensa_engine::{Caller, Entry, Grant, IdempotentRequest, NoticeSink, PoolState, Projects};
use serde::Deserialize;
use serde_json::Value;
use tokio::task;

use super::token_cache::TokenCache;
use crate::dispatch::unexpected;
use crate::rate_limit::RateLimit;
use crate::request_context::TokenHash;
use crate::served_store::ServedStore;

/// A store that was not used for this long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// With more open stores than this, idle ones are closed at once.
const MAX_OPEN: usize = 256;
/// How often idle stores are closed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct ServerState {
    projects: Projects,
    tokens: Arc<TokenCache>,
    rate: RateLimit,
    control: Arc<ServedStore>,
    open: Arc<Mutex<OpenStores>>,
}

/// Logs notices of a store, such as that it was rebuilt.
fn log_notices(project: &str) -> NoticeSink {
    let project = project.to_owned();
    Arc::new(move |notice| tracing::error!(project, "{notice}"))
}

#[derive(Debug)]
struct OpenStores {
    /// By store id.
    stores: HashMap<String, (Arc<ServedStore>, Instant)>,
    swept: Instant,
}

impl ServerState {
    pub(crate) fn open(projects: Projects, rate: RateLimit) -> Result<Arc<Self>> {
        let open = Arc::new(Mutex::new(OpenStores { stores: HashMap::new(), swept: Instant::now() }));
        if let Projects::Database(database) = &projects {
            let heard = Arc::clone(&open);
            database.wakeups().listen(move |store| notify(&heard, store.map(|id| id.to_string())));
        }
        let control = Arc::new(ServedStore::start(projects.control()?.with_notices(log_notices("control")))?);
        let tokens = Arc::new(TokenCache::new(projects.clone()));
        Ok(Arc::new(Self { projects, tokens, rate, control, open }))
    }

    /// Checks a secret. Returns its hash and what it grants.
    pub(super) async fn admit(&self, secret: &[u8]) -> Result<(TokenHash, Arc<Grant>)> {
        self.tokens.admit(secret).await
    }

    pub(crate) async fn is_still_valid(&self, token_hash: &TokenHash) -> bool {
        self.tokens.is_still_valid(token_hash).await
    }

    /// Counts a request of a token; the error is the time to wait.
    pub(super) fn check_rate(&self, grant: &Grant) -> Result<(), Duration> {
        self.rate.admit(grant.token.id.as_str())
    }

    /// The store of a project, opened if necessary.
    pub(super) async fn store(self: &Arc<Self>, project: &Project) -> Result<Arc<ServedStore>> {
        if let Some(served) = self.open_store(&project.store_id) {
            return Ok(served);
        }
        let (this, project) = (Arc::clone(self), project.clone());
        let opening = task::spawn_blocking(move || {
            let store = this.projects.store(&project)?.with_notices(log_notices(project.name.as_str()));
            let served = Arc::new(ServedStore::start(store)?);
            let (served, closed) = {
                let mut open = lock(&this.open);
                // Another request may have opened it in the meantime; then that store is used.
                let (served, used) = open.stores.entry(project.store_id).or_insert((served, Instant::now()));
                *used = Instant::now();
                (Arc::clone(served), open.sweep())
            };
            // Closing a store waits for its writer.
            drop(closed);
            Ok(served)
        });
        opening.await.map_err(|_| unexpected())?
    }

    fn open_store(&self, id: &str) -> Option<Arc<ServedStore>> {
        let (served, closed) = {
            let mut open = lock(&self.open);
            let (served, used) = open.stores.get_mut(id)?;
            *used = Instant::now();
            (Arc::clone(served), open.sweep())
        };
        if !closed.is_empty() {
            // Closing a store waits for its writer.
            task::spawn_blocking(move || drop(closed));
        }
        Some(served)
    }

    /// Runs an operation on the control store.
    pub(crate) async fn run(
        self: &Arc<Self>,
        entry: &'static Entry,
        caller: Caller,
        input: Value,
        once: Option<IdempotentRequest>,
    ) -> Result<Bytes> {
        if entry.name == Audit::NAME {
            return self.audit(caller, &input).await;
        }
        let answer = self.control.dispatch.run(entry, caller, input, once).await;
        self.tokens.clear();
        answer
    }

    /// The store of projects and tokens.
    pub(super) fn control(&self) -> Arc<ServedStore> {
        Arc::clone(&self.control)
    }

    /// Runs an operation on the control store for the server itself.
    pub(super) async fn run_in_control(&self, entry: &'static Entry, caller: Caller, input: Value) -> Result<Bytes> {
        self.control.dispatch.run(entry, caller, input, None).await
    }

    /// What the token with this hash grants; `None` if it is no longer valid.
    pub(super) async fn grant(&self, token_hash: &TokenHash) -> Result<Option<Arc<Grant>>> {
        self.tokens.grant(token_hash).await
    }

    /// Reads the audit log of every store that the query concerns.
    async fn audit(self: &Arc<Self>, caller: Caller, input: &Value) -> Result<Bytes> {
        let query = Audit::deserialize(input).map_err(|e| Error::invalid(format!("{}: {e}", Audit::NAME)))?;
        let this = Arc::clone(self);
        let reading = task::spawn_blocking(move || json::to_line(&this.projects.audit(&caller, &query)?));
        reading.await.map_err(|_| unexpected())?.map(Bytes::from)
    }

    /// Checks that the database answers.
    pub(super) async fn is_ready(&self) -> Result<()> {
        self.control.dispatch.query(|_, tx| pensa_engine::log_end(tx)).await.map(drop)
    }

    /// The state of the connection pool; `None` without a database server.
    pub(super) fn pool(&self) -> Option<PoolState> {
        match &self.projects {
            Projects::Database(database) => Some(database.pool_state()),
            Projects::Directory(_) => None,
        }
    }

    pub(super) fn open_stores(&self) -> usize {
        lock(&self.open).stores.len()
    }
}

impl OpenStores {
    /// Removes the stores that are no longer used.
    fn sweep(&mut self) -> Vec<Arc<ServedStore>> {
        if self.swept.elapsed() < SWEEP_INTERVAL && self.stores.len() <= MAX_OPEN {
            return Vec::new();
        }
        self.swept = Instant::now();
        let timeout = if self.stores.len() > MAX_OPEN { Duration::ZERO } else { IDLE_TIMEOUT };
        let is_idle = |served: &Arc<ServedStore>, used: &Instant| {
            used.elapsed() > timeout && !served.has_followers() && Arc::strong_count(served) == 1
        };
        self.stores.extract_if(|_, (served, used)| is_idle(served, used)).map(|(_, (served, _))| served).collect()
    }
}

/// Notifies the streams of one store, or of all stores, of a change.
fn notify(open: &Mutex<OpenStores>, store: Option<String>) {
    let open = lock(open);
    match store {
        Some(id) => open.stores.get(&id).into_iter().for_each(|(served, _)| served.notify()),
        None => open.stores.values().for_each(|(served, _)| served.notify()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
