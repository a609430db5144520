//! `pn cost`: prints what tokens cost, by the prices in the settings.

use pensa_core::Result;
use pensa_core::ops::cost::{Cost, CostGroup, CostReport, CostRow};
use pensa_core::session::Spent;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;
use crate::render::{Render, Screen, fit_line, shorten};

pub(super) fn run(options: &GlobalOptions, output: Output, op: &Cost) -> Result<()> {
    let mut report = with_progress(output, || connect::client_for_agents(options)?.call(op))?;
    let config = connect::config(options)?;
    if config.has_prices() {
        let prices = config.prices()?;
        report.rows.iter_mut().for_each(|row| row.spent.set_prices(&prices));
        report.total.set_prices(&prices);
        report.unpriced = report.total.unpriced(&prices).map(str::to_owned).collect();
    }
    output.answer(&report)?;
    if !report.unpriced.is_empty() {
        let models = report.unpriced.join(", ");
        output.note(&format!("note: no prices for {models}; set prices.MODEL.input and prices.MODEL.output"));
    }
    Ok(())
}

/// A number of tokens as people read it.
fn tokens(count: i64) -> String {
    match count {
        1_000_000.. => format!("{:.1}M", count as f64 / 1e6),
        10_000.. => format!("{:.0}k", count as f64 / 1e3),
        _ => count.to_string(),
    }
}

/// The width of the columns of tokens, and of the cost.
const TOKENS_WIDTH: usize = 8;
const COST_WIDTH: usize = 10;

fn line(spent: &Spent, screen: &mut Screen) {
    let cost = spent.cost_usd.map_or_else(|| "?".to_owned(), |cost| format!("${cost:.4}"));
    screen.plain(&format!("{cost:>COST_WIDTH$}"));
    for count in [spent.input, spent.output, spent.cache_read, spent.cache_write] {
        screen.plain(&format!(" {:>TOKENS_WIDTH$}", tokens(count)));
    }
    screen.plain("  ");
}

impl Render for CostReport {
    fn render(&self, screen: &mut Screen) {
        let [input, output, read, write] = ["input", "output", "read", "written"];
        let head = format!("{:>COST_WIDTH$} {input:>TOKENS_WIDTH$} {output:>TOKENS_WIDTH$}", "cost");
        screen.faint(&format!("{head} {read:>TOKENS_WIDTH$} {write:>TOKENS_WIDTH$}  {}", self.by)).end();
        for CostRow { key, title, spent } in &self.rows {
            line(spent, screen);
            match key {
                Some(key) if matches!(self.by, CostGroup::Model | CostGroup::Day) => screen.text(key),
                Some(key) => screen.id(key),
                None => screen.faint("none"),
            };
            if let Some(title) = title {
                let taken = COST_WIDTH + 4 * (TOKENS_WIDTH + 1) + key.as_ref().map_or(0, String::len) + 3;
                screen.plain(" ").text(&fit_line(&shorten(title), taken));
            }
            screen.end();
        }
        if self.rows.len() != 1 {
            line(&self.total, screen);
            screen.plain("total").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.rows.iter().filter_map(|row| row.key.clone()).collect()
    }
}
