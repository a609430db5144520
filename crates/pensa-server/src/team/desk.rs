//! The desk of a server: lets callers in, knows the projects, and keeps the stores open that are in use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use pensa_core::ops::audit::Audit;
use pensa_core::project::Project;
use pensa_core::{Error, Op, Result, json};
use pensa_engine::{Caller, Ear, Entry, Grant, Once, PoolState, Projects};
use serde::Deserialize;
use serde_json::Value;
use tokio::task;

use super::admission::Admission;
use crate::dispatch::unexpected;
use crate::limit::RateLimit;
use crate::scene::Pass;
use crate::served::Served;

/// A store that nobody has asked for this long is closed.
const IDLE: Duration = Duration::from_secs(300);
/// Stores open at a time; then idle ones are closed earlier.
const MAX_OPEN: usize = 256;
/// How often idle stores are looked for.
const SWEEP: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Desk {
    projects: Projects,
    admission: Arc<Admission>,
    rate: RateLimit,
    control: Served,
    open: Arc<Mutex<Open>>,
}

/// Logs what happens to a store by itself, such as that it had to be rebuilt.
fn logging(project: &str) -> Ear {
    let project = project.to_owned();
    Arc::new(move |notice| tracing::error!(project, "{notice}"))
}

#[derive(Debug)]
struct Open {
    /// By the id of the store.
    stores: HashMap<String, (Arc<Served>, Instant)>,
    swept: Instant,
}

impl Desk {
    pub(crate) fn open(projects: Projects, rate: RateLimit) -> Result<Arc<Self>> {
        let open = Arc::new(Mutex::new(Open { stores: HashMap::new(), swept: Instant::now() }));
        if let Projects::Database(database) = &projects {
            let heard = Arc::clone(&open);
            database.wakeups().listen(move |store| tell(&heard, store.map(|id| id.to_string())));
        }
        let control = Served::start(projects.control()?.telling(logging("control")))?;
        let admission = Arc::new(Admission::new(projects.clone()));
        Ok(Arc::new(Self { projects, admission, rate, control, open }))
    }

    /// What a secret opens now.
    pub(super) async fn admit(&self, secret: &[u8]) -> Result<(Pass, Arc<Grant>)> {
        self.admission.admit(secret).await
    }

    pub(crate) async fn still_admits(&self, pass: &Pass) -> bool {
        self.admission.still_admits(pass).await
    }

    /// Takes a request of a token into account; an error says how long to wait.
    pub(super) fn pace(&self, grant: &Grant) -> Result<(), Duration> {
        self.rate.admit(grant.token.id.as_str())
    }

    /// The store of a project.
    pub(super) async fn store(self: &Arc<Self>, project: &Project) -> Result<Arc<Served>> {
        if let Some(served) = self.opened(&project.store_id) {
            return Ok(served);
        }
        let (this, project) = (Arc::clone(self), project.clone());
        let opening = task::spawn_blocking(move || {
            let store = this.projects.store(&project)?.telling(logging(project.name.as_str()));
            let served = Arc::new(Served::start(store)?);
            let (served, closed) = {
                let mut open = lock(&this.open);
                // Another request may have been quicker: then its store is everybody's.
                let (served, used) = open.stores.entry(project.store_id).or_insert((served, Instant::now()));
                *used = Instant::now();
                (Arc::clone(served), open.sweep())
            };
            // Closing waits for the writer.
            drop(closed);
            Ok(served)
        });
        opening.await.map_err(|_| unexpected())?
    }

    fn opened(&self, id: &str) -> Option<Arc<Served>> {
        let (served, closed) = {
            let mut open = lock(&self.open);
            let (served, used) = open.stores.get_mut(id)?;
            *used = Instant::now();
            (Arc::clone(served), open.sweep())
        };
        if !closed.is_empty() {
            // Closing waits for the writer.
            task::spawn_blocking(move || drop(closed));
        }
        Some(served)
    }

    /// Runs an operation on the server's own affairs.
    pub(crate) async fn run(
        self: &Arc<Self>,
        entry: &'static Entry,
        caller: Caller,
        input: Value,
        once: Option<Once>,
    ) -> Result<Bytes> {
        if entry.name == Audit::NAME {
            return self.audit(caller, &input).await;
        }
        let answer = self.control.dispatch.run(entry, caller, input, once).await;
        self.admission.forget();
        answer
    }

    /// Reads every store that is concerned.
    async fn audit(self: &Arc<Self>, caller: Caller, input: &Value) -> Result<Bytes> {
        let wanted = Audit::deserialize(input).map_err(|e| Error::invalid(format!("{}: {e}", Audit::NAME)))?;
        let this = Arc::clone(self);
        let reading = task::spawn_blocking(move || json::to_line(&this.projects.audit(&caller, &wanted)?));
        reading.await.map_err(|_| unexpected())?.map(Bytes::from)
    }

    /// Whether the database answers.
    pub(super) async fn is_ready(&self) -> Result<()> {
        self.control.dispatch.ask(|_, tx| pensa_engine::log_end(tx)).await.map(drop)
    }

    /// How the connections to the database are doing, if there is one.
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

impl Open {
    /// Takes out what nobody uses any more.
    fn sweep(&mut self) -> Vec<Arc<Served>> {
        if self.swept.elapsed() < SWEEP && self.stores.len() <= MAX_OPEN {
            return Vec::new();
        }
        self.swept = Instant::now();
        let patience = if self.stores.len() > MAX_OPEN { Duration::ZERO } else { IDLE };
        let is_idle = |served: &Arc<Served>, used: &Instant| {
            used.elapsed() > patience && !served.is_watched() && Arc::strong_count(served) == 1
        };
        self.stores.extract_if(|_, (served, used)| is_idle(served, used)).map(|(_, (served, _))| served).collect()
    }
}

/// Says that a store has changed, or that any may have.
fn tell(open: &Mutex<Open>, store: Option<String>) {
    let open = lock(open);
    match store {
        Some(id) => open.stores.get(&id).into_iter().for_each(|(served, _)| served.tell()),
        None => open.stores.values().for_each(|(served, _)| served.tell()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
