//! Vectors of texts in `vectors`, many to a row. They are added in transactions of their own, never by a change of a text:
//! a vector whose text has changed is ignored, and removed when the next ones are added.

use std::collections::{BTreeMap, HashSet};

use pensa_core::Result;
use pensa_core::recall::vector::{BLOCK, ByteVector, VectorBlock, VectorKey};

use crate::db::{Tx, params};

/// The texts that have a vector of this model.
pub(crate) fn keys(tx: &Tx<'_>, model: &str) -> Result<HashSet<VectorKey>> {
    let mut all = HashSet::new();
    let sql = "SELECT texts FROM vectors WHERE model = ?1";
    tx.for_each(sql, params![model], |row| {
        all.extend(VectorBlock::keys(&row.bytes(0)?)?);
        Ok(())
    })?;
    Ok(all)
}

/// Adds vectors to the newest block, and to new ones.
pub(crate) fn add(tx: &Tx<'_>, model: &str, vectors: &[(VectorKey, ByteVector)]) -> Result<()> {
    let sql = "SELECT block, texts, data FROM vectors WHERE model = ?1 ORDER BY block DESC LIMIT 1";
    let last = tx.query_one(sql, params![model], |row| {
        Ok((row.int(0)?, VectorBlock { texts: row.bytes(1)?, data: row.bytes(2)? }))
    })?;
    let (mut number, mut block) = last.unwrap_or_default();
    for (key, vector) in vectors {
        if block.len() >= BLOCK {
            write(tx, model, number, &block)?;
            (number, block) = (number + 1, VectorBlock::default());
        }
        block.push(key, vector);
    }
    write(tx, model, number, &block)
}

fn write(tx: &Tx<'_>, model: &str, number: i64, block: &VectorBlock) -> Result<()> {
    tx.send("DELETE FROM vectors WHERE model = ?1 AND block = ?2", params![model, number])?;
    if block.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO vectors (model, block, texts, data) VALUES (?1, ?2, ?3, ?4)";
    tx.send(sql, params![model, number, &block.texts[..], &block.data[..]])
}

/// Removes the vectors of texts that are not among these.
pub(crate) fn keep_only(tx: &Tx<'_>, model: &str, texts: &HashSet<VectorKey>) -> Result<()> {
    let sql = "SELECT block, texts FROM vectors WHERE model = ?1";
    let blocks = tx.query(sql, params![model], |row| Ok((row.int(0)?, VectorBlock::keys(&row.bytes(1)?)?)))?;
    for (number, _) in blocks.iter().filter(|(_, keys)| keys.iter().any(|key| !texts.contains(key))) {
        let sql = "SELECT texts, data FROM vectors WHERE model = ?1 AND block = ?2";
        let kept = tx.query_one(sql, params![model, *number], |row| {
            VectorBlock::retain(&row.bytes(0)?, &row.bytes(1)?, |key| texts.contains(key))
        })?;
        write(tx, model, *number, &kept.unwrap_or_default())?;
    }
    Ok(())
}

/// All texts with their similarity to a query.
pub(crate) fn compare(tx: &Tx<'_>, model: &str, query: &ByteVector) -> Result<Vec<(f32, VectorKey)>> {
    let mut all = Vec::new();
    let sql = "SELECT texts, data FROM vectors WHERE model = ?1 ORDER BY block";
    tx.for_each(sql, params![model], |row| {
        VectorBlock::compare(&row.bytes(0)?, &row.bytes(1)?, query, &mut |key, similarity| all.push((similarity, key)))
    })?;
    Ok(all)
}

/// How many vectors there are of each model.
pub(crate) fn counts(tx: &Tx<'_>) -> Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    tx.for_each("SELECT model, texts FROM vectors", params![], |row| {
        *counts.entry(row.text(0)?).or_default() += VectorBlock::keys(&row.bytes(1)?)?.len();
        Ok(())
    })?;
    Ok(counts)
}

/// Removes all vectors of a model.
pub(crate) fn remove(tx: &Tx<'_>, model: &str) -> Result<()> {
    tx.send("DELETE FROM vectors WHERE model = ?1", params![model])
}

/// Models with a block that cannot be read, or whose vectors differ in length.
pub(crate) fn wrong(tx: &Tx<'_>) -> Result<Vec<String>> {
    let mut sizes: BTreeMap<String, HashSet<Option<usize>>> = BTreeMap::new();
    tx.for_each("SELECT model, texts, data FROM vectors", params![], |row| {
        let (texts, data) = (row.bytes(1)?, row.bytes(2)?);
        let keys = VectorBlock::keys(&texts).ok().filter(|keys| !keys.is_empty());
        let size = keys.filter(|keys| data.len().is_multiple_of(keys.len())).map(|keys| data.len() / keys.len());
        sizes.entry(row.text(0)?).or_default().insert(size);
        Ok(())
    })?;
    let is_wrong = |sizes: &HashSet<Option<usize>>| sizes.len() > 1 || sizes.contains(&None);
    Ok(sizes.into_iter().filter(|(_, sizes)| is_wrong(sizes)).map(|(model, _)| model).collect())
}
