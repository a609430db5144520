//! Scores documents by their words: BM25F, with evidence from what stands beside a match.
//!
//! Arithmetic is addition, multiplication and division of doubles in a fixed order, and logarithms are rounded, so that
//! every machine computes the same scores.

use std::collections::HashMap;

use super::rerank::Nearness;
use super::segment::{Counts, Doc};
use super::words::{Tokenizer, Word, link_word, paths_in, same_file_words};
use super::{Field, TextKind};

/// The weights of the ranking, tuned by `cargo xtask bench --only recall` on the first half of its conversations.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// How soon more occurrences of a word add nothing
    pub saturation: f64,
    /// How much longer bodies count less
    pub length: f64,
    pub title: f64,
    pub tags: f64,
    pub files: f64,
    /// The weight of a part of a name that is also searched whole
    pub part: f64,
    /// The weight of a stem in another language than the likely one
    pub other_stem: f64,
    /// The share of the scores of the entries before and after that an entry of a session gets
    pub neighbour: f64,
    /// The share of the best score of its issue that a text gets
    pub group: f64,
    /// How much the share of matching words counts
    pub coverage: f64,
    /// How much the newest text gains over an old one, and one of high impact over one of low
    pub recency: f64,
    pub impact: f64,
    /// Texts that are read for the second ranking
    pub candidates: usize,
    /// Of the second ranking: the weights of the best passage, and of words that stand beside each other as in the query
    pub passage: f64,
    pub phrase: f64,
    /// What a further text of the same session counts, beside the one before
    pub repeated: f64,
    /// Words in a passage
    pub window: u32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            saturation: 1.5,
            length: 0.9,
            title: 2.5,
            tags: 2.0,
            files: 1.5,
            part: 0.5,
            other_stem: 0.5,
            neighbour: 0.4,
            group: 0.15,
            coverage: 0.3,
            recency: 0.05,
            impact: 0.05,
            candidates: 100,
            passage: 0.4,
            phrase: 0.4,
            repeated: 0.75,
            window: 20,
        }
    }
}

impl Tuning {
    /// The score of a candidate, from its share of the best score and from how near the words stand in it.
    pub fn blend(&self, share: f64, near: Nearness) -> f64 {
        share + self.nearness(near)
    }

    pub fn nearness(&self, near: Nearness) -> f64 {
        self.passage * near.passage + self.phrase * near.phrase
    }
}

/// How much each term of the query tells: the most that it contributed to a document.
pub fn rarity<'s>(query: &Query, found: impl Iterator<Item = &'s Scored>) -> Vec<f64> {
    let mut rarity = vec![0.0_f64; query.terms.len()];
    for (term, score) in found.flat_map(|one| &one.terms) {
        let at = usize::from(*term);
        if query.terms[at].position.is_some() {
            rarity[at] = rarity[at].max(*score);
        }
    }
    rarity
}

/// A word of a query with all forms in which texts may have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The word as the query has it
    pub text: String,
    pub forms: Vec<(Word, f64)>,
    pub weight: f64,
    /// Its place in the query; feedback has none
    pub position: Option<u32>,
}

/// What is searched for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub terms: Vec<Term>,
}

/// Most words of a query that are searched. The rest of a longer text, such as a log, adds little.
pub const MAX_TERMS: usize = 48;

impl Query {
    pub fn new(text: &str, tokenizer: &mut Tokenizer, tuning: &Tuning) -> Self {
        let mut terms = Vec::new();
        for word in tokenizer.query(text) {
            let forms = word.stems.iter().enumerate();
            terms.push(Term {
                text: word.text.into(),
                forms: forms.map(|(at, stem)| (*stem, if at == 0 { 1.0 } else { tuning.other_stem })).collect(),
                weight: if word.is_part { tuning.part } else { 1.0 } * f64::from(word.count.min(3)),
                position: Some(word.position),
            });
        }
        let mut exact = |text: &str, words: Vec<Word>| {
            let forms = words.into_iter().map(|word| (word, 1.0)).collect();
            terms.push(Term { text: text.to_owned(), forms, weight: 1.0, position: None });
        };
        for path in paths_in(text) {
            exact(path, same_file_words(path));
        }
        for id in text.split_whitespace().filter(|word| is_id(word)) {
            exact(id, vec![link_word(id)]);
        }
        terms.truncate(MAX_TERMS);
        Self { terms }
    }

    /// Also looks for texts that are linked with one of these.
    pub fn add_links<'i>(&mut self, ids: impl Iterator<Item = &'i str>) {
        let forms: Vec<(Word, f64)> = ids.map(|id| (link_word(id), 1.0)).collect();
        if !forms.is_empty() {
            self.terms.push(Term { text: String::new(), forms, weight: 1.0, position: None });
        }
    }

    pub fn words(&self) -> impl Iterator<Item = Word> {
        self.terms.iter().flat_map(|term| term.forms.iter().map(|(word, _)| *word))
    }
}

/// Whether a word looks like the id of an issue or a learning.
fn is_id(word: &str) -> bool {
    let is_digits = |digits: &str| digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'.');
    word.split_once('-').is_some_and(|(prefix, digits)| (2..=8).contains(&prefix.len()) && is_digits(digits))
}

/// Which documents are considered at all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub kinds: Vec<TextKind>,
    /// Milliseconds
    pub since: Option<i64>,
    /// Hashes of actors, if only theirs count
    pub actors: Option<Vec<u32>>,
    /// Of each list, a document must have at least one word
    pub must: Vec<Vec<Word>>,
}

/// The documents of an index, and where the postings of words are found.
pub trait Postings {
    fn docs(&self) -> &[Doc];

    /// Passes the number of each document with this word to `each`.
    fn for_each(&self, word: Word, each: &mut dyn FnMut(u32, Counts));
}

/// A document that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Its number in the index
    pub number: u32,
    pub score: f64,
    /// What each term of the query contributed
    pub terms: Vec<(u16, f64)>,
    /// What neighbours and its issue contributed
    pub beside: f64,
    /// The factor for recency and impact
    pub prior: f64,
}

impl Scored {
    /// A document that has none of the words.
    pub fn unmatched(number: u32) -> Self {
        Self { number, score: 0.0, terms: Vec::new(), beside: 0.0, prior: 0.0 }
    }
}

const DAY: f64 = 86_400_000.0;
/// The age at which the gain for recency is halved, in days.
const HALF_LIFE: f64 = 90.0;

/// The best documents for a query, best first; `limit` of them.
pub fn search(index: &dyn Postings, query: &Query, filter: &Filter, tuning: &Tuning, limit: usize) -> Vec<Scored> {
    Search::new(index, filter, tuning).run(query, limit)
}

/// Which documents may be results.
pub fn admitted(index: &dyn Postings, filter: &Filter, tuning: &Tuning) -> Vec<bool> {
    Search::new(index, filter, tuning).admitted
}

struct Search<'a> {
    index: &'a dyn Postings,
    docs: &'a [Doc],
    tuning: &'a Tuning,
    /// Whether a document is of a kind that is searched
    counted: Vec<bool>,
    /// Whether it may be a result
    admitted: Vec<bool>,
    total: f64,
    /// The mean length of a title and of a body, by kind
    mean: HashMap<TextKind, [f64; 2]>,
    newest: i64,
}

impl<'a> Search<'a> {
    fn new(index: &'a dyn Postings, filter: &Filter, tuning: &'a Tuning) -> Self {
        let docs = index.docs();
        let counted: Vec<bool> = docs.iter().map(|doc| doc.is_alive && filter.kinds.contains(&doc.kind)).collect();
        let passes = |doc: &Doc| {
            filter.since.is_none_or(|since| doc.at >= since)
                && filter.actors.as_ref().is_none_or(|actors| actors.contains(&doc.actor))
        };
        let mut admitted: Vec<bool> = docs.iter().zip(&counted).map(|(doc, counted)| *counted && passes(doc)).collect();
        for words in &filter.must {
            let mut has = vec![false; docs.len()];
            for word in words {
                index.for_each(*word, &mut |number, _| has[number as usize] = true);
            }
            admitted.iter_mut().zip(has).for_each(|(admitted, has)| *admitted &= has);
        }
        let mut sums: HashMap<TextKind, (f64, [f64; 2])> = HashMap::new();
        for (doc, _) in docs.iter().zip(&counted).filter(|(_, counted)| **counted) {
            let (count, lengths) = sums.entry(doc.kind).or_default();
            *count += 1.0;
            lengths.iter_mut().zip(doc.lengths).for_each(|(sum, length)| *sum += f64::from(length));
        }
        let total = sums.values().map(|(count, _)| *count).sum();
        let mean = sums.into_iter().map(|(kind, (count, sums))| (kind, sums.map(|sum| (sum / count).max(1.0))));
        let newest = docs.iter().zip(&admitted).filter(|(_, is)| **is).map(|(doc, _)| doc.at).max().unwrap_or_default();
        Self { index, docs, tuning, mean: mean.collect(), counted, admitted, total, newest }
    }

    fn run(&self, query: &Query, limit: usize) -> Vec<Scored> {
        let mut own = vec![0.0_f64; self.docs.len()];
        let mut touched: Vec<u32> = Vec::new();
        let mut by_term: Vec<Vec<(u32, f64)>> = Vec::new();
        let full: f64 = query.terms.iter().map(|term| term.weight).sum();
        let mut covered = vec![0.0_f32; self.docs.len()];
        for term in &query.terms {
            let scores = self.term(term);
            for (number, score) in &scores {
                let at = *number as usize;
                if own[at] == 0.0 {
                    touched.push(*number);
                }
                own[at] += score;
                covered[at] += term.weight as f32;
            }
            by_term.push(scores);
        }
        for number in &touched {
            let at = *number as usize;
            let share = f64::from(covered[at]) / full.max(1.0);
            own[at] *= 1.0 + self.tuning.coverage * share;
        }
        let beside = self.beside(&own, &touched);
        let mut all: Vec<Scored> = Vec::with_capacity(touched.len());
        let mut seen = vec![false; self.docs.len()];
        // Without words, whatever passes the filter is a result.
        let everything = if query.terms.is_empty() { 0..self.docs.len() as u32 } else { 0..0 };
        for number in touched.iter().copied().chain(everything) {
            let at = number as usize;
            if !self.admitted[at] || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let (beside, prior) = (beside[at], self.prior(&self.docs[at]));
            all.push(Scored {
                number,
                score: if query.terms.is_empty() { prior } else { (own[at] + beside) * prior },
                terms: Vec::new(),
                beside,
                prior,
            });
        }
        let order = |a: &Scored, b: &Scored| {
            let key = |one: &Scored| (self.docs[one.number as usize].kind, self.docs[one.number as usize].key);
            b.score.total_cmp(&a.score).then_with(|| key(a).cmp(&key(b)))
        };
        if all.len() > limit && limit > 0 {
            all.select_nth_unstable_by(limit - 1, order);
            all.truncate(limit);
        }
        all.sort_by(order);
        let places: HashMap<u32, usize> = all.iter().enumerate().map(|(at, one)| (one.number, at)).collect();
        for (term, scores) in by_term.iter().enumerate() {
            for (number, score) in scores {
                if let Some(at) = places.get(number) {
                    all[*at].terms.push((term as u16, *score));
                }
            }
        }
        all
    }

    /// What a term contributes to each document that has it.
    fn term(&self, term: &Term) -> Vec<(u32, f64)> {
        let mut found: Vec<(u32, f64)> = Vec::new();
        for (word, weight) in &term.forms {
            self.index.for_each(*word, &mut |number, counts| {
                if self.counted[number as usize] {
                    found.push((number, weight * self.frequency(&self.docs[number as usize], &counts)));
                }
            });
        }
        // Forms are lists in order, which a stable sort merges. Of several forms in a text the best counts.
        found.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        found.dedup_by_key(|(number, _)| *number);
        let count = found.len() as f64;
        let rarity = rounded((1.0 + (self.total - count + 0.5) / (count + 0.5)).ln());
        let saturation = self.tuning.saturation;
        for (_, score) in &mut found {
            *score = term.weight * rarity * *score * (saturation + 1.0) / (*score + saturation);
        }
        found
    }

    /// How often a word is in a document, weighed by field and by the length of the field.
    fn frequency(&self, doc: &Doc, counts: &Counts) -> f64 {
        let tuning = self.tuning;
        let count = |field: Field| f64::from(counts[field as usize]);
        let mean = self.mean.get(&doc.kind).copied().unwrap_or([1.0; 2]);
        let norm = |at: usize| 1.0 - tuning.length + tuning.length * f64::from(doc.lengths[at]) / mean[at];
        let links = if counts[..Field::Links as usize].iter().all(|count| *count == 0) && count(Field::Body) == 0.0 {
            count(Field::Links).min(1.0) * tuning.files
        } else {
            0.0
        };
        tuning.title * count(Field::Title) / norm(0)
            + tuning.tags * count(Field::Tags)
            + tuning.files * count(Field::Files)
            + links
            + count(Field::Body) / norm(1)
    }

    /// What the entries beside an entry, and the other texts of an issue, contribute to each text.
    fn beside(&self, own: &[f64], touched: &[u32]) -> Vec<f64> {
        let mut beside = vec![0.0; self.docs.len()];
        let is_session = |number: &u32| self.docs[*number as usize].kind == TextKind::Session;
        if touched.iter().any(is_session) {
            self.beside_entries(own, &mut beside);
        }
        let mut best: HashMap<u32, [f64; 2]> = HashMap::new();
        let of_groups =
            || touched.iter().filter(|number| !is_session(number) && self.docs[**number as usize].group != 0);
        for number in of_groups() {
            let [first, second] = best.entry(self.docs[*number as usize].group).or_default();
            let score = own[*number as usize];
            (*first, *second) = if score > *first { (score, *first) } else { (*first, second.max(score)) };
        }
        for number in of_groups() {
            let [first, second] = best[&self.docs[*number as usize].group];
            let other = if own[*number as usize] == first { second } else { first };
            beside[*number as usize] += self.tuning.group * other;
        }
        beside
    }

    fn beside_entries(&self, own: &[f64], beside: &mut [f64]) {
        let order = self.session_order();
        for two in order.windows(2) {
            let [one, other] = [two[0] as usize, two[1] as usize];
            if self.docs[one].group == self.docs[other].group {
                beside[one] += self.tuning.neighbour * own[other];
                beside[other] += self.tuning.neighbour * own[one];
            }
        }
    }

    fn place(&self, number: u32) -> (u32, u64) {
        let doc = &self.docs[number as usize];
        (doc.group, doc.key)
    }

    /// The entries of sessions, by session and number.
    fn session_order(&self) -> Vec<u32> {
        let is_entry = |(doc, counted): &(&Doc, &bool)| **counted && doc.kind == TextKind::Session;
        let entries = self.docs.iter().zip(&self.counted).zip(0_u32..).filter(|(entry, _)| is_entry(entry));
        let mut order: Vec<u32> = entries.map(|(_, number)| number).collect();
        order.sort_unstable_by_key(|number| self.place(*number));
        order
    }

    /// The factor for recency and impact.
    fn prior(&self, doc: &Doc) -> f64 {
        let age = (self.newest - doc.at).max(0) as f64 / DAY;
        let recency = self.tuning.recency * HALF_LIFE / (HALF_LIFE + age);
        1.0 + recency + self.tuning.impact * f64::from(doc.impact) / 2.0
    }
}

/// Rounds what may differ between machines in its last digit.
fn rounded(number: f64) -> f64 {
    (number * 65_536.0).round() / 65_536.0
}
