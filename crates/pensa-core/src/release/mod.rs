//! The release: something that was shipped, with its version and issues.
//!
//! [`changelog()`] formats releases as Markdown.

mod changelog;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entity;
use crate::error::{Code, Error, Result};
use crate::id::{IssueId, ReleaseId};
use crate::issue::Extra;
use crate::sync::SyncEntity;
use crate::text;
use crate::time::Timestamp;
use crate::work::WorkKind;

pub use changelog::{ClosedIssue, changelog};

/// Maximum length of a version, in bytes.
const VERSION_BYTES: usize = 100;
/// Maximum number of issues per release.
pub const MAX_ISSUES: usize = 1000;

/// Something that was shipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Release {
    pub id: ReleaseId,
    pub name: String,
    /// What is shipped together has the same
    pub version: String,
    pub kind: WorkKind,
    /// What was done in it
    #[serde(default)]
    pub issues: Vec<IssueId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    pub actor: String,
    pub shipped_at: Timestamp,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(Release: "release" in "releases", keys 1 {
    id, name, version, kind, issues: List, notes, actor, shipped_at, extra: Extra,
});

/// A field name that the answer of `pn ship` uses for another value.
const RESERVED: &str = "open";

impl SyncEntity for Release {
    fn normalise(self) -> Result<Self> {
        text::existing_title("name", &self.name)?;
        check_version(&self.version)?;
        text::fits_line("actor", &self.actor)?;
        text::fits_block("notes", self.notes.as_deref().unwrap_or_default())?;
        check_issues(&self.issues)?;
        if self.extra.contains_key(RESERVED) {
            return Err(Error::invalid(format!("{RESERVED} is not a field of a release")));
        }
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }
}

/// Refuses a version that is not one word of safe characters.
pub fn check_version(version: &str) -> Result<()> {
    let starts_well = version.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-+_".contains(&byte);
    if starts_well && version.len() <= VERSION_BYTES && version.bytes().all(plain) {
        return Ok(());
    }
    let shown: String = version.chars().take(VERSION_BYTES).collect();
    Err(Error::invalid(format!("not a version: {shown:?}")).hint("such as 1.2.0, of letters, digits and .-+_"))
}

pub fn check_issues(issues: &[IssueId]) -> Result<()> {
    if issues.len() <= MAX_ISSUES {
        return Ok(());
    }
    let message = format!("a release of {} issues is too large: at most {MAX_ISSUES}", issues.len());
    Err(Error::new(Code::TooLarge, message).hint("ship it in parts of the same version"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn versions_are_checked() {
        for good in ["1", "1.2.0", "v1.2.0-rc.1+build_7", "2026-02"] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "1 2", "-1", "../x", "1\n", "1\u{1b}", "é", "1](x)", &"1".repeat(101)] {
            let error = check_version(bad).expect_err(bad);
            assert!(error.hint.is_some() && error.message.len() < 1000);
        }
    }

    #[test]
    fn imported_release_is_checked_and_keeps_unknown_fields() {
        let release = |field: &str, value: Value| {
            let mut record = json!({"id": "rel-1", "name": "n", "version": "1.0", "kind": "feature", "actor": "a",
                "shipped_at": "2026-01-01T00:00:00.000Z"});
            record[field] = value;
            serde_json::from_value::<Release>(record)
                .map_err(|e| Error::invalid(e.to_string()))
                .and_then(SyncEntity::normalise)
        };
        assert_eq!(release("tagged", json!("v1")).expect("fine").extra["tagged"], "v1");
        let many: Vec<String> = (0..=MAX_ISSUES).map(|n| format!("pn-{n}")).collect();
        for (field, bad) in [
            ("kind", json!("miracle")),
            ("version", json!("1 2")),
            ("name", json!(" ")),
            ("name", json!("a\u{1b}[2J")),
            ("notes", json!("x".repeat(text::TEXT_BYTES + 1))),
            ("issues", json!(many)),
            ("issues", json!(["a b"])),
            ("open", json!(1)),
        ] {
            assert!(release(field, bad).is_err(), "{field}");
        }
    }
}
