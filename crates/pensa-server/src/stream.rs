//! Streams a store's events: those after a given number first, then new ones as they are committed.
//!
//! The log is the only source; notifications only trigger reads, so no event is skipped or repeated. A chunk is created
//! when the connection is ready for it, so a client that does not read uses no memory.

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
use pensa_core::event::filter::EventFilter;
use pensa_core::ops::event::{List, LogPage};
use pensa_core::{Code, Error, Result, json};
use pensa_engine::{log_end, log_filter, log_page};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::percent_decode;
use crate::request_context::RequestContext;
use crate::served_store::ServedStore;
use feed::{CHUNK_EVENTS, FeedPosition, FeedStatus, log_replaced};

/// Path of the stream.
pub(crate) const PATH: &str = "/events";
/// Interval of keepalive comments, for proxies that close silent connections.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How often the token of an open stream is checked again.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_millis(900);
/// How long a client may leave a chunk unread. Less than the TCP timeout, so that the client can still be sent the reason.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// After this many events that did not match the filter, the client gets its new position.
const MAX_SILENT_EVENTS: i64 = 200;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Starts a stream. It ends when the client disconnects or does not read, the server stops, the log is replaced, or the
/// token becomes invalid.
pub(crate) async fn answer(
    context: RequestContext,
    store: Arc<ServedStore>,
    uri: &Uri,
    headers: &HeaderMap,
    stop: watch::Receiver<bool>,
) -> Result<Response> {
    let request = parse_request(uri, headers)?;
    // Subscribed before the first read: a change in between may be seen twice, but is never missed.
    let status = feed::follow(&store);
    let generation = status.borrow().generation;
    // The first page is read before the response starts, so that a store error becomes an HTTP error.
    let (filter, page, after) = store.dispatch.query(move |_, tx| first_page(tx, &request)).await?;
    if after > page.end {
        return Err(log_replaced(page.end, after));
    }
    let opening = format!(": events after {after}\nretry: 1000\n\n{}", feed::sse_text(&page.events)?);
    let sent = page.events.last().map_or(after, |event| event.id);
    let stream = EventStream {
        context,
        store,
        filter,
        status,
        generation,
        stop,
        after: page.last,
        sent,
        last_write: Instant::now(),
        is_over: false,
    };
    let opening = stream::once(ready(Bytes::from(opening)));
    // A chunk is created on demand: the time until then is how long the last one was not read.
    let chunks = stream::unfold((stream, Instant::now()), async |(mut stream, since)| {
        let chunk = stream.next(since.elapsed()).await;
        Some((chunk?, (stream, Instant::now())))
    });
    let mut response = Response::new(Body::from_stream(opening.chain(chunks).map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// Reads the filter, the first page and the number after which the stream starts.
fn first_page(tx: &pensa_engine::Tx<'_>, request: &List) -> Result<(EventFilter, LogPage, i64)> {
    let filter = log_filter(tx, request)?;
    let after = request.after.map_or_else(|| log_end(tx), Ok)?;
    let page = log_page(tx, &filter, after, CHUNK_EVENTS)?;
    Ok((filter, page, after))
}

/// Parses the query. `Last-Event-ID`, sent when a client reconnects, overrides `after`.
fn parse_request(uri: &Uri, headers: &HeaderMap) -> Result<List> {
    let mut request = List::default();
    for pair in uri.query().into_iter().flat_map(percent_decode::query) {
        let (name, value) = pair.ok_or_else(|| Error::invalid("the query is not percent-encoded UTF-8"))?;
        match name.as_str() {
            "after" => request.after = Some(number(value.as_bytes())?),
            "subject" => request.subject = Some(value),
            "type" => request.types.push(value),
            "by" => request.by = Some(value),
            _ => {
                return Err(Error::invalid(format!("no such field: {name}"))
                    .hint("after, subject, type and by are those there are"));
            }
        }
    }
    if let Some(id) = headers.get(LAST_EVENT_ID).filter(|id| !id.is_empty()) {
        request.after = Some(number(id.as_bytes())?);
    }
    Ok(request)
}

fn number(text: &[u8]) -> Result<i64> {
    let number = str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok()).filter(|number| *number >= 0);
    number
        .ok_or_else(|| Error::invalid("not the number of an event").hint("events are numbered from 1; after=0 is all"))
}

/// The stream of one client.
struct EventStream {
    context: RequestContext,
    store: Arc<ServedStore>,
    filter: EventFilter,
    status: watch::Receiver<FeedStatus>,
    /// The generation of the feed when the stream started.
    generation: u64,
    stop: watch::Receiver<bool>,
    /// Everything up to this number was sent or filtered out.
    after: i64,
    /// The last number that the client received.
    sent: i64,
    last_write: Instant,
    is_over: bool,
}

impl EventStream {
    /// Waits for the next chunk; `None` ends the stream. `idle` is how long the last chunk was left unread.
    async fn next(&mut self, idle: Duration) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let chunk = match idle > READ_TIMEOUT {
            true => Err(read_timed_out()),
            false => self.wait().await,
        };
        let chunk = chunk.unwrap_or_else(|reason| {
            self.is_over = true;
            Some(dropped_event(&reason))
        });
        self.last_write = Instant::now();
        chunk
    }

    async fn wait(&mut self) -> Result<Option<Bytes>> {
        loop {
            if *self.stop.borrow() || !self.is_allowed().await {
                return Ok(None);
            }
            {
                let status = self.status.borrow_and_update();
                if status.generation != self.generation {
                    return Err(status.reason.clone().unwrap_or_else(|| log_replaced(0, self.after)));
                }
            }
            if let Some(chunk) = self.next_events().await? {
                return Ok(Some(chunk));
            }
            if self.last_write.elapsed() > KEEPALIVE_INTERVAL {
                return Ok(Some(self.position_update().unwrap_or(Bytes::from_static(b": still here\n\n"))));
            }
            let interval = if self.context.token_hash.is_some() { TOKEN_CHECK_INTERVAL } else { KEEPALIVE_INTERVAL };
            tokio::select! {
                _ = timeout(interval, self.status.changed()) => {}
                _ = self.stop.wait_for(|stop| *stop) => {}
            }
        }
    }

    /// The next chunk to send, if any.
    async fn next_events(&mut self) -> Result<Option<Bytes>> {
        loop {
            let (text, last) = match self.store.feed.position(self.after) {
                FeedPosition::End => break,
                FeedPosition::At(chunk) => (chunk.matching(self.after, &self.filter), chunk.last()),
                FeedPosition::Behind | FeedPosition::Beyond => {
                    let (filter, after) = (self.filter.clone(), self.after);
                    let page =
                        self.store.dispatch.query(move |_, tx| log_page(tx, &filter, after, CHUNK_EVENTS)).await?;
                    if page.end < after {
                        return Err(log_replaced(page.end, after));
                    }
                    if page.last <= after {
                        break;
                    }
                    (Bytes::from(feed::sse_text(&page.events)?), page.last)
                }
            };
            self.after = last;
            if !text.is_empty() {
                // Trailing events of the chunk may not match. If the client reconnects from an earlier number, they are
                // filtered out again, so nothing is sent twice.
                self.sent = last;
                return Ok(Some(text));
            }
            if self.after - self.sent >= MAX_SILENT_EVENTS {
                break;
            }
        }
        Ok(if self.after - self.sent >= MAX_SILENT_EVENTS { self.position_update() } else { None })
    }

    /// An `id` line without data, which moves the position that the client reconnects from.
    fn position_update(&mut self) -> Option<Bytes> {
        (self.after > self.sent).then(|| {
            self.sent = self.after;
            Bytes::from(format!("id: {}\n\n", self.after))
        })
    }

    async fn is_allowed(&self) -> bool {
        match (&self.context.server, &self.context.token_hash) {
            (Some(server), Some(token_hash)) => server.is_still_valid(token_hash).await,
            _ => true,
        }
    }
}

fn read_timed_out() -> Error {
    Error::new(Code::Timeout, format!("nothing was read for more than {} s", READ_TIMEOUT.as_secs()))
        .hint("go on after the last event that arrived: send its number as Last-Event-ID")
}

/// The last event of a stream: why it ended.
fn dropped_event(reason: &Error) -> Bytes {
    Bytes::from(format!("event: dropped\ndata: {}\n\n", json::to_line(reason).unwrap_or_else(|_| "{}".to_owned())))
}
