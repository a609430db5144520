//! The form of the index: documents in segments, and in each segment the documents of every word.
//!
//! A segment is a number of byte strings, its parts, so that any database can hold it. A reader needs [`DOCS`], and of the
//! words only the parts that [`part_of`] names. Segments are written once; what changes later is in a newer segment.

use std::collections::BTreeMap;

use super::words::Word;
use super::{Field, Indexed, TextKind};
use crate::error::{Code, Error, Result};

/// The number of parts that hold words.
const WORD_PARTS: u32 = 256;
/// The part with the [`Doc`] of every document.
pub const DOCS: u32 = WORD_PARTS;
/// The part with the ids of the documents, one per line.
pub const IDS: u32 = WORD_PARTS + 1;

/// The part that holds the documents of a word.
pub fn part_of(word: Word) -> u32 {
    word % WORD_PARTS
}

/// What the ranking must know of a document, besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doc {
    pub kind: TextKind,
    /// The number of a session's entry, or a hash of the id
    pub key: u64,
    /// When it was written or confirmed, in milliseconds
    pub at: i64,
    /// A hash of who wrote it
    pub actor: u32,
    /// A hash of the session or issue that it belongs to; else 0
    pub group: u32,
    /// Search words in its title and its body
    pub lengths: [u32; 2],
    /// 0 to 2, from low to high
    pub impact: u8,
    /// False after a newer segment, or none, has the text
    pub is_alive: bool,
}

/// How often a word occurs in each field.
pub type Counts = [u8; Field::COUNT];

/// Collects documents for a segment.
#[derive(Debug, Default)]
pub struct SegmentBuilder {
    docs: Vec<Doc>,
    ids: String,
    /// The postings of each word as they are stored, and the last document in them
    words: BTreeMap<Word, (Vec<u8>, u32)>,
}

impl SegmentBuilder {
    pub fn len(&self) -> usize {
        self.docs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    pub fn add(&mut self, id: &str, text: &Indexed) {
        let ordinal = self.push(id, text.doc);
        for (word, counts) in &text.words {
            self.posting(*word, ordinal, counts);
        }
    }

    /// Adds the documents of another segment that are still alive. `parts` has all its parts.
    pub fn add_segment(&mut self, parts: &BTreeMap<u32, Vec<u8>>) -> Result<()> {
        let part = |number: u32| parts.get(&number).map_or(&[][..], Vec::as_slice);
        let docs = read_docs(part(DOCS))?;
        let ids = read_ids(part(IDS))?;
        let mut ordinals = Vec::with_capacity(docs.len());
        for (doc, id) in docs.iter().zip(ids) {
            ordinals.push(doc.is_alive.then(|| self.push(id, *doc)));
        }
        for number in 0..WORD_PARTS {
            for_each_word(part(number), |word, postings| {
                for_each_posting(postings, |ordinal, counts| {
                    if let Some(Some(new)) = ordinals.get(ordinal as usize) {
                        self.posting(word, *new, &counts);
                    }
                })
            })?;
        }
        Ok(())
    }

    fn push(&mut self, id: &str, doc: Doc) -> u32 {
        let ordinal = self.docs.len() as u32;
        self.docs.push(doc);
        self.ids.push_str(id);
        self.ids.push('\n');
        ordinal
    }

    fn posting(&mut self, word: Word, ordinal: u32, counts: &Counts) {
        let (bytes, last) = self.words.entry(word).or_default();
        let is_first = bytes.is_empty();
        write_number(bytes, u64::from(if is_first { ordinal } else { ordinal - *last }));
        *last = ordinal;
        let is_body_only = counts[..Field::Body as usize].iter().all(|count| *count == 0);
        let body = counts[Field::Body as usize];
        if is_body_only && body < 128 {
            bytes.push(body << 1);
            return;
        }
        let mask = counts.iter().enumerate().map(|(at, count)| u8::from(*count > 0) << at).sum::<u8>();
        bytes.push(mask << 1 | 1);
        bytes.extend(counts.iter().filter(|count| **count > 0));
    }

    /// The parts of the segment, by their numbers.
    pub fn finish(self) -> Vec<(u32, Vec<u8>)> {
        let mut parts: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for (word, (postings, _)) in self.words {
            let part = parts.entry(part_of(word)).or_default();
            part.extend(word.to_le_bytes());
            write_number(part, postings.len() as u64);
            part.extend(postings);
        }
        parts.insert(DOCS, write_docs(&self.docs));
        parts.insert(IDS, self.ids.into_bytes());
        parts.into_iter().collect()
    }
}

/// Passes the postings of a word in its part to `each`, with the number of the document in the segment.
pub fn for_each_of_word(part: &[u8], word: Word, mut each: impl FnMut(u32, Counts)) -> Result<()> {
    let mut found = Ok(());
    let mut rest = part;
    while !rest.is_empty() {
        let (here, postings, after) = next_word(rest)?;
        if here == word {
            found = for_each_posting(postings, &mut each);
        }
        if here >= word {
            break;
        }
        rest = after;
    }
    found
}

/// Passes each word of a part with its postings to `each`.
pub fn for_each_word(part: &[u8], mut each: impl FnMut(Word, &[u8]) -> Result<()>) -> Result<()> {
    let mut rest = part;
    while !rest.is_empty() {
        let (word, postings, after) = next_word(rest)?;
        each(word, postings)?;
        rest = after;
    }
    Ok(())
}

fn next_word(part: &[u8]) -> Result<(Word, &[u8], &[u8])> {
    let (word, mut rest) = part.split_first_chunk::<4>().ok_or_else(damaged)?;
    let length = usize::try_from(read_number(&mut rest)?).map_err(Error::internal)?;
    let (postings, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
    Ok((Word::from_le_bytes(*word), postings, after))
}

/// Passes each posting to `each`.
pub fn for_each_posting(mut postings: &[u8], mut each: impl FnMut(u32, Counts)) -> Result<()> {
    let mut ordinal = 0_u32;
    while !postings.is_empty() {
        ordinal = ordinal.wrapping_add(read_number(&mut postings)? as u32);
        let (first, rest) = postings.split_first().ok_or_else(damaged)?;
        postings = rest;
        let mut counts = Counts::default();
        if first & 1 == 0 {
            counts[Field::Body as usize] = first >> 1;
        } else {
            for (at, count) in counts.iter_mut().enumerate() {
                if first >> 1 & 1 << at != 0 {
                    let (one, rest) = postings.split_first().ok_or_else(damaged)?;
                    (*count, postings) = (*one, rest);
                }
            }
        }
        each(ordinal, counts);
    }
    Ok(())
}

pub fn read_ids(part: &[u8]) -> Result<impl Iterator<Item = &str>> {
    Ok(std::str::from_utf8(part).map_err(|_| damaged())?.lines())
}

fn write_docs(docs: &[Doc]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(docs.len() * 24);
    let mut last = 0;
    for doc in docs {
        bytes.push(doc.kind as u8 | doc.impact << 4 | u8::from(doc.is_alive) << 7);
        match doc.kind {
            TextKind::Session => write_number(&mut bytes, doc.key),
            _ => bytes.extend(doc.key.to_le_bytes()),
        }
        write_number(&mut bytes, zigzag(doc.at - last));
        last = doc.at;
        bytes.extend(doc.actor.to_le_bytes());
        bytes.extend(doc.group.to_le_bytes());
        doc.lengths.iter().for_each(|length| write_number(&mut bytes, u64::from(*length)));
    }
    bytes
}

/// Reads the part [`DOCS`].
pub fn read_docs(part: &[u8]) -> Result<Vec<Doc>> {
    let (mut docs, mut rest, mut last) = (Vec::with_capacity(part.len() / 20), part, 0_i64);
    while let Some((flags, after)) = rest.split_first() {
        rest = after;
        let kind = TextKind::from_number(flags & 15).ok_or_else(damaged)?;
        let key = match kind {
            TextKind::Session => read_number(&mut rest)?,
            _ => u64::from_le_bytes(take(&mut rest)?),
        };
        last = last.wrapping_add(unzigzag(read_number(&mut rest)?));
        docs.push(Doc {
            kind,
            key,
            at: last,
            actor: u32::from_le_bytes(take(&mut rest)?),
            group: u32::from_le_bytes(take(&mut rest)?),
            lengths: [read_number(&mut rest)? as u32, read_number(&mut rest)? as u32],
            impact: flags >> 4 & 3,
            is_alive: flags & 128 != 0,
        });
    }
    Ok(docs)
}

/// The part [`DOCS`] without the documents whose key is gone; `None` if all are as they were.
pub fn without(part: &[u8], is_gone: impl Fn(&Doc) -> bool) -> Result<Option<Vec<u8>>> {
    let mut docs = read_docs(part)?;
    let mut changed = false;
    for doc in docs.iter_mut().filter(|doc| doc.is_alive) {
        doc.is_alive = !is_gone(doc);
        changed |= !doc.is_alive;
    }
    Ok(changed.then(|| write_docs(&docs)))
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>().ok_or_else(damaged)?;
    *bytes = rest;
    Ok(*taken)
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn write_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        to.push(number as u8 | 128);
        number >>= 7;
    }
    to.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or_else(damaged)?;
        *bytes = rest;
        number |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Ok(number);
        }
    }
    Err(damaged())
}

fn damaged() -> Error {
    Error::new(Code::Corrupt, "the index of recall is damaged").hint("pn doctor --fix builds it again")
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use super::super::words::Tokenizer;
    use super::*;

    fn document(id: u32, body: &str) -> Document {
        Document {
            kind: TextKind::Session,
            id: id.to_string(),
            at: "2026-01-01T00:00:00.000Z".parse().expect("a time"),
            actor: "ana".into(),
            group: Some("se-1".into()),
            title: id.is_multiple_of(2).then(|| format!("title {id}")),
            body: body.into(),
            tags: vec!["tag".into()],
            files: vec!["src/a.rs".into()],
            links: Vec::new(),
            impact: 2,
        }
    }

    /// The documents of a segment as they were added.
    fn read(parts: &BTreeMap<u32, Vec<u8>>) -> Vec<Indexed> {
        let docs = read_docs(&parts[&DOCS]).expect("documents");
        let mut all: Vec<Indexed> = docs.into_iter().map(|doc| Indexed { doc, words: Vec::new() }).collect();
        for (_, part) in parts.range(..DOCS) {
            for_each_word(part, |word, postings| {
                for_each_posting(postings, |at, counts| all[at as usize].words.push((word, counts)))
            })
            .expect("words");
        }
        all.iter_mut().for_each(|one| one.words.sort_unstable());
        all
    }

    #[test]
    fn segment_gives_back_what_was_added_and_merges_without_what_is_gone() {
        let mut tokenizer = Tokenizer::default();
        let made: Vec<Indexed> = (1..=300)
            .map(|at| Indexed::new(&document(at, &"word again ".repeat(at as usize)), &mut tokenizer))
            .collect();
        let mut builder = SegmentBuilder::default();
        made.iter().zip(1..).for_each(|(one, id): (_, u32)| builder.add(&id.to_string(), one));
        let mut parts: BTreeMap<u32, Vec<u8>> = builder.finish().into_iter().collect();
        assert_eq!(read(&parts), made);
        assert!(without(&parts[&DOCS], |_| false).expect("docs").is_none());
        let kept = without(&parts[&DOCS], |doc| doc.key % 3 == 0).expect("docs").expect("changed");
        parts.insert(DOCS, kept);
        let mut merged = SegmentBuilder::default();
        merged.add_segment(&parts).expect("merged");
        let parts: BTreeMap<u32, Vec<u8>> = merged.finish().into_iter().collect();
        let expected: Vec<Indexed> = made.into_iter().filter(|one| one.doc.key % 3 != 0).collect();
        assert_eq!(read(&parts), expected);
        assert_eq!(read_ids(&parts[&IDS]).expect("ids").nth(2), Some("4"));
    }

    #[test]
    fn damaged_parts_are_errors_and_no_panics() {
        let mut builder = SegmentBuilder::default();
        builder.add("1", &Indexed::new(&document(1, "some words here"), &mut Tokenizer::default()));
        for (number, part) in builder.finish() {
            for end in 0..part.len() {
                let _ = read_docs(&part[..end]);
                let _ = for_each_word(&part[..end], |_, postings| for_each_posting(postings, |_, _| {}));
            }
            assert!(number == IDS || read_docs(&[255]).is_err());
        }
    }
}
