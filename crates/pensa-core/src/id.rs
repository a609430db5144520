//! Ids: how they are made from random bits, and the words by which a person names a thing.
//!
//! Whether an id exists, and which one a prefix means, is left to the engine.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Declares the id of a noun, with how those that are made here begin.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(inline, with = "String")]
        pub struct $name(String);

        impl TryFrom<String> for $name {
            type Error = $crate::Error;
            fn try_from(text: String) -> $crate::Result<Self> {
                // Nearly all are, and then there is nothing in them to refuse but their length.
                if $crate::id::is_possible(&text) && (1..=$crate::id::MAX_BYTES).contains(&text.len()) {
                    return Ok(Self(text));
                }
                $crate::id::check(&text)?;
                Err($crate::Error::invalid("id contains other characters than letters, digits and -_.:"))
            }
        }

        impl $name {
            pub const PREFIX: &str = $prefix;

            /// A new id from the random bits of a UUIDv7 (its leading digits are the same for a minute).
            pub fn from_uuid(uuid: uuid::Uuid) -> Self {
                let bytes = uuid.as_bytes();
                let random = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
                Self(format!("{}{random:08x}", Self::PREFIX))
            }

            /// The id of something that another tool kept without one: the same whenever it is read.
            pub fn from_hash(hash: u64) -> Self {
                Self(format!("{}{hash:016x}", Self::PREFIX))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<uuid::Uuid> for $name {
            fn from(uuid: uuid::Uuid) -> Self {
                Self::from_uuid(uuid)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Error;
            fn from_str(text: &str) -> $crate::Result<Self> {
                text.to_owned().try_into()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
pub(crate) use id;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {
        $(id!($(#[$doc])* $name $prefix);)*
        /// How the ids of all kinds begin.
        const PREFIXES: &[&str] = &[$($prefix),*];
    };
}

ids! {
    /// The id of an issue, such as `pn-a1b2c3d4`. Imported ids keep their own form.
    IssueId "pn-";
    /// The id of a comment; the same form as an issue's.
    CommentId "pn-";
    /// The id of a token, which is not its secret.
    TokenId "tok-";
    /// The id of a conflict between two clones.
    ConflictId "cf-";
    /// The id of an agent, such as `ag-a1b2c3d4`. Imported ids keep their own form.
    AgentId "ag-";
    /// The id of a session, such as `se-a1b2c3d4`. Imported ids keep their own form.
    SessionId "se-";
    /// The id of a run, such as `run-a1b2c3d4`.
    RunId "run-";
    /// The id of a job, such as `job-a1b2c3d4`.
    JobId "job-";
    /// The id of a repository, such as `repo-a1b2c3d4`.
    RepoId "repo-";
    /// The id of a workspace of a server.
    WorkspaceId "ws-";
    /// The id of a harness in one version.
    HarnessId "har-";
    /// The id of a runtime.
    RuntimeId "rt-";
    /// The id of a snapshot, such as `snap-a1b2c3d4`.
    SnapshotId "snap-";
    /// The id of a release, such as `rel-a1b2c3d4`.
    ReleaseId "rel-";
    /// The id of a learning, such as `ln-a1b2c3d4`.
    LearningId "ln-";
    /// The id of a loop, such as `lp-a1b2c3d4`.
    LoopId "lp-";
    /// The id of a signal, such as `sg-a1b2c3d4`.
    SignalId "sg-";
    /// The id of a record that came without one, such as `rec-a1b2c3d4`.
    RecordId "rec-";
}

/// Longest id that is accepted, so that a mistake does not become a key.
pub(crate) const MAX_BYTES: usize = 200;

/// Whether a text has only characters that are safe in a path, in a shell and on a terminal.
pub fn is_possible(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

/// Whether a text has the form of an id that Pensa makes, or of the beginning of an issue's, in any case.
pub fn looks_like_id(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let is_hex = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(digits) = text.strip_prefix(IssueId::PREFIX) {
        return is_hex(digits);
    }
    PREFIXES.iter().any(|prefix| text.strip_prefix(prefix).is_some_and(|digits| digits.len() == 8 && is_hex(digits)))
}

/// Refuses what nobody would give as an id.
pub fn check(text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::invalid("id is empty"));
    }
    if text.len() > MAX_BYTES || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Error::invalid("id is too long or contains blanks or control characters"));
    }
    Ok(())
}

macro_rules! refs {
    ($($(#[$doc:meta])* $name:ident $($id:ident)?;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                Ok(Self(text.trim().to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        $(impl From<&$id> for $name {
            fn from(id: &$id) -> Self {
                Self(id.0.clone())
            }
        })?
    )*};
}

refs! {
    /// How a caller names an issue: its id, any unique prefix of it, or in a batch `@name`.
    IssueRef IssueId;
    /// How a caller names an agent: its id, any unique prefix of it, or its name if no other has the same.
    AgentRef AgentId;
    /// How a caller names a session: its id, or any unique prefix of it.
    SessionRef SessionId;
    /// How a caller names a run: its id, or any unique prefix of it.
    RunRef RunId;
    /// How a caller names a job: its id, or any unique prefix of it.
    JobRef JobId;
    /// How a caller names a repository: its id, any unique prefix of it, or its root.
    RepoRef RepoId;
    /// How a caller names a runtime: its id, or any unique prefix of it.
    RuntimeRef;
    /// How a caller names a snapshot: its id, or any unique prefix of it.
    SnapshotRef SnapshotId;
    /// How a caller names a learning: its id, or any unique prefix of it.
    LearningRef LearningId;
    /// How a caller names a loop: its id, or any unique prefix of it.
    LoopRef LoopId;
    /// How a caller names a signal: its id, or any unique prefix of it.
    SignalRef SignalId;
    /// How a caller names whose entries are meant: a session, or an agent as in [`AgentRef`].
    EntriesRef SessionId;
}

impl IssueRef {
    /// The name an earlier line of the same batch gave, if this refers to one.
    pub fn batch_name(&self) -> Option<&str> {
        self.0.strip_prefix('@')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_from_the_random_end_of_the_uuid() {
        let a = uuid::Uuid::parse_str("018f0000-0000-7000-8000-0000a1b2c3d4").expect("a uuid");
        assert_eq!(IssueId::from_uuid(a).as_str(), "pn-a1b2c3d4");
    }

    #[test]
    fn what_looks_like_an_id_is_told_from_a_word_in_any_case() {
        for id in ["pn-a1b2", "PN-A1B2C3D4", "pn-0", "run-a1b2c3d4", "Lp-00000000"] {
            assert!(looks_like_id(id), "{id}");
        }
        for word in ["pn-", "pn-xyz", "pn", "run-added", "utf-8", "a1b2c3d4", "login", "bd-42"] {
            assert!(!looks_like_id(word), "{word}");
        }
    }

    #[test]
    fn ids_with_blanks_or_controls_are_refused() {
        for bad in ["", "a b", "a\nb", "\u{1b}", &"x".repeat(201)] {
            assert!(bad.parse::<IssueId>().is_err(), "{bad:?}");
        }
        for bad in ["pn-$(x)", "a/b", "é", "a'b", "\u{202E}"] {
            assert!(bad.parse::<IssueId>().is_err(), "{bad:?}");
        }
        assert!("bd-42.1".parse::<IssueId>().is_ok());
    }
}
