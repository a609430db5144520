//! Generates load: many kept-alive connections that each send the next request when an answer arrives.
//!
//! Does as little as possible between requests, because it shares the CPU cores with the server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use serde_json::Value;

use crate::Result;

pub(super) const CONNECTIONS: usize = 32;
const TIMEOUT: Duration = Duration::from_secs(20);
/// Threads that send requests. One per connection would mostly sleep and wake up.
pub(super) const THREADS: usize = 2;

/// The requests that each connection repeats, built in advance.
pub(super) type Requests = Vec<Vec<Vec<u8>>>;

/// Builds `each` requests for each connection.
pub(super) fn requests(connections: usize, each: usize, mut request: impl FnMut(usize) -> Vec<u8>) -> Requests {
    (0..connections).map(|connection| (0..each).map(|_| request(connection)).collect()).collect()
}

/// Builds a request such as `GET /status` with additional header lines. Null means no body.
pub(super) fn request(address: SocketAddr, headers: &str, what: &str, body: &Value) -> Vec<u8> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    let length = body.len();
    format!("{what} HTTP/1.1\r\nHost: {address}\r\n{headers}{kind}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

const ACTOR: &str = "Pensa-Actor: bench\r\n";

/// Builds requests to a daemon.
pub(super) fn post(address: SocketAddr, path: &str, body: &Value) -> Vec<u8> {
    request(address, ACTOR, &format!("POST {path}"), body)
}

pub(super) fn get(address: SocketAddr, path: &str) -> Vec<u8> {
    request(address, ACTOR, &format!("GET {path}"), &Value::Null)
}

/// Measures the requests per second that `address` answers.
pub(super) fn rate(address: SocketAddr, lasting: Duration, requests: &Requests) -> Result<f64> {
    let start = Instant::now();
    let answered: std::result::Result<usize, String> = thread::scope(|scope| {
        let ask = |own| move || ask_until(start + lasting, address, own).map_err(|e| e.to_string());
        let shares = requests.chunks(requests.len().div_ceil(THREADS));
        let workers: Vec<_> = shares.map(|own| scope.spawn(ask(own))).collect();
        workers.into_iter().map(|worker| worker.join().map_err(|_| "a thread that asks panicked")?).sum()
    });
    Ok(answered? as f64 / start.elapsed().as_secs_f64())
}

/// Sends requests on many connections, each again as soon as it is answered.
fn ask_until(end: Instant, address: SocketAddr, requests: &[Vec<Vec<u8>>]) -> Result<usize> {
    let patience = Timespec::try_from(TIMEOUT)?;
    let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut connections = Vec::with_capacity(requests.len());
    for own in requests {
        let mut connection = KeptAliveConnection::open(address)?;
        let number = epoll::EventData::new_u64(connections.len() as u64);
        epoll::add(&ready, &connection.stream, number, epoll::EventFlags::IN)?;
        connection.stream.write_all(&own[0])?;
        connections.push((connection, own, 1));
    }
    let (mut waiting, mut answered, mut events) = (connections.len(), 0, Vec::with_capacity(connections.len()));
    while waiting > 0 {
        events.clear();
        if epoll::wait(&ready, spare_capacity(&mut events), Some(&patience))? == 0 {
            return Err("the server does not answer".into());
        }
        for event in &events {
            let (connection, own, asked) = &mut connections[usize::try_from(event.data.u64())?];
            let Some((status, body)) = connection.take_some()? else { continue };
            connection.good(status, body)?;
            answered += 1;
            if Instant::now() < end {
                connection.stream.write_all(&own[*asked % own.len()])?;
                *asked += 1;
            } else {
                waiting -= 1;
            }
        }
    }
    Ok(answered)
}

/// A kept-alive connection.
pub(super) struct KeptAliveConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// How many bytes of an answer have arrived.
    filled: usize,
    /// The head of the last answer; the next is most likely the same.
    head: AnswerHead,
}

/// A parsed head of an answer.
#[derive(Default)]
struct AnswerHead {
    bytes: Vec<u8>,
    status: u16,
    /// Length of the body.
    length: usize,
}

impl KeptAliveConnection {
    pub(super) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream, buffer: vec![0; 64 * 1024], filled: 0, head: AnswerHead::default() })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn send(&mut self, request: &[u8]) -> Result {
        Ok(self.stream.write_all(request)?)
    }

    /// Sends a request and returns the body of its answer; anything but success is an error.
    pub(super) fn ask(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.send(request)?;
        loop {
            if let Some((status, body)) = self.take_some()? {
                return self.good(status, body);
            }
        }
    }

    /// The body of a successful answer.
    fn good(&self, status: u16, body: Range<usize>) -> Result<&[u8]> {
        let body = self.body(body);
        if (200..300).contains(&status) {
            return Ok(body);
        }
        Err(format!("the server refused with {status}: {}", String::from_utf8_lossy(body)).into())
    }

    /// A part of the last answer.
    pub(super) fn body(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Reads what has arrived. Returns status and range of the body once the answer is complete.
    pub(super) fn take_some(&mut self) -> Result<Option<(u16, Range<usize>)>> {
        let more = self.stream.read(&mut self.buffer[self.filled..])?;
        if more == 0 {
            return Err("the server closed the connection, or the head of its answer is too long".into());
        }
        self.filled += more;
        let got = &self.buffer[..self.filled];
        if !got.starts_with(&self.head.bytes) || self.head.bytes.is_empty() {
            match head(got)? {
                Some(head) => self.head = head,
                None => return Ok(None),
            }
        }
        let body = self.head.bytes.len()..self.head.bytes.len() + self.head.length;
        if self.buffer.len() < body.end {
            self.buffer.resize(body.end, 0);
        }
        if self.filled < body.end {
            return Ok(None);
        }
        self.filled = 0;
        Ok(Some((self.head.status, body)))
    }
}

/// Parses the head of an answer once it is complete.
fn head(got: &[u8]) -> Result<Option<AnswerHead>> {
    let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&got[..end])?;
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let (status, length) = status.zip(length).ok_or("the answer has no status or length")?;
    Ok(Some(AnswerHead { bytes: got[..end].to_vec(), status, length }))
}
