//! Stores of this machine, opened in this process.

use std::path::Path;

use pensa_client::Client;
use pensa_core::{Code, Error, Result};
use pensa_engine::{Engine, StoreDir};

use crate::listing::{self, Listing};
use crate::{Record, TaskStore, actor_source};

impl TaskStore {
    /// Opens the store of a project: the directory that has a `.pensa`, or that directory itself. Makes none.
    pub fn open(project: &Path, actor: &str) -> Result<Self> {
        let inner = project.join(StoreDir::NAME);
        let root = if inner.is_dir() { inner } else { project.to_owned() };
        Self::of_dir(StoreDir::at(&root)?, actor)
    }

    /// Opens the store of a project, and makes one if there is none.
    pub fn create_at(project: &Path, actor: &str) -> Result<Self> {
        Self::of_dir(StoreDir::create(&project.join(StoreDir::NAME))?.0, actor)
    }

    fn of_dir(dir: StoreDir, actor: &str) -> Result<Self> {
        let files = Some(dir.root().join("local/taskstore"));
        Ok(Self { files, ..Self::on(Client::embedded(Engine::open(dir)?, actor_source(actor))) })
    }

    /// What the file of a kind of record holds, and which of its lines cannot be read or are no such record. Only where
    /// the files are.
    pub fn list_tolerant<T: Record>(&self) -> Result<Listing<T>> {
        let Some(dir) = &self.files else {
            return Err(Error::new(Code::Unsupported, "the files of this store are not on this machine"));
        };
        listing::read(&dir.join(format!("{}.jsonl", T::collection_name())))
    }
}
