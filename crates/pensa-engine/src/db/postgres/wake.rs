//! Tells which stores have changed: at once what this process changed, and through LISTEN and NOTIFY what others did.
//!
//! Notifying inside a transaction would make all commits of the database wait for each other. So a thread does it
//! after them, for all that changed in the meantime. One that gets lost is made good by whoever asks now and then.

use std::collections::HashSet;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use uuid::Uuid;

use super::address::Address;
use super::connection::{ANSWER, Connection};
use super::pool::Pool;
use super::wire::is_late;
use crate::db::params;

/// How long changes are gathered before others are told.
const GATHER: Duration = Duration::from_millis(20);
/// Pause before the next try after the listening connection was lost.
const PAUSE: Duration = Duration::from_millis(500);
/// How often a thread that waits looks whether anybody still needs it.
const LOOK_UP: Duration = Duration::from_secs(1);
/// Most stores told in one statement; payloads are limited.
const MAX_TOLD: usize = 100;
const CHANNEL: &str = "pensa_changes";

type Listener = Box<dyn Fn(Option<Uuid>) + Send + Sync>;

/// The news of one database. Nothing is sent or heard before somebody listens.
#[derive(Clone)]
pub struct Wakeups {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Arc<Pool>,
    listener: OnceLock<(Listener, Sender<Uuid>)>,
}

impl Inner {
    fn tell_listener(&self, store: Option<Uuid>) {
        if let Some((listener, _)) = self.listener.get() {
            listener(store);
        }
    }
}

impl std::fmt::Debug for Wakeups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wakeups")
    }
}

impl Wakeups {
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        Self { inner: Arc::new(Inner { pool, listener: OnceLock::new() }) }
    }

    /// From now on `listener` is called with every store that changed, or with none when any may have.
    pub fn listen(&self, listener: impl Fn(Option<Uuid>) + Send + Sync + 'static) {
        let (send, changed) = mpsc::channel();
        if self.inner.listener.set((Box::new(listener), send)).is_err() {
            return;
        }
        // Both threads end with the last handle: they hold only weak ones.
        let (telling, hearing) = (Arc::downgrade(&self.inner), Arc::downgrade(&self.inner));
        let tell = move || {
            let mut connection = None;
            while let Some(stores) = gather(&changed) {
                let Some(inner) = telling.upgrade() else { return };
                connection = tell(&inner.pool, connection.take(), &stores);
            }
        };
        let hear = move || {
            while let Some(inner) = hearing.upgrade() {
                let address = inner.pool.address.clone();
                drop(inner);
                hear(&address, &hearing);
                thread::sleep(PAUSE);
            }
        };
        // Without them news arrive late, not never.
        let _ = thread::Builder::new().name("pensa-tell".into()).spawn(tell);
        let _ = thread::Builder::new().name("pensa-hear".into()).spawn(hear);
    }

    /// A store has changed through this process.
    pub(super) fn changed(&self, store: Uuid) {
        self.inner.tell_listener(Some(store));
        if let Some((_, send)) = self.inner.listener.get() {
            let _ = send.send(store);
        }
    }
}

/// The stores that changed within a short time; nothing once nobody can change any more.
fn gather(changed: &mpsc::Receiver<Uuid>) -> Option<HashSet<Uuid>> {
    let first = match changed.recv_timeout(LOOK_UP) {
        Ok(store) => store,
        // A chance for the caller to see that the last handle is gone.
        Err(RecvTimeoutError::Timeout) => return Some(HashSet::new()),
        Err(RecvTimeoutError::Disconnected) => return None,
    };
    thread::sleep(GATHER);
    Some(changed.try_iter().take(MAX_TOLD).chain([first]).collect())
}

/// Tells the other servers. The connection is for the next time.
fn tell(pool: &Pool, connection: Option<Connection>, stores: &HashSet<Uuid>) -> Option<Connection> {
    if stores.is_empty() {
        return connection;
    }
    let deadline = Instant::now() + super::BEGIN;
    let mut connection = match connection {
        Some(connection) if !connection.is_broken() => connection,
        _ => {
            let mut fresh = Connection::open(&pool.address, deadline).ok()?;
            // Losing this is harmless; waiting for a disk or a standby would be for nothing.
            fresh.batch("SET synchronous_commit = off", deadline).ok()?;
            fresh
        }
    };
    let names: Vec<String> = stores.iter().map(ToString::to_string).collect();
    let sql = "SELECT pg_notify('pensa_changes', ?1)";
    connection.execute(sql, params![names.join(" ")], Instant::now() + ANSWER).ok()?;
    Some(connection)
}

/// Hears until the connection is lost or nobody listens any more.
fn hear(address: &Address, to: &Weak<Inner>) {
    let Ok(mut wire) = address.connect(Instant::now() + super::BEGIN) else { return };
    if frontend::query(&format!("LISTEN {CHANNEL}"), &mut wire.out).is_err() || wire.send(super::BEGIN).is_err() {
        return;
    }
    while let Some(inner) = to.upgrade() {
        match wire.receive(LOOK_UP) {
            // Whatever happened while nobody heard.
            Ok(Message::ReadyForQuery(_)) => inner.tell_listener(None),
            Ok(Message::NotificationResponse(news)) => {
                let stores = news.message().unwrap_or_default().split(' ').filter_map(|name| name.parse().ok());
                stores.for_each(|store| inner.tell_listener(Some(store)));
            }
            Ok(Message::ErrorResponse(_)) => return,
            Ok(_) => {}
            Err(e) if is_late(&e) => {}
            Err(_) => return,
        }
    }
}
