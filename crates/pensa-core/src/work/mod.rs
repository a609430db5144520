//! Work: what an actor is doing on an issue, in steps.
//!
//! The issue decides who has it and whether it is closed; the status of work is derived from it.

pub mod page;
mod transition;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::entity;
use crate::error::{Code, Error, Result};
use crate::id::IssueId;
use crate::issue::{Extra, Issue, IssueType, Status};
use crate::sync::SyncEntity;
use crate::text;
use crate::time::Timestamp;

pub use transition::{WorkTransition, apply};

/// Maximum number of steps.
pub const MAX_STEPS: usize = 200;

closed_enum! {
    /// What a change means for users.
    WorkKind "invalid kind: {:?}" {
        Feature "feature",
        Bug "bug",
        Improvement "improvement",
        Refactor "refactor",
        Chore "chore",
    }
}

impl WorkKind {
    /// The default kind of work on an issue.
    pub fn of_issue(issue_type: IssueType) -> Self {
        match issue_type {
            IssueType::Bug => WorkKind::Bug,
            IssueType::Task => WorkKind::Feature,
            IssueType::Test | IssueType::Chore => WorkKind::Chore,
        }
    }
}

closed_enum! {
    /// The status of work.
    WorkStatus "invalid status: {:?}" {
        Active "active",
        Paused "paused",
        Done "done",
    }
}

closed_enum! {
    /// The status of a step.
    StepStatus "invalid status: {:?}" {
        Pending "pending",
        Done "done",
    }
}

/// A step of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    pub title: String,
    pub status: StepStatus,
}

/// Work as it is stored. Its status may be outdated; [`WorkRecord::with_issue`] returns the current one.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRecord {
    pub issue_id: IssueId,
    pub kind: WorkKind,
    pub status: WorkStatus,
    pub branch: Option<String>,
    pub steps: Vec<Step>,
    /// Who is doing it, or did it last
    pub actor: String,
    pub created_at: Timestamp,
    pub started_at: Timestamp,
    pub updated_at: Timestamp,
    pub done_at: Option<Timestamp>,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(WorkRecord: "work" in "work", keys 1 {
    issue_id, kind, status, branch, steps: List, actor, created_at, started_at, updated_at, done_at,
    extra: Extra,
});

impl SyncEntity for WorkRecord {
    fn normalise(self) -> Result<Self> {
        if self.steps.len() > MAX_STEPS {
            return Err(Error::new(Code::TooLarge, format!("{} has more than {MAX_STEPS} steps", self.issue_id)));
        }
        self.steps.iter().try_for_each(|step| text::line("step", &step.title).map(drop))?;
        text::line("actor", &self.actor)?;
        text::optional_line("branch", self.branch.as_ref())?;
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }
}

/// The fields of an issue that determine the status of work on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkIssue {
    pub title: String,
    pub status: Status,
    pub assignee: Option<String>,
    pub closed_at: Option<Timestamp>,
}

impl From<&Issue> for WorkIssue {
    fn from(issue: &Issue) -> Self {
        Self {
            title: issue.title.clone(),
            status: issue.status,
            assignee: issue.assignee.clone(),
            closed_at: issue.closed_at,
        }
    }
}

impl WorkIssue {
    /// The actor who has claimed the issue.
    pub fn holder(&self) -> Option<&str> {
        self.assignee.as_deref().filter(|_| self.status == Status::InProgress)
    }
}

impl WorkRecord {
    /// Returns the record with its current status: done if its issue is closed, and active only if its actor holds the
    /// issue. So closing, releasing, reassigning or deleting an issue by any command also ends or pauses work on it.
    #[must_use]
    pub fn with_issue(mut self, issue: Option<&WorkIssue>) -> Self {
        if self.status == WorkStatus::Done {
            return self;
        }
        match issue {
            Some(issue) if issue.status == Status::Closed => {
                self.status = WorkStatus::Done;
                self.done_at = issue.closed_at;
            }
            Some(issue) if issue.holder() == Some(&self.actor) => {}
            _ => self.status = WorkStatus::Paused,
        }
        self
    }

    /// The first step that is not done, counted from 1.
    pub fn current_step(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.status == StepStatus::Pending).map(|at| at + 1)
    }

    /// Adds steps after those that are there.
    pub fn add_steps(&mut self, titles: &[String]) -> Result<()> {
        if self.steps.len() + titles.len() > MAX_STEPS {
            let message = format!("{} would have more than {MAX_STEPS} steps", self.issue_id);
            return Err(Error::new(Code::TooLarge, message).hint("make issues of the larger ones"));
        }
        for title in titles {
            let title = text::line("step", title)?.to_owned();
            self.steps.push(Step { title, status: StepStatus::Pending });
        }
        Ok(())
    }

    /// Marks a step as done, by default the current one. Returns its number, or `None` if it was done before.
    pub fn finish_step(&mut self, number: Option<u32>) -> Result<Option<usize>> {
        let none = || {
            Error::invalid(format!("{} has no step that is not done", self.issue_id))
                .hint("pn work step add adds one; pn work done ends the work")
        };
        let number = match number {
            Some(number) => usize::try_from(number).unwrap_or(usize::MAX),
            None => self.current_step().ok_or_else(none)?,
        };
        let (id, count) = (&self.issue_id, self.steps.len());
        let unknown = || {
            Error::not_found("step", format!("{number} of {id}"))
                .hint(format!("it has {count}, counted from 1; pn work step list shows them"))
        };
        let step = number.checked_sub(1).and_then(|at| self.steps.get_mut(at)).ok_or_else(unknown)?;
        if step.status == StepStatus::Done {
            return Ok(None);
        }
        step.status = StepStatus::Done;
        Ok(Some(number))
    }
}

/// Work on an issue.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    pub issue_id: IssueId,
    /// The title of the issue
    pub title: String,
    pub kind: WorkKind,
    pub status: WorkStatus,
    pub branch: Option<String>,
    pub steps: Vec<Step>,
    /// The first step that is not done, counted from 1
    pub current_step: Option<usize>,
    /// Who is doing it, or did it last
    pub actor: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub done_at: Option<Timestamp>,
    /// The former assignee, if this command claimed it from somebody else
    pub was_assigned_to: Option<String>,
}

impl Work {
    /// Combines the record with its issue.
    pub fn of(record: WorkRecord, issue: &WorkIssue) -> Self {
        let record = record.with_issue(Some(issue));
        Self {
            current_step: record.current_step(),
            title: issue.title.clone(),
            issue_id: record.issue_id,
            kind: record.kind,
            status: record.status,
            branch: record.branch,
            steps: record.steps,
            actor: record.actor,
            created_at: record.created_at,
            updated_at: record.updated_at,
            done_at: record.done_at,
            was_assigned_to: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(status: WorkStatus) -> WorkRecord {
        let at = "2026-02-27T14:30:00.000Z";
        serde_json::from_value(json!({"issue_id": "pn-1", "kind": "bug", "status": status, "steps": [], "actor": "ana",
            "created_at": at, "started_at": at, "updated_at": at}))
        .expect("work")
    }

    fn issue(status: Status, assignee: Option<&str>) -> WorkIssue {
        let closed_at = (status == Status::Closed).then(|| "2026-02-27T15:00:00.000Z".parse().expect("a time"));
        WorkIssue { title: "t".into(), status, assignee: assignee.map(str::to_owned), closed_at }
    }

    /// Every stored status with every state of the issue.
    #[test]
    fn status_of_work_follows_its_issue() {
        use WorkStatus::{Active, Done, Paused};
        let issues = [
            Some(issue(Status::InProgress, Some("ana"))),
            Some(issue(Status::InProgress, Some("ben"))),
            Some(issue(Status::InProgress, None)),
            Some(issue(Status::Open, Some("ana"))),
            Some(issue(Status::Closed, Some("ana"))),
            None,
        ];
        let table = [
            (Active, [Active, Paused, Paused, Paused, Done, Paused]),
            (Paused, [Paused, Paused, Paused, Paused, Done, Paused]),
            (Done, [Done, Done, Done, Done, Done, Done]),
        ];
        for (said, expected) in table {
            for (issue, expected) in issues.iter().zip(expected) {
                let stands = record(said).with_issue(issue.as_ref());
                assert_eq!(stands.status, expected, "{said} with {issue:?}");
                assert_eq!(stands.done_at.is_some(), said != Done && expected == Done, "{said} with {issue:?}");
            }
        }
    }

    #[test]
    fn steps_are_finished_in_order_or_by_number() {
        let mut work = record(WorkStatus::Active);
        let error = work.finish_step(None).expect_err("no steps");
        assert!(error.hint.is_some_and(|hint| hint.contains("step add")));
        work.add_steps(&["one".into(), " two ".into(), "three".into()]).expect("added");
        assert_eq!((work.current_step(), work.steps[1].title.as_str()), (Some(1), "two"));
        assert_eq!(work.finish_step(Some(2)).expect("ticked"), Some(2));
        assert_eq!(work.finish_step(Some(2)).expect("the same again"), None);
        assert_eq!(work.finish_step(None).expect("ticked"), Some(1));
        assert_eq!(work.current_step(), Some(3));
        for bad in [0, 4, u32::MAX] {
            assert_eq!(work.finish_step(Some(bad)).expect_err("no such step").code, Code::NotFound);
        }
        work.finish_step(None).expect("ticked");
        assert_eq!(work.current_step(), None);
        assert_eq!(work.finish_step(None).expect_err("all done").code, Code::InvalidInput);
    }

    #[test]
    fn steps_are_checked() {
        let mut work = record(WorkStatus::Active);
        for bad in ["", " ", "a\nb", "\u{1b}[2J", &"x".repeat(501)] {
            assert!(work.clone().add_steps(&[bad.to_owned()]).is_err(), "{bad:?}");
        }
        work.add_steps(&vec!["x".to_owned(); MAX_STEPS]).expect("as many as there may be");
        assert_eq!(work.add_steps(&["y".into()]).expect_err("one more").code, Code::TooLarge);
    }
}
