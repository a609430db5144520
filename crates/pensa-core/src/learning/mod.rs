//! The learning: a finding worth remembering, with its source and how long it is valid.
//!
//! [`recall`] defines how learnings are searched and ranked, [`recalled`] recognises what was recalled before,
//! [`contradiction`] and [`upkeep`] find what needs a second look, and [`distill`] proposes new ones.

pub mod contradiction;
pub mod distill;
pub mod recall;
pub mod recalled;
mod seed;
pub mod upkeep;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::entity;
use crate::error::{Code, Error, Result};
use crate::id::{IssueId, LearningId, SessionId};
use crate::issue::Extra;
use crate::sync::SyncEntity;
use crate::text;
use crate::time::Timestamp;

pub use seed::{SeedLearning, read};

/// Maximum length of a learning's text, in bytes.
pub const TEXT_BYTES: usize = 64 << 10;
/// Maximum number of tags, and of files, per learning.
pub const MAX_WORDS: usize = 100;
/// Most sources, and most uses, that a learning keeps: the newest ones.
pub const MAX_NOTED: usize = 100;

closed_enum! {
    /// The kind of a learning.
    #[derive(Default)]
    Kind "invalid kind: {:?}" {
        /// How something is done here
        #[default]
        Pattern "pattern",
        /// A way to solve a kind of problem
        Approach "approach",
        /// What was decided, and why
        Decision "decision",
        /// A trap to know about
        Gotcha "gotcha",
    }
}

closed_enum! {
    /// How much it matters.
    #[derive(Default)]
    Impact "invalid impact: {:?}" {
        High "high",
        #[default]
        Medium "medium",
        Low "low",
    }
}

/// The value of work, as its author rated it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Worth")]
pub struct WorkValue {
    /// `feature`, `bugfix`, `performance`, `dx`, `refactor`, `infrastructure`, or another
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Where a duplicate that was merged into a learning came from.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MergedSource")]
pub struct MergedSource {
    /// When it was remembered
    pub at: Timestamp,
    pub actor: String,
    pub issue_id: Option<IssueId>,
    pub work: Option<IssueId>,
    pub session_id: Option<SessionId>,
    /// The learning that it was, if it had been stored
    pub learning: Option<LearningId>,
}

/// That a learning was of use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct LearningUse {
    pub at: Timestamp,
    pub actor: String,
}

/// A finding with its source.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Learning {
    pub id: LearningId,
    pub kind: Kind,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The files it is about
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The issue it came from
    pub issue_id: Option<IssueId>,
    /// The work it came from, by its issue
    pub work: Option<IssueId>,
    /// The session it came from
    pub session_id: Option<SessionId>,
    #[serde(default)]
    pub impact: Impact,
    /// When it expires
    pub expires_at: Option<Timestamp>,
    /// The learning that it replaces
    pub supersedes: Option<LearningId>,
    /// How often it was remembered: 1, and one more for each merged duplicate
    #[serde(default = "first")]
    pub revision: i64,
    /// The value of the work it came from
    pub value: Option<WorkValue>,
    /// The issue of another tracker
    pub linear_id: Option<String>,
    pub actor: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When it was last confirmed as valid
    pub verified_at: Option<Timestamp>,
    /// Where the duplicates that were merged into it came from
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<MergedSource>,
    /// The learnings that its text cites
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived_from: Vec<LearningId>,
    /// Whom it helped, and when; at most once a day for each
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub useful: Vec<LearningUse>,
    /// Former names of its files
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_files: Vec<String>,
    /// Learnings that seem to contradict it, and do not
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agrees_with: Vec<LearningId>,
    /// Fields unknown to this version, kept so that a newer version does not lose them
    #[serde(flatten)]
    pub extra: Extra,
}

entity!(Learning: "learning" in "learnings", keys 1 {
    id, kind, text, tags: List, files: List, issue_id, work, session_id, impact, expires_at, supersedes, revision: Int,
    value_type = value.type, value_description = value.description, linear_id, actor, created_at, updated_at,
    verified_at, extra: Extra,
});

fn first() -> i64 {
    1
}

/// A learning with values computed from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Shown")]
pub struct LearningDetail {
    #[serde(flatten)]
    pub learning: Learning,
    /// The learning that replaced it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<LearningId>,
}

/// Names that answers use for other values next to the fields of a learning.
const RESERVED: [&str; 10] = [
    "superseded_by",
    "score",
    "cut",
    "merged",
    "recalled",
    "redactions",
    "status",
    "reasons",
    "gone_files",
    "duplicate_of",
];

impl SyncEntity for Learning {
    fn normalise(mut self) -> Result<Self> {
        if self.text.trim().is_empty() {
            return Err(Error::invalid("the text of a learning is empty"));
        }
        fits(&self.text)?;
        if self.supersedes.as_ref() == Some(&self.id) {
            return Err(Error::invalid("a learning cannot supersede itself"));
        }
        if let Some(name) = RESERVED.into_iter().find(|name| self.extra.contains_key(*name)) {
            return Err(Error::invalid(format!("{name} is not a field of a learning")));
        }
        for (what, words) in
            [("tag", &mut self.tags), ("file", &mut self.files), ("former file", &mut self.former_files)]
        {
            words.sort();
            words.dedup();
            words.iter().try_for_each(|word| text::fits_line(what, word))?;
            few(what, words)?;
        }
        newest(&mut self.sources);
        newest(&mut self.useful);
        let actors = self.sources.iter().map(|source| &source.actor).chain(self.useful.iter().map(|used| &used.actor));
        actors.into_iter().try_for_each(|actor| text::fits_line("actor", actor))?;
        for ids in [&mut self.derived_from, &mut self.agrees_with] {
            ids.retain(|id| *id != self.id);
            newest(ids);
        }
        self.revision = self.revision.max(1);
        Ok(self)
    }

    fn extra(&self) -> &Extra {
        &self.extra
    }
}

impl Learning {
    /// A learning with only what each has.
    pub fn new(id: LearningId, kind: Kind, text: String, actor: String, at: Timestamp) -> Self {
        Self {
            id,
            kind,
            text,
            tags: Vec::new(),
            files: Vec::new(),
            issue_id: None,
            work: None,
            session_id: None,
            impact: Impact::default(),
            expires_at: None,
            supersedes: None,
            revision: first(),
            value: None,
            linear_id: None,
            actor,
            created_at: at,
            updated_at: at,
            verified_at: None,
            sources: Vec::new(),
            derived_from: Vec::new(),
            useful: Vec::new(),
            former_files: Vec::new(),
            agrees_with: Vec::new(),
            extra: Extra::new(),
        }
    }

    /// Where it came from, as another learning notes it after a merge.
    pub fn source(&self) -> MergedSource {
        MergedSource {
            at: self.created_at,
            actor: self.actor.clone(),
            issue_id: self.issue_id.clone(),
            work: self.work.clone(),
            session_id: self.session_id.clone(),
            learning: None,
        }
    }

    /// When it was last of use.
    pub fn last_used(&self) -> Option<Timestamp> {
        self.useful.iter().map(|used| used.at).max()
    }

    /// Notes that it was of use to an actor. Returns `None` if that is noted for this day already.
    pub fn used_by(&self, actor: &str, at: Timestamp) -> Option<Self> {
        let is_today = |used: &LearningUse| used.actor == actor && at.as_millis() - used.at.as_millis() < DAY;
        if self.useful.iter().any(is_today) {
            return None;
        }
        let mut new = self.clone();
        new.useful.push(LearningUse { at, actor: actor.to_owned() });
        newest(&mut new.useful);
        Some(new)
    }

    /// The learning after files were renamed; `None` if it is about none of them.
    pub fn with_moved_files(&self, moves: &[FileMove]) -> Option<Self> {
        let mut new = self.clone();
        for FileMove { from, to } in moves {
            let is_it = |file: &String| plain_path(file) == plain_path(from);
            let Some(old) = new.files.iter().find(|file| is_it(file)).cloned() else { continue };
            new.files.retain(|file| !is_it(file));
            new.files.push(to.clone());
            new.former_files.retain(|former| former != to);
            new.former_files.push(old);
        }
        for files in [&mut new.files, &mut new.former_files] {
            files.sort();
            files.dedup();
        }
        new.former_files.truncate(MAX_WORDS);
        (new.files != self.files).then_some(new)
    }

    /// The time of the last update or verification.
    pub fn fresh_at(&self) -> Timestamp {
        self.verified_at.map_or(self.updated_at, |verified| verified.max(self.updated_at))
    }

    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Merges a near-duplicate into this learning. The longer text wins, and the newer one if both have the same length.
    #[must_use]
    pub fn merged_with(&self, again: &Learning) -> Learning {
        let mut both = self.clone();
        if again.text.chars().count() >= both.text.chars().count() {
            both.text = again.text.clone();
        }
        both.tags = union("tag", &both.tags, &again.tags);
        both.files = union("file", &both.files, &again.files);
        both.impact = both.impact.min(again.impact);
        both.issue_id = both.issue_id.or_else(|| again.issue_id.clone());
        both.work = both.work.or_else(|| again.work.clone());
        both.session_id = both.session_id.or_else(|| again.session_id.clone());
        both.value = both.value.or_else(|| again.value.clone());
        both.linear_id = both.linear_id.or_else(|| again.linear_id.clone());
        both.expires_at = again.expires_at.or(both.expires_at);
        for (name, value) in &again.extra {
            both.extra.entry(name.clone()).or_insert_with(|| value.clone());
        }
        both.note_sources(again);
        for (ids, more) in [(&mut both.derived_from, &again.derived_from), (&mut both.agrees_with, &again.agrees_with)]
        {
            ids.extend(more.iter().filter(|id| **id != self.id).cloned());
            newest(ids);
        }
        both.useful.extend(again.useful.iter().cloned());
        newest(&mut both.useful);
        both.former_files = union("former file", &both.former_files, &again.former_files);
        both.revision += 1;
        both
    }

    /// Notes where a duplicate came from, unless that is known.
    fn note_sources(&mut self, again: &Learning) {
        let place = |source: &MergedSource| MergedSource { at: self.created_at, ..source.clone() };
        let mut known: Vec<MergedSource> = self.sources.iter().map(place).collect();
        known.push(self.source());
        let new: Vec<MergedSource> = again.sources.iter().cloned().chain([again.source()]).collect();
        for source in new {
            // The same actor again, who names no place, tells nothing new.
            let is_placed = source.issue_id.is_some() || source.work.is_some() || source.session_id.is_some();
            let is_telling =
                is_placed || source.learning.is_some() || known.iter().all(|one| one.actor != source.actor);
            if is_telling && !known.contains(&place(&source)) {
                known.push(place(&source));
                self.sources.push(source);
            }
        }
        newest(&mut self.sources);
    }
}

/// A file that has another name now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileMove {
    pub from: String,
    pub to: String,
}

const DAY: i64 = 86_400_000;

/// A path without what does not tell it from others.
pub fn plain_path(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// Sorts a list, and keeps the last of it.
fn newest<T: Ord>(list: &mut Vec<T>) {
    list.sort();
    list.dedup();
    list.drain(..list.len().saturating_sub(MAX_NOTED));
}

/// The union of two lists, or the first if the union is too long.
fn union(what: &str, one: &[String], other: &[String]) -> Vec<String> {
    let mut all: Vec<String> = one.iter().chain(other).cloned().collect();
    all.sort();
    all.dedup();
    if few(what, &all).is_ok() { all } else { one.to_vec() }
}

fn few(what: &str, words: &[String]) -> Result<()> {
    if words.len() <= MAX_WORDS {
        return Ok(());
    }
    let message = format!("a learning with {} {what}s; the limit is {MAX_WORDS}", words.len());
    Err(Error::new(Code::TooLarge, message))
}

fn fits(text: &str) -> Result<()> {
    if text.len() <= TEXT_BYTES {
        return Ok(());
    }
    Err(Error::new(Code::TooLarge, format!("a learning has {} bytes; the limit is {TEXT_BYTES}", text.len()))
        .hint("keep one thing in each, and long text in a file whose name it has"))
}

/// Checks the text of a new learning.
pub fn check_text(given: &str) -> Result<String> {
    fits(given)?;
    let text = text::block("learning", given)?.trim().to_owned();
    if text.is_empty() {
        return Err(Error::invalid("the text of a learning is empty").hint("say what was found out"));
    }
    Ok(text)
}

/// Checks tags and returns them sorted, without duplicates.
pub fn check_tags(given: &[String]) -> Result<Vec<String>> {
    let mut tags = Vec::new();
    for tag in given {
        let tag = text::line("tag", tag)?;
        if tag.chars().any(char::is_whitespace) {
            return Err(
                Error::invalid(format!("not a tag: {tag:?}")).hint("a tag is one word; give --tag again for more")
            );
        }
        tags.push(tag.to_owned());
    }
    tags.sort();
    tags.dedup();
    few("tag", &tags)?;
    Ok(tags)
}

/// Checks file names and returns them sorted, without duplicates.
pub fn check_files(given: &[String]) -> Result<Vec<String>> {
    let mut files: Vec<String> =
        given.iter().map(|file| text::line("file", file).map(str::to_owned)).collect::<Result<_>>()?;
    files.sort();
    files.dedup();
    few("file", &files)?;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::sync::LEARNINGS;

    fn learning(fields: Value) -> Learning {
        let mut whole = json!({"id": "ln-1", "kind": "gotcha", "text": "t", "actor": "a",
            "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"});
        for (name, value) in fields.as_object().expect("an object") {
            whole[name] = value.clone();
        }
        serde_json::from_value::<Learning>(whole).expect("a learning").normalise().expect("one that can be kept")
    }

    #[test]
    fn texts_tags_and_files_are_checked() {
        assert_eq!(check_text(" a\r\nb ").expect("fine"), "a\nb");
        for bad in ["", "  \n", "\u{1b}[31m", "nul\0"] {
            assert_eq!(check_text(bad).expect_err(bad).code, Code::InvalidInput);
        }
        assert!(check_text(&"x".repeat(TEXT_BYTES)).is_ok());
        assert_eq!(check_text(&"x".repeat(1 << 20)).expect_err("a megabyte").code, Code::TooLarge);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(check_tags(&words(&["b", " a", "b"])).expect("fine"), ["a", "b"]);
        for bad in ["", "two words", "a\nb", "\u{7}"] {
            assert!(check_tags(&words(&[bad])).is_err(), "{bad:?}");
        }
        let many: Vec<String> = (0..=MAX_WORDS).map(|at| format!("t{at}")).collect();
        assert_eq!(check_tags(&many).expect_err("many").code, Code::TooLarge);
        assert_eq!(check_files(&words(&["./a b.rs", "x"])).expect("fine"), ["./a b.rs", "x"]);
        assert!(check_files(&words(&["a\nb"])).is_err());
    }

    #[test]
    fn merging_a_duplicate_only_adds() {
        let one =
            learning(json!({"text": "handle null parents", "tags": ["b"], "files": ["x.rs"], "issue_id": "pn-1"}));
        let again = learning(json!({"text": "always handle null parents", "tags": ["a"], "impact": "high",
            "issue_id": "pn-2", "session_id": "se-1", "expires_at": "2027-01-01T00:00:00.000Z"}));
        let both = one.merged_with(&again);
        assert_eq!((both.revision, both.text.as_str()), (2, "always handle null parents"));
        assert_eq!(
            (&both.tags[..], &both.files[..]),
            (&["a".to_owned(), "b".to_owned()][..], &["x.rs".to_owned()][..])
        );
        assert_eq!((both.impact, both.issue_id, both.session_id.is_some()), (Impact::High, one.issue_id.clone(), true));
        assert!(both.expires_at.is_some() && both.created_at == one.created_at && both.id == one.id);
        assert_eq!(again.merged_with(&one).text, "always handle null parents", "the longer one says more");
    }

    #[test]
    fn invalid_lines_are_refused_and_unknown_fields_kept() {
        let line = |fields: Value| json!(learning(fields)).to_string();
        let kept = LEARNINGS.read(line(json!({"mood": "good"})).as_bytes()).expect("a record");
        assert_eq!(kept.get("mood"), Some(&json!("good")));
        let good: Value = serde_json::from_str(&line(json!({}))).expect("JSON");
        for (field, bad) in [
            ("text", json!(" ")),
            ("text", json!("x".repeat(TEXT_BYTES + 1))),
            ("kind", json!("rumour")),
            ("impact", json!("huge")),
            ("supersedes", json!("ln-1")),
            ("score", json!(1)),
            ("tags", json!("a")),
            ("tags", json!((0..=MAX_WORDS).map(|at| at.to_string()).collect::<Vec<_>>())),
            ("created_at", json!("yesterday")),
        ] {
            let mut whole = good.clone();
            whole[field] = bad;
            assert!(LEARNINGS.read(whole.to_string().as_bytes()).is_err(), "{field}");
        }
    }
}
