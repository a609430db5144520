//! Batches, id prefixes, quiet output, and text from standard input.

use std::fs;

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{create, elements, event_types, everything, ids, show, task, text};

crate::in_both_modes! {
    a_batch_runs_its_lines_and_names_the_created_issues,
    a_failing_line_is_named_and_nothing_changes,
    a_batch_has_at_most_ten_thousand_operations,
    blank_lines_of_a_batch_are_skipped_but_counted,
    a_batch_claims_and_closes_like_the_commands_do,
    any_unique_prefix_names_an_issue,
    quiet_prints_ids_only,
    dash_reads_the_description_from_standard_input,
    text_may_begin_with_a_dash,
    pn_alone_shows_my_work_the_queue_and_counts,
}

fn a_batch_runs_its_lines_and_names_the_created_issues(pn: &Sandbox) {
    let lines = r#"{"op":"issue.create","title":"crash","issue_type":"bug","as":"bug"}
{"op":"issue.create","title":"log in","type":"task","priority":"p1","fixes":"@bug","as":"login"}
{"op":"issue.create","title":"log out","issue_type":"task","deps":["@login"],"as":"logout"}
{"op":"issue.create","title":"manual","issue_type":"chore"}
{"op":"dep.add","issue_id":"@logout","depends_on_id":"@bug"}
{"op":"comment.add","id":"@login","text":"seen"}
{"op":"issue.list"}"#;
    let results = pn.pn(["batch"]).stdin(lines).actor("ana").ok_json_lines();
    assert_eq!(results.len(), 7);
    let id = |at: usize| text(&results[at]["id"]);
    assert_eq!((&results[1]["fixes"], &results[1]["priority"]), (&json!(id(0)), &json!("p1")));
    assert_eq!(results[4], json!({"status": "added", "issue_id": id(2), "depends_on_id": id(0)}));
    assert_eq!(results[5]["actor"], "ana");
    assert_eq!(results[6], pn.pn(["list"]).ok_json());
    let mut waits = ids(pn, &["dep", "list", &id(2)]);
    waits.sort();
    let mut expected = [id(0), id(1)];
    expected.sort();
    assert_eq!(waits, expected);
    assert_eq!(event_types(pn, &id(1)), ["created", "commented"]);
}

fn a_failing_line_is_named_and_nothing_changes(pn: &Sandbox) {
    let kept = task(pn, "kept");
    let before = everything(pn);
    let good = r#"{"op":"issue.create","title":"one","issue_type":"task","as":"one"}"#;
    let close = json!({"op": "issue.close", "id": kept}).to_string();
    let cases = [
        (r#"{"op":"issue.close","id":"pn-nowhere"}"#, "not_found"),
        (r#"{"op":"issue.close","id":"@two"}"#, "not_found"),
        (r#"{"op":"dep.add","issue_id":"@one","depends_on_id":"@one"}"#, "cycle_detected"),
        (r#"{"op":"issue.create","title":"","issue_type":"task"}"#, "invalid_input"),
        (r#"{"op":"issue.create","title":"x","issue_type":"feature"}"#, "invalid_input"),
        (r#"{"op":"issue.create","title":"x","issue_type":"task","colour":"red"}"#, "invalid_input"),
        (r#"{"op":"issue.explode"}"#, "invalid_input"),
        (r#"{"op":"store.import"}"#, "invalid_input"),
        (r#"{"op":"batch","operations":[]}"#, "invalid_input"),
        (r#"{"op":7}"#, "invalid_input"),
        (r#"{"title":"x"}"#, "invalid_input"),
        (r#"{"op":"issue.list","as":"all"}"#, "invalid_input"),
        ("not json", "invalid_input"),
        ("[]", "invalid_input"),
        ("null", "invalid_input"),
        (r#"{"op":"issue.list""#, "invalid_input"),
    ];
    for (bad, code) in cases {
        let error = pn.pn(["batch"]).stdin(format!("{good}\n{close}\n{bad}\n{good}\n")).fails(code);
        assert!(text(&error["error"]).contains("line 3"), "{bad}: {error}");
    }
    let deep = format!("{good}\n{{\"op\":{}{}}}\n", "[".repeat(200_000), "]".repeat(200_000));
    let error = pn.pn(["batch"]).stdin(deep).fails("invalid_input");
    assert!(text(&error["error"]).contains("line 2"), "{error}");
    assert_eq!(everything(pn), before);
}

fn a_batch_has_at_most_ten_thousand_operations(pn: &Sandbox) {
    let count = "{\"op\":\"issue.count\"}\n";
    assert_eq!(pn.pn(["batch"]).stdin(count.repeat(10_000)).ok_json_lines().len(), 10_000);
    let one_more = format!("{{\"op\":\"issue.create\",\"title\":\"x\",\"type\":\"task\"}}\n{}", count.repeat(10_000));
    let error = pn.pn(["batch"]).stdin(one_more).fails("too_large");
    assert!(text(&error["error"]).contains("10000"), "the limit is named: {error}");
    assert_eq!(pn.pn(["list"]).ok_json(), json!([]));
    assert!(pn.pn(["batch"]).stdin("").ok_json_lines().is_empty());
}

fn blank_lines_of_a_batch_are_skipped_but_counted(pn: &Sandbox) {
    let good = r#"{"op":"issue.create","title":"one","issue_type":"task"}"#;
    let made = pn.pn(["batch"]).stdin(format!("\n{good}\n  \n\n{good}\r\n\n")).ok_json_lines();
    assert_eq!(made.len(), 2);
    let error =
        pn.pn(["batch"]).stdin(format!("\n{good}\n\n{{\"op\":\"issue.show\",\"id\":\"zz\"}}\n")).fails("not_found");
    assert!(text(&error["error"]).contains("line 4"), "the line of the input is named: {error}");
    assert_eq!(ids(pn, &["list"]).len(), 2);
}

fn a_batch_claims_and_closes_like_the_commands_do(pn: &Sandbox) {
    let (mine, theirs) = (task(pn, "mine"), task(pn, "theirs"));
    pn.pn(["update", &theirs, "--claim"]).actor("ben").ok_json();
    let claim = |id: &str| json!({"op": "issue.update", "id": id, "claim": true, "ttl": "1h"}).to_string();
    let both = format!("{}\n{}\n", claim(&mine), claim(&theirs));
    pn.pn(["batch"]).stdin(both).actor("ana").fails("already_claimed");
    assert_eq!(show(pn, &mine)["status"], "open");
    let close = json!({"op": "issue.close", "id": mine, "reason": "done"});
    let file = pn.path("batch.jsonl");
    fs::write(&file, format!("{}\n{close}\n", claim(&mine))).expect("written");
    let path = file.to_str().expect("a path");
    let results = pn.pn(["batch", path]).actor("ana").ok_json_lines();
    assert_eq!((&results[0]["assignee"], &results[1]["status"]), (&json!("ana"), &json!("closed")));
    assert_eq!(event_types(pn, &mine), ["created", "claimed", "closed"]);
}

/// Imports issues with given ids.
fn import_ids(pn: &Sandbox, wanted: &[&str]) {
    let line = |id: &&str| {
        let at = "2026-01-02T03:04:05Z";
        json!({"id": id, "title": id, "issue_type": "task", "status": "open", "priority": "p2",
            "created_at": at, "updated_at": at})
        .to_string()
            + "\n"
    };
    fs::write(pn.store().join("issues.jsonl"), wanted.iter().map(line).collect::<String>()).expect("written");
    pn.pn(["import"]).ok_json();
}

fn any_unique_prefix_names_an_issue(pn: &Sandbox) {
    import_ids(pn, &["pn-aa110000", "pn-aa220000", "pn-bb000000", "pn-bb", "bd-42.1"]);
    for (given, meant) in [
        ("pn-aa1", "pn-aa110000"),
        ("aa2", "pn-aa220000"),
        ("pn-bb", "pn-bb"),
        ("pn-bb0", "pn-bb000000"),
        ("bd-4", "bd-42.1"),
        ("bd-42.1", "bd-42.1"),
    ] {
        assert_eq!(show(pn, given)["id"], meant, "{given}");
    }
    for ambiguous in ["pn-aa", "aa", "pn-", "p"] {
        let error = pn.pn(["show", ambiguous]).fails("ambiguous_id");
        assert!(text(&error["error"]).contains("pn-aa110000"), "{error}");
    }
    assert_eq!(show(pn, "pn-AA1")["id"], "pn-aa110000");
    pn.pn(["dep", "add", "aa1", "aa2"]).ok_json();
    pn.pn(["close", "aa"]).fails("ambiguous_id");
    assert_eq!(pn.pn(["close", "aa1"]).ok_json()["id"], "pn-aa110000");
}

fn quiet_prints_ids_only(pn: &Sandbox) {
    let id = pn.pn(["-q", "create", "login crash on empty password", "-t", "task"]).ok();
    assert!(id.starts_with("pn-") && id.len() == 12 && id.ends_with('\n'), "{id:?}");
    let again = pn.pn(["create", "login crash on empty password", "-t", "task", "-q"]).answer();
    assert_eq!(again.stderr, "", "no note about similar issues");
    assert_eq!(pn.pn(["list", "-q"]).ok(), format!("{id}{}", again.stdout));
    assert_eq!(pn.pn(["ready", "--quiet", "-n", "1"]).ok(), id);
    assert_eq!(pn.pn(["blocked", "-q"]).ok(), "");
    assert_eq!(pn.pn(["show", "-q", id.trim()]).ok(), id);
    assert_eq!(pn.pn(["list", "-q"]).ok_json(), pn.pn(["list"]).ok_json(), "JSON, if that is asked for too");
}

fn dash_reads_the_description_from_standard_input(pn: &Sandbox) {
    let result = "first line\n\tsecond line, Zoë\n";
    let made = pn.pn(["create", "one", "-t", "task", "--description", "-"]).stdin(result).ok_json();
    assert_eq!(made["description"], result.trim_end());
    let id = text(&made["id"]);
    let updated = pn.pn(["update", &id, "--description", "-"]).stdin("crlf\r\nlines").ok_json();
    assert_eq!(updated["description"], "crlf\nlines");
    let largest = "é".repeat((1 << 20) / 2);
    assert_eq!(pn.pn(["update", &id, "--description", "-"]).stdin(largest.clone()).ok_json()["description"], largest);
    pn.pn(["update", &id, "--description", "-"]).stdin(largest + "e").fails("too_large");
    pn.pn(["update", &id, "--description", "-"]).stdin([0xff, 0xfe]).fails("invalid_input");
}

/// Agents write lists in Markdown.
fn text_may_begin_with_a_dash(pn: &Sandbox) {
    let list = "- one\n- two";
    let made = pn.pn(["create", "one", "-t", "task", "--description", list]).ok_json();
    assert_eq!(made["description"], list);
    let id = text(&made["id"]);
    assert_eq!(pn.pn(["update", &id, "--description", "-x"]).ok_json()["description"], "-x");
    assert_eq!(pn.pn(["comment", "add", &id, list]).ok_json()["text"], list);
    assert_eq!(pn.pn(["close", &id, "--reason", list]).ok_json()["close_reason"], list);
}

fn pn_alone_shows_my_work_the_queue_and_counts(pn: &Sandbox) {
    let mine = task(pn, "mine to do");
    let next = create(pn, &["next in line", "-t", "task", "-p", "p1"]);
    create(pn, &["a problem", "-t", "bug"]);
    pn.pn(["update", &mine, "--claim"]).actor("ana").ok_json();
    let nothing: [&str; 0] = [];
    let shown = pn.pn(nothing).actor("ana").ok();
    for part in ["ana", "mine to do", "next in line", "2 open, 1 in progress, 0 closed"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("a problem"), "{shown}");
    let result = pn.pn(nothing).actor("ana").ok_json();
    let of = |list: &Value| elements(list).iter().map(|issue| text(&issue["id"])).collect::<Vec<_>>();
    assert_eq!((of(&result["mine"]), of(&result["ready"])), (vec![mine.clone()], vec![next.clone()]));
    assert_eq!(pn.pn(["-q"]).actor("ana").ok(), format!("{mine}\n{next}\n"));
}

#[test]
fn the_actor_is_the_flag_then_the_variable_then_git_then_the_user() {
    let pn = crate::sandbox();
    let id = task(&pn, "one");
    let last_actor = || text(&crate::steps::history(&pn, &id)[0]["actor"]);
    let comment = |extra: &[&str]| pn.pn([&["comment", "add", id.as_str(), "x"], extra].concat());
    comment(&[]).without_env("PN_ACTOR").ok_json();
    assert_eq!(last_actor(), "login-name");
    fs::write(pn.path("gitconfig"), "[user]\nname = Git User\n").expect("written");
    comment(&[]).without_env("PN_ACTOR").ok_json();
    assert_eq!(last_actor(), "Git User");
    comment(&[]).env("PN_ACTOR", "variable").ok_json();
    assert_eq!(last_actor(), "variable");
    comment(&["--actor", "flag"]).env("PN_ACTOR", "variable").ok_json();
    assert_eq!(last_actor(), "flag");
    comment(&[]).env("PN_ACTOR", "").ok_json();
    assert_eq!(last_actor(), "Git User", "an empty name is none");
}

#[test]
fn git_is_not_started_when_the_actor_is_given() {
    let pn = crate::sandbox();
    let trap = pn.path("trap");
    fs::create_dir(&trap).expect("made");
    fs::write(trap.join("git"), "#!/bin/sh\necho started >> \"$HOME/git-started\"\n").expect("written");
    pn.tool(pn.command("chmod").arg("755").arg(trap.join("git")));
    let path = format!("{}:/usr/bin:/bin", trap.display());
    pn.pn(["create", "one", "-t", "task"]).env("PATH", &path).ok_json();
    pn.pn(["create", "one", "-t", "task", "--actor", "ana"]).env("PATH", &path).without_env("PN_ACTOR").ok_json();
    pn.pn(["list"]).env("PATH", &path).without_env("PN_ACTOR").ok_json();
    assert!(!pn.path("home/git-started").exists());
    pn.pn(["create", "one", "-t", "task"]).env("PATH", &path).without_env("PN_ACTOR").ok_json();
    assert!(pn.path("home/git-started").exists(), "the trap works");
}

/// A directory for the start of the path, whose `git` creates a file when it is started.
fn marking_git(pn: &Sandbox) -> (std::ffi::OsString, std::path::PathBuf) {
    let (dir, mark) = (pn.path("bin"), pn.path("git-was-started"));
    fs::create_dir(&dir).expect("a directory");
    let script = format!("#!/bin/sh\ntouch '{}'\n[ \"$1\" = config ] && echo 'Gitta Name'\n", mark.display());
    fs::write(dir.join("git"), script).expect("a program");
    fs::set_permissions(dir.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("runnable");
    let path = std::env::var_os("PATH").unwrap_or_default();
    (std::env::join_paths(std::iter::once(dir).chain(std::env::split_paths(&path))).expect("a path"), mark)
}

#[test]
fn the_actor_is_looked_up_lazily() {
    let pn = crate::sandbox();
    let (path, mark) = marking_git(&pn);
    let created_by = |run: pensa_testkit::Run| {
        let id = text(&run.ok_json()["id"]);
        let history = pn.pn(["history", &id]).env("PATH", &path).without_env("PN_ACTOR").ok_json();
        text(&history[0]["actor"])
    };
    let create = |more: &[&str]| pn.pn([&["create", "who am I", "-t", "task"], more].concat()).env("PATH", &path);
    assert_eq!(created_by(create(&["--actor", "flag"]).env("PN_ACTOR", "variable")), "flag");
    assert_eq!(created_by(create(&[]).env("PN_ACTOR", "variable")), "variable");
    assert!(!mark.exists(), "neither a known actor nor a read starts git");
    assert_eq!(created_by(create(&[]).without_env("PN_ACTOR")), "Gitta Name");
    assert!(mark.exists());
    let nowhere = create(&[]).without_env("PN_ACTOR").env("PATH", "/nowhere").env("USER", "ursula");
    assert_eq!(created_by(nowhere), "ursula");
}
