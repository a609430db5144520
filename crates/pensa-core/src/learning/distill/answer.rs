//! Reads the learnings that an agent wrote down.

use serde::Deserialize;
use serde_json::Value;

use super::{Proposal, ProposalOrigin, distinct};
use crate::error::{Code, Error, Result};
use crate::learning::{Impact, Kind, check_files, check_tags, check_text, recalled};

/// Most bytes of an answer.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Most learnings in it.
pub const MAX_ANSWERS: usize = 50;
/// Most bytes of one: a finding, not an essay.
const MAX_TEXT: usize = 2_000;
/// Most places at which an object is looked for.
const MAX_ATTEMPTS: usize = 10_000;

/// A learning in an answer. Other fields are ignored.
#[derive(Debug, Deserialize)]
struct AnsweredLearning {
    text: String,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    impact: Impact,
}

/// The learnings in an answer, with their impact: JSON objects, alone or in lists, whatever stands around them.
pub fn answer(text: &str) -> Result<Vec<(Proposal, Impact)>> {
    if text.len() > MAX_ANSWER_BYTES {
        let message = format!("an answer has {} bytes; the limit is {MAX_ANSWER_BYTES}", text.len());
        return Err(Error::new(Code::TooLarge, message));
    }
    let objects = objects(text);
    if objects.is_empty() && !text.trim().is_empty() && text.contains('{') {
        return Err(Error::invalid("there is no learning in the answer").hint("pn distill --prompt shows what one has"));
    }
    if objects.len() > MAX_ANSWERS {
        let message = format!("{} learnings in an answer; the limit is {MAX_ANSWERS}", objects.len());
        return Err(Error::new(Code::TooLarge, message));
    }
    let mut found = Vec::new();
    for (at, object) in objects.into_iter().enumerate() {
        let within = |error: Error| error.within(format!("learning {}", at + 1));
        let read = AnsweredLearning::deserialize(&object).map_err(|e| within(Error::invalid(e.to_string())))?;
        let own = recalled::own_text(&read.text);
        if own.is_empty() {
            continue;
        }
        if own.len() > MAX_TEXT {
            let message = format!("it has {} bytes; the limit is {MAX_TEXT}", own.len());
            return Err(within(Error::new(Code::TooLarge, message)));
        }
        let text = check_text(&own).map_err(within)?;
        let mut proposal = Proposal::new(read.kind, ProposalOrigin::Answered, text);
        (proposal.files, proposal.tags) =
            (check_files(&read.files).map_err(within)?, check_tags(&read.tags).map_err(within)?);
        found.push((proposal, read.impact));
    }
    let mut kept = distinct(found.iter().map(|(proposal, _)| proposal.clone()).collect());
    // Each that is kept is taken once.
    found.retain(|(proposal, _)| match kept.iter().position(|one| one == proposal) {
        Some(at) => {
            kept.remove(at);
            true
        }
        None => false,
    });
    Ok(found)
}

/// The objects with a text in an answer.
fn objects(text: &str) -> Vec<Value> {
    let (mut found, mut at) = (Vec::new(), 0);
    for _ in 0..MAX_ATTEMPTS {
        let Some(next) = text[at..].find(['{', '[']) else { break };
        at += next;
        let mut stream = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                at += stream.byte_offset();
                let items = match value {
                    Value::Array(items) => items,
                    other => vec![other],
                };
                found.extend(items.into_iter().filter(|item| item.get("text").is_some()));
            }
            _ => at += 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(given: &str) -> Vec<String> {
        answer(given).expect("an answer").into_iter().map(|(one, _)| format!("{} {}", one.kind, one.text)).collect()
    }

    #[test]
    fn objects_are_found_whatever_stands_around_them() {
        let lines = "Here you are:\n```json\n{\"kind\":\"gotcha\",\"text\":\"symlinks are not followed\",\"why\":1}\n\
            {\"text\":\"one table per store\"}\n```\nThat {is} all [1].";
        assert_eq!(texts(lines), ["gotcha symlinks are not followed", "pattern one table per store"]);
        let list =
            "[{\"kind\":\"decision\",\"text\":\"tabs, since they\\nalign\",\"files\":[\"a.rs\"],\"impact\":\"high\"}]";
        let (one, impact) = answer(list).expect("an answer").remove(0);
        assert_eq!(
            (one.files, impact, one.text.as_str()),
            (vec!["a.rs".to_owned()], Impact::High, "tabs, since they\nalign")
        );
        assert_eq!((texts(""), texts("nothing will help")), (vec![], vec![]));
    }

    #[test]
    fn bad_answers_are_refused_by_number_and_recalled_text_is_left_out() {
        let refused = |given: &str| answer(given).expect_err(given);
        assert!(refused("{\"text\":\"a\"}{\"text\":\"b\",\"kind\":\"rumour\"}").message.starts_with("learning 2"));
        assert_eq!(refused("{\"texts\":\"a\"}").code, Code::InvalidInput);
        assert_eq!(refused(&format!("{{\"text\":\"{}\"}}", "x".repeat(3_000))).code, Code::TooLarge);
        assert_eq!(refused(&"{\"text\":\"a b c\"}".repeat(60)).code, Code::TooLarge);
        assert_eq!(refused(&" ".repeat(MAX_ANSWER_BYTES + 1)).code, Code::TooLarge);
        assert_eq!(
            texts("{\"text\":\"- ln-1a gotcha: known\"}{\"text\":\"a new one\"}{\"text\":\"a new one\"}").len(),
            1
        );
        assert!(answer(&"{".repeat(500_000)).is_err(), "and it ends");
    }
}
