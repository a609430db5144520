//! Computes what tokens cost from `prices.MODEL.input`, `output`, `cache-read` and `cache-write`, in dollars per
//! million.

use std::collections::{BTreeMap, BTreeSet};

use pensa_core::session::Tokens;
use pensa_core::{Error, Result};

use super::keys::PRICE;
use super::{Config, Setting};

/// Prices are per million tokens.
const MILLION: f64 = 1e6;
const PARTS: [&str; 4] = ["input", "output", "cache-read", "cache-write"];

/// Whether a key is a price.
pub(super) fn is_price(name: &str) -> bool {
    let of = name.strip_prefix("prices.").and_then(|rest| rest.split_once('.'));
    of.is_some_and(|(model, part)| !model.is_empty() && model == key_of(model) && PARTS.contains(&part))
}

/// The form of a model name in a key, which has only letters, digits, - and _.
fn key_of(model: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c.to_ascii_lowercase() } else { '-' };
    model.chars().map(plain).collect()
}

impl Config {
    /// The cost in dollars; the inner error lists the models without a price.
    pub fn cost(&self, tokens: &BTreeMap<String, Tokens>) -> Result<std::result::Result<f64, Vec<String>>> {
        let (mut sum, mut unpriced) = (0.0, Vec::new());
        for (model, tokens) in tokens {
            match self.cost_of(&key_of(model), tokens)? {
                Some(cost) => sum += cost,
                None => unpriced.push(model.clone()),
            }
        }
        Ok(if unpriced.is_empty() { Ok(sum) } else { Err(unpriced) })
    }

    fn cost_of(&self, model: &str, tokens: &Tokens) -> Result<Option<f64>> {
        let [input, output, read, write] = PARTS.map(|part| self.price(&format!("prices.{model}.{part}")));
        let (Some(input), Some(output)) = (input?, output?) else { return Ok(None) };
        // Tokens that an entry counts only in its total are charged as input.
        let parts = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write];
        let rest = tokens.total.saturating_sub(parts.iter().fold(0_i64, |sum, part| sum.saturating_add(*part))).max(0);
        let prices = [(tokens.input, input), (tokens.output, output), (rest, input)];
        let cached = [(tokens.cache_read, read?.unwrap_or(input)), (tokens.cache_write, write?.unwrap_or(input))];
        Ok(Some(prices.into_iter().chain(cached).map(|(count, price)| count as f64 / MILLION * price).sum()))
    }

    fn price(&self, name: &str) -> Result<Option<f64>> {
        let number = |setting: Setting| {
            setting
                .value
                .to_string()
                .parse()
                .map_err(|_| Error::invalid(format!("{}: {name} is no number", setting.origin)))
        };
        self.resolve(&PRICE, name, None)?.map(number).transpose()
    }

    /// Whether any price is set.
    pub fn has_prices(&self) -> bool {
        self.leaves().any(|leaf| is_price(&leaf.key()))
    }

    /// All prices that are set.
    pub(super) fn price_settings(&self) -> Result<Vec<Setting>> {
        let names: BTreeSet<String> = self.leaves().map(|leaf| leaf.key()).filter(|key| is_price(key)).collect();
        let mut all = Vec::new();
        for name in names {
            all.extend(self.resolve(&PRICE, &name, None)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigOverrides, ConfigPaths, Layer};
    use super::*;

    #[test]
    fn cost_uses_configured_prices_and_names_models_without_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let user = dir.path().join("config.toml");
        let files = ConfigPaths { user: Some(user.clone()), ..ConfigPaths::default() };
        std::fs::write(&user, "[prices.claude-3-5]\ninput = 3\noutput = 15.0\ncache-read = \"0.3\"\n")
            .expect("written");
        files.set(Layer::User, "prices.gpt_4.input", "2.5").expect("set");
        let config = || Config::read(ConfigOverrides::default(), &files).expect("read");
        let tokens =
            Tokens { input: 1_000_000, output: 100_000, cache_read: 2_000_000, cache_write: 0, total: 3_200_000 };
        let of = |models: &[&str]| models.iter().map(|model| ((*model).to_owned(), tokens)).collect::<BTreeMap<_, _>>();
        let cost = config().cost(&of(&["Claude-3.5"])).expect("read").expect("all have prices");
        assert!((cost - (3.0 + 1.5 + 0.6 + 0.3)).abs() < 1e-9, "{cost}: what only the total counts is input");
        let unpriced = config().cost(&of(&["claude-3.5", "gpt_4"])).expect("read").expect_err("without output");
        assert_eq!(unpriced, ["gpt_4"]);
        files.set(Layer::User, "prices.gpt_4.output", "0").expect("set");
        assert!(config().cost(&of(&["gpt_4"])).expect("read").is_ok() && config().has_prices());
        assert!(config().unknown().is_empty(), "{:?}", config().unknown());
        let listed: Vec<String> = config().all().expect("all").into_iter().map(|setting| setting.key).collect();
        assert_eq!(listed.len(), 5, "{listed:?}");
        for bad in ["", "-1", "cheap", "inf", "NaN"] {
            assert!(bad.is_empty() || files.set(Layer::User, "prices.a.input", bad).is_err(), "{bad}");
        }
        for (name, is) in [
            ("prices.a.input", true),
            ("prices.A.input", false),
            ("prices.a", false),
            ("prices.a.b.input", false),
            ("prices.a.total", false),
        ] {
            assert_eq!(is_price(name), is, "{name}");
        }
    }
}
