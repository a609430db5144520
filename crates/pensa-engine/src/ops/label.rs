//! Operations on labels.

use std::collections::BTreeMap;

use pensa_core::event::EventType;
use pensa_core::issue::Status;
use pensa_core::ops::label::{LabelCount, LabelRenamed, List, Rename};
use pensa_core::{Error, Result, issue, text};
use serde_json::Map;

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::issues;

impl Execute for List {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<LabelCount>> {
        count(tx)
    }
}

/// The labels in use, by name.
pub(crate) fn count(tx: &Tx<'_>) -> Result<Vec<LabelCount>> {
    let mut counts: BTreeMap<String, LabelCount> = BTreeMap::new();
    for (labels, status) in issues::labels(tx)? {
        for label in labels {
            let count = counts.entry(label.clone()).or_insert_with(|| LabelCount { label, count: 0, open: 0 });
            count.count += 1;
            count.open += i64::from(status != Status::Closed);
        }
    }
    Ok(counts.into_values().collect())
}

impl Execute for Rename {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<LabelRenamed> {
        let (old, new) = (issue::label(&self.old)?, issue::label(&self.new)?);
        let labelled = issues::labelled(tx, &old)?;
        if labelled.is_empty() {
            let known = count(tx)?;
            let nearest = text::nearest(&old, known.iter().map(|known| known.label.as_str()));
            let hint = nearest.map_or("pn label list shows the labels".into(), |near| format!("did you mean {near}?"));
            return Err(Error::not_found("label", &old).hint(hint));
        }
        let mut changed = 0;
        for before in labelled {
            let mut after = before.clone();
            after.relabel(std::slice::from_ref(&new), std::slice::from_ref(&old))?;
            if old != new {
                changed += 1;
                issues::save(cx, tx, &before, after, EventType::Updated, Map::new())?;
            }
        }
        Ok(LabelRenamed { status: "renamed".into(), old, new, changed })
    }
}
