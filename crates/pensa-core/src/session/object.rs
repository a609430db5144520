//! JSON objects that callers bring: how they are read, how large and how deep they may be.
//!
//! What stands in them is left to whoever uses them.

use std::io;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Code, Error, Result};

/// A JSON object of somebody else's making, kept as it is.
pub type Object = Map<String, Value>;

/// Largest descriptor, permissions, tokens or stats, in bytes of JSON text.
pub const OBJECT_BYTES: usize = 1 << 20;

/// Deepest nesting of an object, itself included.
///
/// Readers of JSON give up at 128 levels. An answer wraps an object in a list, in a record and sometimes in more, and
/// must still be readable.
pub const MAX_DEPTH: usize = 100;

/// Reads an object such as a descriptor from the JSON text of an argument.
pub fn parse(what: &str, text: &str) -> Result<Object> {
    parse_optional(what, text)?.ok_or_else(|| not_an_object(what, &Value::Null))
}

/// Reads an object of at most `limit` bytes from the JSON text of an argument.
pub fn parse_within(what: &str, text: &str, limit: usize) -> Result<Object> {
    // A hostile text must not become a tree of values many times its size before it is refused.
    if text.len() > limit.saturating_mul(2) {
        return Err(too_large(what, text.len(), limit));
    }
    match parse_value(what, text)? {
        Value::Object(object) => {
            check(what, &object, limit)?;
            Ok(object)
        }
        other => Err(not_an_object(what, &other)),
    }
}

/// Reads an object that may be taken away by `null`.
pub fn parse_optional(what: &str, text: &str) -> Result<Option<Object>> {
    match parse_value(what, text)? {
        Value::Null => Ok(None),
        Value::Object(object) => {
            check(what, &object, OBJECT_BYTES)?;
            Ok(Some(object))
        }
        other => Err(not_an_object(what, &other)),
    }
}

/// Checks that an object is neither too large nor too deep to be stored and read again.
pub fn check(what: &str, object: &Object, limit: usize) -> Result<()> {
    // Depth first: measuring the text of a bottomless object would itself be the accident.
    check_depth(what, object)?;
    let size = json_bytes(object);
    if size > limit {
        return Err(too_large(what, size, limit));
    }
    Ok(())
}

/// Checks that an object is not too deep to be read again.
pub fn check_depth(what: &str, object: &Object) -> Result<()> {
    if object.values().all(|value| is_within(value, MAX_DEPTH - 1)) {
        return Ok(());
    }
    Err(Error::invalid(format!("{what} is nested deeper than {MAX_DEPTH} levels")))
}

pub(super) fn parse_value(what: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::invalid(format!("{what} is not JSON: {error}")).hint("such as {\"key\":\"value\"}"))
}

pub(super) fn not_an_object(what: &str, value: &Value) -> Error {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    Error::invalid(format!("{what} is {kind}, not an object")).hint("objects look like {\"key\":\"value\"}")
}

pub(super) fn too_large(what: &str, size: usize, limit: usize) -> Error {
    Error::new(Code::TooLarge, format!("{what} has {size} bytes; the limit is {limit}"))
}

/// Whether a value has at most so many levels.
pub(super) fn is_within(value: &Value, levels: usize) -> bool {
    let below = |value: &Value| levels > 0 && is_within(value, levels - 1);
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(below),
        Value::Object(object) => levels > 0 && object.values().all(below),
        _ => true,
    }
}

/// How long the JSON text of a value is, without writing it.
pub(super) fn json_bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value that has no JSON text must not pass for a small one.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels))
    }

    #[test]
    fn objects_are_read_and_everything_else_is_named() {
        assert_eq!(
            parse("descriptor", r#" {"a":[1]} "#).expect("an object"),
            *json!({"a": [1]}).as_object().expect("one")
        );
        for (text, told) in [
            ("", "descriptor is not JSON"),
            ("{\"a\":1} x", "descriptor is not JSON"),
            ("{a:1}", "descriptor is not JSON"),
            ("null", "descriptor is null, not an object"),
            ("true", "descriptor is a boolean, not an object"),
            ("7", "descriptor is a number, not an object"),
            ("\"x\"", "descriptor is a string, not an object"),
            ("[]", "descriptor is a list, not an object"),
        ] {
            let error = parse("descriptor", text).expect_err(text);
            assert_eq!(error.code, Code::InvalidInput, "{text}");
            assert!(error.message.starts_with(told), "{text}: {error}");
            assert!(error.hint.is_some(), "{text}");
        }
        assert_eq!(parse_optional("tokens", "null").expect("absent"), None);
        assert!(parse_optional("tokens", "[]").is_err());
    }

    #[test]
    fn a_large_object_is_refused_with_the_limit_named() {
        let of = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
        assert!(parse("stats", &of(OBJECT_BYTES)).is_ok());
        let error = parse("stats", &of(OBJECT_BYTES + 1)).expect_err("too large");
        assert_eq!(error.code, Code::TooLarge);
        assert_eq!(error.message, "stats has 1048577 bytes; the limit is 1048576");
    }

    #[test]
    fn a_deep_object_is_refused_however_it_was_made() {
        assert!(parse("stats", &nested(MAX_DEPTH)).is_ok());
        for levels in [MAX_DEPTH + 1, 127, 128, 100_000] {
            assert_eq!(parse("stats", &nested(levels)).expect_err("too deep").code, Code::InvalidInput, "{levels}");
        }
        let mut made = json!(1);
        for _ in 0..1_000 {
            made = json!([made]);
        }
        let made = Object::from_iter([("a".to_owned(), made)]);
        assert!(check("stats", &made, OBJECT_BYTES).is_err());
    }

    #[test]
    fn the_length_of_json_is_that_of_its_text() {
        for value in [json!({}), json!({"é\n": [1.5, null, "\u{1b}"]}), json!("x"), json!([[], {}])] {
            assert_eq!(json_bytes(&value), value.to_string().len());
        }
    }
}
