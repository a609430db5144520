//! What the journal and the backups are for: whatever happens to the database file, nothing acknowledged is lost.
//! SQLite only.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use pensa_core::Code;
use pensa_core::ops::store::{Doctor, Severity};
use pensa_core::ops::{backup, batch, comment, conflict, dep, issue, project, store, token};
use pensa_engine::{Caller, Context, Engine, GroupWriter, Projects, Tx, entry};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::site::{Site, create, everything, live, run, try_everything};

#[test]
fn a_deleted_database_is_rebuilt_with_its_whole_history() {
    let site = Site::lived_in();
    let before = everything(&site.open());
    site.delete_database();
    let engine = site.open();
    assert_eq!(everything(&engine), before);
    let notices = engine.notices();
    assert!(notices.len() == 1 && notices[0].contains("rebuilt"), "{notices:?}");
    assert_eq!(site.open().notices(), Vec::<String>::new(), "told once");
}

#[test]
fn a_lease_is_rebuilt_with_the_length_of_its_renewal() {
    let site = Site::lived_in();
    site.delete_database();
    let engine = site.open();
    let held = engine.call("bob", &issue::List::default()).expect("a list").into_iter();
    let held = held.filter(|issue| issue.lease_expires_at.is_some()).collect::<Vec<_>>();
    let renewed = run::<issue::Heartbeat>(&engine, "bob", json!({"id": held[0].id}));
    assert!(renewed.lease_expires_at > held[0].lease_expires_at, "{renewed:?}");
}

#[test]
fn a_deleted_log_costs_nothing() {
    let site = Site::lived_in();
    let before = everything(&site.open());
    fs::remove_file(site.path("db.sqlite-wal")).expect("deleted");
    assert_eq!(everything(&site.open()), before);
}

/// A copy of a file that is put back later, as a careless restore of a whole disk does.
#[test]
fn an_old_database_file_put_back_is_brought_up_to_date() {
    let site = Site::new();
    create(&site.open(), "first");
    let old: Vec<_> =
        ["db.sqlite", "db.sqlite-wal"].map(|name| (name, fs::read(site.path(name)).expect("a file"))).into();
    live(&site.open());
    let before = everything(&site.open());
    site.delete_database();
    for (name, bytes) in old {
        fs::write(site.path(name), bytes).expect("put back");
    }
    let engine = site.open();
    assert_eq!(everything(&engine), before);
    assert!(engine.notices()[0].contains("journal"));
    create(&engine, "and it goes on");
    drop(engine);
    let before = everything(&site.open());
    site.delete_database();
    assert_eq!(everything(&site.open()), before);
}

/// A value that lost is nowhere else once the files have the one that was kept.
#[test]
fn conflicts_are_not_lost_with_the_end_of_the_log() {
    let site = Site::new();
    let engine = site.open();
    let id = create(&engine, "a title");
    run::<store::Export>(&engine, "alice", json!({}));
    run::<issue::Update>(&engine, "alice", json!({"id": id, "title": "ours, and newer"}));
    let file = site.path("issues.jsonl");
    let theirs = fs::read_to_string(&file).expect("a file").replace("a title", "theirs");
    fs::write(&file, theirs).expect("edited");
    let old: Vec<_> =
        ["db.sqlite", "db.sqlite-wal"].map(|name| (name, fs::read(site.path(name)).expect("a file"))).into();
    assert_eq!(run::<store::Import>(&engine, "alice", json!({})).conflicts, 1);
    run::<store::Export>(&engine, "alice", json!({}));
    assert!(!fs::read_to_string(&file).expect("a file").contains("theirs"));
    drop(engine);
    site.delete_database();
    for (name, bytes) in old {
        fs::write(site.path(name), bytes).expect("put back");
    }
    let engine = site.open();
    let told = run::<conflict::List>(&engine, "alice", json!({}));
    assert_eq!((told.len(), &told[0].other), (1, &json!("theirs")));
    run::<conflict::Resolve>(&engine, "alice", json!({"id": told[0].id, "take": "kept"}));
    let found = run::<Doctor>(&engine, "alice", json!({"deep": true})).findings;
    assert!(found.iter().all(|finding| finding.check != "damage"), "{found:?}");
    site.delete_database();
    assert_eq!(run::<conflict::List>(&site.open(), "alice", json!({})).len(), 0);
}

#[test]
fn a_database_truncated_at_any_length_is_rebuilt() {
    let site = Site::lived_in();
    // All of it in one file.
    let raw = rusqlite::Connection::open(site.path("db.sqlite")).expect("opens");
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("folded");
    drop(raw);
    let before = everything(&site.open());
    let whole = fs::read(site.path("db.sqlite")).expect("a file");
    let lengths = [0, 1, 15, 16, 99, 100, 511, 512, 4095, 4096, 4097].into_iter();
    for length in lengths.chain((0..whole.len()).step_by(whole.len() / 23)) {
        site.delete_database();
        fs::write(site.path("db.sqlite"), &whole[..length]).expect("truncated");
        assert_eq!(everything(&site.open()), before, "{length}");
    }
}

#[test]
fn two_that_find_the_damage_at_once_rebuild_it_once() {
    let site = Site::lived_in();
    let before = everything(&site.open());
    site.delete_database();
    let store = site.store();
    let threads: Vec<_> = (0..6)
        .map(|n| {
            let store = store.clone();
            thread::spawn(move || {
                let engine = Engine::open(store).expect("opens");
                create(&engine, &format!("by {n}"));
                engine.notices().len()
            })
        })
        .collect();
    let told: usize = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
    assert_eq!(told, 1, "rebuilt once");
    let listed = site.open().call("a", &issue::List::default()).expect("a list").len();
    assert_eq!(listed, before["issues"].as_array().expect("a list").len() + 6);
}

#[test]
fn a_torn_or_lost_journal_goes_on_from_a_backup() {
    for keep in [0, 1, 100] {
        let site = Site::lived_in();
        let segment =
            fs::read_dir(site.path("local/journal")).expect("listed").next().expect("one").expect("read").path();
        let bytes = fs::read(&segment).expect("a file");
        fs::write(&segment, &bytes[..bytes.len() * keep / 101]).expect("torn");
        create(&site.open(), "after the tear");
        create(&site.open(), "and another");
        let before = everything(&site.open());
        site.delete_database();
        assert_eq!(everything(&site.open()), before, "{keep}");
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("copied");
        }
    }
}

/// How many bytes apart the flipped ones lie; PENSA_TEST_EVERY_BYTE flips them all, from the one that it names on.
fn stride(usual: usize) -> (usize, usize) {
    if let Ok(first) = std::env::var("PENSA_TEST_EVERY_BYTE") {
        return (first.parse().unwrap_or(0), 1);
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_micros();
    let seed = std::env::var("PENSA_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(now);
    println!("PENSA_TEST_SEED={seed}");
    (usize::try_from(seed % usual as u128).expect("small"), usual)
}

/// Where the header of a SQLite file has the version of its schema.
const USER_VERSION: std::ops::Range<usize> = 60..64;

/// Flips bits of one file of a store, one at a time; damage must be found, and nothing may be lost.
fn flip(file: &str, length: usize, usual_stride: usize, fold: bool) {
    let pristine = Site::lived_in();
    let before = everything(&pristine.open());
    if fold {
        let raw = rusqlite::Connection::open(pristine.path("db.sqlite")).expect("opens");
        raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("folded");
    }
    let good = fs::read(pristine.path(file)).expect("a file");
    let (start, step) = stride(usual_stride);
    let (mut silent, mut mended, mut refused) = (0, 0, 0);
    for at in (start..good.len().min(length)).step_by(step) {
        let dir = tempfile::tempdir().expect("a directory");
        let site = Site { dir };
        copy_tree(&pristine.path(""), &site.path(""));
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(site.path(file), &bad).expect("flipped");
        let engine = match Engine::open(site.store()) {
            // A higher version may be a newer Pensa's: the file is left alone.
            Err(e) if e.code == Code::NewerSchema && file == "db.sqlite" && USER_VERSION.contains(&at) => {
                assert_eq!(fs::read(site.path(file)).expect("a file"), bad, "{at}");
                refused += 1;
                continue;
            }
            opened => opened.unwrap_or_else(|e| panic!("{file} {at}: {e:?}")),
        };
        let found = try_everything(&engine);
        if found.as_ref() == Ok(&before) {
            silent += 1;
            continue;
        }
        let report =
            engine.call("a", &Doctor { fix: false, deep: true }).unwrap_or_else(|e| panic!("{file} {at}: {e:?}"));
        let is_mended = try_everything(&site.open()).as_ref() == Ok(&before);
        let told = report.findings.iter().any(|finding| finding.severity == Severity::Error);
        assert!(told || is_mended, "{file} {at}: {report:?} {found:?}");
        engine.call("a", &Doctor { fix: true, deep: true }).unwrap_or_else(|e| panic!("{file} {at}: {e:?}"));
        let after = everything(&site.open());
        assert_same_issues(&after, &before, &format!("{file} {at}"));
        mended += 1;
    }
    println!("{file}: {silent} without consequence or mended on the way, {mended} by the doctor, {refused} refused");
}

/// Equal but for the history, which tells of the repair.
#[track_caller]
fn assert_same_issues(after: &Value, before: &Value, what: &str) {
    let shown = |all: &Value| -> Vec<Value> {
        all["issues"].as_array().expect("a list").iter().map(|issue| issue["shown"].clone()).collect()
    };
    let unclaimed = |mut issues: Vec<Value>| {
        // --fix gives claims back; those have a lease and stay.
        issues.iter_mut().for_each(|issue| drop(issue.as_object_mut().map(|issue| issue.remove("updated_at"))));
        issues
    };
    assert_eq!(unclaimed(shown(after)), unclaimed(shown(before)), "{what}");
}

#[test]
fn a_flipped_bit_in_the_first_pages_is_found_and_costs_nothing() {
    flip("db.sqlite", 5 * 4096, 61, true);
}

#[test]
fn a_flipped_bit_in_any_page_is_found_and_costs_nothing() {
    flip("db.sqlite", usize::MAX, 401, true);
}

#[test]
fn a_flipped_bit_in_the_log_is_found_and_costs_nothing() {
    flip("db.sqlite-wal", usize::MAX, 3001, false);
}

#[test]
fn a_schema_that_was_tampered_with_is_found_by_a_deep_check_and_rebuilt() {
    let site = Site::lived_in();
    let before = everything(&site.open());
    let raw = rusqlite::Connection::open(site.path("db.sqlite")).expect("opens");
    raw.execute_batch("DROP INDEX issues_lease; CREATE INDEX of_their_own ON issues(spec)").expect("changed");
    drop(raw);
    let engine = site.open();
    let report = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report");
    let told: Vec<&str> = report.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(told, ["the definition of issues_lease is not what it should be"]);
    engine.call("a", &Doctor { fix: true, deep: true }).expect("a report");
    assert!(engine.notices()[0].contains("rebuilt"));
    let report = site.open().call("a", &Doctor { fix: false, deep: true }).expect("a report");
    assert!(report.findings.is_empty(), "{report:?}");
    assert_eq!(everything(&site.open()), before);
}

#[test]
fn silent_damage_to_text_is_found_by_a_deep_check_and_mended() {
    let site = Site::lived_in();
    let before = everything(&site.open());
    let raw = rusqlite::Connection::open(site.path("db.sqlite")).expect("opens");
    raw.execute_batch(
        "UPDATE issues SET title = 'something else' WHERE title = 'bug';
         UPDATE comments SET text = 'never said';
         UPDATE events SET detail = '{}' WHERE id = 2;
         UPDATE tombstones SET actor = 'nobody';
         DELETE FROM title_keys",
    )
    .expect("damaged");
    drop(raw);
    let engine = site.open();
    let report = engine.call("a", &Doctor { fix: false, deep: false }).expect("a report");
    assert!(report.findings.iter().all(|finding| finding.check != "damage"), "{report:?}");
    let report = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report");
    let damage: Vec<&str> = report
        .findings
        .iter()
        .filter(|finding| finding.check == "damage")
        .map(|finding| finding.message.split(' ').next().unwrap_or_default())
        .collect();
    for table in ["issues", "comments", "events", "tombstones", "title_keys"] {
        assert!(damage.contains(&table), "{table}: {report:?}");
    }
    let fixed = engine.call("a", &Doctor { fix: true, deep: true }).expect("a report");
    assert_eq!(fixed.fixes_applied.len(), damage.len(), "{fixed:?}");
    assert_same_issues(&everything(&engine), &before, "mended");
    let report = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report");
    assert!(report.findings.iter().all(|finding| finding.severity != Severity::Error), "{report:?}");
}

#[test]
fn a_transaction_too_large_for_the_journal_is_kept_by_a_backup() {
    let site = Site::new();
    let engine = site.open();
    create(&engine, "before");
    let text = "x".repeat(60_000);
    let one = |n| json!({"op": "issue.create", "title": format!("{n}"), "issue_type": "task", "description": text});
    run::<batch::Batch>(&engine, "alice", json!({"operations": (0..300).map(one).collect::<Vec<_>>()}));
    assert_eq!(engine.call("a", &backup::Backups {}).expect("a list").len(), 1);
    create(&engine, "after");
    let before = everything(&engine);
    drop(engine);
    site.delete_database();
    assert_eq!(everything(&site.open()), before);
}

#[test]
fn an_issue_that_got_another_id_is_rebuilt_from_its_file_and_the_journal() {
    let site = Site::new();
    let engine = site.open();
    let id = create(&engine, "mine");
    run::<comment::Add>(&engine, "alice", json!({"id": id, "text": "on mine"}));
    run::<store::Export>(&engine, "alice", json!({}));
    let elder = json!({"id": id, "title": "elder", "issue_type": "task", "status": "open", "priority": "p2",
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"});
    fs::write(site.path("issues.jsonl"), format!("{elder}\n")).expect("written");
    run::<store::Import>(&engine, "alice", json!({}));
    run::<store::Export>(&engine, "alice", json!({}));
    let titles = |engine: &Engine| {
        let all = engine.call("a", &issue::List::default()).expect("a list");
        let mut all: Vec<_> = all.into_iter().map(|issue| (issue.title, issue.id.to_string())).collect();
        all.sort();
        all
    };
    let before = titles(&engine);
    assert_eq!(before.len(), 2);
    drop(engine);
    site.delete_database();
    fs::remove_dir_all(site.path("local/backups")).expect("gone too");
    let engine = site.open();
    assert_eq!(titles(&engine), before);
    let moved = run::<issue::Show>(&engine, "a", json!({"id": before[1].1}));
    assert_eq!((moved.issue.title.as_str(), moved.comments.len()), ("mine", 1));
}

/// The direst case: no backup, and a journal that does not go back to the beginning.
#[test]
fn without_backups_the_last_export_and_what_is_left_of_the_journal_are_put_together() {
    let site = Site::new();
    let engine = site.open();
    let (one, two) = (create(&engine, "one"), create(&engine, "two"));
    engine.call("alice", &store::Export::default()).expect("exported");
    run::<issue::Close>(&engine, "alice", json!({"id": one}));
    run::<dep::Add>(&engine, "alice", json!({"issue_id": two, "depends_on_id": one}));
    let three = create(&engine, "three");
    drop(engine);
    let dir = site.path("local/journal");
    let first = dir.join("000000000000001.jsonl");
    let lines = fs::read_to_string(&first).expect("a journal");
    let rest: String = lines.split_inclusive('\n').skip(2).collect();
    fs::remove_file(first).expect("removed");
    fs::write(dir.join("000000000000003.jsonl"), rest).expect("written");
    site.delete_database();
    let engine = site.open();
    let listed = engine.call("a", &issue::List::default()).expect("a list");
    let mut ids: Vec<String> = listed.iter().map(|issue| issue.id.to_string()).collect();
    ids.sort();
    let mut all = vec![one.clone(), two, three];
    all.sort();
    assert_eq!(ids, all);
    let closed = listed.iter().find(|issue| issue.id.to_string() == one).expect("there");
    assert_eq!(closed.status.as_str(), "closed");
    let report = engine.call("a", &Doctor { fix: false, deep: true }).expect("a report");
    assert!(report.findings.iter().all(|finding| finding.severity != Severity::Error), "{report:?}");
}

#[test]
fn the_projects_and_tokens_of_a_server_are_rebuilt_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let projects = Projects::make_directory(dir.path()).expect("a place");
    let control = projects.control().expect("opens");
    for name in ["web", "old"] {
        run::<project::Create>(&control, "admin", json!({"name": name}));
    }
    run::<project::Archive>(&control, "admin", json!({"name": "old"}));
    let made = run::<token::Create>(&control, "admin", json!({"project": "web", "role": "agent"}));
    let revoked = run::<token::Create>(&control, "admin", json!({"project": "web", "role": "viewer"}));
    run::<token::Revoke>(&control, "admin", json!({"id": revoked.id}));
    let all = |control: &Engine| {
        let projects = run::<project::List>(control, "admin", json!({"all": true}));
        json!([projects, run::<token::List>(control, "admin", json!({"all": true}))])
    };
    let before = all(&control);
    let hash: [u8; 32] = Sha256::digest(made.token.as_bytes()).into();
    drop(control);
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(dir.path().join("control").join(name));
    }
    let control = projects.control().expect("opens");
    assert_eq!(all(&control), before);
    assert!(Projects::grant(&control, &hash).expect("looked up").is_some());
}

#[test]
fn a_group_of_a_daemon_journals_what_succeeded_and_nothing_else() {
    let site = Site::lived_in();
    let writer = GroupWriter::start(site.open()).expect("starts");
    let answers: Vec<_> = (0..60)
        .map(|n| {
            let (send, receive) = mpsc::channel();
            let good = json!({"op": "issue.create", "title": format!("{n}"), "issue_type": "task"});
            let bad = json!({"op": "issue.close", "id": "pn-nowhere"});
            let operations = if n % 3 == 0 { vec![good.clone(), bad] } else { vec![good] };
            // What a batch did before it failed is undone.
            let run = entry("batch").expect("in the catalog").run;
            let work = move |cx: &Context<'_>, tx: &Tx<'_>| run(cx, tx, &json!({"operations": operations}));
            writer
                .submit(Caller::local("alice"), None, work, move |answer| send.send(answer.is_ok()).expect("awaited"));
            receive
        })
        .collect();
    let made = answers.iter().filter(|answer| answer.recv().expect("an answer")).count();
    assert_eq!(made, 40);
    drop(writer);
    let before = everything(&site.open());
    site.delete_database();
    assert_eq!(everything(&site.open()), before);
}
