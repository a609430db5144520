//! Defines one order over all JSON values, as text keys that every database sorts the same way.
//!
//! Missing or null values come first, then false, true, numbers by value, texts by bytes, and last lists and objects,
//! which all have the same key. Keys are cut at [`KEY_CHARS`] characters: longer texts with the same beginning sort as
//! equal, but [`compare`] distinguishes them.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Maximum length of a key in characters, which fits every database's index. A limit in bytes could cut inside a
/// character and change the order.
pub const KEY_CHARS: usize = 120;

/// The key of missing and null values.
pub const NULL: &str = "0";
/// The first characters of the keys of numbers, of texts, and of lists and objects.
const NUMBER: char = '3';
const TEXT: char = '4';
const COMPOUND: &str = "5";

/// The key of a value. The byte order of keys is the order of values.
pub fn key(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => NULL.to_owned(),
        Some(Value::Bool(false)) => "1".to_owned(),
        Some(Value::Bool(true)) => "2".to_owned(),
        Some(Value::Number(number)) => number_key(number),
        Some(Value::String(text)) => text_key(text),
        Some(Value::Array(_) | Value::Object(_)) => COMPOUND.to_owned(),
    }
}

/// A half-open range of keys: from the first up to, but excluding, the second.
pub type Range = (String, String);

/// The range that contains only this key.
pub fn only(key: &str) -> Range {
    (key.to_owned(), past(key))
}

/// A text between the key and all longer keys that start with it: a key continues with at least U+0001 and another
/// character.
pub fn past(key: &str) -> String {
    format!("{key}\u{1}")
}

/// The range of all values of the same kind as the one with this key.
pub fn kind_of(key: &str) -> Range {
    match key.chars().next() {
        Some('1' | '2') => ("1".into(), NUMBER.to_string()),
        Some(NUMBER) => (NUMBER.to_string(), TEXT.to_string()),
        Some(TEXT) => (TEXT.to_string(), COMPOUND.to_owned()),
        _ => only(key),
    }
}

/// The range of all values that are present and not null.
pub fn not_null() -> Range {
    ("1".into(), past(COMPOUND))
}

/// Whether a key was not cut, so that comparing keys is the same as comparing values.
pub fn is_exact(key: &str) -> bool {
    key.len() < KEY_CHARS || key.chars().count() < KEY_CHARS
}

/// Compares two values of the same kind; `None` for different kinds, and for lists and objects.
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => Some(position(a).cmp(&position(b))),
        (Value::String(a), Value::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        _ => None,
    }
}

/// The position of a number: the bits of the largest float not above it, in sort order, and the distance to that float.
/// The distance is 0 except for large integers that a float cannot represent.
fn position(number: &Number) -> (u64, u16) {
    let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    let (float, above) = match integer {
        Some(integer) => {
            let near = integer as f64;
            let float = if near as i128 > integer { near.next_down() } else { near };
            (float, u16::try_from(integer - float as i128).unwrap_or(u16::MAX))
        }
        None => (number.as_f64().unwrap_or_default(), 0),
    };
    // Map -0.0 to 0.0.
    let bits = (float + 0.0).to_bits();
    let is_negative = bits >> 63 == 1;
    (if is_negative { !bits } else { bits | 1 << 63 }, above)
}

fn number_key(number: &Number) -> String {
    let (float, above) = position(number);
    format!("{NUMBER}{float:016x}{above:03x}")
}

/// The key of a text. Escapes NUL, which PostgreSQL rejects, in an order-preserving way.
fn text_key(text: &str) -> String {
    if text.len() < KEY_CHARS && !text.bytes().any(|byte| byte <= 1) {
        let mut key = String::with_capacity(text.len() + 1);
        key.push(TEXT);
        key.push_str(text);
        return key;
    }
    let escaped = |c: char| match c {
        '\0' => ['\u{1}', '\u{1}'].into_iter().take(2),
        '\u{1}' => ['\u{1}', '\u{2}'].into_iter().take(2),
        c => [c, c].into_iter().take(1),
    };
    std::iter::once(TEXT).chain(text.chars().flat_map(escaped)).take(KEY_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-3_i64..3).prop_map(Value::from),
            any::<f64>().prop_filter("JSON has no others", |n| n.is_finite()).prop_map(Value::from),
            (-3_i64..3).prop_map(|n| Value::from(n as f64)),
            // Around where floats no longer tell integers apart.
            (-5_i64..5).prop_map(|n| Value::from((1_i64 << 53) + n)),
            (-5_i64..5).prop_map(|n| Value::from(i64::MAX - 5 + n)),
            Just(json!(9_223_372_036_854_775_808_u64)),
            Just(json!(9_223_372_036_854_775_807_f64)),
            "[a-c\u{0}\u{1}\u{2}é\u{10FFFF}]{0,4}".prop_map(Value::from),
            "[abé\u{0}\u{1}]{115,125}".prop_map(Value::from),
            "a{115,120}[bé\u{0}\u{1}\u{10FFFF}]{0,5}".prop_map(Value::from),
        ]
    }

    proptest! {
        #[test]
        fn keys_sort_like_values(a in scalar(), b in scalar()) {
            let (ka, kb) = (key(Some(&a)), key(Some(&b)));
            prop_assert!(ka.chars().count() <= KEY_CHARS && !ka.contains('\0'));
            match compare(&a, &b) {
                Some(Ordering::Equal) => prop_assert_eq!(&ka, &kb),
                Some(order) if is_exact(&ka) || is_exact(&kb) => prop_assert_eq!(ka.cmp(&kb), order),
                Some(order) => prop_assert!(ka.cmp(&kb) == order || ka == kb),
                None => prop_assert_ne!(&ka, &kb),
            }
        }

        #[test]
        fn range_of_a_key_contains_no_other_key(a in scalar(), b in scalar()) {
            let (ka, kb) = (key(Some(&a)), key(Some(&b)));
            let (from, to) = only(&ka);
            prop_assert_eq!(from <= kb && kb < to, ka == kb);
            let (from, to) = kind_of(&ka);
            let same_kind = std::mem::discriminant(&a) == std::mem::discriminant(&b);
            prop_assert_eq!(from <= kb && kb < to, same_kind);
        }
    }

    #[test]
    fn numbers_compare_by_value_and_large_integers_are_distinct() {
        let equal =
            [(json!(1), json!(1.0)), (json!(0), json!(-0.0)), (json!(1u64 << 63), json!(9_223_372_036_854_775_808.0))];
        for (a, b) in equal {
            assert_eq!(compare(&a, &b), Some(Ordering::Equal), "{a} {b}");
        }
        let sorted = [
            json!(-1e300),
            json!(i64::MIN),
            json!(i64::MIN + 1),
            json!(-9_007_199_254_740_993_i64),
            json!(-2),
            json!(-1.5),
            json!(0),
            json!(5e-324),
            json!(0.5),
            json!(1),
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_993_i64),
            json!(i64::MAX),
            json!(9_223_372_036_854_775_808_u64),
            json!(u64::MAX - 1),
            json!(u64::MAX),
            json!(1e300),
        ];
        for pair in sorted.windows(2) {
            assert_eq!(compare(&pair[0], &pair[1]), Some(Ordering::Less), "{} {}", pair[0], pair[1]);
            assert!(key(Some(&pair[0])) < key(Some(&pair[1])));
        }
    }

    #[test]
    fn values_of_different_kinds_are_never_equal() {
        for (a, b) in
            [(json!(1), json!("1")), (json!(true), json!(1)), (json!(null), json!("")), (json!([]), json!([]))]
        {
            assert_eq!(compare(&a, &b), None, "{a} {b}");
        }
    }
}
