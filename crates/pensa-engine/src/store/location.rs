//! Where a store is: in a directory of its own, or in a database with other stores.

use pensa_core::{Code, Error, Result};
use uuid::Uuid;

use super::StoreDir;

/// The location of an open store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    Dir(StoreDir),
    Database {
        project: String,
        id: Uuid,
        /// The directory for its exports, if it has one.
        files: Option<StoreDir>,
    },
}

impl StoreLocation {
    /// The store's directory. Error if it has none.
    pub fn dir(&self) -> Result<&StoreDir> {
        match self {
            StoreLocation::Dir(dir) => Ok(dir),
            StoreLocation::Database { files: Some(dir), .. } => Ok(dir),
            StoreLocation::Database { project, .. } => {
                Err(Error::new(Code::Unsupported, format!("project {project} is kept in a database, not in files"))
                    .hint("exports and imports are made where the repository is, by a pn with a store of its own"))
            }
        }
    }

    /// The directory of a store whose database is in it; `None` for a store in a shared database.
    pub(crate) fn own_dir(&self) -> Option<&StoreDir> {
        match self {
            StoreLocation::Dir(dir) => Some(dir),
            StoreLocation::Database { .. } => None,
        }
    }

    /// The store id, which is the same in all clones of a project.
    pub fn id(&self) -> Result<String> {
        match self {
            StoreLocation::Dir(dir) => dir.id(),
            StoreLocation::Database { id, .. } => Ok(id.to_string()),
        }
    }

    /// The location for messages: a path, or the project's name.
    pub fn display_name(&self) -> String {
        match self {
            StoreLocation::Dir(dir) => dir.root().display().to_string(),
            StoreLocation::Database { project, .. } => format!("project {project}"),
        }
    }

    /// The name of the project on a server.
    pub(crate) fn project_name(&self) -> String {
        match self {
            StoreLocation::Dir(dir) => dir.root().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            StoreLocation::Database { project, .. } => project.clone(),
        }
    }

    /// The project directory, or the project's name.
    pub fn project(&self) -> String {
        match self {
            StoreLocation::Dir(dir) => dir.project_dir().display().to_string(),
            StoreLocation::Database { project, .. } => project.clone(),
        }
    }
}
