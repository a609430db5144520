//! Reads what other tools have written into plain structs.
//!
//! Databases, and what is done with what was read, are left to the callers.

pub mod daycare;
mod files;
pub mod loopr;
pub mod prjct;
pub mod taskstore;
