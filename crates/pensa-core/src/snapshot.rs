//! How a snapshot of a directory tree can be kept.
//!
//! Taking, proving and restoring one is left to `pensa-snapshot`.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What keeps the content of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Provider {
    /// A commit that only a ref under refs/pensa/ holds
    Git,
    /// A copy of the files, sharing their blocks where the file system can
    Copy,
    /// A read-only snapshot of a btrfs subvolume
    Btrfs,
    /// A snapshot of a ZFS dataset
    Zfs,
    /// A copy of what an overlay mount has above its lower layers
    Overlay,
}

impl Provider {
    pub const ALL: [Provider; 5] = [Provider::Git, Provider::Copy, Provider::Btrfs, Provider::Zfs, Provider::Overlay];

    pub fn as_str(self) -> &'static str {
        match self {
            Provider::Git => "git",
            Provider::Copy => "copy",
            Provider::Btrfs => "btrfs",
            Provider::Zfs => "zfs",
            Provider::Overlay => "overlay",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Self::ALL.into_iter().find(|provider| provider.as_str() == text);
        named.ok_or_else(|| {
            Error::invalid(format!("unknown snapshot provider: {text}")).hint("one of git, copy, btrfs, zfs, overlay")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_has_one_spelling_everywhere() {
        for provider in Provider::ALL {
            assert_eq!(serde_json::to_value(provider).expect("serialises"), provider.as_str());
            assert_eq!(provider.as_str().parse(), Ok(provider));
            let flag = provider.to_possible_value().expect("a value");
            assert_eq!(flag.get_name(), provider.as_str());
        }
        let refused = "Git".parse::<Provider>().expect_err("not a spelling");
        assert_eq!(refused.message, "unknown snapshot provider: Git");
    }
}
