//! A minimal event stream that sends the same line from memory to all listeners: the baseline for `cargo xtask bench`.

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

/// Sends `count` events to all listeners, yielding in between so that they can read.
async fn send(listeners: Listeners, line: &'static str, count: u64) -> &'static str {
    for number in 1..=count {
        let event = Bytes::from(format!("id: {number}\ndata: {line}\n\n"));
        let is_connected = |one: &mpsc::UnboundedSender<Bytes>| one.send(event.clone()).is_ok();
        listeners.lock().unwrap_or_else(PoisonError::into_inner).retain(is_connected);
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
    let senders = Arc::clone(&listeners);
    let app = Router::new()
        .route("/events", get(move || async move { ([(CONTENT_TYPE, "text/event-stream")], listen(&listeners)) }))
        .route("/send/{count}", post(move |Path(count): Path<u64>| send(senders, line, count)));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{{\"url\":\"http://{}\"}}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
