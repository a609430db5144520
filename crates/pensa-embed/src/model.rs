//! A model of either kind: loads it from its directory and returns normalised vectors.

use std::path::Path;

use pensa_core::Result;

use crate::bert::Bert;
use crate::files::{ModelFiles, broken, unsupported};
use crate::static_table::StaticTable;
use crate::tensors::TensorFile;

/// More than any published model has.
const MAX_DIMENSION: usize = 4096;

/// A sentence-embedding model. Threads can share it.
#[derive(Debug)]
pub struct Model {
    files: ModelFiles,
    kind: ModelKind,
}

#[derive(Debug)]
enum ModelKind {
    Bert(Box<Bert>),
    Static(Box<StaticTable>),
}

impl Model {
    /// Reads and checks all of a model, and keeps it in memory: for many texts.
    pub fn load(directory: &Path) -> Result<Self> {
        let files = ModelFiles::read(directory)?;
        Self::read(files, true)?.checked()
    }

    /// Loads a model into memory that [`load`](Self::load) has read before. Refuses files that have changed since.
    pub fn reload(files: &ModelFiles) -> Result<Self> {
        files.check_unchanged()?;
        Self::read(files.clone(), true)
    }

    /// Opens a model that [`load`](Self::load) has read before, and reads only what a query needs, when it is needed.
    /// Refuses files that have changed since.
    pub fn open(files: &ModelFiles) -> Result<Self> {
        files.check_unchanged()?;
        Self::read(files.clone(), false)
    }

    fn read(files: ModelFiles, in_memory: bool) -> Result<Self> {
        let (file, directory) = (TensorFile::open(&files.directory)?, &files.directory);
        let kind = if StaticTable::is_in(&file) {
            ModelKind::Static(Box::new(StaticTable::load(directory, file, in_memory)?))
        } else if !Bert::is_in(&file) {
            return Err(unsupported(file.path(), "neither the weights of a BERT nor a table of vectors is in it"));
        } else {
            ModelKind::Bert(Box::new(Bert::load(directory, file, in_memory)?))
        };
        let model = Self { files, kind };
        if !(1..=MAX_DIMENSION).contains(&model.dimension()) {
            let message = format!("vectors of {} numbers are not from 1 to {MAX_DIMENSION} long", model.dimension());
            return Err(unsupported(&model.files.directory, message));
        }
        Ok(model)
    }

    /// Refuses finite weights that lead to infinite numbers.
    fn checked(self) -> Result<Self> {
        self.embed(&["a word"])?;
        Ok(self)
    }

    /// What the model was read from. Equal ids mean equal vectors.
    pub fn files(&self) -> &ModelFiles {
        &self.files
    }

    /// BLAKE3 of its files.
    pub fn id(&self) -> &str {
        &self.files.id
    }

    /// How many numbers a vector has.
    pub fn dimension(&self) -> usize {
        match &self.kind {
            ModelKind::Bert(bert) => bert.width(),
            ModelKind::Static(table) => table.columns(),
        }
    }

    /// A word for people.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            ModelKind::Bert(_) => "bert",
            ModelKind::Static(_) => "static",
        }
    }

    /// One vector of length 1 for each text; zeros for a text without a word that the model knows. Texts are cut at the
    /// model's limit. Uses one thread.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let vectors: Result<Vec<Vec<f32>>> = match &self.kind {
            ModelKind::Bert(bert) => bert.embed(texts),
            ModelKind::Static(table) => texts.iter().map(|text| table.embed(text)).collect(),
        };
        vectors?.into_iter().map(|vector| self.normalised(vector)).collect()
    }

    fn normalised(&self, mut vector: Vec<f32>) -> Result<Vec<f32>> {
        let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        if !length.is_finite() {
            return Err(broken(&self.files.directory, "computes numbers that are not finite"));
        }
        if length > 0.0 {
            vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        }
        Ok(vector)
    }
}
