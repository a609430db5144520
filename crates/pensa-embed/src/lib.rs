//! Embeds texts: turns each into a vector, such that texts of similar meaning have similar vectors.
//!
//! A model is a directory with the files that its publisher made: a BERT such as all-MiniLM-L6-v2, or a static table of
//! word vectors in the form of model2vec. This crate reads them and computes. It downloads nothing, writes nothing, and
//! never runs what is in a file. Where vectors are kept and compared is for others to decide.
//!
//! ```no_run
//! use pensa_embed::Model;
//!
//! let model = Model::load("/models/all-MiniLM-L6-v2".as_ref())?;
//! let vectors = model.embed(&["the cat sat", "a feline rested"])?;
//! assert_eq!(vectors[0].len(), model.dimension());
//! # Ok::<(), pensa_core::Error>(())
//! ```
//!
//! Start with [`Model`]. `bert` and `static_table` compute, `wordpiece` splits texts, `tensors` reads weights, and
//! `files` bounds and identifies what is read.

mod bert;
mod files;
mod model;
mod static_table;
mod tensors;
mod wordpiece;

pub use self::files::{FileStamp, ModelFiles};
pub use self::model::Model;
