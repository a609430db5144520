//! How well recall finds the messages that answer a question, on public data: `cargo xtask bench --only recall` runs it
//! with a directory that has BEAM (`BEAM/chats`) and MemoryCode (`MemoryCode/dataset`).
//!
//! Each line of its output is one ranking on one set of questions: name, half, ranking, questions, recall_any and
//! recall_all at 5, 10 and 20, MRR@10. The first half of the conversations, by name, is what the weights were tuned on.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use pensa_core::Timestamp;
use pensa_core::recall::rerank::{Reader, tokens};
use pensa_core::recall::search::{Filter, Postings, Query, Tuning, rarity, search};
use pensa_core::recall::segment::{Counts, Doc, SegmentBuilder};
use pensa_core::recall::words::{Token, Tokenizer, Word};
use pensa_core::recall::{Document, Indexed, TextKind};
use rusqlite::Connection;
use serde_json::Value;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Messages, and questions about them.
struct Conversation {
    texts: Vec<String>,
    questions: Vec<Question>,
}

struct Question {
    text: String,
    /// Each piece of evidence is found with any of its messages.
    evidence: Vec<HashSet<usize>>,
}

/// The names in a directory, in order.
fn names(dir: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

fn json(path: &Path) -> Result<Value> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// BEAM: each message is a text, and a question names the messages that answer it.
fn beam(dir: &Path) -> Result<Vec<Conversation>> {
    let mut all = Vec::new();
    for name in names(dir)? {
        // Some snapshots lack the largest conversations.
        let Ok(chat) = json(&dir.join(&name).join("chat.json")) else { continue };
        let (mut texts, mut places) = (Vec::new(), HashMap::new());
        messages(&chat, &mut texts, &mut places);
        let mut questions = Vec::new();
        let asked = json(&dir.join(&name).join("probing_questions/probing_questions.json"))?;
        for one in asked.as_object().into_iter().flat_map(|kinds| kinds.values()).flat_map(list) {
            let mut ids = Vec::new();
            numbers(&one["source_chat_ids"], &mut ids);
            ids.sort_unstable();
            ids.dedup();
            let evidence: Vec<HashSet<usize>> =
                ids.iter().filter_map(|id| places.get(id)).map(|at| HashSet::from([*at])).collect();
            if let (Some(text), false) = (one["question"].as_str(), evidence.is_empty()) {
                questions.push(Question { text: text.to_owned(), evidence });
            }
        }
        all.push(Conversation { texts, questions });
    }
    Ok(all)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn messages(value: &Value, texts: &mut Vec<String>, places: &mut HashMap<u64, usize>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| messages(item, texts, places)),
        Value::Object(object) => match (value["id"].as_u64(), value["content"].as_str()) {
            (Some(id), Some(text)) => {
                places.insert(id, texts.len());
                texts.push(text.to_owned());
            }
            _ => object.values().for_each(|item| messages(item, texts, places)),
        },
        _ => {}
    }
}

fn numbers(value: &Value, to: &mut Vec<u64>) {
    match value {
        Value::Number(number) => to.extend(number.as_u64()),
        Value::Array(items) => items.iter().for_each(|item| numbers(item, to)),
        Value::Object(object) => object.values().for_each(|item| numbers(item, to)),
        _ => {}
    }
}

/// MemoryCode: each turn of a session is a text. A question is an instruction as it was given first without the value
/// that it sets; the evidence are the turns with the values of that instruction, one piece for each session.
fn memory_code(dir: &Path) -> Result<Vec<Conversation>> {
    let mut all = Vec::new();
    for name in names(dir)? {
        let dialogue = json(&dir.join(name))?;
        let mut texts: Vec<String> = Vec::new();
        let mut given: BTreeMap<u64, Vec<(String, HashSet<usize>)>> = BTreeMap::new();
        for (session, numbers) in list(&dialogue["sessions"]).iter().zip(list(&dialogue["instructions"])) {
            let first = texts.len();
            let turns = session["text"].as_str().unwrap_or_default().split("\n\n").map(str::trim);
            texts.extend(turns.filter(|turn| !turn.is_empty()).map(str::to_owned));
            let mut numbers = numbers.as_array().into_iter().flatten().filter_map(|number| number[0].as_u64());
            let topics = list(&session["type"]).iter().zip(list(&session["topic"]));
            for (_, topic) in topics.filter(|(what, _)| what.as_str().unwrap_or_default().starts_with("instruction")) {
                let (Some(number), Some(topic)) = (numbers.next(), topic.as_str()) else { continue };
                let turns = topic.split('\'').nth(1).map_or_else(HashSet::new, |value| {
                    (first..texts.len()).filter(|at| texts[*at].contains(value)).collect()
                });
                given.entry(number).or_default().push((topic.to_owned(), turns));
            }
        }
        let questions = given.into_values().filter_map(|versions| {
            let parts: Vec<&str> = versions[0].0.split('\'').collect();
            let [before, _, after] = parts[..] else { return None };
            let text = format!("{before}{after}");
            let evidence: Vec<HashSet<usize>> =
                versions.into_iter().map(|(_, turns)| turns).filter(|turns| !turns.is_empty()).collect();
            (!evidence.is_empty()).then_some(Question { text, evidence })
        });
        all.push(Conversation { questions: questions.collect(), texts });
    }
    Ok(all)
}

/// The index of a conversation.
struct Memory {
    docs: Vec<Doc>,
    postings: HashMap<Word, Vec<(u32, Counts)>>,
    tokens: Vec<Vec<Token>>,
    bytes: usize,
}

impl Postings for Memory {
    fn docs(&self) -> &[Doc] {
        &self.docs
    }

    fn for_each(&self, word: Word, each: &mut dyn FnMut(u32, Counts)) {
        self.postings.get(&word).into_iter().flatten().for_each(|(number, counts)| each(*number, *counts));
    }
}

impl Memory {
    fn new(conversation: &Conversation, tokenizer: &mut Tokenizer) -> Result<Self> {
        let at: Timestamp = "2026-01-01T00:00:00.000Z".parse()?;
        let (mut memory, mut builder) = (
            Self { docs: Vec::new(), postings: HashMap::new(), tokens: Vec::new(), bytes: 0 },
            SegmentBuilder::default(),
        );
        for (number, text) in conversation.texts.iter().enumerate() {
            let document = Document {
                kind: TextKind::Session,
                id: (number + 1).to_string(),
                at,
                actor: "agent".into(),
                group: Some("session".into()),
                title: None,
                body: text.clone(),
                tags: Vec::new(),
                files: Vec::new(),
                links: Vec::new(),
                impact: 1,
            };
            let indexed = Indexed::new(&document, tokenizer);
            for (word, counts) in &indexed.words {
                memory.postings.entry(*word).or_default().push((number as u32, *counts));
            }
            builder.add(&document.id, &indexed);
            memory.docs.push(indexed.doc);
            memory.tokens.push(tokens(tokenizer, text));
        }
        memory.bytes = builder.finish().iter().map(|(_, part)| part.len()).sum();
        Ok(memory)
    }

    /// The best texts for a question, as `pn recall` ranks them.
    fn ranked(&self, question: &str, tokenizer: &mut Tokenizer, tuning: &Tuning) -> Vec<usize> {
        let query = Query::new(question, tokenizer, tuning);
        let filter = Filter { kinds: vec![TextKind::Session], ..Filter::default() };
        let found = search(self, &query, &filter, tuning, tuning.candidates);
        let reader = Reader::new(&query, rarity(&query, found.iter()));
        let top = found.first().map_or(1.0, |one| one.score);
        let near = |number: u32| reader.read(&self.tokens[number as usize], tuning.window);
        let blended = found.iter().map(|one| (tuning.blend(one.score / top, near(one.number)), one.number));
        let mut blended: Vec<(f64, u32)> = blended.collect();
        blended.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        blended.into_iter().map(|(_, number)| number as usize).collect()
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The stop words of Lucene.
const STOP_WORDS: &str = "a an and are as at be but by for if in into is it no not of on or such that the their then \
     there these they this to was will with";

/// BM25 with k1 1.5 and b 0.75, without stop words.
struct Bm25 {
    lengths: Vec<f64>,
    postings: HashMap<String, BTreeMap<usize, f64>>,
}

impl Bm25 {
    fn words(text: &str) -> Vec<String> {
        words(text).into_iter().filter(|word| !STOP_WORDS.split(' ').any(|stop| stop == word)).collect()
    }

    fn new(conversation: &Conversation) -> Self {
        let mut new = Self { lengths: Vec::new(), postings: HashMap::new() };
        for (number, text) in conversation.texts.iter().enumerate() {
            let words = Self::words(text);
            new.lengths.push(words.len() as f64);
            for word in words {
                *new.postings.entry(word).or_default().entry(number).or_default() += 1.0;
            }
        }
        new
    }

    fn ranked(&self, question: &str) -> Vec<usize> {
        let all = self.lengths.len() as f64;
        let mean = self.lengths.iter().sum::<f64>() / all;
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        let asked: std::collections::BTreeSet<String> = Self::words(question).into_iter().collect();
        for postings in asked.iter().filter_map(|word| self.postings.get(word)) {
            let count = postings.len() as f64;
            let rarity = (1.0 + (all - count + 0.5) / (count + 0.5)).ln();
            for (number, frequency) in postings {
                let length = 1.5 * (0.25 + 0.75 * self.lengths[*number] / mean);
                *scores.entry(*number).or_default() += rarity * frequency * 2.5 / (frequency + length);
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.into_iter().take(100).map(|(number, _)| number).collect()
    }
}

/// A full-text table of SQLite.
fn full_text(conversation: &Conversation) -> Result<Connection> {
    let table = Connection::open_in_memory()?;
    table.execute_batch("CREATE VIRTUAL TABLE texts USING fts5(body, tokenize = 'porter unicode61'); BEGIN")?;
    for (number, text) in conversation.texts.iter().enumerate() {
        table.execute("INSERT INTO texts (rowid, body) VALUES (?1, ?2)", (number as i64, text))?;
    }
    table.execute_batch("COMMIT")?;
    Ok(table)
}

fn full_text_ranked(table: &Connection, question: &str) -> Result<Vec<usize>> {
    let any: Vec<String> = words(question).into_iter().map(|word| format!("\"{word}\"")).collect();
    let mut ask =
        table.prepare_cached("SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rank, rowid LIMIT 100")?;
    let rows = ask.query_map([any.join(" OR ")], |row| row.get::<_, i64>(0))?;
    Ok(rows.collect::<std::result::Result<Vec<_>, _>>()?.into_iter().map(|number| number as usize).collect())
}

/// The first ranks that count.
const AT: [usize; 3] = [5, 10, 20];

#[derive(Debug, Default, Clone, Copy)]
struct Score {
    questions: f64,
    any: [f64; 3],
    all: [f64; 3],
    reciprocal: f64,
}

impl Score {
    fn add(&mut self, ranked: &[usize], question: &Question) {
        self.questions += 1.0;
        for (at, first) in AT.into_iter().enumerate() {
            let top: HashSet<usize> = ranked.iter().take(first).copied().collect();
            let found = question.evidence.iter().filter(|piece| !piece.is_disjoint(&top)).count();
            self.any[at] += f64::from(u8::from(found > 0));
            self.all[at] += f64::from(u8::from(found == question.evidence.len()));
        }
        let is_evidence = |text: &usize| question.evidence.iter().any(|piece| piece.contains(text));
        if let Some(rank) = ranked.iter().take(10).position(is_evidence) {
            self.reciprocal += 1.0 / (rank + 1) as f64;
        }
    }

    fn line(&self) -> String {
        let percent = |count: f64| format!("{:.1}", count * 100.0 / self.questions.max(1.0));
        let figures = self.any.iter().chain(&self.all).chain([&self.reciprocal]).map(|count| percent(*count));
        format!("{}\t{}", self.questions, figures.collect::<Vec<_>>().join("\t"))
    }
}

/// The rankings that are compared.
const RANKINGS: [&str; 3] = ["pn recall", "BM25", "FTS5"];

fn measure(name: &str, conversations: &[Conversation], tokenizer: &mut Tokenizer) -> Result {
    let tuning = Tuning::default();
    let (mut texts, mut index, mut took, mut asked) = (0, 0, 0.0, 0.0);
    let mut scores = [[Score::default(); RANKINGS.len()]; 2];
    for (number, conversation) in conversations.iter().enumerate() {
        let half = usize::from(number >= conversations.len() / 2);
        let memory = Memory::new(conversation, tokenizer)?;
        texts += conversation.texts.iter().map(String::len).sum::<usize>();
        index += memory.bytes;
        let (bm25, table) = (Bm25::new(conversation), full_text(conversation)?);
        for question in &conversation.questions {
            let start = Instant::now();
            let ours = memory.ranked(&question.text, tokenizer, &tuning);
            took += start.elapsed().as_secs_f64() * 1000.0;
            asked += 1.0;
            // Every ranking is a list of texts, best first. One by meaning, and its fusion, stand beside these.
            let rankings = [ours, bm25.ranked(&question.text), full_text_ranked(&table, &question.text)?];
            for (score, ranked) in scores[half].iter_mut().zip(&rankings) {
                score.add(ranked, question);
            }
        }
    }
    for (half, scores) in ["tuned", "held out"].iter().zip(&scores) {
        for (ranking, score) in RANKINGS.iter().zip(scores) {
            println!("{name}\t{half}\t{ranking}\t{}", score.line());
        }
    }
    println!("{name}\tsize\t{texts}\t{index}\t{:.3}", took / f64::max(asked, 1.0));
    Ok(())
}

fn main() -> Result {
    let data = std::env::args().nth(1).ok_or("a directory with BEAM and MemoryCode")?;
    let (data, mut tokenizer) = (Path::new(&data), Tokenizer::default());
    for size in ["100K", "500K", "1M"] {
        let dir = data.join("BEAM/chats").join(size);
        if dir.is_dir() {
            measure(&format!("BEAM {size}"), &beam(&dir)?, &mut tokenizer)?;
        }
    }
    let dir = data.join("MemoryCode/dataset");
    if dir.is_dir() {
        measure("MemoryCode", &memory_code(&dir)?, &mut tokenizer)?;
    }
    Ok(())
}
