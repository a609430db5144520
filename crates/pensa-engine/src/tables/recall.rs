//! The index of recall in `recall_parts`, and in `recall_dirty` which texts it does not have yet.
//!
//! A change only notes which text it touched, so that writes stay cheap. Every so many notes the texts are read and become
//! a new segment. A search reads the segments, and the texts that are noted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use pensa_core::comment::Comment;
use pensa_core::issue::Issue;
use pensa_core::learning::Learning;
use pensa_core::recall::documents::of_entry;
use pensa_core::recall::search::Postings;
use pensa_core::recall::segment::{self, Counts, DOCS, Doc, IDS, SegmentBuilder, for_each_of_word, part_of};
use pensa_core::recall::words::{Tokenizer, Word};
use pensa_core::recall::{Document, Indexed, TextKind, key_of};
use pensa_core::release::Release;
use pensa_core::{Error, Result};

use crate::db::{Param, Tx, params};
use crate::entity::{self, StoredEntity};

/// Noted texts that make a search slow enough to write them into the index.
const MAX_DIRTY: i64 = 256;
/// Of how many notes one looks whether there are too many.
const LOOK_EVERY: u64 = 16;
/// Documents in a segment that is not extended any more.
const FULL: usize = 2048;
/// Documents in a segment at most.
const MAX_DOCS: usize = 4096;
/// Texts read per query.
const TEXTS_AT_ONCE: usize = 256;
/// The kind in `recall_dirty` that stands for all texts.
const ALL: &str = "*";
/// The kind that says that the index is written anew at the end of the transaction. It sorts before all others.
const LOADING: &str = "!";

/// The kinds that the index has. Commits are read from git instead.
const KINDS: [TextKind; 5] =
    [TextKind::Learning, TextKind::Issue, TextKind::Comment, TextKind::Session, TextKind::Release];

/// Notes that a text was added, changed or removed.
pub(crate) fn touch(tx: &Tx<'_>, kind: TextKind, id: &str) -> Result<()> {
    let sql = "INSERT INTO recall_dirty (kind, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    tx.send(sql, params![kind.as_str(), id])?;
    if key_of(TextKind::Issue, id).is_multiple_of(LOOK_EVERY) { flush_if_many(tx) } else { Ok(()) }
}

/// Notes the entries that a condition selects.
pub(crate) fn touch_entries(tx: &Tx<'_>, condition: &str, values: &[Param<'_>]) -> Result<()> {
    let sql = format!(
        "INSERT INTO recall_dirty (kind, id) SELECT 'session', CAST(id AS TEXT) FROM session_history
         WHERE {condition} ON CONFLICT DO NOTHING"
    );
    tx.send(&sql, values)
}

/// Notes the entries with these numbers, which were just added.
pub(crate) fn entries_added(tx: &Tx<'_>, first: i64, last: i64) -> Result<()> {
    touch_entries(tx, "id BETWEEN ?1 AND ?2", params![first, last])?;
    let step = LOOK_EVERY.cast_signed();
    if first.div_euclid(step) == (last + 1).div_euclid(step) { Ok(()) } else { flush_if_many(tx) }
}

/// Notes that all texts may have changed.
pub(crate) fn touch_all(tx: &Tx<'_>) -> Result<()> {
    tx.send("INSERT INTO recall_dirty (kind, id) VALUES (?1, '') ON CONFLICT DO NOTHING", params![ALL])
}

/// Leaves the index alone until [`rebuild`].
pub(crate) fn begin_load(tx: &Tx<'_>) -> Result<()> {
    tx.send("INSERT INTO recall_dirty (kind, id) VALUES (?1, '') ON CONFLICT DO NOTHING", params![LOADING])
}

fn flush_if_many(tx: &Tx<'_>) -> Result<()> {
    let sql = "SELECT COUNT(*), MIN(kind) FROM recall_dirty";
    let found = tx.query_one(sql, params![], |row| Ok((row.int(0)?, row.text_or_null(1)?)))?.unwrap_or_default();
    if found.1.as_deref() == Some(LOADING) {
        return Ok(());
    }
    if found.0 >= MAX_DIRTY || found.1.as_deref() == Some(ALL) { flush(tx) } else { Ok(()) }
}

/// Writes the noted texts into the index.
pub fn flush(tx: &Tx<'_>) -> Result<()> {
    let dirty = Dirty::read(tx)?;
    if dirty.all {
        return rebuild(tx);
    }
    if dirty.ids.is_empty() {
        return Ok(());
    }
    let segments = segments(tx)?;
    for (number, docs) in &segments {
        if let Some(docs) = segment::without(docs, |doc| dirty.has(doc))? {
            let sql = "UPDATE recall_parts SET data = ?3 WHERE part = ?1 AND segment = ?2";
            tx.send(sql, params![i64::from(DOCS), *number, &docs[..]])?;
        }
    }
    let mut writer = SegmentWriter {
        tx,
        next: segments.last().map_or(1, |(number, _)| number + 1),
        builder: SegmentBuilder::default(),
    };
    if let Some((number, docs)) = segments.last()
        && segment::read_docs(docs)?.len() < FULL
    {
        writer.builder.add_segment(&parts_of(tx, *number)?)?;
        tx.send("DELETE FROM recall_parts WHERE segment = ?1", params![*number])?;
        writer.next = *number;
    }
    let mut tokenizer = Tokenizer::default();
    for (kind, ids) in &dirty.ids {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        for document in documents(tx, *kind, &ids)? {
            writer.add(&document, &mut tokenizer)?;
        }
    }
    writer.finish()?;
    tx.send("DELETE FROM recall_dirty", params![])
}

/// Writes the index anew from all texts, and the keys of learnings.
pub(crate) fn rebuild(tx: &Tx<'_>) -> Result<()> {
    tx.send("DELETE FROM recall_parts", params![])?;
    tx.send("DELETE FROM recall_dirty", params![])?;
    super::learnings::rebuild_keys(tx)?;
    let (mut writer, mut tokenizer) =
        (SegmentWriter { tx, next: 1, builder: SegmentBuilder::default() }, Tokenizer::default());
    for_each_text(tx, |document| writer.add(document, &mut tokenizer))?;
    writer.finish()
}

/// Writes segments of at most [`MAX_DOCS`] documents.
struct SegmentWriter<'t, 'c> {
    tx: &'t Tx<'c>,
    next: i64,
    builder: SegmentBuilder,
}

impl SegmentWriter<'_, '_> {
    fn add(&mut self, document: &Document, tokenizer: &mut Tokenizer) -> Result<()> {
        self.builder.add(&document.id, &Indexed::new(document, tokenizer));
        if self.builder.len() >= MAX_DOCS { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.builder).finish();
        let values: Vec<Param<'_>> = parts
            .iter()
            .flat_map(|(part, data)| [Param::from(i64::from(*part)), self.next.into(), Param::from(&data[..])])
            .collect();
        self.tx.add_rows("INSERT INTO recall_parts (part, segment, data) VALUES (?1, ?2, ?3)", &values)?;
        self.next += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        if self.builder.is_empty() { Ok(()) } else { self.write() }
    }
}

/// The texts that are noted.
#[derive(Debug, Default)]
struct Dirty {
    all: bool,
    ids: BTreeMap<TextKind, BTreeSet<String>>,
    keys: HashSet<(TextKind, u64)>,
}

impl Dirty {
    fn read(tx: &Tx<'_>) -> Result<Self> {
        let mut dirty = Self::default();
        tx.for_each("SELECT kind, id FROM recall_dirty", params![], |row| {
            let (kind, id) = (row.text(0)?, row.text(1)?);
            if kind == ALL || kind == LOADING {
                dirty.all = true;
                return Ok(());
            }
            let kind: TextKind = kind.parse()?;
            dirty.keys.insert((kind, key_of(kind, &id)));
            dirty.ids.entry(kind).or_default().insert(id);
            Ok(())
        })?;
        Ok(dirty)
    }

    fn has(&self, doc: &Doc) -> bool {
        self.keys.contains(&(doc.kind, doc.key))
    }
}

/// The segments with their documents, oldest first.
fn segments(tx: &Tx<'_>) -> Result<Vec<(i64, Vec<u8>)>> {
    let sql = "SELECT segment, data FROM recall_parts WHERE part = ?1 ORDER BY segment";
    tx.query(sql, params![i64::from(DOCS)], |row| Ok((row.int(0)?, row.bytes(1)?)))
}

fn parts_of(tx: &Tx<'_>, segment: i64) -> Result<BTreeMap<u32, Vec<u8>>> {
    let sql = "SELECT part, data FROM recall_parts WHERE segment = ?1";
    let parts = tx.query(sql, params![segment], |row| {
        Ok((u32::try_from(row.int(0)?).map_err(Error::internal)?, row.bytes(1)?))
    })?;
    Ok(parts.into_iter().collect())
}

/// The index as a search reads it.
#[derive(Debug)]
pub(crate) struct RecallIndex {
    docs: Vec<Doc>,
    /// Each segment with the number of its first document
    segments: Vec<(i64, u32)>,
    /// The parts that were read, by number and segment
    parts: BTreeMap<(u32, i64), Vec<u8>>,
    ids: HashMap<i64, Vec<String>>,
}

impl RecallIndex {
    /// Reads what is known of every document. `more` are further documents, such as commits.
    pub(crate) fn read(tx: &Tx<'_>, more: &[Document]) -> Result<Self> {
        let dirty = Dirty::read(tx)?;
        let mut index = Self { docs: Vec::new(), segments: Vec::new(), parts: BTreeMap::new(), ids: HashMap::new() };
        let mut builder = SegmentBuilder::default();
        let mut tokenizer = Tokenizer::default();
        let mut add = |document: &Document| {
            builder.add(&document.id, &Indexed::new(document, &mut tokenizer));
            Ok(())
        };
        if dirty.all {
            for_each_text(tx, &mut add)?;
        } else {
            for (number, docs) in segments(tx)? {
                index.add(number, &docs, |doc| dirty.has(doc))?;
            }
            for (kind, ids) in &dirty.ids {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                documents(tx, *kind, &ids)?.iter().try_for_each(&mut add)?;
            }
        }
        more.iter().try_for_each(&mut add)?;
        if !builder.is_empty() {
            let parts: BTreeMap<u32, Vec<u8>> = builder.finish().into_iter().collect();
            index.add(0, &parts[&DOCS], |_| false)?;
            index.parts.extend(parts.into_iter().map(|(part, data)| ((part, 0), data)));
        }
        Ok(index)
    }

    fn add(&mut self, number: i64, docs: &[u8], is_dirty: impl Fn(&Doc) -> bool) -> Result<()> {
        self.segments.push((number, self.docs.len() as u32));
        for mut doc in segment::read_docs(docs)? {
            doc.is_alive &= !is_dirty(&doc);
            self.docs.push(doc);
        }
        Ok(())
    }

    /// Reads the documents of these words.
    pub(crate) fn fetch(&mut self, tx: &Tx<'_>, words: impl Iterator<Item = Word>) -> Result<()> {
        let wanted: BTreeSet<u32> = words.map(part_of).collect();
        let wanted: Vec<u32> = wanted.into_iter().collect();
        for part in wanted.chunks(TEXTS_AT_ONCE) {
            let sql = format!("SELECT part, segment, data FROM recall_parts WHERE part IN ({})", places(1, part.len()));
            let values: Vec<Param<'_>> = part.iter().map(|part| i64::from(*part).into()).collect();
            tx.for_each(&sql, &values, |row| {
                let part = u32::try_from(row.int(0)?).map_err(Error::internal)?;
                self.parts.insert((part, row.int(1)?), row.bytes(2)?);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The id of a document.
    pub(crate) fn id(&mut self, tx: &Tx<'_>, number: u32) -> Result<String> {
        let at = self.segments.partition_point(|(_, first)| *first <= number) - 1;
        let (segment, first) = self.segments[at];
        if !self.ids.contains_key(&segment) {
            let data = match self.parts.get(&(IDS, segment)) {
                Some(data) => data.clone(),
                None => {
                    let sql = "SELECT data FROM recall_parts WHERE part = ?1 AND segment = ?2";
                    let found = tx.query_one(sql, params![i64::from(IDS), segment], |row| row.bytes(0))?;
                    found.unwrap_or_default()
                }
            };
            self.ids.insert(segment, segment::read_ids(&data)?.map(str::to_owned).collect());
        }
        let id = self.ids[&segment].get((number - first) as usize).cloned();
        id.ok_or_else(|| {
            Error::new(pensa_core::Code::Corrupt, "the index of recall is damaged").hint("run pn doctor --fix")
        })
    }
}

impl Postings for RecallIndex {
    fn docs(&self) -> &[Doc] {
        &self.docs
    }

    fn for_each(&self, word: Word, each: &mut dyn FnMut(u32, Counts)) {
        for (segment, first) in &self.segments {
            let Some(part) = self.parts.get(&(part_of(word), *segment)) else { continue };
            // A damaged part has no documents; doctor finds it.
            let _ = for_each_of_word(part, word, |ordinal, counts| {
                if (first + ordinal) < self.docs.len() as u32 {
                    each(first + ordinal, counts);
                }
            });
        }
    }
}

fn places(first: usize, count: usize) -> String {
    (first..first + count).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ")
}

/// The texts of a kind with these ids, in the order of the ids.
pub(crate) fn documents(tx: &Tx<'_>, kind: TextKind, ids: &[&str]) -> Result<Vec<Document>> {
    let mut all = Vec::new();
    for ids in ids.chunks(TEXTS_AT_ONCE) {
        let values: Vec<Param<'_>> = ids.iter().map(|id| (*id).into()).collect();
        let of_ids = format!("WHERE id IN ({}) ORDER BY id", places(1, ids.len()));
        match kind {
            TextKind::Learning => {
                let current = format!(
                    "WHERE id IN ({}) AND NOT EXISTS (SELECT 1 FROM learnings s WHERE s.supersedes = learnings.id)
                     ORDER BY id",
                    places(1, ids.len())
                );
                add_entities::<Learning>(tx, &current, &values, &mut all)?;
            }
            TextKind::Issue => add_entities::<Issue>(tx, &of_ids, &values, &mut all)?,
            TextKind::Comment => add_entities::<Comment>(tx, &of_ids, &values, &mut all)?,
            TextKind::Release => add_entities::<Release>(tx, &of_ids, &values, &mut all)?,
            TextKind::Session => {
                let numbers: Vec<Param<'_>> =
                    ids.iter().filter_map(|id| id.parse::<i64>().ok()).map(Param::from).collect();
                let condition = format!("h.id IN ({})", places(1, numbers.len()));
                for_each_entry(tx, &condition, &numbers, &mut |document| {
                    all.push(document);
                    Ok(())
                })?;
            }
            TextKind::Commit => {}
        }
    }
    Ok(all)
}

fn add_entities<E: StoredEntity>(tx: &Tx<'_>, rest: &str, values: &[Param<'_>], to: &mut Vec<Document>) -> Result<()>
where
    for<'e> Document: From<&'e E>,
{
    to.extend(entity::query::<E>(tx, rest, values)?.iter().map(Document::from));
    Ok(())
}

fn for_each_entry(
    tx: &Tx<'_>,
    condition: &str,
    values: &[Param<'_>],
    each: &mut dyn FnMut(Document) -> Result<()>,
) -> Result<()> {
    let sql = format!(
        "SELECT h.id, h.session_id, sessions.agent_id, h.at, h.data FROM session_history h
         JOIN sessions ON sessions.id = h.session_id WHERE {condition} ORDER BY h.id"
    );
    tx.for_each(&sql, values, |row| each(of_entry(row.int(0)?, row.str(1)?, row.str(2)?, row.parse(3)?, &row.json(4)?)))
}

/// Passes all texts to `each`.
pub(crate) fn for_each_text(tx: &Tx<'_>, mut each: impl FnMut(&Document) -> Result<()>) -> Result<()> {
    for kind in KINDS {
        if kind == TextKind::Session {
            for_each_entry(tx, "1 = 1", &[], &mut |document| each(&document))?;
            continue;
        }
        let table = match kind {
            TextKind::Learning => "learnings",
            TextKind::Issue => "issues",
            TextKind::Comment => "comments",
            _ => "releases",
        };
        let ids = tx.query(&format!("SELECT id FROM {table} ORDER BY id"), params![], |row| row.text(0))?;
        for ids in ids.chunks(TEXTS_AT_ONCE) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            documents(tx, kind, &ids)?.iter().try_for_each(&mut each)?;
        }
    }
    Ok(())
}

/// The texts whose form in the index, or whose absence from it, is wrong.
pub fn wrong(tx: &Tx<'_>) -> Result<Vec<(TextKind, String)>> {
    let dirty = Dirty::read(tx)?;
    if dirty.all {
        return Ok(Vec::new());
    }
    let mut known: HashMap<(TextKind, String), Indexed> = HashMap::new();
    let mut problems = BTreeSet::new();
    for (number, docs) in segments(tx)? {
        let parts = parts_of(tx, number)?;
        let ids = segment::read_ids(parts.get(&IDS).map_or(&[][..], Vec::as_slice))?;
        let mut here: Vec<(String, Indexed)> = segment::read_docs(&docs)?
            .into_iter()
            .zip(ids)
            .map(|(doc, id)| (id.to_owned(), Indexed { doc, words: Vec::new() }))
            .collect();
        for (_, data) in parts.iter().filter(|(part, _)| **part < DOCS) {
            segment::for_each_word(data, |word, postings| {
                segment::for_each_posting(postings, |ordinal, counts| {
                    if let Some((_, indexed)) = here.get_mut(ordinal as usize) {
                        indexed.words.push((word, counts));
                    }
                })
            })?;
        }
        for (id, mut indexed) in
            here.into_iter().filter(|(_, indexed)| indexed.doc.is_alive && !dirty.has(&indexed.doc))
        {
            indexed.words.sort_unstable_by_key(|(word, _)| *word);
            let name = (indexed.doc.kind, id);
            if known.insert(name.clone(), indexed).is_some() {
                problems.insert(name);
            }
        }
    }
    let mut tokenizer = Tokenizer::default();
    for_each_text(tx, |document| {
        let indexed = Indexed::new(document, &mut tokenizer);
        let name = (document.kind, document.id.clone());
        if !dirty.has(&indexed.doc) && known.remove(&name).as_ref() != Some(&indexed) {
            problems.insert(name);
        }
        Ok(())
    })?;
    problems.extend(known.into_keys());
    Ok(problems.into_iter().collect())
}
