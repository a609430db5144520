//! Charts over days: numbers that lie on each other, as areas or as a table.

use clap::ValueEnum;
use maud::{Markup, PreEscaped, html};
use pensa_core::Result;
use pensa_core::ops::cost::CostReport;
use pensa_core::triage::chart::{Chart, Day};
use plotters::prelude::*;

use super::{Ink, document, failed};

/// What is drawn of the days of issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChartKind {
    /// Issues that are not closed
    Burndown,
    /// Open, in progress and closed issues on each other
    Flow,
    /// Issues closed each day
    Throughput,
    /// How long issues took from their first claim, by the day of their closing
    CycleTime,
}

impl ChartKind {
    pub const ALL: [Self; 4] = [Self::Burndown, Self::Flow, Self::CycleTime, Self::Throughput];

    /// Its word on the command line and in addresses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Burndown => "burndown",
            Self::Flow => "flow",
            Self::Throughput => "throughput",
            Self::CycleTime => "cycle-time",
        }
    }
}

/// Numbers for each day, that lie on each other, the lowest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub title: String,
    pub days: Vec<String>,
    pub layers: Vec<Layer>,
    /// What the numbers count.
    pub unit: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    pub name: &'static str,
    pub ink: Ink,
    pub values: Vec<f64>,
}

impl Series {
    pub fn of(kind: ChartKind, chart: &Chart) -> Self {
        let of = |value: fn(&Day) -> u32| chart.days.iter().map(|day| f64::from(value(day))).collect();
        let layer = |name, ink, values| Layer { name, ink, values };
        let open = layer("open", Ink::Open, of(|day| day.open));
        let doing = layer("in progress", Ink::Doing, of(|day| day.in_progress));
        let (title, unit, layers) = match kind {
            ChartKind::Burndown => {
                let left = chart.days.last().map_or(0, |day| day.open + day.in_progress);
                (format!("Burndown: {left} left"), "issues", vec![doing, open])
            }
            ChartKind::Flow => {
                let closed = layer("closed", Ink::Done, of(|day| day.closed));
                ("Flow".to_owned(), "issues", vec![closed, doing, open])
            }
            ChartKind::Throughput => {
                let done = chart.days.iter().map(|day| day.done).sum::<u32>();
                let title = format!("Throughput: {done} closed in {} days", chart.days.len());
                (title, "issues", vec![layer("closed", Ink::Done, of(|day| day.done))])
            }
            ChartKind::CycleTime => {
                let shown = |ms: Option<i64>| ms.map_or("-".to_owned(), |ms| format!("{:.1} h", hours(ms)));
                let title = format!(
                    "Cycle time: half within {}, 85 of 100 within {}",
                    shown(chart.median_ms),
                    shown(chart.p85_ms)
                );
                (title, "hours", vec![layer("median of the day", Ink::Done, medians(chart))])
            }
        };
        Self { title, days: chart.days.iter().map(|day| day.day.clone()).collect(), layers, unit }
    }

    /// What was spent on each day, from a report by day; days without any are added.
    pub fn of_cost(report: &CostReport, chart: &Chart) -> Self {
        let on = |day: &Day| {
            let row = report.rows.iter().find(|row| row.key.as_deref() == Some(&day.day));
            row.and_then(|row| row.spent.cost_usd).unwrap_or_default()
        };
        let values: Vec<f64> = chart.days.iter().map(on).collect();
        let title = format!("Cost: ${:.2} in {} days", values.iter().sum::<f64>(), chart.days.len());
        let layers = vec![Layer { name: "dollars", ink: Ink::Doing, values }];
        Self { title, days: chart.days.iter().map(|day| day.day.clone()).collect(), layers, unit: "dollars" }
    }

    pub fn highest(&self) -> f64 {
        let sum = |day: usize| self.layers.iter().map(|layer| layer.values[day]).sum::<f64>();
        (0..self.days.len()).map(sum).fold(0.0, f64::max)
    }

    /// The layers with, for each day, the sum up to them.
    fn stacked(&self) -> Vec<(&Layer, Vec<f64>)> {
        let mut sums = vec![0.0; self.days.len()];
        let stack = self.layers.iter().map(|layer| {
            sums.iter_mut().zip(&layer.values).for_each(|(sum, value)| *sum += value);
            (layer, sums.clone())
        });
        stack.collect()
    }

    pub fn as_svg(&self) -> Result<String> {
        document((720, 360), |area| {
            let mut builder = ChartBuilder::on(area);
            builder
                .caption(&self.title, ("sans-serif", 20))
                .margin(12)
                .margin_right(40)
                .x_label_area_size(36)
                .y_label_area_size(56);
            let highest = self.highest().max(1.0) * 1.05;
            let right = self.days.len().saturating_sub(1).max(1);
            let mut chart = builder.build_cartesian_2d(0..right, 0.0..highest).map_err(failed)?;
            let day = |at: &usize| self.days.get(*at).cloned().unwrap_or_default();
            let mut mesh = chart.configure_mesh();
            mesh.disable_x_mesh().max_light_lines(1).x_labels(6).y_labels(6);
            mesh.x_label_formatter(&day).y_label_formatter(&|value: &f64| number(*value)).y_desc(self.unit);
            mesh.draw().map_err(failed)?;
            // What lies on top is drawn first, and the rest over it.
            for (layer, sums) in self.stacked().into_iter().rev() {
                let colour = layer.ink.colour();
                let mut points: Vec<(usize, f64)> = sums.into_iter().enumerate().collect();
                if let [(_, only)] = points[..] {
                    points.push((1, only));
                }
                let series = AreaSeries::new(points, 0.0, colour).border_style(colour);
                let drawn = chart.draw_series(series).map_err(failed)?;
                drawn
                    .label(layer.name)
                    .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
            }
            let mut labels = chart.configure_series_labels();
            let border = Ink::Lines.colour();
            labels.background_style(WHITE.mix(0.8)).border_style(border).position(SeriesLabelPosition::UpperLeft);
            labels.draw().map_err(failed)
        })
    }

    /// The drawing with its numbers as a table, for pages.
    pub fn figure(&self) -> Result<Markup> {
        let drawing = self.as_svg()?;
        Ok(html! {
            figure.chart {
                div.drawing role="img" aria-label=(format!("{}, by day; the table below has the numbers", self.title)) tabindex="0" {
                    (PreEscaped(drawing))
                }
                details {
                    summary { "Numbers of “" (self.title) "”" }
                    (self.table())
                }
            }
        })
    }

    fn table(&self) -> Markup {
        html! {
            div.scrolls tabindex="0" role="region" aria-label=(self.title) {
                table {
                    thead { tr {
                        th scope="col" { "day" }
                        @for layer in &self.layers { th.number scope="col" { (layer.name) } }
                    } }
                    tbody {
                        @for (at, day) in self.days.iter().enumerate().rev() {
                            tr {
                                th scope="row" { (day) }
                                @for layer in &self.layers { td.number { (number(layer.values[at])) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// As short as it can be, with at most two decimals.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.2}") }
}

fn hours(ms: i64) -> f64 {
    ms as f64 / 3_600_000.0
}

/// How long the issues closed on each day took, in the middle.
fn medians(chart: &Chart) -> Vec<f64> {
    let of_day = |day: &str| {
        let of = chart.closed.iter().filter(|cycle| cycle.closed_at.to_string().starts_with(day));
        let mut took: Vec<i64> = of.map(|cycle| cycle.took_ms).collect();
        took.sort_unstable();
        took.get(took.len().saturating_sub(1) / 2).map_or(0.0, |ms| hours(*ms))
    };
    chart.days.iter().map(|day| of_day(&day.day)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(days: usize) -> Series {
        let values = |step: usize| (0..days).map(|day| (day * step % 7) as f64).collect();
        let layers = vec![
            Layer { name: "closed", ink: Ink::Done, values: values(2) },
            Layer { name: "open", ink: Ink::Open, values: values(3) },
        ];
        let days = (0..days).map(|day| format!("day {day}")).collect();
        Series { title: "Flow".into(), days, layers, unit: "issues" }
    }

    #[test]
    fn an_svg_has_its_title_and_the_names_of_its_layers() {
        for days in [1, 30] {
            let document = series(days).as_svg().expect("a document");
            assert!(document.starts_with("<svg") && document.trim_end().ends_with("</svg>"));
            assert!(["Flow", "closed", "open", "issues"].iter().all(|word| document.contains(word)), "{document}");
        }
    }

    #[test]
    fn a_figure_has_every_number_and_no_inline_style() {
        let figure = series(30).figure().expect("a figure").into_string();
        assert_eq!(figure.matches("<tr>").count(), 31);
        assert!(
            figure.contains("<th scope=\"row\">day 29</th><td class=\"number\">2</td><td class=\"number\">3</td>"),
            "{figure}"
        );
        assert!(!figure.contains("style=") && !figure.contains("<style"), "a strict policy would refuse it");
        assert!(figure.contains("role=\"img\" aria-label=\"Flow"));
    }

    #[test]
    fn a_chart_without_days_is_drawn() {
        assert!(series(0).figure().is_ok());
    }
}
