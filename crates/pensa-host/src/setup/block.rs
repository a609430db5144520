//! Adds, finds and removes a managed block of a text file, between two marks that are comments.
//!
//! The first mark has the version of the format and a hash of the block, so that an edited block is recognised. What
//! [`add`] does, [`remove`] takes back byte for byte.

use std::ops::Range;

use pensa_core::{Error, Result};

use super::PartState;

/// The version of the marks.
const VERSION: &str = "v1";
/// How many characters of the hash are written.
const HASH_CHARS: usize = 12;

/// How comments look in a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommentSyntax {
    /// `<!-- … -->`
    Markdown,
    /// `# …`
    Hash,
}

impl CommentSyntax {
    fn comment(self, text: &str) -> String {
        match self {
            Self::Markdown => format!("<!-- {text} -->"),
            Self::Hash => format!("# {text}"),
        }
    }

    fn text(self, line: &str) -> Option<&str> {
        let line = line.trim();
        match self {
            Self::Markdown => line.strip_prefix("<!-- ")?.strip_suffix(" -->"),
            Self::Hash => line.strip_prefix("# "),
        }
    }
}

/// A short hash of a text, the same with any line ends.
pub(super) fn hash(text: &str) -> String {
    let mut hash = blake3::hash(text.replace("\r\n", "\n").as_bytes()).to_hex().to_string();
    hash.truncate(HASH_CHARS);
    hash
}

/// The line end that a text uses.
pub(super) fn line_end(text: &str) -> &'static str {
    let is_windows = match text.find('\n') {
        Some(at) => text[..at].ends_with('\r'),
        None => text.ends_with('\r'),
    };
    if is_windows { "\r\n" } else { "\n" }
}

/// The block with its marks, without a line end.
fn marked(syntax: CommentSyntax, body: &str) -> String {
    let begin = syntax.comment(&format!("pensa:begin {VERSION} {}", hash(body)));
    format!("{begin}\n{body}\n{}", syntax.comment("pensa:end"))
}

/// A block in a text.
#[derive(Debug, PartialEq, Eq)]
struct MarkedBlock {
    /// From the first character of the first mark to the last one of the last mark.
    range: Range<usize>,
    body: String,
    is_edited: bool,
}

fn find(syntax: CommentSyntax, text: &str) -> Result<Option<MarkedBlock>> {
    let (mut found, mut open): (Option<MarkedBlock>, Option<(usize, usize, String)>) = (None, None);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.trim_end_matches(['\r', '\n']).len());
        at += line.len();
        let mark = syntax.text(line).unwrap_or_default();
        if let Some(rest) = mark.strip_prefix("pensa:begin ") {
            if open.is_some() || found.is_some() {
                return Err(broken("has the mark pensa:begin twice"));
            }
            open = Some((start, at, rest.split_whitespace().nth(1).unwrap_or_default().to_owned()));
        } else if mark == "pensa:end" {
            let Some((first, body, hash)) = open.take() else { return Err(broken("has no mark pensa:begin")) };
            let body = text[body..start].trim_end_matches(['\r', '\n']).replace("\r\n", "\n");
            found = Some(MarkedBlock { range: first..end, is_edited: self::hash(&body) != hash, body });
        }
    }
    if open.is_some() { Err(broken("has no mark pensa:end")) } else { Ok(found) }
}

fn broken(what: &str) -> Error {
    Error::invalid(what).hint("restore the line, or delete the block and its marks")
}

/// The state of a block that should have this body.
pub(super) fn state(syntax: CommentSyntax, text: &str, body: &str) -> Result<PartState> {
    Ok(match find(syntax, text)? {
        None => PartState::Missing,
        Some(block) if block.body == body && !block.is_edited => PartState::Current,
        Some(block) if block.is_edited => PartState::Edited,
        Some(_) => PartState::Old,
    })
}

/// The body of the block in a text.
pub(super) fn body(syntax: CommentSyntax, text: &str) -> Option<String> {
    find(syntax, text).ok()?.map(|block| block.body)
}

/// A text without its block, to look at the rest.
pub(super) fn rest(syntax: CommentSyntax, text: &str) -> Result<String> {
    Ok(find(syntax, text)?
        .map_or_else(|| text.to_owned(), |block| format!("{}{}", &text[..block.range.start], &text[block.range.end..])))
}

/// The text with the block: replaced where it is, else at the end. `None` stands for no file.
pub(super) fn add(syntax: CommentSyntax, text: Option<&str>, body: &str) -> Result<String> {
    let block = marked(syntax, body);
    let Some(text) = text else { return Ok(format!("{block}\n")) };
    let end = line_end(text);
    let block = block.replace('\n', end);
    if let Some(old) = find(syntax, text)? {
        return Ok(format!("{}{block}{}", &text[..old.range.start], &text[old.range.end..]));
    }
    // A file that ends without a line end still does so afterwards, which tells `remove` how it was.
    let has_end = text.is_empty() || text.ends_with('\n');
    Ok(if has_end { format!("{text}{end}{block}{end}") } else { format!("{text}{end}{end}{block}") })
}

/// The text without the block; `None` if the file consists of it. Of an edited block the lines stay that are not in `ours`,
/// unless `force` says otherwise.
pub(super) fn remove(syntax: CommentSyntax, text: &str, ours: &[&str], force: bool) -> Result<Option<String>> {
    let Some(block) = find(syntax, text)? else { return Ok(Some(text.to_owned())) };
    let (before, after) = (&text[..block.range.start], &text[block.range.end..]);
    let end = line_end(text);
    if block.is_edited && !force {
        let is_foreign = |line: &&str| !line.trim().is_empty() && !ours.contains(line);
        let kept: Vec<&str> = block.body.lines().filter(is_foreign).collect();
        if !kept.is_empty() {
            return Ok(Some(format!("{before}{}{after}", kept.join(end))));
        }
    }
    if after.is_empty() {
        let before = before.strip_suffix(end).unwrap_or(before);
        let before = before.strip_suffix(end).unwrap_or(before);
        return Ok(if before.is_empty() { None } else { Some(before.to_owned()) });
    }
    let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')).unwrap_or(after);
    if before.is_empty() && after.is_empty() {
        return Ok(None);
    }
    let blank = before.strip_suffix(end).filter(|rest| rest.is_empty() || rest.ends_with('\n'));
    Ok(Some(format!("{}{after}", blank.unwrap_or(before))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SYNTAX: CommentSyntax = CommentSyntax::Markdown;

    #[test]
    fn a_block_goes_to_the_end_and_says_its_version_and_hash() {
        let text = add(SYNTAX, Some("# Mine\n"), "ours\ntoo").expect("added");
        assert_eq!(
            text,
            format!("# Mine\n\n<!-- pensa:begin v1 {} -->\nours\ntoo\n<!-- pensa:end -->\n", hash("ours\ntoo"))
        );
        assert_eq!(state(SYNTAX, &text, "ours\ntoo").expect("readable"), PartState::Current);
        assert_eq!(state(SYNTAX, &text, "newer").expect("readable"), PartState::Old);
        let edited = text.replace("too", "two");
        assert_eq!(state(SYNTAX, &edited, "ours\ntoo").expect("readable"), PartState::Edited);
        assert_eq!(state(SYNTAX, "# Mine\n", "ours").expect("readable"), PartState::Missing);
    }

    #[test]
    fn a_newer_block_replaces_an_old_one_where_it_is() {
        let old = add(SYNTAX, Some("a\n"), "old").expect("added") + "later\n";
        let new = add(SYNTAX, Some(&old), "new").expect("replaced");
        assert!(new.starts_with("a\n\n<!-- pensa:begin") && new.ends_with("<!-- pensa:end -->\nlater\n"), "{new}");
        assert_eq!(remove(SYNTAX, &new, &[], false).expect("removed").as_deref(), Some("a\nlater\n"));
    }

    #[test]
    fn lines_that_a_person_wrote_into_the_block_survive_its_removal() {
        let text = add(SYNTAX, Some("a\n"), "one\ntwo").expect("added").replace("two", "two\nmine");
        assert_eq!(remove(SYNTAX, &text, &["one", "two"], false).expect("removed").as_deref(), Some("a\n\nmine\n"));
        assert_eq!(remove(SYNTAX, &text, &["one", "two"], true).expect("removed").as_deref(), Some("a\n"));
    }

    #[test]
    fn half_a_block_is_refused() {
        for text in ["<!-- pensa:begin v1 x -->\n", "<!-- pensa:end -->\n"] {
            assert!(add(SYNTAX, Some(text), "b").is_err() && remove(SYNTAX, text, &[], true).is_err(), "{text}");
        }
        let twice = add(SYNTAX, None, "b").expect("added").repeat(2);
        assert!(state(SYNTAX, &twice, "b").is_err());
    }

    fn texts() -> impl Strategy<Value = Option<String>> {
        let line = prop_oneof!["", "[a-zé#<>! -]{0,20}", Just("<!-- pensa -->".to_owned()), Just("\t".to_owned())];
        let lines = prop::collection::vec(line, 0..8);
        let text = (lines, prop_oneof![Just("\n"), Just("\r\n")], any::<bool>()).prop_map(|(lines, end, has_end)| {
            let text = lines.join(end);
            if has_end { text + end } else { text }
        });
        prop::option::of(prop_oneof![text, "[ab\r\n]{0,12}"])
    }

    proptest! {
        #[test]
        fn add_then_remove_gives_the_same_bytes(text in texts(), body in "[a-z]{1,9}(\n[a-z]{0,9}[a-z])?") {
            for syntax in [CommentSyntax::Markdown, CommentSyntax::Hash] {
                let with = add(syntax, text.as_deref(), &body).expect("added");
                prop_assert_eq!(state(syntax, &with, &body).expect("readable"), PartState::Current);
                prop_assert_eq!(&add(syntax, Some(&with), &body).expect("again"), &with);
                prop_assert_eq!(remove(syntax, &with, &[], false).expect("removed"), text.clone());
            }
        }
    }
}
