//! The socket: opens it, takes connections within limits of number, size and time, and stops cleanly.
//!
//! What a request may do is left to the service.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener as Socket};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use pensa_core::{Code, Error, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::peer::Peer;
use crate::service::Service;

/// Connections at a time; the next one waits in the kernel's queue.
const MAX_CONNECTIONS: usize = 512;
/// Longest time for the head of a request to arrive, and so also for a connection to stay idle.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Longest time that a client may leave an answer unread.
const UNREAD_TIME: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 64;
/// Largest head of a request, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// Longest time that requests in flight get to finish when the server stops.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// Pause after the system refuses a connection, usually for want of file descriptors.
const BREATH: Duration = Duration::from_millis(100);

pub(crate) fn bind(address: SocketAddr) -> Result<(Socket, SocketAddr)> {
    let open = || {
        let socket = Socket::bind(address)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok((socket, address))
    };
    open().map_err(|e: std::io::Error| match e.kind() {
        ErrorKind::AddrInUse => Error::new(Code::Conflict, format!("{address} is in use"))
            .hint("a daemon may already run there: see pn daemon status, or choose another port with --port"),
        ErrorKind::AddrNotAvailable => Error::invalid(format!("{address} is not an address of this machine"))
            .hint("127.0.0.1 serves this machine, 0.0.0.0 all its networks"),
        ErrorKind::PermissionDenied => Error::new(Code::Forbidden, format!("not permitted to listen on {address}"))
            .hint("ports below 1024 are the system's; choose another with --port"),
        _ => Error::internal(format!("cannot listen on {address}: {e}")),
    })
}

/// Takes and serves connections until it is told to stop.
pub(crate) async fn serve(
    socket: Socket,
    service: Service,
    signals: Signals,
    stop: watch::Receiver<bool>,
) -> Result<()> {
    let listener = TcpListener::from_std(socket).map_err(Error::internal)?;
    let connections = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut stopped = pin!(signals.or(stop));
    loop {
        let (stream, peer, slot) = tokio::select! {
            biased;
            () = &mut stopped => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let (service, watcher) = (service.clone(), connections.watcher());
        tokio::spawn(async move {
            let peer = Arc::new(peer);
            let answer = service_fn(move |request| {
                let (service, peer) = (service.clone(), Arc::clone(&peer));
                async move { service.answer(request, &peer).await }
            });
            let connection = protocol().serve_connection(TokioIo::new(stream), answer);
            // A connection that breaks is its client's business.
            let _ = watcher.watch(connection).await;
            drop(slot);
        });
    }
    drop(listener);
    // What is not done by then is cut off with the runtime.
    let _ = timeout(GRACE, connections.shutdown()).await;
    Ok(())
}

fn protocol() -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
    protocol
}

/// The next connection, as soon as there is a slot for it.
async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> (TcpStream, Peer, OwnedSemaphorePermit) {
    loop {
        let Ok(slot) = Arc::clone(slots).acquire_owned().await else {
            return std::future::pending().await;
        };
        match listener.accept().await {
            Ok((stream, theirs)) => {
                let _ = stream.set_nodelay(true);
                give_up_on_silence(&stream);
                if let Ok(ours) = stream.local_addr() {
                    return (stream, Peer::new(theirs, ours), slot);
                }
            }
            Err(e) if e.kind() == ErrorKind::ConnectionAborted => {}
            Err(_) => sleep(BREATH).await,
        }
    }
}

/// A client that does not read must not keep its answer in memory for good.
#[cfg(target_os = "linux")]
fn give_up_on_silence(stream: &TcpStream) {
    let millis = u32::try_from(UNREAD_TIME.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, millis);
}

#[cfg(not(target_os = "linux"))]
fn give_up_on_silence(_: &TcpStream) {}

/// The signals that stop the server; watched from the moment it is made.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn watch() -> Result<Self> {
        let watch = |kind| signal(kind).map_err(Error::internal);
        Ok(Self { terminate: watch(SignalKind::terminate())?, interrupt: watch(SignalKind::interrupt())? })
    }

    /// Ready when the server is to stop: by a signal, or by its handle.
    async fn or(mut self, mut handle: watch::Receiver<bool>) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = handle.wait_for(|stop| *stop) => {}
        }
    }
}
