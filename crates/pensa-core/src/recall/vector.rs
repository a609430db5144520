//! Vectors as they are stored: one byte for each number and a scale for all of them, in blocks of many texts.
//!
//! A vector names the content it was computed from, so that a text which changed since has none.

use super::{Document, MAX_BODY, TextKind};
use crate::error::{Code, Error, Result};
use crate::similar::hash64;

/// Vectors in a block.
pub const BLOCK: usize = 256;

/// Bytes of a [`VectorKey`] in a block.
const KEY_BYTES: usize = 17;

/// The text that a vector is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VectorKey {
    pub kind: TextKind,
    /// As the index has it
    pub key: u64,
    /// A hash of its content
    pub content: u64,
}

impl VectorKey {
    /// The key of a document; none if there is nothing to embed.
    pub fn of(document: &Document) -> Option<Self> {
        let text = text_of(document);
        let (kind, key) = (document.kind, super::key_of(document.kind, &document.id));
        (!text.is_empty()).then(|| Self { kind, key, content: hash64(text.as_bytes()) })
    }
}

/// What of a document is embedded.
pub fn text_of(document: &Document) -> String {
    let mut text = document.text();
    text.truncate(text.floor_char_boundary(MAX_BODY));
    text.truncate(text.trim_end().len());
    text
}

/// A vector with one byte for each number.
#[derive(Debug, Clone, PartialEq)]
pub struct ByteVector {
    scale: f32,
    values: Vec<i8>,
}

impl ByteVector {
    /// Rounds a vector so that its largest number becomes 127.
    pub fn new(vector: &[f32]) -> Self {
        let most = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        if most == 0.0 || !most.is_finite() {
            return Self { scale: 0.0, values: vec![0; vector.len()] };
        }
        let byte = |value: &f32| (value / most * 127.0).round() as i8;
        Self { scale: most / 127.0, values: vector.iter().map(byte).collect() }
    }

    pub fn dimension(&self) -> usize {
        self.values.len()
    }

    /// The cosine with a vector of a block, if both have length 1.
    fn similarity(&self, stored: &[u8]) -> f32 {
        let Some((scale, values)) = stored.split_first_chunk::<4>() else { return 0.0 };
        // Four sums instead of one: each need not wait for the one before.
        let (left, right) = (self.values.as_chunks::<4>(), values.as_chunks::<4>());
        let mut sums = [0_i32; 4];
        for (left, right) in left.0.iter().zip(right.0) {
            for at in 0..4 {
                sums[at] += i32::from(left[at]) * i32::from(right[at].cast_signed());
            }
        }
        let rest = left.1.iter().zip(right.1).map(|(left, right)| i32::from(*left) * i32::from(right.cast_signed()));
        let sum = sums.iter().sum::<i32>() + rest.sum::<i32>();
        sum as f32 * self.scale * f32::from_le_bytes(*scale)
    }
}

/// Vectors of some texts, as two columns of bytes.
#[derive(Debug, Default)]
pub struct VectorBlock {
    pub texts: Vec<u8>,
    pub data: Vec<u8>,
}

impl VectorBlock {
    pub fn len(&self) -> usize {
        self.texts.len() / KEY_BYTES
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub fn push(&mut self, key: &VectorKey, vector: &ByteVector) {
        self.texts.push(key.kind as u8);
        self.texts.extend(key.key.to_le_bytes());
        self.texts.extend(key.content.to_le_bytes());
        self.data.extend(vector.scale.to_le_bytes());
        self.data.extend(vector.values.iter().map(|value| value.cast_unsigned()));
    }

    /// The texts of a block.
    pub fn keys(texts: &[u8]) -> Result<Vec<VectorKey>> {
        let (keys, rest) = texts.as_chunks::<KEY_BYTES>();
        let key = |bytes: &[u8; KEY_BYTES]| {
            let number = |from: usize| bytes[from..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            Some(VectorKey { kind: TextKind::from_number(bytes[0])?, key: number(1), content: number(9) })
        };
        let keys: Option<Vec<VectorKey>> = keys.iter().map(key).collect();
        keys.filter(|_| rest.is_empty()).ok_or_else(damaged)
    }

    /// Passes each text with its similarity to a query to `each`.
    pub fn compare(texts: &[u8], data: &[u8], query: &ByteVector, each: &mut dyn FnMut(VectorKey, f32)) -> Result<()> {
        let (keys, stride) = (Self::keys(texts)?, query.dimension() + 4);
        if data.len() != keys.len() * stride {
            return Err(damaged());
        }
        keys.into_iter().zip(data.chunks_exact(stride)).for_each(|(key, stored)| each(key, query.similarity(stored)));
        Ok(())
    }

    /// The same block without some of its texts.
    pub fn retain(texts: &[u8], data: &[u8], keep: impl Fn(&VectorKey) -> bool) -> Result<Self> {
        let keys = Self::keys(texts)?;
        let stride = if keys.is_empty() { 1 } else { data.len() / keys.len() };
        if data.len() != keys.len() * stride || stride < 4 && !keys.is_empty() {
            return Err(damaged());
        }
        let mut kept = Self::default();
        let all = keys.iter().zip(texts.chunks_exact(KEY_BYTES)).zip(data.chunks_exact(stride));
        for ((_, text), vector) in all.filter(|((key, _), _)| keep(key)) {
            kept.texts.extend(text);
            kept.data.extend(vector);
        }
        Ok(kept)
    }
}

fn damaged() -> Error {
    Error::new(Code::Corrupt, "the vectors of recall are damaged").hint("run pn doctor --fix, then pn recall --update")
}

/// How much rankings by words and by meaning count in one.
#[derive(Debug, Clone, Copy)]
pub struct Fusion {
    /// Places that hardly differ
    pub k: f64,
    /// The share of meaning
    pub meaning: f64,
}

impl Default for Fusion {
    fn default() -> Self {
        Self { k: 20.0, meaning: 0.5 }
    }
}

impl Fusion {
    /// What a place in each ranking, from 0, is worth: 1 altogether for the first of both.
    pub fn worth(&self, by_words: Option<usize>, by_meaning: Option<usize>) -> (f64, f64) {
        let share = |place: Option<usize>| place.map_or(0.0, |place| (self.k + 1.0) / (self.k + 1.0 + place as f64));
        ((1.0 - self.meaning) * share(by_words), self.meaning * share(by_meaning))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> VectorKey {
        VectorKey { kind: TextKind::Comment, key: number, content: !number }
    }

    #[test]
    fn rounded_vectors_compare_nearly_as_exact_ones() {
        let vector = |seed: f32| -> Vec<f32> {
            let raw: Vec<f32> = (0..37).map(|i| (i as f32 * seed).sin()).collect();
            let length = raw.iter().map(|v| v * v).sum::<f32>().sqrt();
            raw.iter().map(|v| v / length).collect()
        };
        let (query, mut block) = (vector(0.7), VectorBlock::default());
        let stored: Vec<Vec<f32>> = (1..9).map(|n| vector(0.3 * n as f32)).collect();
        for (n, vector) in stored.iter().enumerate() {
            block.push(&key(n as u64), &ByteVector::new(vector));
        }
        let mut compared = 0;
        VectorBlock::compare(&block.texts, &block.data, &ByteVector::new(&query), &mut |found, similarity| {
            let exact: f32 = query.iter().zip(&stored[found.key as usize]).map(|(a, b)| a * b).sum();
            assert!((exact - similarity).abs() < 0.01, "{exact} {similarity}");
            compared += 1;
        })
        .expect("a sound block");
        assert_eq!((compared, block.len()), (8, 8));
    }

    #[test]
    fn a_block_keeps_what_is_wanted_and_damage_is_an_error() {
        let mut block = VectorBlock::default();
        (0..5).for_each(|n| block.push(&key(n), &ByteVector::new(&[1.0, n as f32])));
        let kept = VectorBlock::retain(&block.texts, &block.data, |key| key.key % 2 == 0).expect("sound");
        let keys = VectorBlock::keys(&kept.texts).expect("sound");
        assert_eq!(keys.iter().map(|key| key.key).collect::<Vec<_>>(), [0, 2, 4]);
        let query = ByteVector::new(&[1.0, 0.0]);
        for (texts, data) in
            [(&block.texts[1..], &block.data[..]), (&block.texts[..], &block.data[1..]), (&[9; 17], &[0; 6])]
        {
            assert!(VectorBlock::compare(texts, data, &query, &mut |_, _| {}).is_err());
        }
        assert!(VectorBlock::compare(&block.texts, &block.data, &ByteVector::new(&[1.0; 3]), &mut |_, _| {}).is_err());
        assert_eq!(ByteVector::new(&[0.0, 0.0]).similarity(&block.data[..6]), 0.0);
        assert_eq!(ByteVector::new(&[f32::NAN, f32::INFINITY]).scale, 0.0);
    }

    #[test]
    fn the_first_of_both_rankings_is_worth_one_and_each_place_less() {
        let fusion = Fusion::default();
        let (words, meaning) = fusion.worth(Some(0), Some(0));
        assert!((words + meaning - 1.0).abs() < 1e-12);
        assert!(fusion.worth(Some(1), None).0 < words && fusion.worth(None, Some(3)).1 < meaning);
        assert_eq!(fusion.worth(None, None), (0.0, 0.0));
    }
}
