//! Commits whose messages name an issue.

use std::path::Path;

use pensa_core::id::IssueId;
use pensa_core::{Error, Result};

use crate::{Repo, run};

/// A commit, as far as a history of something else needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    pub author: String,
    /// The first line of its message
    pub subject: String,
    /// When it was made, in seconds since 1970
    pub seconds: i64,
}

/// How many commits are looked at for each that is wanted: some only have the id as a part of another word.
const LOOKED_AT: usize = 4;

/// The newest commits of any branch, tag or work tree around `dir` whose messages have an id as a word; none outside a
/// repository.
pub fn mentions(dir: &Path, id: &IssueId, limit: usize) -> Result<Vec<Commit>> {
    let Some(repo) = Repo::around(dir) else { return Ok(Vec::new()) };
    let mut git = repo.git();
    git.args(["-c", "log.showSignature=false", "log", "-z", "--no-color", "--encoding=UTF-8", "--fixed-strings"]);
    git.args(["--branches", "--tags", "--remotes", "--ignore-missing", "--format=%H%n%ct%n%an%n%B"]);
    git.arg(format!("--max-count={}", limit.saturating_mul(LOOKED_AT)));
    // An id has only letters, digits and -_.: and is a part of the flag, whatever it begins with.
    git.arg(format!("--grep={id}")).args(["HEAD", "--"]);
    let told = run(&mut git)?;
    if !told.success {
        return Err(Error::internal(format!("git log failed: {}", told.stderr.trim())));
    }
    let text = String::from_utf8_lossy(&told.stdout);
    let named = text.split('\0').filter_map(|record| read(record, id.as_str()));
    Ok(named.take(limit).collect())
}

fn read(record: &str, id: &str) -> Option<Commit> {
    let mut lines = record.splitn(4, '\n');
    let [hash, seconds, author, message] = [lines.next()?, lines.next()?, lines.next()?, lines.next()?];
    has_word(message, id).then_some(())?;
    let subject = message.lines().next().unwrap_or_default().to_owned();
    Some(Commit { id: hash.trim().to_owned(), author: author.to_owned(), subject, seconds: seconds.parse().ok()? })
}

/// Whether an id stands in a text, and not as a part of a longer one.
fn has_word(text: &str, id: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    // A dot or colon ends a sentence, unless the id goes on behind it.
    let goes_on = |mut rest: std::str::Chars<'_>| match rest.next() {
        Some('.' | ':') => rest.next().is_some_and(is_part),
        next => next.is_some_and(is_part),
    };
    text.match_indices(id).any(|(at, _)| {
        let before: String = text[..at].chars().rev().take(2).collect();
        !goes_on(before.chars()) && !goes_on(text[at + id.len()..].chars())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_as_a_word_and_not_within_a_longer_one() {
        for (text, id, is_there) in [
            ("fix pn-1234", "pn-1234", true),
            ("pn-1234: fix", "pn-1234", true),
            ("fix (pn-1234).", "pn-1234", true),
            ("see #pn-1234, it", "pn-1234", true),
            ("fix pn-12345", "pn-1234", false),
            ("fix xpn-1234", "pn-1234", false),
            ("fix a-pn-1234", "pn-1234", false),
            ("fix pn-1234.1", "pn-1234", false),
            ("fix é pn-1234é", "pn-1234", false),
            ("fix pn-12345 and pn-1234", "pn-1234", true),
            ("bd:42.1", "bd:42", false),
            ("bd:42: done", "bd:42", true),
            ("a.b", "b", false),
            ("", "b", false),
        ] {
            assert_eq!(has_word(text, id), is_there, "{text} {id}");
        }
    }

    #[test]
    fn what_is_no_commit_is_none() {
        assert_eq!(read("", "x"), None);
        assert_eq!(read("abc\nnot a number\na\nx", "x"), None);
        let commit = read("abc\n12\nana\nfix x\n\nmore", "x").expect("a commit");
        assert_eq!((commit.seconds, commit.subject.as_str()), (12, "fix x"));
    }
}
