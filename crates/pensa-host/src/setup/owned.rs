//! Writes files that are ours as a whole: skills and plugins. A line in them has a hash, so that edits are recognised.

use pensa_core::{Error, Result};

use super::PartState;
use super::block::hash;

/// What stands for the hash in a template.
const HASH: &str = "{hash}";
const MARK: &str = "pensa:file v1 ";

/// A file from its template, which has the line `pensa:file v1 {hash}` in a comment.
pub(super) fn filled(template: &str) -> String {
    template.replace(HASH, &hash(template))
}

/// The file with its hash taken out, and the hash.
fn opened(text: &str) -> Option<(String, String)> {
    let at = text.find(MARK)? + MARK.len();
    let given: String = text[at..].chars().take_while(char::is_ascii_hexdigit).collect();
    Some((format!("{}{HASH}{}", &text[..at], &text[at + given.len()..]), given))
}

pub(super) fn state(text: Option<&str>, template: &str) -> Result<PartState> {
    let Some(text) = text else { return Ok(PartState::Missing) };
    if text.replace("\r\n", "\n") == filled(template) {
        return Ok(PartState::Current);
    }
    match opened(text) {
        Some((whole, given)) if hash(&whole) == given => Ok(PartState::Old),
        Some(_) => Ok(PartState::Edited),
        None => Err(Error::invalid("is another file, not one of pn").hint("move it away; --force does not replace it")),
    }
}

/// The file as it should be; an edited one is replaced only with `force`.
pub(super) fn add(text: Option<&str>, template: &str, force: bool) -> Result<String> {
    match (state(text, template)?, text) {
        (PartState::Current, Some(text)) => Ok(text.to_owned()),
        (PartState::Edited, Some(text)) if !force => Ok(text.to_owned()),
        _ => Ok(filled(template)),
    }
}

/// `None`: the file is deleted. An edited one stays, unless `force` says otherwise.
pub(super) fn remove(text: &str, template: &str, force: bool) -> Result<Option<String>> {
    match state(Some(text), template) {
        Err(_) => Ok(Some(text.to_owned())),
        Ok(PartState::Edited) if !force => {
            Err(Error::invalid("was edited, so it stays").hint("delete it by hand, or with --force"))
        }
        Ok(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "---\nname: x\n---\n<!-- pensa:file v1 {hash} -->\nhow\n";

    #[test]
    fn a_file_is_current_old_edited_or_somebody_elses() {
        let file = add(None, TEMPLATE, false).expect("made");
        let state = |text: &str| state(Some(text), TEMPLATE).expect("ours");
        assert_eq!(state(&file), PartState::Current);
        assert_eq!(state(&file.replace('\n', "\r\n")), PartState::Current);
        assert_eq!(state(&filled(&TEMPLATE.replace("how", "formerly"))), PartState::Old);
        let edited = file.replace("how", "mine");
        assert_eq!(state(&edited), PartState::Edited);
        assert_eq!(add(Some(&edited), TEMPLATE, false).expect("left"), edited);
        assert_eq!(add(Some(&edited), TEMPLATE, true).expect("replaced"), file);
        assert!(remove(&edited, TEMPLATE, false).is_err() && remove(&edited, TEMPLATE, true).expect("gone").is_none());
        assert!(add(Some("mine\n"), TEMPLATE, true).is_err());
        assert_eq!(remove("mine\n", TEMPLATE, true).expect("left").as_deref(), Some("mine\n"));
    }
}
