//! The list: issues one below the other, filtered and sorted by the store.

use pensa_core::issue::{Issue, Sort, Status};

use super::{TuiView, ViewContext, counts, issue_row, more};
use crate::keys::UserCommand;
use crate::remembered::ViewMemory;
use crate::rows::{ListRow, Motion, RowList};
use crate::store::{Answer, IssueScope, PAGE, StatusTotals, StoreQuery};

const SCOPES: [(IssueScope, &str); 7] = [
    (IssueScope::Active, "active"),
    (IssueScope::Only(Status::Open), "open"),
    (IssueScope::Ready, "ready"),
    (IssueScope::Only(Status::InProgress), "in progress"),
    (IssueScope::Blocked, "blocked"),
    (IssueScope::Only(Status::Closed), "closed"),
    (IssueScope::All, "all"),
];

#[derive(Debug)]
pub(crate) struct ListView {
    text: String,
    scope: IssueScope,
    sort: Sort,
    limit: u32,
    issues: Vec<Issue>,
    totals: StatusTotals,
    rows: RowList,
}

impl Default for ListView {
    fn default() -> Self {
        Self {
            text: String::new(),
            scope: IssueScope::Active,
            sort: Sort::Priority,
            limit: PAGE,
            issues: Vec::new(),
            totals: [0; 3],
            rows: RowList::default(),
        }
    }
}

impl ListView {
    fn scope_name(&self) -> &'static str {
        SCOPES.iter().find(|(scope, _)| *scope == self.scope).map_or("", |(_, name)| name)
    }
}

impl TuiView for ListView {
    fn query(&self) -> StoreQuery {
        StoreQuery::List { text: self.text.clone(), scope: self.scope, sort: self.sort, limit: self.limit }
    }

    fn take(&mut self, answer: Answer, cx: &ViewContext) {
        if let Answer::List(issues, totals) = answer {
            (self.issues, self.totals) = (issues, totals);
            self.resize(cx);
        }
    }

    fn resize(&mut self, cx: &ViewContext) {
        let rows: Vec<ListRow> = self.issues.iter().map(|issue| issue_row(issue, cx)).collect();
        self.rows.set(rows, cx.at);
    }

    fn summary(&self) -> String {
        format!("{}, by {}: {} shown; {}", self.scope_name(), self.sort.as_str(), self.rows.len(), counts(self.totals))
    }

    fn list(&self) -> Option<&RowList> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut RowList> {
        Some(&mut self.rows)
    }

    fn step(&mut self, motion: Motion) -> bool {
        self.rows.step(motion);
        more(&self.rows, &mut self.limit, motion)
    }

    fn command(&mut self, command: UserCommand, _cx: &ViewContext) -> Option<bool> {
        match command {
            UserCommand::Sort => {
                let at = Sort::ALL.iter().position(|sort| *sort == self.sort).unwrap_or_default();
                self.sort = Sort::ALL[(at + 1) % Sort::ALL.len()];
            }
            UserCommand::Scope => {
                let at = SCOPES.iter().position(|(scope, _)| *scope == self.scope).unwrap_or_default();
                self.scope = SCOPES[(at + 1) % SCOPES.len()].0;
            }
            UserCommand::ScopeOpen => self.scope = IssueScope::Only(Status::Open),
            UserCommand::ScopeReady => self.scope = IssueScope::Ready,
            UserCommand::ScopeAll => self.scope = IssueScope::All,
            _ => return None,
        }
        Some(true)
    }

    fn set_filter(&mut self, text: &str) -> bool {
        text.clone_into(&mut self.text);
        true
    }

    fn restore(&mut self, memory: &ViewMemory) {
        self.sort = memory.sort.unwrap_or(self.sort);
        let known = SCOPES.iter().find(|(_, name)| Some(*name) == memory.scope.as_deref());
        self.scope = known.map_or(self.scope, |(scope, _)| *scope);
    }

    fn remember(&self, memory: &mut ViewMemory) {
        memory.sort = Some(self.sort);
        memory.scope = Some(self.scope_name().to_owned());
    }
}
