//! Reads and checks JSON objects with caller-defined content: their size and nesting are limited.

use std::io;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Code, Error, Result};

/// A JSON object that Pensa stores without interpreting it.
pub type Object = Map<String, Value>;

/// Maximum size of a descriptor, permissions, tokens or stats, in bytes of JSON.
pub const OBJECT_BYTES: usize = 1 << 20;

/// Maximum nesting of an object, including itself.
///
/// serde_json stops at 128 levels, and answers wrap the object in a record, a list and sometimes more.
pub const MAX_DEPTH: usize = 100;

/// Parses an object, such as a descriptor, from the JSON text of an argument.
pub fn parse(what: &str, text: &str) -> Result<Object> {
    parse_optional(what, text)?.ok_or_else(|| not_an_object(what, &Value::Null))
}

/// Parses an object of at most `limit` bytes from the JSON text of an argument.
pub fn parse_within(what: &str, text: &str, limit: usize) -> Result<Object> {
    // Check before parsing: the parsed tree can take many times the size of the text.
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

/// Parses an object; `null` gives `None`.
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

/// Checks the size and nesting of an object.
pub fn check(what: &str, object: &Object, limit: usize) -> Result<()> {
    // Check the nesting first, because measuring the size recurses.
    check_depth(what, object)?;
    let size = json_bytes(object);
    if size > limit {
        return Err(too_large(what, size, limit));
    }
    Ok(())
}

/// Checks the nesting of an object.
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

/// Whether a value is nested at most `levels` deep.
pub(super) fn is_within(value: &Value, levels: usize) -> bool {
    let below = |value: &Value| levels > 0 && is_within(value, levels - 1);
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(below),
        Value::Object(object) => levels > 0 && object.values().all(below),
        _ => true,
    }
}

/// The length of a value as JSON, without building the text.
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
    // A value that cannot be serialised must not count as small.
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
    fn anything_but_an_object_is_refused_by_its_kind() {
        assert_eq!(
            parse("descriptor", r#" {"a":[1]} "#).expect("an object"),
            *json!({"a": [1]}).as_object().expect("one")
        );
        for (text, expected) in [
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
            assert!(error.message.starts_with(expected), "{text}: {error}");
            assert!(error.hint.is_some(), "{text}");
        }
        assert_eq!(parse_optional("tokens", "null").expect("absent"), None);
        assert!(parse_optional("tokens", "[]").is_err());
    }

    #[test]
    fn error_for_a_large_object_names_the_limit() {
        let of = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
        assert!(parse("stats", &of(OBJECT_BYTES)).is_ok());
        let error = parse("stats", &of(OBJECT_BYTES + 1)).expect_err("too large");
        assert_eq!(error.code, Code::TooLarge);
        assert_eq!(error.message, "stats has 1048577 bytes; the limit is 1048576");
    }

    #[test]
    fn deeply_nested_object_is_refused() {
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
    fn json_bytes_equals_the_length_of_the_text() {
        for value in [json!({}), json!({"é\n": [1.5, null, "\u{1b}"]}), json!("x"), json!([[], {}])] {
            assert_eq!(json_bytes(&value), value.to_string().len());
        }
    }
}
