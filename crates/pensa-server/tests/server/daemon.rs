//! Starts a daemon with its own port and store, and a client that sends exactly the bytes a test needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pensa_core::Result;
use pensa_engine::{Engine, StoreDir};
use pensa_server::{Options, Server, ShutdownHandle};
use serde_json::Value;
use tempfile::TempDir;

const TEST_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Daemon {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) store_id: String,
    handle: ShutdownHandle,
    serving: Option<JoinHandle<Result<()>>>,
    pub(crate) dir: TempDir,
}

pub(crate) fn engine(dir: &TempDir) -> Engine {
    let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
    Engine::open(store).expect("an engine")
}

impl Daemon {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(allowed_hosts: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let engine = engine(&dir);
        let store = engine.location().dir().expect("a directory");
        let (token, store_id) = (store.token_secret().expect("a token"), store.id().expect("an id"));
        let allowed_hosts = allowed_hosts.iter().map(|host| (*host).to_owned()).collect();
        let options = Options { listen: ([127, 0, 0, 1], 0).into(), allowed_hosts, actor: "tester".into() };
        let server = Server::bind(engine, options).expect("a free port");
        let (address, handle) = (server.local_addr(), server.handle());
        let serving = Some(thread::spawn(move || server.serve()));
        Self { address, token, store_id, handle, serving, dir }
    }

    pub(crate) fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
        stream.set_write_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
        Connection { reader: BufReader::new(stream), host: self.address.to_string() }
    }

    /// Sends one request on a new connection.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> HttpResponse {
        self.connect().send(method, path, headers, body)
    }

    pub(crate) fn get(&self, path: &str) -> HttpResponse {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn json(&self, method: &str, path: &str, body: &str) -> HttpResponse {
        self.send(method, path, &[("Content-Type", "application/json")], body)
    }

    /// Creates an issue and returns its id.
    pub(crate) fn create(&self, title: &str) -> String {
        let created = self.json("POST", "/issues", &format!(r#"{{"title":"{title}","issue_type":"task"}}"#));
        assert_eq!(created.status, 201, "{created:?}");
        created.body["id"].as_str().expect("an id").to_owned()
    }

    /// Asks the server to stop, without waiting for it.
    pub(crate) fn stop(&self) {
        self.handle.shutdown();
    }

    /// Stops the server and returns the result of `serve`.
    pub(crate) fn stop_and_join(&mut self) -> Result<()> {
        self.stop();
        self.serving.take().expect("still serving").join().expect("no panic")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop();
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    host: String,
}

#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl HttpResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or("none")
    }
}

impl Connection {
    /// Sends a request with the right `Host`, unless `headers` has one, and a `Content-Length` if there is a body.
    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> HttpResponse {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += &format!("Host: {}\r\n", self.host);
        }
        for (name, value) in headers.iter().filter(|(_, value)| *value != "-") {
            head += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        self.write(format!("{head}\r\n{body}").as_bytes()).expect("the server takes the request");
        self.answer().expect("an answer")
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// The next response; `None` if the connection ends first.
    pub(crate) fn answer(&mut self) -> Option<HttpResponse> {
        let mut status = String::new();
        self.reader.read_line(&mut status).ok().filter(|length| *length > 0)?;
        let status = status.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line).ok()?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
                None => break,
            }
        }
        let mut answer = HttpResponse { status, headers, body: Value::Null };
        let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).ok()?;
        if length > 0 {
            assert_eq!(answer.header("content-type"), Some("application/json"));
            answer.body = serde_json::from_slice(&body).expect("JSON");
        }
        Some(answer)
    }

    /// Whether the server has closed the connection.
    pub(crate) fn is_over(&mut self) -> bool {
        matches!(self.reader.read(&mut [0]), Ok(0) | Err(_))
    }
}
