//! Tests calls against a server that fails in many ways: what is retried, and what is not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pensa_client::{Remote, RemoteOptions};
use pensa_core::caller::Caller;
use pensa_core::ops::dep;
use pensa_core::ops::issue::{Count, Counted, Delete, Deleted};
use pensa_core::{Code, Error, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

const DELETED: &str = r#"{"status":"deleted","id":"pn-1"}"#;
const BUSY: &str = r#"{"error":"too many writes are waiting","code":"busy"}"#;
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What the server does after reading a request.
#[derive(Clone, Copy)]
enum ServerAction {
    Drop,
    Answer(u16, &'static str),
    AnswerWith(u16, &'static str, &'static str),
    /// Promises a longer body than it sends.
    AnswerHalf,
}

/// Handles one connection per action, then stops listening; returns the requests.
struct FailingServer {
    url: String,
    requests: JoinHandle<Vec<String>>,
}

impl FailingServer {
    fn start(actions: &'static [ServerAction]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = thread::spawn(move || {
            actions
                .iter()
                .map(|action| {
                    let (mut stream, _) = listener.accept().expect("a caller");
                    stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
                    let request = read_request(&mut stream);
                    perform(*action, &mut stream);
                    request
                })
                .collect()
        });
        Self { url, requests }
    }

    fn remote(&self) -> Remote {
        Remote::new(RemoteOptions { url: self.url.clone(), ..RemoteOptions::default() }).expect("an address")
    }

    fn requests(self) -> Vec<String> {
        self.requests.join().expect("a server that ends")
    }
}

/// Reads head and body of a request.
fn read_request(stream: &mut impl Read) -> String {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut request).expect("a head"), 0, "{request}");
    }
    let length = header(&request, "content-length").map_or(0, |length| length.parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    request + &String::from_utf8(body).expect("UTF-8")
}

fn header(request: &str, name: &str) -> Option<String> {
    let mut pairs = request.lines().filter_map(|line| line.split_once(": "));
    pairs.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

fn perform(action: ServerAction, stream: &mut impl Write) {
    let (status, more, body) = match action {
        ServerAction::Drop => return,
        ServerAction::Answer(status, body) => (status, "", body),
        ServerAction::AnswerWith(status, more, body) => (status, more, body),
        ServerAction::AnswerHalf => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{").expect("sent");
            return;
        }
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n");
    stream.write_all((head + body).as_bytes()).expect("sent");
}

fn delete(remote: &Remote) -> Result<Deleted> {
    remote.call(&Caller::local("ana"), &Delete { id: "pn-1".parse().expect("an id"), force: false }, None)
}

fn count(remote: &Remote) -> Result<Counted> {
    remote.call(&Caller::local("ana"), &Count::default(), None)
}

/// The idempotency key, which must be the same in all requests.
fn common_key(requests: &[String]) -> String {
    let keys: Vec<String> = requests.iter().filter_map(|request| header(request, "idempotency-key")).collect();
    assert_eq!(keys.len(), requests.len(), "every request has one: {requests:?}");
    assert!(keys.iter().all(|key| *key == keys[0] && key.len() == 36), "{keys:?}");
    keys[0].clone()
}

#[test]
fn change_with_a_lost_response_is_retried_with_the_same_key() {
    for lost in [
        &[ServerAction::Drop, ServerAction::Answer(200, DELETED)],
        &[ServerAction::AnswerHalf, ServerAction::Answer(200, DELETED)],
    ] {
        let server = FailingServer::start(lost);
        assert_eq!(delete(&server.remote()).expect("the second answer").status, "deleted");
        let requests = server.requests();
        common_key(&requests);
        assert_eq!(requests[0], requests[1], "it is the same request");
    }
}

#[test]
fn retried_request_includes_its_body() {
    const ADDED: &str = r#"{"status":"added","issue_id":"pn-1","depends_on_id":"pn-2"}"#;
    let server = FailingServer::start(&[ServerAction::Drop, ServerAction::Answer(200, ADDED)]);
    let op = dep::Add { issue_id: "pn-1".parse().expect("an id"), depends_on_id: "pn-2".parse().expect("an id") };
    server.remote().call(&Caller::local("ana"), &op, None).expect("the second answer");
    let requests = server.requests();
    assert!(requests[1].contains(r#""pn-2""#), "{requests:?}");
    assert_eq!(requests[0], requests[1]);
}

#[test]
fn each_call_has_a_key_of_its_own() {
    let server = FailingServer::start(&[ServerAction::Answer(200, DELETED), ServerAction::Answer(200, DELETED)]);
    let remote = server.remote();
    delete(&remote).expect("deleted");
    delete(&remote).expect("deleted");
    let requests = server.requests();
    assert_ne!(common_key(&requests[..1]), common_key(&requests[1..]));
}

#[test]
fn temporary_refusal_is_retried() {
    const UNREACHABLE: &str = r#"{"error":"the database is away","code":"unreachable"}"#;
    let temporary: [&[ServerAction]; 4] = [
        &[ServerAction::Answer(503, UNREACHABLE), ServerAction::Answer(200, DELETED)],
        &[ServerAction::Answer(503, BUSY), ServerAction::Answer(200, DELETED)],
        &[ServerAction::Answer(429, "slow down"), ServerAction::Answer(200, DELETED)],
        &[
            ServerAction::AnswerWith(429, "Retry-After: 1\r\n", ""),
            ServerAction::Drop,
            ServerAction::Answer(200, DELETED),
        ],
    ];
    for actions in temporary {
        let server = FailingServer::start(actions);
        delete(&server.remote()).expect("the last answer");
        common_key(&server.requests());
    }
}

#[test]
fn read_is_retried_without_a_key() {
    let server = FailingServer::start(&[ServerAction::Drop, ServerAction::Answer(200, r#"{"count":3}"#)]);
    assert!(matches!(count(&server.remote()), Ok(Counted::Plain { count: 3 })));
    let requests = server.requests();
    assert!(requests.iter().all(|request| header(request, "idempotency-key").is_none()), "{requests:?}");
}

#[test]
fn permanent_errors_are_not_retried() {
    let last: [(&[ServerAction], Code); 4] = [
        (&[ServerAction::Answer(400, r#"{"error":"bad","code":"invalid_input"}"#)], Code::InvalidInput),
        (&[ServerAction::Answer(401, r#"{"error":"who?","code":"unauthorized"}"#)], Code::Unauthorized),
        (&[ServerAction::Answer(409, r#"{"error":"taken","code":"conflict"}"#)], Code::Conflict),
        (&[ServerAction::Answer(500, r#"{"error":"oh","code":"internal"}"#)], Code::Internal),
    ];
    for (actions, code) in last {
        let server = FailingServer::start(actions);
        // A second attempt would be refused: nothing listens any more.
        let error = delete(&server.remote()).expect_err("refused");
        assert_eq!(error.code, code, "{error}");
        assert!(!error.message.contains("nothing listens"), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn gateway_errors_are_retried_with_the_same_key() {
    let server = FailingServer::start(&[
        ServerAction::Answer(502, "<html>bad gateway"),
        ServerAction::Answer(503, "<html>"),
        ServerAction::Answer(504, ""),
    ]);
    let error = delete(&server.remote()).expect_err("nobody knows");
    assert_eq!(error.code, Code::Unreachable, "{error}");
    assert!(error.message.contains("not known whether the change was made"), "{error}");
    common_key(&server.requests());
}

#[test]
fn unknown_outcome_is_reported_even_after_later_refusals() {
    const UNKNOWN: &str = r#"{"error":"it is not known whether the change was stored","code":"unreachable"}"#;
    const ACTIONS: [ServerAction; 4] = [
        ServerAction::Answer(503, UNKNOWN),
        ServerAction::Answer(503, BUSY),
        ServerAction::Answer(503, BUSY),
        ServerAction::Answer(503, BUSY),
    ];
    let server = FailingServer::start(&ACTIONS);
    let error = delete(&server.remote()).expect_err("nobody knows");
    assert_eq!(error.code, Code::Unreachable, "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("look before")));
    common_key(&server.requests());
}

#[test]
fn fourth_attempt_is_the_last() {
    let server = FailingServer::start(&[ServerAction::Answer(503, BUSY); 4]);
    assert_eq!(delete(&server.remote()).expect_err("busy").code, Code::Busy);
    common_key(&server.requests());
}

#[test]
fn server_that_stops_between_attempts_is_unreachable() {
    let server = FailingServer::start(&[ServerAction::Drop]);
    let error = delete(&server.remote()).expect_err("nobody there any more");
    assert!(error.message.contains("nothing listens"), "{error}");
}

/// Starts an HTTPS server on `localhost` for one connection.
fn https_server(certificate: &str) -> (String, JoinHandle<std::io::Result<()>>) {
    let chain = vec![CertificateDer::from_pem_file(certificates(certificate)).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(certificates("server.key")).expect("a key");
    let config = ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
        .expect("a configuration");
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let serving = thread::spawn(move || serve_securely(&listener, config));
    (format!("https://localhost:{port}"), serving)
}

fn serve_securely(listener: &TcpListener, config: ServerConfig) -> std::io::Result<()> {
    let (mut stream, _): (TcpStream, _) = listener.accept()?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    let mut connection = ServerConnection::new(Arc::new(config)).expect("a connection");
    connection.complete_io(&mut stream)?;
    let mut stream = StreamOwned::new(connection, stream);
    read_request(&mut stream);
    perform(ServerAction::Answer(200, r#"{"count":3}"#), &mut stream);
    stream.conn.send_close_notify();
    stream.flush()
}

fn certificates(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates").join(name)
}

fn count_trusting(url: &str, ca_file: Option<&str>) -> Result<Counted, Error> {
    let ca_file = ca_file.map(certificates);
    count(&Remote::new(RemoteOptions { url: url.to_owned(), ca_file, ..RemoteOptions::default() })?)
}

#[test]
fn a_private_or_self_signed_certificate_is_trusted_if_its_authority_is_named() {
    for (certificate, authority) in [("server.pem", "ca.pem"), ("self-signed.pem", "self-signed.pem")] {
        let (url, serving) = https_server(certificate);
        assert!(matches!(count_trusting(&url, Some(authority)), Ok(Counted::Plain { count: 3 })), "{certificate}");
        serving.join().expect("a server that ends").expect("a whole answer");
    }
}

#[test]
fn a_certificate_of_an_unknown_authority_or_name_is_refused_at_once() {
    for (authority, name, why) in [
        (None, "localhost", "authority that is not trusted"),
        (Some("self-signed.pem"), "localhost", "authority that is not trusted"),
        (Some("ca.pem"), "127.0.0.1", "another name"),
    ] {
        let (url, serving) = https_server("server.pem");
        let error = count_trusting(&url.replace("localhost", name), authority).expect_err("not trusted");
        assert_eq!(error.code, Code::Unreachable);
        assert!(error.message.starts_with("cannot trust https://") && error.message.contains(why), "{error}");
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("SSL_CERT_FILE")), "{error:?}");
        serving.join().expect("a server that ends").expect_err("a handshake that fails");
    }
}

#[test]
fn a_file_without_certificates_is_refused() {
    for file in ["server.key", "README.md", "not-there.pem"] {
        let error = count_trusting("https://localhost:1", Some(file)).expect_err("no authority");
        assert_eq!(error.code, Code::InvalidInput);
        assert!(error.message.contains(file), "{error}");
    }
}
