//! Follows the log of a store: returns each new event once and in order, also across restarts of a daemon.
//!
//! A local store is polled for commits, which is cheap; from a server it reads the event stream.

#[cfg(feature = "embedded")]
mod store;

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::thread;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use pensa_core::event::LogEntry;
use pensa_core::ops::event::List;
use pensa_core::{Code, Error, Result};
use ureq::BodyReader;

use crate::http::Remote;

/// How long a server may be unreachable before the follower fails.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// Delays between connection attempts.
const RECONNECT_DELAYS: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(100))
    .with_max_delay(Duration::from_secs(2))
    .without_max_times();
/// Maximum length of one line of the stream.
const MAX_LINE: u64 = 64 << 20;

/// A reader of new events.
pub struct LogFollower {
    query: List,
    after: i64,
    source: FollowSource,
}

enum FollowSource {
    #[cfg(feature = "embedded")]
    Store(Box<store::StoreFollower>),
    Server(Box<ServerFollower>),
}

impl fmt::Debug for LogFollower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogFollower(after {})", self.after)
    }
}

impl LogFollower {
    #[cfg(feature = "embedded")]
    pub(crate) fn store(engine: pensa_engine::Engine, query: &List, after: i64) -> Self {
        Self { query: unlimited(query), after, source: FollowSource::Store(Box::new(store::StoreFollower::of(engine))) }
    }

    pub(crate) fn server(remote: Remote, query: &List, after: i64) -> Self {
        let server =
            ServerFollower { remote, open: None, delays: RECONNECT_DELAYS.build(), last_message: Instant::now() };
        Self { query: unlimited(query), after, source: FollowSource::Server(Box::new(server)) }
    }

    /// Waits for the next matching events.
    pub fn wait(&mut self) -> Result<Vec<LogEntry>> {
        loop {
            self.query.after = Some(self.after);
            let (events, last) = match &mut self.source {
                #[cfg(feature = "embedded")]
                FollowSource::Store(store) => store.poll(&self.query, self.after)?,
                FollowSource::Server(server) => server.read(&self.query, self.after)?,
            };
            self.after = last;
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }
}

/// Removes the limit of the query.
fn unlimited(query: &List) -> List {
    List { limit: None, ..query.clone() }
}

/// Follows the event stream of a daemon or server.
struct ServerFollower {
    remote: Remote,
    open: Option<BufReader<BodyReader<'static>>>,
    delays: ExponentialBackoff,
    /// When the last message arrived.
    last_message: Instant,
}

/// One server-sent event, or a comment.
#[derive(Debug, Default, PartialEq)]
struct StreamMessage {
    id: Option<i64>,
    name: String,
    data: String,
}

impl ServerFollower {
    /// Reads the next event, or a new position after filtered events. Reconnects if the connection breaks.
    fn read(&mut self, query: &List, after: i64) -> Result<(Vec<LogEntry>, i64)> {
        let Some(stream) = &mut self.open else {
            self.connect(query)?;
            return Ok((Vec::new(), after));
        };
        let Some(message) = read_message(stream) else {
            self.open = None;
            self.delays.by_ref().take(1).for_each(thread::sleep);
            return Ok((Vec::new(), after));
        };
        self.last_message = Instant::now();
        self.delays = RECONNECT_DELAYS.build();
        if message.name == "dropped" {
            self.open = None;
            let error: Error = serde_json::from_str(&message.data).map_err(|_| self.remote.unexpected_stream())?;
            return if is_temporary(&error) { Ok((Vec::new(), after)) } else { Err(error) };
        }
        if message.data.is_empty() {
            return Ok((Vec::new(), message.id.unwrap_or(after).max(after)));
        }
        let event: LogEntry = serde_json::from_str(&message.data).map_err(|_| self.remote.unexpected_stream())?;
        // A server that ignored `after` must not cause repeated events.
        if event.id <= after {
            return Ok((Vec::new(), after));
        }
        let last = event.id;
        Ok((vec![event], last))
    }

    fn connect(&mut self, query: &List) -> Result<()> {
        match self.remote.stream(query) {
            Ok(body) => {
                self.open = Some(BufReader::new(body));
                Ok(())
            }
            Err(error) if is_temporary(&error) && self.last_message.elapsed() < RECONNECT_TIMEOUT => {
                self.delays.by_ref().take(1).for_each(thread::sleep);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether the error may go away by itself.
fn is_temporary(error: &Error) -> bool {
    matches!(error.code, Code::Unreachable | Code::Busy | Code::Timeout | Code::DiskFull | Code::Internal)
}

/// Reads the next message; `None` if the stream ends or breaks, also in the middle of a message.
fn read_message(stream: &mut impl BufRead) -> Option<StreamMessage> {
    let mut message = StreamMessage::default();
    loop {
        let mut line = Vec::new();
        stream.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).ok()?;
        let line = String::from_utf8(line).ok()?;
        let line = line.strip_suffix('\n')?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        match line.split_once(':') {
            _ if line.is_empty() && message == StreamMessage::default() => {}
            _ if line.is_empty() => return Some(message),
            Some(("id", id)) => message.id = id.trim().parse().ok(),
            Some(("event", name)) => message.name = name.trim().to_owned(),
            Some(("data", data)) => message.data.push_str(data.trim_start()),
            // A comment is a keepalive.
            Some(("", _)) if message == StreamMessage::default() => return Some(message),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut text: &[u8]) -> Vec<StreamMessage> {
        std::iter::from_fn(|| read_message(&mut text)).collect()
    }

    fn message(id: i64, name: &str, data: &str) -> StreamMessage {
        StreamMessage { id: Some(id), name: name.into(), data: data.into() }
    }

    #[test]
    fn complete_events_of_a_stream_are_parsed() {
        let text =
            b"id: 1\ndata: {}\n\nid: 7\n\nretry: 5\r\n\r\nevent: dropped\r\nid: 8\r\ndata:{}\r\n\r\nid: 9\ndata: {";
        assert_eq!(all(text), [message(1, "", "{}"), message(7, "", ""), message(8, "dropped", "{}")]);
    }

    #[test]
    fn comments_are_keepalives_and_invalid_input_ends_a_stream() {
        assert_eq!(all(b": hello\n\n: still here\n\n"), [StreamMessage::default(), StreamMessage::default()]);
        for rubbish in [&b"\xff\xfe\n\n"[..], b"data", b"", b"id: 1"] {
            assert_eq!(all(rubbish), [], "{rubbish:?}");
        }
        assert_eq!(all(b"id: x\ndata: 1\n\n"), [StreamMessage { id: None, name: String::new(), data: "1".into() }]);
    }
}
