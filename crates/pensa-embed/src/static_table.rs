//! Static models: a vector for each piece of the vocabulary. A text's vector is the mean of its pieces'.

use std::path::Path;

use pensa_core::Result;

use crate::files::unsupported;
use crate::tensors::{TensorFile, VectorRows};
use crate::wordpiece::WordPiece;

/// What model2vec calls the table, and what others do.
const TABLES: [&str; 2] = ["embeddings", "embedding.weight"];
/// As model2vec cuts texts.
const MAX_PIECES: usize = 512;

/// A table of word vectors.
#[derive(Debug)]
pub(crate) struct StaticTable {
    file: TensorFile,
    rows: VectorRows,
    pieces: WordPiece,
    /// How much each piece counts, if that is not in the vectors.
    weights: Option<Vec<f32>>,
    columns: usize,
}

impl StaticTable {
    pub(crate) fn is_in(file: &TensorFile) -> bool {
        TABLES.iter().any(|name| file.has(name))
    }

    pub(crate) fn load(directory: &Path, file: TensorFile, in_memory: bool) -> Result<Self> {
        let name = TABLES.into_iter().find(|name| file.has(name)).unwrap_or(TABLES[0]);
        let [rows, columns] = file.matrix_shape(name)?;
        // One number for many pieces saves space in some tables, which then have fewer rows than pieces.
        if file.has("mapping") {
            return Err(unsupported(file.path(), "tables with a mapping of pieces are not read"));
        }
        let weights = if file.has("weights") { Some(file.read("weights", &[rows])?) } else { None };
        let pieces = WordPiece::load(directory, rows)?;
        let rows = VectorRows::new(&file, name.to_owned(), [rows, columns], in_memory)?;
        Ok(Self { file, rows, pieces, weights, columns })
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn embed(&self, text: &str) -> Result<Vec<f32>> {
        let mut sum = vec![0.0; self.columns];
        let known = |piece: &u32| *piece != self.pieces.unknown();
        for piece in self.pieces.pieces(text, MAX_PIECES).into_iter().filter(known) {
            let factor = self.weights.as_ref().map_or(1.0, |weights| weights[piece as usize]);
            self.rows.add(&self.file, piece, factor, &mut sum)?;
        }
        Ok(sum)
    }
}
