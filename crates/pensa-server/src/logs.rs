//! Writes structured logs to standard error, one JSON object per line, without ever blocking a request.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, HeaderName};
use pensa_core::{Timestamp, json};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{self as output, FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use uuid::Uuid;

/// Maximum queued lines; further lines are dropped and counted.
const QUEUE: usize = 4096;
/// Maximum bytes of one text in a line. Together with the queue length this bounds the memory of the logs.
const MAX_TEXT: usize = 1024;
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Maximum length of a client's request id.
const MAX_REQUEST_ID: usize = 128;

/// The log of this process. Dropping it flushes the queue.
#[derive(Debug)]
pub(crate) struct Log {
    dropped: ErrorCounter,
    _writing: WorkerGuard,
}

impl Log {
    /// Starts logging to standard error. If the process already has a log, that one stays in use.
    pub(crate) fn start(level: LevelFilter) -> Self {
        // Flushed whenever the queue is empty.
        let (lines, writing) = queue(BufWriter::new(io::stderr()));
        let dropped = lines.error_counter();
        let _ = tracing::subscriber::set_global_default(subscriber(level, lines));
        Self { dropped, _writing: writing }
    }

    /// Counts the dropped lines.
    pub(crate) fn dropped(&self) -> ErrorCounter {
        self.dropped.clone()
    }
}

/// A writer that queues lines for a thread, and drops them when the queue is full.
fn queue(to: impl Write + Send + Sync + 'static) -> (NonBlocking, WorkerGuard) {
    NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUE).thread_name("pensa-log").finish(to)
}

/// Logs only this crate's own events, not those of its dependencies.
pub(crate) fn subscriber<W>(level: LevelFilter, to: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let own = Targets::new().with_target(env!("CARGO_CRATE_NAME"), level);
    tracing_subscriber::registry().with(own).with(output::layer().event_format(JsonLine).with_writer(to))
}

/// Formats a flat object. The stock JSON format neither escapes bidirectional controls nor limits text.
struct JsonLine;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        let mut line = LogFields(Map::from_iter([("at".into(), now()), ("level".into(), level.into())]));
        event.record(&mut line);
        writeln!(to, "{}", json::to_line(&line.0).map_err(|_| fmt::Error)?)
    }
}

/// The current time; null if Pensa's timestamps cannot represent it.
fn now() -> Value {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    millis.and_then(|millis| Timestamp::from_millis(millis).ok()).map_or(Value::Null, |at| at.to_string().into())
}

struct LogFields(Map<String, Value>);

impl LogFields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for LogFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_str(&mut self, field: &Field, text: &str) {
        let end = text.floor_char_boundary(MAX_TEXT);
        let more = if end < text.len() { "…" } else { "" };
        self.put(field, format!("{}{more}", &text[..end]));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// The id of a request in the logs of client and server: the client's, if it is well-formed, else a new one.
pub(crate) fn request_id(headers: &HeaderMap) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._:-".contains(&b);
    let fit = |id: &&str| (1..=MAX_REQUEST_ID).contains(&id.len()) && id.bytes().all(plain);
    let from_client = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok()).filter(fit);
    from_client.map_or_else(|| Uuid::new_v4().simple().to_string(), str::to_owned)
}

/// Collects log output.
#[cfg(test)]
#[derive(Debug, Clone, Default)]
pub(crate) struct LogBuffer(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

#[cfg(test)]
impl LogBuffer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("not poisoned").clone()).expect("UTF-8")
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

#[cfg(test)]
impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
impl MakeWriter<'_> for LogBuffer {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use pensa_core::text::is_unsafe_to_print;
    use serde_json::json;
    use std::sync::{Mutex, mpsc};
    use tracing::{error, info, subscriber::with_default};

    /// What is logged by `act` at this level.
    fn written(level: LevelFilter, act: impl FnOnce()) -> LogBuffer {
        let page = LogBuffer::default();
        with_default(subscriber(level, page.clone()), act);
        page
    }

    #[test]
    fn line_has_time_level_message_and_fields_in_order() {
        let (unknown, known): (Option<&str>, _) = (None, Some("web"));
        let act = || info!(z = 201u16, a = 1.234, unknown, known, shown = %'x', "request");
        let text = written(LevelFilter::INFO, act).text();
        let (at, rest) = text.strip_prefix("{\"at\":\"").and_then(|rest| rest.split_once('"')).expect(&text);
        assert_eq!(at.parse::<Timestamp>().expect("a time").to_string(), at);
        let fields = r#""z":201,"a":1.234,"known":"web","shown":"x""#;
        assert_eq!(rest, format!(",\"level\":\"info\",\"message\":\"request\",{fields}}}\n"));
    }

    #[test]
    fn only_own_events_at_the_chosen_level_are_logged() {
        let act = || {
            info!("info");
            error!("error");
            error!(target: "hyper", "a library's own");
        };
        let messages = |level| -> Vec<Value> {
            written(level, act).lines().into_iter().map(|mut line| line["message"].take()).collect()
        };
        assert_eq!(messages(LevelFilter::INFO), ["info", "error"]);
        assert_eq!(messages(LevelFilter::ERROR), ["error"]);
        assert!(messages(LevelFilter::OFF).is_empty());
    }

    #[test]
    fn hostile_text_is_escaped_to_one_line() {
        let hostile = "a\nb\r\u{1b}[31m\u{9b}0m\u{202E}\u{7f}\u{2028}\"\\\0";
        let page = written(LevelFilter::INFO, || info!(path = hostile, shown = %hostile, "{hostile}"));
        assert!(!page.text().trim_end().contains(is_unsafe_to_print), "{}", page.text());
        let line = &page.lines()[0];
        assert!(["path", "shown", "message"].iter().all(|name| line[name] == hostile), "{line}");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let long = "é".repeat(MAX_TEXT);
        let page = written(LevelFilter::INFO, || info!(path = long, "{long}"));
        let cut = format!("{}…", "é".repeat(MAX_TEXT / 2));
        assert_eq!((&page.lines()[0]["path"], &page.lines()[0]["message"]), (&json!(cut), &json!(cut)));
    }

    /// Blocks until released.
    struct StuckWriter(Mutex<mpsc::Receiver<()>>);

    impl Write for StuckWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.lock().expect("not poisoned").recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn slow_reader_does_not_block_and_dropped_lines_are_counted() {
        let (release, released) = mpsc::channel();
        let (lines, _writing) = queue(StuckWriter(Mutex::new(released)));
        let dropped = lines.error_counter();
        with_default(subscriber(LevelFilter::INFO, lines), || (0..QUEUE + 10).for_each(|at| info!(at, "line")));
        // The writer thread may have taken one line already.
        assert!((9..=10).contains(&dropped.dropped_lines()), "{}", dropped.dropped_lines());
        drop(release);
    }

    #[test]
    fn only_a_well_formed_request_id_is_accepted() {
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
