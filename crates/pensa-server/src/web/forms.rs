//! Answers forms. Each runs an operation of the catalog, or several in one transaction, with the rights of its sender.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use pensa_core::id::IssueRef;
use pensa_core::issue::Status;
use pensa_core::ops::batch::{Batch, failed_operation};
use pensa_core::ops::issue::{Close, Release, Reopen, Update};
use pensa_core::{Access, Code, Error, Method, Result, json};
use pensa_engine::{Entry, entry, insufficient_rights};
use pensa_web::board::LaneField;
use pensa_web::layout::{self, PageNotice};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq;

use super::{PageRequest, Pairs, edit, html, pairs};
use crate::fields::Fields;
use crate::request::read_body;
use crate::response;

/// Most bytes of a form.
const MAX_FORM: usize = 4 << 20;
/// Fields that say something about the form itself.
const OWN_FIELDS: [&str; 2] = ["csrf", "back"];

/// What a form did.
pub(super) struct FormResult {
    pub(super) message: String,
    /// What the sender should look at again.
    pub(super) warning: Option<String>,
    /// An answer that is shown once, because it contains a secret.
    secret: Option<Value>,
}

impl FormResult {
    pub(super) fn done(message: impl Into<String>) -> Self {
        Self { message: message.into(), warning: None, secret: None }
    }
}

/// Reads a form, runs it, and answers: our script with JSON, others by sending them back to the page.
pub(super) async fn answer(asked: &PageRequest, request: Request, is_script: bool) -> Result<Response> {
    let body = read_body(request.into_body(), MAX_FORM).await?;
    let text = str::from_utf8(&body).map_err(|_| Error::invalid("the form is not UTF-8"))?;
    // Browsers send line breaks as CRLF.
    let mut fields: Pairs = pairs(text)?.into_iter().map(|(name, value)| (name, value.replace("\r\n", "\n"))).collect();
    check_csrf(asked, &fields)?;
    let back = back(asked, &fields);
    fields.retain(|(name, _)| !OWN_FIELDS.contains(&name.as_str()));
    let done = run(asked, fields).await?;
    if let Some(secret) = &done.secret {
        return secret_page(asked, secret).await;
    }
    if !is_script {
        return Ok(html::redirect(&back));
    }
    let mut answer = Map::new();
    answer.insert("message".to_owned(), done.message.into());
    if let Some(warning) = done.warning {
        answer.insert("warning".to_owned(), warning.into());
    }
    Ok(response::ok(StatusCode::OK, json::to_line(&answer)?))
}

async fn run(asked: &PageRequest, fields: Pairs) -> Result<FormResult> {
    // Refused before anything is looked up: what would change nothing is refused too.
    if asked.reader.context.caller.may < Access::Write {
        return Err(insufficient_rights(Access::Write, "forms"));
    }
    match asked.path.as_str() {
        "move" => move_card(asked, &fields).await,
        "bulk" => bulk(asked, &fields).await,
        path => {
            if let Some(id) = path.strip_prefix("issues/").and_then(|rest| rest.strip_suffix("/edit")) {
                return edit::issue(asked, id, &fields).await;
            }
            let operation = path.strip_prefix("do/").and_then(entry);
            let operation = operation.filter(|entry| entry.route.method != Method::Get);
            self::operation(asked, operation.ok_or_else(|| Error::not_found("form", path))?, fields).await
        }
    }
}

/// Forms of a session carry a field that other sites cannot know.
fn check_csrf(asked: &PageRequest, fields: &Pairs) -> Result<()> {
    let Some(expected) = &asked.reader.csrf else { return Ok(()) };
    let given = value(fields, "csrf");
    if given.as_bytes().ct_eq(expected.as_bytes()).into() {
        return Ok(());
    }
    Err(Error::new(Code::Forbidden, "the form is not of this session").hint("load the page again, then send the form"))
}

/// The page to return to: one of this project, else the board.
fn back(asked: &PageRequest, fields: &Pairs) -> String {
    let (given, ours) = (value(fields, "back"), format!("{}/ui/", asked.reader.root));
    let is_plain = given.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if given.starts_with(&ours) && is_plain && !given.contains("/../") {
        given.to_owned()
    } else {
        format!("{ours}board")
    }
}

/// The first value of a field; empty if it is absent.
pub(super) fn value<'f>(fields: &'f Pairs, name: &str) -> &'f str {
    fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

/// Runs one operation with the fields of the form.
async fn operation(asked: &PageRequest, entry: &'static Entry, fields: Pairs) -> Result<FormResult> {
    let schema = Fields::of_schema(&entry.root_schema());
    let mut input = Map::new();
    for (name, value) in fields {
        // An empty field of a form was left out, except where it clears a value.
        if !value.is_empty() || entry.route.method == Method::Patch {
            schema.add_text(&mut input, &name, value)?;
        }
    }
    let answer = asked.run(entry, Value::Object(input)).await?;
    let answer: Value = serde_json::from_slice(&answer).map_err(Error::internal)?;
    let what = answer["id"].as_str().or(answer["name"].as_str()).unwrap_or_default();
    let verb = entry.name.replace('.', " ");
    let message = format!("{verb} {what}").trim().to_owned();
    Ok(FormResult { secret: entry.returns_secret.then_some(answer), ..FormResult::done(message) })
}

async fn secret_page(asked: &PageRequest, answer: &Value) -> Result<Response> {
    let mut frame = asked.frame().await?;
    let text = "This is shown only once: keep it now.".to_owned();
    frame.notice = Some(PageNotice { text, hint: None, is_error: false });
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fields = answer.as_object().into_iter().flatten();
    let facts: Vec<_> = fields.map(|(name, value)| (name.clone(), text(value))).collect();
    Ok(html::page(StatusCode::OK, &layout::page(&frame, "Secret", layout::facts(&facts))))
}

/// Runs several operations in one transaction; the error of one is shown without its number.
pub(super) async fn run_all(asked: &PageRequest, batch: &Batch) -> Result<Vec<Value>> {
    asked.ask(batch).await.map_err(|error| failed_operation(&error).map_or(error, |(_, bare)| bare))
}

/// Moves a card to another column, and to another lane. A move is a claim, a release, closing or reopening.
async fn move_card(asked: &PageRequest, fields: &Pairs) -> Result<FormResult> {
    let bad = || Error::invalid("a move names an issue and a status");
    let (id, to) = value(fields, "move").split_once(' ').ok_or_else(bad)?;
    let (id, to): (IssueRef, Status) = (id.parse()?, to.parse()?);
    let from = asked.ask(&pensa_core::ops::issue::Show { id: id.clone() }).await?.issue.status;
    let mut batch = Batch::default();
    if let Some(update) = change_lane(fields, &id)? {
        batch.push(&update)?;
    }
    let claim = Update { claim: true, ..Update::of(id.clone()) };
    let reopen = Reopen { id: id.clone(), reason: None };
    match (from, to) {
        (from, to) if from == to => {}
        (Status::Closed, Status::InProgress) => {
            batch.push(&reopen)?;
            batch.push(&claim)?;
        }
        (_, Status::InProgress) => batch.push(&claim)?,
        (_, Status::Closed) => {
            batch.push(&Close { id: id.clone(), reason: None, duplicate_of: None, force: false })?;
        }
        (Status::Closed, Status::Open) => batch.push(&reopen)?,
        (_, Status::Open) => batch.push(&Release { id: id.clone(), force: false })?,
    }
    if !batch.operations.is_empty() {
        run_all(asked, &batch).await?;
    }
    Ok(FormResult::done(""))
}

/// The change that brings a card into another lane.
fn change_lane(fields: &Pairs, id: &IssueRef) -> Result<Option<Update>> {
    let Some(field) = LaneField::named(value(fields, "lanes")) else { return Ok(None) };
    let (from, to) = (value(fields, "from_lane").to_owned(), value(fields, "to_lane").to_owned());
    if from == to {
        return Ok(None);
    }
    let label = |name: String| if name.is_empty() { Vec::new() } else { vec![name] };
    let update = Update::of(id.clone());
    Ok(Some(match field {
        LaneField::Assignee => Update { assignee: Some(to), ..update },
        LaneField::Priority => Update { priority: Some(to.parse()?), ..update },
        LaneField::Parent => Update { parent: Some(to.parse()?), ..update },
        LaneField::Label => Update { add_labels: label(to), remove_labels: label(from), ..update },
    }))
}

/// Changes all selected issues, or none.
async fn bulk(asked: &PageRequest, fields: &Pairs) -> Result<FormResult> {
    let given = |name| Some(value(fields, name).trim().to_owned()).filter(|value| !value.is_empty());
    let list = |name| given(name).into_iter().collect::<Vec<_>>();
    let mut change = Update {
        priority: given("priority").map(|priority| priority.parse()).transpose()?,
        assignee: given("assignee"),
        add_labels: list("add_label"),
        remove_labels: list("remove_label"),
        ..Update::of("x".parse()?)
    };
    match value(fields, "step") {
        "claim" => change.claim = true,
        "release" => change.unclaim = true,
        "close" => change.status = Some(Status::Closed),
        "reopen" => change.status = Some(Status::Open),
        _ => {}
    }
    if change.is_empty() {
        return Err(Error::invalid("nothing to change").hint("choose what to change with those selected"));
    }
    let mut batch = Batch::default();
    for (_, id) in fields.iter().filter(|(name, _)| name == "id") {
        batch.push(&Update { id: id.parse()?, ..change.clone() })?;
    }
    if batch.operations.is_empty() {
        return Err(Error::invalid("no issue is selected").hint("tick the boxes in front of issues"));
    }
    let changed = run_all(asked, &batch).await?.len();
    Ok(FormResult::done(format!("changed {changed} issue{}", if changed == 1 { "" } else { "s" })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_changes_one_field() {
        let fields = |of: &str, from: &str, to: &str| -> Pairs {
            let pairs = [("lanes", of), ("from_lane", from), ("to_lane", to)];
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
        };
        let id: IssueRef = "pn-12345678".parse().expect("an id");
        let change = |of, from, to| change_lane(&fields(of, from, to), &id).expect("a change");
        assert_eq!(change("assignee", "ana", "").expect("a change").assignee.as_deref(), Some(""));
        let labels = change("label", "a", "b").expect("a change");
        assert_eq!((labels.add_labels, labels.remove_labels), (vec!["b".to_owned()], vec!["a".to_owned()]));
        assert!(change("label", "a", "a").is_none() && change("", "a", "b").is_none());
        assert!(change_lane(&fields("priority", "p1", "px"), &id).is_err());
    }
}
