//! Damage, backups and `pn doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use pensa_testkit::{Disk, Sandbox};
use serde_json::Value;

use crate::in_both_modes;
use crate::steps::{elements, everything, ids, keys, task, text};

fn lose_database(pn: &Sandbox) {
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        let _ = fs::remove_file(pn.store().join(name));
    }
}

fn garble(pn: &Sandbox) {
    lose_database(pn);
    fs::write(pn.store().join("db.sqlite"), "this is no database\n".repeat(1000)).expect("written");
}

#[test]
fn a_rebuilt_database_is_reported_once_also_in_json() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    let before = everything(&pn);
    garble(&pn);
    let answer = pn.pn(["list"]).answer();
    assert!(answer.stdout.contains(&id), "{answer:?}");
    assert!(answer.stderr.starts_with("warning: ") && answer.stderr.contains("rebuilt"), "{answer:?}");
    assert_eq!(pn.pn(["list"]).answer().stderr, "");
    assert_eq!(everything(&pn), before);
    let kept = fs::read_dir(pn.store().join("local/set-aside")).expect("set aside").next().expect("one").expect("one");
    assert!(fs::read_to_string(kept.path().join("db.sqlite")).expect("a file").starts_with("this is no database"));
    garble(&pn);
    let answer = pn.pn(["list"]).json().answer();
    let result: Value = serde_json::from_str(&answer.stderr).expect("one line of JSON");
    assert!(text(&result["warning"]).contains("rebuilt"), "{result}");
    for _ in 0..6 {
        garble(&pn);
        pn.pn(["list"]).ok();
    }
    assert!(fs::read_dir(pn.store().join("local/set-aside")).expect("set aside").count() <= 3);
}

#[test]
fn a_daemon_rebuilds_its_damaged_database() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    let log = pn.path("daemon.log");
    let daemon = pn.pn(["daemon", "--port", "0"]).json().errors_to(&log).serve();
    let through = |args: &[&str]| pn.pn(args).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere"));
    assert_eq!(through(&["list", "-q"]).ok().trim(), id);
    garble(&pn);
    let made = text(&through(&["create", "after", "-t", "task"]).ok_json()["id"]);
    let listed = through(&["list", "-q"]).ok();
    assert!(listed.contains(&id) && listed.contains(&made), "{listed}");
    assert_eq!(pn.pn(["list", "-q"]).ok(), listed);
    assert!(fs::read_to_string(&log).expect("a log").contains("rebuilt"));
}

fn backups_are_made_listed_and_restored(pn: &Sandbox) {
    let one = task(pn, "one");
    let made = pn.pn(["backup"]).ok_json();
    assert_eq!(keys(&made), ["path", "bytes", "event"]);
    task(pn, "two");
    let listed = elements(&pn.pn(["backup", "--list"]).ok_json());
    assert_eq!(listed, std::slice::from_ref(&made));
    let path = text(&made["path"]);
    let name = path.rsplit('/').next().expect("a name");
    let restored = pn.pn(["restore", name]).ok_json();
    assert_eq!(keys(&restored), ["status", "event", "issues", "backup"]);
    assert_eq!(ids(pn, &["list"]), [one.as_str()]);
    assert_eq!(elements(&pn.pn(["backup", "--list"]).ok_json()).len(), 2, "what was there before is kept");
    let three = task(pn, "three");
    assert_eq!(ids(pn, &["list"]), [one, three]);
    pn.pn(["restore", "20000101T000000Z-1.sqlite"]).fails("not_found");
}

fn event_numbers_continue_above_those_before_a_restore(pn: &Sandbox) {
    let id = task(pn, "one");
    let made = text(&pn.pn(["backup"]).ok_json()["path"]);
    let name = made.rsplit('/').next().expect("a name");
    let first = pn.pn(["restore", name]).ok_json()["event"].as_i64().expect("a number");
    let second = pn.pn(["restore", name]).ok_json()["event"].as_i64().expect("a number");
    assert!(second > first, "numbers are never given out twice: {first} {second}");
    assert_eq!(ids(pn, &["list"]), [id]);
}

in_both_modes! {
    backups_are_made_listed_and_restored,
    event_numbers_continue_above_those_before_a_restore,
}

#[test]
fn through_a_daemon_no_file_chosen_by_the_caller_is_touched() {
    let pn = crate::sandbox();
    task(&pn, "one");
    let elsewhere = pn.path("elsewhere/mine.sqlite").display().to_string();
    pn.pn(["backup", &elsewhere]).ok_json();
    let daemon = pn.daemon();
    let through = |args: &[&str]| pn.pn(args).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere"));
    through(&["backup", "other.sqlite"]).fails("forbidden");
    for file in [elsewhere.as_str(), "../../db.sqlite", "mine", "/etc/passwd", "..\\x.sqlite"] {
        through(&["restore", file]).fails("forbidden");
    }
    through(&["restore", "mine.sqlite"]).dir(pn.path("home")).fails("not_found");
}

#[test]
fn a_full_disk_during_backup_and_restore_changes_nothing() {
    let pn = Sandbox::bare(crate::PN);
    let disk = Disk::small(&pn, &pn.project(), "12m");
    repository_on(&disk);
    pn.pn(["init"]).on(&disk).ok();
    let large = pn.pn(["create", "large", "-t", "task", "--description", "-"]).stdin("x".repeat(300_000));
    large.on(&disk).ok_json();
    let made = text(&pn.pn(["backup"]).on(&disk).ok_json()["path"]);
    pn.pn(["create", "two", "-t", "task"]).on(&disk).ok_json();
    let before = pn.pn(["list"]).on(&disk).ok_json();
    fill(&disk);
    pn.pn(["backup"]).on(&disk).fails("disk_full");
    pn.pn(["restore", &made]).on(&disk).fails("disk_full");
    assert_eq!(pn.pn(["list"]).on(&disk).ok_json(), before);
    let dir = Path::new(&made).parent().and_then(|dir| dir.strip_prefix(pn.project()).ok()).expect("on that disk");
    let left = fs::read_dir(disk.file(dir.to_str().expect("UTF-8"))).expect("backups");
    let drafts =
        left.filter(|entry| entry.as_ref().expect("one").file_name().to_string_lossy().contains("tmp")).count();
    assert_eq!(drafts, 0, "no drafts are left");
    fs::remove_file(disk.file("ballast")).expect("removed");
    pn.pn(["restore", &made]).on(&disk).ok_json();
    assert_eq!(elements(&pn.pn(["list"]).on(&disk).ok_json()).len(), 1);
}

#[test]
fn a_full_disk_while_rebuilding_is_reported_and_retried() {
    let pn = Sandbox::bare(crate::PN);
    let disk = Disk::small(&pn, &pn.project(), "2m");
    pn.pn(["init"]).on(&disk).ok();
    let large = pn.pn(["create", "large", "-t", "task", "--description", "-"]).stdin("x".repeat(100_000));
    let id = text(&large.on(&disk).ok_json()["id"]);
    for name in ["db.sqlite", "db.sqlite-wal", "db.sqlite-shm"] {
        fs::remove_file(disk.file(&format!(".pensa/{name}"))).expect("removed");
    }
    fill(&disk);
    for _ in 0..2 {
        pn.pn(["list"]).on(&disk).fails("disk_full");
    }
    fs::remove_file(disk.file("ballast")).expect("removed");
    assert_eq!(pn.pn(["list", "-q"]).on(&disk).ok().trim(), id);
}

/// Makes a directory a git repository, so that the journal is on the same disk.
fn repository_on(disk: &Disk) {
    for dir in [".git/objects", ".git/refs"] {
        fs::create_dir_all(disk.file(dir)).expect("made");
    }
    fs::write(disk.file(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
}

/// Fills a disk.
fn fill(disk: &Disk) {
    let mut ballast = fs::File::create(disk.file("ballast")).expect("made");
    while std::io::Write::write_all(&mut ballast, &[1u8; 4096]).is_ok() {}
}

fn checks(report: &Value) -> Vec<String> {
    elements(&report["findings"]).iter().map(|finding| text(&finding["check"])).collect()
}

#[test]
fn doctor_finds_and_repairs_leftover_files_and_permissions() {
    let pn = crate::sandbox();
    task(&pn, "one");
    assert_eq!(checks(&pn.pn(["doctor", "--deep"]).ok_json()), Vec::<String>::new());
    let old = SystemTime::now() - Duration::from_secs(3600);
    let backups = pn.durable().join("backups");
    let in_store = ["local/export-0123.tmp", "local/rebuild-0123.tmp-wal", "config.tmp-0123"];
    for path in in_store.map(|name| pn.store().join(name)).into_iter().chain([backups.join("0123.tmp")]) {
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        let file = fs::File::create(&path).expect("made");
        file.set_permissions(fs::Permissions::from_mode(0o600)).expect("set");
        file.set_modified(old).expect("set");
    }
    fs::File::create(pn.store().join("local/export-4567.tmp"))
        .expect("in use")
        .set_permissions(fs::Permissions::from_mode(0o600))
        .expect("set");
    fs::set_permissions(pn.store().join("db.sqlite"), fs::Permissions::from_mode(0o644)).expect("set");
    fs::set_permissions(pn.store().join("local"), fs::Permissions::from_mode(0o755)).expect("set");
    fs::set_permissions(&backups, fs::Permissions::from_mode(0o700)).expect("set");
    let found = checks(&pn.pn(["doctor"]).ok_json());
    assert_eq!(found.iter().filter(|check| *check == "leftover").count(), 4, "{found:?}");
    assert_eq!(found.iter().filter(|check| *check == "permissions").count(), 2, "{found:?}");
    let report = pn.pn(["doctor", "--fix"]).ok_json();
    assert_eq!(elements(&report["fixes_applied"]).len(), 6, "{report}");
    assert_eq!(checks(&pn.pn(["doctor"]).ok_json()), Vec::<String>::new());
    assert!(pn.store().join("local/export-4567.tmp").exists(), "that one may be in use");
    assert_eq!(fs::metadata(pn.store().join("db.sqlite")).expect("a file").permissions().mode() & 0o777, 0o600);
}

#[test]
fn doctor_reports_a_clock_that_went_backwards() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    task(&pn, "two");
    let sql = format!(
        "UPDATE events SET created_at = '2999-01-01T00:00:00.000Z' WHERE id = 1;
         UPDATE issues SET updated_at = '2999-01-01T00:00:00.000Z' WHERE id = '{id}'"
    );
    pn.tool(pn.command("sqlite3").arg(pn.store().join("db.sqlite")).arg(sql));
    let report = pn.pn(["doctor"]).ok_json();
    let result: Vec<Value> = elements(&report["findings"]).into_iter().filter(|f| f["check"] == "clock").collect();
    assert_eq!(result.len(), 3, "{report}");
    assert!(result.iter().any(|finding| finding["issue_id"] == id.as_str()), "{report}");
    assert!(result.iter().any(|finding| text(&finding["message"]).contains("backwards")), "{report}");
}

#[test]
fn a_lagging_journal_is_completed_by_the_next_writer() {
    let pn = crate::sandbox();
    task(&pn, "one");
    fs::remove_dir_all(pn.durable().join("journal")).expect("removed");
    let before = everything(&pn);
    lose_database(&pn);
    assert_eq!(everything(&pn), before);
    assert_eq!(checks(&pn.pn(["doctor", "--deep"]).ok_json()), Vec::<String>::new());
    task(&pn, "two");
    let before = everything(&pn);
    lose_database(&pn);
    assert_eq!(everything(&pn), before);
}

#[test]
fn doctor_reports_an_unreadable_journal_and_continues_from_a_backup() {
    let pn = crate::sandbox();
    for title in ["one", "two", "three"] {
        task(&pn, title);
    }
    let segment = pn.durable().join("journal/000000000000001.jsonl");
    let damaged = fs::read_to_string(&segment).expect("a journal").replace("two", "tow");
    fs::write(&segment, damaged).expect("written");
    let report = pn.pn(["doctor"]).ok_json();
    assert!(checks(&report).iter().all(|check| check == "journal"), "{report}");
    assert_eq!(elements(&pn.pn(["doctor", "--fix"]).ok_json()["fixes_applied"]).len(), 1);
    assert_eq!(checks(&pn.pn(["doctor", "--deep"]).ok_json()), Vec::<String>::new());
    let before = everything(&pn);
    lose_database(&pn);
    assert_eq!(everything(&pn), before);
}

#[test]
fn nothing_is_recovered_from_committed_files() {
    let pn = crate::sandbox();
    task(&pn, "one");
    let journal = pn.durable().join("journal");
    pn.git_init();
    // As in an earlier version.
    fs::rename(journal, pn.store().join("local/journal")).expect("moved");
    pn.git(["add", "--force", ".pensa/local/journal"]);
    lose_database(&pn);
    let result = pn.pn(["list"]).fails("forbidden");
    assert!(text(&result["error"]).contains("tracked by git"), "{result}");
    pn.git(["rm", "--quiet", "-r", "--cached", ".pensa/local"]);
    assert_eq!(elements(&pn.pn(["list"]).ok_json()).len(), 1);
}

#[test]
fn a_damaged_database_is_rebuilt_from_an_export_if_nothing_else_exists() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    pn.pn(["export"]).ok();
    fs::remove_dir_all(pn.durable()).expect("removed");
    fs::remove_dir_all(pn.store().join("local")).expect("removed");
    garble(&pn);
    let answer = pn.pn(["list", "-q"]).answer();
    assert_eq!(answer.stdout.trim(), id);
    assert!(answer.stderr.contains("JSONL"), "{answer:?}");
}

/// Pages of the file are overwritten while a daemon has it open and cached in part.
#[test]
fn damage_under_a_running_daemon_loses_nothing_acknowledged() {
    let pn = crate::sandbox();
    let mut acknowledged: Vec<String> = (0..20).map(|n| task(&pn, &format!("task {n}"))).collect();
    let database = pn.store().join("db.sqlite");
    pn.tool(pn.command("sqlite3").arg(&database).arg("PRAGMA wal_checkpoint(TRUNCATE)"));
    let daemon = pn.daemon();
    let through = |args: &[&str]| pn.pn(args).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere"));
    let length = fs::metadata(&database).expect("a database").len();
    let mut file = fs::OpenOptions::new().write(true).open(&database).expect("opens");
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(4096)).expect("there");
    std::io::Write::write_all(&mut file, &vec![0x5a; usize::try_from(length - 4096).expect("small")]).expect("written");
    let mut refused = 0;
    for n in 0..10 {
        let answer = through(&["create", &format!("later {n}"), "-t", "task"]).json().answer();
        match answer.code {
            Some(0) => acknowledged.push(text(&serde_json::from_str::<Value>(&answer.stdout).expect("an issue")["id"])),
            _ => {
                assert_eq!(answer.error()["code"], "corrupt", "{answer:?}");
                refused += 1;
            }
        }
    }
    assert!(refused <= 2, "{refused} of 10: it mends itself");
    let listed = through(&["list", "-q"]).ok();
    assert!(acknowledged.iter().all(|id| listed.contains(id)), "{listed}");
    assert_eq!(pn.pn(["list", "-q"]).ok(), listed);
    assert_eq!(checks(&pn.pn(["doctor", "--deep"]).ok_json()), Vec::<String>::new());
}
