//! The form of an issue that is created or edited.

use pensa_core::id::IssueId;
use pensa_core::issue::{Issue, IssueType, Priority, Similar};
use pensa_core::ops::issue::{Create, Update};
use pensa_core::{Error, Result};

use crate::field::TextField;
use crate::store::StoreChange;

/// The fields, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormField {
    Title,
    Type,
    Priority,
    Assignee,
    Labels,
    Parent,
    Due,
    Estimate,
    Spec,
    Description,
}

impl FormField {
    pub(crate) fn name(self) -> &'static str {
        match self {
            FormField::Title => "title",
            FormField::Type => "type",
            FormField::Priority => "priority",
            FormField::Assignee => "assignee",
            FormField::Labels => "labels",
            FormField::Parent => "parent",
            FormField::Due => "due",
            FormField::Estimate => "estimate",
            FormField::Spec => "spec",
            FormField::Description => "description",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct IssueForm {
    /// The issue that is edited; none for a new one
    pub(crate) issue: Option<Box<Issue>>,
    pub(crate) fields: Vec<(FormField, TextField)>,
    pub(crate) current: usize,
    /// Open issues that a new title nearly repeats
    pub(crate) similar: Vec<Similar>,
    pub(crate) error: Option<Error>,
    pub(crate) ticket: Option<u64>,
}

impl IssueForm {
    pub(crate) fn create(parent: Option<&IssueId>) -> Self {
        let parent = parent.map(ToString::to_string).unwrap_or_default();
        let texts = [
            (FormField::Title, String::new()),
            (FormField::Type, IssueType::Task.as_str().to_owned()),
            (FormField::Priority, Priority::default().as_str().to_owned()),
            (FormField::Assignee, String::new()),
            (FormField::Labels, String::new()),
            (FormField::Parent, parent),
            (FormField::Due, String::new()),
            (FormField::Estimate, String::new()),
            (FormField::Description, String::new()),
        ];
        Self::of(None, texts.to_vec())
    }

    pub(crate) fn edit(issue: Issue) -> Self {
        let texts = fields_of(&issue);
        Self::of(Some(Box::new(issue)), texts)
    }

    fn of(issue: Option<Box<Issue>>, texts: Vec<(FormField, String)>) -> Self {
        let fields = texts.into_iter().map(|(field, text)| (field, TextField::new(text))).collect();
        Self { issue, fields, current: 0, similar: Vec::new(), error: None, ticket: None }
    }

    pub(crate) fn title(&self) -> String {
        self.issue.as_ref().map_or("New issue".to_owned(), |issue| format!("Edit {}", issue.id))
    }

    pub(crate) fn text(&self, field: FormField) -> &str {
        self.fields.iter().find(|(known, _)| *known == field).map_or("", |(_, text)| text.text())
    }

    pub(crate) fn field_mut(&mut self) -> Option<&mut (FormField, TextField)> {
        self.fields.get_mut(self.current)
    }

    pub(crate) fn go(&mut self, by: isize) {
        let count = self.fields.len().cast_signed();
        self.current = (self.current.cast_signed() + by).rem_euclid(count.max(1)).cast_unsigned();
    }

    /// What the form asks for; nothing if nothing was edited.
    pub(crate) fn change(&self) -> Result<Option<StoreChange>> {
        let given = |field| Some(self.text(field).trim().to_owned()).filter(|text| !text.is_empty());
        let Some(issue) = &self.issue else {
            let mut create = Create::of(self.text(FormField::Title).trim(), self.text(FormField::Type).trim().parse()?);
            create.priority = self.text(FormField::Priority).trim().parse()?;
            create.assignee = given(FormField::Assignee);
            create.labels = words(self.text(FormField::Labels));
            create.parent = given(FormField::Parent).map(|id| id.parse()).transpose()?;
            create.due = given(FormField::Due);
            create.estimate = given(FormField::Estimate).map(|span| span.parse()).transpose()?;
            create.description = given(FormField::Description);
            return Ok(Some(StoreChange::Create(Box::new(create))));
        };
        let mut update = Update::of((&issue.id).into());
        for (field, old) in fields_of(issue) {
            let new = self.text(field).trim().to_owned();
            if new == old.trim() {
                continue;
            }
            match field {
                FormField::Title => update.title = Some(new),
                FormField::Priority => update.priority = Some(new.parse()?),
                FormField::Assignee => update.assignee = Some(new),
                FormField::Labels => {
                    let new = words(&new);
                    update.add_labels = new.iter().filter(|label| !issue.labels.contains(label)).cloned().collect();
                    update.remove_labels = issue.labels.iter().filter(|label| !new.contains(label)).cloned().collect();
                }
                FormField::Parent => update.parent = Some(new.parse()?),
                FormField::Due => update.due = Some(new),
                FormField::Estimate => update.estimate = Some(new),
                FormField::Spec => update.spec = Some(new),
                FormField::Description => update.description = Some(new),
                FormField::Type => {}
            }
        }
        Ok((!update.is_empty()).then(|| StoreChange::Update(Box::new(update))))
    }
}

fn words(text: &str) -> Vec<String> {
    text.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn fields_of(issue: &Issue) -> Vec<(FormField, String)> {
    let shown = |value: Option<String>| value.unwrap_or_default();
    vec![
        (FormField::Title, issue.title.clone()),
        (FormField::Priority, issue.priority.as_str().to_owned()),
        (FormField::Assignee, shown(issue.assignee.clone())),
        (FormField::Labels, issue.labels.join(", ")),
        (FormField::Parent, shown(issue.parent.as_ref().map(ToString::to_string))),
        (FormField::Due, shown(issue.due.map(|day| day.to_string()))),
        (FormField::Estimate, shown(issue.estimate.map(|span| span.to_string()))),
        (FormField::Spec, shown(issue.spec.clone())),
        (FormField::Description, shown(issue.description.clone())),
    ]
}
