//! Sums the tokens and cost of inferences from the data of entries.
//!
//! Entries come from many programs in many shapes, so nothing here fails: values that are not numbers, or are negative,
//! are ignored.

use std::collections::BTreeMap;

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
        self.pairs_with(other).into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }

    fn subtract(&mut self, other: &Self) {
        self.pairs_with(other).into_iter().for_each(|(sum, less)| *sum = sum.saturating_sub(less));
    }

    fn pairs_with(&mut self, other: &Self) -> [(&mut i64, i64); 5] {
        [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.total, other.total),
        ]
    }
}

/// The cost of an inference.
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

/// The usage of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    #[serde(flatten)]
    pub tokens: Tokens,
    /// What it cost in dollars, as far as its entries say
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_usd: Option<f64>,
    /// The tokens of entries that do not say what they cost, if others do
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreported: Option<Tokens>,
}

impl ModelUsage {
    /// The tokens whose cost no entry says.
    pub fn unreported_tokens(&self) -> Tokens {
        if self.reported_usd.is_none() { self.tokens } else { self.unreported.unwrap_or_default() }
    }

    fn add(&mut self, usage: &Usage) {
        let mut unreported = self.unreported_tokens();
        match usage.cost {
            Some(cost) => self.reported_usd = Some(self.reported_usd.unwrap_or_default() + cost),
            None => unreported.add(&usage.tokens),
        }
        self.tokens.add(&usage.tokens);
        self.unreported =
            Some(unreported).filter(|unreported| self.reported_usd.is_some() && *unreported != Tokens::default());
    }
}

impl std::iter::Sum for ModelUsage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self::default(), |mut sum, usage| {
            let unreported = usage.unreported_tokens();
            let mut reported = usage.tokens;
            reported.subtract(&unreported);
            if let Some(cost) = usage.reported_usd {
                sum.add(&Usage { tokens: reported, cost: Some(cost) });
            }
            if unreported != Tokens::default() {
                sum.add(&Usage { tokens: unreported, cost: None });
            }
            sum
        })
    }
}

/// The usage of each group and model. Some programs repeat the usage of one inference in several entries; the last one
/// counts.
#[derive(Debug)]
pub struct UsageLedger<K> {
    anonymous: Vec<(K, String, Usage)>,
    /// The last usage of each inference that has an id.
    by_inference: BTreeMap<String, (K, String, Usage)>,
}

impl<K> Default for UsageLedger<K> {
    fn default() -> Self {
        Self { anonymous: Vec::new(), by_inference: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> UsageLedger<K> {
    /// Adds the usage in the data of an entry, if any, to a group.
    pub fn add(&mut self, group: impl FnOnce(&str) -> K, data: &Object) {
        let Some(usage) = usage_of(data) else { return };
        let model = model(data);
        let line = (group(&model), model, usage);
        match inference_id(data) {
            Some(id) => drop(self.by_inference.insert(id, line)),
            None => self.anonymous.push(line),
        }
    }

    /// The sums.
    pub fn finish(self) -> BTreeMap<K, BTreeMap<String, ModelUsage>> {
        let mut groups: BTreeMap<K, BTreeMap<String, ModelUsage>> = BTreeMap::new();
        for (group, model, usage) in self.anonymous.into_iter().chain(self.by_inference.into_values()) {
            if usage.tokens != Tokens::default() || usage.cost.is_some() {
                groups.entry(group).or_default().entry(model).or_default().add(&usage);
            }
        }
        groups
    }
}

/// Sums the usage of one session by model.
#[derive(Debug, Default)]
pub struct ByModel(UsageLedger<()>);

impl ByModel {
    /// Adds the usage in the data of an entry, if any.
    pub fn add(&mut self, data: &Object) {
        self.0.add(|_| (), data);
    }

    /// The usage of each model that was used.
    pub fn finish(self) -> BTreeMap<String, ModelUsage> {
        self.0.finish().remove(&()).unwrap_or_default()
    }
}

/// Used for inferences without a model.
const NO_MODEL: &str = "unknown";
/// Maximum length of a model name, in characters.
const MODEL_CHARS: usize = 200;

/// The model of an entry; `unknown` if it has none.
fn model(data: &Object) -> String {
    let inner = ["tokens", "usage", "message"].iter().filter_map(|name| data.get(*name)?.as_object());
    let mut objects = inner.chain([data]);
    let named =
        objects.find_map(|object| ["model", "modelId", "model_id"].iter().find_map(|name| object.get(*name)?.as_str()));
    let name = named.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(NO_MODEL);
    name.chars().take(MODEL_CHARS).collect()
}

/// Identifies an inference that may be repeated in several entries; `None` if its entries have no message id.
pub fn inference_id(data: &Object) -> Option<String> {
    let message = data.get("message")?.get("id")?.as_str()?;
    let request = ["requestId", "request_id"].iter().find_map(|name| data.get(*name)?.as_str()).unwrap_or_default();
    Some(format!("{message} {request}"))
}

/// The usage in the data of an entry; `None` if it has none.
fn usage_of(data: &Object) -> Option<Usage> {
    let message = data.get("message").and_then(Value::as_object);
    let usage = [data.get("tokens"), data.get("usage"), message.and_then(|message| message.get("usage"))];
    let usage = usage.into_iter().flatten().find_map(Value::as_object);
    let size = usage.and_then(|usage| usage.get("size")).and_then(Value::as_object).or(usage);
    let count = |names: &[&str]| size.and_then(|size| names.iter().find_map(|name| number(size.get(*name)?)));
    let [input, output, cache_read, cache_write] = [INPUT, OUTPUT, CACHE_READ, CACHE_WRITE].map(count);
    let parts = [input, output, cache_read, cache_write];
    let sum = parts.iter().flatten().fold(0_i64, |sum, part| sum.saturating_add(*part));
    let total = count(TOTAL);
    let objects = [size, usage, Some(data)];
    let cost = objects.into_iter().flatten().find_map(|object| COST.iter().find_map(|name| money(object.get(*name)?)));
    let has_usage = total.is_some() || cost.is_some() || parts.iter().any(Option::is_some);
    let [input, output, cache_read, cache_write] = parts.map(Option::unwrap_or_default);
    let tokens = Tokens { input, output, cache_read, cache_write, total: total.unwrap_or(sum) };
    // A subscription: the tokens are not free.
    let cost = cost.filter(|cost| *cost > 0.0 || tokens == Tokens::default());
    has_usage.then_some(Usage { tokens, cost })
}

fn number(value: &Value) -> Option<i64> {
    value.as_i64().filter(|number| *number >= 0)
}

/// A cost is a number, or an object with its parts and a `total`.
fn money(value: &Value) -> Option<f64> {
    let sum = value.as_object().map_or(Some(value), |parts| parts.get("total"))?;
    sum.as_f64().filter(|sum| sum.is_finite() && *sum >= 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sum(entries: &[Value]) -> ([i64; 5], Option<f64>) {
        let mut models = ByModel::default();
        entries.iter().for_each(|data| models.add(data.as_object().expect("an object")));
        let (mut tokens, mut cost) = (Tokens::default(), None);
        for usage in models.finish().into_values() {
            tokens.add(&usage.tokens);
            cost = usage.reported_usd.or(cost);
        }
        ([tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.total], cost)
    }

    #[test]
    fn every_shape_of_usage_is_read() {
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
    fn tokens_are_summed_by_model() {
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
        let totals: Vec<(String, i64)> =
            all.finish().into_iter().map(|(model, usage)| (model, usage.tokens.total)).collect();
        assert_eq!(totals, [("a".to_owned(), 13), ("b".to_owned(), 5), ("d".to_owned(), 0), ("unknown".to_owned(), 7)]);
    }

    #[test]
    fn values_that_are_not_numbers_are_ignored() {
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
    fn repeated_inference_counts_once_with_its_last_usage() {
        let entry = |id: &str, input: i64| json!({"requestId": "r", "message": {"id": id, "usage": {"input_tokens": input}}, "costUSD": 0.5});
        let entries = [entry("a", 1), entry("a", 5), entry("b", 2), json!({"usage": {"input": 10}})];
        assert_eq!(sum(&entries), ([17, 0, 0, 0, 17], Some(1.0)));
    }
}
