//! What of each noun is indexed.

use serde_json::Value;

use super::{Document, TextKind};
use crate::comment::Comment;
use crate::issue::Issue;
use crate::learning::{Impact, Learning};
use crate::release::Release;
use crate::session::Object;
use crate::time::Timestamp;

impl From<&Learning> for Document {
    fn from(learning: &Learning) -> Self {
        let ids = [
            learning.issue_id.as_ref().map(ToString::to_string),
            learning.work.as_ref().map(ToString::to_string),
            learning.session_id.as_ref().map(ToString::to_string),
        ];
        let links: Vec<String> = ids.into_iter().flatten().collect();
        Self {
            kind: TextKind::Learning,
            id: learning.id.to_string(),
            at: learning.fresh_at(),
            actor: learning.actor.clone(),
            group: links.first().cloned(),
            title: None,
            body: learning.text.clone(),
            tags: learning.tags.clone(),
            files: learning.files.clone(),
            links,
            impact: match learning.impact {
                Impact::High => 2,
                Impact::Medium => 1,
                Impact::Low => 0,
            },
        }
    }
}

impl From<&Issue> for Document {
    fn from(issue: &Issue) -> Self {
        let mut body = issue.description.clone().unwrap_or_default();
        let criteria = issue.acceptance.iter().map(|criterion| &criterion.text);
        for more in criteria.chain(issue.close_reason.as_ref()).chain(issue.fields.values()) {
            body.push('\n');
            body.push_str(more);
        }
        let links = issue.links.iter().map(|link| link.to.to_string());
        Self {
            kind: TextKind::Issue,
            id: issue.id.to_string(),
            at: issue.closed_at.unwrap_or(issue.created_at),
            // An issue has no author; who holds it is who it is by.
            actor: issue.assignee.clone().unwrap_or_default(),
            group: Some(issue.id.to_string()),
            title: Some(issue.title.clone()),
            body,
            tags: issue.labels.clone(),
            files: issue.spec.iter().map(|spec| format!("specs/{spec}.md")).collect(),
            links: issue.parent.iter().chain(&issue.fixes).map(ToString::to_string).chain(links).collect(),
            impact: 1,
        }
    }
}

impl From<&Comment> for Document {
    fn from(comment: &Comment) -> Self {
        let issue = comment.issue_id.to_string();
        Self {
            kind: TextKind::Comment,
            id: comment.id.to_string(),
            at: comment.created_at,
            actor: comment.actor.clone(),
            group: Some(issue.clone()),
            title: None,
            body: comment.text.clone(),
            tags: Vec::new(),
            files: Vec::new(),
            links: vec![issue],
            impact: 1,
        }
    }
}

impl From<&Release> for Document {
    fn from(release: &Release) -> Self {
        Self {
            kind: TextKind::Release,
            id: release.id.to_string(),
            at: release.shipped_at,
            actor: release.actor.clone(),
            group: None,
            title: Some(format!("{} {}", release.name, release.version)),
            body: release.notes.clone().unwrap_or_default(),
            tags: Vec::new(),
            files: Vec::new(),
            links: release.issues.iter().map(ToString::to_string).collect(),
            impact: 1,
        }
    }
}

/// An entry of a session. `actor` is the id of its agent.
pub fn of_entry(id: i64, session: &str, agent: &str, at: Timestamp, data: &Object) -> Document {
    Document {
        kind: TextKind::Session,
        id: id.to_string(),
        at,
        actor: agent.to_owned(),
        group: Some(session.to_owned()),
        title: None,
        body: text_of_entry(data),
        tags: Vec::new(),
        files: Vec::new(),
        links: Vec::new(),
        impact: 1,
    }
}

/// Fields of entries that are no text.
const NO_TEXT: [&str; 12] = [
    "id",
    "type",
    "role",
    "model",
    "signature",
    "timestamp",
    "mime_type",
    "mimeType",
    "media_type",
    "mediaType",
    "status",
    "stop_reason",
];
/// A longer word is data, such as an image.
const LONGEST_WORD: usize = 2_000;

/// The text in an entry's data, up to what is indexed.
pub fn text_of_entry(data: &Object) -> String {
    let mut text = String::new();
    data.iter().for_each(|(name, value)| add_text(name, value, &mut text));
    text
}

fn add_text(name: &str, value: &Value, to: &mut String) {
    if to.len() > super::MAX_BODY || NO_TEXT.contains(&name) || name.ends_with("_id") || name.ends_with("Id") {
        return;
    }
    match value {
        Value::String(text) => {
            let is_data =
                text.len() > LONGEST_WORD && text.split_whitespace().take(20).any(|word| word.len() > LONGEST_WORD);
            if !is_data && !text.is_empty() {
                if !to.is_empty() {
                    to.push('\n');
                }
                to.push_str(&text[..text.floor_char_boundary(super::MAX_BODY)]);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_text("", item, to)),
        Value::Object(object) => object.iter().for_each(|(name, value)| add_text(name, value, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
