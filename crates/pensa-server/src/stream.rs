//! The stream of a store's events: everything after a line, in order, and then whatever happens.
//!
//! The log is the only source: news merely say when to look, so nothing is skipped and nothing comes twice. A piece is
//! made when the connection has room for it, so that a client which does not read costs no memory.

pub(crate) mod feed;

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;
use futures_util::stream::{self, StreamExt};
use pensa_core::event::filter::Filter;
use pensa_core::ops::event::{List, Page};
use pensa_core::{Code, Error, Result, json};
use pensa_engine::{log_end, log_filter, log_page};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::percent;
use crate::scene::Scene;
use crate::served::Served;
use feed::{PAGE, Place, Tip, replaced};

/// Where it is served.
pub(crate) const PATH: &str = "/events";
/// A sign of life for proxies that close what is silent.
const STILL_HERE: Duration = Duration::from_secs(15);
/// How often it is looked whether the caller may still look.
const ADMISSION: Duration = Duration::from_millis(900);
/// Longest time for which a client may leave a piece unread. Less than the time after which a connection is given up.
const UNREAD: Duration = Duration::from_secs(10);
/// Events passed over after which a client is told how far it is.
const PASSED_OVER: i64 = 200;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Starts a stream. It ends when the client leaves or does not read, the server stops, the log is another one, or the
/// caller may no longer look.
pub(crate) async fn answer(
    scene: Scene,
    store: Arc<Served>,
    uri: &Uri,
    headers: &HeaderMap,
    stop: watch::Receiver<bool>,
) -> Result<Response> {
    let wanted = wanted(uri, headers)?;
    // From before the first look: what changes in between is seen twice rather than never.
    let tip = feed::follow(&store);
    let turn = tip.borrow().turn;
    // The first page is read before anything is answered: what is wrong with the store is told as an error.
    let (filter, page, after) = store.dispatch.ask(move |_, tx| first(tx, &wanted)).await?;
    if after > page.end {
        return Err(replaced(page.end, after));
    }
    let hello = format!(": events after {after}\nretry: 1000\n\n{}", feed::written(&page.events)?);
    let told = page.events.last().map_or(after, |event| event.id);
    let stream =
        Stream { scene, store, filter, tip, turn, stop, after: page.last, told, spoke: Instant::now(), is_over: false };
    let hello = stream::once(ready(Bytes::from(hello)));
    // Each piece is made when it is asked for: the time until then is how long the last one was not read.
    let pieces = stream::unfold((stream, Instant::now()), async |(mut stream, since)| {
        let piece = stream.next(since.elapsed()).await;
        Some((piece?, (stream, Instant::now())))
    });
    let mut response = Response::new(Body::from_stream(hello.chain(pieces).map(Ok::<_, Infallible>)));
    let told = response.headers_mut();
    told.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    told.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    told.insert(BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// What is wanted, the first of it, and after which number it begins.
fn first(tx: &pensa_engine::Tx<'_>, wanted: &List) -> Result<(Filter, Page, i64)> {
    let filter = log_filter(tx, wanted)?;
    let after = wanted.after.map_or_else(|| log_end(tx), Ok)?;
    let page = log_page(tx, &filter, after, PAGE)?;
    Ok((filter, page, after))
}

/// What the query says; where a broken stream ended goes before where it is to begin.
fn wanted(uri: &Uri, headers: &HeaderMap) -> Result<List> {
    let mut wanted = List::default();
    for pair in uri.query().into_iter().flat_map(percent::query) {
        let (name, value) = pair.ok_or_else(|| Error::invalid("the query is not percent-encoded UTF-8"))?;
        match name.as_str() {
            "after" => wanted.after = Some(number(value.as_bytes())?),
            "subject" => wanted.subject = Some(value),
            "type" => wanted.types.push(value),
            "by" => wanted.by = Some(value),
            _ => {
                return Err(Error::invalid(format!("no such field: {name}"))
                    .hint("after, subject, type and by are those there are"));
            }
        }
    }
    if let Some(id) = headers.get(LAST_EVENT_ID).filter(|id| !id.is_empty()) {
        wanted.after = Some(number(id.as_bytes())?);
    }
    Ok(wanted)
}

fn number(text: &[u8]) -> Result<i64> {
    let number = str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok()).filter(|number| *number >= 0);
    number
        .ok_or_else(|| Error::invalid("not the number of an event").hint("events are numbered from 1; after=0 is all"))
}

/// One client that follows.
struct Stream {
    scene: Scene,
    store: Arc<Served>,
    filter: Filter,
    tip: watch::Receiver<Tip>,
    /// The turn of the log that is followed.
    turn: u64,
    stop: watch::Receiver<bool>,
    /// Everything up to this number was sent or is not wanted.
    after: i64,
    /// The number that the client knows of.
    told: i64,
    spoke: Instant,
    is_over: bool,
}

impl Stream {
    /// The next piece, as soon as there is one; nothing is the end. `idle` is for how long nobody asked for it.
    async fn next(&mut self, idle: Duration) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let piece = match idle > UNREAD {
            true => Err(unread()),
            false => self.wait().await,
        };
        let piece = piece.unwrap_or_else(|why| {
            self.is_over = true;
            Some(dropped(&why))
        });
        self.spoke = Instant::now();
        piece
    }

    async fn wait(&mut self) -> Result<Option<Bytes>> {
        loop {
            if *self.stop.borrow() || !self.may_go_on().await {
                return Ok(None);
            }
            {
                let tip = self.tip.borrow_and_update();
                if tip.turn != self.turn {
                    return Err(tip.why.clone().unwrap_or_else(|| replaced(0, self.after)));
                }
            }
            if let Some(piece) = self.take().await? {
                return Ok(Some(piece));
            }
            if self.spoke.elapsed() > STILL_HERE {
                return Ok(Some(self.where_we_are().unwrap_or(Bytes::from_static(b": still here\n\n"))));
            }
            let patience = if self.scene.pass.is_some() { ADMISSION } else { STILL_HERE };
            tokio::select! {
                _ = timeout(patience, self.tip.changed()) => {}
                _ = self.stop.wait_for(|stop| *stop) => {}
            }
        }
    }

    /// What is there to be sent, if anything.
    async fn take(&mut self) -> Result<Option<Bytes>> {
        loop {
            let (text, last) = match self.store.feed.place(self.after) {
                Place::End => break,
                Place::At(piece) => (piece.wanted(self.after, &self.filter), piece.last()),
                Place::Behind | Place::Beyond => {
                    let (filter, after) = (self.filter.clone(), self.after);
                    let page = self.store.dispatch.ask(move |_, tx| log_page(tx, &filter, after, PAGE)).await?;
                    if page.end < after {
                        return Err(replaced(page.end, after));
                    }
                    if page.last <= after {
                        break;
                    }
                    (Bytes::from(feed::written(&page.events)?), page.last)
                }
            };
            self.after = last;
            if !text.is_empty() {
                // The last of it may be some way before; what is told anew then is not told twice, for it is not wanted.
                self.told = last;
                return Ok(Some(text));
            }
            if self.after - self.told >= PASSED_OVER {
                break;
            }
        }
        Ok(if self.after - self.told >= PASSED_OVER { self.where_we_are() } else { None })
    }

    /// An id without an event moves the place at which a client goes on after it was cut off.
    fn where_we_are(&mut self) -> Option<Bytes> {
        (self.after > self.told).then(|| {
            self.told = self.after;
            Bytes::from(format!("id: {}\n\n", self.after))
        })
    }

    async fn may_go_on(&self) -> bool {
        match (&self.scene.desk, &self.scene.pass) {
            (Some(desk), Some(pass)) => desk.still_admits(pass).await,
            _ => true,
        }
    }
}

fn unread() -> Error {
    Error::new(Code::Timeout, format!("nothing was read for more than {} s", UNREAD.as_secs()))
        .hint("go on after the last event that arrived: send its number as Last-Event-ID")
}

/// The last that a client is told, if there is a reason to tell.
fn dropped(why: &Error) -> Bytes {
    Bytes::from(format!("event: dropped\ndata: {}\n\n", json::to_line(why).unwrap_or_else(|_| "{}".to_owned())))
}
