//! `pn recall` by meaning, with tiny models: what is found, what is refused, and what survives kills and full disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use pensa_testkit::models::{Tensor, write_static_table, write_tensors};
use pensa_testkit::{Disk, Sandbox, eventually};
use serde_json::{Value, json};

const PN: &str = env!("CARGO_BIN_EXE_pn");

/// Words that mean the same have the same vector.
const WORDS: [(&str, &[f32]); 6] = [
    ("car", &[1.0, 0.0, 0.0]),
    ("automobile", &[1.0, 0.0, 0.0]),
    ("dog", &[0.0, 1.0, 0.0]),
    ("hound", &[0.0, 1.0, 0.0]),
    ("boat", &[0.0, 0.0, 1.0]),
    ("ship", &[0.0, 0.0, 1.0]),
];

fn model(pn: &Sandbox, name: &str) -> PathBuf {
    let dir = pn.path(name);
    fs::create_dir_all(&dir).expect("a directory");
    write_static_table(&dir, &WORDS);
    dir
}

fn add(pn: &Sandbox, dir: &Path) -> Value {
    pn.pn(["recall", "model", "add"].map(Into::into).iter().chain([&dir.as_os_str().to_owned()])).ok_json()
}

fn ids(pn: &Sandbox, args: &[&str]) -> Vec<String> {
    let hits = pn.pn([&["recall"], args].concat()).ok_json();
    hits.as_array().expect("a list").iter().map(|hit| hit["id"].as_str().expect("an id").to_owned()).collect()
}

fn remembered(pn: &Sandbox, text: &str) -> String {
    pn.pn(["remember", text]).ok_json()["id"].as_str().expect("an id").to_owned()
}

/// Texts of this store with a vector of the model that is used.
fn vectors(pn: &Sandbox) -> u64 {
    pn.pn(["recall", "model", "list"]).ok_json()[0]["vectors"].as_u64().expect("a number")
}

fn with_texts(pn: &Sandbox, count: usize) {
    let lines: Vec<String> = (0..count)
        .map(|n| json!({"op": "issue.create", "title": format!("hound {n}"), "type": "task"}).to_string())
        .collect();
    pn.pn(["batch", "-"]).stdin(lines.join("\n")).ok();
}

fn is_sound(pn: &Sandbox) {
    let report = pn.pn(["doctor", "--deep"]).ok_json();
    let wrong: Vec<&Value> =
        report["problems"].as_array().into_iter().flatten().filter(|one| one["kind"] == "recall").collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_text_is_found_by_what_it_means_and_filters_still_hold() {
    let pn = Sandbox::with_store(PN);
    let oil = remembered(&pn, "the automobile needs oil");
    let walk = remembered(&pn, "the hound needs a walk");
    let issue =
        pn.pn(["create", "automobile does not start", "-t", "bug"]).ok_json()["id"].as_str().expect("an id").to_owned();
    assert!(ids(&pn, &["car"]).is_empty(), "no word matches");
    assert_eq!(add(&pn, &model(&pn, "model"))["embedded"], 3);
    let mut found = ids(&pn, &["car"]);
    found.sort();
    let mut wanted = vec![oil.clone(), issue.clone()];
    wanted.sort();
    assert_eq!(found, wanted);
    assert_eq!(ids(&pn, &["car", "--in", "issues"]), [issue.as_str()]);
    assert_eq!(ids(&pn, &["car", "--in", "comments"]), [""; 0]);
    assert_eq!(ids(&pn, &["dog"]), [walk.as_str()]);
    let explained = pn.pn(["recall", "car", "--in", "learnings", "--explain"]).ok_json();
    assert!(explained[0]["explain"]["vector"].as_f64().expect("a number") > 0.0, "{explained}");
    let unmatched = pn.pn(["recall", "red car", "--in", "learnings", "--explain"]).ok_json();
    assert_eq!(unmatched[0]["explain"]["nearness"], 0.0, "{unmatched}");
    pn.pn(["learning", "forget", &oil]).ok();
    assert_eq!(ids(&pn, &["car"]), [issue.as_str()], "a deleted text is gone at once");
    is_sound(&pn);
}

#[test]
fn a_changed_text_loses_its_vector_until_the_next_update() {
    let pn = Sandbox::with_store(PN);
    let id = pn.pn(["create", "automobile", "-t", "task"]).ok_json()["id"].as_str().expect("an id").to_owned();
    add(&pn, &model(&pn, "model"));
    assert_eq!(ids(&pn, &["car"]), [id.as_str()]);
    pn.pn(["update", &id, "--title", "hound"]).ok();
    assert!(ids(&pn, &["car"]).is_empty() && ids(&pn, &["dog"]).is_empty());
    let updated = pn.pn(["recall", "--update"]).ok_json();
    assert_eq!((&updated["embedded"], &updated["removed"]), (&json!(1), &json!(1)));
    assert_eq!(ids(&pn, &["dog"]), [id.as_str()]);
    let updated = pn.pn(["recall", "--update"]).ok_json();
    assert_eq!((&updated["embedded"], &updated["removed"]), (&json!(0), &json!(0)));
}

#[test]
fn models_are_listed_and_removed_and_their_names_are_queries_after_two_hyphens() {
    let pn = Sandbox::with_store(PN);
    let id = remembered(&pn, "model add is a command");
    assert!(pn.pn(["recall", "--update"]).fails("not_found")["hint"].as_str().expect("a hint").contains("model add"));
    assert_eq!(pn.pn(["recall", "model", "list"]).ok_json(), json!([]));
    let (first, second) = (model(&pn, "first"), model(&pn, "second"));
    write_static_table(&second, &WORDS[..4]);
    let (first, second) = (add(&pn, &first), add(&pn, &second));
    let listed = pn.pn(["recall", "model", "list"]).ok_json();
    assert_eq!((&listed[0]["id"], &listed[1]["id"]), (&second["model"], &first["model"]), "the last added is used");
    assert_eq!(
        (&listed[0]["used"], &listed[1]["used"], &listed[0]["vectors"]),
        (&json!(true), &json!(false), &json!(1))
    );
    let prefix = &first["model"].as_str().expect("an id")[..8];
    pn.pn(["recall", "model", "remove", prefix]).ok();
    pn.pn(["recall", "model", "remove", prefix]).fails("not_found");
    assert_eq!(pn.pn(["recall", "model", "list"]).ok_json().as_array().map(Vec::len), Some(1));
    assert_eq!(ids(&pn, &["--", "model add"]), [id.as_str()]);
}

#[test]
fn a_hostile_model_is_refused_with_the_file_and_leaves_nothing() {
    let pn = Sandbox::with_store(PN);
    let id = remembered(&pn, "the automobile needs oil");
    let dir = model(&pn, "model");
    let hostile: [(&str, &[u8]); 4] = [
        ("model.safetensors", &[0xff; 64]),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0{}"),
        ("tokenizer.json", b"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 4294967295}}}"),
        ("tokenizer.json", &[b'['; 4096]),
    ];
    for (name, bytes) in hostile {
        model(&pn, "model");
        fs::write(dir.join(name), bytes).expect("a file");
        let answer = pn.pn(["recall", "model", "add", dir.to_str().expect("a path")]).json().answer();
        let error = answer.error();
        assert!(error["error"].as_str().is_some_and(|text| text.contains(name)), "{error}");
        assert!(error["hint"].is_string(), "{error}");
        assert_eq!(pn.pn(["recall", "model", "list"]).ok_json(), json!([]));
    }
    let infinite = Tensor { name: "embeddings".to_owned(), shape: vec![10, 1], values: vec![f32::NAN; 10] };
    model(&pn, "model");
    write_tensors(&dir, &[infinite]);
    pn.pn(["recall", "model", "add", dir.to_str().expect("a path")]).fails("corrupt");
    model(&pn, "model");
    add(&pn, &dir);
    // A model that changes after it was added is not read any more; words still find.
    fs::write(dir.join("tokenizer.json"), "{}").expect("a file");
    assert_eq!(ids(&pn, &["oil"]), [id.as_str()]);
    assert!(ids(&pn, &["car"]).is_empty());
    pn.pn(["recall", "--update"]).fails("conflict");
}

#[test]
fn nothing_in_a_store_makes_this_machine_read_a_model() {
    let pn = Sandbox::with_store(PN);
    remembered(&pn, "the automobile needs oil");
    add(&pn, &model(&pn, "model"));
    let list = pn.path("xdg/config").join("pensa/models.json");
    let text = fs::read(&list).expect("the user's list");
    fs::remove_file(&list).expect("removed");
    for place in ["", "local"] {
        fs::create_dir_all(pn.store().join(place)).expect("a directory");
        fs::write(pn.store().join(place).join("models.json"), &text).expect("a file");
    }
    assert_eq!(pn.pn(["recall", "model", "list"]).ok_json(), json!([]));
    assert!(ids(&pn, &["car"]).is_empty());
}

#[test]
fn an_update_that_is_killed_goes_on_where_it_was() {
    let pn = Sandbox::with_store(PN);
    let dir = model(&pn, "model");
    add(&pn, &dir);
    with_texts(&pn, 1500);
    for wait in [5, 10, 15, 20, 30, 40, 60, 80] {
        let mut update = pn.pn(["recall", "--update"]).spawn();
        thread::sleep(Duration::from_millis(wait));
        update.kill().expect("killed");
        update.wait().expect("ended");
        is_sound(&pn);
    }
    let before = vectors(&pn);
    let updated = pn.pn(["recall", "--update"]).ok_json();
    assert_eq!(updated["embedded"].as_u64().expect("a number") + before, 1500);
    assert_eq!(vectors(&pn), 1500);
    assert_eq!(ids(&pn, &["dog"]).len(), 10);
}

#[test]
fn updates_at_the_same_time_embed_every_text_once() {
    let pn = Sandbox::with_store(PN);
    add(&pn, &model(&pn, "model"));
    with_texts(&pn, 800);
    let updates: Vec<_> = (0..4).map(|_| pn.pn(["recall", "--update"]).spawn()).collect();
    for mut update in updates {
        assert!(update.wait().expect("ended").success());
    }
    assert_eq!(vectors(&pn), 800);
    is_sound(&pn);
}

#[test]
fn an_update_on_a_full_disk_loses_nothing() {
    let pn = Sandbox::bare(PN);
    let disk = Disk::small(&pn, &pn.project(), "3m");
    pn.pn(["init"]).on(&disk).ok();
    let dir = model(&pn, "model");
    let id = pn.pn(["remember", "the automobile needs oil"]).on(&disk).ok_json()["id"].clone();
    let left = rest_of(&disk);
    fs::write(disk.file("ballast"), vec![1_u8; left]).expect("room for the ballast");
    let _ = fs::write(disk.file("more"), vec![1_u8; 64 << 10]);
    let answer = pn.pn(["recall", "model", "add", dir.to_str().expect("a path")]).json().on(&disk).answer();
    let error = answer.error();
    assert_eq!(error["code"], "disk_full", "{error}");
    assert_eq!(pn.pn(["recall", "oil"]).on(&disk).ok_json()[0]["id"], id);
    fs::remove_file(disk.file("ballast")).expect("removed");
    let _ = fs::remove_file(disk.file("more"));
    assert_eq!(pn.pn(["recall", "--update"]).on(&disk).ok_json()["embedded"], 1);
    assert_eq!(pn.pn(["recall", "car"]).on(&disk).ok_json()[0]["id"], id);
}

/// Nearly all that is free on a disk.
fn rest_of(disk: &Disk) -> usize {
    let probe = disk.file("probe");
    let mut size = 64 << 10;
    while fs::write(&probe, vec![1_u8; size]).is_ok() {
        size += 64 << 10;
    }
    fs::remove_file(&probe).expect("removed");
    size - (64 << 10)
}

#[test]
fn a_daemon_embeds_what_is_new_and_finds_it_by_meaning() {
    let pn = Sandbox::with_store(PN);
    add(&pn, &model(&pn, "model"));
    let daemon = pn.daemon();
    let through = |args: &[&str]| pn.pn(args).env("PN_DAEMON", &daemon.url);
    let id = through(&["remember", "the hound needs a walk"]).ok_json()["id"].clone();
    let found = eventually("the daemon embeds it", || {
        let hits = through(&["recall", "dog"]).ok_json();
        hits.get(0).map(|hit| hit["id"].clone())
    });
    assert_eq!(found, id);
    let error = through(&["recall", "--update"]).fails("unsupported");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("daemon")), "{error}");
}
