//! Commits whose messages name an issue.

use std::path::Path;

use pensa_core::id::IssueId;
use pensa_core::{Error, Result};

use crate::{Repo, run};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    pub author: String,
    /// The first line of its message
    pub subject: String,
    /// Commit time in seconds since 1970
    pub seconds: i64,
}

/// Commits read per requested result, because some contain the id only as part of a longer word.
const CANDIDATES_PER_RESULT: usize = 4;

/// The newest commits on any branch, tag or remote whose message contains an issue id as a word; empty outside a
/// repository.
pub fn mentions(dir: &Path, id: &IssueId, limit: usize) -> Result<Vec<Commit>> {
    let Some(repo) = Repo::around(dir) else { return Ok(Vec::new()) };
    let mut git = repo.git();
    git.args(["-c", "log.showSignature=false", "log", "-z", "--no-color", "--encoding=UTF-8", "--fixed-strings"]);
    git.args(["--branches", "--tags", "--remotes", "--ignore-missing", "--format=%H%n%ct%n%an%n%B"]);
    git.arg(format!("--max-count={}", limit.saturating_mul(CANDIDATES_PER_RESULT)));
    // The id is part of the flag, so it is safe whatever it starts with.
    git.arg(format!("--grep={id}")).args(["HEAD", "--"]);
    let output = run(&mut git)?;
    if !output.success {
        return Err(Error::internal(format!("git log failed: {}", output.stderr.trim())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
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

/// Whether `id` occurs in a text as a whole word.
fn has_word(text: &str, id: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    // A dot or colon ends the word unless the id continues after it.
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
