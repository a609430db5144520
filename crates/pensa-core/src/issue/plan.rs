//! Fields for planning: links, acceptance criteria, custom fields, and the project's rules for them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Issue;
use crate::closed_enum::closed_enum;
use crate::error::{Error, Result};
use crate::id::IssueId;
use crate::{text, words};

/// Most labels, links, acceptance criteria or custom fields of one issue.
const MAX_MEMBERS: usize = 200;

closed_enum! {
    /// How one issue relates to another.
    LinkKind "invalid kind of link: {:?}" {
        /// They have to do with each other
        Relates "relates",
        /// It says the same as the other
        Duplicates "duplicates",
        /// It replaces the other
        Supersedes "supersedes",
        /// It was found while working on the other
        DiscoveredFrom "discovered-from" | "discovered_from",
    }
}

impl LinkKind {
    pub fn default_kind() -> Self {
        Self::Relates
    }
}

/// A link to another issue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    pub kind: LinkKind,
    pub to: IssueId,
}

/// A condition that the result must meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    pub text: String,
    #[serde(default)]
    pub done: bool,
}

/// A custom field with its value, as `name=value`; an empty value clears the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    pub name: String,
    pub value: String,
}

impl FromStr for FieldChange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Error::invalid(format!("not a field: {text:?}")).hint("name=value, such as severity=high")
        })?;
        Ok(Self { name: name.trim().to_owned(), value: value.to_owned() })
    }
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Changes of fields are an object in JSON: `{"severity": "high"}`.
pub mod field_object {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::FieldChange;

    pub fn serialize<S: Serializer>(changes: &[FieldChange], to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(changes.iter().map(|change| (&change.name, &change.value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<FieldChange>, D::Error> {
        let fields = BTreeMap::<String, String>::deserialize(from)?;
        Ok(fields.into_iter().map(|(name, value)| FieldChange { name, value }).collect())
    }
}

/// The values that a custom field may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValues {
    Free,
    OneOf(Vec<String>),
}

/// What a project's settings say about issues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueRules {
    /// Whether an issue can be closed only when all its acceptance criteria are met.
    pub require_accepted: bool,
    /// The declared custom fields. A server has no settings of a project and accepts every field.
    pub fields: Option<BTreeMap<String, FieldValues>>,
}

impl IssueRules {
    /// Applies changes of custom fields, if they are declared and their values allowed.
    pub fn change_fields(&self, issue: &mut Issue, changes: &[FieldChange]) -> Result<()> {
        for change in changes {
            let FieldChange { name, value } = change;
            check_field_name(name)?;
            let value = text::optional_line(name, Some(value))?;
            let Some(value) = value else {
                issue.fields.remove(name);
                continue;
            };
            self.check_value(name, &value)?;
            issue.fields.insert(name.clone(), value);
        }
        Ok(())
    }

    /// Refuses a custom field that is not declared, and a value that it cannot have.
    pub(super) fn check_value(&self, name: &str, value: &str) -> Result<()> {
        match self.fields.as_ref().map(|declared| declared.get(name)) {
            Some(None) => Err(self.unknown_field(name)),
            Some(Some(FieldValues::OneOf(values))) if !values.iter().any(|allowed| allowed == value) => {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                Err(Error::invalid(format!("{name} cannot be {value:?}")).hint(words::hint(value, &values)))
            }
            _ => Ok(()),
        }
    }

    /// The error about a custom field that is not declared.
    pub(super) fn unknown_field(&self, name: &str) -> Error {
        let declared = self.fields.iter().flatten().map(|(name, _)| name.as_str());
        let hint = match text::nearest(name, declared) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("declare it in the project's settings: fields.{name} = \"free\", or a list of values"),
        };
        Error::invalid(format!("no custom field {name:?}")).hint(hint)
    }

    /// Sorts issues by a custom field: in the order of its declared values, or as text. Issues without it come last.
    pub fn sort_by_field(&self, issues: &mut [Issue], name: &str) -> Result<()> {
        let declared = self.fields.as_ref().map(|fields| fields.get(name).ok_or_else(|| self.unknown_field(name)));
        let values = match declared.transpose()? {
            Some(FieldValues::OneOf(values)) => values.as_slice(),
            _ => &[],
        };
        let rank = |value: &String| values.iter().position(|known| known == value).unwrap_or(values.len());
        issues.sort_by_cached_key(|issue| {
            let value = issue.fields.get(name);
            (value.is_none(), value.map(rank), value.cloned())
        });
        Ok(())
    }
}

/// Names are words, so that queries and settings can name them.
pub fn check_field_name(name: &str) -> Result<()> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 50 || !name.chars().all(is_word) {
        let shown: String = name.chars().take(60).collect();
        return Err(Error::invalid(format!("not a name of a field: {shown:?}")).hint("letters, digits, - and _"));
    }
    Ok(())
}

/// A label in its stored form.
pub fn label(given: &str) -> Result<String> {
    let label = text::line("label", given)?;
    match label.contains(',') {
        true => Err(Error::invalid(format!("a label cannot have a comma: {label:?}")).hint("give --label again")),
        false => Ok(label.to_owned()),
    }
}

impl Issue {
    /// Adds and removes labels.
    pub fn relabel(&mut self, add: &[String], remove: &[String]) -> Result<()> {
        let removed = remove.iter().map(|given| label(given)).collect::<Result<Vec<_>>>()?;
        self.labels.retain(|label| !removed.contains(label));
        for given in add {
            self.labels.push(label(given)?);
        }
        self.labels.sort();
        self.labels.dedup();
        refuse_too_many("labels", self.labels.len())
    }

    /// Adds acceptance criteria that it does not have yet.
    pub fn demand(&mut self, criteria: &[String]) -> Result<()> {
        for given in criteria {
            let text = text::line("criterion", given)?.to_owned();
            if self.acceptance.iter().all(|known| known.text != text) {
                self.acceptance.push(Criterion { text, done: false });
            }
        }
        refuse_too_many("acceptance criteria", self.acceptance.len())
    }

    /// Removes acceptance criteria, named by number or text.
    pub fn retract(&mut self, criteria: &[String]) -> Result<()> {
        let numbered: Vec<Criterion> = self.acceptance.clone();
        for given in criteria {
            let at = given.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let by_number = at.and_then(|at| numbered.get(at));
            let meant = by_number.or_else(|| numbered.iter().find(|known| known.text == *given));
            let meant = meant.ok_or_else(|| self.no_criterion(given))?;
            self.acceptance.retain(|known| known != meant);
        }
        Ok(())
    }

    /// Ticks an acceptance criterion by its number, or unticks it.
    pub fn accept(&mut self, number: u32, done: bool) -> Result<()> {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let unknown = self.no_criterion(&number.to_string());
        let criterion = at.and_then(|at| self.acceptance.get_mut(at)).ok_or(unknown)?;
        criterion.done = done;
        Ok(())
    }

    fn no_criterion(&self, given: &str) -> Error {
        let shown: String = given.chars().take(60).collect();
        Error::not_found("acceptance criterion", shown).hint(match self.acceptance.len() {
            0 => format!("pn update {} --accept TEXT adds one", self.id),
            1 => "it has one criterion".to_owned(),
            count => format!("it has {count} criteria"),
        })
    }

    /// Adds a link; says whether it is new.
    pub fn link(&mut self, link: Link) -> Result<bool> {
        if link.to == self.id {
            return Err(Error::invalid("an issue cannot be linked to itself").hint("name another issue"));
        }
        let is_new = !self.links.contains(&link);
        if is_new {
            self.links.push(link);
            self.links.sort();
        }
        refuse_too_many("links", self.links.len())?;
        Ok(is_new)
    }

    /// The planning fields that it has, each as a name and a text.
    pub fn plan_facts(&self) -> Vec<(&'static str, String)> {
        let date = |date: Option<crate::time::Date>| date.map(|date| date.to_string());
        let list = |items: Vec<String>| (!items.is_empty()).then(|| items.join(", "));
        let facts = [
            ("parent", self.parent.as_ref().map(ToString::to_string)),
            ("labels", list(self.labels.clone())),
            ("due", date(self.due)),
            ("defer", date(self.defer)),
            ("estimate", self.estimate.map(|span| span.to_string())),
            ("fields", list(self.fields.iter().map(|(name, value)| format!("{name}={value}")).collect())),
        ];
        facts.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect()
    }

    /// The acceptance criteria, each as a numbered line with a box.
    pub fn acceptance_lines(&self) -> impl Iterator<Item = String> {
        let tick = |done: bool| if done { 'x' } else { ' ' };
        self.acceptance
            .iter()
            .zip(1..)
            .map(move |(criterion, number)| format!("{number}. [{}] {}", tick(criterion.done), criterion.text))
    }

    /// The acceptance criteria that are not met.
    pub fn unmet(&self) -> usize {
        self.acceptance.iter().filter(|criterion| !criterion.done).count()
    }

    /// Brings the planning fields of an issue from a file into their stored form.
    pub(super) fn normalise_plan(&mut self) -> Result<()> {
        if self.parent.as_ref() == Some(&self.id) {
            return Err(Error::invalid("an issue cannot be its own parent"));
        }
        for label in &self.labels {
            text::fits_line("label", label)?;
        }
        self.labels.retain(|label| !label.trim().is_empty());
        self.labels.sort();
        self.labels.dedup();
        self.links.retain(|link| link.to != self.id);
        self.links.sort();
        self.links.dedup();
        let mut criteria: Vec<Criterion> = Vec::new();
        for criterion in std::mem::take(&mut self.acceptance) {
            text::fits_line("criterion", &criterion.text)?;
            match criteria.iter_mut().find(|known| known.text == criterion.text) {
                Some(known) => known.done |= criterion.done,
                None => criteria.push(criterion),
            }
        }
        self.acceptance = criteria;
        for (name, value) in &self.fields {
            check_field_name(name)?;
            text::fits_line(name, value)?;
        }
        self.fields.retain(|_, value| !value.is_empty());
        Ok(())
    }
}

fn refuse_too_many(what: &str, count: usize) -> Result<()> {
    match count > MAX_MEMBERS {
        true => Err(Error::invalid(format!("too many {what}: {count}")).hint(format!("at most {MAX_MEMBERS}"))),
        false => Ok(()),
    }
}
