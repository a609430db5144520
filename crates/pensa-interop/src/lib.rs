//! Reads what other tools have written into plain structs.
//!
//! Databases, and what is done with what was read, are left to the callers.

pub mod daycare;
pub mod taskstore;
