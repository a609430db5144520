//! The least a stream of events can do: the same line from memory to everybody who listens, as often as it is told to,
//! for `cargo xtask bench` to compare.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{get, post};
use hyper::body::Frame;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

type Listeners = Arc<Mutex<Vec<mpsc::UnboundedSender<Bytes>>>>;

struct Events(mpsc::UnboundedReceiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

fn listen(listeners: &Listeners) -> Body {
    let (send, events) = mpsc::unbounded_channel();
    let _ = send.send(Bytes::from_static(b": hello\n\n"));
    listeners.lock().unwrap_or_else(PoisonError::into_inner).push(send);
    Body::new(Events(events))
}

/// Sends this many events to everybody, a few at a time so that nobody has to wait for all of them.
async fn send(listeners: Listeners, line: &'static str, count: u64) -> &'static str {
    for number in 1..=count {
        let event = Bytes::from(format!("id: {number}\ndata: {line}\n\n"));
        let gone = |one: &mpsc::UnboundedSender<Bytes>| one.send(event.clone()).is_ok();
        listeners.lock().unwrap_or_else(PoisonError::into_inner).retain(gone);
        if number % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    "{}"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: bare_stream FILE")?;
    let line: &'static str = std::fs::read_to_string(path)?.trim_end().to_owned().leak();
    let listeners = Listeners::default();
    let telling = Arc::clone(&listeners);
    let app = Router::new()
        .route("/events", get(move || async move { ([(CONTENT_TYPE, "text/event-stream")], listen(&listeners)) }))
        .route("/send/{count}", post(move |Path(count): Path<u64>| send(telling, line, count)));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{{\"url\":\"http://{}\"}}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
