//! One store that is being served: the ways to it, and the news of its changes.

use std::time::Duration;

use pensa_core::Result;
use pensa_engine::Engine;
use tokio::sync::watch;

use crate::dispatch::Dispatch;
use crate::stream::feed::Feed;

/// How often a store of this machine is looked at for changes by other processes, while somebody wants to know.
const LOOK_NEAR: Duration = Duration::from_millis(100);
/// The same for a database that tells its changes, in case it did not.
const LOOK_FAR: Duration = Duration::from_millis(900);

#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) dispatch: Dispatch,
    news: watch::Sender<()>,
    /// What those share who follow its log.
    pub(crate) feed: Feed,
}

impl Served {
    pub(crate) fn start(engine: Engine) -> Result<Self> {
        Ok(Self { dispatch: Dispatch::start(engine)?, news: watch::Sender::new(()), feed: Feed::default() })
    }

    /// Told whenever the store has changed, as far as anybody says so.
    pub(crate) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// Says that the store has changed.
    pub(crate) fn tell(&self) {
        self.news.send_replace(());
    }

    /// How long to wait for news before looking.
    pub(crate) fn look_after(&self) -> Duration {
        if self.dispatch.is_local() { LOOK_NEAR } else { LOOK_FAR }
    }

    /// Whether a stream is open on it.
    pub(crate) fn is_watched(&self) -> bool {
        self.feed.is_followed()
    }
}
