//! Structured logs: one JSON object a line, to standard error, without ever making a request wait.
//!
//! What is worth a line is left to the callers; where the lines are kept, to whoever reads standard error.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, HeaderName};
use pensa_core::{Error, Result, Timestamp, json};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use uuid::Uuid;

/// Lines that wait for a slow reader; more are counted instead of kept.
const QUEUE: usize = 4096;
/// Most of one text in a line, in bytes. With the queue's length this bounds the memory of the logs.
const MAX_TEXT: usize = 1024;
/// How long a line waits for others to be written with it.
const GATHERING: Duration = Duration::from_millis(5);
/// Longest time that the last lines get to be written when the server stops.
const FLUSH_TIME: Duration = Duration::from_secs(2);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest request ID taken over from a client.
const MAX_REQUEST_ID: usize = 128;

/// How much is logged, and how grave a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Off,
    Error,
    Info,
}

/// One request, as its line tells it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) id: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) took: Duration,
    pub(crate) project: Option<&'a str>,
    /// The token's ID, never its secret.
    pub(crate) token: Option<&'a str>,
    pub(crate) actor: Option<&'a str>,
    /// The code of the error that was the answer.
    pub(crate) code: Option<&'a str>,
}

/// Takes lines; clones write to the same place. The last one to be dropped waits until the lines are written.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    level: Level,
    /// None if nothing is logged.
    queue: Option<Arc<Queue>>,
}

impl Log {
    /// A log that writes to standard error what is at least as grave as `level`.
    pub(crate) fn start(level: Level) -> Result<Self> {
        Self::to(level, io::stderr())
    }

    /// A log that writes nothing.
    pub(crate) fn off() -> Self {
        Self { level: Level::Off, queue: None }
    }

    /// A log that writes to `to`.
    pub(crate) fn to(level: Level, to: impl Write + Send + 'static) -> Result<Self> {
        match level {
            Level::Off => Ok(Self::off()),
            Level::Error | Level::Info => Ok(Self { level, queue: Some(Arc::new(Queue::start(to)?)) }),
        }
    }

    /// Tells of a request that was answered.
    pub(crate) fn request(&self, request: Request<'_>) {
        let level = if request.status >= 500 { Level::Error } else { Level::Info };
        self.line(level, "request", &request);
    }

    /// Tells of anything else. `fields` follow the message in their order.
    pub(crate) fn note(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        self.line(level, message, &Fields(fields));
    }

    fn line(&self, level: Level, message: &str, rest: &impl Serialize) {
        let wanted = level != Level::Off && level <= self.level;
        if let Some(queue) = self.queue.as_ref().filter(|_| wanted) {
            queue.put(level, message, rest);
        }
    }
}

/// The lines on their way to the thread that writes them.
#[derive(Debug)]
struct Queue {
    shared: Arc<Shared>,
    /// Disconnected when the thread has written everything.
    done: Mutex<Receiver<Infallible>>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Told when the first line comes, and when the log is closed.
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    text: String,
    lines: usize,
    /// Lines that there was no room for.
    lost: u64,
    closed: bool,
}

impl Queue {
    fn start(to: impl Write + Send + 'static) -> Result<Self> {
        let (running, done) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let queued = Arc::clone(&shared);
        let work = move || {
            queued.write_all(to);
            drop(running);
        };
        thread::Builder::new().name("pensa-log".into()).spawn(work).map_err(Error::internal)?;
        Ok(Self { shared, done: Mutex::new(done) })
    }

    fn put(&self, level: Level, message: &str, rest: &impl Serialize) {
        let line = line(level, message, rest);
        let mut waiting = self.shared.lock();
        match line {
            Ok(line) if waiting.lines < QUEUE => {
                waiting.text.push_str(&line);
                waiting.lines += 1;
                let is_first = waiting.lines == 1;
                drop(waiting);
                if is_first {
                    self.shared.arrived.notify_one();
                }
            }
            _ => waiting.lost += 1,
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.arrived.notify_one();
        // A reader that has stopped reading must not keep the server from ending.
        let _ = self.done.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(FLUSH_TIME);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines until there is nobody left to send any. A reader that went away is no reason to stop: there is
    /// nobody to tell.
    fn write_all(&self, mut to: impl Write) {
        loop {
            let waiting = self.arrived.wait_while(self.lock(), |waiting| waiting.lines == 0 && !waiting.closed);
            if !waiting.unwrap_or_else(PoisonError::into_inner).closed {
                // To be woken for every line would cost more than the line.
                thread::sleep(GATHERING);
            }
            let Waiting { mut text, lost, closed, .. } = {
                let mut waiting = self.lock();
                let closed = waiting.closed;
                std::mem::replace(&mut *waiting, Waiting { closed, ..Waiting::default() })
            };
            if lost > 0 {
                text.push_str(&line(Level::Error, "log lines lost", &Lost { lost }).unwrap_or_default());
            }
            let _ = to.write_all(text.as_bytes());
            if closed {
                let _ = to.flush();
                return;
            }
        }
    }
}

/// A whole line, with its end.
fn line(level: Level, message: &str, rest: &impl Serialize) -> Result<String> {
    let mut line = json::to_line(&Line { at: now(), level, message: clipped(message), rest })?;
    line.push('\n');
    Ok(line)
}

/// None if the clock shows a time that Pensa cannot write.
fn now() -> Option<Timestamp> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?).ok()
}

fn clipped(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(MAX_TEXT)]))
}

#[derive(Serialize)]
struct Line<'a, R> {
    at: Option<Timestamp>,
    level: Level,
    message: Cow<'a, str>,
    #[serde(flatten)]
    rest: &'a R,
}

#[derive(Serialize)]
struct Lost {
    lost: u64,
}

struct Fields<'a>(&'a [(&'a str, &'a str)]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, text)| (name, clipped(text))))
    }
}

impl Serialize for Request<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("request_id", &clipped(self.id))?;
        map.serialize_entry("method", &clipped(self.method))?;
        map.serialize_entry("path", &clipped(self.path))?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("took_ms", &(self.took.as_micros() as f64 / 1000.0))?;
        let known = [("project", self.project), ("token", self.token), ("actor", self.actor), ("code", self.code)];
        for (name, text) in known {
            if let Some(text) = text {
                map.serialize_entry(name, &clipped(text))?;
            }
        }
        map.end()
    }
}

/// The name under which a request is found in the logs of both sides: the client's, if it is fit for that.
pub(crate) fn request_id(headers: &HeaderMap) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._:-".contains(&b);
    let fit = |id: &&str| (1..=MAX_REQUEST_ID).contains(&id.len()) && id.bytes().all(plain);
    let theirs = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok()).filter(fit);
    theirs.map_or_else(|| Uuid::new_v4().simple().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use pensa_core::text::is_unsafe_to_print;
    use serde_json::Value;

    /// Keeps what is written to it.
    #[derive(Debug, Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Page {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("not poisoned").clone()).expect("UTF-8")
        }

        fn lines(&self) -> Vec<Value> {
            self.text().lines().map(|line| serde_json::from_str(line).expect(line)).collect()
        }
    }

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("not poisoned").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Says when it is written to, and then waits to be told that it may go on.
    struct Slow {
        page: Page,
        reached: mpsc::Sender<()>,
        go_on: Receiver<()>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.reached.send(());
            let _ = self.go_on.recv();
            self.page.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const REQUEST: Request<'_> = Request {
        id: "r-1",
        method: "POST",
        path: "/v1/issues",
        status: 201,
        took: Duration::from_nanos(1_234_567),
        project: None,
        token: None,
        actor: None,
        code: None,
    };

    /// What is written when `act` has used a log of this level.
    fn written(level: Level, act: impl FnOnce(&Log)) -> Page {
        let page = Page::default();
        let log = Log::to(level, page.clone()).expect("starts");
        act(&log);
        drop(log);
        page
    }

    #[test]
    fn a_request_is_one_line_with_its_fields_in_order() {
        let whole = Request { project: Some("p"), token: Some("t"), actor: Some("ann"), code: Some("busy"), ..REQUEST };
        let text = written(Level::Info, |log| log.request(whole)).text();
        let (at, rest) = text.strip_prefix("{\"at\":\"").and_then(|rest| rest.split_once('"')).expect(&text);
        assert_eq!(at.parse::<Timestamp>().expect("a time").to_string(), at);
        let wanted = concat!(
            r#","level":"info","message":"request","request_id":"r-1","method":"POST","path":"/v1/issues","#,
            r#""status":201,"took_ms":1.234,"project":"p","token":"t","actor":"ann","code":"busy"}"#,
            "\n"
        );
        assert_eq!(rest, wanted);
    }

    #[test]
    fn a_note_has_its_fields_after_the_message() {
        let text = written(Level::Info, |log| log.note(Level::Info, "serving", &[("z", "1"), ("a", "2")])).text();
        assert!(text.ends_with("\"level\":\"info\",\"message\":\"serving\",\"z\":\"1\",\"a\":\"2\"}\n"), "{text}");
    }

    #[test]
    fn only_what_is_grave_enough_is_written() {
        let act = |log: &Log| {
            log.request(REQUEST);
            log.request(Request { status: 499, ..REQUEST });
            log.request(Request { status: 500, ..REQUEST });
            log.note(Level::Info, "info", &[]);
            log.note(Level::Error, "error", &[]);
            log.note(Level::Off, "off", &[]);
        };
        let levels = |level| -> Vec<Value> {
            written(level, act).lines().into_iter().map(|mut line| line["level"].take()).collect()
        };
        assert_eq!(levels(Level::Info), ["info", "info", "error", "info", "error"]);
        assert_eq!(levels(Level::Error), ["error", "error"]);
        assert!(levels(Level::Off).is_empty());
    }

    #[test]
    fn hostile_text_is_one_harmless_line() {
        let hostile = "a\nb\r\u{1b}[31m\u{9b}0m\u{202E}\u{7f}\u{2028}\"\\\0";
        let request = Request { id: hostile, method: hostile, path: hostile, actor: Some(hostile), ..REQUEST };
        let page = written(Level::Info, |log| {
            log.request(request);
            log.note(Level::Info, hostile, &[(hostile, hostile)]);
        });
        let lines = page.lines();
        assert_eq!(lines.len(), 2);
        assert!(!page.text().chars().any(|c| c != '\n' && is_unsafe_to_print(c)), "{}", page.text());
        assert_eq!((&lines[0]["path"], &lines[1][hostile]), (&hostile.into(), &hostile.into()));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let long = "é".repeat(MAX_TEXT);
        let lines = written(Level::Info, |log| log.request(Request { path: &long, ..REQUEST })).lines();
        assert_eq!(lines[0]["path"], format!("{}…", "é".repeat(MAX_TEXT / 2)));
    }

    #[test]
    fn a_slow_reader_holds_nobody_up_and_is_told_what_it_missed() {
        let (page, (reached, wait), (release, go_on)) = (Page::default(), mpsc::channel(), mpsc::channel());
        let log = Log::to(Level::Info, Slow { page: page.clone(), reached, go_on }).expect("starts");
        log.request(REQUEST);
        wait.recv_timeout(Duration::from_secs(30)).expect("the first line is being written");
        for _ in 0..QUEUE + 7 {
            log.clone().request(REQUEST);
        }
        drop(release);
        drop(log);
        let lines = page.lines();
        let lost: Vec<&Value> = lines.iter().filter(|line| line["message"] == "log lines lost").collect();
        assert_eq!(lost.len(), 1);
        assert_eq!((&lost[0]["lost"], &lost[0]["level"]), (&7.into(), &"error".into()));
        assert_eq!(lines.len(), 1 + QUEUE + 1);
    }

    #[test]
    fn the_last_clone_writes_what_is_left() {
        let page = written(Level::Info, |log| {
            let other = log.clone();
            (0..1000).for_each(|_| other.request(REQUEST));
        });
        assert_eq!(page.lines().len(), 1000);
    }

    #[test]
    fn standard_error_and_nowhere_are_places_to_log_to() {
        Log::start(Level::Error).expect("starts").request(REQUEST);
        Log::off().note(Level::Error, "unheard", &[]);
    }

    #[test]
    fn only_a_plain_request_id_is_taken_over() {
        let longest = "x".repeat(MAX_REQUEST_ID);
        for good in ["a", "0aZ._:-", longest.as_str()] {
            assert_eq!(request_id(&with_id(good.as_bytes())), good);
        }
        let too_long = "x".repeat(MAX_REQUEST_ID + 1);
        for bad in ["", " ", "a b", "a\"b", "a/b", "é", too_long.as_str()] {
            let id = request_id(&with_id(bad.as_bytes()));
            assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{bad:?}: {id}");
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }

    fn with_id(id: &[u8]) -> HeaderMap {
        HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_bytes(id).expect("a header"))])
    }
}
