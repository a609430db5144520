//! Tells which stores have changed: at once what this process changed, and through LISTEN and NOTIFY what others did.
//!
//! Notifying inside a transaction would make all commits of the database wait for each other. So a thread does it
//! after them, for all that changed in the meantime. One that gets lost is made good by whoever asks now and then.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::address::Address;
use super::session::{Session, spawn};
use crate::db::params;

/// How long changes are gathered before others are told.
const GATHER: Duration = Duration::from_millis(20);
/// Pause before the next try after the listening connection was lost.
const PAUSE: Duration = Duration::from_millis(500);
/// How often the listening task looks whether its connection lives and anybody still needs it.
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
    address: Address,
    listener: OnceLock<(Listener, UnboundedSender<Uuid>)>,
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
    pub(super) fn new(address: Address) -> Self {
        Self { inner: Arc::new(Inner { address, listener: OnceLock::new() }) }
    }

    /// From now on `listener` is called with every store that changed, or with none when any may have.
    pub fn listen(&self, listener: impl Fn(Option<Uuid>) + Send + Sync + 'static) {
        let (send, changed) = mpsc::unbounded_channel();
        if self.inner.listener.set((Box::new(listener), send)).is_err() {
            return;
        }
        // Both tasks end with the last handle: they hold only weak ones. Without them news arrive late, not never.
        let (address, inner) = (self.inner.address.clone(), Arc::downgrade(&self.inner));
        spawn(notify(address.clone(), changed));
        spawn(async move {
            while inner.strong_count() > 0 {
                hear(&address, &inner).await;
                sleep(PAUSE).await;
            }
        });
    }

    /// A store has changed through this process.
    pub(super) fn changed(&self, store: Uuid) {
        self.inner.tell_listener(Some(store));
        if let Some((_, send)) = self.inner.listener.get() {
            let _ = send.send(store);
        }
    }
}

/// Tells the other servers what changed, until the last handle is gone.
async fn notify(address: Address, mut changed: UnboundedReceiver<Uuid>) {
    let mut session: Option<Session> = None;
    while let Some(first) = changed.recv().await {
        sleep(GATHER).await;
        let mut stores = HashSet::from([first]);
        while stores.len() < MAX_TOLD
            && let Ok(store) = changed.try_recv()
        {
            stores.insert(store);
        }
        if session.as_ref().is_none_or(Session::is_broken) {
            session = timeout(super::BEGIN, quick_session(&address)).await.ok().flatten();
        }
        if let Some(session) = &mut session {
            let names: Vec<String> = stores.iter().map(ToString::to_string).collect();
            let _ = session.query("SELECT pg_notify('pensa_changes', ?1)", params![names.join(" ")]).await;
        }
    }
}

/// A session whose commits wait for no disk and no standby: losing what it does is harmless.
async fn quick_session(address: &Address) -> Option<Session> {
    let mut session = Session::connect(address).await.ok()?;
    session.batch("SET synchronous_commit = off").await.ok()?;
    Some(session)
}

/// Hears until the connection is lost or the last handle is gone.
async fn hear(address: &Address, to: &Weak<Inner>) {
    let heard = to.clone();
    let connecting = Session::connect_with(address, move |news| {
        if let Some(inner) = heard.upgrade() {
            let stores = news.payload().split(' ').filter_map(|name| name.parse().ok());
            stores.for_each(|store| inner.tell_listener(Some(store)));
        }
    });
    let Ok(Ok(mut session)) = timeout(super::BEGIN, connecting).await else { return };
    if session.batch(&format!("LISTEN {CHANNEL}")).await.is_err() {
        return;
    }
    // Whatever happened while nobody heard.
    if let Some(inner) = to.upgrade() {
        inner.tell_listener(None);
    }
    while to.strong_count() > 0 && !session.is_broken() {
        sleep(LOOK_UP).await;
    }
}
