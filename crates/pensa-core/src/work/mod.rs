//! Work: what an actor is doing about an issue, in steps.
//!
//! Who has the issue and whether it is closed is the issue's own matter; work follows it.

pub mod page;
mod transition;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::entity;
use crate::error::{Code, Error, Result};
use crate::id::IssueId;
use crate::issue::{Issue, IssueType, Status};
use crate::sync::Noun;
use crate::text;
use crate::time::Timestamp;

pub use transition::{Move, apply};

/// Most steps of one piece of work.
pub const MAX_STEPS: usize = 200;

closed_enum! {
    /// What a piece of work, or what was shipped, is for its users.
    WorkKind "invalid kind: {:?}" {
        Feature "feature",
        Bug "bug",
        Improvement "improvement",
        Refactor "refactor",
        Chore "chore",
    }
}

impl WorkKind {
    /// The kind of work on an issue, if nobody says another.
    pub fn of_issue(issue_type: IssueType) -> Self {
        match issue_type {
            IssueType::Bug => WorkKind::Bug,
            IssueType::Task => WorkKind::Feature,
            IssueType::Test | IssueType::Chore => WorkKind::Chore,
        }
    }
}

closed_enum! {
    /// Where a piece of work stands.
    WorkStatus "invalid status: {:?}" {
        Active "active",
        Paused "paused",
        Done "done",
    }
}

closed_enum! {
    /// Where a step stands.
    StepStatus "invalid status: {:?}" {
        Pending "pending",
        Done "done",
    }
}

/// A part of a piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    pub title: String,
    pub status: StepStatus,
}

/// Work as it is kept: what was last said about it. Whether that still holds is known by [`Piece::beside`].
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    pub issue_id: IssueId,
    pub kind: WorkKind,
    pub status: WorkStatus,
    pub branch: Option<String>,
    pub steps: Vec<Step>,
    /// Who does it now, or did it last
    pub actor: String,
    pub created_at: Timestamp,
    pub started_at: Timestamp,
    pub updated_at: Timestamp,
    pub done_at: Option<Timestamp>,
}

entity!(Piece: "work" in "work", keys 1 {
    issue_id, kind, status, branch, steps: List, actor, created_at, started_at, updated_at, done_at,
});

impl Noun for Piece {
    fn adopt(self) -> Result<Self> {
        if self.steps.len() > MAX_STEPS {
            return Err(Error::new(Code::TooLarge, format!("{} has more than {MAX_STEPS} steps", self.issue_id)));
        }
        self.steps.iter().try_for_each(|step| text::line("step", &step.title).map(drop))?;
        text::line("actor", &self.actor)?;
        text::optional_line("branch", self.branch.as_ref())?;
        Ok(self)
    }
}

/// What work has to know of its issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    pub title: String,
    pub status: Status,
    pub assignee: Option<String>,
    pub closed_at: Option<Timestamp>,
}

impl From<&Issue> for Ground {
    fn from(issue: &Issue) -> Self {
        Self {
            title: issue.title.clone(),
            status: issue.status,
            assignee: issue.assignee.clone(),
            closed_at: issue.closed_at,
        }
    }
}

impl Ground {
    /// Who has claimed the issue.
    pub fn holder(&self) -> Option<&str> {
        self.assignee.as_deref().filter(|_| self.status == Status::InProgress)
    }
}

impl Piece {
    /// The same as it stands now that its issue is like this: done if that is closed, and active only for whoever has
    /// claimed it. So no way to close, release, reassign or delete an issue leaves work on it active.
    #[must_use]
    pub fn beside(mut self, ground: Option<&Ground>) -> Self {
        if self.status == WorkStatus::Done {
            return self;
        }
        match ground {
            Some(ground) if ground.status == Status::Closed => {
                self.status = WorkStatus::Done;
                self.done_at = ground.closed_at;
            }
            Some(ground) if ground.holder() == Some(&self.actor) => {}
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

    /// Ticks a step, the current one unless another is named; tells which, or none if it was done before.
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

/// What somebody is doing about an issue.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    pub issue_id: IssueId,
    /// That of the issue
    pub title: String,
    pub kind: WorkKind,
    pub status: WorkStatus,
    pub branch: Option<String>,
    pub steps: Vec<Step>,
    /// The first step that is not done, counted from 1
    pub current_step: Option<usize>,
    /// Who does it now, or did it last
    pub actor: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub done_at: Option<Timestamp>,
    /// Who was to do it before somebody else claimed it with this very command
    pub was_assigned_to: Option<String>,
}

impl Work {
    /// A piece of work as it stands.
    pub fn of(piece: Piece, ground: &Ground) -> Self {
        let piece = piece.beside(Some(ground));
        Self {
            current_step: piece.current_step(),
            title: ground.title.clone(),
            issue_id: piece.issue_id,
            kind: piece.kind,
            status: piece.status,
            branch: piece.branch,
            steps: piece.steps,
            actor: piece.actor,
            created_at: piece.created_at,
            updated_at: piece.updated_at,
            done_at: piece.done_at,
            was_assigned_to: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn piece(status: WorkStatus) -> Piece {
        let at = "2026-02-27T14:30:00.000Z";
        serde_json::from_value(json!({"issue_id": "pn-1", "kind": "bug", "status": status, "steps": [], "actor": "ana",
            "created_at": at, "started_at": at, "updated_at": at}))
        .expect("a piece")
    }

    fn ground(status: Status, assignee: Option<&str>) -> Ground {
        let closed_at = (status == Status::Closed).then(|| "2026-02-27T15:00:00.000Z".parse().expect("a time"));
        Ground { title: "t".into(), status, assignee: assignee.map(str::to_owned), closed_at }
    }

    /// What was said of work against what its issue is like.
    #[test]
    fn work_follows_its_issue() {
        use WorkStatus::{Active, Done, Paused};
        let grounds = [
            Some(ground(Status::InProgress, Some("ana"))),
            Some(ground(Status::InProgress, Some("ben"))),
            Some(ground(Status::InProgress, None)),
            Some(ground(Status::Open, Some("ana"))),
            Some(ground(Status::Closed, Some("ana"))),
            None,
        ];
        let table = [
            (Active, [Active, Paused, Paused, Paused, Done, Paused]),
            (Paused, [Paused, Paused, Paused, Paused, Done, Paused]),
            (Done, [Done, Done, Done, Done, Done, Done]),
        ];
        for (said, expected) in table {
            for (ground, expected) in grounds.iter().zip(expected) {
                let stands = piece(said).beside(ground.as_ref());
                assert_eq!(stands.status, expected, "{said} beside {ground:?}");
                assert_eq!(stands.done_at.is_some(), said != Done && expected == Done, "{said} beside {ground:?}");
            }
        }
    }

    #[test]
    fn steps_are_ticked_in_order_or_by_their_number() {
        let mut work = piece(WorkStatus::Active);
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
    fn steps_are_lines_and_not_too_many() {
        let mut work = piece(WorkStatus::Active);
        for bad in ["", " ", "a\nb", "\u{1b}[2J", &"x".repeat(501)] {
            assert!(work.clone().add_steps(&[bad.to_owned()]).is_err(), "{bad:?}");
        }
        work.add_steps(&vec!["x".to_owned(); MAX_STEPS]).expect("as many as there may be");
        assert_eq!(work.add_steps(&["y".into()]).expect_err("one more").code, Code::TooLarge);
    }
}
