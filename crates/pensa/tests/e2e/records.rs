//! Records: documents in named collections, by command, over HTTP and as a library.

use std::fs;
use std::thread;

use pensa_client::RemoteOptions;
use pensa_taskstore::{Code, Filter, Record, RecordQuery, TaskStore};
use pensa_testkit::{Disk, Sandbox};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::steps::{elements, keys, text};

crate::in_both_modes! {
    a_record_has_the_documented_form_and_is_changed_by_its_revision,
    queries_know_every_operator_and_order,
    changes_of_many_collections_are_one,
    bad_input_is_refused_with_a_code_and_changes_nothing,
    acknowledged_records_survive_the_loss_of_the_database,
    records_of_other_tools_are_imported_once,
}

fn put(pn: &Sandbox, collection: &str, id: &str, data: Value) -> Value {
    pn.pn(["record", "put", collection, &data.to_string(), "--id", id]).ok_json()
}

fn ids(found: &Value) -> Vec<String> {
    elements(found).iter().map(|record| text(&record["id"])).collect()
}

fn a_record_has_the_documented_form_and_is_changed_by_its_revision(pn: &Sandbox) {
    let made = put(pn, "items", "lp-1", json!({"status": "running", "n": 1.0}));
    assert_eq!(keys(&made), ["collection", "id", "rev", "updated_at", "data"]);
    assert_eq!(pn.pn(["record", "get", "items", "lp-1"]).ok_json(), made);
    let rev = made["rev"].to_string();
    let piped =
        pn.pn(["record", "put", "items", "-", "--id", "lp-1", "--if-rev", &rev]).stdin("{\"status\":\"done\"}\n");
    let next = piped.ok_json();
    assert!(next["rev"].as_i64() > made["rev"].as_i64());
    pn.pn(["record", "put", "items", "{}", "--id", "lp-1", "--if-rev", &rev]).fails("conflict");
    pn.pn(["record", "put", "items", "{}", "--id", "lp-1", "--if-rev", "0"]).fails("conflict");
    let odd = put(pn, "items", "../a b?c#d%2f", json!({"x": "\u{202e}"}));
    assert_eq!(pn.pn(["record", "get", "items", "../a b?c#d%2f"]).ok_json(), odd);
    assert_eq!(pn.pn(["-q", "record", "put", "items", "{\"id\":\"own\"}"]).ok().trim(), "own");
    let result = pn.pn(["record", "collections"]).ok_json();
    assert_eq!((&result[0]["collection"], &result[0]["records"]), (&json!("items"), &json!(3)));
    let gone = pn.pn(["record", "delete", "items", "own"]).ok_json();
    assert_eq!(gone, json!({"status": "deleted", "collection": "items", "ids": ["own"]}));
    pn.pn(["record", "delete", "items", "own"]).fails("not_found");
    let shown = pn.pn(["record", "query", "items"]).ok();
    assert!(shown.contains("lp-1 ") && !shown.contains('\u{202e}'), "{shown}");
    let compacted = pn.pn(["record", "compact"]).ok_json();
    assert_eq!(compacted["collections"], json!(1));
}

fn queries_know_every_operator_and_order(pn: &Sandbox) {
    for (id, data) in [
        ("a", json!({"status": "running", "n": 5, "parent": null, "tags": ["x"]})),
        ("b", json!({"status": "done", "n": 7, "parent": "a"})),
        ("c", json!({"status": "Running late", "n": "5"})),
    ] {
        put(pn, "items", id, data);
    }
    let table: [(&[&str], &str); 14] = [
        (&["status=running"], "a"),
        (&["status!=running"], "b c"),
        (&["n<7"], "a"),
        (&["n<=7"], "a b"),
        (&["n>5"], "b"),
        (&["n>=5"], "a b"),
        (&["n=\"5\""], "c"),
        (&["status~RUNNING"], "a c"),
        (&["tags~x"], "a"),
        (&["parent is null"], "a c"),
        (&["parent is not null"], "b"),
        (&["status in [\"done\",\"running\"]"], "a b"),
        (&["n>=5", "status=done"], "b"),
        (&["id>a"], "b c"),
    ];
    for round in 0..2 {
        for (tests, expected) in table {
            let flags = tests.iter().flat_map(|test| ["--where", test]);
            let found = pn.pn(["record", "query", "items"].into_iter().chain(flags.clone())).ok_json();
            assert_eq!(ids(&found).join(" "), expected, "{tests:?} in round {round}");
            let count = pn.pn(["record", "count", "items"].into_iter().chain(flags)).ok_json();
            assert_eq!(count["count"], json!(elements(&found).len()), "{tests:?}");
        }
        let found = |args: &[&str]| ids(&pn.pn([&["record", "query", "items"], args].concat()).ok_json()).join(" ");
        assert_eq!((found(&["--order", "n"]), found(&["--order", "n desc"])), ("a b c".into(), "c b a".into()));
        assert_eq!((found(&["-n", "2"]), found(&["-n", "1", "--order", "status desc"])), ("a b".into(), "a".into()));
        let indexed = pn.pn(["record", "index", "items", "status", "n", "parent"]).ok_json();
        assert_eq!(indexed["indexes"], json!(["status", "n", "parent"]));
    }
    let gone = pn.pn(["record", "delete", "items", "--where", "n is not null", "--where", "status~run"]).ok_json();
    assert_eq!(gone["ids"], json!(["a", "c"]));
}

fn changes_of_many_collections_are_one(pn: &Sandbox) {
    let lines = concat!(
        "{\"put\":{\"collection\":\"items\",\"id\":\"a\",\"data\":{\"n\":1}}}\n",
        "{\"put\":{\"collection\":\"slips\",\"id\":\"s\",\"data\":{},\"if_rev\":0}}\n",
        "{\"delete\":{\"collection\":\"items\",\"id\":\"none\"}}\n",
    );
    let done = pn.pn(["record", "apply"]).stdin(lines).ok_json();
    assert_eq!(elements(&done).iter().map(|one| one.get("rev").is_some()).collect::<Vec<_>>(), [true, true, false]);
    let again = lines.replace("\"n\":1", "\"n\":2");
    let refused = pn.pn(["record", "apply"]).stdin(again).fails("conflict");
    assert!(text(&refused["error"]).starts_with("change 2: "), "{refused}");
    assert_eq!(pn.pn(["record", "get", "items", "a"]).ok_json()["data"], json!({"n": 1}), "nothing has happened");
}

fn bad_input_is_refused_with_a_code_and_changes_nothing(pn: &Sandbox) {
    for bad in [
        ["Loops", "{}"],
        ["../x", "{}"],
        ["items", "[]"],
        ["items", "{"],
        ["items", "null"],
        ["items", "{\"_pensa\":1}"],
    ] {
        pn.pn(["record", "put", bad[0], bad[1]]).fails("invalid_input");
    }
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(1 << 20));
    pn.pn(["record", "put", "items", "-"]).stdin(large).fails("too_large");
    pn.pn(["record", "put", "items", "{}", "--id", "a\nb"]).fails("invalid_input");
    pn.pn(["record", "get", "items", "none"]).fails("not_found");
    pn.pn(["record", "query", "items", "--where", "status"]).misused();
    pn.pn(["record", "delete", "items"]).misused();
    pn.pn(["record", "query", "items", "--after", "zz"]).misused();
    pn.pn(["record", "apply"]).stdin("{\"drop\":{}}").fails("invalid_input");
    assert_eq!(pn.pn(["record", "collections"]).ok_json(), json!([]));
}

fn acknowledged_records_survive_the_loss_of_the_database(pn: &Sandbox) {
    pn.pn(["record", "index", "items", "worker"]).ok();
    let files = ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"].map(|name| pn.store().join(name));
    let acknowledged: Vec<String> = thread::scope(|scope| {
        let worker = |name: usize| {
            let mut kept = Vec::new();
            for n in 0..15 {
                let id = format!("{name}-{n:02}");
                let data = json!({"worker": name, "n": n}).to_string();
                let put = pn.pn(["record", "put", "items", &data, "--id", &id]).answer();
                if put.code == Some(0) {
                    kept.push(id);
                }
            }
            kept
        };
        let workers: Vec<_> = (0..3).map(|name| scope.spawn(move || worker(name))).collect();
        for round in 0..3 {
            thread::sleep(std::time::Duration::from_millis(150));
            if round == 1 {
                // Part of the database is overwritten.
                let _ = fs::write(&files[0], vec![0x5a; 20_000]);
            } else {
                files.iter().for_each(|file| drop(fs::remove_file(file)));
            }
        }
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    assert!(acknowledged.len() > 20, "{} of 45 were kept", acknowledged.len());
    let found = ids(&pn.pn(["record", "query", "items"]).ok_json());
    let missing: Vec<&String> = acknowledged.iter().filter(|id| !found.contains(id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let by_index: usize = (0..3)
        .map(|name| {
            elements(&pn.pn(["record", "query", "items", "--where", &format!("worker={name}")]).ok_json()).len()
        })
        .sum();
    assert_eq!(by_index, found.len(), "the index works at once");
}

fn records_of_other_tools_are_imported_once(pn: &Sandbox) {
    let dir = pn.path("loopr/.taskstore");
    fs::create_dir_all(&dir).expect("a directory");
    let loops = concat!(
        "{\"id\":\"lp-1\",\"loop_type\":\"code\",\"status\":\"pending\",\"updated_at\":1772202600000}\n",
        "{\"id\":\"lp-2\",\"loop_type\":\"plan\",\"status\":\"done\",\"updated_at\":1772202600000}\n",
        "{\"id\":\"lp-1\",\"loop_type\":\"code\",\"status\":\"running\",\"updated_at\":1772202601000}\n",
        "{\"id\":\"lp-2\",\"deleted\":true,\"updated_at\":1772202602000}\n",
        "{\"id\":\"lp-3\",\"torn",
    );
    fs::write(dir.join("loops.jsonl"), loops).expect("written");
    fs::write(dir.join("mine.jsonl"), "{\"id\":\"m\",\"x\":[1]}\n").expect("written");
    let import =
        || pn.pn(["import-from", "taskstore"].map(String::from).into_iter().chain([dir.display().to_string()]));
    let result = import().ok_json();
    assert_eq!((&result["records"], &result["lines_skipped"]), (&json!(2), &json!(1)), "{result}");
    let kept = pn.pn(["record", "query", "loops", "--where", "status=running"]).ok_json();
    assert_eq!((&kept[0]["id"], &kept[0]["updated_at"]), (&json!("lp-1"), &json!("2026-02-27T14:30:01.000Z")));
    assert_eq!(pn.pn(["loop", "show", "lp-1"]).ok_json()["status"], "running");
    let known = pn.pn(["record", "collections"]).ok_json();
    assert_eq!(elements(&known[0]["indexes"])[..3], [json!("loop_type"), json!("status"), json!("parent_id")]);
    let again = import().ok_json();
    assert_eq!((&again["records"], &again["records_skipped"]), (&json!(0), &json!(2)), "{again}");
    pn.pn(["loop", "pause", "lp-1"]).ok_json();
    import().ok();
    assert_eq!(pn.pn(["record", "get", "loops", "lp-1"]).ok_json()["data"]["status"], json!("paused"));
    let refused = pn.pn(["record", "put", "loops", "{}", "--id", "lp-1"]).fails("forbidden");
    assert!(text(&refused["hint"]).contains("pn loop"), "{refused}");
    pn.pn(["record", "delete", "loops", "lp-1"]).fails("forbidden");
    pn.pn(["record", "delete", "signals", "--where", "id is not null"]).fails("forbidden");
}

/// Collections of Pensa's own entities have the rules of the entity.
#[test]
fn jobs_are_not_changed_as_records_and_those_of_other_tools_are_imported_as_jobs() {
    let pn = crate::sandbox();
    for name in ["tool_jobs", "tool_job_outputs"] {
        pn.pn(["record", "put", name, "{}", "--id", "job-1"]).fails("forbidden");
        pn.pn(["record", "delete", name, "job-1"]).fails("forbidden");
        pn.pn(["record", "delete", name, "--where", "status=running"]).fails("forbidden");
        pn.pn(["record", "index", name, "odd"]).fails("forbidden");
        assert_eq!(pn.pn(["record", "query", name]).ok_json(), json!([]), "to look is not to change");
    }
    let dir = pn.path("loopr/.taskstore");
    fs::create_dir_all(&dir).expect("a directory");
    let jobs = concat!(
        "{\"id\":\"019\",\"loop_id\":\"lp-1\",\"tool_name\":\"grep\",\"lane\":\"no-net\",\"command\":\"grep x\",",
        "\"cwd\":\"/w\",\"status\":\"Success\",\"exit_code\":0,\"output_bytes\":7,\"was_timeout\":false,",
        "\"was_cancelled\":false,\"started_at\":1772202600000,\"ended_at\":1772202601000,\"duration_ms\":1000}\n",
        "{\"id\":\"020\",\"tool_name\":\"no lane\"}\n",
    );
    fs::write(dir.join("tool_jobs.jsonl"), jobs).expect("written");
    let dir = dir.to_str().expect("UTF-8");
    for (records, skipped) in [(1, 0), (0, 1)] {
        let result = pn.pn(["import-from", "taskstore", dir]).ok_json();
        assert_eq!((&result["records"], &result["records_skipped"]), (&json!(records), &json!(skipped)), "{result}");
        assert_eq!(result["lines_skipped"], 1, "{result}");
    }
    let job = pn.pn(["job", "show", "019"]).ok_json();
    assert_eq!(
        (&job["status"], &job["started_at"]),
        (&json!("succeeded"), &json!("2026-02-27T14:30:00.000Z")),
        "{job}"
    );
    assert_eq!(elements(&pn.pn(["job", "list", "--loop", "lp-1"]).ok_json()).len(), 1);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Job {
    id: String,
    status: String,
    ms: Option<u64>,
    updated_at: i64,
}

impl Record for Job {
    fn collection_name() -> &'static str {
        "tool_calls"
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn updated_at(&self) -> i64 {
        self.updated_at
    }

    fn indexed_fields() -> &'static [&'static str] {
        &["status"]
    }
}

fn job(n: u64) -> Job {
    let status = if n.is_multiple_of(2) { "running" } else { "exited" };
    Job { id: format!("job-{n:04}"), status: status.into(), ms: Some(n), updated_at: 1_772_202_600_000 }
}

/// The same on files and through a daemon.
fn library(store: &TaskStore) {
    store.declare::<Job>().expect("declared");
    let jobs: Vec<Job> = (0..250).map(job).collect();
    let revs = store.create_many(&jobs).expect("made");
    assert_eq!(revs.len(), 250);
    assert_eq!(store.create_many(&jobs[..2]).expect_err("there already").code, Code::Conflict);
    let one = store.get::<Job>("job-0001").expect("read").expect("there");
    assert_eq!((&one.record, one.rev), (&jobs[1], revs[1]));
    assert!(store.get::<Job>("none").expect("read").is_none());
    let changed = Job { ms: None, ..one.record };
    let rev = store.update_if(&changed, one.rev).expect("changed");
    assert_eq!(store.update_if(&changed, one.rev).expect_err("stale").code, Code::Conflict);
    assert_eq!(store.update(&Job { id: "none".into(), ..changed.clone() }).expect_err("none").code, Code::NotFound);
    assert!(store.put(&Job { status: "lost".into(), ..changed }).expect("put") > rev);
    assert_eq!(store.count::<Job>(&[Filter::eq("status", "running")]).expect("counted"), 125);
    assert_eq!(store.query::<Job>(&[Filter::is_null("ms")]).expect("found")[0].status, "lost");
    let page = store.page::<Job>(RecordQuery { limit: Some(100), ..RecordQuery::default() }).expect("a page");
    assert!(page.records.len() == 100 && page.next.is_some());
    assert_eq!(
        store.select::<Job>(RecordQuery { after: page.next, ..RecordQuery::default() }).expect("the rest").len(),
        150
    );
    let gone = store.delete_where::<Job>(&[Filter::gte("ms", 200), Filter::one_of("status", ["running", "x"])]);
    assert_eq!(gone.expect("deleted"), 25);
    assert!(store.delete::<Job>("job-0000").expect("deleted") && !store.delete::<Job>("job-0000").expect("gone"));
    let both = store.transaction().delete::<Job>("job-0002").create(&job(900)).expect("gathered").commit();
    assert_eq!(both.expect("done").iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
    assert!(store.ensure_valid::<Job>().expect("checked"));
    store.rebuild_index::<Job>().expect("rebuilt");
    assert_eq!(store.collections().expect("listed"), [("tool_calls".to_owned(), 224)]);
    store.compact().expect("compacted");
}

#[test]
fn the_library_works_on_files_and_tells_lines_that_cannot_be_read() {
    let pn = crate::sandbox();
    let store = TaskStore::open(&pn.project(), "me").expect("opens");
    library(&store);
    let file = pn.store().join("local/taskstore/tool_calls.jsonl");
    let mut text = fs::read_to_string(&file).expect("a file");
    text.push_str("{\"id\":\"odd\",\"status\":5}\nnot JSON\n{\"id\":\"torn");
    fs::write(&file, text).expect("written");
    let listing = store.list_tolerant::<Job>().expect("listed");
    assert_eq!(listing.records.len(), 224);
    assert_eq!(listing.corrupt.iter().map(|corrupt| corrupt.line).collect::<Vec<_>>(), [225, 226, 227]);
    assert!(TaskStore::open(&pn.path("nowhere"), "me").is_err(), "none is made");
}

#[test]
fn the_library_works_through_a_daemon() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let options = RemoteOptions { url: daemon.url.clone(), ..RemoteOptions::default() };
    let store = TaskStore::connect(options, "me").expect("connects");
    library(&store);
    assert_eq!(store.list_tolerant::<Job>().expect_err("not here").code, Code::Unsupported);
}

#[test]
fn a_disk_that_fills_amid_many_records_keeps_all_of_them_or_none() {
    const COUNT: i64 = 150;
    let pn = Sandbox::bare(crate::PN);
    let disk = Disk::small(&pn, &pn.project(), "4m");
    pn.pn(["init"]).on(&disk).ok();
    pn.pn(["record", "index", "items", "round"]).on(&disk).ok();
    let apply = |round: usize| {
        let put = |n| {
            json!({"collection": "items", "id": format!("{round}-{n}"), "if_rev": 0,
            "data": {"round": round, "text": "x".repeat(600)}})
        };
        let lines: String = (0..COUNT).map(|n| format!("{}\n", json!({"put": put(n)}))).collect();
        pn.pn(["record", "apply"]).stdin(lines).json().on(&disk).answer()
    };
    let counted = || pn.pn(["record", "count", "items"]).on(&disk).ok_json()["count"].as_i64().expect("a number");
    let (mut kept, mut refused) = (0, 0);
    for (round, room) in [8, 60, 120, 180, 240, 300, 400, 500, 700, 900].into_iter().enumerate() {
        let mut ballast = fs::File::create(disk.file("ballast")).expect("made");
        while std::io::Write::write_all(&mut ballast, &[1u8; 4096]).is_ok() {}
        let full = ballast.metadata().expect("a file").len();
        ballast.set_len(full.saturating_sub(room * 1024)).expect("room is made");
        let answer = apply(round);
        fs::remove_file(disk.file("ballast")).expect("removed");
        match answer.code {
            Some(0) => kept += COUNT,
            _ => {
                assert_eq!(answer.error()["code"], "disk_full", "{answer:?}");
                refused += 1;
            }
        }
        assert_eq!(counted(), kept, "with {room} KiB: all that was acknowledged, and nothing else");
    }
    assert!(kept > 0 && refused > 2, "{kept} kept, {refused} refused");
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(disk.file(&format!(".pensa/{name}")));
    }
    assert_eq!(counted(), kept, "the journal has the same");
}
