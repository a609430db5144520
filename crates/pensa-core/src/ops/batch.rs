//! The operation that runs many operations in one transaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::op::op;

/// Run many operations in one transaction: all of them happen, or none
///
/// Each operation is a JSON object with `op`, the operation's name, and its fields. An operation may name what it
/// creates with `"as":"login"`; later ones refer to its id as `"@login"`. A null stands for a blank line: it does
/// nothing and has no result, but counts when an error names a line.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    pub operations: Vec<Option<Map<String, Value>>>,
}

/// Maximum number of operations in one batch.
pub const MAX_OPERATIONS: usize = 10_000;

// One result for each operation, in order; none for a blank line.
op!(Batch => Vec<Value>, "batch", post("/batch"), Write, {
    /// Each operation is redacted separately.
    const VERBATIM: &'static [&'static str] = &["*"];
});
