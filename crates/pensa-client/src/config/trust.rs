//! Stores which servers named by repositories the user trusts.
//!
//! A repository can name any server. Using it would send the server the user's requests and token, so the user must
//! agree first.

use std::path::Path;

use pensa_core::{Error, Result};
use serde::Serialize;
use toml_edit::{Array, Document, Item, Table, TableLike};

use crate::toml_file::{FilePolicy, TomlFile};

/// `[servers]`: a list of addresses for each store
const TABLE: &str = "servers";

/// A server that the user trusts for one store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrustedServer {
    /// The store's id
    pub store: String,
    pub url: String,
}

/// The file of trusted servers.
#[derive(Debug)]
pub struct TrustedServers {
    file: TomlFile,
}

impl TrustedServers {
    /// The file in the user's settings directory, which may not exist yet.
    pub fn in_dir(dir: &Path) -> Self {
        Self { file: TomlFile::new(dir.join("trusted.toml"), FilePolicy::Secret) }
    }

    pub fn list(&self) -> Result<Vec<TrustedServer>> {
        let Some(doc) = self.file.read()? else { return Ok(Vec::new()) };
        let Some(table) = self.table(&doc)? else { return Ok(Vec::new()) };
        let of_store = |(store, urls): (&str, &Item)| {
            let urls = urls.as_array().into_iter().flatten().filter_map(|url| url.as_str());
            urls.map(|url| TrustedServer { store: store.to_owned(), url: url.to_owned() }).collect::<Vec<_>>()
        };
        Ok(table.iter().flat_map(of_store).collect())
    }

    pub fn is_trusted(&self, trusted: &TrustedServer) -> Result<bool> {
        Ok(self.list()?.contains(trusted))
    }

    /// Trusts a server from now on.
    pub fn add(&self, trusted: &TrustedServer) -> Result<()> {
        self.change(|table| {
            let urls = table.entry(&trusted.store).or_insert_with(|| Item::Value(Array::new().into()));
            let urls = urls.as_array_mut().ok_or_else(|| self.broken())?;
            if !urls.iter().any(|url| url.as_str() == Some(&trusted.url)) {
                urls.push(trusted.url.as_str());
            }
            Ok(())
        })
    }

    /// Stops trusting a server. Returns whether it was trusted.
    pub fn remove(&self, trusted: &TrustedServer) -> Result<bool> {
        if !self.is_trusted(trusted)? {
            return Ok(false);
        }
        self.change(|table| {
            let urls = table.get_mut(&trusted.store).and_then(Item::as_array_mut).ok_or_else(|| self.broken())?;
            urls.retain(|url| url.as_str() != Some(&trusted.url));
            if urls.is_empty() {
                table.remove(&trusted.store);
            }
            Ok(())
        })?;
        Ok(true)
    }

    fn table<'a>(&self, doc: &'a Document<String>) -> Result<Option<&'a dyn TableLike>> {
        match doc.get(TABLE) {
            Some(item) => item.as_table_like().map(Some).ok_or_else(|| self.broken()),
            None => Ok(None),
        }
    }

    fn change(&self, change: impl FnOnce(&mut dyn TableLike) -> Result<()>) -> Result<()> {
        self.file.change(|doc| {
            let table = doc.entry(TABLE).or_insert_with(|| Item::Table(Table::new()));
            change(table.as_table_like_mut().ok_or_else(|| self.broken())?)
        })
    }

    fn broken(&self) -> Error {
        Error::invalid(format!("{}: {TABLE} is no table of lists", self.file.path().display()))
            .hint("mend the file by hand")
    }
}
