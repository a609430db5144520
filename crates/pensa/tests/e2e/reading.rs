//! Output on a terminal, and what a pipe gets instead.

use pensa_testkit::Sandbox;

use crate::interactive::Terminal;

/// The output of `pn` on a terminal of 33 lines and 77 columns, without colours.
fn on_a_terminal(pn: &Sandbox, variables: &[&str], args: &[&str]) -> String {
    let mut line = vec!["NO_COLOR=1", "LC_ALL=C.UTF-8"];
    line.extend(variables);
    line.push(crate::PN);
    line.extend(args);
    let (shown, status) = Terminal::run(pn, "env", &line).end();
    assert!(status.success(), "{shown}");
    shown.replace('\r', "")
}

fn created(pn: &Sandbox, title: &str, more: &[&str]) -> String {
    let args = [&["create", title, "-q"], more].concat();
    pn.pn(args).ok().trim().to_owned()
}

#[test]
fn a_terminal_gets_times_as_people_say_them_and_titles_that_fit() {
    let pn = crate::sandbox();
    let long = format!("start {} end", "long ".repeat(30));
    let id = created(&pn, &long, &["-t", "task"]);
    let shown = on_a_terminal(&pn, &[], &["ls"]);
    let line = shown.lines().next().expect("a line");
    assert!(line.ends_with('…') && line.chars().count() <= 77, "{line}");
    assert!(shown.ends_with("1 issue\n"), "{shown}");
    let ascii = on_a_terminal(&pn, &["LC_ALL=", "LANG=C"], &["ls"]);
    assert!(ascii.lines().next().is_some_and(|line| line.ends_with("...")), "{ascii}");
    let piped = pn.pn(["ls"]).ok();
    assert!(piped.contains(&long) && !piped.contains("1 issue"), "{piped}");

    assert!(on_a_terminal(&pn, &[], &["show", &id]).contains("created just now by "));
    let exact = on_a_terminal(&pn, &[], &["show", &id, "--absolute"]);
    let piped = pn.pn(["show", &id]).ok();
    let created = piped.lines().find(|line| line.starts_with("created")).expect("when");
    assert!(exact.contains(created) && !piped.contains(" by "), "{exact}{piped}");
}

#[test]
fn empty_lists_say_so_on_a_terminal() {
    let pn = crate::sandbox();
    for (args, nothing) in [
        (["ready", "-n1"], "no issues\n"),
        (["agent", "list"], "no agents\n"),
        (["learning", "list"], "no learnings\n"),
        (["blocked", "-n1"], "no blocked issues\n"),
        (["conflicts", "-n1"], "no conflicts\n"),
        (["skill", "list"], "no skills\n"),
        (["events", "--type=closed"], "no events\n"),
    ] {
        assert_eq!(on_a_terminal(&pn, &[], &args), nothing, "{args:?}");
        assert_eq!(pn.pn(args).ok(), "");
    }
}

#[test]
fn a_terminal_is_shown_what_an_issue_has_to_do_with_others() {
    let pn = crate::sandbox();
    let task = created(&pn, "write the parser", &["-t", "task"]);
    let bug = created(&pn, "parser crashes", &["-t", "bug"]);
    let fix = created(&pn, "check the length", &["-t", "task", "--fixes", &bug]);
    pn.pn(["dep", "add", &bug, &task]).ok();
    pn.pn(["claim", &task, "--ttl", "2h"]).ok();

    let shown = on_a_terminal(&pn, &[], &["show", &task]);
    assert!(shown.contains(", 1 h left") && shown.contains("\nblocks\n  ") && shown.contains(&bug), "{shown}");
    let shown = on_a_terminal(&pn, &[], &["show", &bug]);
    assert!(shown.contains("\nfixed by\n  ") && shown.contains(&fix), "{shown}");
    let shown = on_a_terminal(&pn, &[], &["blocked"]);
    assert!(shown.contains(&format!("\n  waits for {task} ")) && shown.ends_with("\n1 blocked issue\n"), "{shown}");
    assert_eq!(pn.pn(["blocked"]).ok().lines().count(), 1);

    let tree = ["dep", "tree", &task];
    assert!(on_a_terminal(&pn, &[], &tree).contains(&format!("└─ {bug}")));
    assert!(on_a_terminal(&pn, &["LC_ALL=", "LANG=C"], &tree).contains(&format!("`- {bug}")));
    let detail = pn.pn(["show", &bug]).ok_json();
    assert_eq!((detail["fixed_by"][0]["id"].as_str(), detail.get("blocks")), (Some(fix.as_str()), None));
}

#[test]
fn the_log_fits_a_terminal_and_ends_with_a_count() {
    let pn = crate::sandbox();
    let long = format!("start {} end", "long ".repeat(30));
    let id = created(&pn, &long, &["-t", "task"]);
    for args in [&["log"][..], &["events", "--after", "0"], &["log", &id]] {
        for variables in [&[][..], &["NO_COLOR="]] {
            let shown = on_a_terminal(&pn, variables, args);
            let line = shown.lines().next().expect("a line");
            let visible = line.replace("\u{1b}[0m", "").replace("\u{1b}[2m", "").replace("\u{1b}[36m", "");
            assert!(visible.ends_with('…') && visible.chars().count() <= 77, "{args:?}: {line}");
            assert!(shown.replace("\u{1b}[0m", "").ends_with("1 event\n"), "{args:?}: {shown}");
        }
        let piped = pn.pn(args).ok();
        assert!(piped.contains("priority p2") && !piped.contains("1 event"), "{args:?}: {piped}");
    }
    let undoable = on_a_terminal(&pn, &[], &["undo", "--list"]);
    assert!(undoable.contains("just now") && !undoable.contains(".000Z"), "{undoable}");
    assert!(!pn.pn(["undo", "--list"]).ok().contains("just now"));
}

#[test]
fn long_output_goes_through_the_pager_that_the_user_chose() {
    let pn = crate::sandbox();
    let entries: Vec<String> =
        (0..40).map(|n| format!(r#"{{"op":"issue.create","title":"issue {n}","issue_type":"task"}}"#)).collect();
    pn.pn(["batch"]).stdin(entries.join("\n")).ok();
    let ls = |variables: &[&str], args: &[&str]| on_a_terminal(&pn, variables, &[&["ls"], args].concat());
    let pages = |shown: &str| shown.lines().all(|line| line.starts_with("| ")) && shown.lines().count() == 41;
    let pager = "PAGER=sed 's/^/| /'";

    assert!(pages(&ls(&[pager], &[])), "{}", ls(&[pager], &[]));
    assert!(!pages(&ls(&[pager], &["--no-pager"])));
    assert!(!ls(&[pager], &["-n3"]).contains('|'), "what fits is not paged");
    assert_eq!(ls(&["PAGER=no-such-pager"], &[]).lines().filter(|line| line.contains("open")).count(), 40);
    assert_eq!(ls(&["PAGER="], &[]).lines().count(), 41);

    pn.pn(["config", "set", "pager", "touch ran; cat", "--project"]).fails("forbidden");
    std::fs::write(pn.store().join("config.toml"), "pager = \"touch ran; cat\"\n").expect("written");
    assert!(pages(&ls(&[pager], &[])));
    assert!(!pn.project().join("ran").exists(), "a repository does not choose what runs here");
    pn.pn(["config", "set", "pager", "sed 's/^/| /'", "--user"]).ok();
    let shown = ls(&["PAGER=cat"], &[]);
    assert!(pages(&shown), "{shown}");
}
