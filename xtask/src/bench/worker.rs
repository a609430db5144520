//! What an agent does, step by step: look for work, claim it, say something about it, close it.
//!
//! How a step reaches the store is left to others.

use super::data::Dice;
use crate::Result;

/// What comes next, with the id of the issue.
#[derive(Clone)]
pub(super) enum Step {
    Ready,
    Claim(String),
    Comment(String),
    Close(String),
}

/// Issues that an agent chooses from. Whoever always took the first would race with everybody.
pub(super) const CHOICE: usize = 10;

pub(super) struct Worker {
    pub(super) name: String,
    pub(super) step: Step,
    dice: Dice,
    /// Issues that it got.
    pub(super) claims: Vec<String>,
    /// Claims that another was faster with.
    pub(super) lost: usize,
}

impl Worker {
    pub(super) fn new(number: usize) -> Self {
        let (name, dice) = (format!("agent-{number}"), Dice::new(number as u64));
        Self { name, step: Step::Ready, dice, claims: Vec::new(), lost: 0 }
    }

    /// Goes on after an answer, which is a body or an error with its code.
    pub(super) fn answered(&mut self, success: bool, text: &str) -> Result {
        let step = std::mem::replace(&mut self.step, Step::Ready);
        self.step = match step {
            Step::Claim(_) if !success && is_lost_race(text) => {
                self.lost += 1;
                Step::Ready
            }
            _ if !success => return Err(text.into()),
            Step::Ready => {
                let ids = ids_in(text);
                let id = ids.get(self.dice.below(ids.len())).ok_or("no issue is ready")?;
                Step::Claim((*id).to_owned())
            }
            Step::Claim(id) => {
                self.claims.push(id.clone());
                Step::Comment(id)
            }
            Step::Comment(id) => Step::Close(id),
            Step::Close(_) => Step::Ready,
        };
        Ok(())
    }
}

/// Another holds the issue, or has closed it already.
fn is_lost_race(error: &str) -> bool {
    error.contains("already_claimed") || error.contains("invalid_status_transition")
}

/// Values of `id` in a text of JSON, in order.
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
        assert!(matches!(&worker.step, Step::Claim(id) if id == "pn-3"));
        assert_eq!((worker.claims, worker.lost), (vec!["pn-2".to_owned()], 1));
        assert!(Worker::new(1).answered(true, "[]").is_err());
        Ok(())
    }
}
