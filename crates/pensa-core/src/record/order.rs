//! The sort order of records, and the cursor with which a listing continues.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;

use super::{Record, check_field};
use crate::error::{Error, Result};
use crate::text_form::serde_as_text;

/// Sorts records by a field, and records with the same value by id, in the same direction.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(inline, with = "String")]
pub struct Order {
    pub field: String,
    pub descending: bool,
}

impl Default for Order {
    fn default() -> Self {
        Self::by("id")
    }
}

impl Order {
    /// Ascending order.
    pub fn by(field: impl Into<String>) -> Self {
        Self { field: field.into(), descending: false }
    }

    /// The same field in descending order.
    #[must_use]
    pub fn descending(self) -> Self {
        Self { descending: true, ..self }
    }

    /// Whether only the id decides.
    pub fn is_by_id(&self) -> bool {
        self.field == "id"
    }

    /// The sort key of a record: the key of the field, then the id.
    pub fn sort_key(&self, record: &Record) -> (String, String) {
        (record.key(&self.field), record.id.clone())
    }
}

serde_as_text!(Order);

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        if self.descending { f.write_str(" desc") } else { Ok(()) }
    }
}

impl FromStr for Order {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let order = if let Some(field) = text.strip_suffix(" desc") {
            Self::by(field.trim_end()).descending()
        } else {
            Self::by(text.strip_suffix(" asc").unwrap_or(text).trim_end())
        };
        check_field(&order.field)?;
        Ok(order)
    }
}

/// The position at which a listing stopped. Opaque to clients.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(inline, with = "String")]
pub struct Cursor {
    /// The order of the listing that created it.
    order: String,
    pub key: String,
    pub id: String,
}

/// Maximum length of a cursor's text.
const CURSOR_BYTES: usize = 8 << 10;

impl Cursor {
    pub fn after(order: &Order, key: String, id: String) -> Self {
        Self { order: order.to_string(), key, id }
    }

    /// Refuses a cursor from a listing in another order.
    pub fn check(&self, order: &Order) -> Result<()> {
        if self.order == order.to_string() {
            return Ok(());
        }
        Err(Error::invalid("the cursor is of a listing in another order").hint("ask with the same order as before"))
    }
}

serde_as_text!(Cursor);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = serde_json::to_string(&(&self.order, &self.key, &self.id)).map_err(|_| fmt::Error)?;
        f.write_str(&hex::encode(parts))
    }
}

impl FromStr for Cursor {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let (order, key, id) = serde_json::from_slice(&hex::decode(text).ok()?).ok()?;
            Some(Self { order, key, id })
        };
        let bad = || Error::invalid("not a cursor").hint("take the one that the listing before has given");
        if text.len() > CURSOR_BYTES {
            return Err(bad());
        }
        // Keys and ids never contain NUL, and PostgreSQL rejects it.
        read().filter(|cursor| !cursor.key.contains('\0') && !cursor.id.contains('\0')).ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_round_trips_as_text() {
        for (text, field, descending) in
            [("a", "a", false), ("a desc", "a", true), (" a.b  asc ", "a.b", false), ("desc", "desc", false)]
        {
            let order: Order = text.parse().expect(text);
            assert_eq!((order.field.as_str(), order.descending), (field, descending), "{text}");
            assert_eq!(order.to_string().parse::<Order>().expect("again"), order);
        }
        for bad in ["", " ", "a\nb", &"x".repeat(300)] {
            assert!(bad.parse::<Order>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn cursor_round_trips_and_belongs_to_its_order() {
        let order = Order::by("status").descending();
        let cursor = Cursor::after(&order, "4\u{1}\u{1}é".into(), "lp-1".into());
        assert_eq!(cursor.to_string().parse::<Cursor>().expect("a cursor"), cursor);
        assert!(cursor.check(&order).is_ok() && cursor.check(&Order::default()).is_err());
        for bad in ["", "0", "zz", "5b5d", "é", "5b22", &"00".repeat(9000)] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad:?}");
        }
    }
}
