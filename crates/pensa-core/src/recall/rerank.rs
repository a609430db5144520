//! Ranks the best candidates again by their texts: how near the words of the query stand to each other.

use std::collections::{BTreeMap, HashMap};

use super::search::Query;
use super::words::{Token, Tokenizer, Word};

/// How near the words of a query stand in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Nearness {
    /// The share of the query, by weight, in the best passage
    pub passage: f64,
    /// The share of neighbouring words of the query that are neighbours in the text
    pub phrase: f64,
    /// Where the best passage is, in bytes
    pub from: u32,
    pub to: u32,
}

/// Compares texts with a query. `rarity` is the weight of each term.
#[derive(Debug)]
pub struct Reader<'q> {
    query: &'q Query,
    rarity: Vec<f64>,
    by_word: HashMap<Word, Vec<usize>>,
}

impl<'q> Reader<'q> {
    pub fn new(query: &'q Query, rarity: Vec<f64>) -> Self {
        let mut by_word: HashMap<Word, Vec<usize>> = HashMap::new();
        for (at, term) in query.terms.iter().enumerate().filter(|(_, term)| term.position.is_some()) {
            for (word, _) in &term.forms {
                by_word.entry(*word).or_default().push(at);
            }
        }
        Self { query, rarity, by_word }
    }

    /// How near the words of the query stand in a text.
    pub fn read(&self, tokens: &[Token], window: u32) -> Nearness {
        let hits: Vec<(&Token, usize)> = tokens
            .iter()
            .filter_map(|token| self.by_word.get(&token.word).map(|terms| (token, terms)))
            .flat_map(|(token, terms)| terms.iter().map(move |term| (token, *term)))
            .collect();
        let mut near = self.best_passage(&hits, window);
        near.phrase = self.phrases(&hits);
        near
    }

    fn best_passage(&self, hits: &[(&Token, usize)], window: u32) -> Nearness {
        let whole: f64 = self.rarity.iter().sum();
        let (mut counts, mut sum, mut start) = (vec![0_u32; self.query.terms.len()], 0.0, 0);
        let mut best = Nearness::default();
        for (end, (token, term)) in hits.iter().enumerate() {
            counts[*term] += 1;
            if counts[*term] == 1 {
                sum += self.rarity[*term];
            }
            while token.position - hits[start].0.position >= window {
                let gone = hits[start].1;
                counts[gone] -= 1;
                if counts[gone] == 0 {
                    sum -= self.rarity[gone];
                }
                start += 1;
            }
            if sum > best.passage + 1e-9 {
                best = Nearness { passage: sum, phrase: 0.0, from: hits[start].0.from, to: hits[end].0.to };
            }
        }
        best.passage /= whole.max(1e-9);
        best
    }

    fn phrases(&self, hits: &[(&Token, usize)]) -> f64 {
        let terms = &self.query.terms;
        let position = |term: usize| terms[term].position.unwrap_or_default();
        let (mut whole, mut found) = (0.0, 0.0);
        let mut pairs: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for first in 0..terms.len() {
            for second in 0..terms.len() {
                let both = terms[first].position.is_some() && terms[second].position.is_some();
                if both && first != second && position(second).wrapping_sub(position(first)) == 1 {
                    let weight = self.rarity[first] + self.rarity[second];
                    pairs.insert((first, second), weight);
                    whole += weight;
                }
            }
        }
        // Of words that no text has, nothing is known, and their pairs have no weight.
        if whole <= 0.0 {
            return 0.0;
        }
        let mut at_position: HashMap<u32, Vec<usize>> = HashMap::new();
        hits.iter().for_each(|(token, term)| at_position.entry(token.position).or_default().push(*term));
        for (token, term) in hits {
            for next in at_position.get(&(token.position + 1)).into_iter().flatten() {
                found += pairs.remove(&(*term, *next)).unwrap_or_default();
            }
        }
        found / whole
    }
}

/// The tokens of a text.
pub fn tokens(tokenizer: &mut Tokenizer, text: &str) -> Vec<Token> {
    tokenizer.tokens(&text[..text.floor_char_boundary(super::MAX_BODY)])
}
