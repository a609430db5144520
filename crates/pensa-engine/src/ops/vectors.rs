//! Embeds texts: finds those without a vector, has a model embed them outside of transactions, and stores what it
//! returned. The model is the caller's; nothing in a store names one.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;

use pensa_core::recall::TextKind;
use pensa_core::recall::vector::{ByteVector, VectorKey, text_of};
use pensa_core::{Access, Error, Result};

use crate::context::{Caller, SYSTEM};
use crate::engine::Engine;
use crate::progress::progress;
use crate::tables::{recall, vectors};

/// Texts embedded and stored at a time. What was stored stays when the process ends.
const BATCH: usize = 64;

/// A model that turns texts into vectors of length 1.
pub trait Embedder: Debug + Send + Sync {
    /// Vectors of equal ids can be compared.
    fn id(&self) -> &str;

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;
}

/// What an update did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VectorReport {
    /// Texts that were embedded
    pub embedded: usize,
    /// Vectors removed because their text has changed or is gone
    pub removed: usize,
}

impl Engine {
    /// Gives every text a vector of this model, at most `limit` of them, and removes those of texts that are gone. Uses
    /// `threads` threads.
    pub fn update_vectors(&self, model: &dyn Embedder, limit: usize, threads: usize) -> Result<VectorReport> {
        let caller = Caller::local(SYSTEM);
        let (mut missing, stale) = self.run(Access::Read, &caller, |_, tx| {
            let mut stale = vectors::keys(tx, model.id())?;
            let (mut missing, mut valid) = (Vec::new(), HashSet::new());
            recall::for_each_text(tx, |document| {
                if let Some(key) = VectorKey::of(document) {
                    if !stale.remove(&key) && !valid.contains(&key) {
                        missing.push((document.kind, document.id.clone()));
                    }
                    valid.insert(key);
                }
                Ok(())
            })?;
            Ok((missing, if stale.is_empty() { None } else { Some((stale.len(), valid)) }))
        })?;
        let mut report = VectorReport::default();
        if let Some((removed, valid)) = stale {
            self.run(Access::Write, &caller, |_, tx| vectors::keep_only(tx, model.id(), &valid))?;
            report.removed = removed;
        }
        missing.truncate(limit);
        progress().begin(missing.len());
        let done = missing.chunks(BATCH * threads.max(1)).try_for_each(|batch| {
            report.embedded += self.embed_batch(&caller, model, batch, threads.max(1))?;
            progress().advance(batch.len());
            Ok(())
        });
        progress().end();
        done.map(|()| report)
    }

    fn embed_batch(
        &self,
        caller: &Caller,
        model: &dyn Embedder,
        batch: &[(TextKind, String)],
        threads: usize,
    ) -> Result<usize> {
        let mut by_kind: BTreeMap<TextKind, Vec<&str>> = BTreeMap::new();
        for (kind, id) in batch {
            by_kind.entry(*kind).or_default().push(id);
        }
        let texts = self.run(Access::Read, caller, |_, tx| {
            let mut texts = Vec::new();
            for (kind, ids) in &by_kind {
                let documents = recall::documents(tx, *kind, ids)?;
                texts.extend(documents.iter().filter_map(|one| Some((VectorKey::of(one)?, text_of(one)))));
            }
            Ok(texts)
        })?;
        let embedded = embed_on_threads(model, &texts, threads)?;
        self.run(Access::Write, caller, |_, tx| {
            // Another process may have embedded the same texts in the meantime.
            let known = vectors::keys(tx, model.id())?;
            let new: Vec<_> = embedded.iter().filter(|(key, _)| !known.contains(key)).cloned().collect();
            vectors::add(tx, model.id(), &new)?;
            Ok(new.len())
        })
    }

    /// How many vectors there are of each model.
    pub fn vector_counts(&self) -> Result<BTreeMap<String, usize>> {
        self.run(Access::Read, &Caller::local(SYSTEM), |_, tx| vectors::counts(tx))
    }

    /// Removes all vectors of a model.
    pub fn remove_vectors(&self, model: &str) -> Result<()> {
        self.run(Access::Write, &Caller::local(SYSTEM), |_, tx| vectors::remove(tx, model))
    }
}

fn embed_on_threads(
    model: &dyn Embedder,
    texts: &[(VectorKey, String)],
    threads: usize,
) -> Result<Vec<(VectorKey, ByteVector)>> {
    let embed = |part: &[(VectorKey, String)]| {
        let only: Vec<&str> = part.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = model.embed(&only)?;
        Ok(part.iter().zip(vectors).map(|((key, _), vector)| (*key, ByteVector::new(&vector))).collect::<Vec<_>>())
    };
    let size = texts.len().div_ceil(threads).max(1);
    let parts: Vec<Result<Vec<_>>> = std::thread::scope(|scope| {
        let running: Vec<_> = texts.chunks(size).map(|part| scope.spawn(move || embed(part))).collect();
        let ended = || Err(Error::internal("embedding panicked"));
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| ended())).collect()
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(parts.into_iter().flatten().collect())
}
