//! A way to a server that can be cut: after so many bytes a connection through it ends.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU16, Ordering};
use std::thread;

/// Bytes that pass if nobody cuts.
const NEVER: i64 = i64::MAX / 2;

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    upstream: Arc<AtomicU16>,
    /// Bytes that still pass, in all connections together, before one is cut.
    left: Arc<AtomicI64>,
    /// Bytes that pass after that.
    then: Arc<AtomicI64>,
}

impl Proxy {
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let upstream = Arc::new(AtomicU16::new(port));
        let [left, then] = [(); 2].map(|()| Arc::new(AtomicI64::new(NEVER)));
        let (to, budget, after) = (Arc::clone(&upstream), Arc::clone(&left), Arc::clone(&then));
        // Ends with the process of the test.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", to.load(Ordering::SeqCst))) else { continue };
                for (from, into) in [(&client, &server), (&server, &client)] {
                    let (from, into) = (from.try_clone().expect("a handle"), into.try_clone().expect("a handle"));
                    let (budget, after) = (Arc::clone(&budget), Arc::clone(&after));
                    thread::spawn(move || pass(from, into, &budget, &after));
                }
            }
        });
        Self { address, upstream, left, then }
    }

    /// The server is somewhere else now.
    pub(crate) fn lead_to(&self, port: u16) {
        self.upstream.store(port, Ordering::SeqCst);
    }

    /// Cuts a connection after so many bytes: once, or this and every other until they may pass again.
    pub(crate) fn cut_after(&self, bytes: i64, is_once: bool) {
        self.then.store(if is_once { NEVER } else { 0 }, Ordering::SeqCst);
        self.left.store(bytes, Ordering::SeqCst);
    }

    pub(crate) fn let_pass(&self) {
        self.then.store(NEVER, Ordering::SeqCst);
        self.left.store(NEVER, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut into: TcpStream, left: &AtomicI64, then: &AtomicI64) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let length = i64::try_from(count).expect("small");
        let before = left.fetch_sub(length, Ordering::SeqCst);
        if before < length {
            left.store(then.load(Ordering::SeqCst), Ordering::SeqCst);
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
