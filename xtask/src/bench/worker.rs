//! The steps of an agent's work: find an issue, claim it, comment on it, close it. The caller executes the steps.

use super::data::Dice;
use crate::Result;

/// The next step, with the id of the issue.
#[derive(Clone)]
pub(super) enum WorkerStep {
    Ready,
    Claim(String),
    Comment(String),
    Close(String),
}

/// How many ready issues an agent chooses from, because agents that all took the first would race.
pub(super) const CHOICE: usize = 10;

pub(super) struct Worker {
    pub(super) name: String,
    pub(super) step: WorkerStep,
    dice: Dice,
    /// Successful claims.
    pub(super) claims: Vec<String>,
    /// Claims lost to another agent.
    pub(super) lost: usize,
}

impl Worker {
    pub(super) fn new(number: usize) -> Self {
        let (name, dice) = (format!("agent-{number}"), Dice::new(number as u64));
        Self { name, step: WorkerStep::Ready, dice, claims: Vec::new(), lost: 0 }
    }

    /// Continues after an answer: a body, or an error code.
    pub(super) fn answered(&mut self, success: bool, text: &str) -> Result {
        let step = std::mem::replace(&mut self.step, WorkerStep::Ready);
        self.step = match step {
            WorkerStep::Claim(_) if !success && is_lost_race(text) => {
                self.lost += 1;
                WorkerStep::Ready
            }
            _ if !success => return Err(text.into()),
            WorkerStep::Ready => {
                let ids = ids_in(text);
                let id = ids.get(self.dice.below(ids.len())).ok_or("no issue is ready")?;
                WorkerStep::Claim((*id).to_owned())
            }
            WorkerStep::Claim(id) => {
                self.claims.push(id.clone());
                WorkerStep::Comment(id)
            }
            WorkerStep::Comment(id) => WorkerStep::Close(id),
            WorkerStep::Close(_) => WorkerStep::Ready,
        };
        Ok(())
    }
}

/// Another agent holds the issue or has closed it.
fn is_lost_race(error: &str) -> bool {
    error.contains("already_claimed") || error.contains("invalid_status_transition")
}

/// The values of `id` in a JSON text, in order.
pub(super) fn ids_in(text: &str) -> Vec<&str> {
    text.split("\"id\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_closes_what_it_claimed_and_looks_again_after_a_lost_race() -> Result {
        let mut worker = Worker::new(0);
        worker.answered(true, r#"[{"id":"pn-1"}]"#)?;
        worker.answered(false, r#"{"code":"already_claimed"}"#)?;
        for answer in [r#"[{"id":"pn-2"}]"#, "{}", "{}", "{}", r#"[{"id":"pn-3"}]"#] {
            worker.answered(true, answer)?;
        }
        assert!(matches!(&worker.step, WorkerStep::Claim(id) if id == "pn-3"));
        assert_eq!((worker.claims, worker.lost), (vec!["pn-2".to_owned()], 1));
        assert!(Worker::new(1).answered(true, "[]").is_err());
        Ok(())
    }
}
