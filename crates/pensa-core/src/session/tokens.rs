//! Estimates how many tokens a text costs, without asking a model.

/// Four bytes per token, rounded up: close enough for English and code, and the same for all models.
pub fn estimate(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_a_token_rounded_up() {
        for (bytes, tokens) in [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), ("é€".len(), 2)] {
            assert_eq!(estimate(bytes), tokens, "{bytes}");
        }
        assert_eq!(estimate(usize::MAX), u64::try_from(usize::MAX / 4 + 1).expect("fits"));
    }
}
