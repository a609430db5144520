//! The loop: work that an agent does in iterations, each checked by a command. Loops form a tree from a plan to specs,
//! phases and code.
//!
//! [`apply`] is the only function that changes the status of a loop. [`files`] defines the files of an iteration.

pub mod files;
mod transition;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::error::{Code, Error, Result};
use crate::id::{IssueId, LoopId};
use crate::session::Object;
use crate::text;
use crate::time::Timestamp;

pub use transition::{LoopTransition, apply};

/// The record collection of loops.
pub const COLLECTION: &str = "loops";
/// Default maximum of iterations.
pub const DEFAULT_ITERATIONS: u32 = 100;
/// Upper bound for the maximum of iterations.
pub const MAX_ITERATIONS: u32 = 1_000_000;
/// Maximum length of a path, in bytes.
const PATH_BYTES: usize = 4096;
/// Maximum number of artifacts of a loop.
const MAX_ARTIFACTS: usize = 1000;
/// Maximum length of a command, in bytes.
const COMMAND_BYTES: usize = 64 << 10;
/// Maximum size of a context, in bytes of JSON.
pub const CONTEXT_BYTES: usize = 512 << 10;

closed_enum! {
    /// The type of a loop, by what it produces.
    LoopType "invalid type of a loop: {:?}" {
        Plan "plan",
        Spec "spec",
        Phase "phase",
        Code "code",
    }
}

closed_enum! {
    /// The status of a loop.
    LoopStatus "invalid status of a loop: {:?}" {
        /// It has no runner yet
        Pending "pending",
        Running "running",
        Paused "paused",
        /// It is rebasing its work onto merged changes
        Rebasing "rebasing",
        /// Its result awaits approval
        AwaitingApproval "awaiting_approval" | "awaiting-approval",
        Complete "complete",
        Failed "failed",
        /// Its basis is no longer valid
        Invalidated "invalidated",
    }
}

impl LoopStatus {
    /// Whether the loop has ended.
    pub fn is_over(self) -> bool {
        matches!(self, LoopStatus::Complete | LoopStatus::Failed | LoopStatus::Invalidated)
    }

    /// Whether the loop has been started and has not ended.
    pub fn is_under_way(self) -> bool {
        !self.is_over() && self != LoopStatus::Pending
    }
}

/// Work in iterations.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loop {
    pub id: LoopId,
    pub loop_type: LoopType,
    /// The loop that must be complete before this one can run
    pub parent_id: Option<LoopId>,
    /// Its issue
    pub issue_id: Option<IssueId>,
    /// The artifact it starts from
    pub input_artifact: Option<String>,
    /// The files it produced
    #[serde(default)]
    pub output_artifacts: Vec<String>,
    pub prompt_path: String,
    /// The command whose exit code says whether an iteration is valid
    pub validation_command: String,
    pub max_iterations: u32,
    pub worktree: String,
    /// How many iterations were started
    pub iteration: u32,
    pub status: LoopStatus,
    /// Its progress, in words
    #[serde(default)]
    pub progress: String,
    /// Values for its prompts: any JSON
    #[serde(default)]
    pub context: Value,
    /// Why it has its status, if given
    pub reason: Option<String>,
    /// The actor that runs it, or ran it last
    pub holder: Option<String>,
    /// The machine that runs it
    pub host: Option<String>,
    /// The process that runs it
    pub pid: Option<i64>,
    /// Its position among the loops that can be claimed; absent if it cannot be claimed
    pub runnable: Option<i64>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub archived_at: Option<Timestamp>,
}

/// A loop in a tree: below the one before it that has a smaller depth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    pub depth: usize,
    #[serde(flatten)]
    pub node: Loop,
}

/// Checks a path of a loop. Only the runner of the loop uses it.
pub fn path(what: &str, given: &str) -> Result<String> {
    let given = given.trim();
    if given.is_empty() {
        return Err(Error::invalid(format!("{what} is empty")));
    }
    if given.len() > PATH_BYTES {
        return Err(Error::new(Code::TooLarge, format!("{what} has more than {PATH_BYTES} bytes")));
    }
    if given.chars().any(text::is_unsafe_to_print) {
        return Err(Error::invalid(format!("{what} contains line ends or control characters")));
    }
    Ok(given.to_owned())
}

/// Checks the validation command.
pub fn command(given: &str) -> Result<String> {
    let command = text::block("validation_command", given)?;
    if command.trim().is_empty() {
        return Err(Error::invalid("validation_command is empty").hint("true accepts every iteration"));
    }
    if command.len() > COMMAND_BYTES {
        return Err(Error::new(Code::TooLarge, format!("validation_command has more than {COMMAND_BYTES} bytes")));
    }
    Ok(command)
}

/// Checks the maximum of iterations, or returns the default.
pub fn iterations(given: Option<u32>) -> Result<u32> {
    match given.unwrap_or(DEFAULT_ITERATIONS) {
        good @ 1..=MAX_ITERATIONS => Ok(good),
        bad => Err(Error::invalid(format!("max_iterations is {bad}, not 1 to {MAX_ITERATIONS}"))),
    }
}

/// Checks the context, or returns an empty object.
pub fn context(given: Option<&Value>) -> Result<Value> {
    let given = given.filter(|given| !given.is_null());
    let context = given.cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let wrapped = serde_json::Map::from_iter([("context".to_owned(), context)]);
    crate::session::object::check("the context of a loop", &wrapped, CONTEXT_BYTES)?;
    Ok(wrapped.into_iter().next().map(|(_, context)| context).unwrap_or_default())
}

impl Loop {
    /// Adds output artifacts, without duplicates.
    pub fn add_outputs(&mut self, paths: &[String]) -> Result<()> {
        for given in paths {
            let path = path("output_artifacts", given)?;
            if !self.output_artifacts.contains(&path) {
                self.output_artifacts.push(path);
            }
        }
        if self.output_artifacts.len() > MAX_ARTIFACTS {
            let message = format!("{} would name more than {MAX_ARTIFACTS} artifacts", self.id);
            return Err(Error::new(Code::TooLarge, message).hint("name a directory of them"));
        }
        Ok(())
    }
}

/// Converts a record of another tool to a loop. Missing fields get defaults; invalid ones are refused.
pub fn import_record(record: &Object, now: Timestamp) -> Result<Loop> {
    let mut whole = Object::new();
    let defaults = [
        ("prompt_path", Value::from("")),
        ("validation_command", Value::from("")),
        ("max_iterations", Value::from(DEFAULT_ITERATIONS)),
        ("worktree", Value::from("")),
        ("iteration", Value::from(0)),
        ("updated_at", Value::from(now.to_string())),
    ];
    whole.extend(defaults.map(|(name, value)| (name.to_owned(), value)));
    // Null counts as missing.
    whole
        .extend(record.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())));
    if !whole.contains_key("created_at") {
        whole.insert("created_at".into(), whole["updated_at"].clone());
    }
    let shown = record.get("id").and_then(Value::as_str).unwrap_or("a loop").to_owned();
    let refused = |e: &dyn fmt::Display| Error::invalid(format!("{shown} is no loop: {e}"));
    let mut imported: Loop = serde_json::from_value(Value::Object(whole)).map_err(|e| refused(&e))?;
    if imported.id.as_str().starts_with('.') {
        return Err(refused(&"its id begins with a dot"));
    }
    let input = imported.input_artifact.iter().chain(&imported.output_artifacts);
    let paths = input.chain([&imported.prompt_path, &imported.worktree]).filter(|path| !path.is_empty());
    paths.map(String::as_str).try_for_each(|given| path("a path", given).map(drop)).map_err(|e| refused(&e.message))?;
    if !imported.validation_command.is_empty() {
        command(&imported.validation_command).map_err(|e| refused(&e.message))?;
    }
    iterations(Some(imported.max_iterations)).map_err(|e| refused(&e.message))?;
    text::fits_block("progress", &imported.progress).map_err(|e| refused(&e.message))?;
    imported.context = context(Some(&imported.context)).map_err(|e| refused(&e.message))?;
    imported.runnable = None;
    Ok(imported)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn enum_words_round_trip() {
        for status in LoopStatus::ALL {
            assert_eq!(json!(status), status.as_str());
            assert_eq!(status.as_str().parse::<LoopStatus>().expect("known"), status);
        }
        for kind in LoopType::ALL {
            assert_eq!(kind.as_str().parse::<LoopType>().expect("known"), kind);
        }
        assert!("done".parse::<LoopStatus>().is_err() && "loop".parse::<LoopType>().is_err());
        let over = LoopStatus::ALL.iter().filter(|status| status.is_over()).count();
        assert_eq!((over, LoopStatus::ALL.iter().filter(|status| status.is_under_way()).count()), (3, 4));
    }

    #[test]
    fn invalid_fields_are_refused() {
        for bad in ["", " ", "a\nb", "\u{1b}[2J", "\u{202E}", &"x".repeat(5000)] {
            assert!(path("p", bad).is_err(), "{bad:?}");
        }
        assert_eq!(path("p", " a/b c.md ").expect("a path"), "a/b c.md");
        assert!(command(" ").is_err() && command(&"x".repeat(COMMAND_BYTES + 1)).is_err());
        assert_eq!(command("cargo test &&\n cargo doc").expect("a command"), "cargo test &&\n cargo doc");
        assert!(iterations(Some(0)).is_err() && iterations(Some(MAX_ITERATIONS + 1)).is_err());
        assert_eq!(iterations(None).expect("a number"), DEFAULT_ITERATIONS);
        assert_eq!(context(None).expect("nothing"), json!({}));
        assert_eq!(context(Some(&json!([1, "é"]))).expect("anything"), json!([1, "é"]));
        let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
        assert!(context(Some(&deep)).is_err());
        assert_eq!(context(Some(&json!("x".repeat(CONTEXT_BYTES)))).expect_err("large").code, Code::TooLarge);
    }

    #[test]
    fn imported_loops_get_defaults_for_missing_fields() {
        let now: Timestamp = "2026-02-27T14:30:00.000Z".parse().expect("a time");
        let import = |record: Value| match record {
            Value::Object(record) => import_record(&record, now),
            _ => panic!("an object"),
        };
        let whole = import(json!({"id": "lp-1", "loop_type": "plan", "parent_id": null, "input_artifact": null,
            "output_artifacts": ["plan.md"], "prompt_path": "p.md", "validation_command": "true", "max_iterations": 3,
            "worktree": "/w", "iteration": 2, "status": "awaiting_approval", "progress": "half", "context": {"x": [1]},
            "created_at": 1_772_202_600_000_i64, "updated_at": 1_772_202_600_001_i64, "runnable": 7}))
        .expect("a loop");
        assert_eq!((whole.created_at, whole.iteration, whole.runnable), (now, 2, None));
        let bare = import(json!({"id": "lp-2", "loop_type": "code", "status": "running"})).expect("a loop");
        assert_eq!((bare.created_at, bare.max_iterations, bare.context), (now, DEFAULT_ITERATIONS, json!({})));
        for bad in [
            json!({}),
            json!({"id": "lp-1", "loop_type": "code", "status": "done"}),
            json!({"id": "../x", "loop_type": "code", "status": "failed"}),
            json!({"id": "..", "loop_type": "code", "status": "failed"}),
            json!({"id": "lp-1", "loop_type": "code", "status": "failed", "worktree": "a\nb"}),
            json!({"id": "lp-1", "loop_type": "code", "status": "failed", "max_iterations": -1}),
        ] {
            assert_eq!(import(bad.clone()).expect_err("refused").code, Code::InvalidInput, "{bad}");
        }
    }
}
