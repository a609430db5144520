//! Resolves the limits of job lanes, `lanes.NAME.slots` and `lanes.NAME.timeout`, for built-in and user-defined lanes.

use std::collections::BTreeSet;

use pensa_core::job::{BUILT_IN, Lane, LaneLimits};
use pensa_core::{Error, Result, Span};

use super::keys::{LANE_SLOTS, LANE_TIMEOUT};
use super::{Config, Layer, Setting, SettingKey, SettingValue};

/// Prefix of the environment variables of lanes.
pub const LANE_VARIABLE_PREFIX: &str = "PN_LANES_";

/// The setting and lane that a key refers to.
pub(super) fn key_of(name: &str) -> Option<(&'static SettingKey, Lane)> {
    let (lane, part) = name.strip_prefix("lanes.")?.rsplit_once('.')?;
    let key = match part {
        "slots" => &LANE_SLOTS,
        "timeout" => &LANE_TIMEOUT,
        _ => return None,
    };
    // Convert without trimming: `lanes. net.slots` is not the lane `net`.
    Some((key, lane.to_owned().try_into().ok()?))
}

fn slots_key(lane: &Lane) -> String {
    format!("lanes.{lane}.slots")
}

fn timeout_key(lane: &Lane) -> String {
    format!("lanes.{lane}.timeout")
}

impl Config {
    /// The limits of a lane; an error if no such lane is built in or configured.
    pub fn limits(&self, lane: &Lane) -> Result<LaneLimits> {
        let (slots, timeout) = (self.lane(&slots_key(lane))?, self.lane(&timeout_key(lane))?);
        if slots.is_none() && timeout.is_none() {
            let known: Vec<String> = self.lanes().into_iter().collect();
            return Err(Error::not_found("lane", lane)
                .hint(format!("there are {}; pn config set lanes.{lane}.slots 2 makes another", known.join(", "))));
        }
        let mut limits = LaneLimits::DEFAULT;
        if let Some(Setting { value: SettingValue::Number(number), .. }) = slots {
            limits.slots = number;
        }
        if let Some(setting) = timeout {
            limits.timeout = span(&setting)?;
        }
        limits.check()?;
        Ok(limits)
    }

    /// The names of all built-in and configured lanes.
    pub fn lanes(&self) -> BTreeSet<String> {
        let always = BUILT_IN.iter().map(|(name, _)| (*name).to_owned());
        let in_files = self.leaves().filter_map(|leaf| key_of(&leaf.key())).map(|(_, lane)| lane.to_string());
        let in_variables = self.overrides.variables.iter().filter_map(|(name, _)| {
            let name = name.strip_prefix(LANE_VARIABLE_PREFIX)?.to_ascii_lowercase();
            let lane = name.strip_suffix("_slots").or_else(|| name.strip_suffix("_timeout"))?;
            lane.replace('_', "-").parse::<Lane>().ok().map(String::from)
        });
        always.chain(in_files).chain(in_variables).collect()
    }

    /// Resolves one setting of a lane. The project's file can lower the limits of user and system but not raise them,
    /// because it came with the repository and it is their machine that runs the jobs.
    pub(super) fn lane(&self, name: &str) -> Result<Option<Setting>> {
        let Some((key, lane)) = key_of(name) else { return Ok(None) };
        let usual = lane.built_in().map(|limits| match key.kind {
            super::SettingKind::Number(_) => limits.slots.to_string(),
            _ => limits.timeout.to_string(),
        });
        let Some(mut narrowest) = self.resolve(key, name, usual.as_deref())? else { return Ok(None) };
        if narrowest.layer != Layer::Project {
            return Ok(Some(narrowest));
        }
        for other in self.in_files(key, name)?.into_iter().filter(|other| other.layer > Layer::Project) {
            if !other.value.is_empty() && allowance(&other)? < allowance(&narrowest)? {
                narrowest = other;
            }
        }
        Ok(Some(narrowest))
    }

    /// All settings of lanes, including defaults.
    pub fn lane_settings(&self) -> Result<Vec<Setting>> {
        let mut all = Vec::new();
        for lane in self.lanes() {
            let lane: Lane = lane.parse()?;
            for name in [slots_key(&lane), timeout_key(&lane)] {
                all.extend(self.lane(&name)?);
            }
        }
        Ok(all)
    }
}

fn span(setting: &Setting) -> Result<Span> {
    setting.value.to_string().parse().map_err(|e: Error| e.within(&setting.origin))
}

/// How much a setting allows, for comparison with another value of the same key.
fn allowance(setting: &Setting) -> Result<i64> {
    match setting.value {
        SettingValue::Number(number) => Ok(number),
        _ => span(setting).map(Span::as_millis),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{ConfigOverrides, ConfigPaths};
    use super::*;

    fn files(dir: &Path) -> ConfigPaths {
        let at = |name: &str| Some(dir.join(name).join("config.toml"));
        ConfigPaths { local: at("l"), project: at("p"), user: at("u"), system: at("s") }
    }

    fn overrides(pairs: &[(&str, &str)]) -> ConfigOverrides {
        let variables = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        ConfigOverrides { flags: Vec::new(), variables }
    }

    fn limits(config: &Config, lane: &str) -> (i64, String) {
        let limits = config.limits(&lane.parse().expect("a lane")).expect("limits");
        (limits.slots, limits.timeout.to_string())
    }

    #[test]
    fn lanes_have_defaults_until_configured() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = files(dir.path());
        let read = |pairs: &[(&str, &str)]| Config::read(overrides(pairs), &files).expect("read");
        assert_eq!(limits(&read(&[]), "no-net"), (10, "30s".into()));
        assert_eq!(limits(&read(&[]), "net"), (5, "1m".into()));
        assert_eq!(limits(&read(&[]), "heavy"), (1, "10m".into()));
        files.set(Layer::User, "lanes.net.slots", "7").expect("set");
        files.set(Layer::User, "lanes.gpu.slots", "2").expect("set");
        files.set(Layer::System, "lanes.net.timeout", "90s").expect("set");
        files.set(Layer::Local, "lanes.heavy.slots", "3").expect("set");
        let config = read(&[("PN_LANES_NO_NET_SLOTS", "4"), ("PN_LANES_BUILD_TIMEOUT", "5m")]);
        assert_eq!(limits(&config, "net"), (7, "90s".into()));
        assert_eq!(limits(&config, "gpu"), (2, "1m".into()));
        assert_eq!(limits(&config, "heavy"), (3, "10m".into()));
        assert_eq!(limits(&config, "no-net"), (4, "30s".into()));
        assert_eq!(limits(&config, "build"), (1, "5m".into()));
        let error = config.limits(&"gpus".parse().expect("a lane")).expect_err("none");
        assert!(error.hint.is_some_and(|hint| hint.contains("build, gpu, heavy, net, no-net")), "{}", error.message);
        assert!(config.unknown().is_empty(), "{:?}", config.unknown());
        let keys: Vec<String> = config.all().expect("all").into_iter().map(|setting| setting.key).collect();
        assert_eq!(
            keys,
            [
                "lanes.build.timeout",
                "lanes.gpu.slots",
                "lanes.heavy.slots",
                "lanes.net.slots",
                "lanes.net.timeout",
                "lanes.no-net.slots"
            ]
        );
    }

    #[test]
    fn a_repository_narrows_what_the_user_allows_and_does_not_widen_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = files(dir.path());
        files.set(Layer::Project, "lanes.heavy.slots", "500").expect("set");
        files.set(Layer::Project, "lanes.heavy.timeout", "2d").expect("set");
        let read = || Config::read(overrides(&[]), &files).expect("read");
        assert_eq!(limits(&read(), "heavy"), (500, "2d".into()), "nobody has said anything else");
        files.set(Layer::User, "lanes.heavy.slots", "2").expect("set");
        files.set(Layer::System, "lanes.heavy.timeout", "1h").expect("set");
        assert_eq!(limits(&read(), "heavy"), (2, "1h".into()));
        assert_eq!(read().find("lanes.heavy.slots").expect("read").expect("set").layer, Layer::User);
        files.set(Layer::Project, "lanes.heavy.slots", "1").expect("set");
        assert_eq!(limits(&read(), "heavy").0, 1);
        files.set(Layer::Local, "lanes.heavy.slots", "9").expect("set");
        assert_eq!(limits(&read(), "heavy").0, 9, "the user's own word for this project");
    }

    #[test]
    fn invalid_lane_settings_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = files(dir.path());
        for (key, value) in [
            ("lanes.net.slots", "0"),
            ("lanes.net.slots", "-1"),
            ("lanes.net.slots", "1001"),
            ("lanes.net.slots", "many"),
            ("lanes.net.slots", ""),
            ("lanes.net.timeout", "0s"),
            ("lanes.net.timeout", "8d"),
            ("lanes.net.timeout", "60"),
        ] {
            assert!(files.set(Layer::User, key, value).is_err(), "{key} {value:?}");
        }
        for text in [
            "[lanes.net]\nslots = \"5\"",
            "[lanes.net]\nslots = 0",
            "[lanes.net]\ntimeout = 60",
            "[lanes]\nnet = { slots = 1.5 }",
        ] {
            std::fs::create_dir_all(dir.path().join("p")).expect("made");
            std::fs::write(dir.path().join("p/config.toml"), text).expect("written");
            let config = Config::read(overrides(&[]), &files).expect("read");
            assert!(config.limits(&"net".parse().expect("a lane")).is_err(), "{text}");
            assert_eq!(limits(&config, "heavy").0, 1, "another lane is not touched");
        }
        std::fs::write(dir.path().join("p/config.toml"), "lanes = 1").expect("written");
        let config = Config::read(overrides(&[]), &files).expect("read");
        assert_eq!(limits(&config, "net").0, 5);
        std::fs::write(dir.path().join("p/config.toml"), "[lanes.Net]\nslots = 1\n[lanes.net]\nslot = 1")
            .expect("written");
        let config = Config::read(overrides(&[]), &files).expect("read");
        let unknown: Vec<String> = config.unknown().into_iter().map(|unknown| unknown.key).collect();
        assert_eq!(unknown, ["lanes.Net.slots", "lanes.net.slot"]);
    }
}
