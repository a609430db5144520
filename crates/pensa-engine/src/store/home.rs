//! Where a store is kept: in a directory of its own, or in a database with many others.

use pensa_core::{Code, Error, Result};
use uuid::Uuid;

use super::StoreDir;

/// Where a store is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    Dir(StoreDir),
    Database {
        project: String,
        id: Uuid,
        /// Where its files are, if it has any.
        files: Option<StoreDir>,
    },
}

impl Home {
    /// The directory, for what needs files beside the store.
    pub fn dir(&self) -> Result<&StoreDir> {
        match self {
            Home::Dir(dir) => Ok(dir),
            Home::Database { files: Some(dir), .. } => Ok(dir),
            Home::Database { project, .. } => {
                Err(Error::new(Code::Unsupported, format!("project {project} is kept in a database, not in files"))
                    .hint("exports and imports are made where the repository is, by a pn with a store of its own"))
            }
        }
    }

    /// The directory of a store that is kept in one.
    pub(crate) fn own_dir(&self) -> Option<&StoreDir> {
        match self {
            Home::Dir(dir) => Some(dir),
            Home::Database { .. } => None,
        }
    }

    /// The id by which clones of a project know that they mean the same store.
    pub fn id(&self) -> Result<String> {
        match self {
            Home::Dir(dir) => dir.id(),
            Home::Database { id, .. } => Ok(id.to_string()),
        }
    }

    /// The place as people know it.
    pub fn place(&self) -> String {
        match self {
            Home::Dir(dir) => dir.root().display().to_string(),
            Home::Database { project, .. } => format!("project {project}"),
        }
    }

    /// The name of the project on a server.
    pub(crate) fn name(&self) -> String {
        match self {
            Home::Dir(dir) => dir.root().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Home::Database { project, .. } => project.clone(),
        }
    }

    /// What the store belongs to.
    pub fn project(&self) -> String {
        match self {
            Home::Dir(dir) => dir.project_dir().display().to_string(),
            Home::Database { project, .. } => project.clone(),
        }
    }
}
