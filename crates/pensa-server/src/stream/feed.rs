//! The end of a store's log, read and written down once for all who follow it.
//!
//! One task reads what is new while anybody follows, and keeps the last of it as it is sent. Whoever is further behind
//! reads the log on its own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use pensa_core::event::LogEntry;
use pensa_core::event::filter::{About, Filter};
use pensa_core::{Code, Error, Result, Timestamp, json};
use pensa_engine::{log_end, log_page};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::served::Served;

/// Most events of one piece.
pub(super) const PAGE: u32 = 500;
/// Most bytes that are kept of the log.
const MAX_KEPT: usize = 4 << 20;
/// A pause after every piece, in which the next one grows: many small pieces cost far more than a few large ones.
const LINGER: Duration = Duration::from_millis(5);

/// A part of the log as it is sent.
#[derive(Debug)]
pub(super) struct Piece {
    last: i64,
    text: Bytes,
    lines: Vec<Line>,
    /// Whether an issue is gone, and with it what was told of it before.
    removes: bool,
}

/// What a piece knows of one of its events.
#[derive(Debug)]
struct Line {
    id: i64,
    /// Where its text ends.
    end: usize,
    kind: String,
    subject_id: String,
    issue_id: Option<String>,
    event_type: String,
    actor: String,
}

impl Line {
    fn about(&self) -> About<'_> {
        About {
            kind: &self.kind,
            subject_id: &self.subject_id,
            issue_id: self.issue_id.as_deref(),
            event_type: &self.event_type,
            actor: &self.actor,
        }
    }
}

/// Events as they are sent.
pub(super) fn written(entries: &[LogEntry]) -> Result<String> {
    let mut text = String::new();
    for entry in entries {
        text.push_str(&format!("id: {}\ndata: {}\n\n", entry.id, json::to_line(entry)?));
    }
    Ok(text)
}

impl Piece {
    fn of(entries: Vec<LogEntry>) -> Result<Self> {
        let (mut text, mut lines) = (String::new(), Vec::with_capacity(entries.len()));
        for entry in entries {
            text.push_str(&written(std::slice::from_ref(&entry))?);
            lines.push(Line {
                id: entry.id,
                end: text.len(),
                kind: entry.subject_kind,
                subject_id: entry.subject_id,
                issue_id: entry.issue_id.map(|id| id.to_string()),
                event_type: entry.event_type,
                actor: entry.actor,
            });
        }
        let last = lines.last().map_or(0, |line| line.id);
        let removes = lines.iter().any(|line| line.kind == "issue" && line.issue_id.is_none());
        Ok(Self { last, text: Bytes::from(text), lines, removes })
    }

    /// What it takes to keep it.
    fn weight(&self) -> usize {
        self.text.len() + self.lines.len() * 2 * size_of::<Line>()
    }

    pub(super) fn last(&self) -> i64 {
        self.last
    }

    /// The events after one of them that are wanted. Without a filter nothing is copied.
    pub(super) fn wanted(&self, after: i64, filter: &Filter) -> Bytes {
        let first = self.lines.partition_point(|line| line.id <= after);
        let start = |at: usize| if at == 0 { 0 } else { self.lines[at - 1].end };
        if filter.is_all() {
            return self.text.slice(start(first)..);
        }
        let mut wanted = Vec::new();
        for (at, line) in self.lines.iter().enumerate().skip(first) {
            if filter.matches(&line.about()) {
                wanted.extend_from_slice(&self.text[start(at)..line.end]);
            }
        }
        Bytes::from(wanted)
    }
}

/// How things stand with the log.
#[derive(Debug, Clone, Default)]
pub(super) struct Tip {
    /// Changes whenever whoever follows has to begin anew.
    pub(super) turn: u64,
    /// Why the last turn ended.
    pub(super) why: Option<Error>,
}

/// Where a follower is.
pub(super) enum Place {
    /// Before this piece, or in it.
    At(Arc<Piece>),
    /// Further back than what is kept.
    Behind,
    /// At the end.
    End,
    /// After the end, as far as it was read: more was written since, or the log is another one.
    Beyond,
}

#[derive(Debug, Default)]
struct Kept {
    pieces: VecDeque<Arc<Piece>>,
    weight: usize,
    /// The number after which the pieces begin; none before the log was looked at.
    start: Option<i64>,
    is_read: bool,
}

/// The end of one store's log.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    kept: Mutex<Kept>,
    tip: watch::Sender<Tip>,
}

impl Feed {
    /// Whether anybody follows.
    pub(crate) fn is_followed(&self) -> bool {
        self.tip.receiver_count() > 0
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a follower is that has everything up to a number.
    pub(super) fn place(&self, after: i64) -> Place {
        let kept = self.lock();
        match kept.start {
            None => Place::End,
            Some(start) if after < start => Place::Behind,
            Some(start) => {
                let at = kept.pieces.partition_point(|piece| piece.last <= after);
                match kept.pieces.get(at) {
                    Some(piece) => Place::At(Arc::clone(piece)),
                    None if after > kept.pieces.back().map_or(start, |piece| piece.last) => Place::Beyond,
                    None => Place::End,
                }
            }
        }
    }

    fn add(&self, piece: Piece) {
        {
            let mut kept = self.lock();
            if piece.removes {
                // What was kept may tell of the issue that is gone: whoever is behind reads the log.
                kept.start = kept.pieces.back().map(|newest| newest.last).or(kept.start);
                kept.pieces.clear();
                kept.weight = 0;
            }
            kept.weight += piece.weight();
            kept.pieces.push_back(Arc::new(piece));
            // The newest stays, whatever its size: those who follow wait for it.
            while kept.weight > MAX_KEPT && kept.pieces.len() > 1 {
                if let Some(oldest) = kept.pieces.pop_front() {
                    kept.weight -= oldest.weight();
                    kept.start = Some(oldest.last);
                }
            }
        }
        self.tip.send_modify(|_| {});
    }

    /// Forgets what is kept; whoever follows is told why, and begins anew.
    fn end_turn(&self, why: Error) {
        self.forget();
        self.tip.send_modify(|tip| *tip = Tip { turn: tip.turn + 1, why: Some(why) });
    }

    fn forget(&self) {
        *self.lock() = Kept { is_read: true, ..Kept::default() };
    }
}

/// Follows the log of a store: told whenever there is something new to take.
pub(super) fn follow(store: &Arc<Served>) -> watch::Receiver<Tip> {
    let told = store.feed.tip.subscribe();
    let mut kept = store.feed.lock();
    if !kept.is_read {
        *kept = Kept { is_read: true, ..Kept::default() };
        tokio::spawn(read_on(Arc::clone(store)));
    }
    told
}

/// Reads what is new for as long as anybody follows.
async fn read_on(store: Arc<Served>) {
    let mut news = store.news();
    let mut known = None;
    loop {
        {
            let mut kept = store.feed.lock();
            if !store.feed.is_followed() {
                *kept = Kept::default();
                return;
            }
        }
        news.mark_unchanged();
        let is_more = match look(&store, known).await {
            Ok(seen) => {
                let is_more = seen.is_more;
                known = Some(seen.known);
                is_more
            }
            Err(why) => {
                known = None;
                store.feed.end_turn(why);
                false
            }
        };
        if is_more {
            continue;
        }
        sleep(LINGER).await;
        let _ = timeout(store.look_after(), news.changed()).await;
    }
}

/// The last event that was read, by number and time.
type Known = (i64, Option<Timestamp>);

struct Seen {
    known: Known,
    is_more: bool,
}

/// Reads what comes after what is known; at first only where the log ends.
async fn look(store: &Arc<Served>, known: Option<Known>) -> Result<Seen> {
    let Some((last, at)) = known else {
        let end = store.dispatch.ask(|_, tx| log_end(tx)).await?;
        store.feed.lock().start = Some(end);
        store.feed.tip.send_modify(|_| {});
        return Ok(Seen { known: (end, None), is_more: true });
    };
    // With the last that is known, to know it again.
    let page = store.dispatch.ask(move |_, tx| log_page(tx, &Filter::default(), (last - 1).max(0), PAGE)).await?;
    if page.end < last {
        return Err(replaced(page.end, last));
    }
    let mut entries = page.events;
    let mut at = at;
    if let Some(first) = entries.first().filter(|first| first.id == last) {
        if at.is_some_and(|at| at != first.created_at) {
            return Err(replaced(page.end, last));
        }
        at = Some(first.created_at);
        entries.remove(0);
    }
    let Some(newest) = entries.last() else {
        return Ok(Seen { known: (last, at), is_more: false });
    };
    let known = (newest.id, Some(newest.created_at));
    let is_more = newest.id < page.end;
    store.feed.add(Piece::of(entries)?);
    Ok(Seen { known, is_more })
}

/// What is said to whoever knows more of a log than there is.
pub(super) fn replaced(end: i64, after: i64) -> Error {
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
    fn a_piece_gives_what_comes_after_and_is_wanted() {
        let entries = (5..10).map(|id| entry(id, if id % 2 == 0 { "even" } else { "odd" }, 1)).collect();
        let piece = Piece::of(entries).expect("a piece");
        assert_eq!(ids(&piece.wanted(0, &Filter::default())), [5, 6, 7, 8, 9]);
        assert_eq!(ids(&piece.wanted(7, &Filter::default())), [8, 9]);
        assert!(piece.wanted(9, &Filter::default()).is_empty());
        let even = Filter { subject: Some(pensa_core::event::filter::Subject::Id("even".into())), ..Filter::default() };
        assert_eq!(ids(&piece.wanted(4, &even)), [6, 8]);
        assert_eq!(ids(&piece.wanted(6, &even)), [8]);
    }

    #[test]
    fn whoever_is_near_the_end_takes_each_event_once_and_others_are_behind() {
        let feed = feed_from(10);
        for from in [10, 13, 16] {
            feed.add(Piece::of((from + 1..=from + 3).map(|id| entry(id, "a", 1)).collect()).expect("a piece"));
        }
        assert!(matches!(feed.place(9), Place::Behind));
        for start in 10..=19 {
            let (mut after, mut got) = (start, Vec::new());
            while let Place::At(piece) = feed.place(after) {
                got.extend(ids(&piece.wanted(after, &Filter::default())));
                after = piece.last();
            }
            assert_eq!(got, (start + 1..=19).collect::<Vec<_>>(), "after {start}");
        }
        assert!(matches!(feed.place(19), Place::End));
        assert!(matches!(feed.place(20), Place::Beyond), "this may be the place in another log");
        assert!(matches!(feed_from(2).place(2), Place::End));
        assert!(matches!(feed_from(2).place(3), Place::Beyond));
    }

    #[test]
    fn what_was_kept_of_an_issue_is_forgotten_when_it_is_deleted() {
        let feed = feed_from(0);
        for id in 1..=3 {
            feed.add(Piece::of(vec![entry(id, "a", 1)]).expect("a piece"));
        }
        let deletion = LogEntry { subject_kind: "issue".into(), event_type: "deleted".into(), ..entry(4, "a", 1) };
        feed.add(Piece::of(vec![deletion]).expect("a piece"));
        for behind in 0..3 {
            assert!(matches!(feed.place(behind), Place::Behind), "after {behind}");
        }
        assert!(matches!(feed.place(3), Place::At(_)), "whoever has the rest takes the deletion");
        assert!(matches!(feed.place(4), Place::End));
        let kept = feed.lock();
        assert_eq!(kept.weight, kept.pieces.iter().map(|piece| piece.weight()).sum::<usize>());
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_newest_is_always_there() {
        let feed = feed_from(0);
        for id in 1..=100 {
            feed.add(Piece::of(vec![entry(id, "a", MAX_KEPT / 10)]).expect("a piece"));
            assert!(feed.lock().weight <= MAX_KEPT);
            assert!(matches!(feed.place(id - 1), Place::At(_)));
        }
        assert!(matches!(feed.place(50), Place::Behind));
        feed.add(Piece::of(vec![entry(101, "a", 2 * MAX_KEPT)]).expect("a piece"));
        assert_eq!(feed.lock().pieces.len(), 1);
        assert!(matches!(feed.place(100), Place::At(_)));
    }
}
