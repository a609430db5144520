//! External references: where else an issue is known.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::entity::{Attach, Attached};
use crate::id::{IssueRef, id};
use crate::{Error, Result, attached, op::op, text};

id!(RefId "rf-");

/// What an issue is called elsewhere.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ref {
    #[serde(flatten)]
    pub of: Attached<RefId>,
    /// An address (`https://…`), or the name of a tracker and a key in it (`linear:PRJ-123`)
    pub target: String,
    pub title: Option<String>,
}

attached!(Ref: "ref" in "refs", checked);

fn checked(mut new: Ref) -> Result<Ref> {
    new.target = text::line("reference", &new.target)?.to_owned();
    new.title = text::optional_line("title", new.title.as_ref())?;
    let has_both = new.target.split_once(':').is_some_and(|(kind, key)| !kind.is_empty() && !key.is_empty());
    if has_both && !new.target.contains(char::is_whitespace) {
        return Ok(new);
    }
    let error = Error::invalid(format!("{:?} is neither an address nor the key of a tracker", new.target));
    Err(error.hint("https://… or linear:PRJ-123"))
}

/// Note where else an issue is known
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub id: IssueRef,
    /// An address, or the name of a tracker and a key in it: linear:PRJ-123
    #[arg(value_name = "URL_OR_KEY")]
    pub target: String,
    /// What it is called there
    #[arg(long)]
    pub title: Option<String>,
}

/// List where else an issue is known
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub id: IssueRef,
}

/// Remove an external reference
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Which reference; pn ref list shows the ids
    #[arg(value_name = "ID")]
    pub id: RefId,
}

op!(Add => Ref, "ref.add", post("/issues/{id}/refs").creates(), Write);
op!(List => Vec<Ref>, "ref.list", get("/issues/{id}/refs"), Read);
op!(Remove => Ref, "ref.remove", delete("/refs/{id}"), Write);

impl Attach<RefId> for Add {
    fn attach(&self, of: Attached<RefId>) -> Result<Ref> {
        checked(Ref { of, target: self.target.clone(), title: self.title.clone() })
    }
}
