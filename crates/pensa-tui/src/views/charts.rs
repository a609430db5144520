//! Charts: how much is left, in progress and done day by day, and what it cost.

use std::collections::BTreeMap;
use std::time::Duration;

use pensa_core::Span;
use pensa_core::session::SessionSummary;
use pensa_core::triage::chart::Chart;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Sparkline, Widget};

use super::{TuiView, ViewContext};
use crate::keys::UserCommand;
use crate::rows::{Look, RowList, draw_line, piece};
use crate::store::{Answer, StoreQuery};
use crate::theme::Tone;

const SPANS: [i64; 4] = [14, 30, 90, 365];

#[derive(Debug)]
pub(crate) struct ChartsView {
    days: i64,
    chart: Option<(Box<Chart>, Vec<SessionSummary>)>,
}

impl Default for ChartsView {
    fn default() -> Self {
        Self { days: SPANS[1], chart: None }
    }
}

/// The numbers of one drawing, a day each, and what they say.
struct DailyNumbers {
    title: &'static str,
    says: String,
    tone: Tone,
    values: Vec<u64>,
}

impl ChartsView {
    fn numbers(chart: &Chart, sessions: &[SessionSummary]) -> Vec<DailyNumbers> {
        let of = |value: fn(&pensa_core::triage::chart::Day) -> u32| -> Vec<u64> {
            chart.days.iter().map(|day| value(day).into()).collect()
        };
        let last = chart.days.last().cloned().unwrap_or_default();
        let done: u32 = chart.days.iter().map(|day| day.done).sum();
        let created: u32 = chart.days.iter().map(|day| day.created).sum();
        let span =
            |millis: Option<i64>| millis.map_or("unknown".to_owned(), |millis| Span::from_millis(millis).to_string());
        let mut spent: BTreeMap<String, f64> = BTreeMap::new();
        for summary in sessions {
            let day = summary.session.created_at.to_string()[..10].to_owned();
            *spent.entry(day).or_default() += summary.cost_usd.unwrap_or_default();
        }
        let cents = |day: &str| spent.get(day).map_or(0, |dollars| (dollars * 100.0).round().max(0.0) as u64);
        let costs: Vec<u64> = chart.days.iter().map(|day| cents(&day.day)).collect();
        let total: u64 = costs.iter().sum();
        vec![
            DailyNumbers {
                title: "Burndown",
                says: format!("{} not closed now", last.open + last.in_progress),
                tone: Tone::Open,
                values: of(|day| day.open + day.in_progress),
            },
            DailyNumbers {
                title: "Flow",
                says: format!("{} in progress now, {created} came, {done} went", last.in_progress),
                tone: Tone::InProgress,
                values: of(|day| day.in_progress),
            },
            DailyNumbers {
                title: "Throughput",
                says: format!("{done} closed; half took at most {}, 85% {}", span(chart.median_ms), span(chart.p85_ms)),
                tone: Tone::Good,
                values: of(|day| day.done),
            },
            DailyNumbers {
                title: "Cost",
                says: format!("${}.{:02} in sessions that have prices", total / 100, total % 100),
                tone: Tone::High,
                values: costs,
            },
        ]
    }
}

/// As many numbers as there are columns: days side by side, or the largest of several.
fn stretched(values: &[u64], width: usize) -> Vec<u64> {
    if values.is_empty() || width == 0 {
        return Vec::new();
    }
    let day = |column: usize| column * values.len() / width;
    (0..width)
        .map(|column| {
            values[day(column)..day(column + 1).max(day(column) + 1)].iter().max().copied().unwrap_or_default()
        })
        .collect()
}

impl TuiView for ChartsView {
    fn query(&self) -> StoreQuery {
        StoreQuery::Chart { days: self.days }
    }

    fn take(&mut self, answer: Answer, _cx: &ViewContext) {
        if let Answer::Chart(chart, sessions) = answer {
            self.chart = Some((chart, sessions));
        }
    }

    fn summary(&self) -> String {
        format!("the last {} days; z: another span", self.days)
    }

    fn list(&self) -> Option<&RowList> {
        None
    }

    fn list_mut(&mut self) -> Option<&mut RowList> {
        None
    }

    fn draw(&self, buffer: &mut Buffer, area: Rect, look: &Look<'_>, _has_focus: bool) {
        let Some((chart, sessions)) = &self.chart else { return };
        let all = Self::numbers(chart, sessions);
        // A drawing needs a title and two lines at least.
        let fit = usize::from(area.height / 3).clamp(1, all.len());
        let places = Layout::vertical(vec![Constraint::Fill(1); fit]).split(area);
        for (numbers, place) in all.iter().zip(places.iter()) {
            let title = [piece(format!("{} ", numbers.title), Tone::Heading), piece(numbers.says.clone(), Tone::Faint)];
            draw_line(buffer, Rect { height: 1.min(place.height), ..*place }, &title, look);
            let below = Rect { y: place.y + 1, height: place.height.saturating_sub(2), ..*place };
            let most = numbers.values.iter().max().copied().unwrap_or_default();
            if below.is_empty() || most == 0 {
                continue;
            }
            let set = if look.is_ascii {
                ratatui::symbols::bar::Set {
                    full: "#",
                    seven_eighths: "#",
                    three_quarters: "#",
                    five_eighths: "#",
                    half: "#",
                    three_eighths: ".",
                    one_quarter: ".",
                    one_eighth: ".",
                    empty: " ",
                }
            } else {
                ratatui::symbols::bar::NINE_LEVELS
            };
            let line = Sparkline::default().data(stretched(&numbers.values, usize::from(below.width)));
            line.max(most).bar_set(set).style(look.style(numbers.tone)).render(below, buffer);
        }
    }

    fn command(&mut self, command: UserCommand, _cx: &ViewContext) -> Option<bool> {
        if command != UserCommand::Span {
            return None;
        }
        let at = SPANS.iter().position(|days| *days == self.days).unwrap_or_default();
        self.days = SPANS[(at + 1) % SPANS.len()];
        Some(true)
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(2)
    }
}
