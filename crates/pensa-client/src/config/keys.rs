//! The settings there are: what each is called, what it can be, and what it is by itself.
//!
//! Where their values come from is left to [`Config`](super::Config).

use pensa_core::job::Limits;
use pensa_core::run::{HarnessName, RuntimeName};
use pensa_core::snapshot::Provider;
use pensa_core::{Error, Result, Span, text};
use pensa_redact::Allow;

use super::{lanes, prices};
use crate::http;
use crate::remotes::RemoteName;

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As it is written in files and commands
    pub name: &'static str,
    /// What it is for, in a line
    pub about: &'static str,
    pub kind: Kind,
    /// What it is if nobody says anything
    pub default: Option<&'static str>,
    /// Another variable that it answers to
    alias: Option<&'static str>,
}

/// What a setting can be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// true or false
    Flag,
    /// A text that this function has nothing against
    Text(fn(&str) -> Result<()>),
    /// Texts, one a line or a list in a file, that this function has nothing against together
    List(fn(&str) -> Result<()>),
    /// A whole number that this function has nothing against
    Number(fn(i64) -> Result<()>),
    /// A number, whole or not, from 0 on
    Decimal,
}

pub const REMOTE_SERVER: Key = Key {
    name: "remote-server",
    about: "the daemon or server to use instead of the store's files: its address, or its name in pn remote list",
    kind: Kind::Text(is_server),
    default: None,
    alias: Some("PN_DAEMON"),
};

pub const ACTOR: Key = Key {
    name: "actor",
    about: "who runs commands, in place of git's user.name",
    kind: Kind::Text(|name| text::line("actor", name).map(drop)),
    default: None,
    alias: None,
};

pub const EXPORT_EVENTS: Key = Key {
    name: "export.events",
    about: "whether git carries the history of issues too, in events.jsonl",
    kind: Kind::Flag,
    default: Some("false"),
    alias: None,
};

pub const DISK_MAX_PART: Key = Key {
    name: "disk.max-part",
    about: "how large the database, the journal or the logs of runs may be before a warning, in MB",
    kind: Kind::Text(is_megabytes),
    default: Some("2000"),
    alias: None,
};

pub const DISK_MIN_FREE: Key = Key {
    name: "disk.min-free",
    about: "how much must be free on the disk of the store, else a warning, in MB",
    kind: Kind::Text(is_megabytes),
    default: Some("500"),
    alias: None,
};

pub const GC_AFTER: Key = Key {
    name: "gc.after",
    about: "how long after its start a daemon first removes what is old",
    kind: Kind::Text(|time| time.parse::<Span>().map(drop)),
    default: Some("1m"),
    alias: None,
};

pub const GC_AUTO: Key = Key {
    name: "gc.auto",
    about: "whether a daemon removes what is old by itself",
    kind: Kind::Flag,
    default: Some("true"),
    alias: None,
};

pub const GC_OLDER_THAN: Key = Key {
    name: "gc.older-than",
    about: "how old something must be for pn gc",
    kind: Kind::Text(|time| time.parse::<Span>().map(drop)),
    default: Some("7d"),
    alias: None,
};

pub const IMPORT_MAX_FILE: Key = Key {
    name: "import.max-file",
    about: "the largest committed file that is read, in MiB; a repository's own file can only lower it",
    kind: Kind::Text(is_megabytes),
    default: Some("1024"),
    alias: None,
};

pub const REDACT_ALLOW: Key = Key {
    name: "redact.allow",
    about: "regular expressions of what looks like a secret and is none, one a line",
    kind: Kind::List(|patterns| lines(patterns).check().map_err(Error::invalid)),
    default: None,
    alias: None,
};

pub const RUN_HARNESS: Key = Key {
    name: "run.harness",
    about: "the agent software of runs that name none",
    kind: Kind::Text(|name| name.parse::<HarnessName>().map(drop)),
    default: None,
    alias: None,
};

pub const RUN_RUNTIME: Key = Key {
    name: "run.runtime",
    about: "the surroundings of runs that name none",
    kind: Kind::Text(|name| name.parse::<RuntimeName>().map(drop)),
    default: None,
    alias: None,
};

pub const SNAPSHOT_PROVIDER: Key = Key {
    name: "snapshot.provider",
    about: "what takes snapshots: git, copy, btrfs, zfs or overlay",
    kind: Kind::Text(|name| name.parse::<Provider>().map(drop)),
    default: None,
    alias: None,
};

pub const SYNC_REMOTE: Key = Key {
    name: "sync.remote",
    about: "the server of pn remote list that pn sync means if none is named",
    kind: Kind::Text(|name| name.parse::<RemoteName>().map(drop)),
    default: None,
    alias: None,
};

pub(super) const LANE_SLOTS: Key = Key {
    name: "lanes.NAME.slots",
    about: "how many jobs of this lane may run at once on a machine",
    kind: Kind::Number(|slots| Limits { slots, ..Limits::USUAL }.check()),
    default: None,
    alias: None,
};

pub(super) const LANE_TIMEOUT: Key = Key {
    name: "lanes.NAME.timeout",
    about: "how long a job of this lane may take",
    kind: Kind::Text(|text| Limits { timeout: text.parse()?, ..Limits::USUAL }.check()),
    default: None,
    alias: None,
};

pub(super) const PRICE: Key = Key {
    name: "prices.MODEL.input",
    about: "what a million tokens of a model cost in dollars; also output, cache-read and cache-write",
    kind: Kind::Decimal,
    default: None,
    alias: None,
};

/// All of them, by name, but for those of lanes and models, of which there may be any.
pub const KEYS: [Key; 14] = [
    ACTOR,
    DISK_MAX_PART,
    DISK_MIN_FREE,
    EXPORT_EVENTS,
    GC_AFTER,
    GC_AUTO,
    GC_OLDER_THAN,
    IMPORT_MAX_FILE,
    REDACT_ALLOW,
    REMOTE_SERVER,
    RUN_HARNESS,
    RUN_RUNTIME,
    SNAPSHOT_PROVIDER,
    SYNC_REMOTE,
];

impl Key {
    pub fn find(name: &str) -> Option<&'static Key> {
        let known = KEYS.iter().find(|key| key.name == name);
        known.or_else(|| lanes::key_of(name).map(|(key, _)| key)).or_else(|| prices::is_price(name).then_some(&PRICE))
    }

    /// The one that somebody may have meant.
    pub fn nearest(name: &str) -> &'static Key {
        let distance = |key: &&Key| strsim::damerau_levenshtein(key.name, name);
        KEYS.iter().chain([&LANE_SLOTS, &LANE_TIMEOUT, &PRICE]).min_by_key(distance).unwrap_or(&REMOTE_SERVER)
    }

    /// The variables that can say it, the stronger one first.
    pub fn variables(&self) -> impl Iterator<Item = String> {
        self.variables_as(self.name)
    }

    /// The same for one of several settings of this kind.
    pub(super) fn variables_as(&self, name: &str) -> impl Iterator<Item = String> + use<> {
        let own = name.to_ascii_uppercase().replace(['.', '-'], "_");
        [Some(format!("PN_{own}")), self.alias.map(str::to_owned)].into_iter().flatten()
    }

    /// Reads a value that was given as text.
    pub fn parse(&self, given: &str) -> Result<Value> {
        match self.kind {
            Kind::Flag => match given {
                "true" => Ok(Value::Flag(true)),
                "false" => Ok(Value::Flag(false)),
                _ => Err(Error::invalid(format!("{} is {given:?}, not true or false", self.name))),
            },
            Kind::Number(check) => {
                let number = given.parse().map_err(|_| {
                    let shown: String = given.chars().take(40).collect();
                    Error::invalid(format!("{} is {shown:?}, not a whole number", self.name))
                })?;
                check(number).map_err(|e| e.within(self.name))?;
                Ok(Value::Number(number))
            }
            Kind::Decimal => {
                let is_price = |number: &f64| number.is_finite() && *number >= 0.0;
                match given.parse().ok().filter(is_price) {
                    Some(_) => Ok(Value::Text(given.to_owned())),
                    None if given.is_empty() => Ok(Value::Text(String::new())),
                    None => {
                        let shown: String = given.chars().take(40).collect();
                        Err(Error::invalid(format!("{} is {shown:?}, not a number from 0 on", self.name)))
                    }
                }
            }
            Kind::Text(check) | Kind::List(check) => {
                if !given.is_empty() {
                    check(given).map_err(|e| e.within(self.name))?;
                }
                Ok(Value::Text(given.to_owned()))
            }
        }
    }
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Value {
    Flag(bool),
    Number(i64),
    Text(String),
}

impl Value {
    /// A text that says nothing: the setting is what it is by itself, whatever weaker layers say.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Value::Text(text) if text.is_empty())
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Flag(flag) => flag.fmt(f),
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => text.fmt(f),
        }
    }
}

/// Patterns as they are used.
pub fn lines(patterns: &str) -> Allow {
    Allow::new(patterns.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn is_megabytes(count: &str) -> Result<()> {
    let is_number = count.len() <= 12 && count.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { Ok(()) } else { Err(Error::invalid(format!("not a number of megabytes: {count:?}"))) }
}

fn is_server(server: &str) -> Result<()> {
    if server.contains("://") {
        return http::server_address(server).map(drop);
    }
    server.parse::<RemoteName>().map(drop).map_err(|_| {
        Error::invalid(format!("neither the address of a server nor the name of a remote: {server:?}"))
            .hint("such as http://localhost:7533, or a name from pn remote list")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keys_variable_is_its_name_in_capitals() {
        let variables = |key: Key| key.variables().collect::<Vec<_>>();
        assert_eq!(variables(EXPORT_EVENTS), ["PN_EXPORT_EVENTS"]);
        assert_eq!(variables(REMOTE_SERVER), ["PN_REMOTE_SERVER", "PN_DAEMON"]);
        assert_eq!(variables(ACTOR), ["PN_ACTOR"]);
    }

    #[test]
    fn names_are_sorted_and_found_and_the_nearest_is_what_was_meant() {
        assert!(KEYS.is_sorted_by_key(|key| key.name));
        for key in KEYS {
            assert_eq!(Key::find(key.name).map(|found| found.name), Some(key.name));
            if let Some(default) = key.default {
                key.parse(default).expect("a default that is possible");
            }
        }
        for (typed, meant) in [
            ("remote-sever", "remote-server"),
            ("remote_server", "remote-server"),
            ("export.event", "export.events"),
            ("Actor", "actor"),
            ("harness", "run.harness"),
        ] {
            assert_eq!(Key::nearest(typed).name, meant, "{typed}");
        }
    }

    #[test]
    fn values_are_checked_before_they_are_kept() {
        for (key, good, bad) in [
            (EXPORT_EVENTS, vec!["true", "false"], vec!["", "yes", "1", "True"]),
            (
                REMOTE_SERVER,
                vec!["", "http://localhost:7533", "https://h/p/web", "web"],
                vec!["a b", "ftp://x", "http://a:b@h", "localhost:7533"],
            ),
            (ACTOR, vec!["", "ana"], vec!["a\nb", " ", "a\u{1b}[2J"]),
            (RUN_HARNESS, vec!["claude-code@2.1", "codex"], vec!["@", "a b"]),
        ] {
            for given in good {
                assert_eq!(key.parse(given).expect(given).to_string(), given, "{}", key.name);
            }
            for given in bad {
                assert!(key.parse(given).is_err(), "{}: {given:?}", key.name);
            }
        }
    }
}
