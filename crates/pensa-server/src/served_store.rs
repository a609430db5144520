//! Holds one open store of a server: its dispatcher, its change notifications and its event feed.

use std::time::Duration;

use pensa_core::Result;
use pensa_engine::Engine;
use tokio::sync::watch;

use crate::dispatch::Dispatch;
use crate::stream::feed::Feed;
use crate::web::presence::Presence;

/// How often a local store is polled for commits of other processes while a stream is open.
const LOCAL_POLL: Duration = Duration::from_millis(100);
/// The same for a database that sends notifications, in case one was lost.
const DATABASE_POLL: Duration = Duration::from_millis(900);

#[derive(Debug)]
pub(crate) struct ServedStore {
    pub(crate) dispatch: Dispatch,
    changes: watch::Sender<()>,
    /// The end of the log, shared by all event streams.
    pub(crate) feed: Feed,
    /// Who has pages open.
    pub(crate) presence: Presence,
}

impl ServedStore {
    pub(crate) fn start(engine: Engine) -> Result<Self> {
        Ok(Self {
            dispatch: Dispatch::start(engine)?,
            changes: watch::Sender::new(()),
            feed: Feed::default(),
            presence: Presence::default(),
        })
    }

    /// A receiver that is notified when the store may have changed.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Notifies the feed that the store has changed.
    pub(crate) fn notify(&self) {
        self.changes.send_replace(());
    }

    /// How long to wait for a notification before polling.
    pub(crate) fn poll_interval(&self) -> Duration {
        if self.dispatch.is_local() { LOCAL_POLL } else { DATABASE_POLL }
    }

    /// Whether an event stream is open.
    pub(crate) fn has_followers(&self) -> bool {
        self.feed.is_followed()
    }
}
