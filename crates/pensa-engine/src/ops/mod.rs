//! How each operation is carried out, by noun.

mod backup;
mod batch;
pub(crate) mod comment;
pub(crate) mod dep;
mod doctor;
mod issue;
pub(crate) mod lease;
pub(crate) mod project;
mod store;
