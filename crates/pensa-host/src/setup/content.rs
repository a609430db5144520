//! Contains the texts that agents get: sections of instruction files, the skill, and plugins.

use std::str::FromStr;

use pensa_core::{Error, Result};

/// The skill, as a template for [`super::owned`].
pub(super) const SKILL: &str = include_str!("content/SKILL.md");
pub(super) const OPENCODE_PLUGIN: &str = include_str!("content/opencode.ts");
pub(super) const PI_EXTENSION: &str = include_str!("content/pi.ts");

/// What `CLAUDE.md` and the like need to include the instructions.
pub(super) const IMPORT: &str = "@AGENTS.md";

const MINIMAL: &str = "Work is tracked with `pn`. Run `pn prime` first, unless its text is in your context already.";

const STANDARD: &str = "\
## Issues and memory

This project keeps its issues, decisions and learnings in Pensa; the command is `pn`. Run `pn prime` before you begin,
unless its text is in your context already: it says how to use `pn` and where your work stands. Keep plans, findings and
open ends there, where the next agent finds them, instead of in files of your own.";

const TEAM: &str = "\
Several agents and people work here at once:
- Claim an issue before you change anything for it, for a limited time: `pn claim ID --ttl 30m`. Renew with
  `pn heartbeat ID`, and give back what you do not finish with `pn release ID`.
- Leave alone what others hold. `pn comment add ID TEXT` on their issue reaches them.
- Read the comments of an issue before you begin, and leave one when you stop: what you did, what is open, what you
  would try next.";

/// How much the instructions say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// One line, and no skill
    Minimal,
    Standard,
    /// Also how several share the work
    Team,
}

impl FromStr for Profile {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("invalid profile: {name:?}")).hint(format!("one of {names}"))
        })
    }
}

impl Profile {
    pub const ALL: [Self; 3] = [Self::Minimal, Self::Standard, Self::Team];

    pub fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Standard => "standard",
            Self::Team => "team",
        }
    }

    /// The section of an instructions file.
    pub(super) fn section(self) -> String {
        match self {
            Self::Minimal => MINIMAL.to_owned(),
            Self::Standard => STANDARD.to_owned(),
            Self::Team => format!("{STANDARD}\n\n{TEAM}"),
        }
    }
}

/// Every line that a section can have, to tell ours from a person's.
pub(super) fn section_lines() -> Vec<&'static str> {
    [MINIMAL, STANDARD, TEAM, IMPORT].into_iter().flat_map(str::lines).collect()
}
