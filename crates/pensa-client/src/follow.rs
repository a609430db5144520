//! Follows the log of a store: what is new, in order and each event once, also across restarts of a daemon.
//!
//! On files it looks whether anybody has committed, which costs next to nothing; from a server it reads the stream of
//! events. What is done with the events is left to the caller.

#[cfg(feature = "embedded")]
mod files;

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

/// How long a server may be away before that is an error.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pauses before a server is tried again.
const PAUSES: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(100))
    .with_max_delay(Duration::from_secs(2))
    .without_max_times();
/// Longest line of a stream.
const MAX_LINE: u64 = 64 << 20;

/// Somebody who follows.
pub struct Follow {
    wanted: List,
    after: i64,
    source: Source,
}

enum Source {
    #[cfg(feature = "embedded")]
    Files(Box<files::Files>),
    Server(Box<Server>),
}

impl fmt::Debug for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Follow(after {})", self.after)
    }
}

impl Follow {
    #[cfg(feature = "embedded")]
    pub(crate) fn files(engine: pensa_engine::Engine, wanted: &List, after: i64) -> Self {
        Self { wanted: endless(wanted), after, source: Source::Files(Box::new(files::Files::of(engine))) }
    }

    pub(crate) fn server(remote: Remote, wanted: &List, after: i64) -> Self {
        let server = Server { remote, open: None, pauses: PAUSES.build(), heard: Instant::now() };
        Self { wanted: endless(wanted), after, source: Source::Server(Box::new(server)) }
    }

    /// Waits for the next events that are wanted.
    pub fn wait(&mut self) -> Result<Vec<LogEntry>> {
        loop {
            self.wanted.after = Some(self.after);
            let (events, last) = match &mut self.source {
                #[cfg(feature = "embedded")]
                Source::Files(files) => files.look(&self.wanted, self.after)?,
                Source::Server(server) => server.read(&self.wanted, self.after)?,
            };
            self.after = last;
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }
}

/// What is wanted has no end.
fn endless(wanted: &List) -> List {
    List { limit: None, ..wanted.clone() }
}

/// A daemon or a server.
struct Server {
    remote: Remote,
    open: Option<BufReader<BodyReader<'static>>>,
    pauses: ExponentialBackoff,
    /// When it was last heard of.
    heard: Instant,
}

/// What a stream says at a time.
#[derive(Debug, Default, PartialEq)]
struct Told {
    id: Option<i64>,
    name: String,
    data: String,
}

impl Server {
    /// The next event, or how far the log was passed over. A connection that breaks is opened again.
    fn read(&mut self, wanted: &List, after: i64) -> Result<(Vec<LogEntry>, i64)> {
        let Some(stream) = &mut self.open else {
            self.connect(wanted)?;
            return Ok((Vec::new(), after));
        };
        let Some(told) = tell(stream) else {
            self.open = None;
            self.pauses.by_ref().take(1).for_each(thread::sleep);
            return Ok((Vec::new(), after));
        };
        self.heard = Instant::now();
        self.pauses = PAUSES.build();
        if told.name == "dropped" {
            self.open = None;
            let why: Error = serde_json::from_str(&told.data).map_err(|_| self.remote.not_pensa())?;
            return if may_pass(&why) { Ok((Vec::new(), after)) } else { Err(why) };
        }
        if told.data.is_empty() {
            return Ok((Vec::new(), told.id.unwrap_or(after).max(after)));
        }
        let event: LogEntry = serde_json::from_str(&told.data).map_err(|_| self.remote.not_pensa())?;
        // A server that begins too early, because it did not understand, must not repeat anything.
        if event.id <= after {
            return Ok((Vec::new(), after));
        }
        let last = event.id;
        Ok((vec![event], last))
    }

    fn connect(&mut self, wanted: &List) -> Result<()> {
        match self.remote.stream(wanted) {
            Ok(body) => {
                self.open = Some(BufReader::new(body));
                Ok(())
            }
            Err(why) if may_pass(&why) && self.heard.elapsed() < PATIENCE => {
                self.pauses.by_ref().take(1).for_each(thread::sleep);
                Ok(())
            }
            Err(why) => Err(why),
        }
    }
}

/// Whether it may be otherwise in a while.
fn may_pass(why: &Error) -> bool {
    matches!(why.code, Code::Unreachable | Code::Busy | Code::Timeout | Code::DiskFull | Code::Internal)
}

/// The next that a stream says; nothing if it ends or breaks. What it did not say whole was not said.
fn tell(stream: &mut impl BufRead) -> Option<Told> {
    let mut told = Told::default();
    loop {
        let mut line = Vec::new();
        stream.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).ok()?;
        let line = String::from_utf8(line).ok()?;
        let line = line.strip_suffix('\n')?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        match line.split_once(':') {
            _ if line.is_empty() && told == Told::default() => {}
            _ if line.is_empty() => return Some(told),
            Some(("id", id)) => told.id = id.trim().parse().ok(),
            Some(("event", name)) => told.name = name.trim().to_owned(),
            Some(("data", data)) => told.data.push_str(data.trim_start()),
            // A comment is a sign of life.
            Some(("", _)) if told == Told::default() => return Some(told),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut text: &[u8]) -> Vec<Told> {
        std::iter::from_fn(|| tell(&mut text)).collect()
    }

    fn told(id: i64, name: &str, data: &str) -> Told {
        Told { id: Some(id), name: name.into(), data: data.into() }
    }

    #[test]
    fn a_stream_is_understood_as_far_as_it_is_whole() {
        let text =
            b"id: 1\ndata: {}\n\nid: 7\n\nretry: 5\r\n\r\nevent: dropped\r\nid: 8\r\ndata:{}\r\n\r\nid: 9\ndata: {";
        assert_eq!(all(text), [told(1, "", "{}"), told(7, "", ""), told(8, "dropped", "{}")]);
    }

    #[test]
    fn comments_are_signs_of_life_and_rubbish_ends_a_stream() {
        assert_eq!(all(b": hello\n\n: still here\n\n"), [Told::default(), Told::default()]);
        for rubbish in [&b"\xff\xfe\n\n"[..], b"data", b"", b"id: 1"] {
            assert_eq!(all(rubbish), [], "{rubbish:?}");
        }
        assert_eq!(all(b"id: x\ndata: 1\n\n"), [Told { id: None, name: String::new(), data: "1".into() }]);
    }
}
