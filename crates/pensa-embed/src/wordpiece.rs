//! Splits texts into the pieces of a vocabulary, as BERT does: cleans and lowercases, splits at spaces and punctuation,
//! then takes the longest piece that fits, again and again.
//!
//! A text that spells a special token (`[SEP]`) is text here, never the token.

use std::collections::HashMap;
use std::path::Path;

use pensa_core::Result;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::files::{TOKENIZER, broken, json, unsupported};

/// More pieces than any published vocabulary has.
const MAX_PIECES: usize = 2_000_000;

/// A tokenizer of the WordPiece kind.
#[derive(Debug)]
pub(crate) struct WordPiece {
    rules: Normalizer,
    /// Pieces at the start of a word.
    first: HashMap<Box<str>, u32>,
    /// Pieces that continue a word, without the prefix that marks them.
    next: HashMap<Box<str>, u32>,
    /// Of words that no pieces make up.
    unknown: u32,
    /// Longer words are unknown.
    longest_word: usize,
    longest_piece: usize,
    /// Stand before and after a text.
    pub(crate) marks: Option<(u32, u32)>,
}

#[derive(Deserialize)]
struct TokenizerFile {
    normalizer: Option<Normalizer>,
    pre_tokenizer: Option<Typed>,
    model: PieceModel,
}

#[derive(Deserialize)]
struct Typed {
    r#type: String,
}

#[derive(Debug, Deserialize)]
struct Normalizer {
    r#type: String,
    #[serde(default = "yes")]
    clean_text: bool,
    #[serde(default = "yes")]
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    #[serde(default = "yes")]
    lowercase: bool,
}

#[derive(Deserialize)]
struct PieceModel {
    #[serde(default)]
    r#type: String,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    max_input_chars_per_word: Option<usize>,
    #[serde(default)]
    vocab: Vocabulary,
}

/// Pieces with their numbers. Unigram models have a list here, which stays empty and is refused by its type.
#[derive(Default)]
struct Vocabulary(Vec<(String, u32)>);

fn yes() -> bool {
    true
}

impl<'de> Deserialize<'de> for Vocabulary {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pieces;
        impl<'de> Visitor<'de> for Pieces {
            type Value = Vocabulary;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a vocabulary: pieces with their numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vocabulary, A::Error> {
                let mut pieces = Vec::new();
                while let Some(piece) = map.next_entry()? {
                    if pieces.len() == MAX_PIECES {
                        return Err(serde::de::Error::custom("too many pieces"));
                    }
                    pieces.push(piece);
                }
                Ok(Vocabulary(pieces))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Vocabulary, A::Error> {
                while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(Vocabulary::default())
            }
        }
        from.deserialize_any(Pieces)
    }
}

impl WordPiece {
    /// Reads `tokenizer.json`. `vocabulary` is how many vectors the model has.
    pub(crate) fn load(directory: &Path, vocabulary: usize) -> Result<Self> {
        let path = directory.join(TOKENIZER);
        let file: TokenizerFile = json(directory, TOKENIZER)?.ok_or_else(|| broken(&path, "is missing"))?;
        let is = |wanted: &str, found: Option<&str>| match found {
            Some(found) if found == wanted => Ok(()),
            found => Err(unsupported(&path, format!("{} is not read, only {wanted}", found.unwrap_or("nothing")))),
        };
        is("WordPiece", Some(&file.model.r#type))?;
        is("BertNormalizer", file.normalizer.as_ref().map(|it| it.r#type.as_str()))?;
        is("BertPreTokenizer", file.pre_tokenizer.as_ref().map(|it| it.r#type.as_str()))?;
        let Some(rules) = file.normalizer else { return Err(broken(&path, "has no normalizer")) };
        let prefix = file.model.continuing_subword_prefix.as_deref().unwrap_or("##");
        let (mut first, mut next, mut longest_piece) = (HashMap::new(), HashMap::new(), 0);
        let Vocabulary(pieces) = file.model.vocab;
        first.reserve(pieces.len());
        for (piece, id) in pieces {
            if id as usize >= vocabulary {
                let problem = format!("has the piece {id}, but model.safetensors has only {vocabulary} vectors");
                return Err(broken(&path, problem));
            }
            longest_piece = longest_piece.max(piece.chars().count());
            match piece.strip_prefix(prefix) {
                Some(rest) if !rest.is_empty() => next.insert(rest.into(), id),
                _ => first.insert(piece.into_boxed_str(), id),
            };
        }
        let special = |token: &str| first.get(token).copied();
        let name = file.model.unk_token.as_deref().unwrap_or("[UNK]");
        let unknown = special(name).ok_or_else(|| broken(&path, format!("has no piece {name}")))?;
        let marks = special("[CLS]").zip(special("[SEP]"));
        let longest_word = file.model.max_input_chars_per_word.unwrap_or(100).min(1000);
        Ok(Self { rules, first, next, unknown, longest_word, longest_piece, marks })
    }

    pub(crate) fn unknown(&self) -> u32 {
        self.unknown
    }

    /// The first `limit` pieces of a text. Reads no more of it than that takes.
    pub(crate) fn pieces(&self, text: &str, limit: usize) -> Vec<u32> {
        let (mut pieces, mut word) = (Vec::new(), Vec::new());
        let mut chars = self.rules.apply(text);
        while pieces.len() < limit {
            let char = chars.next();
            match char {
                Some(char) if !ends_word(char) => {
                    // One char more tells that it is too long, however long it is.
                    if word.len() <= self.longest_word {
                        word.push(char);
                    }
                    continue;
                }
                _ => self.split(&word, &mut pieces),
            }
            word.clear();
            match char {
                Some(char) if is_punctuation(char) => self.split(&[char], &mut pieces),
                Some(_) => {}
                None => break,
            }
        }
        pieces.truncate(limit);
        pieces
    }

    /// Appends the pieces of a word: always the longest that fits. A word that is not made of pieces is unknown.
    fn split(&self, word: &[char], pieces: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let (start, mut at) = (pieces.len(), 0);
        while at < word.len() && word.len() <= self.longest_word {
            let known = if at == 0 { &self.first } else { &self.next };
            let mut candidate: String = word[at..].iter().take(self.longest_piece).collect();
            let mut length = candidate.chars().count();
            while length > 0 && !known.contains_key(candidate.as_str()) {
                candidate.pop();
                length -= 1;
            }
            let Some(piece) = known.get(candidate.as_str()) else { break };
            pieces.push(*piece);
            at += length;
        }
        if at < word.len() {
            pieces.truncate(start);
            pieces.push(self.unknown);
        }
    }
}

impl Normalizer {
    fn apply<'t>(&self, text: &'t str) -> Box<dyn Iterator<Item = char> + 't> {
        let (clean, ideographs, lower) = (self.clean_text, self.handle_chinese_chars, self.lowercase);
        let strip = self.strip_accents.unwrap_or(lower);
        let chars = text.chars().filter(move |c| !clean || !is_removed(*c));
        let chars = chars.flat_map(move |c| {
            let around = (ideographs && is_ideograph(c)).then_some(' ');
            around.into_iter().chain([c]).chain(around)
        });
        let lowered = move |c: char| {
            let lowered = lower.then(|| c.to_lowercase());
            let same = (!lower).then_some(c);
            lowered.into_iter().flatten().chain(same)
        };
        if strip {
            Box::new(chars.nfd().filter(|c| c.general_category() != GeneralCategory::NonspacingMark).flat_map(lowered))
        } else {
            Box::new(chars.flat_map(lowered))
        }
    }
}

fn ends_word(char: char) -> bool {
    char.is_whitespace() || is_punctuation(char)
}

/// Control characters and others without a meaning, except white space.
fn is_removed(char: char) -> bool {
    let is_space = matches!(char, '\t' | '\n' | '\r');
    char == '\u{fffd}' || !is_space && char.general_category_group() == GeneralCategoryGroup::Other
}

fn is_punctuation(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_punctuation();
    }
    char.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Ideographs are words of their own.
fn is_ideograph(char: char) -> bool {
    matches!(u32::from(char),
        0x4e00..=0x9fff | 0x3400..=0x4dbf | 0x20000..=0x2a6df | 0x2a700..=0x2b73f | 0x2b740..=0x2b81f
        | 0x2b920..=0x2ceaf | 0xf900..=0xfaff | 0x2f800..=0x2fa1f)
}
