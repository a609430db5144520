//! One line that is asked for: a reason, a comment, a name, a filter.

use pensa_core::id::IssueId;
use pensa_core::issue::Priority;
use pensa_core::ops::issue::Update;
use pensa_core::ops::signal;
use pensa_core::{Error, Result};

use crate::field::TextField;
use crate::store::StoreChange;

/// What a line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PromptPurpose {
    Filter,
    Close,
    Reopen,
    Comment,
    Priority,
    Assign,
    Label,
    /// A command to run on an issue
    Run,
    /// A signal to a loop, agent or run
    Signal(String),
    Forget,
}

#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    pub(crate) purpose: PromptPurpose,
    pub(crate) field: TextField,
    pub(crate) issues: Vec<IssueId>,
    /// Why the store refused it
    pub(crate) error: Option<Error>,
    /// The changes that were sent
    pub(crate) ticket: Option<u64>,
}

impl Prompt {
    pub(crate) fn new(purpose: PromptPurpose, issues: Vec<IssueId>, text: &str) -> Self {
        Self { purpose, field: TextField::new(text), issues, error: None, ticket: None }
    }

    pub(crate) fn title(&self) -> String {
        let what = match &self.purpose {
            PromptPurpose::Filter => return "/".to_owned(),
            PromptPurpose::Close => "Close",
            PromptPurpose::Reopen => "Reopen",
            PromptPurpose::Comment => "Comment on",
            PromptPurpose::Priority => "Priority of",
            PromptPurpose::Assign => "Assign",
            PromptPurpose::Label => "Label",
            PromptPurpose::Run => "Run on",
            PromptPurpose::Signal(to) => return format!("Signal to {to}"),
            PromptPurpose::Forget => return "Forget it? yes forgets it in every clone".to_owned(),
        };
        match &self.issues[..] {
            [one] => format!("{what} {one}"),
            many => format!("{what} {} issues", many.len()),
        }
    }

    /// What to type.
    pub(crate) fn hint(&self) -> &'static str {
        match self.purpose {
            PromptPurpose::Filter => "",
            PromptPurpose::Close => "why, or how it was done; may be empty",
            PromptPurpose::Reopen => "why; may be empty",
            PromptPurpose::Comment => "what to say",
            PromptPurpose::Priority => "p0 critical, p1 high, p2 normal, p3 low",
            PromptPurpose::Assign => "a name; empty for nobody",
            PromptPurpose::Label => "labels to add, -label to remove",
            PromptPurpose::Run => "a command and its arguments, or the name of one: run.command.NAME",
            PromptPurpose::Signal(_) => "stop, pause, resume … and a reason",
            PromptPurpose::Forget => "yes",
        }
    }

    /// What the text asks for; an empty list for nothing.
    pub(crate) fn changes(&self) -> Result<Vec<StoreChange>> {
        let text = self.field.text().trim();
        let reason = (!text.is_empty()).then(|| text.to_owned());
        let each = |change: &dyn Fn(&IssueId) -> StoreChange| self.issues.iter().map(change).collect();
        let update = |change: &dyn Fn(Update) -> Update| {
            each(&|id| StoreChange::Update(Box::new(change(Update::of(id.into())))))
        };
        Ok(match &self.purpose {
            PromptPurpose::Close => each(&|id| StoreChange::Close { id: id.clone(), reason: reason.clone() }),
            PromptPurpose::Reopen => each(&|id| StoreChange::Reopen { id: id.clone(), reason: reason.clone() }),
            PromptPurpose::Comment => each(&|id| StoreChange::Comment { id: id.clone(), text: text.to_owned() }),
            PromptPurpose::Priority => {
                let priority: Priority = text.parse()?;
                update(&|update| Update { priority: Some(priority), ..update })
            }
            PromptPurpose::Assign => update(&|update| Update { assignee: Some(text.to_owned()), ..update }),
            PromptPurpose::Label => {
                let words = || text.split([',', ' ']).filter(|word| !word.is_empty());
                let removed: Vec<String> =
                    words().filter_map(|word| word.strip_prefix('-')).map(str::to_owned).collect();
                let added: Vec<String> = words().filter(|word| !word.starts_with('-')).map(str::to_owned).collect();
                if removed.is_empty() && added.is_empty() {
                    return Err(Error::invalid("no label is named"));
                }
                update(&|update| Update { add_labels: added.clone(), remove_labels: removed.clone(), ..update })
            }
            PromptPurpose::Signal(to) => {
                let (kind, reason) = text.split_once(' ').unwrap_or((text, ""));
                let reason = Some(reason.trim()).filter(|reason| !reason.is_empty()).map(str::to_owned);
                let (signal_type, to) = (kind.parse()?, to.parse()?);
                vec![StoreChange::Signal(Box::new(signal::Send { signal_type, to, from: None, reason, payload: None }))]
            }
            PromptPurpose::Filter | PromptPurpose::Run | PromptPurpose::Forget => Vec::new(),
        })
    }
}
