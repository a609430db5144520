//! Defines the settings: name, help text, type and default.

use pensa_core::issue::IssueType;
use pensa_core::job::LaneLimits;
use pensa_core::run::{HarnessName, RuntimeName};
use pensa_core::snapshot::Provider;
use pensa_core::{Error, Result, Span, text};
use pensa_redact::Allowlist;

use super::{commands, fields, lanes, prices};
use crate::http;
use crate::remotes::RemoteName;

/// A setting.
#[derive(Debug, Clone, Copy)]
pub struct SettingKey {
    /// Name in files and commands
    pub name: &'static str,
    /// One line of help
    pub about: &'static str,
    pub kind: SettingKind,
    /// Default value
    pub default: Option<&'static str>,
    /// A second environment variable for the setting
    alias: Option<&'static str>,
}

/// The type of a setting, with a check of its values.
#[derive(Debug, Clone, Copy)]
pub enum SettingKind {
    /// true or false
    Flag,
    /// A text
    Text(fn(&str) -> Result<()>),
    /// A list of texts: an array in a file, otherwise one per line
    List(fn(&str) -> Result<()>),
    /// A whole number
    Number(fn(i64) -> Result<()>),
    /// A number that is not negative
    Decimal,
}

pub const REMOTE_SERVER: SettingKey = SettingKey {
    name: "remote-server",
    about: "the daemon or server to use instead of the store's files: its address, or its name in pn remote list",
    kind: SettingKind::Text(is_server),
    default: None,
    alias: Some("PN_DAEMON"),
};

pub const ACTOR: SettingKey = SettingKey {
    name: "actor",
    about: "who runs commands, in place of git's user.name",
    kind: SettingKind::Text(|name| text::line("actor", name).map(drop)),
    default: None,
    alias: None,
};

pub const BOARD_COLUMNS: SettingKey = SettingKey {
    name: "board.columns",
    about: "the labels that have a column of their own on pn board, one a line or with commas",
    kind: SettingKind::List(|labels| labels.lines().try_for_each(|label| text::line("label", label).map(drop))),
    default: None,
    alias: None,
};

pub(super) const CLOSE_REQUIRE_ACCEPTED: SettingKey = SettingKey {
    name: "close.require_accepted",
    about: "whether an issue can be closed only when all its acceptance criteria are met",
    kind: SettingKind::Flag,
    default: Some("false"),
    alias: None,
};

pub const CREATE_TYPE: SettingKey = SettingKey {
    name: "create.type",
    about: "the type of new issues that name none: bug, task, test or chore",
    kind: SettingKind::Text(|word| word.parse::<IssueType>().map(drop)),
    default: None,
    alias: None,
};

pub const EXPORT_EVENTS: SettingKey = SettingKey {
    name: "export.events",
    about: "whether git carries the history of issues too, in events.jsonl",
    kind: SettingKind::Flag,
    default: Some("false"),
    alias: None,
};

pub const DISK_MAX_PART: SettingKey = SettingKey {
    name: "disk.max-part",
    about: "how large the database, the journal or the logs of runs may be before a warning, in MB",
    kind: SettingKind::Text(is_megabytes),
    default: Some("2000"),
    alias: None,
};

pub const DISK_MIN_FREE: SettingKey = SettingKey {
    name: "disk.min-free",
    about: "how much must be free on the disk of the store, else a warning, in MB",
    kind: SettingKind::Text(is_megabytes),
    default: Some("500"),
    alias: None,
};

pub const GC_AFTER: SettingKey = SettingKey {
    name: "gc.after",
    about: "how long after its start a daemon first removes what is old",
    kind: SettingKind::Text(|time| time.parse::<Span>().map(drop)),
    default: Some("1m"),
    alias: None,
};

pub const GC_AUTO: SettingKey = SettingKey {
    name: "gc.auto",
    about: "whether a daemon removes what is old by itself",
    kind: SettingKind::Flag,
    default: Some("true"),
    alias: None,
};

pub const GC_OLDER_THAN: SettingKey = SettingKey {
    name: "gc.older-than",
    about: "how old something must be for pn gc",
    kind: SettingKind::Text(|time| time.parse::<Span>().map(drop)),
    default: Some("7d"),
    alias: None,
};

pub const HOOK_DISTILL: SettingKey = SettingKey {
    name: "hook.distill",
    about: "whether what a session taught is stored at its end, with low impact and for 30 days",
    kind: SettingKind::Flag,
    default: Some("false"),
    alias: None,
};

pub const HOOK_GOTCHAS: SettingKey = SettingKey {
    name: "hook.gotchas",
    about: "whether agents that change a file are told the gotchas about it, each once a session",
    kind: SettingKind::Flag,
    default: Some("true"),
    alias: None,
};

pub const HOOK_RECALL: SettingKey = SettingKey {
    name: "hook.recall",
    about: "whether agents are told learnings that fit each prompt",
    kind: SettingKind::Flag,
    default: Some("false"),
    alias: None,
};

pub const IMPORT_MAX_FILE: SettingKey = SettingKey {
    name: "import.max-file",
    about: "the largest committed file that is read, in MiB; a repository's own file can only lower it",
    kind: SettingKind::Text(is_megabytes),
    default: Some("1024"),
    alias: None,
};

pub const PAGER: SettingKey = SettingKey {
    name: "pager",
    about: "the program that shows long output on a terminal, in place of PAGER; cat for none; not for a project",
    kind: SettingKind::Text(|program| text::line("pager", program).map(drop)),
    default: None,
    alias: None,
};

pub const REDACT_ALLOW: SettingKey = SettingKey {
    name: "redact.allow",
    about: "regular expressions of what looks like a secret and is none, one a line",
    kind: SettingKind::List(|patterns| allow_patterns(patterns).check().map_err(Error::invalid)),
    default: None,
    alias: None,
};

pub const RUN_HARNESS: SettingKey = SettingKey {
    name: "run.harness",
    about: "the agent software of runs that name none",
    kind: SettingKind::Text(|name| name.parse::<HarnessName>().map(drop)),
    default: None,
    alias: None,
};

pub const RUN_RUNTIME: SettingKey = SettingKey {
    name: "run.runtime",
    about: "the surroundings of runs that name none",
    kind: SettingKind::Text(|name| name.parse::<RuntimeName>().map(drop)),
    default: None,
    alias: None,
};

pub const SNAPSHOT_PROVIDER: SettingKey = SettingKey {
    name: "snapshot.provider",
    about: "what takes snapshots: git, copy, btrfs, zfs or overlay",
    kind: SettingKind::Text(|name| name.parse::<Provider>().map(drop)),
    default: None,
    alias: None,
};

pub const SYNC_REMOTE: SettingKey = SettingKey {
    name: "sync.remote",
    about: "the server of pn remote list that pn sync means if none is named",
    kind: SettingKind::Text(|name| name.parse::<RemoteName>().map(drop)),
    default: None,
    alias: None,
};

pub const SYNC_SESSIONS: SettingKey = SettingKey {
    name: "sync.sessions",
    about: "whether pn sync carries sessions of agents with their entries too; not for a project",
    kind: SettingKind::Flag,
    default: Some("false"),
    alias: None,
};

pub const TUI_KEYS: SettingKey = SettingKey {
    name: "tui.keys",
    about: "keys of pn tui in place of its own, as verb=key, one a line or with commas: close=x",
    kind: SettingKind::List(|_| Ok(())),
    default: None,
    alias: None,
};

pub const TUI_THEME: SettingKey = SettingKey {
    name: "tui.theme",
    about: "how pn tui looks: dark, light, high-contrast or none, which has no colours",
    kind: SettingKind::Text(|name| text::line("theme", name).map(drop)),
    default: None,
    alias: None,
};

pub(super) const RUN_COMMAND: SettingKey = SettingKey {
    name: "run.command.NAME",
    about: "a command that pn tui can run on an issue by its name; not for a project",
    kind: SettingKind::Text(|command| text::line("command", command).map(drop)),
    default: None,
    alias: None,
};

pub(super) const FIELD: SettingKey = SettingKey {
    name: "fields.NAME",
    about: "declares a custom field of issues: its values, such as low,high, or free for any text",
    kind: SettingKind::List(|values| values.lines().try_for_each(|value| text::line("value", value).map(drop))),
    default: None,
    alias: None,
};

pub(super) const LANE_SLOTS: SettingKey = SettingKey {
    name: "lanes.NAME.slots",
    about: "how many jobs of this lane may run at once on a machine",
    kind: SettingKind::Number(|slots| LaneLimits { slots, ..LaneLimits::DEFAULT }.check()),
    default: None,
    alias: None,
};

pub(super) const LANE_TIMEOUT: SettingKey = SettingKey {
    name: "lanes.NAME.timeout",
    about: "how long a job of this lane may take",
    kind: SettingKind::Text(|text| LaneLimits { timeout: text.parse()?, ..LaneLimits::DEFAULT }.check()),
    default: None,
    alias: None,
};

pub(super) const PRICE: SettingKey = SettingKey {
    name: "prices.MODEL.input",
    about: "what a million tokens of a model cost in dollars; also output, cache_read and cache_write; prices.\"gpt-5.1\".input",
    kind: SettingKind::Decimal,
    default: None,
    alias: None,
};

/// All settings by name, except those of lanes, models and custom fields, which have any number of names.
pub const KEYS: [SettingKey; 24] = [
    ACTOR,
    BOARD_COLUMNS,
    CLOSE_REQUIRE_ACCEPTED,
    CREATE_TYPE,
    DISK_MAX_PART,
    DISK_MIN_FREE,
    EXPORT_EVENTS,
    GC_AFTER,
    GC_AUTO,
    GC_OLDER_THAN,
    HOOK_DISTILL,
    HOOK_GOTCHAS,
    HOOK_RECALL,
    IMPORT_MAX_FILE,
    PAGER,
    REDACT_ALLOW,
    REMOTE_SERVER,
    RUN_HARNESS,
    RUN_RUNTIME,
    SNAPSHOT_PROVIDER,
    SYNC_REMOTE,
    SYNC_SESSIONS,
    TUI_KEYS,
    TUI_THEME,
];

impl SettingKey {
    pub fn find(name: &str) -> Option<&'static SettingKey> {
        let known = KEYS.iter().find(|key| key.name == name);
        let known = known.or_else(|| lanes::key_of(name).map(|(key, _)| key));
        let known = known.or_else(|| prices::is_price(name).then_some(&PRICE));
        let known = known.or_else(|| commands::is_command(name).then_some(&RUN_COMMAND));
        known.or_else(|| fields::is_field(name).then_some(&FIELD))
    }

    /// The setting with the most similar name.
    pub fn nearest(name: &str) -> &'static SettingKey {
        let distance = |key: &&SettingKey| strsim::damerau_levenshtein(key.name, name);
        KEYS.iter()
            .chain([&FIELD, &LANE_SLOTS, &LANE_TIMEOUT, &PRICE, &RUN_COMMAND])
            .min_by_key(distance)
            .unwrap_or(&REMOTE_SERVER)
    }

    /// The environment variables of the setting, the stronger one first.
    pub fn variables(&self) -> impl Iterator<Item = String> {
        self.variables_as(self.name)
    }

    /// The environment variables of one setting of this type.
    pub(super) fn variables_as(&self, name: &str) -> impl Iterator<Item = String> + use<> {
        let own = name.to_ascii_uppercase().replace(['.', '-'], "_");
        [Some(format!("PN_{own}")), self.alias.map(str::to_owned)].into_iter().flatten()
    }

    /// Parses and checks a value.
    pub fn parse(&self, given: &str) -> Result<SettingValue> {
        match self.kind {
            SettingKind::Flag => match given {
                "true" => Ok(SettingValue::Flag(true)),
                "false" => Ok(SettingValue::Flag(false)),
                _ => Err(Error::invalid(format!("{} is {given:?}, not true or false", self.name))),
            },
            SettingKind::Number(check) => {
                let number = given.parse().map_err(|_| {
                    let shown: String = given.chars().take(40).collect();
                    Error::invalid(format!("{} is {shown:?}, not a whole number", self.name))
                })?;
                check(number).map_err(|e| e.within(self.name))?;
                Ok(SettingValue::Number(number))
            }
            SettingKind::Decimal => {
                let is_price = |number: &f64| number.is_finite() && *number >= 0.0;
                match given.parse().ok().filter(is_price) {
                    Some(_) => Ok(SettingValue::Text(given.to_owned())),
                    None if given.is_empty() => Ok(SettingValue::Text(String::new())),
                    None => {
                        let shown: String = given.chars().take(40).collect();
                        Err(Error::invalid(format!("{} is {shown:?}, not a number from 0 on", self.name)))
                    }
                }
            }
            SettingKind::Text(check) | SettingKind::List(check) => {
                if !given.is_empty() {
                    check(given).map_err(|e| e.within(self.name))?;
                }
                Ok(SettingValue::Text(given.to_owned()))
            }
        }
    }
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    Flag(bool),
    Number(i64),
    Text(String),
}

impl SettingValue {
    /// Whether the value is empty: then the default applies, whatever weaker layers contain.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, SettingValue::Text(text) if text.is_empty())
    }
}

impl std::fmt::Display for SettingValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SettingValue::Flag(flag) => flag.fmt(f),
            SettingValue::Number(number) => number.fmt(f),
            SettingValue::Text(text) => text.fmt(f),
        }
    }
}

/// Parses redaction exceptions, one regular expression per line.
pub fn allow_patterns(patterns: &str) -> Allowlist {
    Allowlist::new(patterns.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
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
    fn environment_variable_of_a_key_is_its_name_in_capitals() {
        let variables = |key: SettingKey| key.variables().collect::<Vec<_>>();
        assert_eq!(variables(EXPORT_EVENTS), ["PN_EXPORT_EVENTS"]);
        assert_eq!(variables(REMOTE_SERVER), ["PN_REMOTE_SERVER", "PN_DAEMON"]);
        assert_eq!(variables(ACTOR), ["PN_ACTOR"]);
    }

    #[test]
    fn keys_are_sorted_and_typos_suggest_the_nearest() {
        assert!(KEYS.is_sorted_by_key(|key| key.name));
        for key in KEYS {
            assert_eq!(SettingKey::find(key.name).map(|found| found.name), Some(key.name));
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
            assert_eq!(SettingKey::nearest(typed).name, meant, "{typed}");
        }
    }

    #[test]
    fn values_are_checked_before_they_are_saved() {
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
