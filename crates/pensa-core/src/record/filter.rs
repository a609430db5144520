//! Filters records by tests of their fields, and parses the text form of tests.
//!
//! A test matches only values of its own kind, so that `n<5` matches numbers and no texts. A missing field counts as null.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde_json::Value;

use super::value::{self, Range, compare};
use super::{Record, check_field};
use crate::error::{Code, Error, Result};
use crate::text::fold;
use crate::text_form::serde_as_text;

/// Maximum number of values in one test.
pub const MAX_VALUES: usize = 1000;
/// Maximum number of tests in one query.
pub const MAX_FILTERS: usize = 32;

/// A test of a field. Written as `status=running`, `n>=5`, `title~word`, `kind in ["a","b"]` or `parent is null`; a
/// value that is not JSON is a string.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(inline, with = "String")]
pub struct Filter {
    pub field: String,
    pub test: Test,
}

/// The condition on a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    Eq(Value),
    /// Present, not null, and a different value.
    Ne(Value),
    Lt(Value),
    Lte(Value),
    Gt(Value),
    Gte(Value),
    /// A text that contains this text, ignoring case, or a list that contains this value.
    Contains(Value),
    IsNull,
    IsNotNull,
    OneOf(Vec<Value>),
}

impl Filter {
    fn new(field: impl Into<String>, test: Test) -> Self {
        Self { field: field.into(), test }
    }

    /// The field has this value. A missing field counts as null.
    pub fn eq(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Test::Eq(value.into()))
    }

    /// The field is not null and has a different value.
    pub fn ne(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Test::Ne(value.into()))
    }

    /// The field has a smaller value of the same kind.
    pub fn lt(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Test::Lt(value.into()))
    }

    /// The field has this value, or a smaller one of the same kind.
    pub fn lte(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Test::Lte(value.into()))
    }

    /// The field has a larger value of the same kind.
    pub fn gt(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Test::Gt(value.into()))
    }

    /// The field has this value, or a larger one of the same kind.
    pub fn gte(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Test::Gte(value.into()))
    }

    /// The field is a text that contains this text, ignoring case, or a list that contains this value.
    pub fn contains(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Test::Contains(value.into()))
    }

    /// The field is missing or null.
    pub fn is_null(field: impl Into<String>) -> Self {
        Self::new(field, Test::IsNull)
    }

    /// The field has a value.
    pub fn is_not_null(field: impl Into<String>) -> Self {
        Self::new(field, Test::IsNotNull)
    }

    /// The field has one of these values.
    pub fn one_of<V: Into<Value>>(field: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        Self::new(field, Test::OneOf(values.into_iter().map(Into::into).collect()))
    }

    /// Refuses a test that cannot match anything or has too many values.
    pub fn check(&self) -> Result<()> {
        check_field(&self.field)?;
        let refused = |what: &str| Error::invalid(format!("{}: {what}", self.field));
        let scalar = |value: &Value| match value {
            Value::Array(_) | Value::Object(_) => {
                Err(refused("a value to compare with is neither a list nor an object"))
            }
            _ => Ok(()),
        };
        match &self.test {
            Test::IsNull | Test::IsNotNull => Ok(()),
            Test::Eq(value) | Test::Ne(value) => scalar(value),
            Test::Lt(Value::Null) | Test::Lte(Value::Null) | Test::Gt(Value::Null) | Test::Gte(Value::Null) => {
                Err(refused("nothing is smaller or larger than null").hint("is null and is not null ask for that"))
            }
            Test::Lt(value) | Test::Lte(value) | Test::Gt(value) | Test::Gte(value) | Test::Contains(value) => {
                scalar(value)
            }
            Test::OneOf(values) if values.len() > MAX_VALUES => {
                let message = format!("{}: {} values are too many: at most {MAX_VALUES}", self.field, values.len());
                Err(Error::new(Code::TooLarge, message))
            }
            Test::OneOf(values) => values.iter().try_for_each(scalar),
        }
    }

    /// Whether a record matches. This is the definition; searches through an index must return the same records.
    pub fn matches(&self, record: &Record) -> bool {
        let field = record.field(&self.field);
        let is = field.as_deref().unwrap_or(&Value::Null);
        let order = |with: &Value| compare(is, with);
        match &self.test {
            Test::IsNull => is.is_null(),
            Test::IsNotNull => !is.is_null(),
            Test::Eq(value) => order(value) == Some(Ordering::Equal),
            Test::Ne(value) => !is.is_null() && order(value) != Some(Ordering::Equal),
            Test::Lt(value) => order(value) == Some(Ordering::Less),
            Test::Lte(value) => order(value).is_some_and(Ordering::is_le),
            Test::Gt(value) => order(value) == Some(Ordering::Greater),
            Test::Gte(value) => order(value).is_some_and(Ordering::is_ge),
            Test::OneOf(values) => values.iter().any(|value| order(value) == Some(Ordering::Equal)),
            Test::Contains(part) => contains(is, part),
        }
    }

    /// The index keys that matching values can have. Other values may have them too; see
    /// [`is_decided_by_keys`](Self::is_decided_by_keys).
    pub fn keys(&self) -> Keys {
        let of = |value: &Value| value::key(Some(value));
        let from_to = |(from, _): Range, (_, to): Range| Keys::Between((from, to));
        match &self.test {
            Test::IsNull => Keys::AnyOf(vec![value::NULL.to_owned()]),
            Test::Eq(value) => Keys::AnyOf(vec![of(value)]),
            Test::OneOf(values) => {
                let mut keys: Vec<String> = values.iter().map(of).collect();
                keys.sort_unstable();
                keys.dedup();
                Keys::AnyOf(keys)
            }
            Test::IsNotNull | Test::Ne(_) => Keys::Between(value::not_null()),
            Test::Lt(value) | Test::Lte(value) => {
                let key = of(value);
                from_to(value::kind_of(&key), value::only(&key))
            }
            Test::Gt(value) | Test::Gte(value) => {
                let key = of(value);
                from_to(value::only(&key), value::kind_of(&key))
            }
            Test::Contains(_) => Keys::Any,
        }
    }

    /// Whether every value with one of the keys matches, so that the value itself need not be compared.
    pub fn is_decided_by_keys(&self) -> bool {
        let is_exact = |value: &Value| value::is_exact(&value::key(Some(value)));
        match &self.test {
            Test::IsNull | Test::IsNotNull => true,
            Test::Eq(value) | Test::Lte(value) | Test::Gte(value) => is_exact(value),
            Test::OneOf(values) => values.iter().all(is_exact),
            Test::Ne(_) | Test::Lt(_) | Test::Gt(_) | Test::Contains(_) => false,
        }
    }
}

/// A superset of the keys of all matching values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keys {
    AnyOf(Vec<String>),
    Between(Range),
    Any,
}

fn contains(is: &Value, part: &Value) -> bool {
    match (is, part) {
        (Value::String(text), Value::String(part)) => fold(text).contains(&fold(part)),
        (Value::Array(items), part) => items.iter().any(|item| compare(item, part) == Some(Ordering::Equal)),
        _ => false,
    }
}

/// Whether a record matches every test.
pub fn all_match(filters: &[Filter], record: &Record) -> bool {
    filters.iter().all(|filter| filter.matches(record))
}

/// Refuses invalid tests and too many of them.
pub fn check_all(filters: &[Filter]) -> Result<()> {
    if filters.len() > MAX_FILTERS {
        return Err(Error::new(Code::TooLarge, format!("{} tests are too many: at most {MAX_FILTERS}", filters.len())));
    }
    filters.iter().try_for_each(Filter::check)
}

/// The first characters of the operators.
const OPERATORS: [char; 5] = ['=', '!', '<', '>', '~'];

serde_as_text!(Filter);

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |c: char| !c.is_whitespace() && c != '"' && !OPERATORS.contains(&c);
        if !self.field.is_empty() && self.field.chars().all(is_plain) {
            f.write_str(&self.field)?;
        } else {
            write!(f, "{}", Value::from(self.field.as_str()))?;
        }
        match &self.test {
            Test::IsNull => f.write_str(" is null"),
            Test::IsNotNull => f.write_str(" is not null"),
            Test::Eq(value) => write!(f, "={value}"),
            Test::Ne(value) => write!(f, "!={value}"),
            Test::Lt(value) => write!(f, "<{value}"),
            Test::Lte(value) => write!(f, "<={value}"),
            Test::Gt(value) => write!(f, ">{value}"),
            Test::Gte(value) => write!(f, ">={value}"),
            Test::Contains(value) => write!(f, "~{value}"),
            Test::OneOf(values) => write!(f, " in {}", Value::from(values.clone())),
        }
    }
}

impl FromStr for Filter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            let shown: String = text.chars().take(80).collect();
            Error::invalid(format!("not a test of a field: {shown:?}"))
                .hint("such as status=running, n>=5, title~word, kind in [\"a\",\"b\"] or 'parent is null'")
        };
        let (field, rest) = split_field(text.trim()).ok_or_else(bad)?;
        let rest = rest.trim_start();
        let test = match rest {
            "is null" => Test::IsNull,
            "is not null" => Test::IsNotNull,
            rest => {
                let (make, value) = operator(rest).ok_or_else(bad)?;
                make(value.trim()).ok_or_else(bad)?
            }
        };
        let filter = Self { field, test };
        filter.check()?;
        Ok(filter)
    }
}

/// Splits a test into its field and the rest.
fn split_field(text: &str) -> Option<(String, &str)> {
    if text.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let field = values.next()?.ok()?;
        return Some((field, &text[values.byte_offset()..]));
    }
    let end = text.find(|c: char| c.is_whitespace() || OPERATORS.contains(&c))?;
    Some((text[..end].to_owned(), &text[end..]))
}

type Make = fn(&str) -> Option<Test>;

/// The constructor for the operator at the start, and the text after the operator.
fn operator(rest: &str) -> Option<(Make, &str)> {
    let table: [(&str, Make); 9] = [
        ("==", |text| Some(Test::Eq(read(text)))),
        ("!=", |text| Some(Test::Ne(read(text)))),
        ("<=", |text| Some(Test::Lte(read(text)))),
        (">=", |text| Some(Test::Gte(read(text)))),
        ("=", |text| Some(Test::Eq(read(text)))),
        ("<", |text| Some(Test::Lt(read(text)))),
        (">", |text| Some(Test::Gt(read(text)))),
        ("~", |text| Some(Test::Contains(read(text)))),
        ("in ", |text| serde_json::from_str(text).ok().map(Test::OneOf)),
    ];
    table.into_iter().find_map(|(sign, make)| Some((make, rest.strip_prefix(sign)?)))
}

/// Parses a value: JSON, or else a text without quotes.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(data: Value) -> Record {
        let Value::Object(data) = data else { panic!("an object") };
        let updated_at = "2026-02-27T14:30:00.000Z".parse().expect("a time");
        Record { collection: "c".into(), id: "r".into(), rev: 1, updated_at, data }
    }

    #[test]
    fn every_test_matches_as_documented() {
        let record = record(json!({
            "s": "Running", "n": 5, "f": 2.5, "t": true, "z": null, "l": ["a", 1, null], "o": {"x": "y"}
        }));
        for (text, passes) in [
            ("s=Running", true),
            ("s=running", false),
            ("s==Running", true),
            ("s=\"Running\"", true),
            ("s!=x", true),
            ("s!=Running", false),
            ("s!=5", true),
            ("z!=x", false),
            ("missing!=x", false),
            ("l!=x", true),
            ("n=5", true),
            ("n=5.0", true),
            ("n=\"5\"", false),
            ("n<6", true),
            ("n<5", false),
            ("n<=5", true),
            ("n>4.9", true),
            ("n>5", false),
            ("n>=5", true),
            ("n<abc", false),
            ("s<z", true),
            ("s>Q", true),
            ("s>5", false),
            ("t=true", true),
            ("t>false", true),
            ("t=1", false),
            ("z is null", true),
            ("missing is null", true),
            ("s is null", false),
            ("s is not null", true),
            ("z is not null", false),
            ("l is not null", true),
            ("z=null", true),
            ("missing=null", true),
            ("s!=null", true),
            ("z!=null", false),
            ("s~UNN", true),
            ("s~x", false),
            ("s~5", false),
            ("n~5", false),
            ("l~a", true),
            ("l~1", true),
            ("l~A", false),
            ("l~null", true),
            ("l~2", false),
            ("o~x", false),
            ("s~\"\"", true),
            ("missing~\"\"", false),
            ("n in [1,5]", true),
            ("n in [1,\"5\"]", false),
            ("n in []", false),
            ("missing in [null]", true),
            ("o.x=y", true),
            ("\"o.x\" = y", true),
            ("id=r", true),
            ("id in [\"r\"]", true),
            ("updated_at>2026-01-01", true),
            ("updated_at>2027", false),
        ] {
            let filter: Filter = text.parse().expect(text);
            assert_eq!(filter.matches(&record), passes, "{text}");
            assert_eq!(filter.to_string().parse::<Filter>().expect("again"), filter, "{text}");
        }
    }

    #[test]
    fn what_is_no_test_is_refused() {
        for bad in [
            "",
            "=",
            "status",
            "=x",
            "status running",
            "a is",
            "a in x",
            "a in [[1]]",
            "a=[1]",
            "a={}",
            "a<null",
            "a~{}",
            "\"a",
            "\"\"=1",
            "a\u{1b}=1",
        ] {
            let error = bad.parse::<Filter>().expect_err(bad);
            assert_eq!(error.code, Code::InvalidInput, "{bad}");
        }
        let many = format!("a in [{}1]", "1,".repeat(MAX_VALUES));
        assert_eq!(many.parse::<Filter>().expect_err("many").code, Code::TooLarge);
        assert!(many.len() > 100 && "x".repeat(100_000).parse::<Filter>().is_err());
    }

    #[test]
    fn a_test_is_written_as_it_is_read_whatever_its_field_and_value() {
        for field in ["a", "a b", "a=b", "\"", "is null", "é!", "a.b"] {
            for value in
                [json!("x"), json!(" x "), json!("5"), json!(5), json!(true), json!(null), json!("\"\\"), json!("\n")]
            {
                for filter in [
                    Filter::eq(field, value.clone()),
                    Filter::ne(field, value.clone()),
                    Filter::contains(field, value.clone()),
                    Filter::one_of(field, [value.clone(), json!(1)]),
                    Filter::is_null(field),
                    Filter::is_not_null(field),
                ] {
                    let text = filter.to_string();
                    assert_eq!(text.parse::<Filter>().expect(&text), filter, "{text}");
                }
            }
        }
    }

    #[test]
    fn keys_have_every_value_that_passes() {
        let values = [
            json!(null),
            json!(false),
            json!(true),
            json!(-1),
            json!(0),
            json!(1.5),
            json!(7),
            json!(""),
            json!("a"),
            json!("b"),
            json!("x".repeat(600)),
            json!(format!("{}y", "x".repeat(600))),
            json!([1]),
            json!({}),
        ];
        let scalars = || values.iter().filter(|value| !value.is_array() && !value.is_object());
        let mut filters = vec![Filter::is_null("a"), Filter::is_not_null("a")];
        for value in scalars() {
            let of = |test: fn(Value) -> Test| Filter::new("a", test(value.clone()));
            filters.extend([
                of(Test::Eq),
                of(Test::Ne),
                of(Test::Contains),
                Filter::one_of("a", [value.clone(), json!(7)]),
            ]);
            if !value.is_null() {
                filters.extend([of(Test::Lt), of(Test::Lte), of(Test::Gt), of(Test::Gte)]);
            }
        }
        for filter in &filters {
            for value in &values {
                let record = record(json!({ "a": value }));
                let key = record.key("a");
                let among = match filter.keys() {
                    Keys::Any => true,
                    Keys::AnyOf(keys) => keys.contains(&key),
                    Keys::Between((from, to)) => from <= key && key < to,
                };
                assert!(among || !filter.matches(&record), "{filter} {value}");
                if filter.is_decided_by_keys() {
                    assert_eq!(among, filter.matches(&record), "{filter} {value}");
                }
            }
        }
    }
}
