//! The parts of an issue that an import updates one by one.

use pensa_core::issue::{Issue, label};
use pensa_core::ops::tracker::TrackerIssue;
use pensa_core::similar::hash64;
use pensa_core::{Result, json, text};
use serde_json::{Value, json};

/// A part of an issue. The order is that of the fingerprints in the store, so new parts go to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IssuePart {
    Title,
    Description,
    State,
    Priority,
    Spec,
    Assignee,
    Labels,
    Due,
    Defer,
    Estimate,
    Acceptance,
    Parent,
    Deps,
    Links,
    Refs,
    Comments,
    Raw,
}

impl IssuePart {
    pub(super) const ALL: [Self; 17] = [
        Self::Title,
        Self::Description,
        Self::State,
        Self::Priority,
        Self::Spec,
        Self::Assignee,
        Self::Labels,
        Self::Due,
        Self::Defer,
        Self::Estimate,
        Self::Acceptance,
        Self::Parent,
        Self::Deps,
        Self::Links,
        Self::Refs,
        Self::Comments,
        Self::Raw,
    ];

    /// Those with records of their own.
    pub(super) const PENDING: [Self; 3] = [Self::Deps, Self::Refs, Self::Comments];

    pub(super) fn place(self) -> usize {
        self as usize
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::State => "status",
            Self::Assignee => "assignee",
            _ => "content",
        }
    }

    /// Whether changing it ends a claim.
    pub(super) fn is_of_claim(self) -> bool {
        matches!(self, Self::State | Self::Assignee)
    }

    fn value(self, given: &TrackerIssue) -> Value {
        match self {
            Self::Title => json!(given.title),
            Self::Description => json!(given.description),
            Self::State => json!([given.status, given.closed_at, given.close_reason]),
            Self::Priority => json!(given.priority),
            Self::Spec => json!(given.spec),
            Self::Assignee => json!(given.assignee),
            Self::Labels => json!(given.labels),
            Self::Due => json!(given.due),
            Self::Defer => json!(given.defer),
            Self::Estimate => json!(given.estimate),
            Self::Acceptance => json!(given.acceptance),
            Self::Parent => json!(given.parent),
            Self::Deps => json!(given.deps),
            Self::Links => json!(given.links),
            Self::Refs => json!(given.refs),
            Self::Comments => json!(given.comments),
            Self::Raw => json!(given.raw),
        }
    }

    /// The fingerprint of its value; nothing for a value that is empty.
    pub(super) fn hash(self, given: &TrackerIssue) -> Result<String> {
        let mut value = self.value(given);
        // The order of fields says nothing.
        value.sort_all_objects();
        if [json!(null), json!([]), json!({})].contains(&value) {
            return Ok(String::new());
        }
        let hash = hash64(json::to_line(&value)?.as_bytes());
        Ok(format!("{:08x}", hash & 0xffff_ffff))
    }

    /// Gives an issue the tracker's value, if the issue itself has it.
    pub(super) fn apply(self, issue: &mut Issue, given: &TrackerIssue) -> Result<()> {
        match self {
            Self::Title => issue.title = text::existing_title("title", &given.title)?.to_owned(),
            Self::Description => {
                issue.description = text::optional_block("description", given.description.as_ref())?;
            }
            Self::State => {
                issue.status = given.status;
                issue.closed_at = given.closed_at;
                issue.close_reason = text::optional_block("reason", given.close_reason.as_ref())?;
            }
            Self::Priority => issue.priority = given.priority,
            Self::Spec => issue.spec = text::optional_line("spec", given.spec.as_ref())?,
            Self::Assignee => issue.reassign(text::optional_line("assignee", given.assignee.as_ref())?),
            Self::Labels => {
                issue.labels = given.labels.iter().map(|given| label(given)).collect::<Result<_>>()?;
                issue.labels.sort();
                issue.labels.dedup();
            }
            Self::Due => issue.due = given.due,
            Self::Defer => issue.defer = given.defer,
            Self::Estimate => issue.estimate = given.estimate,
            Self::Acceptance => issue.acceptance = given.acceptance.clone(),
            Self::Parent => issue.parent = given.parent.clone(),
            Self::Links => {
                issue.links = given.links.clone();
                issue.links.sort();
                issue.links.dedup();
            }
            Self::Deps | Self::Refs | Self::Comments | Self::Raw => {}
        }
        Ok(())
    }
}

/// The fingerprints of all parts.
pub(super) fn fingerprint(given: &TrackerIssue) -> Result<Vec<String>> {
    IssuePart::ALL.into_iter().map(|part| part.hash(given)).collect()
}
