//! `pn export --html`: the project as pages that need no server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pensa_testkit::{Disk, Sandbox};

use crate::steps::{create, task};

const HOSTILE: &str = "</title><script>alert(1)</script><img src=x onerror=alert(2)>";

/// A project with work in every state.
fn project() -> (Sandbox, Vec<String>) {
    let pn = crate::sandbox();
    let first = task(&pn, "the first");
    let second = create(
        &pn,
        &["the second", "-t", "task", "--dep", &first, "-d", "see **it** ![x](https://evil.example/x.png)"],
    );
    let hostile = create(&pn, &[HOSTILE, "-t", "task", "-d", HOSTILE]);
    pn.pn(["update", &second, "--assignee", "ana"]).ok();
    pn.pn(["comment", "add", &hostile, HOSTILE]).ok();
    let done = task(&pn, "done already");
    pn.pn(["close", &done]).ok();
    pn.pn(["ship", "the start", "--version", "1.0", "--issue", &done]).ok();
    (pn, vec![first, second, hostile, done])
}

/// Every file below a directory, by its path.
fn files(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(inner, text)| (format!("{name}/{inner}"), text)));
        } else {
            found.insert(name, fs::read_to_string(path).expect("text"));
        }
    }
    found
}

#[test]
fn a_directory_has_a_page_for_everything_and_the_same_bytes_each_time() {
    let (pn, ids) = project();
    let (one, other) = (pn.path("site"), pn.path("again"));
    let written = pn.pn(["export", "--html", one.to_str().expect("a path")]).ok_json();
    assert_eq!((written["issues"].as_i64(), written["redactions"].as_i64()), (Some(4), Some(0)));
    let pages = files(&one);
    for name in ["index.html", "list.html", "graph.html", "charts.html", "releases.html"] {
        assert!(pages.contains_key(name), "{name} in {:?}", pages.keys());
    }
    assert!(ids.iter().all(|id| pages.contains_key(&format!("issues/{id}.html"))));
    assert!(pages["index.html"].contains(&format!("href=\"issues/{}.html\"", ids[0])));
    assert!(
        pages["graph.html"].contains("class=\"edge critical\"") && pages["charts.html"].contains("Burndown: 3 left")
    );
    assert!(pages["releases.html"].contains("the start"));
    let issue = &pages[&format!("issues/{}.html", ids[1])];
    assert!(issue.contains("<strong>it</strong>") && !issue.contains("<img"), "{issue}");
    pn.pn(["export", "--html", other.to_str().expect("a path")]).ok();
    assert_eq!(files(&other), pages);
    // Another export into the same directory replaces what is no more.
    pn.pn(["delete", &ids[3], "--force"]).ok();
    pn.pn(["export", "--html", one.to_str().expect("a path")]).ok();
    assert!(!files(&one).contains_key(&format!("issues/{}.html", ids[3])));
}

#[test]
fn nothing_of_a_hostile_text_becomes_markup() {
    let (pn, ids) = project();
    let dir = pn.path("site");
    pn.pn(["export", "--html", dir.to_str().expect("a path")]).ok();
    for (name, text) in files(&dir).iter().filter(|(name, _)| name.ends_with(".html")) {
        assert!(!text.contains("<script>") && !text.contains("<img"), "{name}");
        assert!(!text.contains("</title><script"), "{name}");
    }
    let file = pn.path("all.html");
    pn.pn(["export", "--html", file.to_str().expect("a path"), "--single"]).ok();
    let text = fs::read_to_string(&file).expect("a file");
    assert_eq!(text.matches("<script").count(), 1, "ours");
    assert!(!text.contains("<img") && !text.contains("<link") && text.contains("default-src 'none'"));
    assert!(ids.iter().all(|id| text.contains(&format!("id=\"issue-{id}\""))));
    pn.pn(["export", "--html", file.to_str().expect("a path"), "--single"]).ok();
    assert_eq!(fs::read_to_string(&file).expect("a file"), text, "the same bytes");
}

#[test]
fn secrets_that_were_kept_are_not_published() {
    let pn = crate::sandbox();
    let secret = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let id = pn.pn(["create", &format!("rotate {secret}"), "-t", "task", "--no-redact"]).ok_json();
    assert!(id["title"].as_str().expect("a title").contains(&secret), "kept on purpose");
    let dir = pn.path("site");
    let written = pn.pn(["export", "--html", dir.to_str().expect("a path")]).ok_json();
    assert!(written["redactions"].as_i64() > Some(0));
    assert!(files(&dir).values().all(|text| !text.contains(&secret)));
}

#[test]
fn an_export_that_a_full_disk_interrupted_is_repeated() {
    let (pn, _) = project();
    let site = pn.path("small");
    fs::create_dir(&site).expect("a directory");
    let disk = Disk::small(&pn, &site, "200k");
    fs::write(disk.file("ballast"), vec![1_u8; 170 << 10]).expect("room for the ballast");
    let target = site.join("pages").display().to_string();
    let error = pn.pn(["export", "--html", &target]).json().on(&disk).answer().error();
    assert_eq!(error["code"], "disk_full", "{error}");
    let index = fs::read_to_string(disk.file("pages/index.html")).expect("an index");
    assert!(index.contains("interrupted"), "{index}");
    fs::remove_file(disk.file("ballast")).expect("removed");
    pn.pn(["export", "--html", &target]).on(&disk).ok();
    let index = fs::read_to_string(disk.file("pages/index.html")).expect("an index");
    assert!(index.contains("the first") && !index.contains("interrupted"), "{index}");
}

#[test]
fn a_directory_with_other_files_is_left_alone() {
    let (pn, _) = project();
    let dir = pn.path("mine");
    fs::create_dir(&dir).expect("a directory");
    fs::write(dir.join("notes.html"), "mine").expect("written");
    pn.pn(["export", "--html", dir.to_str().expect("a path")]).fails("invalid_input");
    assert_eq!(files(&dir).len(), 1);
}
