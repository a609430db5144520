//! The socket: opens it, takes connections within limits of number, size and time, and stops cleanly.
//!
//! What a request may do is left to the service.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener as Socket};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use pensa_core::{Code, Error, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;

use crate::metrics::Held;
use crate::peer::Peer;
use crate::tls::Tls;

/// Longest time that a client may leave an answer unread.
const UNREAD_TIME: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 64;
/// Largest head of a request, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// Longest time that requests in flight get to finish when the server stops.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// Pause after the system refuses a connection, usually for want of file descriptors.
const BREATH: Duration = Duration::from_millis(100);

/// What a server takes on at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections; the next one waits in the kernel's queue.
    pub(crate) connections: usize,
    /// Longest time for the head of a request to arrive, and so also for a connection to stay idle.
    pub(crate) head: Duration,
}

impl Limits {
    /// Enough for the agents of one machine.
    pub(crate) const DAEMON: Self = Self { connections: 512, head: Duration::from_secs(10) };
    /// Enough for a team. A proxy that keeps a connection for its next request must be the first to let it go, and
    /// most do after a minute.
    pub(crate) const TEAM: Self = Self { connections: 4096, head: Duration::from_secs(75) };
}

pub(crate) fn bind(address: SocketAddr) -> Result<(Socket, SocketAddr)> {
    let open = || {
        let socket = Socket::bind(address)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok((socket, address))
    };
    open().map_err(|e: std::io::Error| match e.kind() {
        ErrorKind::AddrInUse => Error::new(Code::Conflict, format!("{address} is in use"))
            .hint("a daemon or server may already run there: see pn daemon status, or choose another port"),
        ErrorKind::AddrNotAvailable => Error::invalid(format!("{address} is not an address of this machine"))
            .hint("127.0.0.1 serves this machine, 0.0.0.0 all its networks"),
        ErrorKind::PermissionDenied => Error::new(Code::Forbidden, format!("not permitted to listen on {address}"))
            .hint("ports below 1024 are the system's; choose another"),
        _ => Error::internal(format!("cannot listen on {address}: {e}")),
    })
}

/// Answers the requests of connections.
pub(crate) trait Serve: Clone + Send + Sync + 'static {
    fn answer(&self, request: Request<Body>, peer: &Peer) -> impl Future<Output = Result<Response, Infallible>> + Send;

    /// Called for every connection; what it gives is held until the connection ends.
    fn connected(&self) -> Option<Held> {
        None
    }
}

/// Takes and serves connections, encrypted ones if `tls` is given, until it is told to stop.
pub(crate) async fn serve(
    socket: Socket,
    service: impl Serve,
    signals: Signals,
    stop: Arc<watch::Sender<bool>>,
    limits: Limits,
    tls: Option<Tls>,
) -> Result<()> {
    let listener = TcpListener::from_std(socket).map_err(Error::internal)?;
    let connections = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(limits.connections));
    let tls = tls.map(Arc::new);
    // What waits for `closed` to change wakes up when `closing` is dropped.
    let (closing, closed) = watch::channel(());
    let mut stopped = pin!(signals.or(stop.subscribe()));
    loop {
        let (stream, peer, slot) = tokio::select! {
            biased;
            () = &mut stopped => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let connection = Connection {
            service: service.clone(),
            peer: Arc::new(peer),
            watcher: connections.watcher(),
            head_time: limits.head,
        };
        let (tls, closed) = (tls.clone(), closed.clone());
        tokio::spawn(async move {
            match tls {
                None => connection.serve(stream).await,
                Some(tls) => {
                    if let Some(stream) = encrypted(&tls, stream, closed).await {
                        connection.serve(stream).await;
                    }
                }
            }
            drop(slot);
        });
    }
    drop((listener, closing));
    // Streams end; whatever else is in flight is finished.
    stop.send_replace(true);
    // What is not done by then is cut off with the runtime.
    let _ = timeout(GRACE, connections.shutdown()).await;
    Ok(())
}

/// The stream after its handshake. A client that has not come that far has asked nothing, so a stop does not wait
/// for it.
async fn encrypted(tls: &Tls, stream: TcpStream, mut closed: watch::Receiver<()>) -> Option<TlsStream<TcpStream>> {
    tokio::select! {
        // A handshake that fails is its client's business.
        stream = tls.accept(stream) => stream.ok(),
        _ = closed.changed() => None,
    }
}

/// All that one connection needs besides its stream.
struct Connection<S> {
    service: S,
    peer: Arc<Peer>,
    watcher: Watcher,
    head_time: Duration,
}

impl<S: Serve> Connection<S> {
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
        let Self { service, peer, watcher, head_time } = self;
        let _held = service.connected();
        let answer = service_fn(move |request| {
            let (service, peer) = (service.clone(), Arc::clone(&peer));
            async move { closing_what_is_unread(&service, request, &peer).await }
        });
        let connection = protocol(head_time).serve_connection(TokioIo::new(stream), answer);
        // A connection that breaks is its client's business.
        let _ = watcher.watch(connection).await;
    }
}

/// Answers a request. A body that nobody reads to its end closes the connection after the answer, which then says so.
async fn closing_what_is_unread(
    service: &impl Serve,
    request: Request<Incoming>,
    peer: &Peer,
) -> Result<Response, Infallible> {
    let is_unread = Arc::new(AtomicBool::new(false));
    let request = request
        .map(|body| Body::new(Watched { is_over: body.is_end_stream(), body, is_unread: Arc::clone(&is_unread) }));
    let mut response = service.answer(request, peer).await?;
    if is_unread.load(Ordering::Relaxed) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// The body of a request, noting whether it was dropped before its end.
struct Watched {
    body: Incoming,
    is_over: bool,
    is_unread: Arc<AtomicBool>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.is_over |= matches!(frame, Poll::Ready(None));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.is_over && !self.body.is_end_stream() {
            self.is_unread.store(true, Ordering::Relaxed);
        }
    }
}

fn protocol(head_time: Duration) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(head_time).max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::certificates::{Authority, Client};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::task::JoinHandle;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A service that is simply there.
    #[derive(Clone)]
    struct Here;

    impl Serve for Here {
        async fn answer(&self, _: Request<Body>, _: &Peer) -> Result<Response, Infallible> {
            Ok(Response::new("here".into()))
        }
    }

    struct Running {
        address: SocketAddr,
        stop: Arc<watch::Sender<bool>>,
        done: JoinHandle<Result<()>>,
    }

    impl Running {
        fn start(connections: usize, tls: Option<Tls>) -> Self {
            let (socket, address) = bind(([127, 0, 0, 1], 0).into()).expect("a free port");
            let stop = Arc::new(watch::Sender::new(false));
            let signals = Signals::watch().expect("signals");
            let done = tokio::spawn(serve(
                socket,
                Here,
                signals,
                Arc::clone(&stop),
                Limits { connections, ..Limits::DAEMON },
                tls,
            ));
            Self { address, stop, done }
        }

        async fn connect(&self) -> TcpStream {
            timeout(PATIENCE, TcpStream::connect(self.address)).await.expect("in time").expect("connects")
        }

        async fn stop(self) {
            self.stop.send_replace(true);
            timeout(PATIENCE, self.done).await.expect("in time").expect("no panic").expect("a clean end");
        }

        /// What the server answers to one request.
        async fn ask(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
            let mut answer = String::new();
            let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).await.expect("written");
            timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("in time").expect("a clean end");
            answer
        }

        async fn is_there(&self, client: &Client) -> bool {
            let stream = timeout(PATIENCE, client.connect(self.connect().await)).await.expect("in time");
            self.ask(stream.expect("a handshake")).await.ends_with("here")
        }
    }

    fn encrypted_server(authority: &Authority, handshake: Duration, connections: usize) -> Running {
        Running::start(connections, Some(authority.tls(handshake)))
    }

    #[tokio::test]
    async fn without_a_certificate_requests_are_answered_in_the_clear() {
        let server = Running::start(1, None);
        assert!(server.ask(server.connect().await).await.ends_with("here"));
        assert!(server.ask(server.connect().await).await.ends_with("here"));
        server.stop().await;
    }

    #[tokio::test]
    async fn with_a_certificate_requests_are_answered_encrypted() {
        let authority = Authority::new();
        let server = encrypted_server(&authority, PATIENCE, 4);
        assert!(server.is_there(&authority.client()).await);
        server.stop().await;
    }

    #[tokio::test]
    async fn plain_http_to_an_encrypted_port_is_refused_without_harm() {
        let authority = Authority::new();
        let server = encrypted_server(&authority, PATIENCE, 1);
        let mut stream = server.connect().await;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("written");
        let mut answer = Vec::new();
        let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("in time");
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
        assert!(server.is_there(&authority.client()).await);
        server.stop().await;
    }

    #[tokio::test]
    async fn silent_clients_do_not_keep_their_slots() {
        let authority = Authority::new();
        let server = encrypted_server(&authority, Duration::from_millis(50), 1);
        // There is one slot: the second is let go only because the first was.
        for mut silent in [server.connect().await, server.connect().await] {
            assert_eq!(timeout(PATIENCE, silent.read(&mut [0])).await.expect("in time").expect("a clean end"), 0);
        }
        server.stop().await;
    }

    #[tokio::test]
    async fn a_slow_handshake_does_not_hold_up_the_next_client() {
        let authority = Authority::new();
        let server = encrypted_server(&authority, PATIENCE, 2);
        let _silent = server.connect().await;
        assert!(server.is_there(&authority.client()).await);
        server.stop().await;
    }

    #[tokio::test]
    async fn a_stop_does_not_wait_for_a_handshake() {
        let authority = Authority::new();
        // Longer than the time that a stop waits for requests.
        let server = encrypted_server(&authority, 10 * PATIENCE, 2);
        let mut silent = server.connect().await;
        assert!(server.is_there(&authority.client()).await, "so the silent client was accepted before");
        server.stop().await;
        let _ = timeout(PATIENCE, silent.read(&mut [0])).await.expect("the silent client was left in time");
    }
}
