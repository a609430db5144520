//! A connection for reads, with the answers it gave since the store last changed.
//!
//! Agents and pages ask the same questions again and again. Whether anybody has changed the store since is one cheap
//! question; only if so, or if a lease has run out, is an answer made anew.

use std::collections::HashMap;

use axum::body::Bytes;
use pensa_core::{Result, Timestamp};
use pensa_engine::{Engine, Mark};

/// Most bytes of answers that one reader keeps; then it forgets them all.
const MAX_KEPT: usize = 2 << 20;
/// Largest answer worth keeping.
const MAX_ANSWER: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) engine: Engine,
    mark: Option<Mark>,
    right_until: Option<Timestamp>,
    answers: HashMap<String, Bytes>,
    kept: usize,
}

impl Reader {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, mark: None, right_until: None, answers: HashMap::new(), kept: 0 }
    }

    /// The answer that was given to this question, if it is still right.
    pub(crate) fn known(&mut self, question: &str) -> Result<Option<Bytes>> {
        if self.engine.is_orphaned() {
            *self = Self::new(self.engine.another()?);
        }
        let mark = self.engine.mark()?;
        if self.mark != Some(mark) {
            self.forget();
            self.right_until = self.engine.right_until()?;
            self.mark = Some(mark);
        }
        if self.is_overdue()? { Ok(None) } else { Ok(self.answers.get(question).cloned()) }
    }

    /// Whether a lease has run out since the last look, so that the next read has to write first.
    pub(crate) fn is_overdue(&self) -> Result<bool> {
        match self.right_until {
            Some(end) => Ok(self.engine.now()? >= end),
            None => Ok(false),
        }
    }

    /// Keeps an answer that was made after the last look at the mark: if the store has changed in between, the next
    /// look finds another mark.
    pub(crate) fn keep(&mut self, question: &str, answer: &Bytes) {
        if answer.len() > MAX_ANSWER || self.mark.is_none() {
            return;
        }
        if self.kept + question.len() + answer.len() > MAX_KEPT {
            self.forget();
        }
        self.kept += question.len() + answer.len();
        self.answers.insert(question.to_owned(), answer.clone());
    }

    fn forget(&mut self) {
        self.answers.clear();
        self.kept = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pensa_core::ops::issue;
    use pensa_engine::StoreDir;
    use serde_json::json;
    use tempfile::TempDir;

    fn reader() -> (Reader, TempDir) {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, _) = StoreDir::create(&dir.path().join(StoreDir::NAME)).expect("a store");
        (Reader::new(Engine::open(store).expect("an engine")), dir)
    }

    fn create(engine: &Engine) {
        let op = serde_json::from_value(json!({"title": "t", "issue_type": "task"}));
        engine.call::<issue::Create>("a", &op.expect("an operation")).expect("created");
    }

    #[test]
    fn an_answer_is_known_until_anybody_changes_the_store() {
        let (mut reader, _dir) = reader();
        let others = [0, 1].map(|_| reader.engine.another().expect("another handle"));
        let answer = Bytes::from_static(b"[]");
        for other in &others {
            assert_eq!(reader.known("/issues").expect("asked"), None);
            reader.keep("/issues", &answer);
            assert_eq!(reader.known("/issues").expect("asked"), Some(answer.clone()));
            create(other);
        }
        assert_eq!(reader.known("/issues").expect("asked"), None);
        reader.keep("/issues", &answer);
        create(&reader.engine);
        assert_eq!(reader.known("/issues").expect("asked"), None, "its own changes count too");
    }

    #[test]
    fn no_answer_outlives_a_lease() {
        let (mut reader, _dir) = reader();
        assert_eq!(reader.known("/status").expect("asked"), None);
        reader.keep("/status", &Bytes::from_static(b"{}"));
        reader.right_until = Some(reader.engine.now().expect("a time"));
        assert_eq!(reader.known("/status").expect("asked"), None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (mut reader, _dir) = reader();
        assert_eq!(reader.known("/").expect("asked"), None);
        let answer = Bytes::from(vec![b' '; MAX_ANSWER]);
        for n in 0..100 {
            reader.keep(&format!("/{n}"), &answer);
            assert!(reader.answers.values().map(Bytes::len).sum::<usize>() <= MAX_KEPT);
        }
        reader.keep("/large", &Bytes::from(vec![b' '; MAX_ANSWER + 1]));
        assert_eq!(reader.known("/large").expect("asked"), None);
    }
}
