//! Provides a TCP proxy that cuts a connection after a number of bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU16, Ordering};
use std::thread;

use serde_json::json;

/// No limit.
const UNLIMITED: i64 = i64::MAX / 2;

/// Forwards one direction of a connection.
type ForwardFn = fn(TcpStream, TcpStream, &AtomicI64, &AtomicI64);

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    upstream: Arc<AtomicU16>,
    /// Bytes until the next cut, over all connections.
    remaining: Arc<AtomicI64>,
    /// Bytes until the cut after that.
    remaining_after_cut: Arc<AtomicI64>,
}

impl Proxy {
    pub(crate) fn to(port: u16) -> Self {
        Self::with(port, forward)
    }

    /// A proxy that refuses requests for sessions, like a server that does not support them.
    pub(crate) fn to_older(port: u16) -> Self {
        Self::with(port, forward_without_sessions)
    }

    fn with(port: u16, forward: ForwardFn) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let upstream = Arc::new(AtomicU16::new(port));
        let [remaining, remaining_after_cut] = [(); 2].map(|()| Arc::new(AtomicI64::new(UNLIMITED)));
        let (to, budget, after) = (Arc::clone(&upstream), Arc::clone(&remaining), Arc::clone(&remaining_after_cut));
        // Ends with the test process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", to.load(Ordering::SeqCst))) else { continue };
                for (from, into) in [(&client, &server), (&server, &client)] {
                    let (from, into) = (from.try_clone().expect("a handle"), into.try_clone().expect("a handle"));
                    let (budget, after) = (Arc::clone(&budget), Arc::clone(&after));
                    thread::spawn(move || forward(from, into, &budget, &after));
                }
            }
        });
        Self { address, upstream, remaining, remaining_after_cut }
    }

    /// Connects new clients to another port.
    pub(crate) fn redirect_to(&self, port: u16) {
        self.upstream.store(port, Ordering::SeqCst);
    }

    /// Cuts the connection after this many bytes: once, or all later connections too until `remove_limit`.
    pub(crate) fn cut_after(&self, bytes: i64, is_once: bool) {
        self.remaining_after_cut.store(if is_once { UNLIMITED } else { 0 }, Ordering::SeqCst);
        self.remaining.store(bytes, Ordering::SeqCst);
    }

    pub(crate) fn remove_limit(&self) {
        self.remaining_after_cut.store(UNLIMITED, Ordering::SeqCst);
        self.remaining.store(UNLIMITED, Ordering::SeqCst);
    }
}

fn forward_without_sessions(mut from: TcpStream, mut into: TcpStream, _: &AtomicI64, _: &AtomicI64) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let request = String::from_utf8_lossy(&bytes[..count]);
        if request.lines().next().is_some_and(|line| line.starts_with("GET ") && line.contains("sessions=true")) {
            let response = json!({"error": "sync.changes: unknown field `sessions`, expected `after` or `limit`",
                "code": "invalid_input"})
            .to_string();
            let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close";
            let _ =
                from.write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{response}", response.len()).as_bytes());
            break;
        }
        if into.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), into.shutdown(Shutdown::Both));
}

fn forward(mut from: TcpStream, mut into: TcpStream, remaining: &AtomicI64, remaining_after_cut: &AtomicI64) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let length = i64::try_from(count).expect("small");
        let before = remaining.fetch_sub(length, Ordering::SeqCst);
        if before < length {
            remaining.store(remaining_after_cut.load(Ordering::SeqCst), Ordering::SeqCst);
            let some = usize::try_from(before.max(0)).unwrap_or_default();
            let _ = into.write_all(&bytes[..some]);
            break;
        }
        if into.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), into.shutdown(Shutdown::Both));
}
