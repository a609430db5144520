//! Recall: one index over all texts, and the ranking of what matches.
//!
//! Everything here is a pure function of the texts, so the order is the same on every database and machine. The index is
//! a projection: `pensa-engine` feeds it with every change and can build it again at any time.

pub mod documents;
mod hit;
pub mod rerank;
pub mod search;
pub mod segment;
mod snippet;
pub mod vector;
pub mod words;

use std::collections::BTreeMap;

use self::segment::{Counts, Doc};
use self::words::{Tokenizer, Word};
use crate::closed_enum::closed_enum;
use crate::similar::hash64;
use crate::time::Timestamp;

pub use hit::{ExplainedTerm, Explanation, HitId, Neighbour, Recalled, RecalledLearning, Sourced, diverse, within};
pub use snippet::snippet;

/// The version of what is stored. An index of another version is built again.
pub const VERSION: u32 = 1;

/// Bytes of a body that are indexed. The rest of a longer text, such as a log, says little about what it is about.
pub const MAX_BODY: usize = 32 << 10;

closed_enum! {
    /// What a text belongs to.
    TextKind "invalid kind of text: {:?}" {
        /// What was learned
        Learning "learning" | "learnings",
        /// Titles and descriptions of issues
        Issue "issue" | "issues",
        /// What was said about issues
        Comment "comment" | "comments",
        /// Entries of sessions
        Session "session" | "sessions",
        /// What was shipped
        Release "release" | "releases",
        /// Messages of commits
        Commit "commit" | "commits",
    }
}

impl TextKind {
    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| *kind as u8 == number)
    }
}

closed_enum! {
    /// A part of a text that counts for itself.
    Field "invalid field: {:?}" {
        Title "title",
        Tags "tags",
        Files "files",
        /// What it is linked with
        Links "links",
        Body "body",
    }
}

impl Field {
    pub(crate) const COUNT: usize = Self::ALL.len();
}

/// A text to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub kind: TextKind,
    pub id: String,
    pub at: Timestamp,
    pub actor: String,
    /// The session or issue that it belongs to
    pub group: Option<String>,
    pub title: Option<String>,
    pub body: String,
    pub tags: Vec<String>,
    pub files: Vec<String>,
    /// Ids of what it is linked with
    pub links: Vec<String>,
    /// 0 to 2, from low to high
    pub impact: u8,
}

impl Document {
    /// All of its text.
    pub fn text(&self) -> String {
        match &self.title {
            Some(title) if self.body.is_empty() => title.clone(),
            Some(title) => format!("{title}\n{}", self.body),
            None => self.body.clone(),
        }
    }
}

/// A document as the index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    pub doc: Doc,
    /// Sorted by word
    pub words: Vec<(Word, Counts)>,
}

impl Indexed {
    pub fn new(document: &Document, tokenizer: &mut Tokenizer) -> Self {
        let mut words: BTreeMap<Word, Counts> = BTreeMap::new();
        let mut add = |word: Word, field: Field| {
            let count = &mut words.entry(word).or_default()[field as usize];
            *count = count.saturating_add(1);
        };
        let mut lengths = [0; 2];
        let body = &document.body[..document.body.floor_char_boundary(MAX_BODY)];
        let title = document.title.as_deref().unwrap_or_default();
        for (field, text, length) in [(Field::Title, title, 0), (Field::Body, body, 1)] {
            for token in tokenizer.tokens(text) {
                add(token.word, field);
                lengths[length] += 1;
            }
            words::paths_in(text).flat_map(words::file_words).for_each(|word| add(word, Field::Links));
        }
        for tag in &document.tags {
            add(words::tag_word(tag), Field::Links);
            tokenizer.tokens(tag).iter().for_each(|token| add(token.word, Field::Tags));
        }
        for file in &document.files {
            words::file_words(file).into_iter().for_each(|word| add(word, Field::Links));
            tokenizer.tokens(file).iter().for_each(|token| add(token.word, Field::Files));
        }
        document.links.iter().for_each(|id| add(words::link_word(id), Field::Links));
        let doc = Doc {
            kind: document.kind,
            key: key_of(document.kind, &document.id),
            at: document.at.as_millis(),
            actor: short_hash(&document.actor),
            group: document.group.as_deref().map_or(0, short_hash),
            lengths,
            impact: document.impact,
            is_alive: true,
        };
        Self { doc, words: words.into_iter().collect() }
    }
}

/// The key of a document's id: of an entry its number, else a hash.
pub fn key_of(kind: TextKind, id: &str) -> u64 {
    let number = if kind == TextKind::Session { id.parse().ok() } else { None };
    number.unwrap_or_else(|| hash64(id.as_bytes()))
}

/// A hash for actors and groups.
pub fn short_hash(text: &str) -> u32 {
    let hash = hash64(text.as_bytes());
    ((hash ^ (hash >> 32)) as u32).max(1)
}
