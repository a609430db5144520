//! Reads tensors from a safetensors file, whole or row by row, and refuses what does not fit its header.
//!
//! The `safetensors` crate wants the whole file as one slice. That is a memory map, which needs unsafe code, or reading
//! 90 MB to embed one query; so the header is read here, and the rest by position.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pensa_core::error::io;
use pensa_core::{Error, Result};
use serde::{Deserialize, Deserializer};

use crate::files::{WEIGHTS, broken, unsupported};

/// A header has a line for each tensor: 15 kB for MiniLM.
const MAX_HEADER: u64 = 4 << 20;
/// Read and converted at a time, so that it stays in the processor's cache.
const CHUNK: usize = 64 << 10;

/// An open safetensors file.
#[derive(Debug)]
pub(crate) struct TensorFile {
    path: PathBuf,
    file: File,
    /// Where the data begins.
    start: u64,
    tensors: BTreeMap<String, TensorInfo>,
}

/// A line of the header.
#[derive(Debug, Deserialize)]
struct TensorInfo {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// The header: a JSON object of tensors, and free text under `__metadata__`.
struct Header(BTreeMap<String, TensorInfo>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut all = BTreeMap::<String, serde_json::Value>::deserialize(from)?;
        all.remove("__metadata__");
        let tensors = all.into_iter().map(|(name, info)| Ok((name, TensorInfo::deserialize(info)?)));
        tensors.collect::<Result<_, serde_json::Error>>().map(Self).map_err(serde::de::Error::custom)
    }
}

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberForm {
    F32,
    F16,
    Bf16,
}

impl NumberForm {
    fn bytes(self) -> usize {
        if self == Self::F32 { 4 } else { 2 }
    }

    /// Appends `bytes` as numbers.
    fn decode(self, bytes: &[u8], to: &mut Vec<f32>) {
        let two = |pair: &[u8; 2]| u32::from(u16::from_le_bytes(*pair));
        match self {
            Self::F32 => to.extend(bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four))),
            Self::Bf16 => to.extend(bytes.as_chunks().0.iter().map(|pair| f32::from_bits(two(pair) << 16))),
            Self::F16 => to.extend(bytes.as_chunks().0.iter().map(|pair| half(two(pair)))),
        }
    }
}

/// A number of 16 bits (1 sign, 5 exponent, 10 fraction).
fn half(bits: u32) -> f32 {
    // The exponents of both forms differ by 112. Multiplying is right for subnormal numbers too.
    let shift = f32::from_bits(239 << 23);
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * shift;
    let magnitude = if bits & 0x7c00 == 0x7c00 { f32::NAN } else { magnitude };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

impl TensorFile {
    /// Opens a file and checks that all its tensors lie within it.
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(WEIGHTS);
        let file = File::open(&path).map_err(|e| io("open", &path, &e))?;
        let length = file.metadata().map_err(|e| io("read", &path, &e))?.len();
        let mut size = [0; 8];
        let truncated = || broken(&path, format!("is truncated at {length} bytes"));
        file.read_exact_at(&mut size, 0).map_err(|_| truncated())?;
        let size = u64::from_le_bytes(size);
        if size > MAX_HEADER {
            return Err(broken(&path, format!("is no safetensors file: its header claims {size} bytes")));
        }
        let mut header = vec![0; usize::try_from(size).unwrap_or_default()];
        file.read_exact_at(&mut header, 8).map_err(|_| truncated())?;
        let header = serde_json::from_slice::<Header>(&header);
        let Header(tensors) =
            header.map_err(|e| broken(&path, format!("has a header that is not as expected: {e}")))?;
        let start = size + 8;
        let end = tensors.values().map(|info| info.data_offsets.1).max().unwrap_or_default();
        if start.checked_add(end).is_none_or(|end| end > length) {
            return Err(truncated());
        }
        Ok(Self { path, file, start, tensors })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The shape of a matrix: rows and columns.
    pub(crate) fn matrix_shape(&self, name: &str) -> Result<[usize; 2]> {
        let shape = &self.info(name)?.shape;
        let as_usize = |n: &u64| usize::try_from(*n).ok();
        let sizes: Option<Vec<usize>> = shape.iter().map(as_usize).collect();
        sizes.and_then(|sizes| sizes.try_into().ok()).ok_or_else(|| self.wrong_shape(name, shape, "a matrix"))
    }

    /// A tensor that must have this shape. Refuses infinite numbers and NaN.
    pub(crate) fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (form, bytes) = self.place(name, shape)?;
        self.numbers(name, form, bytes)
    }

    /// One row of a matrix that must have this shape.
    pub(crate) fn read_row(&self, name: &str, [rows, columns]: [usize; 2], row: usize) -> Result<Vec<f32>> {
        let (form, bytes) = self.place(name, &[rows, columns])?;
        if row >= rows {
            return Err(broken(&self.path, format!("has no row {row} in {name}, which the tokenizer names")));
        }
        let size = (columns * form.bytes()) as u64;
        let start = bytes.start + size * row as u64;
        self.numbers(name, form, start..start + size)
    }

    /// Where a tensor lies in the file, if its shape, number form and place agree.
    fn place(&self, name: &str, shape: &[usize]) -> Result<(NumberForm, Range<u64>)> {
        let info = self.info(name)?;
        let wanted = shape.iter().map(|n| *n as u64);
        if !info.shape.iter().copied().eq(wanted.clone()) {
            return Err(self.wrong_shape(name, &info.shape, format!("{shape:?}")));
        }
        let form = match info.dtype.as_str() {
            "F32" => NumberForm::F32,
            "F16" => NumberForm::F16,
            "BF16" => NumberForm::Bf16,
            other => return Err(unsupported(&self.path, format!("{name} has numbers of type {other:?}"))),
        };
        let size = wanted.chain([form.bytes() as u64]).try_fold(1_u64, u64::checked_mul);
        let (from, to) = info.data_offsets;
        if to.checked_sub(from) != size || size.is_none() {
            return Err(broken(&self.path, format!("has a header that contradicts itself about {name}")));
        }
        Ok((form, self.start + from..self.start + to))
    }

    fn numbers(&self, name: &str, form: NumberForm, bytes: Range<u64>) -> Result<Vec<f32>> {
        let length = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
        let mut numbers = Vec::with_capacity(length / form.bytes());
        let mut chunk = vec![0; CHUNK.min(length)];
        for at in bytes.clone().step_by(CHUNK) {
            let chunk = &mut chunk[..usize::try_from(bytes.end - at).map_or(CHUNK, |left| left.min(CHUNK))];
            self.file.read_exact_at(chunk, at).map_err(|e| io("read", &self.path, &e))?;
            form.decode(chunk, &mut numbers);
        }
        // One pass without a branch: a comparison per number would double the time of loading.
        let is_finite = numbers.iter().fold(true, |all, number| all & number.is_finite());
        if is_finite {
            Ok(numbers)
        } else {
            Err(broken(&self.path, format!("has numbers in {name} that are not finite")))
        }
    }

    fn info(&self, name: &str) -> Result<&TensorInfo> {
        self.tensors.get(name).ok_or_else(|| unsupported(&self.path, format!("no tensor is called {name}")))
    }

    fn wrong_shape(&self, name: &str, shape: &[u64], wanted: impl std::fmt::Display) -> Error {
        broken(&self.path, format!("has {name} with the shape {shape:?}, where config.json wants {wanted}"))
    }
}

/// The rows of a matrix, in memory or left in the file.
#[derive(Debug)]
pub(crate) struct VectorRows {
    name: String,
    shape: [usize; 2],
    numbers: Option<Vec<f32>>,
}

impl VectorRows {
    pub(crate) fn new(file: &TensorFile, name: String, shape: [usize; 2], in_memory: bool) -> Result<Self> {
        let numbers = if in_memory { Some(file.read(&name, &shape)?) } else { None };
        Ok(Self { name, shape, numbers })
    }

    /// Adds a row, times `factor`, to `sum`.
    pub(crate) fn add(&self, file: &TensorFile, row: u32, factor: f32, sum: &mut [f32]) -> Result<()> {
        let row = row as usize;
        let kept = self.numbers.as_ref().and_then(|numbers| numbers.chunks_exact(self.shape[1]).nth(row));
        let read;
        let values = if let Some(kept) = kept {
            kept
        } else {
            read = file.read_row(&self.name, self.shape, row)?;
            &read
        };
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += factor * value;
        }
        Ok(())
    }
}
