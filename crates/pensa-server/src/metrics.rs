//! Counts requests, connections and errors in Prometheus metrics.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pensa_core::VERSION;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// Content type of [`Metrics::render`].
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the histogram's buckets, in seconds.
const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The metrics of a server; clones share their counters.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    requests: Family<ResponseLabels, Counter>,
    duration: Family<OperationLabels, Histogram, fn() -> Histogram>,
    connections: Gauge,
    in_flight: Gauge,
    pub(crate) rate_limited: Counter,
    pub(crate) unauthorized: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    operation: &'static str,
    method: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
}

impl Metrics {
    /// Creates the registry and records the current time as the process start. `state` adds metrics read on demand.
    pub(crate) fn new(state: impl Collector) -> Self {
        let mut registry = Registry::default();
        let requests = Family::default();
        registry.register("pensa_http_requests", "Requests answered", requests.clone());
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let duration = Family::new_with_constructor(histogram);
        let help = "Time from the head of a request to its answer";
        registry.register("pensa_http_request_duration_seconds", help, duration.clone());
        let connections = Gauge::default();
        registry.register("pensa_http_connections", "Open connections", connections.clone());
        let in_flight = Gauge::default();
        registry.register("pensa_http_requests_in_flight", "Requests not yet answered", in_flight.clone());
        let rate_limited = Counter::default();
        registry.register("pensa_http_rate_limited", "Requests refused as too many", rate_limited.clone());
        let unauthorized = Counter::default();
        registry.register("pensa_http_unauthorized", "Requests without a valid token", unauthorized.clone());
        registry.register("pensa_build", "The version of this server", Info::new([("version", VERSION)]));
        let started = Gauge::<f64, AtomicU64>::default();
        started.set(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
        registry.register("process_start_time_seconds", "When the server started, in Unix time", started);
        registry.register_collector(Box::new(state));
        Self { registry: Arc::new(registry), requests, duration, connections, in_flight, rate_limited, unauthorized }
    }

    /// Counts an answered request.
    pub(crate) fn observe(&self, operation: &'static str, method: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&ResponseLabels { operation, method, status }).inc();
        self.duration.get_or_create(&OperationLabels { operation }).observe(took.as_secs_f64());
    }

    /// Counts a connection until the guard is dropped.
    pub(crate) fn connection(&self) -> GaugeGuard {
        GaugeGuard::new(&self.connections)
    }

    /// Counts a request in flight until the guard is dropped.
    pub(crate) fn in_flight(&self) -> GaugeGuard {
        GaugeGuard::new(&self.in_flight)
    }

    /// All metrics in the OpenMetrics text format.
    pub(crate) fn render(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode(&mut page, &self.registry)?;
        Ok(page)
    }
}

/// Increments a gauge until it is dropped.
#[derive(Debug)]
pub(crate) struct GaugeGuard(Gauge);

impl GaugeGuard {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::DescriptorEncoder;

    #[derive(Debug)]
    struct Nothing;

    impl Collector for Nothing {
        fn encode(&self, _: DescriptorEncoder<'_>) -> fmt::Result {
            Ok(())
        }
    }

    fn shows(metrics: &Metrics, sample: &str) -> bool {
        metrics.render().expect("a page").lines().any(|line| line == sample)
    }

    #[test]
    fn requests_are_counted_by_operation_method_and_status() {
        let metrics = Metrics::new(Nothing);
        for (operation, status) in [("issue.list", 200), ("issue.list", 200), ("issue.list", 404), ("issue.show", 200)]
        {
            metrics.observe(operation, "GET", status, Duration::from_millis(1));
        }
        for (operation, status, count) in [("issue.list", 200, 2), ("issue.list", 404, 1), ("issue.show", 200, 1)] {
            let labels = format!("{{operation=\"{operation}\",method=\"GET\",status=\"{status}\"}}");
            assert!(shows(&metrics, &format!("pensa_http_requests_total{labels} {count}")), "{labels}");
        }
    }

    #[test]
    fn bucket_counts_durations_up_to_its_bound() {
        let metrics = Metrics::new(Nothing);
        for took in [0, 500, 501, 10_000_000, 10_000_001, 60_000_000] {
            metrics.observe("op", "GET", 200, Duration::from_micros(took));
        }
        for (le, count) in [("0.0005", 2), ("0.001", 3), ("5.0", 3), ("10.0", 4), ("+Inf", 6)] {
            let labels = format!("{{le=\"{le}\",operation=\"op\"}}");
            assert!(shows(&metrics, &format!("pensa_http_request_duration_seconds_bucket{labels} {count}")), "{le}");
        }
    }

    #[test]
    fn connections_and_requests_are_counted_until_dropped() {
        let metrics = Metrics::new(Nothing);
        let held = (metrics.connection(), metrics.clone().connection(), metrics.in_flight());
        assert!(shows(&metrics, "pensa_http_connections 2") && shows(&metrics, "pensa_http_requests_in_flight 1"));
        drop(held);
        assert!(shows(&metrics, "pensa_http_connections 0") && shows(&metrics, "pensa_http_requests_in_flight 0"));
    }

    #[test]
    fn idle_server_reports_its_metrics() {
        let metrics = Metrics::new(Nothing);
        assert!(shows(&metrics, "pensa_http_rate_limited_total 0"));
        assert!(shows(&metrics, &format!("pensa_build_info{{version=\"{VERSION}\"}} 1")));
        assert!(shows(&metrics, "# EOF"));
    }
}
