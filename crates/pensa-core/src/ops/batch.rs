//! Many operations as one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::op::op;

/// Run many operations in one transaction: all of them happen, or none
///
/// Each operation is a JSON object with `op`, the operation's name, and its fields. A line may name what it makes
/// with `"as":"login"`; a later line refers to its id by `"@login"`. A null stands for a blank line: it does
/// nothing and has no result, but counts when an error names a line.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    pub operations: Vec<Option<Map<String, Value>>>,
}

/// Most operations that one batch may hold.
pub const MAX_OPERATIONS: usize = 10_000;

// One result for each operation, in order; none for a blank line.
op!(Batch => Vec<Value>, "batch", post("/batch"), Write, {
    /// Each of its operations is redacted by itself.
    const VERBATIM: &'static [&'static str] = &["*"];
});
