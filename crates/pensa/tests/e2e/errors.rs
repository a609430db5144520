//! Where answers and errors go, and with which exit code.

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::steps::{keys, task, text};

crate::in_both_modes! {
    success_is_exit_0_with_data_on_stdout_only,
    an_error_is_exit_1_with_json_on_stderr_only,
    a_person_sees_the_error_and_what_to_do_next,
}

fn success_is_exit_0_with_data_on_stdout_only(pn: &Sandbox) {
    let id = task(pn, "one");
    for args in [vec!["list"], vec!["show", &id], vec!["ready"], vec!["blocked"], vec!["status"], vec!["doctor"]] {
        for run in [pn.pn(&args), pn.pn(&args).json()] {
            let answer = run.answer();
            assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{args:?}: {answer:?}");
        }
    }
}

fn an_error_is_exit_1_with_json_on_stderr_only(pn: &Sandbox) {
    let error = pn.pn(["show", "pn-a1b2c3d4"]).fails("not_found");
    assert_eq!(error["error"], "issue not found: pn-a1b2c3d4");
    assert!(keys(&error).iter().all(|key| ["error", "code", "hint"].contains(key)), "{error}");
}

fn a_person_sees_the_error_and_what_to_do_next(pn: &Sandbox) {
    let answer = pn.pn(["show", "pn-a1b2c3d4"]).answer();
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(1), ""));
    let mut lines = answer.stderr.lines();
    assert_eq!(lines.next(), Some("error: issue not found: pn-a1b2c3d4"));
    assert!(lines.next().is_some_and(|line| line.starts_with("hint: ")), "{answer:?}");
}

#[test]
fn a_wrong_value_is_reported_with_the_possible_and_the_nearest() {
    let pn = crate::sandbox();
    let hint = |args: &[&str]| text(&pn.pn(args).misused()["hint"]);
    for (args, possible, nearest) in [
        (&["create", "x", "-t", "tsk"][..], "bug, task, test, chore", Some("task")),
        (&["list", "--status", "opn"], "open, in_progress, closed", Some("open")),
        (&["list", "--status", "zzz"], "open, in_progress, closed", None),
        (&["dep", "tree", "x", "--direction", "dwn"], "up, down", Some("down")),
    ] {
        let result = hint(args);
        assert!(result.contains(possible), "{args:?}: {result}");
        match nearest {
            Some(nearest) => assert!(result.ends_with(&format!("did you mean {nearest}?")), "{args:?}: {result}"),
            None => assert!(!result.contains("did you mean"), "{args:?}: {result}"),
        }
    }
    assert!(hint(&["list", "--statsu", "open"]).contains("--status"));
    assert!(hint(&["lst"]).contains("pn ls"));
    assert_eq!(hint(&["update", "x", "--ttl", "5m"]), "pn help explains how to call it");
}

#[test]
fn a_wrong_command_line_is_exit_2() {
    let pn = crate::sandbox();
    let wrong: [&[&str]; 12] = [
        &["nonsense"],
        &["create"],
        &["create", "no type"],
        &["create", "bad", "-t", "feature"],
        &["create", "bad", "-t", "task", "-p", "p9"],
        &["list", "--status", "done"],
        &["list", "--sort", "colour"],
        &["list", "-n", "-1"],
        &["dep", "tree", "x", "--direction", "sideways"],
        &["update", "x", "--claim", "--unclaim"],
        &["update", "x", "--claim", "--ttl", "5 minutes"],
        &["update", "x", "--ttl", "5m"],
    ];
    for args in wrong {
        let error = pn.pn(args).misused();
        assert_eq!(error["code"], "invalid_input", "{args:?}");
        assert!(!text(&error["error"]).is_empty());
        let result = pn.pn(args).answer();
        assert_eq!((result.code, result.stdout.as_str()), (Some(2), ""), "{args:?}");
    }
    assert_eq!(pn.pn(["list"]).ok_json(), json!([]));
}

#[test]
fn help_and_version_are_answers() {
    let pn = crate::sandbox();
    assert!(pn.pn(["--version"]).ok().starts_with("pn "));
    assert!(pn.pn(["--help"]).ok().contains("Usage"));
    assert!(pn.pn(["dep", "add", "--help"]).ok().contains("Usage"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let pn = crate::sandbox();
    let title = "x".repeat(400);
    let line = json!({"op": "issue.create", "title": title, "issue_type": "task"}).to_string() + "\n";
    pn.pn(["batch"]).stdin(line.repeat(300)).ok();
    let mut shell = pn.command("bash");
    shell.args(["-c", r#""$1" list | head -n 1; echo "${PIPESTATUS[0]}""#, "bash", crate::PN]);
    let shown = pn.tool(&mut shell);
    assert_eq!(shown.lines().last(), Some("0"), "{shown}");
}
