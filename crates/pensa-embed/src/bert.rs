//! Sentence embeddings of a BERT: embeds pieces, lets them attend to one another layer by layer, and pools them.
//!
//! Texts of a batch are rows of one matrix, one after the other, so that nothing is padded; only attention looks at each
//! text alone. Weights stay in memory, or are read for each batch: one query is answered before 40 MB were allocated.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, Slice};
use pensa_core::Result;
use serde::Deserialize;

use crate::files::{CONFIG, LENGTHS, MODULES, POOLING, broken, json, unsupported};
use crate::tensors::{TensorFile, VectorRows};
use crate::wordpiece::WordPiece;

/// Pieces in a batch: its largest matrix has 12 MB with MiniLM.
const BATCH: usize = 2048;

/// The vectors of pieces, which every BERT has, and what may stand before all names.
const WORDS: &str = "embeddings.word_embeddings.weight";
const PREFIXES: [&str; 2] = ["", "bert."];

/// What `config.json` says.
#[derive(Debug, Deserialize)]
struct BertConfig {
    model_type: Option<String>,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "two")]
    type_vocab_size: usize,
    vocab_size: usize,
    #[serde(default = "epsilon")]
    layer_norm_eps: f32,
    hidden_act: Option<String>,
    position_embedding_type: Option<String>,
}

fn two() -> usize {
    2
}

fn epsilon() -> f32 {
    1e-12
}

#[derive(Deserialize)]
struct Module {
    r#type: String,
}

#[derive(Deserialize)]
struct Lengths {
    max_seq_length: Option<usize>,
}

/// How the vectors of pieces become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
struct Pooling {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
}

/// A BERT with its tokenizer.
#[derive(Debug)]
pub(crate) struct Bert {
    config: BertConfig,
    /// Of the names of all tensors.
    prefix: &'static str,
    file: TensorFile,
    pieces: WordPiece,
    marks: (u32, u32),
    max_pieces: usize,
    is_first_piece: bool,
    words: VectorRows,
    /// What is added to each word by its place, with what is added to all of a text.
    positions: Array2<f32>,
    norm: Norm,
    /// Empty if layers are read when they are needed.
    layers: Vec<BertLayer>,
}

/// A matrix, stored by outputs, and what is added.
#[derive(Debug, Clone)]
struct Linear {
    weight: Array2<f32>,
    bias: Array1<f32>,
}

/// Brings each row to mean 0 and variance 1, then scales and shifts it.
#[derive(Debug, Clone)]
struct Norm {
    weight: Array1<f32>,
    bias: Array1<f32>,
    epsilon: f32,
}

#[derive(Debug, Clone)]
struct BertLayer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: Norm,
    wide: Linear,
    narrow: Linear,
    norm: Norm,
}

impl BertConfig {
    fn check(&self, path: &Path) -> Result<()> {
        let only = |what: &str, found: &Option<String>, wanted: &str| match found {
            Some(found) if found != wanted => {
                Err(unsupported(path, format!("{what} {found:?}, only {wanted:?} is read")))
            }
            _ => Ok(()),
        };
        only("model_type", &self.model_type, "bert")?;
        only("hidden_act", &self.hidden_act, "gelu")?;
        only("position_embedding_type", &self.position_embedding_type, "absolute")?;
        let sizes = [
            ("hidden_size", self.hidden_size, 4096),
            ("num_hidden_layers", self.num_hidden_layers, 48),
            ("num_attention_heads", self.num_attention_heads, self.hidden_size),
            ("intermediate_size", self.intermediate_size, 16384),
            ("max_position_embeddings", self.max_position_embeddings, 8192),
            ("type_vocab_size", self.type_vocab_size, 16),
            ("vocab_size", self.vocab_size, 2_000_000),
        ];
        if let Some((name, size, most)) = sizes.into_iter().find(|(_, size, most)| !(1..=*most).contains(size)) {
            return Err(broken(path, format!("has {name} {size}, which is not from 1 to {most}")));
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return Err(broken(path, "has a hidden_size that num_attention_heads does not divide"));
        }
        let is_small = self.layer_norm_eps.is_finite() && (0.0..1.0).contains(&self.layer_norm_eps);
        if is_small { Ok(()) } else { Err(broken(path, "has a layer_norm_eps that is not between 0 and 1")) }
    }
}

impl Bert {
    pub(crate) fn is_in(file: &TensorFile) -> bool {
        PREFIXES.iter().any(|prefix| file.has(&format!("{prefix}{WORDS}")))
    }

    pub(crate) fn load(directory: &Path, file: TensorFile, in_memory: bool) -> Result<Self> {
        let path = directory.join(CONFIG);
        let config: BertConfig = json(directory, CONFIG)?.ok_or_else(|| broken(&path, "is missing"))?;
        config.check(&path)?;
        let is_first_piece = pooling(directory)?;
        check_modules(directory)?;
        let pieces = WordPiece::load(directory, config.vocab_size)?;
        let marks = pieces.marks.ok_or_else(|| broken(&path, "belongs to a tokenizer without [CLS] and [SEP]"))?;
        let lengths: Option<Lengths> = json(directory, LENGTHS)?;
        let max_pieces = lengths.and_then(|lengths| lengths.max_seq_length).unwrap_or(512);
        let max_pieces = max_pieces.clamp(3, config.max_position_embeddings.max(3));
        let has_words = |prefix: &&str| file.has(&format!("{prefix}{WORDS}"));
        let prefix = PREFIXES.into_iter().find(has_words).unwrap_or_default();
        let (width, named) = (config.hidden_size, |name: &str| format!("{prefix}embeddings.{name}"));
        let words = VectorRows::new(&file, format!("{prefix}{WORDS}"), [config.vocab_size, width], in_memory)?;
        let positions = &named("position_embeddings.weight");
        let mut positions = matrix(&file, positions, [config.max_position_embeddings, width])?;
        positions.slice_axis_inplace(Axis(0), Slice::from(..max_pieces.min(config.max_position_embeddings)));
        let types = matrix(&file, &named("token_type_embeddings.weight"), [config.type_vocab_size, width])?;
        positions += &types.row(0);
        let norm = Norm::read(&file, &named("LayerNorm"), &config)?;
        let max_pieces = positions.nrows();
        let mut bert = Self {
            config,
            prefix,
            file,
            pieces,
            marks,
            max_pieces,
            is_first_piece,
            words,
            positions,
            norm,
            layers: Vec::new(),
        };
        if in_memory {
            bert.layers = (0..bert.config.num_hidden_layers).map(|n| bert.read_layer(n)).collect::<Result<_>>()?;
        }
        Ok(bert)
    }

    pub(crate) fn width(&self) -> usize {
        self.config.hidden_size
    }

    /// The pooled vectors of texts, not normalised.
    pub(crate) fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let room = self.max_pieces - 2;
        let (mut vectors, mut batch, mut size) = (Vec::with_capacity(texts.len()), Vec::new(), 0);
        for text in texts {
            let mut pieces = vec![self.marks.0];
            pieces.extend(self.pieces.pieces(text, room));
            pieces.push(self.marks.1);
            if size + pieces.len() > BATCH && !batch.is_empty() {
                vectors.extend(self.embed_batch(&batch)?);
                (batch, size) = (Vec::new(), 0);
            }
            size += pieces.len();
            batch.push(pieces);
        }
        if !batch.is_empty() {
            vectors.extend(self.embed_batch(&batch)?);
        }
        Ok(vectors)
    }

    fn embed_batch(&self, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let mut ranges: Vec<Range<usize>> = Vec::with_capacity(texts.len());
        for text in texts {
            let start = ranges.last().map_or(0, |range| range.end);
            ranges.push(start..start + text.len());
        }
        let mut states = self.embed_pieces(texts)?;
        for n in 0..self.config.num_hidden_layers {
            let layer = match self.layers.get(n) {
                Some(layer) => Cow::Borrowed(layer),
                None => Cow::Owned(self.read_layer(n)?),
            };
            layer.apply(&mut states, &ranges, self.config.num_attention_heads);
        }
        Ok(ranges.into_iter().map(|range| self.pool(states.slice_axis(Axis(0), Slice::from(range)))).collect())
    }

    fn embed_pieces(&self, texts: &[Vec<u32>]) -> Result<Array2<f32>> {
        let mut states = Array2::zeros((texts.iter().map(Vec::len).sum(), self.width()));
        let placed = texts.iter().flat_map(|text| text.iter().zip(self.positions.rows()));
        for (mut row, (piece, position)) in states.rows_mut().into_iter().zip(placed) {
            row.assign(&position);
            let row = row.into_slice().unwrap_or_default();
            self.words.add(&self.file, *piece, 1.0, row)?;
        }
        self.norm.apply(&mut states);
        Ok(states)
    }

    fn pool(&self, text: ArrayView2<'_, f32>) -> Vec<f32> {
        if self.is_first_piece {
            return text.row(0).to_vec();
        }
        text.sum_axis(Axis(0)).to_vec()
    }

    fn read_layer(&self, n: usize) -> Result<BertLayer> {
        let config = &self.config;
        let (width, wide) = (config.hidden_size, config.intermediate_size);
        let named = |name: &str| format!("{}encoder.layer.{n}.{name}", self.prefix);
        let linear = |name: &str, shape| Linear::read(&self.file, &named(name), shape);
        let norm = |name: &str| Norm::read(&self.file, &named(name), config);
        Ok(BertLayer {
            query: linear("attention.self.query", [width, width])?,
            key: linear("attention.self.key", [width, width])?,
            value: linear("attention.self.value", [width, width])?,
            attended: linear("attention.output.dense", [width, width])?,
            attended_norm: norm("attention.output.LayerNorm")?,
            wide: linear("intermediate.dense", [wide, width])?,
            narrow: linear("output.dense", [width, wide])?,
            norm: norm("output.LayerNorm")?,
        })
    }
}

/// Whether a text's vector is that of its first piece. Otherwise it is the mean.
fn pooling(directory: &Path) -> Result<bool> {
    let pooling: Pooling = json(directory, POOLING)?.unwrap_or_default();
    if pooling.pooling_mode_max_tokens || pooling.pooling_mode_mean_sqrt_len_tokens {
        return Err(unsupported(&directory.join(POOLING), "only the mean and the first piece are read"));
    }
    Ok(pooling.pooling_mode_cls_token)
}

/// Refuses models that compute more after pooling.
fn check_modules(directory: &Path) -> Result<()> {
    let modules: Vec<Module> = json(directory, MODULES)?.unwrap_or_default();
    let known = ["Transformer", "Pooling", "Normalize"];
    let other = modules.iter().find(|module| !known.iter().any(|known| module.r#type.ends_with(known)));
    match other {
        Some(module) => {
            Err(unsupported(&directory.join(MODULES), format!("the module {:?} is not read", module.r#type)))
        }
        None => Ok(()),
    }
}

fn matrix(file: &TensorFile, name: &str, [rows, columns]: [usize; 2]) -> Result<Array2<f32>> {
    let numbers = file.read(name, &[rows, columns])?;
    Array2::from_shape_vec((rows, columns), numbers).map_err(|e| broken(file.path(), format!("{name}: {e}")))
}

impl Linear {
    fn read(file: &TensorFile, name: &str, [outputs, inputs]: [usize; 2]) -> Result<Self> {
        let weight = matrix(file, &format!("{name}.weight"), [outputs, inputs])?;
        let bias = file.read(&format!("{name}.bias"), &[outputs])?.into();
        Ok(Self { weight, bias })
    }

    fn apply(&self, states: &Array2<f32>) -> Array2<f32> {
        let mut result = states.dot(&self.weight.t());
        result += &self.bias;
        result
    }
}

impl Norm {
    fn read(file: &TensorFile, name: &str, config: &BertConfig) -> Result<Self> {
        let read = |part: &str| file.read(&format!("{name}.{part}"), &[config.hidden_size]).map(Array1::from);
        Ok(Self { weight: read("weight")?, bias: read("bias")?, epsilon: config.layer_norm_eps })
    }

    fn apply(&self, states: &mut Array2<f32>) {
        for mut row in states.rows_mut() {
            let mean = row.mean().unwrap_or_default();
            row -= mean;
            let variance = row.dot(&row) / row.len() as f32;
            row /= (variance + self.epsilon).sqrt();
            row *= &self.weight;
            row += &self.bias;
        }
    }
}

impl BertLayer {
    fn apply(&self, states: &mut Array2<f32>, texts: &[Range<usize>], heads: usize) {
        let (queries, keys) = (self.query.apply(states), self.key.apply(states));
        let values = self.value.apply(states);
        let mut mixed = Array2::zeros(states.raw_dim());
        let head = states.ncols() / heads;
        for text in texts {
            for start in (0..states.ncols()).step_by(head) {
                let [rows, columns] = [Slice::from(text.clone()), Slice::from(start..start + head)];
                let [queries, keys, values] = [&queries, &keys, &values].map(|all| {
                    let mut part = all.view();
                    part.slice_axis_inplace(Axis(0), rows);
                    part.slice_axis_inplace(Axis(1), columns);
                    part
                });
                let mut mixed = mixed.slice_axis_mut(Axis(0), rows);
                attend(queries, keys, values, mixed.slice_axis_mut(Axis(1), columns));
            }
        }
        *states += &self.attended.apply(&mixed);
        self.attended_norm.apply(states);
        let mut wide = self.wide.apply(states);
        wide.mapv_inplace(gelu);
        *states += &self.narrow.apply(&wide);
        self.norm.apply(states);
    }
}

/// Each piece becomes a mean of all values, weighted by how well its query matches their keys.
fn attend(
    queries: ArrayView2<'_, f32>,
    keys: ArrayView2<'_, f32>,
    values: ArrayView2<'_, f32>,
    mut mixed: ArrayViewMut2<'_, f32>,
) {
    let mut scores = queries.dot(&keys.t());
    scores /= (queries.ncols() as f32).sqrt();
    for mut row in scores.rows_mut() {
        let most = row.fold(f32::NEG_INFINITY, |most, score| most.max(*score));
        row.mapv_inplace(|score| (score - most).exp());
        let sum = row.sum();
        row /= sum;
    }
    mixed.assign(&scores.dot(&values));
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function, as in Abramowitz and Stegun 7.1.26: wrong by at most 1.5e-7.
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let sum = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_8) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    (1.0 - sum * (-x * x).exp()).copysign(x)
}
