//! The same random numbers in every run, and texts made of them.

pub(crate) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
pub(crate) const HEX: &str = "0123456789abcdef";
pub(crate) const ALNUM: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
pub(crate) const URL64: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
pub(crate) const BASE64: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/";
pub(crate) const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(crate) const DIGITS: &str = "0123456789";

/// A small generator (splitmix64) that needs no seed from outside.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    pub(crate) fn text(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    pub(crate) fn between(&mut self, alphabet: &str, least: usize, most: usize) -> String {
        let length = least + self.below(most - least + 1);
        self.text(alphabet, length)
    }

    pub(crate) fn uuid(&mut self) -> String {
        [8, 4, 4, 4, 12].map(|length| self.text(HEX, length)).join("-")
    }

    /// Base64 in lines, as in key files.
    pub(crate) fn lines(&mut self, count: usize, width: usize) -> String {
        let last = self.between(BASE64, 8, width);
        (1..count).map(|_| self.text(BASE64, width) + "\n").collect::<String>() + &last + "=="
    }
}
