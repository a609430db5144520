//! The stream of a store's events: everything after a line, in order, and then whatever happens.
//!
//! The log is the only source: news merely say when to look, so nothing is skipped and nothing comes twice.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame};
use pensa_core::{Error, Result, json};
use pensa_engine::{log_after, log_end};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::percent;
use crate::scene::Scene;
use crate::served::Served;

/// Where it is served.
pub(crate) const PATH: &str = "/events";
/// Most events read at a time.
const PAGE: i64 = 200;
/// Pieces that wait for a client that reads slowly.
const AHEAD: usize = 4;
/// A sign of life for proxies that close what is silent.
const STILL_HERE: Duration = Duration::from_secs(15);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Starts a stream. It ends when the client leaves, the server stops, or the caller may no longer look.
pub(crate) async fn answer(
    scene: Scene,
    store: Arc<Served>,
    uri: &Uri,
    headers: &HeaderMap,
    stop: watch::Receiver<bool>,
) -> Result<Response> {
    let after = match wanted(uri, headers)? {
        Some(line) => line,
        None => number(&store.dispatch.ask(|_, tx| log_end(tx).map(|line| line.to_string())).await?)?,
    };
    // The first page is read before anything is answered: what is wrong with the store is told as an error.
    let first = page(&store, after).await?;
    let (send, frames) = mpsc::channel(AHEAD);
    tokio::spawn(Stream { scene, store, send, after }.run(first, stop));
    let mut response = Response::new(Body::new(Frames(frames)));
    let told = response.headers_mut();
    told.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    told.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    told.insert(BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// The line after which to begin: where a broken stream ended, else what the query says.
fn wanted(uri: &Uri, headers: &HeaderMap) -> Result<Option<i64>> {
    if let Some(id) = headers.get(LAST_EVENT_ID).filter(|id| !id.is_empty()) {
        return number(id.as_bytes()).map(Some);
    }
    let mut after = None;
    for pair in uri.query().into_iter().flat_map(percent::query) {
        match pair {
            Some((name, value)) if name == "after" => after = Some(number(value.as_bytes())?),
            Some((name, _)) => return Err(Error::invalid(format!("no such field: {name}")).hint("after=N is one")),
            None => return Err(Error::invalid("the query is not percent-encoded UTF-8")),
        }
    }
    Ok(after)
}

fn number(text: &[u8]) -> Result<i64> {
    let number = str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok()).filter(|number| *number >= 0);
    number
        .ok_or_else(|| Error::invalid("not the number of an event").hint("events are numbered from 1; after=0 is all"))
}

/// Some events as they are sent.
struct Page {
    text: String,
    last: i64,
    is_full: bool,
}

async fn page(store: &Served, after: i64) -> Result<Page> {
    let read = store.dispatch.ask(move |_, tx| {
        let entries = log_after(tx, after, PAGE)?;
        let last = entries.last().map_or(after, |entry| entry.id);
        let mut text = format!("{last} {}\n", entries.len());
        for entry in entries {
            text.push_str(&format!("id: {}\ndata: {}\n\n", entry.id, json::to_line(&entry)?));
        }
        Ok(text)
    });
    let bytes = read.await?;
    let text = str::from_utf8(&bytes).map_err(Error::internal)?;
    let (head, text) = text.split_once('\n').ok_or_else(|| Error::internal("a page without a head"))?;
    let (last, count) = head.split_once(' ').ok_or_else(|| Error::internal("a page without a count"))?;
    Ok(Page { text: text.to_owned(), last: number(last.as_bytes())?, is_full: number(count.as_bytes())? == PAGE })
}

struct Stream {
    scene: Scene,
    store: Arc<Served>,
    send: mpsc::Sender<Bytes>,
    after: i64,
}

impl Stream {
    async fn run(mut self, first: Page, mut stop: watch::Receiver<bool>) {
        let mut news = self.store.news();
        let hello = format!(": events after {}\nretry: 1000\n\n", self.after);
        let mut sent = Instant::now();
        if self.send.send(Bytes::from(hello)).await.is_err() {
            return;
        }
        let mut next = Some(first);
        loop {
            let full = next.as_ref().is_some_and(|page| page.is_full);
            if let Some(page) = next.take()
                && page.last > self.after
            {
                self.after = page.last;
                sent = Instant::now();
                if self.send.send(Bytes::from(page.text)).await.is_err() {
                    return;
                }
            }
            if !full {
                tokio::select! {
                    _ = timeout(self.store.look_after(), news.changed()) => {}
                    _ = stop.wait_for(|stop| *stop) => return,
                    () = self.send.closed() => return,
                }
            }
            if !self.may_go_on().await {
                return;
            }
            if sent.elapsed() > STILL_HERE {
                sent = Instant::now();
                if self.send.send(Bytes::from_static(b": still here\n\n")).await.is_err() {
                    return;
                }
            }
            // What goes wrong now may pass; a client that is cut off comes back with its last number.
            match page(&self.store, self.after).await {
                Ok(page) => next = Some(page),
                Err(_) => return,
            }
        }
    }

    async fn may_go_on(&self) -> bool {
        match (&self.scene.desk, &self.scene.pass) {
            (Some(desk), Some(pass)) => desk.still_admits(pass).await,
            _ => true,
        }
    }
}

/// What is sent, piece by piece.
struct Frames(mpsc::Receiver<Bytes>);

impl HttpBody for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}
