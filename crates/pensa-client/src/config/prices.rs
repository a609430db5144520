//! Resolves the prices of models, `prices.MODEL.input`, `output`, `cache_read` and `cache_write`, in dollars per million
//! tokens. They replace the list prices.

use std::collections::BTreeSet;

use pensa_core::session::Prices;
use pensa_core::session::prices::model_key;
use pensa_core::{Error, Result};

use super::keys::PRICE;
use super::{Config, Setting, path_of};

/// The parts of a price; those with `-` are an older spelling.
const PARTS: [&str; 6] = ["input", "output", "cache_read", "cache_write", "cache-read", "cache-write"];

/// Whether a key is a price.
pub(super) fn is_price(name: &str) -> bool {
    model_and_part(name).is_some()
}

/// The model and the part of a price: `prices.gpt-5.input`, `prices."gpt-5.1".input`. An unquoted model is spelt in one
/// way only, so that a setting is not made twice.
fn model_and_part(name: &str) -> Option<(&str, &str)> {
    let path = path_of(name).ok()?;
    let ["prices", model, part] = path[..] else { return None };
    let is_quoted = name.contains('"');
    let is_plain =
        model.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte));
    (PARTS.contains(&part) && (is_quoted || is_plain)).then_some((model, part))
}

impl Config {
    /// The list prices, with the settings in their places.
    pub fn prices(&self) -> Result<Prices> {
        let (mut prices, mut seen) = (Prices::default(), BTreeSet::new());
        // The strongest file comes first.
        for leaf in self.leaves() {
            let name = leaf.key();
            let Some((model, part)) = model_and_part(&name) else { continue };
            let part = part.replace('-', "_");
            if !seen.insert((model_key(model), part.clone())) {
                continue;
            }
            let Some(setting) = self.resolve(&PRICE, &name, None)? else { continue };
            let number = setting.value.to_string().parse();
            let number = number.map_err(|_| Error::invalid(format!("{}: {name} is no number", setting.origin)))?;
            let own = prices.own_mut(model);
            let place = match part.as_str() {
                "input" => &mut own.input,
                "output" => &mut own.output,
                "cache_read" => &mut own.cache_read,
                _ => &mut own.cache_write,
            };
            *place = Some(number);
        }
        Ok(prices)
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
    use pensa_core::session::{ModelUsage, Tokens};

    use super::super::{ConfigOverrides, ConfigPaths, Layer};
    use super::*;

    #[test]
    fn settings_replace_list_prices_and_quoted_models_may_have_dots() {
        let dir = tempfile::tempdir().expect("a directory");
        let user = dir.path().join("config.toml");
        let files = ConfigPaths { user: Some(user.clone()), ..ConfigPaths::default() };
        let text = "[prices.claude-3-5]\ninput = 3\noutput = 15.0\ncache-read = \"0.3\"\n\
            [prices.\"gpt-5.1\"]\ncache_read = 1\n";
        std::fs::write(&user, text).expect("written");
        files.set(Layer::User, "prices.gpt_4.input", "2.5").expect("set");
        files.set(Layer::User, "prices.\"My.Model\".input", "4").expect("set");
        files.set(Layer::User, "prices.\"My.Model\".output", "8").expect("set");
        let config = || Config::read(ConfigOverrides::default(), &files).expect("read");
        let tokens =
            Tokens { input: 1_000_000, output: 100_000, cache_read: 2_000_000, cache_write: 0, total: 3_100_000 };
        let usage = ModelUsage { tokens, reported_usd: None, unreported: None };
        let cost = |model: &str| config().prices().expect("read").cost(model, &usage);
        for (model, expected) in [
            ("Claude-3.5", Some(3.0 + 1.5 + 0.6)),
            ("gpt-5.1", Some(1.25 + 1.0 + 2.0)),
            ("my-model", Some(4.0 + 0.8 + 8.0)),
            ("gpt_4", None),
        ] {
            let cost = cost(model);
            let is_equal = cost.zip(expected).map_or(cost == expected, |(a, b): (f64, f64)| (a - b).abs() < 1e-9);
            assert!(is_equal, "{model}: {cost:?}");
        }
        files.set(Layer::User, "prices.gpt_4.output", "0").expect("set");
        assert!(cost("gpt_4").is_some() && config().has_prices());
        assert!(config().unknown().is_empty(), "{:?}", config().unknown());
        let listed: Vec<String> = config().all().expect("all").into_iter().map(|setting| setting.key).collect();
        assert_eq!(listed.len(), 8, "{listed:?}");
        assert!(listed.contains(&"prices.\"gpt-5.1\".cache_read".to_owned()), "{listed:?}");
        for bad in ["-1", "cheap", "inf", "NaN"] {
            assert!(files.set(Layer::User, "prices.a.input", bad).is_err(), "{bad}");
        }
        for (name, is) in [
            ("prices.a.input", true),
            ("prices.a.cache_read", true),
            ("prices.a.cache-read", true),
            ("prices.\"A.b\".input", true),
            ("prices.A.input", false),
            ("prices.a", false),
            ("prices.a.b.input", false),
            ("prices.\"a.input", false),
            ("prices.\"\".input", false),
            ("prices.a.total", false),
        ] {
            assert_eq!(is_price(name), is, "{name}");
        }
    }
}
