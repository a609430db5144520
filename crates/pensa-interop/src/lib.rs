//! Reads the files and databases of other tools, for imports. Never writes to them, and never to a store.
//!
//! ```
//! let dir = tempfile::tempdir()?;
//! std::fs::write(dir.path().join("notes.jsonl"), "{\"id\":\"n1\",\"text\":\"hello\"}\n")?;
//! let (collection, file) = pensa_interop::taskstore::collections(dir.path())?.remove(0);
//! assert_eq!(collection, "notes");
//! assert_eq!(pensa_interop::taskstore::list(&file)?.records[0].1.id, "n1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One module for each tool: [`daycare`] (agents), [`loopr`] (loops), [`prjct`] (tasks and more), [`taskstore`] (records),
//! [`tracker`] (issues of other trackers) and [`transcript`] (conversations). All treat their input as untrusted: links
//! are not followed, sizes are limited, problems are reported.

mod database;
pub mod daycare;
mod files;
pub mod loopr;
pub mod prjct;
pub mod taskstore;
pub mod tracker;
pub mod transcript;
