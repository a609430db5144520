//! How each operation is carried out, by noun.

mod batch;
mod comment;
mod dep;
mod doctor;
mod issue;
pub(crate) mod lease;
mod store;
