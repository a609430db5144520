//! Views: queries with a name.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::issue::Extra;
use crate::op::op;
use crate::sync::SyncEntity;
use crate::time::Timestamp;
use crate::{Error, Result, entity, text};

/// A query with a name. Listings take `@NAME` in place of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    pub name: String,
    pub query: String,
    pub updated_at: Timestamp,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(View: "view" in "views", keys 1 { name, query, updated_at, extra: Extra });

impl SyncEntity for View {
    fn normalise(self) -> Result<Self> {
        let (name, query) = (checked_name(&self.name)?, text::line("query", &self.query)?.to_owned());
        Ok(Self { name, query, ..self })
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }
}

/// Checks the name of a view; `@` in front of it is left out.
pub fn checked_name(name: &str) -> Result<String> {
    let name = text::line("name", name)?;
    let name = name.strip_prefix('@').unwrap_or(name);
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    match name.is_empty() || !name.chars().all(is_word) {
        true => Err(Error::invalid(format!("not a name of a view: {name:?}")).hint("letters, digits, -, _ and .")),
        false => Ok(name.to_owned()),
    }
}

/// Save a query under a name, in place of an earlier one
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Save {
    /// What to call it; pn ls @NAME uses it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The query: 'status:open label:auth due<+7d'
    #[arg(value_name = "QUERY")]
    pub query: String,
}

/// List the saved queries
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {}

/// Remove a saved query
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: String,
}

op!(Save => View, "view.save", post("/views"), Write);
op!(List => Vec<View>, "view.list", get("/views"), Read);
op!(Remove => View, "view.remove", delete("/views/{name}"), Write);
