//! Defines the bearer token of a server.

use std::fmt;
use std::str::FromStr;

use pensa_core::{Error, Result};

/// Maximum length; a token must fit into a header.
const MAX_LENGTH: usize = 4096;

/// A bearer token. It has no `Display`, and `Debug` hides it: the only way out is [`reveal`](Self::reveal).
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The secret itself, for a header or the file of remotes.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Token {
    type Err = Error;

    /// Trims whitespace, which files and shells add.
    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let wrong = match text.len() {
            0 => "the token is empty",
            1..=MAX_LENGTH if text.bytes().all(|byte| byte.is_ascii_graphic()) => return Ok(Self(text.to_owned())),
            1..=MAX_LENGTH => "the token has characters that no token has",
            _ => "the token is too long for one",
        };
        Err(Error::invalid(wrong).hint("paste it as you were given it, on one line"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_one_word_and_hidden_in_debug_output() {
        let token: Token = " s3cret\r\n".parse().expect("a token");
        assert_eq!(token.reveal(), "s3cret");
        assert_eq!(format!("{token:?}"), "Token(…)");
        for bad in ["", " \n", "two words", "two\nlines", "é", "a\u{3}", &"x".repeat(MAX_LENGTH + 1)] {
            let error = bad.parse::<Token>().expect_err("no token");
            assert!(!error.message.contains("two"), "{error}");
        }
    }
}
