//! A list to choose from by typing: the palette of commands, views and issues, and the choice of another issue.

use pensa_core::id::IssueId;
use pensa_core::issue::Issue;
use pensa_core::text::fold;

use crate::field::TextField;
use crate::keys::UserCommand;

/// What is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Command(UserCommand),
    Issue(IssueId),
}

/// What the choice is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PickerPurpose {
    Palette,
    /// What these issues are to be a part of
    Parent(Vec<IssueId>),
    /// What these issues are to wait for
    Depend(Vec<IssueId>),
}

#[derive(Debug, Clone)]
pub(crate) struct Picker {
    pub(crate) purpose: PickerPurpose,
    pub(crate) field: TextField,
    /// What can be chosen without asking the store
    fixed: Vec<(String, Choice)>,
    issues: Vec<(String, Choice)>,
    pub(crate) current: usize,
}

impl Picker {
    pub(crate) fn new(purpose: PickerPurpose, fixed: Vec<(String, Choice)>) -> Self {
        Self { purpose, field: TextField::default(), fixed, issues: Vec::new(), current: 0 }
    }

    pub(crate) fn title(&self) -> String {
        let of = |issues: &[IssueId]| match issues {
            [one] => one.to_string(),
            many => format!("{} issues", many.len()),
        };
        match &self.purpose {
            PickerPurpose::Palette => "Command, view or issue".to_owned(),
            PickerPurpose::Parent(issues) => format!("{} is a part of", of(issues)),
            PickerPurpose::Depend(issues) => format!("{} waits for", of(issues)),
        }
    }

    pub(crate) fn set_issues(&mut self, issues: Vec<Issue>) {
        let line = |issue: Issue| {
            (format!("{} {} {} {}", issue.id, issue.priority, issue.status, issue.title), Choice::Issue(issue.id))
        };
        self.issues = issues.into_iter().map(line).collect();
        self.current = self.current.min(self.shown().len().saturating_sub(1));
    }

    /// What fits the text, best first.
    pub(crate) fn shown(&self) -> Vec<&(String, Choice)> {
        let wanted = fold(self.field.text().trim());
        let mut scored: Vec<(usize, usize, &(String, Choice))> = Vec::new();
        for (at, entry) in self.fixed.iter().chain(&self.issues).enumerate() {
            if let Some(score) = distance(&wanted, &fold(&entry.0)) {
                scored.push((score, at, entry));
            }
        }
        // What the store has found fits, wherever the text stands.
        let is_new = |entry: &&(String, Choice)| !scored.iter().any(|(.., known)| known == entry);
        let others: Vec<_> = self.issues.iter().filter(is_new).collect();
        scored.sort_by_key(|(score, at, _)| (*score, *at));
        scored.into_iter().map(|(.., entry)| entry).chain(others).collect()
    }

    pub(crate) fn chosen(&self) -> Option<Choice> {
        self.shown().get(self.current).map(|(_, choice)| choice.clone())
    }

    pub(crate) fn go(&mut self, by: isize) {
        let last = self.shown().len().saturating_sub(1);
        self.current = self.current.saturating_add_signed(by).min(last);
    }
}

/// How far the characters of `wanted` are apart in a text that has them in this order; `None` if it has not.
fn distance(wanted: &str, text: &str) -> Option<usize> {
    if let Some(at) = text.find(wanted) {
        return Some(at.min(1));
    }
    let mut chars = text.chars().enumerate();
    let mut places = Vec::new();
    for c in wanted.chars().filter(|c| !c.is_whitespace()) {
        places.push(chars.by_ref().find(|(_, other)| *other == c)?.0);
    }
    Some(2 + places.last()? - places.first()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_order_find_an_entry_and_the_nearest_comes_first() {
        let entries =
            ["create", "redo", "recreate tables"].map(|text| (text.to_owned(), Choice::Command(UserCommand::Redo)));
        let mut picker = Picker::new(PickerPurpose::Palette, entries.to_vec());
        let found = |picker: &Picker| picker.shown().iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
        picker.field.insert("crte");
        assert_eq!(found(&picker), ["create", "recreate tables"]);
        picker.field.insert("z");
        assert_eq!(found(&picker), Vec::<String>::new());
        assert_eq!(picker.chosen(), None);
    }
}
