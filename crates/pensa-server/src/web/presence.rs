//! Tracks who has pages of a store open, and sends the names to every open page.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream::{self, StreamExt};
use tokio::sync::watch;
use tokio::time::sleep;

use super::SessionCheck;

/// Those with an open page: their names by the number of their connection.
type Visitors = BTreeMap<u64, String>;

/// How often the session of an open stream is checked.
const SESSION_CHECK_INTERVAL: Duration = Duration::from_millis(900);

/// The readers of one store that are connected to this server.
#[derive(Debug, Default)]
pub(crate) struct Presence(Arc<watch::Sender<Visitors>>);

impl Presence {
    /// Adds a reader until the returned value is dropped.
    pub(crate) fn join(&self, name: &str) -> PresenceGuard {
        let mut number = 0;
        self.0.send_modify(|visitors| {
            number = visitors.last_key_value().map_or(0, |(last, _)| last + 1);
            visitors.insert(number, name.to_owned());
        });
        PresenceGuard { number, visitors: Arc::clone(&self.0) }
    }
}

/// One connected reader.
#[derive(Debug)]
pub(crate) struct PresenceGuard {
    number: u64,
    visitors: Arc<watch::Sender<Visitors>>,
}

impl PresenceGuard {
    fn others(&self, visitors: &Visitors) -> Bytes {
        let others = visitors.iter().filter(|(number, _)| **number != self.number);
        let names = serde_json::Value::from_iter(others.map(|(_, name)| name.as_str()));
        Bytes::from(format!("event: presence\ndata: {names}\n\n"))
    }
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        self.visitors.send_modify(|visitors| drop(visitors.remove(&self.number)));
    }
}

/// Adds who else is here to an event stream. The stream ends when the events end, or the session.
pub(super) fn beside(response: Response, here: PresenceGuard, session: Option<SessionCheck>) -> Response {
    let (head, body) = response.into_parts();
    let mut changes = here.visitors.subscribe();
    changes.mark_changed();
    let presence = stream::unfold((here, changes), async |(here, mut changes)| {
        changes.changed().await.ok()?;
        let told = here.others(&changes.borrow_and_update());
        Some((Some(Ok(told)), (here, changes)))
    });
    let events = body.into_data_stream().map(Some).chain(stream::once(ready(None)));
    let ended = stream::once(async move {
        match session {
            None => std::future::pending().await,
            Some(session) => {
                while session.goes_on().await {
                    sleep(SESSION_CHECK_INTERVAL).await;
                }
            }
        }
        None
    });
    let all = stream::select(stream::select(events, presence), ended.boxed());
    let body = all.take_while(|chunk| ready(chunk.is_some())).filter_map(|chunk| ready(chunk.and_then(Result::ok)));
    Response::from_parts(head, Body::from_stream(body.map(Ok::<_, Infallible>)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_told_of_the_others_until_they_leave() {
        let presence = Presence::default();
        let (ana, ben) = (presence.join("ana"), presence.join("ben"));
        let told = |to: &PresenceGuard| String::from_utf8(to.others(&presence.0.borrow()).to_vec()).expect("text");
        assert_eq!(told(&ana), "event: presence\ndata: [\"ben\"]\n\n");
        assert_eq!(told(&ben), "event: presence\ndata: [\"ana\"]\n\n");
        drop(ben);
        assert_eq!(told(&ana), "event: presence\ndata: []\n\n");
    }
}
