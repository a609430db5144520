//! `pn trace`: the history of an issue for people, reports and programs.

use pensa_testkit::{Run, Sandbox};

use crate::steps::{create, elements, keys, task, text};

crate::in_both_modes! {
    a_trace_is_printed_for_people_reports_and_programs,
    commits_that_mention_an_issue_are_in_its_trace,
    text_of_records_neither_harms_a_terminal_nor_forges_a_report,
}

/// In the repository of the project, also through a daemon.
fn here(pn: &Sandbox, args: &[&str]) -> Run {
    pn.pn(args).dir(pn.project())
}

fn events(trace: &serde_json::Value) -> Vec<String> {
    elements(&trace["entries"])
        .iter()
        .map(|entry| format!("{} {}", text(&entry["kind"]), text(&entry["event"])))
        .collect()
}

fn a_trace_is_printed_for_people_reports_and_programs(pn: &Sandbox) {
    pn.git_init();
    let id = create(pn, &["login crash", "-t", "bug", "-p", "p0"]);
    let start = ["work", "start", &id, "--step", "find it", "--branch", "fix"];
    pn.pn(start).actor("ben").env("PN_SESSION", "s-1").ok();
    let exec = ["run", "exec", "--issue", &id, "--", "sh", "-c", "exit 3"];
    here(pn, &exec).actor("ben").env("PN_SESSION", "s-1").answer();
    pn.pn(["comment", "add", &id, "it is the empty password"]).actor("zoe").ok();
    pn.pn(["work", "step", "done", "--issue", &id]).actor("ben").ok();
    pn.pn(["close", &id, "--reason", "mended"]).actor("ben").ok();
    let result = pn.pn(["trace", &id]).ok_json();
    assert_eq!(keys(&result), ["issue", "entries", "left_out", "totals", "notes"]);
    let entries = events(&result);
    for event in [
        "issue created",
        "issue claimed",
        "work task.created",
        "run started",
        "run failed",
        "comment said",
        "work subtask.completed",
        "issue closed",
    ] {
        assert!(entries.iter().any(|entry| entry == event), "{event} in {entries:?}");
    }
    assert_eq!((&result["totals"]["runs"]["failed"], &result["totals"]["steps_done"]), (&1.into(), &1.into()));
    assert_eq!(result["totals"]["claims"][0]["actor"], "ben");
    let seen = pn.pn(["trace", &id]).ok();
    for part in [
        "login crash",
        "p0 bug closed",
        "closed after",
        "reason  mended",
        "@ben",
        "exit code 3",
        "1, 1 failed",
        "1 of 1 done",
        "claimed   ",
    ] {
        assert!(seen.contains(part), "{part:?} in {seen}");
    }
    let page = pn.pn(["trace", &id, "--format", "md"]).ok();
    assert!(page.starts_with(&format!("# {id}: login crash\n\n- Status: closed (p0 bug)\n")), "{page}");
    assert!(
        page.contains("\n## Timeline\n\n### 20") && page.contains("(**failed**)") && page.contains("\n## Totals\n"),
        "{page}"
    );
    assert_eq!(pn.pn(["trace", &id, "--format", "json"]).ok_json()["issue"]["id"], id);
    let last = pn.pn(["trace", &id[..7], "-n", "1"]).ok_json();
    let left = i64::try_from(entries.len()).expect("few") - 1;
    assert_eq!((elements(&last["entries"]).len(), &last["left_out"]), (1, &left.into()));
    assert!(pn.pn(["trace", &id, "-n", "1"]).ok().contains("earlier entries are left out"));
    assert!(pn.pn(["trace", &id, "-q"]).ok().lines().any(|line| line.starts_with("run-")));
    pn.pn(["trace", "pn-0badf00d"]).fails("not_found");
}

fn commits_that_mention_an_issue_are_in_its_trace(pn: &Sandbox) {
    let (id, other) = (task(pn, "one"), task(pn, "two"));
    assert_eq!(here(pn, &["trace", &id]).ok_json()["totals"]["commits"], 0, "there is no repository");
    pn.git_init();
    assert_eq!(here(pn, &["trace", &id]).ok_json()["totals"]["commits"], 0, "there is no commit");
    let commit = |message: &str| pn.git(["commit", "-q", "--allow-empty", "-m", message]);
    commit(&format!("start {id}: one"));
    pn.git(["checkout", "-q", "-b", "side"]);
    commit(&format!("elsewhere\n\nmore of ({id})."));
    pn.git(["checkout", "-q", "--detach"]);
    commit(&format!("on no branch, {id}"));
    commit(&format!("of {other} and {id}0"));
    let result = here(pn, &["trace", &id]).ok_json();
    let commits: Vec<_> = elements(&result["entries"]).into_iter().filter(|entry| entry["kind"] == "commit").collect();
    let printed: Vec<String> = commits.iter().map(|entry| text(&entry["text"])).collect();
    assert_eq!(printed.len(), 3, "{printed:?}");
    assert!(printed.contains(&format!("start {id}: one")) && printed.contains(&"elsewhere".to_owned()), "{printed:?}");
    assert_eq!((&result["totals"]["commits"], text(&commits[0]["id"]).len()), (&3.into(), 40));
    assert_eq!(here(pn, &["trace", &id, "--no-commits"]).ok_json()["totals"]["commits"], 0);
    assert_eq!(here(pn, &["trace", &id, "-n", "2"]).ok_json()["totals"]["commits"], 3);
}

fn text_of_records_neither_harms_a_terminal_nor_forges_a_report(pn: &Sandbox) {
    let id = create(pn, &["a\u{202e}b **bold** <b>", "-t", "task"]);
    let make =
        ["loop", "create", "-t", "code", "--prompt-path", "p.md", "--validation-command", "true", "--issue", &id];
    let made = text(&pn.pn(make).ok_json()["id"]);
    pn.pn(["loop", "fail", &made, "--reason", "<script>\n# Totals\n[x](y)"]).ok();
    for args in [&["trace", &id][..], &["trace", &id, "--format", "md"], &["trace", &id, "-q"]] {
        let seen = pn.pn(args).ok();
        assert!(!seen.contains(['\u{1b}', '\u{202e}']), "{seen:?}");
    }
    let page = pn.pn(["trace", &id, "--format", "md"]).ok();
    assert!(!page.contains("<script>") && !page.contains("**bold**") && !page.contains("[x](y)"), "{page}");
    assert_eq!(page.lines().filter(|line| line.starts_with('#')).count(), 4, "{page}");
}
