//! Reads the end of a store's log once for all clients that follow it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use pensa_core::event::LogEntry;
use pensa_core::event::filter::{EventFacts, EventFilter};
use pensa_core::{Code, Error, Result, Timestamp, json};
use pensa_engine::{log_end, log_page};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::served_store::ServedStore;

/// Maximum events in one chunk.
pub(super) const CHUNK_EVENTS: u32 = 500;
/// Maximum bytes of buffered chunks.
const MAX_BUFFER_BYTES: usize = 4 << 20;
/// Pause after every chunk, so that the next one grows: many small chunks cost far more than a few large ones.
const LINGER: Duration = Duration::from_millis(5);

/// A section of the log in the event stream format.
#[derive(Debug)]
pub(super) struct LogChunk {
    last: i64,
    text: Bytes,
    events: Vec<ChunkEvent>,
    /// Whether an issue was deleted, so that earlier events about it must not be sent any more.
    removes: bool,
}

/// One event of a chunk: its position in the text, and what filters look at.
#[derive(Debug)]
struct ChunkEvent {
    id: i64,
    /// Where its text ends.
    end: usize,
    kind: String,
    subject_id: String,
    issue_id: Option<String>,
    event_type: String,
    actor: String,
}

impl ChunkEvent {
    fn about(&self) -> EventFacts<'_> {
        EventFacts {
            kind: &self.kind,
            subject_id: &self.subject_id,
            issue_id: self.issue_id.as_deref(),
            event_type: &self.event_type,
            actor: &self.actor,
        }
    }
}

/// Formats events as server-sent events.
pub(super) fn sse_text(entries: &[LogEntry]) -> Result<String> {
    let mut text = String::new();
    for entry in entries {
        text.push_str(&format!("id: {}\ndata: {}\n\n", entry.id, json::to_line(entry)?));
    }
    Ok(text)
}

impl LogChunk {
    fn of(entries: Vec<LogEntry>) -> Result<Self> {
        let (mut text, mut events) = (String::new(), Vec::with_capacity(entries.len()));
        for entry in entries {
            text.push_str(&sse_text(std::slice::from_ref(&entry))?);
            events.push(ChunkEvent {
                id: entry.id,
                end: text.len(),
                kind: entry.subject_kind,
                subject_id: entry.subject_id,
                issue_id: entry.issue_id.map(|id| id.to_string()),
                event_type: entry.event_type,
                actor: entry.actor,
            });
        }
        let last = events.last().map_or(0, |event| event.id);
        let removes = events.iter().any(|event| event.kind == "issue" && event.issue_id.is_none());
        Ok(Self { last, text: Bytes::from(text), events, removes })
    }

    /// Approximate memory use.
    fn bytes(&self) -> usize {
        self.text.len() + self.events.len() * 2 * size_of::<ChunkEvent>()
    }

    pub(super) fn last(&self) -> i64 {
        self.last
    }

    /// The events after a number that match the filter. Without a filter nothing is copied.
    pub(super) fn matching(&self, after: i64, filter: &EventFilter) -> Bytes {
        let first = self.events.partition_point(|event| event.id <= after);
        let start = |at: usize| if at == 0 { 0 } else { self.events[at - 1].end };
        if filter.is_all() {
            return self.text.slice(start(first)..);
        }
        let mut matching = Vec::new();
        for (at, event) in self.events.iter().enumerate().skip(first) {
            if filter.matches(&event.about()) {
                matching.extend_from_slice(&self.text[start(at)..event.end]);
            }
        }
        Bytes::from(matching)
    }
}

/// What followers of a feed are notified of.
#[derive(Debug, Clone, Default)]
pub(super) struct FeedStatus {
    /// Changes when all followers must start over.
    pub(super) generation: u64,
    /// Why the last generation ended.
    pub(super) reason: Option<Error>,
}

/// The position of a follower relative to the buffer.
pub(super) enum FeedPosition {
    /// In front of this chunk, or inside it.
    At(Arc<LogChunk>),
    /// Before the buffer: the follower must read the log.
    Behind,
    /// At the end.
    End,
    /// After the end of the buffer: either it is out of date, or the log was replaced.
    Beyond,
}

#[derive(Debug, Default)]
struct FeedBuffer {
    chunks: VecDeque<Arc<LogChunk>>,
    bytes: usize,
    /// The number after which the buffer starts; `None` until the end of the log has been read.
    start: Option<i64>,
    is_running: bool,
}

/// The buffered end of one store's log.
///
/// One task reads new events while there are followers, and keeps the newest ones as they are sent. A follower that is
/// further behind reads the log itself.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    buffer: Mutex<FeedBuffer>,
    status: watch::Sender<FeedStatus>,
}

impl Feed {
    /// Whether there are followers.
    pub(crate) fn is_followed(&self) -> bool {
        self.status.receiver_count() > 0
    }

    fn lock(&self) -> MutexGuard<'_, FeedBuffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The position of a follower that has everything up to `after`.
    pub(super) fn position(&self, after: i64) -> FeedPosition {
        let buffer = self.lock();
        match buffer.start {
            None => FeedPosition::End,
            Some(start) if after < start => FeedPosition::Behind,
            Some(start) => {
                let at = buffer.chunks.partition_point(|chunk| chunk.last <= after);
                match buffer.chunks.get(at) {
                    Some(chunk) => FeedPosition::At(Arc::clone(chunk)),
                    None if after > buffer.chunks.back().map_or(start, |chunk| chunk.last) => FeedPosition::Beyond,
                    None => FeedPosition::End,
                }
            }
        }
    }

    fn add(&self, chunk: LogChunk) {
        {
            let mut buffer = self.lock();
            if chunk.removes {
                // Buffered events may describe the deleted issue: clients that are behind must read the log.
                buffer.start = buffer.chunks.back().map(|newest| newest.last).or(buffer.start);
                buffer.chunks.clear();
                buffer.bytes = 0;
            }
            buffer.bytes += chunk.bytes();
            buffer.chunks.push_back(Arc::new(chunk));
            // The newest chunk always stays: followers are waiting for it.
            while buffer.bytes > MAX_BUFFER_BYTES && buffer.chunks.len() > 1 {
                if let Some(oldest) = buffer.chunks.pop_front() {
                    buffer.bytes -= oldest.bytes();
                    buffer.start = Some(oldest.last);
                }
            }
        }
        self.status.send_modify(|_| {});
    }

    /// Clears the buffer and tells all followers why they must start over.
    fn end_generation(&self, reason: Error) {
        self.forget();
        self.status
            .send_modify(|status| *status = FeedStatus { generation: status.generation + 1, reason: Some(reason) });
    }

    fn forget(&self) {
        *self.lock() = FeedBuffer { is_running: true, ..FeedBuffer::default() };
    }
}

/// Subscribes to the log of a store. The receiver is notified of every new chunk.
pub(super) fn follow(store: &Arc<ServedStore>) -> watch::Receiver<FeedStatus> {
    let status = store.feed.status.subscribe();
    let mut buffer = store.feed.lock();
    if !buffer.is_running {
        *buffer = FeedBuffer { is_running: true, ..FeedBuffer::default() };
        tokio::spawn(run_feed(Arc::clone(store)));
    }
    status
}

/// Reads new events into the buffer while there are followers.
async fn run_feed(store: Arc<ServedStore>) {
    let mut changes = store.changes();
    let mut known = None;
    loop {
        {
            let mut buffer = store.feed.lock();
            if !store.feed.is_followed() {
                *buffer = FeedBuffer::default();
                return;
            }
        }
        changes.mark_unchanged();
        let is_more = match read_next(&store, known).await {
            Ok(state) => {
                known = Some(state.last);
                state.is_more
            }
            Err(reason) => {
                known = None;
                store.feed.end_generation(reason);
                false
            }
        };
        if is_more {
            continue;
        }
        sleep(LINGER).await;
        let _ = timeout(store.poll_interval(), changes.changed()).await;
    }
}

/// The last event that was read: its number, and its time to recognise a replaced log.
type LogEnd = (i64, Option<Timestamp>);

/// How far the log was read, and whether there is more.
struct ReadState {
    last: LogEnd,
    is_more: bool,
}

/// Reads the next page into the buffer; the first call only finds the end of the log.
async fn read_next(store: &Arc<ServedStore>, known: Option<LogEnd>) -> Result<ReadState> {
    let Some((last, at)) = known else {
        let end = store.dispatch.query(|_, tx| log_end(tx)).await?;
        store.feed.lock().start = Some(end);
        store.feed.status.send_modify(|_| {});
        return Ok(ReadState { last: (end, None), is_more: true });
    };
    // Includes the last known event, to check that it is still the same.
    let page = store
        .dispatch
        .query(move |_, tx| log_page(tx, &EventFilter::default(), (last - 1).max(0), CHUNK_EVENTS))
        .await?;
    if page.end < last {
        return Err(log_replaced(page.end, last));
    }
    let mut entries = page.events;
    let mut at = at;
    if let Some(first) = entries.first().filter(|first| first.id == last) {
        if at.is_some_and(|at| at != first.created_at) {
            return Err(log_replaced(page.end, last));
        }
        at = Some(first.created_at);
        entries.remove(0);
    }
    let Some(newest) = entries.last() else {
        return Ok(ReadState { last: (last, at), is_more: false });
    };
    let last = (newest.id, Some(newest.created_at));
    let is_more = newest.id < page.end;
    store.feed.add(LogChunk::of(entries)?);
    Ok(ReadState { last, is_more })
}

/// The error for a client whose position is after the end of the log.
pub(super) fn log_replaced(end: i64, after: i64) -> Error {
    Error::new(Code::Conflict, format!("the log is not the one that was followed: it ends at {end}, not after {after}"))
        .hint("the database was replaced: look at everything again, then follow from the end")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    fn entry(id: i64, subject: &str, bytes: usize) -> LogEntry {
        let mut detail = Map::new();
        detail.insert("text".into(), "x".repeat(bytes).into());
        LogEntry {
            id,
            subject_kind: "agent".into(),
            subject_id: subject.into(),
            issue_id: None,
            event_type: "created".into(),
            actor: "ana".into(),
            detail,
            created_at: "2026-01-01T00:00:00.000Z".parse().expect("a time"),
        }
    }

    fn ids(text: &Bytes) -> Vec<i64> {
        let text = str::from_utf8(text).expect("text");
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
    }

    fn feed_from(start: i64) -> Feed {
        let feed = Feed::default();
        feed.lock().start = Some(start);
        feed
    }

    #[test]
    fn chunk_returns_later_events_that_match_the_filter() {
        let entries = (5..10).map(|id| entry(id, if id % 2 == 0 { "even" } else { "odd" }, 1)).collect();
        let chunk = LogChunk::of(entries).expect("a chunk");
        assert_eq!(ids(&chunk.matching(0, &EventFilter::default())), [5, 6, 7, 8, 9]);
        assert_eq!(ids(&chunk.matching(7, &EventFilter::default())), [8, 9]);
        assert!(chunk.matching(9, &EventFilter::default()).is_empty());
        let even = EventFilter {
            subject: Some(pensa_core::event::filter::Subject::Id("even".into())),
            ..EventFilter::default()
        };
        assert_eq!(ids(&chunk.matching(4, &even)), [6, 8]);
        assert_eq!(ids(&chunk.matching(6, &even)), [8]);
    }

    #[test]
    fn follower_in_the_buffer_gets_each_event_once_and_older_ones_are_behind() {
        let feed = feed_from(10);
        for from in [10, 13, 16] {
            feed.add(LogChunk::of((from + 1..=from + 3).map(|id| entry(id, "a", 1)).collect()).expect("a chunk"));
        }
        assert!(matches!(feed.position(9), FeedPosition::Behind));
        for start in 10..=19 {
            let (mut after, mut got) = (start, Vec::new());
            while let FeedPosition::At(chunk) = feed.position(after) {
                got.extend(ids(&chunk.matching(after, &EventFilter::default())));
                after = chunk.last();
            }
            assert_eq!(got, (start + 1..=19).collect::<Vec<_>>(), "after {start}");
        }
        assert!(matches!(feed.position(19), FeedPosition::End));
        assert!(matches!(feed.position(20), FeedPosition::Beyond), "this may be the position in another log");
        assert!(matches!(feed_from(2).position(2), FeedPosition::End));
        assert!(matches!(feed_from(2).position(3), FeedPosition::Beyond));
    }

    #[test]
    fn deleting_an_issue_clears_the_buffer() {
        let feed = feed_from(0);
        for id in 1..=3 {
            feed.add(LogChunk::of(vec![entry(id, "a", 1)]).expect("a chunk"));
        }
        let deletion = LogEntry { subject_kind: "issue".into(), event_type: "deleted".into(), ..entry(4, "a", 1) };
        feed.add(LogChunk::of(vec![deletion]).expect("a chunk"));
        for behind in 0..3 {
            assert!(matches!(feed.position(behind), FeedPosition::Behind), "after {behind}");
        }
        assert!(matches!(feed.position(3), FeedPosition::At(_)), "a client that has the rest gets the deletion");
        assert!(matches!(feed.position(4), FeedPosition::End));
        let buffer = feed.lock();
        assert_eq!(buffer.bytes, buffer.chunks.iter().map(|chunk| chunk.bytes()).sum::<usize>());
    }

    #[test]
    fn buffer_is_bounded_and_keeps_the_newest_chunk() {
        let feed = feed_from(0);
        for id in 1..=100 {
            feed.add(LogChunk::of(vec![entry(id, "a", MAX_BUFFER_BYTES / 10)]).expect("a chunk"));
            assert!(feed.lock().bytes <= MAX_BUFFER_BYTES);
            assert!(matches!(feed.position(id - 1), FeedPosition::At(_)));
        }
        assert!(matches!(feed.position(50), FeedPosition::Behind));
        feed.add(LogChunk::of(vec![entry(101, "a", 2 * MAX_BUFFER_BYTES)]).expect("a chunk"));
        assert_eq!(feed.lock().chunks.len(), 1);
        assert!(matches!(feed.position(100), FeedPosition::At(_)));
    }
}
