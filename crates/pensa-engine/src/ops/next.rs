//! Claims the next ready issue.

use pensa_core::issue::IssueTransition;
use pensa_core::ops::issue::Show;
use pensa_core::ops::next::{Assignment, ClaimNext};
use pensa_core::{Code, Error, Result};

use super::{issue, recall};
use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::{issue_query, issues};

/// Most learnings that come with an issue.
const MAX_LEARNINGS: usize = 10;

impl Execute for ClaimNext {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Assignment> {
        let query = self.q.as_ref().map(|query| issue_query::parse(cx, tx, query, false)).transpose()?;
        let ready = issue::ready(cx.now).matching(cx, tx, &query.unwrap_or_default())?;
        let Some(first) = issue::queue(tx, ready, 1)?.pop() else {
            let (message, hint) = match &self.q {
                Some(query) => (format!("no ready issue matches {query:?}"), "pn ready shows what is ready"),
                None => ("no issue is ready".to_owned(), "pn blocked shows what waits, and for what"),
            };
            return Err(Error::new(Code::NotFound, message).hint(hint));
        };
        let step = IssueTransition::Claim { lease: self.ttl };
        let claimed = issue::advance(cx, tx, first, step, &cx.requester(false))?;
        let detail = Show { id: (&claimed.id).into() }.execute(cx, tx)?;
        let parent_issue = claimed.parent.as_ref().map(|id| issues::get(tx, id)).transpose()?.flatten();
        let words = format!("{} {}", claimed.title, claimed.description.as_deref().unwrap_or_default());
        let hits = recall::recalled(tx, &words, std::slice::from_ref(&claimed.id), cx.now, MAX_LEARNINGS)?;
        let learnings: Vec<_> = hits.into_iter().map(|hit| hit.learning).collect();
        let mut files: Vec<String> = learnings.iter().flat_map(|learning| learning.files.clone()).collect();
        files.sort();
        files.dedup();
        Ok(Assignment { detail, parent_issue, learnings, files })
    }
}
