//! A small HTTP/1.1 client that sends exactly the given headers, keeps its connection, and follows event streams.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::PATIENCE;

/// A client of one server, with headers for all requests.
#[derive(Debug)]
pub struct Http {
    host: String,
    /// Prefix of all paths.
    base: String,
    headers: Vec<(String, String)>,
    connection: Option<BufReader<TcpStream>>,
}

impl Http {
    /// A client for a URL such as `http://127.0.0.1:7533/p/web`.
    pub fn to(url: &str) -> Self {
        let rest = url.strip_prefix("http://").expect("an address without encryption").trim_end_matches('/');
        let (host, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Self { host: host.to_owned(), base: base.to_owned(), headers: Vec::new(), connection: None }
    }

    /// Sends this header with all requests.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends this token with all requests.
    #[must_use]
    pub fn token(self, secret: &str) -> Self {
        self.with("Authorization", &format!("Bearer {secret}"))
    }

    /// Starts a request.
    pub fn ask(&mut self, method: &str, path: &str) -> Ask<'_> {
        Ask { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: None, http: self }
    }

    #[track_caller]
    pub fn get(&mut self, path: &str) -> Reply {
        self.ask("GET", path).reply()
    }

    #[track_caller]
    pub fn post(&mut self, path: &str, body: &Value) -> Reply {
        self.ask("POST", path).body(body).reply()
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(&self.host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(BufReader::new(stream))
    }
}

/// A request under construction.
#[derive(Debug)]
pub struct Ask<'h> {
    http: &'h mut Http,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    /// Its type and text.
    body: Option<(&'static str, String)>,
}

impl Ask<'_> {
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn body(mut self, body: &Value) -> Self {
        self.body = Some(("application/json", body.to_string()));
        self
    }

    /// A form as browsers send it.
    #[must_use]
    pub fn form(mut self, fields: &[(&str, &str)]) -> Self {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let byte = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        let encoded = |text: &str| text.bytes().map(byte).collect::<String>();
        let pairs: Vec<_> =
            fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        self.body = Some(("application/x-www-form-urlencoded", pairs.join("&")));
        self
    }

    fn text(&self) -> String {
        let mut text =
            format!("{} {}{} HTTP/1.1\r\nHost: {}\r\n", self.method, self.http.base, self.path, self.http.host);
        for (name, value) in self.http.headers.iter().chain(&self.headers) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        match &self.body {
            Some((kind, body)) => {
                let length = body.len();
                text.push_str(&format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"));
            }
            None => text.push_str("\r\n"),
        }
        text
    }

    /// Sends the request; panics without an answer.
    #[track_caller]
    pub fn reply(self) -> Reply {
        let description = format!("{} {}", self.method, self.path);
        self.try_reply().unwrap_or_else(|e| panic!("{description}: no answer: {e}"))
    }

    /// Sends the request. Reconnects if the server has closed the connection.
    pub fn try_reply(self) -> io::Result<Reply> {
        let text = self.text();
        if let Some(open) = self.http.connection.take()
            && let Ok(reply) = self.http.exchange(open, &text)
        {
            return Ok(reply);
        }
        let fresh = self.http.connect()?;
        self.http.exchange(fresh, &text)
    }

    /// Sends the request on a new connection and follows the event stream.
    #[track_caller]
    pub fn events(self) -> Events {
        let mut connection = self.http.connect().expect("a server");
        connection.get_mut().write_all(self.text().as_bytes()).expect("sent");
        let head = Head::read(&mut connection).expect("an answer");
        assert_eq!(head.status, 200, "a stream: {head:?}");
        assert_eq!(head.header("content-type"), Some("text/event-stream"), "{head:?}");
        let stream = connection.get_ref().try_clone().expect("a second handle");
        stream.set_read_timeout(None).expect("no timeout");
        let (send, received) = mpsc::channel();
        thread::spawn(move || {
            let mut event = Event::default();
            for line in BufReader::new(Chunked { from: connection, left: 0 }).lines() {
                let Ok(line) = line else { return };
                if let Some(id) = line.strip_prefix("id: ") {
                    event.id = id.parse().expect("the number of an event");
                } else if let Some(data) = line.strip_prefix("data: ") {
                    event.data = serde_json::from_str(data).expect("JSON");
                } else if let Some(name) = line.strip_prefix("event: ") {
                    event.name = name.to_owned();
                } else if line.is_empty() && !event.is_empty() && send.send(std::mem::take(&mut event)).is_err() {
                    return;
                }
            }
        });
        Events { stream, received }
    }
}

impl Http {
    fn exchange(&mut self, mut connection: BufReader<TcpStream>, text: &str) -> io::Result<Reply> {
        connection.get_mut().write_all(text.as_bytes())?;
        let head = Head::read(&mut connection)?;
        let mut body = Vec::new();
        if head.header("transfer-encoding").is_some() {
            Chunked { from: &mut connection, left: 0 }.read_to_end(&mut body)?;
        } else {
            let length = head.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            body.resize(length, 0);
            connection.read_exact(&mut body)?;
        }
        if head.header("connection").is_none_or(|value| !value.eq_ignore_ascii_case("close")) {
            self.connection = Some(connection);
        }
        let body = String::from_utf8(body).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
        Ok(Reply { status: head.status, headers: head.headers, body })
    }
}

#[derive(Debug)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    fn read(from: &mut impl BufRead) -> io::Result<Self> {
        let mut line = || {
            let mut line = String::new();
            if from.read_line(&mut line)? == 0 {
                return Err(io::Error::from(ErrorKind::UnexpectedEof));
            }
            Ok(line.trim_end().to_owned())
        };
        let first = line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, first))?;
        let mut headers = Vec::new();
        loop {
            let line = line()?;
            let Some((name, value)) = line.split_once(':') else { return Ok(Self { status, headers }) };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Decodes a chunked body.
struct Chunked<R> {
    from: R,
    left: usize,
}

impl<R: BufRead> Read for Chunked<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            self.from.read_line(&mut line)?;
            let bad = |_| io::Error::new(ErrorKind::UnexpectedEof, line.clone());
            let size = usize::from_str_radix(line.trim(), 16).map_err(bad)?;
            if size == 0 {
                self.from.read_line(&mut line)?;
                return Ok(0);
            }
            // Including the line end after the chunk.
            self.left = size + 2;
        }
        let wanted = to.len().min(self.left.saturating_sub(2));
        let got = self.from.read(&mut to[..wanted])?;
        if got == 0 && wanted > 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left -= got;
        if self.left == 2 {
            self.from.read_exact(&mut [0; 2])?;
            self.left = 0;
        }
        Ok(got)
    }
}

/// A complete answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Expects success. Returns the body.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        self.json()
    }

    /// Expects an error with this status and code. Returns the body.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        let error = self.json();
        assert_eq!(error["code"], code, "{self:?}");
        assert!(error["error"].as_str().is_some_and(|message| !message.is_empty()), "{self:?}");
        error
    }
}

/// An event of a stream, or a position without data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Event {
    pub id: i64,
    /// The name of the event, or empty.
    pub name: String,
    /// Null, if the event is only a position.
    pub data: Value,
}

impl Event {
    fn is_empty(&self) -> bool {
        self.id == 0 && self.data.is_null()
    }
}

/// An event stream, followed until dropped.
#[derive(Debug)]
pub struct Events {
    stream: TcpStream,
    received: Receiver<Event>,
}

impl Events {
    /// The next event; panics if none arrives.
    #[track_caller]
    pub fn next(&self) -> Event {
        self.next_within(PATIENCE).expect("an event")
    }

    /// The next event, if it arrives in time.
    pub fn next_within(&self, time: Duration) -> Option<Event> {
        self.received.recv_timeout(time).ok()
    }

    /// Whether the server ends the stream in time. Skips events.
    pub fn ends_within(&self, time: Duration) -> bool {
        loop {
            match self.received.recv_timeout(time) {
                Ok(_) => {}
                Err(e) => return e == RecvTimeoutError::Disconnected,
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
