//! The agent software of a run (harness) and its environment (runtime), and the parsers of their names.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::entity;
use crate::error::{Error, Result};
use crate::id::{HarnessId, RuntimeId};
use crate::session::Object;
use crate::text;

/// Maximum length of a harness name with its version.
const MAX_BYTES: usize = 200;
/// The version of a harness that is named without one.
const LATEST: &str = "latest";

/// A harness in one version, written `name@version`; without a version it is `latest`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, with = "String")]
pub struct HarnessName {
    name: String,
    version: String,
}

impl HarnessName {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn version(&self) -> &str {
        &self.version
    }
}

impl TryFrom<String> for HarnessName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        let (name, version) = match text.rsplit_once('@') {
            // `@scope/name` has a package scope but no version.
            Some(("", _)) | None => (text.as_str(), LATEST),
            Some(parts) => parts,
        };
        let plain = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+/@".contains(&byte))
        };
        let has_letters = name.bytes().any(|byte| byte.is_ascii_alphanumeric());
        if plain(name) && has_letters && plain(version) && !version.contains('@') && text.len() <= MAX_BYTES {
            return Ok(Self { name: name.to_owned(), version: version.to_owned() });
        }
        let shown: String = text.chars().take(MAX_BYTES).collect();
        Err(Error::invalid(format!("not a harness: {shown:?}")).hint("a name and a version, such as claude-code@2.1"))
    }
}

impl FromStr for HarnessName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.trim().to_owned().try_into()
    }
}

impl From<HarnessName> for String {
    fn from(harness: HarnessName) -> Self {
        harness.to_string()
    }
}

impl fmt::Display for HarnessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// Agent software in one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Harness {
    pub id: HarnessId,
    pub name: String,
    pub version: String,
    /// A description of it: a JSON object of your own
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

entity!(Harness: "harness" in "harnesses", keys 1 { id, name, version, metadata: Json });

/// A runtime as one word: its type, or `devcontainer:PATH` with the path of its description.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, with = "String")]
pub struct RuntimeName {
    kind: String,
    path: Option<String>,
}

impl RuntimeName {
    /// The default runtime.
    pub const LOCAL: &str = "local";
    const DEVCONTAINER: &str = "devcontainer";

    pub fn local() -> Self {
        Self { kind: Self::LOCAL.to_owned(), path: None }
    }

    pub fn kind(&self) -> &str {
        &self.kind
    }

    pub fn devcontainer_path(&self) -> Option<&str> {
        self.path.as_deref()
    }
}

impl TryFrom<String> for RuntimeName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        let (kind, path) = match text.split_once(':') {
            Some((kind, path)) => (kind, Some(text::line("the path of a devcontainer", path)?.to_owned())),
            None => (text.as_str(), None),
        };
        let starts_well = kind.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if starts_well && kind.len() <= 64 && kind.bytes().all(plain) && (path.is_none() || kind == Self::DEVCONTAINER)
        {
            return Ok(Self { kind: kind.to_owned(), path });
        }
        let shown: String = text.chars().take(MAX_BYTES).collect();
        Err(Error::invalid(format!("not a runtime: {shown:?}"))
            .hint("local, nosandbox, devcontainer, devcontainer:PATH, or another word of a-z, 0-9, - and _"))
    }
}

impl FromStr for RuntimeName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.trim().to_owned().try_into()
    }
}

impl From<RuntimeName> for String {
    fn from(runtime: RuntimeName) -> Self {
        runtime.to_string()
    }
}

impl fmt::Display for RuntimeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}:{path}", self.kind),
            None => f.write_str(&self.kind),
        }
    }
}

/// A runtime environment of runs.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Runtime {
    pub id: RuntimeId,
    /// `local`, `nosandbox`, `devcontainer`, or another
    #[serde(rename = "type")]
    pub kind: String,
    pub devcontainer_path: Option<String>,
    pub metadata: Option<Object>,
}

entity!(Runtime: "runtime" in "runtimes", keys 1 { id, type, devcontainer_path, metadata: Json });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_harness_is_a_name_and_a_version() {
        for (given, name, version) in [
            ("claude-code@2.1", "claude-code", "2.1"),
            ("claude-code", "claude-code", "latest"),
            (" codex@0.9.0-beta+1 ", "codex", "0.9.0-beta+1"),
            ("@openai/codex@1", "@openai/codex", "1"),
            ("@openai/codex", "@openai/codex", "latest"),
        ] {
            let harness: HarnessName = given.parse().expect(given);
            assert_eq!((harness.name(), harness.version()), (name, version));
            assert_eq!(harness.to_string().parse::<HarnessName>().expect("again"), harness);
        }
        for bad in ["", "@", "a@", "a b", "a@b c", "ä", "a\nb", "\u{1b}", &"a".repeat(201)] {
            let error = bad.parse::<HarnessName>().expect_err(bad);
            assert!(error.hint.is_some() && error.message.len() < 2000, "{bad:?}");
        }
    }

    #[test]
    fn only_a_devcontainer_has_a_path() {
        for good in ["local", "nosandbox", "devcontainer", "docker", "devcontainer:.devcontainer/a:b.json"] {
            let runtime: RuntimeName = good.parse().expect(good);
            assert_eq!(runtime.to_string(), good);
        }
        let runtime: RuntimeName = "devcontainer:a b".parse().expect("a path");
        assert_eq!((runtime.kind(), runtime.devcontainer_path()), ("devcontainer", Some("a b")));
        for bad in ["", "Local", "local:x", "devcontainer:", "a b", "1", "-", &"a".repeat(65)] {
            assert!(bad.parse::<RuntimeName>().is_err(), "{bad:?}");
        }
    }
}
