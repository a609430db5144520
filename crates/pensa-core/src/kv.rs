//! The key-value pair: a small value under a key in a scope.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entity;
use crate::error::{Code, Error, Result};
use crate::issue::Extra;
use crate::sync::SyncEntity;
use crate::text;
use crate::time::Timestamp;

/// Maximum size of a value, in bytes.
pub const VALUE_BYTES: usize = 1 << 20;
/// Maximum length of a scope.
const SCOPE_BYTES: usize = 200;

/// A value with its scope and key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Pair")]
pub struct KvPair {
    /// `user`, `project`, `repo`, `runtime`, or another
    pub scope: String,
    pub key: String,
    pub value: String,
    pub updated_at: Timestamp,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(KvPair: "kv" in "kv", keys 2 { scope, k = key, v = value, updated_at, extra: Extra });

impl SyncEntity for KvPair {
    fn normalise(self) -> Result<Self> {
        check_scope(&self.scope)?;
        check_key(&self.key)?;
        check_value(&self.value)?;
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }
}

/// Refuses an invalid scope.
pub fn check_scope(scope: &str) -> Result<()> {
    let starts_well = scope.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.:/".contains(&byte);
    if starts_well && scope.len() <= SCOPE_BYTES && scope.bytes().all(plain) {
        return Ok(());
    }
    let shown: String = scope.chars().take(SCOPE_BYTES).collect();
    Err(Error::invalid(format!("not a scope: {shown:?}"))
        .hint("user, project, repo, runtime, or another word of a-z, 0-9 and -_.:/"))
}

/// Refuses an invalid key: it must be one line without surrounding blanks.
pub fn check_key(key: &str) -> Result<()> {
    if key != text::line("key", key)? {
        return Err(Error::invalid("a key neither begins nor ends with blanks"));
    }
    Ok(())
}

pub fn check_value(value: &str) -> Result<()> {
    if value.contains('\0') {
        return Err(Error::invalid("a value has no NUL characters").hint("encode what is not text, as with base64"));
    }
    if value.len() <= VALUE_BYTES {
        return Ok(());
    }
    let message = format!("a value of {} bytes is too large: at most {VALUE_BYTES}", value.len());
    Err(Error::new(Code::TooLarge, message).hint("keep it in a file, and the file's name here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_plain_words() {
        for good in ["user", "project", "repo", "runtime", "repo:repo-1a2b3c4d", "x/y.z_1-2", &"a".repeat(200)] {
            assert!(check_scope(good).is_ok(), "{good}");
        }
        for bad in ["", "User", "1a", "a b", "ä", "a\n", "../x", &"a".repeat(201)] {
            let error = check_scope(bad).expect_err(bad);
            assert!(error.hint.is_some() && error.message.len() < 1000);
        }
    }

    #[test]
    fn keys_and_values_are_checked() {
        assert!(check_key("last build/ä").is_ok());
        for bad in ["", " ", " a", "a ", "a\nb", "\u{1b}", &"a".repeat(10_000)] {
            assert!(check_key(bad).is_err(), "{bad:?}");
        }
        assert!(check_value("").is_ok() && check_value("a\n\tb").is_ok());
        assert!(check_value(&"a".repeat(VALUE_BYTES)).is_ok());
        assert_eq!(check_value(&"a".repeat(VALUE_BYTES + 1)).expect_err("large").code, Code::TooLarge);
        assert!(check_value("a\0").is_err());
    }
}
