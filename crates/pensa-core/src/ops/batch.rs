//! The operation that runs many operations in one transaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::op::{Op, op};

/// Run many operations in one transaction: all of them happen, or none
///
/// Each operation is a JSON object with `op`, the operation's name, and its fields. An operation may name what it
/// creates with `"as":"login"`; later ones refer to its id as `"@login"`. A null stands for a blank line: it does
/// nothing and has no result, but counts when an error names a line.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    pub operations: Vec<Option<Map<String, Value>>>,
}

impl Batch {
    /// Appends an operation.
    pub fn push<O: Op>(&mut self, op: &O) -> Result<()> {
        let Value::Object(mut fields) = serde_json::to_value(op).map_err(Error::internal)? else {
            return Err(Error::internal(format!("{} has no fields", O::NAME)));
        };
        fields.insert("op".to_owned(), O::NAME.into());
        self.operations.push(Some(fields));
        Ok(())
    }

    /// Appends an operation; later ones refer to the issue that it makes by `@name`.
    pub fn push_as<O: Op>(&mut self, name: &str, op: &O) -> Result<()> {
        self.push(op)?;
        if let Some(Some(fields)) = self.operations.last_mut() {
            fields.insert("as".to_owned(), name.into());
        }
        Ok(())
    }
}

/// The error of a batch without its line, and the index of the operation that failed; for a caller whose user sees no
/// lines.
pub fn failed_operation(error: &Error) -> Option<(usize, Error)> {
    let (line, message) = error.message.strip_prefix("line ")?.split_once(": ")?;
    let at = line.parse::<usize>().ok()?.checked_sub(1)?;
    Some((at, Error { message: message.to_owned(), ..error.clone() }))
}

/// Maximum number of operations in one batch.
pub const MAX_OPERATIONS: usize = 10_000;

// One result for each operation, in order; none for a blank line.
op!(Batch => Vec<Value>, "batch", post("/batch"), Write, {
    /// Each operation is redacted separately.
    const VERBATIM: &'static [&'static str] = &["*"];
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::issue::{Close, Create};

    #[test]
    fn operations_are_pushed_with_their_names() {
        let mut batch = Batch::default();
        batch.push_as("a", &Create::of("x", crate::issue::IssueType::Task)).expect("fields");
        let close = Close { id: "@a".parse().expect("a reference"), reason: None, duplicate_of: None, force: false };
        batch.push(&close).expect("fields");
        let [Some(create), Some(close)] = &batch.operations[..] else { panic!("two: {batch:?}") };
        assert_eq!((&create["op"], &create["as"]), (&"issue.create".into(), &"a".into()));
        assert_eq!((&close["op"], &close["id"], close.get("as")), (&"issue.close".into(), &"@a".into(), None));
    }

    #[test]
    fn the_failed_operation_is_known_from_the_error() {
        let error = Error::not_found("issue", "pn-1").within("line 3").hint("look");
        let (at, bare) = failed_operation(&error).expect("a line");
        assert_eq!((at, bare), (2, Error::not_found("issue", "pn-1").hint("look")));
        for other in ["no line", "line x: y", "line 0: y", "line 3"] {
            assert!(failed_operation(&Error::invalid(other)).is_none(), "{other}");
        }
    }
}
