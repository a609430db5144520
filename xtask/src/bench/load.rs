//! Many connections at once, each asking again as soon as it is answered.
//!
//! Does as little as it can between two requests, because it shares the machine's cores with what it measures.

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
/// Threads that ask, as many as `pgbench` has. One for each connection would spend most of its time on going to sleep and
/// being woken.
const THREADS: usize = 2;

/// What each connection asks, over and over. Made beforehand, so that making it costs the measured nothing.
pub(super) type Requests = Vec<Vec<Vec<u8>>>;

/// Makes `each` requests for every one of these connections.
pub(super) fn requests(connections: usize, each: usize, mut request: impl FnMut(usize) -> Vec<u8>) -> Requests {
    (0..connections).map(|connection| (0..each).map(|_| request(connection)).collect()).collect()
}

/// Requests to a daemon.
pub(super) fn post(address: SocketAddr, path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nPensa-Actor: bench\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub(super) fn get(address: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nPensa-Actor: bench\r\n\r\n").into_bytes()
}

/// Requests per second that `address` answers.
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

/// Asks on many connections, each of which has its next request as soon as it is answered.
fn ask_until(end: Instant, address: SocketAddr, requests: &[Vec<Vec<u8>>]) -> Result<usize> {
    let patience = Timespec::try_from(TIMEOUT)?;
    let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut connections = Vec::with_capacity(requests.len());
    for own in requests {
        let mut connection = Connection::open(address)?;
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
            if connection.take_some()?.is_none() {
                continue;
            }
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
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// How much of an answer has come.
    filled: usize,
    /// The head of the last answer, and the length of the body it announced: the next is most likely the same.
    last: (Vec<u8>, usize),
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream, buffer: vec![0; 64 * 1024], filled: 0, last: (Vec::new(), 0) })
    }

    /// Sends a request and returns the body of its answer; anything but success is an error.
    pub(super) fn ask(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.write_all(request)?;
        loop {
            if let Some(body) = self.take_some()? {
                return Ok(&self.buffer[body]);
            }
        }
    }

    /// Takes what has come; where the body of the answer is, once it is whole.
    fn take_some(&mut self) -> Result<Option<Range<usize>>> {
        let more = self.stream.read(&mut self.buffer[self.filled..])?;
        if more == 0 {
            return Err("the server closed the connection, or the head of its answer is too long".into());
        }
        self.filled += more;
        let got = &self.buffer[..self.filled];
        if !got.starts_with(&self.last.0) || self.last.0.is_empty() {
            match head(got)? {
                Some(head) => self.last = head,
                None => return Ok(None),
            }
        }
        let body = self.last.0.len()..self.last.0.len() + self.last.1;
        if self.buffer.len() < body.end {
            self.buffer.resize(body.end, 0);
        }
        if self.filled < body.end {
            return Ok(None);
        }
        self.filled = 0;
        Ok(Some(body))
    }
}

/// The head of an answer and the length of its body, once all of the head is there.
fn head(got: &[u8]) -> Result<Option<(Vec<u8>, usize)>> {
    let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&got[..end])?;
    if !text.starts_with("HTTP/1.1 20") {
        return Err(format!("the server refused: {}", String::from_utf8_lossy(got)).into());
    }
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Ok(Some((got[..end].to_vec(), length.ok_or("the answer does not tell its length")?)))
}
