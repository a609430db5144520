//! Rows in and out of each table, and the derived columns that must change with them.

pub(crate) mod answers;
pub(crate) mod comments;
pub(crate) mod cycle;
pub(crate) mod deps;
pub(crate) mod events;
pub(crate) mod issues;
pub(crate) mod operations;
pub(crate) mod projects;
