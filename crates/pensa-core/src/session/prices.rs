//! What tokens cost: list prices of known models with their date, and the user's own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::usage::{ModelUsage, Tokens};

/// The day of the list prices.
pub const PRICES_DATE: &str = "2026-01-15";

/// Prices are per million tokens.
const MILLION: f64 = 1e6;

/// What a million tokens of a model cost, in dollars. Tokens of the cache cost as input unless there is a price.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Price {
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
}

/// List prices: input, output, cache read, cache write.
const LIST: &[(&str, [f64; 4])] = &[
    ("claude-3-haiku", [0.25, 1.25, 0.03, 0.3]),
    ("claude-3-opus", [15.0, 75.0, 1.5, 18.75]),
    ("claude-3-5-haiku", [0.8, 4.0, 0.08, 1.0]),
    ("claude-3-5-sonnet", [3.0, 15.0, 0.3, 3.75]),
    ("claude-3-7-sonnet", [3.0, 15.0, 0.3, 3.75]),
    ("claude-haiku-4-5", [1.0, 5.0, 0.1, 1.25]),
    ("claude-sonnet-4", [3.0, 15.0, 0.3, 3.75]),
    ("claude-sonnet-4-5", [3.0, 15.0, 0.3, 3.75]),
    ("claude-opus-4", [15.0, 75.0, 1.5, 18.75]),
    ("claude-opus-4-1", [15.0, 75.0, 1.5, 18.75]),
    ("claude-opus-4-5", [5.0, 25.0, 0.5, 6.25]),
    ("gpt-4o", [2.5, 10.0, 1.25, 2.5]),
    ("gpt-4o-mini", [0.15, 0.6, 0.075, 0.15]),
    ("gpt-4-1", [2.0, 8.0, 0.5, 2.0]),
    ("gpt-4-1-mini", [0.4, 1.6, 0.1, 0.4]),
    ("gpt-4-1-nano", [0.1, 0.4, 0.025, 0.1]),
    ("o3", [2.0, 8.0, 0.5, 2.0]),
    ("o4-mini", [1.1, 4.4, 0.275, 1.1]),
    ("codex-mini-latest", [1.5, 6.0, 0.375, 1.5]),
    ("gpt-5", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-codex", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-mini", [0.25, 2.0, 0.025, 0.25]),
    ("gpt-5-nano", [0.05, 0.4, 0.005, 0.05]),
    ("gpt-5-1", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-1-codex", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-1-codex-max", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-1-codex-mini", [0.25, 2.0, 0.025, 0.25]),
    ("gpt-5-2", [1.75, 14.0, 0.175, 1.75]),
    ("gpt-5-2-codex", [1.75, 14.0, 0.175, 1.75]),
    ("gemini-2-0-flash", [0.1, 0.4, 0.025, 0.1]),
    ("gemini-2-5-pro", [1.25, 10.0, 0.125, 1.25]),
    ("gemini-2-5-flash", [0.3, 2.5, 0.03, 0.3]),
    ("gemini-2-5-flash-lite", [0.1, 0.4, 0.01, 0.1]),
    ("gemini-3-pro", [2.0, 12.0, 0.2, 2.0]),
    ("gemini-3-flash", [0.5, 3.0, 0.05, 0.5]),
];

/// The prices of models: the user's own, else the list prices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    own: BTreeMap<String, Price>,
}

impl Prices {
    /// The user's price of a model, to be set.
    pub fn own_mut(&mut self, model: &str) -> &mut Price {
        self.own.entry(model_key(model)).or_default()
    }

    /// The price of a model, if input and output have one.
    pub fn of(&self, model: &str) -> Option<Price> {
        let key = model_key(model);
        let own = self.own.get(&key).copied().unwrap_or_default();
        let list = list_price(&key).unwrap_or_default();
        let price = Price {
            input: own.input.or(list.input),
            output: own.output.or(list.output),
            cache_read: own.cache_read.or(list.cache_read),
            cache_write: own.cache_write.or(list.cache_write),
        };
        (price.input.is_some() && price.output.is_some()).then_some(price)
    }

    /// What a model has cost: what its entries say, and the price of the other tokens.
    pub fn cost(&self, model: &str, usage: &ModelUsage) -> Option<f64> {
        let tokens = usage.unreported_tokens();
        let reported = usage.reported_usd.unwrap_or_default();
        if tokens == Tokens::default() && usage.reported_usd.is_some() {
            return Some(reported);
        }
        Some(reported + price_of(&tokens, self.of(model)?))
    }
}

fn price_of(tokens: &Tokens, price: Price) -> f64 {
    let input = price.input.unwrap_or_default();
    // Tokens that an entry counts only in its total are charged as input.
    let parts = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write];
    let rest = tokens.total.saturating_sub(parts.iter().fold(0_i64, |sum, part| sum.saturating_add(*part))).max(0);
    let prices = [
        (tokens.input.saturating_add(rest), input),
        (tokens.output, price.output.unwrap_or_default()),
        (tokens.cache_read, price.cache_read.unwrap_or(input)),
        (tokens.cache_write, price.cache_write.unwrap_or(input)),
    ];
    prices.into_iter().map(|(count, price)| count as f64 / MILLION * price).sum()
}

/// The form in which names of models are compared: `gpt-5.1` and `GPT_5-1` are the same.
pub fn model_key(model: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    model.chars().map(plain).collect()
}

/// The list price of a model, under its name or with what providers add: where it runs, a date, `latest`, `preview`.
fn list_price(key: &str) -> Option<Price> {
    let exact = |key: &str| LIST.iter().find(|(name, _)| *name == key).map(|(_, price)| *price);
    let [input, output, cache_read, cache_write] = exact(key).or_else(|| {
        let start = ["claude-", "gpt-", "gemini-", "o3", "o4-"].iter().filter_map(|family| key.find(family)).min()?;
        let mut name = &key[start..];
        loop {
            if let Some(price) = exact(name) {
                return Some(price);
            }
            let (shorter, last) = name.rsplit_once('-')?;
            // Any other word may be another model: gpt-5-mini is not gpt-5.
            let is_date = last.len() != 1 && last.bytes().all(|byte| byte.is_ascii_digit());
            let is_revision = last.strip_prefix('v').is_some_and(|digits| digits.parse::<u8>().is_ok());
            if !(is_date || is_revision || ["latest", "preview", "exp", "0"].contains(&last)) {
                return None;
            }
            name = shorter;
        }
    })?;
    let [input, output, cache_read, cache_write] = [input, output, cache_read, cache_write].map(Some);
    Some(Price { input, output, cache_read, cache_write })
}

/// What inferences used and cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    pub input: i64,
    pub output: i64,
    /// Read from the provider's cache
    pub cache_read: i64,
    /// Written to the provider's cache
    pub cache_write: i64,
    /// In dollars, if all models have a price
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// By model, as the entries tell it; `unknown` where they name none
    #[serde(default)]
    pub models: BTreeMap<String, ModelUsage>,
}

impl Spent {
    pub fn new(models: BTreeMap<String, ModelUsage>, prices: &Prices) -> Self {
        let mut sum = Tokens::default();
        models.values().for_each(|usage| sum.add(&usage.tokens));
        let Tokens { input, output, cache_read, cache_write, .. } = sum;
        let mut spent = Self { input, output, cache_read, cache_write, cost_usd: None, models };
        spent.set_prices(prices);
        spent
    }

    pub fn is_nothing(&self) -> bool {
        self.models.is_empty()
    }

    /// Computes the cost by other prices. A sum without one of the models would be wrong.
    pub fn set_prices(&mut self, prices: &Prices) {
        let costs = self.models.iter().map(|(model, usage)| prices.cost(model, usage));
        self.cost_usd = costs.sum::<Option<f64>>().filter(|sum| !self.models.is_empty() && sum.is_finite());
    }

    /// The cost, or what entries say they cost if other models have no price.
    pub fn cost_or_reported(&self) -> Option<f64> {
        self.cost_usd
            .or_else(|| self.models.values().filter_map(|usage| usage.reported_usd).reduce(|sum, cost| sum + cost))
    }

    /// The models without a price.
    pub fn unpriced<'a>(&'a self, prices: &'a Prices) -> impl Iterator<Item = &'a str> {
        let unpriced = self.models.iter().filter(|(model, usage)| prices.cost(model, usage).is_none());
        unpriced.map(|(model, _)| model.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_the_names_that_providers_give_them() {
        let prices = Prices::default();
        for (model, input) in [
            ("claude-sonnet-4-5-20250929", Some(3.0)),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some(3.0)),
            ("anthropic/claude-opus-4.5", Some(5.0)),
            ("gpt-5.1-codex-mini", Some(0.25)),
            ("gpt-5-2025-08-07", Some(1.25)),
            ("GPT-5.1", Some(1.25)),
            ("gemini-3-pro-preview", Some(2.0)),
            ("gpt-5-turbo", None),
            ("gpt-5.9", None),
            ("claude-sonnet-4-9", None),
            ("unknown", None),
            ("", None),
        ] {
            assert_eq!(prices.of(model).and_then(|price| price.input), input, "{model}");
        }
    }

    #[test]
    fn own_prices_replace_list_prices_part_by_part() {
        let mut prices = Prices::default();
        prices.own_mut("gpt-5.1").output = Some(1.0);
        prices.own_mut("mine").input = Some(2.0);
        let price = prices.of("GPT-5-1").expect("known");
        assert_eq!((price.input, price.output, price.cache_read), (Some(1.25), Some(1.0), Some(0.125)));
        assert_eq!(prices.of("mine"), None, "half a price is none");
    }

    #[test]
    fn every_kind_of_token_has_its_price_and_what_was_told_counts_as_told() {
        let million = 1_000_000;
        let tokens =
            Tokens { input: million, output: million, cache_read: million, cache_write: million, total: 5 * million };
        let usage = ModelUsage { tokens, reported_usd: None, unreported: None };
        let prices = Prices::default();
        let cost = prices.cost("claude-sonnet-4-5", &usage).expect("known");
        assert!((cost - (3.0 + 15.0 + 0.3 + 3.75 + 3.0)).abs() < 1e-9, "{cost}: what only the total counts is input");
        let reported = ModelUsage { reported_usd: Some(7.0), ..usage };
        assert_eq!(prices.cost("nobody-knows", &reported), Some(7.0));
        let both = ModelUsage { unreported: Some(tokens), ..reported };
        assert_eq!(prices.cost("nobody-knows", &both), None);
        assert!((prices.cost("claude-sonnet-4-5", &both).expect("known") - cost - 7.0).abs() < 1e-9);
        let spent = Spent::new([("a".to_owned(), both), ("claude-sonnet-4-5".to_owned(), usage)].into(), &prices);
        assert_eq!((spent.cost_usd, spent.input), (None, 2 * million));
        assert_eq!(spent.unpriced(&prices).collect::<Vec<_>>(), ["a"]);
    }
}
