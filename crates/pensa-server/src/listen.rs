//! Accepts connections within limits of number, size and time, and shuts down gracefully.

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

use crate::metrics::GaugeGuard;
use crate::peer::Peer;
use crate::tls::Tls;

/// How long a client may leave a response unread.
const UNREAD_TIME: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 64;
/// Maximum size of a request head in bytes.
const MAX_HEAD: usize = 64 << 10;
/// How long requests in flight may take to finish when the server stops.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);
/// Pause after the system refuses a connection, usually because file descriptors ran out.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Limits of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Open connections; further ones wait in the kernel's queue.
    pub(crate) connections: usize,
    /// Time limit for receiving a request head, and so also for an idle connection.
    pub(crate) head: Duration,
}

impl Limits {
    /// For the agents of one machine.
    pub(crate) const DAEMON: Self = Self { connections: 512, head: Duration::from_secs(10) };
    /// For a team. A proxy that reuses connections must close an idle one before the server does; most do after a
    /// minute.
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

/// An HTTP service.
pub(crate) trait Serve: Clone + Send + Sync + 'static {
    fn answer(&self, request: Request<Body>, peer: &Peer) -> impl Future<Output = Result<Response, Infallible>> + Send;

    /// Called for every connection; the returned guard lives as long as the connection.
    fn connected(&self) -> Option<GaugeGuard> {
        None
    }
}

/// Accepts and serves connections, with TLS if given, until stopped.
pub(crate) async fn serve(
    socket: Socket,
    service: impl Serve,
    signals: StopSignals,
    stop: Arc<watch::Sender<bool>>,
    limits: Limits,
    tls: Option<Tls>,
) -> Result<()> {
    let listener = TcpListener::from_std(socket).map_err(Error::internal)?;
    let connections = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(limits.connections));
    let tls = tls.map(Arc::new);
    // Dropping `closing` wakes every task that waits for `closed`.
    let (closing, closed) = watch::channel(());
    let mut stopped = pin!(signals.wait_or_stop(stop.subscribe()));
    loop {
        let (stream, peer, slot) = tokio::select! {
            biased;
            () = &mut stopped => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let connection = ServedConnection {
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
                    if let Some(stream) = accept_tls(&tls, stream, closed).await {
                        connection.serve(stream).await;
                    }
                }
            }
            drop(slot);
        });
    }
    drop((listener, closing));
    // Event streams end; other requests in flight may finish.
    stop.send_replace(true);
    // Requests that are still running are cut off with the runtime.
    let _ = timeout(SHUTDOWN_GRACE, connections.shutdown()).await;
    Ok(())
}

/// Performs the TLS handshake; `None` if it fails or the server stops. No request was sent yet, so a stop does not
/// wait.
async fn accept_tls(tls: &Tls, stream: TcpStream, mut closed: watch::Receiver<()>) -> Option<TlsStream<TcpStream>> {
    tokio::select! {
        // A failed handshake concerns only its client.
        stream = tls.accept(stream) => stream.ok(),
        _ = closed.changed() => None,
    }
}

/// Everything that a connection needs besides its stream.
struct ServedConnection<S> {
    service: S,
    peer: Arc<Peer>,
    watcher: Watcher,
    head_time: Duration,
}

impl<S: Serve> ServedConnection<S> {
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
        let Self { service, peer, watcher, head_time } = self;
        let _held = service.connected();
        let answer = service_fn(move |request| {
            let (service, peer) = (service.clone(), Arc::clone(&peer));
            async move { answer_once(&service, request, &peer).await }
        });
        let connection = protocol(head_time).serve_connection(TokioIo::new(stream), answer);
        // A broken connection concerns only its client.
        let _ = watcher.watch(connection).await;
    }
}

/// Answers one request. If its body was not read to the end, the connection must close, and the response says so.
async fn answer_once(service: &impl Serve, request: Request<Incoming>, peer: &Peer) -> Result<Response, Infallible> {
    let is_unread = Arc::new(AtomicBool::new(false));
    let request = request
        .map(|body| Body::new(TrackedBody { is_over: body.is_end_stream(), body, is_unread: Arc::clone(&is_unread) }));
    let mut response = service.answer(request, peer).await?;
    if is_unread.load(Ordering::Relaxed) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// A request body that notes whether it was dropped before its end.
struct TrackedBody {
    body: Incoming,
    is_over: bool,
    is_unread: Arc<AtomicBool>,
}

impl HttpBody for TrackedBody {
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

impl Drop for TrackedBody {
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

/// Waits for a free slot, then for a connection.
async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> (TcpStream, Peer, OwnedSemaphorePermit) {
    loop {
        let Ok(slot) = Arc::clone(slots).acquire_owned().await else {
            return std::future::pending().await;
        };
        match listener.accept().await {
            Ok((stream, remote)) => {
                let _ = stream.set_nodelay(true);
                limit_unread_time(&stream);
                if let Ok(local) = stream.local_addr() {
                    return (stream, Peer::new(remote, local), slot);
                }
            }
            Err(e) if e.kind() == ErrorKind::ConnectionAborted => {}
            Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

/// Sets the TCP user timeout: a client that does not read must not keep its response in memory forever.
#[cfg(target_os = "linux")]
fn limit_unread_time(stream: &TcpStream) {
    let millis = u32::try_from(UNREAD_TIME.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, millis);
}

#[cfg(not(target_os = "linux"))]
fn limit_unread_time(_: &TcpStream) {}

/// The signals that stop the server; they are caught from creation on.
#[derive(Debug)]
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    pub(crate) fn watch() -> Result<Self> {
        let watch = |kind| signal(kind).map_err(Error::internal);
        Ok(Self { terminate: watch(SignalKind::terminate())?, interrupt: watch(SignalKind::interrupt())? })
    }

    /// Completes when a signal or the handle stops the server.
    async fn wait_or_stop(mut self, mut handle: watch::Receiver<bool>) {
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
    use crate::tls::certificates::{TestAuthority, TlsClient};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::task::JoinHandle;

    const TEST_TIMEOUT: Duration = Duration::from_secs(30);

    /// A service with a fixed response.
    #[derive(Clone)]
    struct FixedService;

    impl Serve for FixedService {
        async fn answer(&self, _: Request<Body>, _: &Peer) -> Result<Response, Infallible> {
            Ok(Response::new("here".into()))
        }
    }

    struct RunningServer {
        address: SocketAddr,
        stop: Arc<watch::Sender<bool>>,
        done: JoinHandle<Result<()>>,
    }

    impl RunningServer {
        fn start(connections: usize, tls: Option<Tls>) -> Self {
            let (socket, address) = bind(([127, 0, 0, 1], 0).into()).expect("a free port");
            let stop = Arc::new(watch::Sender::new(false));
            let signals = StopSignals::watch().expect("signals");
            let done = tokio::spawn(serve(
                socket,
                FixedService,
                signals,
                Arc::clone(&stop),
                Limits { connections, ..Limits::DAEMON },
                tls,
            ));
            Self { address, stop, done }
        }

        async fn connect(&self) -> TcpStream {
            timeout(TEST_TIMEOUT, TcpStream::connect(self.address)).await.expect("in time").expect("connects")
        }

        async fn stop(self) {
            self.stop.send_replace(true);
            timeout(TEST_TIMEOUT, self.done).await.expect("in time").expect("no panic").expect("a clean end");
        }

        /// Sends one request and returns the response.
        async fn ask(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
            let mut answer = String::new();
            let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).await.expect("written");
            timeout(TEST_TIMEOUT, stream.read_to_string(&mut answer)).await.expect("in time").expect("a clean end");
            answer
        }

        async fn answers(&self, client: &TlsClient) -> bool {
            let stream = timeout(TEST_TIMEOUT, client.connect(self.connect().await)).await.expect("in time");
            self.ask(stream.expect("a handshake")).await.ends_with("here")
        }
    }

    fn encrypted_server(authority: &TestAuthority, handshake: Duration, connections: usize) -> RunningServer {
        RunningServer::start(connections, Some(authority.tls(handshake)))
    }

    #[tokio::test]
    async fn without_a_certificate_plain_http_is_served() {
        let server = RunningServer::start(1, None);
        assert!(server.ask(server.connect().await).await.ends_with("here"));
        assert!(server.ask(server.connect().await).await.ends_with("here"));
        server.stop().await;
    }

    #[tokio::test]
    async fn with_a_certificate_https_is_served() {
        let authority = TestAuthority::new();
        let server = encrypted_server(&authority, TEST_TIMEOUT, 4);
        assert!(server.answers(&authority.client()).await);
        server.stop().await;
    }

    #[tokio::test]
    async fn plain_http_to_a_tls_port_is_refused() {
        let authority = TestAuthority::new();
        let server = encrypted_server(&authority, TEST_TIMEOUT, 1);
        let mut stream = server.connect().await;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("written");
        let mut answer = Vec::new();
        let _ = timeout(TEST_TIMEOUT, stream.read_to_end(&mut answer)).await.expect("in time");
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
        assert!(server.answers(&authority.client()).await);
        server.stop().await;
    }

    #[tokio::test]
    async fn silent_clients_do_not_keep_their_slots() {
        let authority = TestAuthority::new();
        let server = encrypted_server(&authority, Duration::from_millis(50), 1);
        // There is one slot: the second connection is served only because the first was closed.
        for mut silent in [server.connect().await, server.connect().await] {
            assert_eq!(timeout(TEST_TIMEOUT, silent.read(&mut [0])).await.expect("in time").expect("a clean end"), 0);
        }
        server.stop().await;
    }

    #[tokio::test]
    async fn a_slow_handshake_does_not_hold_up_the_next_client() {
        let authority = TestAuthority::new();
        let server = encrypted_server(&authority, TEST_TIMEOUT, 2);
        let _silent = server.connect().await;
        assert!(server.answers(&authority.client()).await);
        server.stop().await;
    }

    #[tokio::test]
    async fn a_stop_does_not_wait_for_a_handshake() {
        let authority = TestAuthority::new();
        // Longer than the server waits for requests when it stops.
        let server = encrypted_server(&authority, 10 * TEST_TIMEOUT, 2);
        let mut silent = server.connect().await;
        assert!(server.answers(&authority.client()).await, "so the silent client was accepted before");
        server.stop().await;
        let _ = timeout(TEST_TIMEOUT, silent.read(&mut [0])).await.expect("the silent client was left in time");
    }
}
