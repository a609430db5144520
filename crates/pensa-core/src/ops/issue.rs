//! Operations on issues.

mod listing;

use std::collections::BTreeMap;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{IssueId, IssueRef};
use crate::issue::{
    Created, FieldChange, Issue, IssueDetail, IssueRules, IssueTransition, IssueType, Priority, Status, Updated,
    field_object,
};
use crate::op::op;
use crate::sync::Clash;
use crate::text;
use crate::time::{Date, Span, Timestamp};

pub use listing::{Blocked, Count, Counted, Filter, Group, List, Ready, Search};

/// Create an issue
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// What it is about, in one line
    pub title: String,
    /// What kind of issue it is
    #[arg(short = 't', long = "type", alias = "issue-type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub issue_type: IssueType,
    /// How urgent it is
    #[arg(short, long, default_value = "p2")]
    #[serde(default)]
    pub priority: Priority,
    /// Who should do it
    #[arg(short, long, value_name = "NAME")]
    pub assignee: Option<String>,
    /// Stem of the spec it implements: auth for specs/auth.md
    #[arg(long, value_name = "STEM")]
    pub spec: Option<String>,
    /// The bug to close together with it
    #[arg(long, value_name = "ID")]
    pub fixes: Option<IssueRef>,
    /// Details; - reads them from standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub description: Option<String>,
    /// An issue that must be closed first; may be given again
    #[arg(long = "dep", value_name = "ID")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "dep")]
    pub deps: Vec<IssueRef>,
    /// The issue that it is a part of
    #[arg(long, value_name = "ID")]
    pub parent: Option<IssueRef>,
    /// A label; may be given again
    #[arg(short, long = "label", value_name = "LABEL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "label")]
    pub labels: Vec<String>,
    /// By when it should be closed: tomorrow, +3d, fri, 2026-12-01
    #[arg(long, value_name = "DATE", allow_hyphen_values = true)]
    pub due: Option<String>,
    /// Not ready before this date
    #[arg(long, value_name = "DATE", allow_hyphen_values = true)]
    pub defer: Option<String>,
    /// How much work it is: 30m, 4h, 2d
    #[arg(long, value_name = "TIME")]
    pub estimate: Option<Span>,
    /// What the result must meet; may be given again
    #[arg(long = "accept", value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
    /// A custom field of the project, as name=value; may be given again
    #[arg(long = "field", value_name = "NAME=VALUE")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "field_object")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub fields: Vec<FieldChange>,
    /// Where else it is known: https://… or linear:PRJ-123; may be given again
    #[arg(long = "ref", value_name = "URL_OR_KEY")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
}

impl Create {
    /// An issue with a title and a type, and nothing else.
    pub fn of(title: impl Into<String>, issue_type: IssueType) -> Self {
        Self {
            title: title.into(),
            issue_type,
            priority: Priority::default(),
            assignee: None,
            spec: None,
            fixes: None,
            description: None,
            deps: Vec::new(),
            parent: None,
            labels: Vec::new(),
            due: None,
            defer: None,
            estimate: None,
            acceptance: Vec::new(),
            fields: Vec::new(),
            refs: Vec::new(),
        }
    }

    /// An idea to be sorted out later: its first line is the title, and all of it the description if there is more.
    pub fn captured(text: &str) -> Self {
        let text = text.trim();
        let title = text.lines().next().unwrap_or_default().trim();
        let description = (title != text).then(|| text.to_owned());
        Self { description, ..Self::of(title, IssueType::Task) }
    }
}

op!(Create => Created, "issue.create", post("/issues").creates(), Write);

/// Change an issue, claim it or give it back
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// A new title
    #[arg(long)]
    pub title: Option<String>,
    /// A new status; closed closes it, open reopens a closed one
    #[arg(short, long, conflicts_with_all = ["claim", "unclaim"])]
    pub status: Option<Status>,
    /// A new priority
    #[arg(short, long)]
    pub priority: Option<Priority>,
    /// A new assignee; an empty name clears it
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["claim", "unclaim"])]
    pub assignee: Option<String>,
    /// A new description; - reads it from standard input, an empty one clears it
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub description: Option<String>,
    /// Another spec; an empty one clears it
    #[arg(long, value_name = "STEM")]
    pub spec: Option<String>,
    /// Another bug to close together with it; an empty one clears it
    #[arg(long, value_name = "ID")]
    pub fixes: Option<IssueRef>,
    /// The issue that it is a part of; an empty one clears it
    #[arg(long, value_name = "ID")]
    pub parent: Option<IssueRef>,
    /// A label to add; may be given again
    #[arg(long = "add-label", visible_alias = "label", value_name = "LABEL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_labels: Vec<String>,
    /// A label to remove; may be given again
    #[arg(long = "remove-label", value_name = "LABEL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_labels: Vec<String>,
    /// By when it should be closed: tomorrow, +3d, fri, 2026-12-01; an empty date clears it
    #[arg(long, value_name = "DATE", allow_hyphen_values = true)]
    pub due: Option<String>,
    /// Not ready before this date; an empty one clears it
    #[arg(long, value_name = "DATE", allow_hyphen_values = true)]
    pub defer: Option<String>,
    /// How much work it is: 30m, 4h, 2d; an empty time clears it
    #[arg(long, value_name = "TIME")]
    pub estimate: Option<String>,
    /// What the result must meet as well; may be given again
    #[arg(long = "accept", value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
    /// A criterion to take away, as its number or its text; may be given again
    #[arg(long = "remove-accept", value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_acceptance: Vec<String>,
    /// A custom field of the project, as name=value; name= clears it; may be given again
    #[arg(long = "field", value_name = "NAME=VALUE")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "field_object")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub fields: Vec<FieldChange>,
    /// Where else it is known: https://… or linear:PRJ-123; may be given again
    #[arg(long = "ref", value_name = "URL_OR_KEY")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
    /// Claim it: fails unless it is open
    #[arg(long, conflicts_with = "unclaim")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claim: bool,
    /// Let the claim expire unless renewed: 30s, 15m, 12h, 1d
    #[arg(long, requires = "claim", value_name = "TIME")]
    pub ttl: Option<Span>,
    /// Give it back: open, without assignee
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclaim: bool,
    /// Only if it was last changed at this time, which pn show --json has as updated_at; fails with conflict otherwise
    #[arg(long, value_name = "TIME")]
    pub if_updated_at: Option<Timestamp>,
    /// The values that fields had when their editor read them; an empty text for none. A field that somebody else has
    /// changed since gets the new value, and the value in between is kept as a conflict
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub was: BTreeMap<String, String>,
    /// Change status or assignee even if another holds the claim
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// The fields whose former value an update may name.
const EDITED: [&str; 10] =
    ["title", "description", "priority", "assignee", "due", "defer", "estimate", "spec", "parent", "fixes"];

impl Update {
    /// Changes nothing yet.
    pub fn of(id: IssueRef) -> Self {
        Self {
            id,
            title: None,
            status: None,
            priority: None,
            assignee: None,
            description: None,
            spec: None,
            fixes: None,
            parent: None,
            add_labels: Vec::new(),
            remove_labels: Vec::new(),
            due: None,
            defer: None,
            estimate: None,
            acceptance: Vec::new(),
            remove_acceptance: Vec::new(),
            fields: Vec::new(),
            refs: Vec::new(),
            claim: false,
            ttl: None,
            unclaim: false,
            if_updated_at: None,
            was: BTreeMap::new(),
            force: false,
        }
    }

    /// What the request asks of the issue's state, if anything.
    pub fn step(&self) -> Result<Option<IssueTransition>> {
        if self.ttl.is_some() && !self.claim {
            return Err(Error::invalid("a ttl goes with a claim"));
        }
        if (self.claim || self.unclaim) && (self.status.is_some() || self.assignee.is_some()) {
            return Err(Error::invalid("a claim or its release sets status and assignee by itself"));
        }
        match (self.claim, self.unclaim) {
            (true, true) => Err(Error::invalid("claim and unclaim exclude each other")),
            (true, false) => Ok(Some(IssueTransition::Claim { lease: self.ttl })),
            (false, true) => Ok(Some(IssueTransition::Release)),
            (false, false) => Ok(self.status.map(IssueTransition::Status)),
        }
    }

    /// Applies the fields that are not a matter of state and refer to no other issue.
    pub fn edit(&self, issue: &mut Issue, rules: &IssueRules, now: Timestamp) -> Result<()> {
        if let Some(title) = &self.title {
            issue.title = text::title("title", title)?.to_owned();
        }
        if self.description.is_some() {
            issue.description = text::optional_block("description", self.description.as_ref())?;
        }
        if let Some(priority) = self.priority {
            issue.priority = priority;
        }
        if self.assignee.is_some() {
            issue.reassign(text::optional_line("assignee", self.assignee.as_ref())?);
        }
        if self.spec.is_some() {
            issue.spec = text::optional_line("spec", self.spec.as_ref())?;
        }
        issue.relabel(&self.add_labels, &self.remove_labels)?;
        let date = |given: &String| if given.is_empty() { Ok(None) } else { Date::parse_at(given, now).map(Some) };
        if let Some(given) = &self.due {
            issue.due = date(given)?;
        }
        if let Some(given) = &self.defer {
            issue.defer = date(given)?;
        }
        if let Some(given) = &self.estimate {
            issue.estimate = if given.is_empty() { None } else { Some(given.parse()?) };
        }
        issue.retract(&self.remove_acceptance)?;
        issue.demand(&self.acceptance)?;
        rules.change_fields(issue, &self.fields)
    }

    /// The fields that were changed since their editor read them, and that this change replaces by another value: each
    /// with its value in between.
    pub fn overtaken(&self, current: &Issue, edited: &Issue) -> Result<Vec<Clash>> {
        let object = |issue: &Issue| serde_json::to_value(issue).map_err(Error::internal);
        let (current, edited) = (object(current)?, object(edited)?);
        let differs = |value: &Value, was: &str| match value {
            Value::Null => !was.is_empty(),
            Value::String(text) => text != was,
            _ => true,
        };
        let clash = |(field, was): (&String, &String)| {
            let (other, kept) = (&current[field], &edited[field]);
            (differs(other, was) && other != kept).then(|| Clash {
                field: field.clone(),
                kept: kept.clone(),
                other: other.clone(),
                whole: [(field.clone(), other.clone())].into_iter().collect(),
                version: current["updated_at"].as_str().unwrap_or_default().to_owned(),
            })
        };
        if let Some(unknown) = self.was.keys().find(|field| !EDITED.contains(&field.as_str())) {
            return Err(Error::invalid(format!("was: {unknown} is not edited as one value")).hint(EDITED.join(", ")));
        }
        Ok(self.was.iter().filter_map(clash).collect())
    }

    /// Whether the request asks for nothing at all. A condition alone asks whether the issue is as it was.
    pub fn is_empty(&self) -> bool {
        self.title.is_none()
            && self.description.is_none()
            && self.priority.is_none()
            && self.assignee.is_none()
            && self.status.is_none()
            && self.spec.is_none()
            && self.fixes.is_none()
            && self.parent.is_none()
            && self.due.is_none()
            && self.defer.is_none()
            && self.estimate.is_none()
            && self.fields.is_empty()
            && [&self.add_labels, &self.remove_labels, &self.acceptance, &self.remove_acceptance, &self.refs]
                .iter()
                .all(|list| list.is_empty())
            && !self.claim
            && !self.unclaim
            && self.if_updated_at.is_none()
    }
}

op!(Update => Updated, "issue.update", patch("/issues/{id}"), Write);

/// Close an issue, and the bug it fixes
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// Why, or how it was done
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The issue that says the same; links to it
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<IssueRef>,
    /// Close it whatever its status, its children and its criteria, even if another holds it
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Close => Issue, "issue.close", post("/issues/{id}/close"), Write);

/// Note that an issue meets one of its acceptance criteria
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// The number of the criterion, from 1; pn show lists them
    #[arg(value_name = "N")]
    #[serde(alias = "n")]
    pub number: u32,
    /// It does not meet it after all
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
}

op!(Accept => Issue, "issue.accept", post("/issues/{id}/accept"), Write);

/// List the issues that are parts of an issue
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Children {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

op!(Children => Vec<Issue>, "issue.children", get("/issues/{id}/children"), Read);

/// Reopen a closed issue
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Reopen {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// Why
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

op!(Reopen => Issue, "issue.reopen", post("/issues/{id}/reopen"), Write);

/// Give an issue back: open, without assignee
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// Even if another holds it
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Release => Issue, "issue.release", post("/issues/{id}/release"), Write);

/// Renew the lease of a claim
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// From now on, this long; as long as before unless given
    #[arg(long, value_name = "TIME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// Even if another holds it
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Heartbeat => Issue, "issue.heartbeat", post("/issues/{id}/heartbeat"), Write);

/// Delete an issue with its dependencies, comments and events
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// Even if others depend on it, fix it, have commented or hold it
    #[arg(short, long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

op!(Delete => Deleted, "issue.delete", delete("/issues/{id}"), Maintain);

/// What was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Always `deleted`
    pub status: String,
    pub id: IssueId,
}

/// Show an issue with its dependencies and comments
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
}

op!(Show => IssueDetail, "issue.show", get("/issues/{id}"), Read);

/// Show what happened to an issue, newest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Which issue
    #[arg(value_name = "ID")]
    pub id: IssueRef,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "n")]
    pub limit: Option<u32>,
}

op!(History => Vec<Event>, "issue.history", get("/issues/{id}/history"), Read);
