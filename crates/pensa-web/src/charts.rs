//! Renders charts over days, each with its numbers as a table.

use maud::{Markup, html};
use pensa_core::Result;
use pensa_core::ops::cost::CostReport;
use pensa_core::triage::chart::Chart;

use crate::layout::Frame;
use crate::svg::chart::{ChartKind, Series};

/// Periods to choose from, in days.
pub const PERIODS: [u32; 5] = [14, 30, 90, 180, 365];

/// What the charts show.
#[derive(Debug, Clone)]
pub struct ChartsContent {
    pub days: u32,
    pub chart: Chart,
    /// By day, where it is known
    pub cost: Option<CostReport>,
}

/// The body of the page.
pub fn page(frame: &Frame, content: &ChartsContent) -> Result<Markup> {
    let issues = ChartKind::ALL.map(|kind| Series::of(kind, &content.chart));
    // Where nothing was spent, a chart of it says nothing.
    let cost = content.cost.iter().filter(|report| report.total.cost_usd.is_some_and(|spent| spent > 0.0));
    let cost = cost.map(|report| Series::of_cost(report, &content.chart));
    let figures = issues.into_iter().chain(cost).map(|series| series.figure()).collect::<Result<Vec<_>>>()?;
    Ok(html! {
        div.bar {
            h1 { "Charts" }
            @if frame.is_served() { (periods(frame, content.days)) }
        }
        div.charts { @for figure in figures { (figure) } }
    })
}

fn periods(frame: &Frame, days: u32) -> Markup {
    html! {
        form.filter method="get" action=(frame.ui("charts")) {
            label { "Last"
                select name="days" {
                    @for period in PERIODS { option value=(period) selected[period == days] { (period) " days" } }
                }
            }
            button { "Show" }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::frame;

    fn content(cost: f64) -> ChartsContent {
        let day = |day: &str| json!({"day": day, "open": 2, "in_progress": 1, "closed": 1, "created": 1, "done": 1});
        let at = "2026-02-27T14:00:00.000Z";
        let spent =
            json!({"key": "2026-02-26", "input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "cost_usd": cost});
        ChartsContent {
            days: 30,
            chart: serde_json::from_value(json!({"since": at, "until": at, "days": [day("2026-02-26"), day("2026-02-27")],
                "closed": [{"id": "pn-1", "started_at": at, "closed_at": at, "took_ms": 3_600_000}], "median_ms": 3_600_000,
                "p85_ms": 3_600_000})).expect("a chart"),
            cost: Some(serde_json::from_value(json!({"by": "day", "rows": [spent], "total": spent, "unpriced": [],
                "prices_of": "2026-01-15"})).expect("a report")),
        }
    }

    #[test]
    fn charts_have_tables_and_cost_only_if_there_is_any() {
        let html = page(&frame(), &content(2.5)).expect("drawn").into_string();
        for part in [
            "Burndown: 3 left",
            "Flow",
            "Cycle time: half within 1.0 h",
            "Throughput: 2 closed",
            "Cost: $2.50 in 2 days",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert_eq!((html.matches("<svg").count(), html.matches("<table>").count()), (5, 5));
        assert_eq!(page(&frame(), &content(0.0)).expect("drawn").into_string().matches("<svg").count(), 4);
        assert!(html.contains("value=\"30\" selected"));
    }
}
