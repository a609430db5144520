//! What inferences cost, as entries tell it: tokens, and money if somebody counted it.
//!
//! Entries come from many programs, so nothing here fails: what is no number, or below zero, counts for nothing.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::object::Object;

/// Tokens of one inference, or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    pub input: i64,
    pub output: i64,
    /// Read from the provider's cache
    pub cache_read: i64,
    /// Written to the provider's cache
    pub cache_write: i64,
    pub total: i64,
}

impl Tokens {
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.total, other.total),
        ];
        pairs.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }
}

/// What an inference cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    pub tokens: Tokens,
    /// In dollars
    pub cost: Option<f64>,
}

const INPUT: &[&str] = &["input", "input_tokens", "inputTokens", "prompt_tokens", "promptTokens"];
const OUTPUT: &[&str] = &["output", "output_tokens", "outputTokens", "completion_tokens", "completionTokens"];
const CACHE_READ: &[&str] =
    &["cacheRead", "cache_read", "cache_read_input_tokens", "cacheReadInputTokens", "cached_input_tokens"];
const CACHE_WRITE: &[&str] = &["cacheWrite", "cache_write", "cache_creation_input_tokens", "cacheCreationInputTokens"];
const TOTAL: &[&str] = &["total", "total_tokens", "totalTokens"];
const COST: &[&str] = &["cost_usd", "costUSD", "costUsd", "total_cost_usd", "cost"];

/// The sum over entries, in which some programs tell the same inference again and again.
#[derive(Debug, Default)]
pub struct Sum {
    plain: Usage,
    /// What was last told of each inference that has a name.
    named: HashMap<String, Usage>,
}

impl Sum {
    /// Takes in what the data of an entry tells.
    pub fn add(&mut self, data: &Object) {
        let Some(usage) = of(data) else { return };
        match name(data) {
            Some(name) => drop(self.named.insert(name, usage)),
            None => self.plain = both(self.plain, usage),
        }
    }

    pub fn total(&self) -> Usage {
        let mut names: Vec<&String> = self.named.keys().collect();
        // Sums of fractions depend on the order.
        names.sort_unstable();
        names.into_iter().fold(self.plain, |sum, name| both(sum, self.named[name]))
    }
}

/// The sums of many inferences, by the model that made them.
#[derive(Debug, Default)]
pub struct ByModel {
    sums: BTreeMap<String, Sum>,
}

/// The model of an inference that names none.
const NO_MODEL: &str = "unknown";
/// Longest name of a model, in characters.
const MODEL_CHARS: usize = 200;

impl ByModel {
    /// Takes in what the data of an entry tells.
    pub fn add(&mut self, data: &Object) {
        if of(data).is_some() {
            self.sums.entry(model(data)).or_default().add(data);
        }
    }

    /// The tokens of each model.
    pub fn tokens(&self) -> BTreeMap<String, Tokens> {
        let totals = self.sums.iter().map(|(model, sum)| (model.clone(), sum.total().tokens));
        totals.filter(|(_, tokens)| *tokens != Tokens::default()).collect()
    }
}

/// The model that an entry names.
fn model(data: &Object) -> String {
    let inner = ["tokens", "usage", "message"].iter().filter_map(|name| data.get(*name)?.as_object());
    let mut places = inner.chain([data]);
    let named =
        places.find_map(|place| ["model", "modelId", "model_id"].iter().find_map(|name| place.get(*name)?.as_str()));
    let name = named.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(NO_MODEL);
    name.chars().take(MODEL_CHARS).collect()
}

fn both(mut one: Usage, other: Usage) -> Usage {
    one.tokens.add(&other.tokens);
    one.cost = match (one.cost, other.cost) {
        (Some(one), Some(other)) => Some(one + other).filter(|sum| sum.is_finite()),
        (one, other) => one.or(other),
    };
    one
}

/// What one inference is called, if its entries say so.
fn name(data: &Object) -> Option<String> {
    let message = data.get("message")?.get("id")?.as_str()?;
    let request = ["requestId", "request_id"].iter().find_map(|name| data.get(*name)?.as_str()).unwrap_or_default();
    Some(format!("{message} {request}"))
}

/// What the data of an entry says an inference cost.
fn of(data: &Object) -> Option<Usage> {
    let message = data.get("message").and_then(Value::as_object);
    let told = [data.get("tokens"), data.get("usage"), message.and_then(|message| message.get("usage"))];
    let told = told.into_iter().flatten().find_map(Value::as_object);
    let size = told.and_then(|told| told.get("size")).and_then(Value::as_object).or(told);
    let count = |names: &[&str]| size.and_then(|size| names.iter().find_map(|name| number(size.get(*name)?)));
    let [input, output, cache_read, cache_write] = [INPUT, OUTPUT, CACHE_READ, CACHE_WRITE].map(count);
    let parts = [input, output, cache_read, cache_write];
    let sum = parts.iter().flatten().fold(0_i64, |sum, part| sum.saturating_add(*part));
    let total = count(TOTAL);
    let places = [size, told, Some(data)];
    let cost = places.into_iter().flatten().find_map(|place| COST.iter().find_map(|name| money(place.get(*name)?)));
    let is_told = total.is_some() || cost.is_some() || parts.iter().any(Option::is_some);
    let [input, output, cache_read, cache_write] = parts.map(Option::unwrap_or_default);
    let tokens = Tokens { input, output, cache_read, cache_write, total: total.unwrap_or(sum) };
    is_told.then_some(Usage { tokens, cost })
}

fn number(value: &Value) -> Option<i64> {
    value.as_i64().filter(|number| *number >= 0)
}

/// Some tell the sum of a cost beside its parts.
fn money(value: &Value) -> Option<f64> {
    let sum = value.as_object().map_or(Some(value), |parts| parts.get("total"))?;
    sum.as_f64().filter(|sum| sum.is_finite() && *sum >= 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sum(entries: &[Value]) -> ([i64; 5], Option<f64>) {
        let mut sum = Sum::default();
        entries.iter().for_each(|data| sum.add(data.as_object().expect("an object")));
        let Usage { tokens, cost } = sum.total();
        ([tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.total], cost)
    }

    #[test]
    fn every_shape_of_a_cost_is_read() {
        let size = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "total": 10});
        let plain = ([1, 2, 3, 4, 10], None);
        for (data, expected) in [
            (json!({"tokens": {"provider": "p", "model": "m", "size": size}}), plain),
            (json!({"tokens": size}), plain),
            (
                json!({"usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3,
                    "cache_creation_input_tokens": 4}}),
                plain,
            ),
            (json!({"message": {"usage": {"prompt_tokens": 7, "completion_tokens": 2}}}), ([7, 2, 0, 0, 9], None)),
            (json!({"usage": {"input": 1, "cost": {"total": 0.25}}}), ([1, 0, 0, 0, 1], Some(0.25))),
            (json!({"costUSD": 0.5}), ([0; 5], Some(0.5))),
            (json!({"usage": {"total_tokens": 5}}), ([0, 0, 0, 0, 5], None)),
        ] {
            assert_eq!(sum(std::slice::from_ref(&data)), expected, "{data}");
        }
    }

    #[test]
    fn tokens_are_summed_by_the_model_that_an_entry_names() {
        let mut all = ByModel::default();
        for data in [
            json!({"tokens": {"provider": "p", "model": "a", "size": {"input": 1, "output": 2}}}),
            json!({"message": {"model": "b", "usage": {"input_tokens": 5}}}),
            json!({"model": "a", "usage": {"input": 10}}),
            json!({"usage": {"input": 7}, "model": " "}),
            json!({"model": "c", "text": "no tokens"}),
            json!({"model": "d", "cost": 1.0}),
        ] {
            all.add(data.as_object().expect("an object"));
        }
        let told: Vec<(String, i64)> = all.tokens().into_iter().map(|(model, tokens)| (model, tokens.total)).collect();
        assert_eq!(told, [("a".to_owned(), 13), ("b".to_owned(), 5), ("unknown".to_owned(), 7)]);
    }

    #[test]
    fn what_is_no_number_counts_for_nothing() {
        for data in [
            json!({}),
            json!({"tokens": null, "usage": []}),
            json!({"usage": {"input": -1, "output": "9", "total": 1.5}}),
            json!({"cost": -1.0, "message": "hello"}),
            json!({"tokens": {"size": 3}}),
        ] {
            assert_eq!(sum(std::slice::from_ref(&data)), ([0; 5], None), "{data}");
        }
        let most = json!({"usage": {"input": i64::MAX, "output": 1}});
        assert_eq!(sum(&[most.clone(), most]), ([i64::MAX, 2, 0, 0, i64::MAX], None));
    }

    #[test]
    fn an_inference_that_is_told_again_counts_once_as_it_was_told_last() {
        let told = |id: &str, input: i64| json!({"requestId": "r", "message": {"id": id, "usage": {"input_tokens": input}}, "costUSD": 0.5});
        let entries = [told("a", 1), told("a", 5), told("b", 2), json!({"usage": {"input": 10}})];
        assert_eq!(sum(&entries), ([17, 0, 0, 0, 17], Some(1.0)));
    }
}
