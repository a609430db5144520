//! Counts what the server does, and writes the counts as Prometheus reads them.
//!
//! Who may read them, and under which path, is left to the service.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pensa_core::VERSION;

/// The media type of [`Metrics::render`].
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const REQUESTS: &str = "pensa_http_requests_total";
const DURATION: &str = "pensa_http_request_duration_seconds";

/// Upper ends of the histogram's buckets, in microseconds; the last bucket has none.
const BOUNDS: [u64; 14] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000,
];

/// All counts of a server; clones count together.
#[derive(Debug, Clone)]
pub(crate) struct Metrics(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    /// By name. Names are part of the program, so there are only so many.
    operations: RwLock<BTreeMap<&'static str, Operation>>,
    connections: AtomicU64,
    in_flight: AtomicU64,
    rate_limited: AtomicU64,
    unauthorized: AtomicU64,
    started: SystemTime,
}

/// A number that somebody else keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gauge {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) value: f64,
}

impl Metrics {
    /// Starts counting. Made when the server starts: it tells this moment as the start of the process.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Counts {
            operations: RwLock::default(),
            connections: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            rate_limited: AtomicU64::new(0),
            unauthorized: AtomicU64::new(0),
            started: SystemTime::now(),
        }))
    }

    /// Counts a request that was answered.
    pub(crate) fn observe(&self, operation: &'static str, method: &'static str, status: u16, took: Duration) {
        let known = self.0.operations.read().unwrap_or_else(PoisonError::into_inner);
        if known.get(operation).is_some_and(|known| known.observe(method, status, took)) {
            return;
        }
        drop(known);
        let mut known = self.0.operations.write().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(operation).or_default();
        known.answers.entry((method, status)).or_default();
        known.observe(method, status, took);
    }

    /// Counts a connection for as long as the answer lives.
    pub(crate) fn connection(&self) -> Held {
        Held::new(self, |counts| &counts.connections)
    }

    /// Counts a request as in flight for as long as the answer lives.
    pub(crate) fn in_flight(&self) -> Held {
        Held::new(self, |counts| &counts.in_flight)
    }

    pub(crate) fn rate_limited(&self) {
        self.0.rate_limited.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn unauthorized(&self) {
        self.0.unauthorized.fetch_add(1, Ordering::Relaxed);
    }

    /// Everything, and `extra`, in the text format of Prometheus. Each name in `extra` is a family of its own.
    pub(crate) fn render(&self, extra: &[Gauge]) -> String {
        let (mut page, counts) = (Page::default(), &*self.0);
        counts.render_operations(&mut page);
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let gauge = Kind::Gauge;
        page.single("pensa_http_connections", gauge, "Open connections.", count(&counts.connections));
        page.single("pensa_http_requests_in_flight", gauge, "Requests not yet answered.", count(&counts.in_flight));
        let (limited, denied) = (count(&counts.rate_limited), count(&counts.unauthorized));
        page.single("pensa_http_rate_limited_total", Kind::Counter, "Requests refused as too many.", limited);
        page.single("pensa_http_unauthorized_total", Kind::Counter, "Requests without a valid token.", denied);
        page.family("pensa_build_info", gauge, "The version of this server.");
        page.sample("pensa_build_info", &[("version", &VERSION)], 1);
        let started = counts.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        page.single("process_start_time_seconds", gauge, "When the server started, in Unix time.", Number(started));
        for Gauge { name, help, value } in extra {
            page.single(name, gauge, help, Number(*value));
        }
        page.0
    }
}

impl Counts {
    fn render_operations(&self, page: &mut Page) {
        let operations = self.operations.read().unwrap_or_else(PoisonError::into_inner);
        page.family(REQUESTS, Kind::Counter, "Requests answered.");
        for (name, operation) in &*operations {
            for ((method, status), count) in &operation.answers {
                let labels: [(&str, &dyn Display); 3] = [("operation", name), ("method", method), ("status", status)];
                page.sample(REQUESTS, &labels, count.load(Ordering::Relaxed));
            }
        }
        page.family(DURATION, Kind::Histogram, "Time from the head of a request to its answer.");
        for (name, operation) in &*operations {
            operation.took.render(page, name);
        }
    }
}

/// One more connection or request, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    metrics: Metrics,
    which: fn(&Counts) -> &AtomicU64,
}

impl Held {
    fn new(metrics: &Metrics, which: fn(&Counts) -> &AtomicU64) -> Self {
        which(&metrics.0).fetch_add(1, Ordering::Relaxed);
        Self { metrics: metrics.clone(), which }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        (self.which)(&self.metrics.0).fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Operation {
    answers: BTreeMap<(&'static str, u16), AtomicU64>,
    took: Histogram,
}

impl Operation {
    /// Whether there is a place to count such an answer; it is counted if so.
    fn observe(&self, method: &'static str, status: u16, took: Duration) -> bool {
        let Some(count) = self.answers.get(&(method, status)) else {
            return false;
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.took.observe(took);
        true
    }
}

#[derive(Debug, Default)]
struct Histogram {
    /// Each observation is counted once here; Prometheus wants each bucket to include those below.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    sum_nanos: AtomicU64,
}

impl Histogram {
    fn observe(&self, took: Duration) {
        let bucket = BOUNDS.partition_point(|bound| Duration::from_micros(*bound) < took);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn render(&self, page: &mut Page, operation: &str) {
        let mut count = 0;
        let bounds = BOUNDS.iter().map(|bound| *bound as f64 / 1e6).chain([f64::INFINITY]);
        for (bucket, bound) in self.buckets.iter().zip(bounds) {
            count += bucket.load(Ordering::Relaxed);
            let labels: [(&str, &dyn Display); 2] = [("operation", &operation), ("le", &Number(bound))];
            page.sample(&format!("{DURATION}_bucket"), &labels, count);
        }
        let sum = Duration::from_nanos(self.sum_nanos.load(Ordering::Relaxed)).as_secs_f64();
        page.sample(&format!("{DURATION}_sum"), &[("operation", &operation)], Number(sum));
        page.sample(&format!("{DURATION}_count"), &[("operation", &operation)], count);
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A number as Prometheus spells it.
struct Number(f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            f64::INFINITY => f.write_str("+Inf"),
            f64::NEG_INFINITY => f.write_str("-Inf"),
            number => write!(f, "{number}"),
        }
    }
}

/// The text, as far as it is written. Writing to a string cannot fail, so its results say nothing.
#[derive(Debug, Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let help = help.replace('\\', r"\\").replace('\n', r"\n");
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.to_string().replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if at == 0 { '{' } else { ',' });
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// A family of one sample without labels.
    fn single(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::thread;

    /// The samples of a text, by name and labels as they are written; whatever is not as the format wants it fails.
    fn parse(text: &str) -> HashMap<String, f64> {
        assert!(text.ends_with('\n'), "no end of line");
        let (mut kinds, mut samples) = (HashMap::<&str, &str>::new(), HashMap::new());
        let mut family = ("", "");
        let mut helped = "";
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                helped = help.split_once(' ').expect(line).0;
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                family = kind.split_once(' ').expect(line);
                assert!(["counter", "gauge", "histogram"].contains(&family.1), "{line}");
                assert_eq!(family.0, helped, "help and type of a family stand together");
                assert!(kinds.insert(family.0, family.1).is_none(), "{line}: twice");
            } else {
                let (series, value) = line.rsplit_once(' ').expect(line);
                check_series(series, family);
                let value = value.replace("Inf", "inf").parse().expect(line);
                assert!(samples.insert(series.to_owned(), value).is_none(), "{line}: twice");
            }
        }
        samples
    }

    fn check_series(series: &str, (family, kind): (&str, &str)) {
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let ending = name.strip_prefix(family).expect(series);
        let endings: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        assert!(endings.contains(&ending), "{series} in {family}");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{series}");
        let mut rest = labels;
        while rest != "}" {
            let (label, text) = rest.split_once("=\"").expect(series);
            assert!(label.bytes().all(|b| b.is_ascii_lowercase()), "{series}");
            rest = text[closing_quote(text).expect(series) + 1..].trim_start_matches(',');
        }
    }

    fn closing_quote(text: &str) -> Option<usize> {
        let mut escaped = false;
        text.bytes().position(|b| {
            let closes = b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            closes
        })
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn requests_are_counted_by_operation_method_and_status() {
        let metrics = Metrics::new();
        for (operation, status) in [("issue.list", 200), ("issue.list", 200), ("issue.list", 404), ("issue.show", 200)]
        {
            metrics.observe(operation, "GET", status, millis(1));
        }
        let samples = parse(&metrics.render(&[]));
        let count = |operation, status| {
            samples[&format!("{REQUESTS}{{operation=\"{operation}\",method=\"GET\",status=\"{status}\"}}")]
        };
        assert_eq!((count("issue.list", 200), count("issue.list", 404), count("issue.show", 200)), (2.0, 1.0, 1.0));
    }

    #[test]
    fn a_bucket_holds_what_took_at_most_its_bound() {
        let metrics = Metrics::new();
        let took = [0, 500, 501, 10_000_000, 10_000_001, 60_000_000];
        for took in took {
            metrics.observe("op", "GET", 200, Duration::from_micros(took));
        }
        let samples = parse(&metrics.render(&[]));
        let bucket = |le: &str| samples[&format!("{DURATION}_bucket{{operation=\"op\",le=\"{le}\"}}")];
        let buckets = ["0.0005", "0.001", "5", "10", "+Inf"].map(bucket);
        assert_eq!(buckets, [2.0, 3.0, 3.0, 4.0, 6.0]);
        assert_eq!(samples[&format!("{DURATION}_count{{operation=\"op\"}}")], 6.0);
        let sum = samples[&format!("{DURATION}_sum{{operation=\"op\"}}")];
        assert!((sum - 80.001_002).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn connections_and_requests_count_while_they_live() {
        let metrics = Metrics::new();
        let held = (metrics.connection(), metrics.clone().connection(), metrics.in_flight());
        let now = |metrics: &Metrics| {
            let samples = parse(&metrics.render(&[]));
            (samples["pensa_http_connections"], samples["pensa_http_requests_in_flight"])
        };
        assert_eq!(now(&metrics), (2.0, 1.0));
        drop(held);
        assert_eq!(now(&metrics), (0.0, 0.0));
    }

    #[test]
    fn a_server_that_has_done_nothing_has_a_valid_page() {
        let metrics = Metrics::new();
        let samples = parse(&metrics.render(&[]));
        assert_eq!(samples["pensa_http_rate_limited_total"], 0.0);
        assert_eq!(samples[&format!("pensa_build_info{{version=\"{VERSION}\"}}")], 1.0);
        assert!(samples["process_start_time_seconds"] > 1e9);
        assert!(MEDIA_TYPE.starts_with("text/plain"));
    }

    #[test]
    fn refusals_and_numbers_of_others_are_told() {
        let metrics = Metrics::new();
        metrics.rate_limited();
        (0..2).for_each(|_| metrics.unauthorized());
        let gauge = |name, value| Gauge { name, help: "two\nlines and a \\", value };
        let text = metrics.render(&[gauge("pool_size", 12.0), gauge("pool_wait", 0.25), gauge("far", f64::INFINITY)]);
        let samples = parse(&text);
        let told = ["pensa_http_rate_limited_total", "pensa_http_unauthorized_total", "pool_size", "pool_wait", "far"]
            .map(|name| samples[name]);
        assert_eq!(told, [1.0, 2.0, 12.0, 0.25, f64::INFINITY]);
        assert!(text.contains("# HELP pool_size two\\nlines and a \\\\\n"), "{text}");
    }

    #[test]
    fn labels_are_escaped() {
        let metrics = Metrics::new();
        metrics.observe("a\"b\\c\nd} 1", "GET", 200, millis(1));
        let text = metrics.render(&[]);
        parse(&text);
        assert!(text.contains(r#"operation="a\"b\\c\nd} 1""#), "{text}");
    }

    #[test]
    fn nothing_is_lost_when_many_count_at_once() {
        let metrics = Metrics::new();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..1000).for_each(|at| metrics.observe("op", "GET", 200 + at % 7, millis(3))));
            }
        });
        let samples = parse(&metrics.render(&[]));
        let requests: f64 = samples.iter().filter(|(name, _)| name.starts_with(REQUESTS)).map(|(_, n)| n).sum();
        assert_eq!((requests, samples[&format!("{DURATION}_count{{operation=\"op\"}}")]), (8000.0, 8000.0));
    }
}
