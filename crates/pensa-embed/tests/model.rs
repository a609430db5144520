//! Models of both kinds against values computed in another way, and files that are broken or hostile.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pensa_core::{Code, Error};
use pensa_embed::Model;
use pensa_testkit::models::{self, Tensor, write_safetensors, write_static_table, write_tensors, write_tokenizer};
use proptest::prelude::*;
use serde_json::json;
use tempfile::{TempDir, tempdir};

const WIDTH: usize = 8;
const WIDE: usize = 12;
const HEADS: usize = 2;
const LAYERS: usize = 2;
const PIECES: [&str; 6] = ["the", "cat", "sat", "##s", "on", "mat"];

/// Numbers that look random and are always the same.
fn numbers(name: &str, count: usize) -> Vec<f32> {
    let mut state = name.bytes().fold(17_u64, |state, byte| state.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn shapes() -> Vec<(String, Vec<usize>)> {
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![PIECES.len() + 4, WIDTH]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![16, WIDTH]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, WIDTH]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![WIDTH]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![WIDTH]),
    ];
    for n in 0..LAYERS {
        let mut part = |name: &str, shape: &[usize]| {
            shapes.push((format!("encoder.layer.{n}.{name}.weight"), shape.to_vec()));
            shapes.push((format!("encoder.layer.{n}.{name}.bias"), vec![shape[0]]));
        };
        for name in ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"] {
            part(name, &[WIDTH, WIDTH]);
        }
        part("attention.output.LayerNorm", &[WIDTH]);
        part("intermediate.dense", &[WIDE, WIDTH]);
        part("output.dense", &[WIDTH, WIDE]);
        part("output.LayerNorm", &[WIDTH]);
    }
    shapes
}

fn tensors() -> Vec<Tensor> {
    let tensor = |(name, shape): (String, Vec<usize>)| {
        let values = numbers(&name, shape.iter().product());
        Tensor { name, shape, values }
    };
    shapes().into_iter().map(tensor).collect()
}

fn config() -> serde_json::Value {
    json!({
        "model_type": "bert", "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "intermediate_size": WIDE, "max_position_embeddings": 16, "type_vocab_size": 2,
        "vocab_size": PIECES.len() + 4, "layer_norm_eps": 1e-12, "hidden_act": "gelu",
    })
}

fn tiny_bert() -> TempDir {
    let dir = tempdir().expect("a directory");
    write_tensors(dir.path(), &tensors());
    write_tokenizer(dir.path(), &PIECES);
    write(dir.path(), "config.json", &config().to_string());
    dir
}

fn tiny_table() -> TempDir {
    let dir = tempdir().expect("a directory");
    write_static_table(dir.path(), &[("cat", &[3.0, 0.0]), ("dog", &[0.0, 4.0]), ("##s", &[0.0, 0.0])]);
    dir
}

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("a file");
}

fn refused(dir: &Path) -> Error {
    let error = Model::load(dir).expect_err("the model is broken");
    assert!(error.hint.is_some(), "{error}");
    error
}

/// A BERT written down as its definition says: one number after the other, in double precision.
struct Reference {
    tensors: Vec<Tensor>,
}

type Matrix = Vec<Vec<f64>>;

impl Reference {
    fn rows(&self, name: &str) -> Matrix {
        let tensor = self.tensors.iter().find(|tensor| tensor.name == name).expect(name);
        let columns = *tensor.shape.last().expect("a shape");
        tensor.values.chunks(columns).map(|row| row.iter().map(|v| f64::from(*v)).collect()).collect()
    }

    fn norm(&self, rows: &Matrix, name: &str) -> Matrix {
        let (scale, shift) = (&self.rows(&format!("{name}.weight"))[0], &self.rows(&format!("{name}.bias"))[0]);
        let norm = |row: &Vec<f64>| {
            let mean = row.iter().sum::<f64>() / WIDTH as f64;
            let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / WIDTH as f64;
            (0..WIDTH).map(|i| (row[i] - mean) / (variance + 1e-12).sqrt() * scale[i] + shift[i]).collect()
        };
        rows.iter().map(norm).collect()
    }

    fn linear(&self, rows: &Matrix, name: &str) -> Matrix {
        let (weight, bias) = (self.rows(&format!("{name}.weight")), &self.rows(&format!("{name}.bias"))[0]);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        rows.iter().map(|row| weight.iter().zip(bias).map(|(w, b)| dot(row, w) + b).collect()).collect()
    }

    fn attention(&self, states: &Matrix, layer: &str) -> Matrix {
        let [q, k, v] = ["query", "key", "value"].map(|n| self.linear(states, &format!("{layer}.attention.self.{n}")));
        let (size, mut mixed) = (WIDTH / HEADS, vec![vec![0.0; WIDTH]; states.len()]);
        for (at, head) in (0..states.len()).flat_map(|at| (0..HEADS).map(move |head| (at, head))) {
            let part = head * size..(head + 1) * size;
            let score = |other: usize| part.clone().map(|i| q[at][i] * k[other][i]).sum::<f64>() / (size as f64).sqrt();
            let weights: Vec<f64> = (0..states.len()).map(|other| score(other).exp()).collect();
            let total: f64 = weights.iter().sum();
            for i in part.clone() {
                mixed[at][i] = weights.iter().zip(&v).map(|(weight, value)| weight / total * value[i]).sum();
            }
        }
        mixed
    }

    /// The state of each piece after the last layer.
    fn states(&self, pieces: &[usize]) -> Matrix {
        let sum = |a: &Matrix, b: &Matrix| -> Matrix {
            a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
        };
        let [words, places, kinds] =
            ["word", "position", "token_type"].map(|name| self.rows(&format!("embeddings.{name}_embeddings.weight")));
        let embedded =
            |(at, piece): (usize, &usize)| (0..WIDTH).map(|i| words[*piece][i] + places[at][i] + kinds[0][i]).collect();
        let mut states = self.norm(&pieces.iter().enumerate().map(embedded).collect(), "embeddings.LayerNorm");
        for n in 0..LAYERS {
            let layer = format!("encoder.layer.{n}");
            let attended = self.linear(&self.attention(&states, &layer), &format!("{layer}.attention.output.dense"));
            states = self.norm(&sum(&states, &attended), &format!("{layer}.attention.output.LayerNorm"));
            let mut wide = self.linear(&states, &format!("{layer}.intermediate.dense"));
            wide.iter_mut().flatten().for_each(|x| *x *= normal_distribution(*x));
            let narrow = self.linear(&wide, &format!("{layer}.output.dense"));
            states = self.norm(&sum(&states, &narrow), &format!("{layer}.output.LayerNorm"));
        }
        states
    }
}

/// The probability that a normally distributed number is below `x`: GELU's factor. Summed up in small steps.
fn normal_distribution(x: f64) -> f64 {
    const STEPS: u32 = 2000;
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let step = x / f64::from(STEPS);
    0.5 + (0..STEPS).map(|n| density((f64::from(n) + 0.5) * step) * step).sum::<f64>()
}

fn normalised(vector: &[f64]) -> Vec<f64> {
    let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    vector.iter().map(|v| v / length).collect()
}

fn mean(states: &Matrix) -> Vec<f64> {
    let sums: Vec<f64> = (0..WIDTH).map(|i| states.iter().map(|row| row[i]).sum()).collect();
    normalised(&sums)
}

#[track_caller]
fn assert_near(found: &[f32], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    let furthest = found.iter().zip(wanted).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
    assert!(furthest < 3e-6, "differs by {furthest}: {found:?} {wanted:?}");
}

#[test]
fn a_bert_computes_what_its_definition_says_in_memory_and_from_the_file() {
    let dir = tiny_bert();
    let reference = Reference { tensors: tensors() };
    let model = Model::load(dir.path()).expect("a model");
    let opened = Model::open(model.files()).expect("the same model");
    // [CLS] the cat ##s sat [SEP], and an unknown word
    let texts = ["The cats, sat".trim_matches(','), "zebra", ""];
    let pieces: [&[usize]; 3] = [&[2, 4, 5, 7, 1, 6, 3], &[2, 1, 3], &[2, 3]];
    for model in [&model, &opened] {
        for (vector, pieces) in model.embed(&texts).expect("vectors").iter().zip(pieces) {
            assert_near(vector, &mean(&reference.states(pieces)));
        }
    }
    assert_eq!((model.dimension(), model.id()), (WIDTH, opened.id()));
}

#[test]
fn a_text_has_the_same_vector_alone_and_in_a_batch_and_is_cut_at_the_models_limit() {
    let dir = tiny_bert();
    write(dir.path(), "sentence_bert_config.json", r#"{"max_seq_length": 5, "do_lower_case": false}"#);
    let model = Model::load(dir.path()).expect("a model");
    let long = "the cat sat on the mat ".repeat(500);
    let texts: Vec<&str> = ["the cat", &long, "mat"].into_iter().cycle().take(1500).collect();
    let all = model.embed(&texts).expect("vectors");
    for (text, vector) in texts.iter().zip(&all).take(3) {
        assert_near(
            &model.embed(&[text]).expect("a vector")[0],
            &vector.iter().map(|v| f64::from(*v)).collect::<Vec<_>>(),
        );
    }
    assert_eq!(all[1], model.embed(&["the cat sat"]).expect("a vector")[0]);
    assert_eq!(all.len(), 1500);
}

#[test]
fn pooling_by_the_first_piece_is_honoured_and_other_pooling_refused() {
    let dir = tiny_bert();
    let first = r#"{"word_embedding_dimension": 8, "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#;
    write(dir.path(), "1_Pooling/config.json", first);
    let vector = &Model::load(dir.path()).expect("a model").embed(&["the cat"]).expect("a vector")[0];
    assert_near(vector, &normalised(&Reference { tensors: tensors() }.states(&[2, 4, 5, 3])[0]));
    write(dir.path(), "1_Pooling/config.json", r#"{"pooling_mode_max_tokens": true}"#);
    assert_eq!(refused(dir.path()).code, Code::Unsupported);
}

#[test]
fn a_static_table_gives_the_mean_of_known_words() {
    let dir = tiny_table();
    let model = Model::load(dir.path()).expect("a model");
    for model in [&model, &Model::open(model.files()).expect("the same")] {
        let vectors = model.embed(&["cat dog zebra", "CAT", "zebra", ""]).expect("vectors");
        assert_near(&vectors[0], &[0.6, 0.8]);
        assert_near(&vectors[1], &[1.0, 0.0]);
        assert_eq!([&vectors[2], &vectors[3]], [&vec![0.0, 0.0]; 2], "nothing known");
    }
}

#[test]
fn numbers_of_16_bits_are_read() {
    let dir = tiny_table();
    // 1.5 and -2 in both forms; the smallest subnormal half
    let forms: [(&str, [u16; 3]); 2] = [("F16", [0x3e00, 0xc000, 0x0001]), ("BF16", [0x3fc0, 0xc000, 0x3380])];
    for (form, [a, b, tiny]) in forms {
        let rows: Vec<u8> =
            [[0, 0]; 4].iter().chain(&[[a, b], [tiny, 0], [0, 0]]).flatten().flat_map(|v| v.to_le_bytes()).collect();
        let header = json!({"embeddings": {"dtype": form, "shape": [7, 2], "data_offsets": [0, rows.len()]}});
        write_safetensors(dir.path(), &header, &rows);
        let vectors = Model::load(dir.path()).expect(form).embed(&["cat", "dog"]).expect("vectors");
        assert_near(&vectors[0], &[0.6, -0.8]);
        assert_near(&vectors[1], &[1.0, 0.0]);
    }
}

#[test]
fn the_id_depends_on_every_file_and_on_nothing_else() {
    let (dir, same) = (tiny_bert(), tiny_bert());
    let id = |dir: &Path| Model::load(dir).expect("a model").id().to_owned();
    let first = id(dir.path());
    assert_eq!((first.len(), &first), (32, &id(same.path())));
    write(dir.path(), "README.md", "not part of it");
    assert_eq!(first, id(dir.path()));
    write(dir.path(), "sentence_bert_config.json", r#"{"max_seq_length": 5}"#);
    assert_ne!(first, id(dir.path()));
}

#[test]
fn a_model_whose_files_changed_is_not_opened() {
    let dir = tiny_table();
    let files = Model::load(dir.path()).expect("a model").files().clone();
    write(dir.path(), "1_Pooling/config.json", "{}");
    for opened in [Model::open(&files), Model::reload(&files)] {
        let error = opened.expect_err("another file");
        assert_eq!(error.code, Code::Conflict);
        assert!(error.message.contains("1_Pooling/config.json"), "{error}");
    }
    fs::remove_dir_all(dir.path().join("1_Pooling")).expect("removed");
    Model::open(&files).expect("as before");
    fs::remove_file(dir.path().join("config.json")).expect("removed");
    assert_eq!(Model::open(&files).expect_err("a file less").code, Code::Conflict);
}

#[test]
fn each_broken_file_is_named_with_what_to_do() {
    let long = "[".repeat(100_000);
    let cases: [(&str, &str, Code); 12] = [
        ("config.json", "{", Code::Corrupt),
        ("config.json", &long, Code::Corrupt),
        ("config.json", r#"{"hidden_size": 8}"#, Code::Corrupt),
        ("tokenizer.json", "[]", Code::Corrupt),
        ("tokenizer.json", &long, Code::Corrupt),
        ("tokenizer.json", r#"{"model": {"type": "Unigram", "vocab": [["a", -1.5]]}}"#, Code::Unsupported),
        ("tokenizer.json", r#"{"model": {"type": "BPE", "vocab": {"a": 1}}}"#, Code::Unsupported),
        ("model.safetensors", "", Code::Corrupt),
        ("model.safetensors", "not a model at all, but a text", Code::Corrupt),
        ("1_Pooling/config.json", "no", Code::Corrupt),
        ("sentence_bert_config.json", r#"{"max_seq_length": -3}"#, Code::Corrupt),
        ("modules.json", r#"[{"type": "sentence_transformers.models.Dense"}]"#, Code::Unsupported),
    ];
    for (name, text, code) in cases {
        let dir = tiny_bert();
        write(dir.path(), name, text);
        let error = refused(dir.path());
        assert_eq!(error.code, code, "{name}: {error}");
        assert!(error.message.contains(name), "{name}: {error}");
    }
    for name in ["model.safetensors", "tokenizer.json", "config.json"] {
        let dir = tiny_bert();
        fs::remove_file(dir.path().join(name)).expect("removed");
        let error = refused(dir.path());
        assert!(error.message.contains(name) && error.message.contains("missing"), "{error}");
        symlink("/dev/zero", dir.path().join(name)).expect("a link");
        assert!(refused(dir.path()).message.contains("not a regular file"));
    }
    assert!(Model::load(Path::new("/nowhere/at/all")).is_err());
}

#[test]
fn a_configuration_that_contradicts_the_weights_is_refused() {
    let cases = [
        ("hidden_size", json!(16)),
        ("hidden_size", json!(0)),
        ("num_hidden_layers", json!(3)),
        ("num_hidden_layers", json!(1_000_000_000)),
        ("num_attention_heads", json!(0)),
        ("num_attention_heads", json!(3)),
        ("intermediate_size", json!(u64::MAX)),
        ("max_position_embeddings", json!(4)),
        ("vocab_size", json!(2)),
        ("vocab_size", json!(1_000_000)),
        ("layer_norm_eps", json!(-1.0)),
        ("hidden_act", json!("silu")),
        ("model_type", json!("llama")),
        ("position_embedding_type", json!("relative_key")),
    ];
    for (key, value) in cases {
        let dir = tiny_bert();
        let mut config = config();
        config[key] = value.clone();
        write(dir.path(), "config.json", &config.to_string());
        let error = refused(dir.path());
        assert!(matches!(error.code, Code::Corrupt | Code::Unsupported), "{key} {value}: {error}");
    }
}

#[test]
fn tensors_that_lie_about_themselves_are_refused() {
    let table = |dtype: &str, shape: serde_json::Value, from: u64, to: u64| json!({"embeddings": {"dtype": dtype, "shape": shape, "data_offsets": [from, to]}});
    let cases = [
        table("F32", json!([7, 2]), 0, 57),
        table("F32", json!([7, 2]), 0, u64::MAX),
        table("F32", json!([7, 2]), 56, 0),
        table("F32", json!([7, 2]), u64::MAX - 56, u64::MAX),
        table("F32", json!([8, 2]), 0, 56),
        table("F32", json!([u64::MAX, u64::MAX]), 0, 56),
        table("F32", json!([14]), 0, 56),
        table("F32", json!([]), 0, 56),
        table("F32", json!([14, 1, 1]), 0, 56),
        table("F32", json!([0, 2]), 0, 0),
        table("F64", json!([7, 1]), 0, 56),
        table("I8", json!([7, 8]), 0, 56),
        json!({"embeddings": 5}),
        json!([]),
        json!({}),
    ];
    for header in cases {
        let dir = tiny_table();
        write_safetensors(dir.path(), &header, &[0; 56]);
        let error = refused(dir.path());
        assert!(matches!(error.code, Code::Corrupt | Code::Unsupported), "{header}: {error}");
    }
    let dir = tiny_table();
    fs::write(dir.path().join("model.safetensors"), u64::MAX.to_le_bytes()).expect("a file");
    assert_eq!(refused(dir.path()).code, Code::Corrupt);
}

#[test]
fn weights_that_are_not_finite_are_refused() {
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let dir = tiny_table();
        write_static_table(dir.path(), &[("cat", &[1.0, wrong])]);
        assert!(refused(dir.path()).message.contains("not finite"));
    }
    // Finite weights whose sums are not.
    let dir = tiny_table();
    write_static_table(dir.path(), &[("a", &[f32::MAX, 1.0]), ("word", &[f32::MAX, 1.0])]);
    assert!(refused(dir.path()).message.contains("not finite"));
}

#[test]
fn a_huge_file_is_refused_unread() {
    let dir = tiny_table();
    let file = fs::OpenOptions::new().write(true).open(dir.path().join("model.safetensors")).expect("a file");
    file.set_len(3 << 30).expect("a sparse file");
    assert_eq!(refused(dir.path()).code, Code::TooLarge);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_change_of_any_file_makes_loading_panic(
        name in prop::sample::select(vec!["model.safetensors", "tokenizer.json", "config.json"]),
        is_table: bool,
        cut: bool,
        at: prop::sample::Index,
        bytes in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let dir = if is_table { tiny_table() } else { tiny_bert() };
        let path = dir.path().join(name);
        let mut content = fs::read(&path).expect("a file");
        let at = at.index(content.len());
        if cut {
            content.truncate(at);
        }
        for (to, byte) in content.iter_mut().skip(at).zip(&bytes) {
            *to = *byte;
        }
        fs::write(&path, content).expect("a file");
        if let Ok(model) = Model::load(dir.path()) {
            let vectors = model.embed(&["the cats", "Ünïcode 数据 \u{0}\u{202e}"]).expect("finite weights");
            prop_assert!(vectors.iter().flatten().all(|value| value.is_finite()));
        }
    }

    #[test]
    fn no_text_makes_embedding_panic(text in "\\PC{0,300}|[a-z ]{0,2000}") {
        let dir = tiny_table();
        let model = Model::open(Model::load(dir.path()).expect("a model").files()).expect("the same");
        prop_assert_eq!(model.embed(&[&text]).expect("a vector")[0].len(), 2);
    }
}

/// Values computed in double precision with numpy and Hugging Face's tokenizers.
#[test]
fn minilm_gives_the_vectors_of_the_reference() {
    let model = Model::load(&models::minilm()).expect("MiniLM");
    let cases = [
        ("how do we back up the database before a migration", [0.026_107_1, -0.068_315_8, -0.043_238_6, -0.014_355_5]),
        ("Crème brûlée, naïve café — ÄÖÜß ŒUVRE", [0.026_732_9, -0.021_127_8, -0.016_958_2, -0.017_843_8]),
        ("数据库备份 and データベース 한국어 문장", [-0.051_262_7, 0.040_160_9, 0.019_703_4, 0.002_852_4]),
        ("Привет мир! Это тест ЁЖ й", [0.037_683_9, 0.102_750_2, 0.026_918_6, -0.003_852_6]),
        ("हिन्दी में लिखा ไทย العربية עברית İstanbul ǅ", [0.066_969_5, 0.036_287_7, 0.030_153_4, 0.036_775_3]),
        ("", [-0.118_838_4, 0.048_298_7, -0.002_548_1, -0.011_011_2]),
    ];
    let vectors = model.embed(&cases.map(|(text, _)| text)).expect("vectors");
    for (vector, (text, wanted)) in vectors.iter().zip(cases) {
        println!("{text}");
        assert_near(&vector[..4], &wanted);
    }
    assert_eq!((model.dimension(), model.kind()), (384, "bert"));
}
