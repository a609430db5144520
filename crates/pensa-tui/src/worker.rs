//! The threads that use the store, so that a slow or lost server never holds up keys: one for what is quickly answered and
//! for changes, one for what takes longer, and one that follows the log.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use pensa_client::{Client, LogFollower};
use pensa_core::Result;
use pensa_core::ops::event;

use crate::app::Msg;
use crate::store::{self, ChangeOutcome, StoreChange, StoreQuery};

/// Opens the store. Called again for each thread, and when a store or server has gone away.
pub type Connect = Arc<dyn Fn() -> Result<Client> + Send + Sync>;

/// The pause between attempts to reach a lost store.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum WorkItem {
    Ask(StoreQuery),
    Change(u64, Vec<StoreChange>),
}

/// The threads, by what can be sent to them. They end with the process.
#[derive(Debug)]
pub(crate) struct Workers {
    quick: Sender<WorkItem>,
    slow: Sender<WorkItem>,
}

impl Workers {
    /// Starts the threads. What happens is sent to `to`, first of all [`Msg::Connected`].
    pub(crate) fn start(connect: &Connect, to: &Sender<Msg>) -> Self {
        let (quick, quick_items) = mpsc::channel();
        let (slow, slow_items) = mpsc::channel();
        let (opening, sink) = (connect.clone(), to.clone());
        thread::spawn(move || {
            let first = opening().and_then(|client| Ok((follower(&client)?, client)));
            let client = match first {
                Ok((follower, client)) => {
                    let _ = sink.send(Msg::Connected(Ok(())));
                    let (opening, sink) = (opening.clone(), sink.clone());
                    thread::spawn(move || follow(&opening, follower, &sink));
                    client
                }
                Err(error) => {
                    let _ = sink.send(Msg::Connected(Err(error)));
                    return;
                }
            };
            work(&opening, Some(client), &quick_items, &sink);
        });
        let (opening, sink) = (connect.clone(), to.clone());
        thread::spawn(move || work(&opening, None, &slow_items, &sink));
        Self { quick, slow }
    }

    pub(crate) fn ask(&self, query: StoreQuery) {
        let worker = if query.is_slow() { &self.slow } else { &self.quick };
        // A thread that has ended has said why.
        let _ = worker.send(WorkItem::Ask(query));
    }

    pub(crate) fn change(&self, ticket: u64, changes: Vec<StoreChange>) {
        let _ = self.quick.send(WorkItem::Change(ticket, changes));
    }
}

fn work(connect: &Connect, mut client: Option<Client>, items: &Receiver<WorkItem>, to: &Sender<Msg>) {
    for item in items {
        // A database that was deleted or replaced is opened anew.
        client = client.filter(|client| !client.is_orphaned());
        let opened = match client.take() {
            Some(client) => Ok(client),
            None => connect(),
        };
        let answer = match (opened, item) {
            (Ok(opened), WorkItem::Ask(query)) => {
                let answer = store::ask(&opened, &query);
                client = Some(opened);
                Msg::Answer(query, answer)
            }
            (Ok(opened), WorkItem::Change(ticket, changes)) => {
                let outcome = store::change(&opened, &changes);
                client = Some(opened);
                Msg::Changed(ticket, outcome)
            }
            (Err(error), WorkItem::Ask(query)) => Msg::Answer(query, Err(error)),
            (Err(error), WorkItem::Change(ticket, changes)) => {
                let refused = changes.iter().map(|change| (change.subject(), error.clone())).collect();
                Msg::Changed(ticket, ChangeOutcome { refused, ..ChangeOutcome::default() })
            }
        };
        if to.send(answer).is_err() {
            return;
        }
    }
}

/// Follows the log from its end.
fn follower(client: &Client) -> Result<LogFollower> {
    let end = client.call(&event::List { limit: Some(0), ..event::List::default() })?.end;
    client.follow(&event::List::default(), end)
}

fn follow(connect: &Connect, mut following: LogFollower, to: &Sender<Msg>) {
    loop {
        let news = match following.wait() {
            Ok(_) => Msg::News,
            Err(error) => Msg::Lost(error),
        };
        let is_lost = matches!(news, Msg::Lost(_));
        if to.send(news).is_err() {
            return;
        }
        if is_lost {
            following = loop {
                thread::sleep(RETRY);
                if let Ok(found) = connect().and_then(|client| follower(&client)) {
                    break found;
                }
            };
            // Whatever happened in between is asked for.
            if to.send(Msg::News).is_err() {
                return;
            }
        }
    }
}
