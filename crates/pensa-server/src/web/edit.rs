//! Applies the form that edits an issue in place: only what was changed, and with what its editor had read.

use std::collections::BTreeMap;

use pensa_core::issue::Updated;
use pensa_core::ops::issue::Update;
use pensa_core::{Error, Result};

use super::forms::FormResult;
use super::{PageRequest, Pairs};

/// Changes the fields whose values differ from what the editor read.
pub(super) async fn issue(asked: &PageRequest, id: &str, fields: &Pairs) -> Result<FormResult> {
    let Some(update) = changes(id, fields)? else {
        return Ok(FormResult::done("nothing was changed"));
    };
    let Updated { issue, conflicts, .. } = asked.ask(&update).await?;
    let mut done = FormResult::done(format!("changed {}", issue.id));
    if !conflicts.is_empty() {
        done.warning =
            Some("somebody else changed the same meanwhile: both values are kept, choose one above".to_owned());
    }
    Ok(done)
}

/// The update that a form asks for; `None` if nothing differs.
fn changes(id: &str, fields: &Pairs) -> Result<Option<Update>> {
    let was: BTreeMap<&str, &str> =
        fields.iter().filter_map(|(name, value)| Some((name.strip_prefix("was.")?, value.as_str()))).collect();
    let mut update = Update::of(id.parse()?);
    for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with("was.")) {
        let old = was.get(name.as_str()).copied().unwrap_or_default();
        if value.trim_end() == old.trim_end() {
            continue;
        }
        let text = Some(value.clone());
        match name.as_str() {
            "title" => update.title = text,
            "description" => update.description = text,
            "priority" => update.priority = Some(value.parse()?),
            "assignee" => update.assignee = text,
            "due" => update.due = text,
            "defer" => update.defer = text,
            "estimate" => update.estimate = text,
            "spec" => update.spec = text,
            "parent" => update.parent = Some(value.trim().parse()?),
            "fixes" => update.fixes = Some(value.trim().parse()?),
            "labels" => {
                let (new, old) = (labels(value), labels(old));
                update.add_labels = new.iter().filter(|label| !old.contains(label)).cloned().collect();
                update.remove_labels = old.into_iter().filter(|label| !new.contains(label)).collect();
                continue;
            }
            _ => return Err(Error::invalid(format!("no such field: {name}"))),
        }
        if let Some(old) = was.get(name.as_str()) {
            update.was.insert(name.clone(), (*old).to_owned());
        }
    }
    Ok(Some(update).filter(|update| !update.is_empty()))
}

fn labels(list: &str) -> Vec<String> {
    list.split(',').map(|label| label.trim().to_owned()).filter(|label| !label.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(pairs: &[(&str, &str)]) -> Pairs {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_what_differs_is_changed() {
        let same = form(&[("title", "a"), ("was.title", "a"), ("due", ""), ("labels", "x, y"), ("was.labels", "x, y")]);
        assert!(changes("pn-1", &same).expect("a form").is_none());
        let other = form(&[("title", "b"), ("was.title", "a"), ("due", ""), ("was.due", "2026-01-01")]);
        let update = changes("pn-1", &other).expect("a form").expect("a change");
        assert_eq!((update.title.as_deref(), update.due.as_deref(), update.priority), (Some("b"), Some(""), None));
        let was: Vec<_> = update.was.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(was, [("due", "2026-01-01"), ("title", "a")]);
        let labels = changes("pn-1", &form(&[("labels", "y, z"), ("was.labels", "x, y")])).expect("a form");
        let labels = labels.expect("a change");
        assert_eq!((labels.add_labels, labels.remove_labels), (vec!["z".to_owned()], vec!["x".to_owned()]));
        assert!(changes("pn-1", &form(&[("status", "closed")])).is_err(), "no field of this form");
    }
}
