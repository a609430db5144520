//! Notifies about changed stores: at once for changes of this process, and through LISTEN and NOTIFY for those of
//! others.
//!
//! NOTIFY inside a transaction would serialise all commits of the database. So a task sends it after the commits, for
//! all stores that changed in the meantime. Pollers make up for a lost notification.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::address::Address;
use super::connection::{PgConnection, spawn};
use crate::db::params;

/// How long changes are collected before they are sent.
const COALESCE_DELAY: Duration = Duration::from_millis(20);
/// Delay before reconnecting after the listening connection was lost.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);
/// How often the listening task checks its connection and whether it is still needed.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(1);
/// Limit for stores in one notification, because payloads are limited.
const MAX_STORES: usize = 100;
const CHANNEL: &str = "pensa_changes";

type Listener = Box<dyn Fn(Option<Uuid>) + Send + Sync>;

/// Change notifications of one database. Nothing is sent or received before [`listen`](Self::listen).
#[derive(Clone)]
pub struct Wakeups {
    inner: Arc<Inner>,
}

struct Inner {
    address: Address,
    listener: OnceLock<(Listener, UnboundedSender<Uuid>)>,
}

impl Inner {
    fn notify_listener(&self, store: Option<Uuid>) {
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
    pub(super) fn new(address: Address) -> Self {
        Self { inner: Arc::new(Inner { address, listener: OnceLock::new() }) }
    }

    /// Calls `listener` with each changed store from now on, or with `None` when any store may have changed.
    pub fn listen(&self, listener: impl Fn(Option<Uuid>) + Send + Sync + 'static) {
        let (send, changed) = mpsc::unbounded_channel();
        if self.inner.listener.set((Box::new(listener), send)).is_err() {
            return;
        }
        // Both tasks hold weak references, so they end with the last handle. Without them, notifications are late but
        // not lost.
        let (address, inner) = (self.inner.address.clone(), Arc::downgrade(&self.inner));
        spawn(notify(address.clone(), changed));
        spawn(async move {
            while inner.strong_count() > 0 {
                hear(&address, &inner).await;
                sleep(RECONNECT_DELAY).await;
            }
        });
    }

    /// Reports that this process changed a store.
    pub(super) fn changed(&self, store: Uuid) {
        self.inner.notify_listener(Some(store));
        if let Some((_, send)) = self.inner.listener.get() {
            let _ = send.send(store);
        }
    }
}

/// Notifies other servers of changes, until the last handle is dropped.
async fn notify(address: Address, mut changed: UnboundedReceiver<Uuid>) {
    let mut session: Option<PgConnection> = None;
    while let Some(first) = changed.recv().await {
        sleep(COALESCE_DELAY).await;
        let mut stores = HashSet::from([first]);
        while stores.len() < MAX_STORES
            && let Ok(store) = changed.try_recv()
        {
            stores.insert(store);
        }
        if session.as_ref().is_none_or(PgConnection::is_broken) {
            session = timeout(super::BEGIN_TIMEOUT, quick_session(&address)).await.ok().flatten();
        }
        if let Some(session) = &mut session {
            let names: Vec<String> = stores.iter().map(ToString::to_string).collect();
            let _ = session.query("SELECT pg_notify('pensa_changes', ?1)", params![names.join(" ")]).await;
        }
    }
}

/// A connection whose commits wait neither for the disk nor for a standby: losing them is harmless.
async fn quick_session(address: &Address) -> Option<PgConnection> {
    let mut session = PgConnection::connect(address).await.ok()?;
    session.batch("SET synchronous_commit = off").await.ok()?;
    Some(session)
}

/// Listens until the connection is lost or the last handle is dropped.
async fn hear(address: &Address, to: &Weak<Inner>) {
    let heard = to.clone();
    let connecting = PgConnection::connect_with(address, move |news| {
        if let Some(inner) = heard.upgrade() {
            let stores = news.payload().split(' ').filter_map(|name| name.parse().ok());
            stores.for_each(|store| inner.notify_listener(Some(store)));
        }
    });
    let Ok(Ok(mut session)) = timeout(super::BEGIN_TIMEOUT, connecting).await else { return };
    if session.batch(&format!("LISTEN {CHANNEL}")).await.is_err() {
        return;
    }
    // Any store may have changed while no connection listened.
    if let Some(inner) = to.upgrade() {
        inner.notify_listener(None);
    }
    while to.strong_count() > 0 && !session.is_broken() {
        sleep(LIVENESS_INTERVAL).await;
    }
}
