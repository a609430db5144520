//! Opens stores on this machine, with the engine in this process.

use std::path::Path;

use pensa_client::Client;
use pensa_core::{Code, Error, Result};
use pensa_engine::{Engine, StoreDir};

use crate::listing::{self, RecordListing};
use crate::{Record, TaskStore, actor_source};

impl TaskStore {
    /// Opens the store of a project, or a store directory itself; fails if there is none.
    pub fn open(project: &Path, actor: &str) -> Result<Self> {
        let inner = project.join(StoreDir::NAME);
        let root = if inner.is_dir() { inner } else { project.to_owned() };
        Self::of_dir(StoreDir::at(&root)?, actor)
    }

    /// Opens the store of a project, and creates it if necessary.
    pub fn create_at(project: &Path, actor: &str) -> Result<Self> {
        Self::of_dir(StoreDir::create(&project.join(StoreDir::NAME))?.0, actor)
    }

    fn of_dir(dir: StoreDir, actor: &str) -> Result<Self> {
        let files = Some(dir.root().join("local/taskstore"));
        Ok(Self { files, ..Self::on(Client::embedded(Engine::open(dir)?, actor_source(actor))) })
    }

    /// Reads the file of a record type and reports the lines that cannot be read, instead of failing. Only for stores
    /// on this machine.
    pub fn list_tolerant<T: Record>(&self) -> Result<RecordListing<T>> {
        let Some(dir) = &self.files else {
            return Err(Error::new(Code::Unsupported, "the files of this store are not on this machine"));
        };
        listing::read(&dir.join(format!("{}.jsonl", T::collection_name())))
    }
}
