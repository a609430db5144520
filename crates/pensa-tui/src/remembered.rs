//! What is remembered between two starts: how the views were left, and whether the guide was read.

use std::fs;
use std::path::Path;

use pensa_core::issue::Sort;
use serde::{Deserialize, Serialize};

/// How the views of a project were left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ViewMemory {
    pub(crate) view: Option<String>,
    pub(crate) columns: Option<String>,
    pub(crate) lanes: bool,
    pub(crate) sort: Option<Sort>,
    pub(crate) scope: Option<String>,
    pub(crate) theme: Option<String>,
}

impl ViewMemory {
    /// What a file says. One that cannot be read is as good as none: it is only a convenience.
    pub(crate) fn read(file: Option<&Path>) -> Self {
        let text = file.and_then(|file| fs::read_to_string(file).ok());
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    pub(crate) fn write(&self, file: Option<&Path>) {
        if let (Some(file), Ok(text)) = (file, serde_json::to_string(self)) {
            let temporary = file.with_extension("new");
            let written = fs::write(&temporary, text + "\n").and_then(|()| fs::rename(&temporary, file));
            // A full disk must not keep anybody from leaving.
            drop(written);
        }
    }
}

/// Whether the user has read the guide.
pub(crate) fn has_read_guide(file: Option<&Path>) -> bool {
    file.is_none_or(Path::exists)
}

pub(crate) fn note_guide_read(file: Option<&Path>) {
    if let Some(file) = file {
        let made = file.parent().map_or(Ok(()), fs::create_dir_all);
        drop(made.and_then(|()| fs::write(file, "")));
    }
}
