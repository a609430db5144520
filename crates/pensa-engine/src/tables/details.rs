//! Issues with what belongs to them, read ahead: three questions for any number of issues that will be asked for. Only
//! where each question is a journey.
//!
//! Who asks, and what is done about those that are not found by their whole id, is left to the operations.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use pensa_core::Result;
use pensa_core::id::{self, IssueId, IssueRef};
use pensa_core::issue::IssueDetail;

use crate::db::{Param, Question, Tx, of_each};
use crate::tables::{comments, deps, issues};

/// Most issues that are read ahead at a time, and a number of which a question always has a multiple, so that there
/// are few different questions.
const MOST: usize = 64;
const STEP: usize = 8;
const _: () = assert!(MOST.is_multiple_of(STEP), "there is a text for as many as are asked for at most");

/// What operations that are about to run will ask for, and how often.
#[derive(Debug, Default)]
pub struct Ahead {
    issues: BTreeMap<IssueId, usize>,
}

/// What a reading transaction has read ahead, and how often it will be asked for.
pub(crate) type Foreseen = HashMap<IssueId, (IssueDetail, usize)>;

/// The texts of the questions, by how often [`STEP`] issues are asked for: the issues, what they wait for, and what was
/// said about them.
static TEXTS: LazyLock<Vec<[String; 3]>> = LazyLock::new(|| {
    let id = "wanted.column1";
    let of_one =
        [issues::question(&format!("WHERE i.id = {id}"), ""), deps::parents_question(id), comments::question(id)];
    (1..=MOST / STEP).map(|steps| of_one.each_ref().map(|one| of_each("TEXT", steps * STEP, one))).collect()
});

impl Ahead {
    /// Notes an issue that will be shown, if it is meant by its whole id.
    pub(crate) fn show(&mut self, wanted: &IssueRef) {
        if id::is_possible(wanted.as_str())
            && let Ok(id) = wanted.as_str().parse()
            && (self.issues.len() < MOST || self.issues.contains_key(&id))
        {
            *self.issues.entry(id).or_default() += 1;
        }
    }

    /// Whether there is too little for reading it ahead to save anything.
    pub fn is_little(&self) -> bool {
        self.issues.len() < 2
    }

    pub(crate) fn questions(&self) -> Vec<Question> {
        if self.is_little() {
            return Vec::new();
        }
        // No issue has an empty id.
        let padding = self.issues.len().next_multiple_of(STEP) - self.issues.len();
        let ids = self.issues.keys().map(|id| Param::from(id).to_static());
        let ids: Arc<[Param<'static>]> = ids.chain((0..padding).map(|_| Param::from(""))).collect();
        let texts = &TEXTS[ids.len() / STEP - 1];
        texts.iter().map(|text| Question { sql: text.as_str().into(), params: Arc::clone(&ids) }).collect()
    }

    /// Reads it all, for [`foreseen`] in the same transaction, which must not change anything.
    pub(crate) fn read(&self, tx: &Tx<'_>) -> Result<()> {
        let questions = self.questions();
        let [of_issues, of_parents, of_comments] = &questions[..] else { return Ok(()) };
        let mut found = Foreseen::with_capacity(self.issues.len());
        for issue in tx.query(&of_issues.sql, &of_issues.params, issues::read)? {
            let times = self.issues.get(&issue.id).copied().unwrap_or_default();
            let detail = IssueDetail { issue, deps: Vec::new(), comments: Vec::new() };
            found.insert(detail.issue.id.clone(), (detail, times));
        }
        for (child, parent) in tx.query(&of_parents.sql, &of_parents.params, deps::read_parent)? {
            found.entry(child).and_modify(|(detail, _)| detail.deps.push(parent));
        }
        for comment in tx.query(&of_comments.sql, &of_comments.params, comments::read)? {
            found.entry(comment.issue_id.clone()).and_modify(|(detail, _)| detail.comments.push(comment));
        }
        for (detail, _) in found.values_mut() {
            detail
                .deps
                .sort_unstable_by(|a, b| (a.priority, a.created_at, &a.id).cmp(&(b.priority, b.created_at, &b.id)));
            detail.comments.sort_unstable_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        }
        *tx.foreseen.borrow_mut() = found;
        Ok(())
    }
}

/// The issue that is meant, if it was read ahead. Only who asks last is handed what was read, the others a copy.
pub(crate) fn foreseen(tx: &Tx<'_>, wanted: &IssueRef) -> Option<IssueDetail> {
    let mut foreseen = tx.foreseen.borrow_mut();
    if foreseen.is_empty() {
        return None;
    }
    let id: IssueId = wanted.as_str().parse().ok()?;
    match foreseen.get_mut(&id)? {
        (detail, times) if *times > 1 => {
            *times -= 1;
            Some(detail.clone())
        }
        _ => foreseen.remove(&id).map(|(detail, _)| detail),
    }
}
