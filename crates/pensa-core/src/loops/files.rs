//! The files of an iteration: prompt, conversation, validation log and artifacts.
//!
//! The engine stores them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::error::{Code, Error, Result};

pub const PROMPT: &str = "prompt.md";
pub const CONVERSATION: &str = "conversation.jsonl";
pub const VALIDATION: &str = "validation.log";
/// The standard output of all iterations.
pub const STDOUT: &str = "stdout.log";
pub const STDERR: &str = "stderr.log";
/// The directory of artifacts.
pub const ARTIFACTS: &str = "artifacts";

/// Maximum number of files per iteration.
pub const MAX_FILES: usize = 1000;
/// Maximum length of an artifact's name, in bytes.
const NAME_BYTES: usize = 200;

/// A file of an iteration.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IterationFile {
    /// `prompt.md`, `conversation.jsonl`, `validation.log`, or `artifacts/NAME`; `stdout.log` and `stderr.log` are
    /// appended to those of the loop
    pub path: String,
    /// What it holds
    pub text: Option<String>,
    /// What it holds, two hexadecimal digits a byte, if that is no text
    pub hex: Option<String>,
}

impl IterationFile {
    /// Creates a file from its content.
    pub fn new(path: String, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { path, text: Some(text), hex: None },
            Err(e) => {
                let hex = hex::encode(e.as_bytes());
                Self { path, text: None, hex: Some(hex) }
            }
        }
    }

    /// The content.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        content(&self.path, self.text.as_ref(), self.hex.as_ref())
    }

    /// Whether the content is appended to a log of the loop instead of stored with the iteration.
    pub fn is_appended(&self) -> bool {
        [STDOUT, STDERR].contains(&self.path.as_str())
    }

    /// The name of the artifact; `None` for the other files of an iteration.
    pub fn artifact(&self) -> Result<Option<&str>> {
        match self.path.split_once('/') {
            None if self.is_appended() || [PROMPT, CONVERSATION, VALIDATION].contains(&self.path.as_str()) => Ok(None),
            Some((ARTIFACTS, name)) => check_name(name).map(|()| Some(name)),
            _ => Err(Error::invalid(format!("an iteration has no file {:?}", self.path))
                .hint("prompt.md, conversation.jsonl, validation.log, stdout.log, stderr.log, or artifacts/NAME")),
        }
    }
}

/// A part of a file in the directory of a loop.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilePart {
    /// In the directory of the loop, such as `stdout.log` or `iterations/001/artifacts/plan.md`
    pub path: String,
    /// Where in the file it begins
    #[serde(default)]
    pub offset: u64,
    /// What it holds
    pub text: Option<String>,
    /// What it holds, two hexadecimal digits a byte, if that is no text
    pub hex: Option<String>,
}

/// Maximum depth of a path in the directory of a loop.
const MAX_PARTS: usize = 16;

impl FilePart {
    /// Creates a part from its content.
    pub fn new(path: String, offset: u64, bytes: Vec<u8>) -> Self {
        let IterationFile { path, text, hex } = IterationFile::new(path, bytes);
        Self { path, offset, text, hex }
    }

    /// The content.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        content(&self.path, self.text.as_ref(), self.hex.as_ref())
    }

    /// The components of the path, each checked.
    pub fn components(&self) -> Result<Vec<&str>> {
        let components: Vec<&str> = self.path.split('/').collect();
        if components.len() > MAX_PARTS {
            return Err(Error::invalid(format!("{:?} is deeper than {MAX_PARTS} directories", self.path)));
        }
        // `current` is a symbolic link to an iteration.
        if components == ["current"] {
            return Err(Error::invalid("current is no file of a loop"));
        }
        components.iter().try_for_each(|name| check_name(name))?;
        Ok(components)
    }
}

fn content(path: &str, text: Option<&String>, hex: Option<&String>) -> Result<Vec<u8>> {
    match (text, hex) {
        (Some(text), None) => Ok(text.clone().into_bytes()),
        (None, Some(hex)) => {
            hex::decode(hex).map_err(|_| Error::invalid(format!("the content of {path:?} is not hexadecimal")))
        }
        _ => Err(Error::invalid(format!("{path:?} has either a text or hex"))),
    }
}

/// Refuses names that could point outside their directory or hide.
fn check_name(name: &str) -> Result<()> {
    let is_plain = !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        && !name.chars().any(crate::text::is_unsafe_to_print);
    if is_plain && name.len() <= NAME_BYTES {
        return Ok(());
    }
    let shown: String = name.chars().take(40).collect();
    Err(Error::invalid(format!("not a name of an artifact: {shown:?}"))
        .hint(format!("a name of a file of at most {NAME_BYTES} bytes that does not begin with a dot")))
}

/// Checks the files of one iteration together.
pub fn check(files: &[IterationFile]) -> Result<()> {
    if files.len() > MAX_FILES {
        let message = format!("{} files of an iteration are too many: at most {MAX_FILES}", files.len());
        return Err(Error::new(Code::TooLarge, message));
    }
    for (at, file) in files.iter().enumerate() {
        file.artifact()?;
        if files[..at].iter().any(|other| other.path == file.path) {
            return Err(
                Error::invalid(format!("{:?} is given twice", file.path)).hint("artifacts need names of their own")
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_binary_content_round_trip() {
        for bytes in [b"".to_vec(), "é\n".as_bytes().to_vec(), vec![0, 255, 10, 128]] {
            let file = IterationFile::new(VALIDATION.into(), bytes.clone());
            assert_eq!(file.bytes().expect("content"), bytes);
        }
        let file = |text: Option<&str>, hex: Option<&str>| IterationFile {
            path: PROMPT.into(),
            text: text.map(str::to_owned),
            hex: hex.map(str::to_owned),
        };
        for bad in [file(None, None), file(Some("a"), Some("61")), file(None, Some("6")), file(None, Some("zz"))] {
            assert!(bad.bytes().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn no_file_lies_anywhere_but_in_its_iteration() {
        let file = |path: &str| IterationFile::new(path.to_owned(), Vec::new());
        for good in [PROMPT, CONVERSATION, VALIDATION, "artifacts/plan.md", "artifacts/a b.é"] {
            assert!(file(good).artifact().is_ok(), "{good}");
        }
        let long = format!("artifacts/{}", "x".repeat(201));
        for bad in [
            "",
            "x",
            "..",
            "../prompt.md",
            "/prompt.md",
            "artifacts",
            "artifacts/",
            "artifacts/..",
            "artifacts/.x",
            "artifacts/a/b",
            "artifacts/../x",
            "artifacts/a\\b",
            "artifacts/a\nb",
            "artifacts/\u{0}",
            "prompt.md/x",
            &long,
        ] {
            assert!(file(bad).artifact().is_err(), "{bad:?}");
        }
        assert!(check(&[file(PROMPT), file("artifacts/a")]).is_ok());
        assert!(check(&[file("artifacts/a"), file("artifacts/a")]).is_err());
    }
}
