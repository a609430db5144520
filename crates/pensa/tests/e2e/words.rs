//! Aliases, unquoted texts, and suggestions for unknown commands.

use serde_json::json;

use crate::steps::text;

#[test]
fn aliases_and_unquoted_texts_work() {
    let pn = crate::sandbox();
    let id = text(&pn.pn(["new", "fix", "the", "login", "-t", "task"]).ok_json()["id"]);
    let other = text(&pn.pn(["create", "-t", "task", "another", "one", "--priority", "p0"]).ok_json()["id"]);
    let third = text(&pn.pn(["create", "third", "-t", "task"]).ok_json()["id"]);
    let claimed = pn.pn(["claim", &id, "--ttl", "30m"]).ok_json();
    assert_eq!((&claimed["status"], &claimed["title"]), (&json!("in_progress"), &json!("fix the login")));
    pn.pn(["done", &third]).ok();
    let listed = |args: &[&str]| pn.pn(args).ok().lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(listed(&["ls", "-q"]), [id.as_str(), &other]);
    assert_eq!(listed(&["ls", "-q", "--all"]), [id.as_str(), &other, &third]);
    assert_eq!(listed(&["ls", "-q", "-n", "1"]), [id.as_str()]);
    assert_eq!(listed(&["ls", "-q", "--status", "closed"]), [third.as_str()]);
    assert!(pn.pn(["version"]).ok().starts_with("pn "));
    assert_eq!(pn.pn(["log"]).ok(), pn.pn(["events"]).ok());
    assert_eq!(pn.pn(["log", &id]).ok(), pn.pn(["history", &id]).ok());
    assert_eq!(pn.pn(["remember", "null", "parent", "crashes"]).ok_json()["text"], "null parent crashes");
    assert_eq!(pn.pn(["recall", "null", "parent"]).ok_json().as_array().map(Vec::len), Some(1));
    assert_eq!(pn.pn(["comment", "add", &id, "it", "works"]).ok_json()["text"], "it works");
    // Words after the value of a flag may belong to that flag.
    assert_eq!(pn.pn(["create", "a", "--spec", "x", "b", "-t", "task"]).answer().code, Some(2));
    assert_eq!(pn.pn(["show", &id, &other]).answer().code, Some(2));
}

#[test]
fn the_best_suggestion_comes_first() {
    let pn = crate::sandbox();
    for (typed, meant) in [("craete", "create"), ("add", "create"), ("updaet", "update"), ("modify", "update")] {
        let hint = text(&pn.pn([typed, "x"]).misused()["hint"]);
        assert_eq!(hint, format!("did you mean pn {meant}?"));
        let shown = pn.pn([typed, "x"]).answer();
        assert!(shown.stderr.contains(&format!("'pn {meant}'")) && !shown.stderr.contains("', '"), "{}", shown.stderr);
    }
    for unknown in ["xyzzy", "frobnicate"] {
        let shown = pn.pn([unknown]).answer().stderr;
        assert!(!shown.contains("tip") && !shown.contains("\n\n\n"), "{shown}");
    }
    assert!(!pn.pn(["create", "x", "-t", "task", "--force"]).answer().stderr.contains("tip"));
    assert!(pn.pn(["create", "x", "--tpye", "task"]).answer().stderr.contains("--type"));
    assert!(pn.pn(["config", "sett"]).answer().stderr.contains("'pn config set'"));
}

#[test]
fn words_of_other_tools_lead_to_ours() {
    let pn = crate::sandbox();
    let id = text(&pn.pn(["create", "one", "-t", "task", "--label", "ui"]).ok_json()["id"]);
    for (args, hint) in [
        (&["label", "add", &id, "x"][..], "did you mean pn update ID --add-label LABEL?"),
        (&["view", "add", "x", "y"], "did you mean pn view save?"),
        (&["learning", "delete", "x"], "did you mean pn learning forget?"),
        (&["config", "lst"], "did you mean pn config list?"),
        (&["tree", &id], "did you mean pn dep tree?"),
        (&["update", &id, "--prio", "p1"], "did you mean --priority?"),
        (&["update", &id, "--tag", "x"], "did you mean --add-label?"),
        (&["create", "x", "-t", "task", "--body=y"], "did you mean --description?"),
        (&["create", "x", "-t", "epic"], "possible values: bug, task, test, chore; did you mean task?"),
        (&["create", "x", "-t", "task", "-p", "high"], "possible values: p0, p1, p2, p3; did you mean p1?"),
        (&["ls", "--status", "done"], "possible values: open, in_progress, closed; did you mean closed?"),
    ] {
        assert_eq!(pn.pn(args).misused()["hint"], hint, "{args:?}");
    }
    for (args, hint) in [
        (&["ls", "--sort", "prioritty"][..], "did you mean priority? one of"),
        (&["create", "x", "-t", "task", "--estimate", "2hours"], "durations look like"),
        (&["diff", "--since", "lately"], "such as 12h"),
    ] {
        assert!(text(&pn.pn(args).misused()["hint"]).starts_with(hint), "{args:?}");
        assert!(pn.pn(args).answer().stderr.contains(&format!("tip: {hint}")), "{args:?}");
    }
    for (args, hint) in [
        (&["ls", "status:done"][..], "did you mean closed? one of"),
        (&["update", &id, "--due", "tomorow"], "did you mean tomorrow?"),
    ] {
        assert!(text(&pn.pn(args).fails("invalid_input")["hint"]).starts_with(hint), "{args:?}");
    }
    assert!(!pn.pn(["mark", "x"]).answer().stderr.contains("tip"), "two letters of four are too many");
    assert!(!pn.pn(["create", "x", "-t", "task", "--frob"]).answer().stderr.contains("tip"));
}

#[test]
fn short_words_work_below_a_command() {
    let pn = crate::sandbox();
    let [one, two] = ["one", "two"].map(|title| text(&pn.pn(["create", title, "-t", "task"]).ok_json()["id"]));
    pn.pn(["dep", "add", &one, &two]).ok();
    assert_eq!(pn.pn(["dep", "ls", &one]).ok(), pn.pn(["dep", "list", &one]).ok());
    pn.pn(["dep", "rm", &one, &two]).ok();
    assert_eq!(pn.pn(["dep", "ls", &one]).ok_json(), json!([]));
    assert_eq!(pn.pn(["comment", &one, "it", "works"]).ok_json()["text"], "it works");
    pn.pn(["comment", "nope", "it works"]).misused();
}

#[test]
fn a_label_that_no_issue_has_is_pointed_out() {
    let pn = crate::sandbox();
    pn.pn(["create", "one", "-t", "task", "--label", "auth"]).ok();
    for command in [&["ls"][..], &["list"], &["ready"], &["count"], &["search"]] {
        let shown = pn.pn([command, &["label:oauth"]].concat()).answer();
        assert!(shown.stderr.contains("did you mean \"auth\"?"), "{command:?}: {shown:?}");
    }
    let none = pn.pn(["next", "--claim", "label:oauth"]).fails("not_found");
    assert_eq!(none["hint"], "no issue has the label \"oauth\"; did you mean \"auth\"?");
    let far = pn.pn(["ls", "label:zz"]).answer().stderr;
    assert!(far.contains("pn label list shows the labels"), "{far}");
}

#[test]
fn help_is_one_screen_and_a_catalog_for_programs() {
    let pn = crate::sandbox();
    let short = pn.pn(["help"]).ok();
    assert!(short.lines().count() <= 50, "{short}");
    assert_eq!(pn.pn(["--help"]).ok(), short);
    assert_eq!(pn.pn(["help", "update"]).ok(), pn.pn(["update", "--help"]).ok());
    assert!(pn.pn(["help", "--all"]).ok().lines().any(|line| line.starts_with("  heartbeat")));
    let catalog = pn.pn(["help"]).ok_json();
    let commands = catalog["commands"].as_array().expect("commands");
    let create = commands.iter().find(|command| command["name"] == "create").expect("create");
    assert_eq!(create["aliases"], json!(["new"]));
    let kind = create["flags"].as_array().and_then(|flags| flags.iter().find(|flag| flag["name"] == "--type"));
    assert_eq!(kind.expect("a flag")["values"], json!(["bug", "task", "test", "chore"]));
    assert!(catalog["error_codes"].as_array().is_some_and(|codes| codes.contains(&json!("already_claimed"))));
    pn.pn(["help", "nope"]).fails("not_found");
    for (asked, topic) in [("organize", "organise"), ("query", "organise"), ("many-agent", "many-agents")] {
        assert_eq!(pn.pn(["help", asked]).fails("not_found")["hint"], format!("did you mean pn help {topic}?"));
    }
}

#[test]
fn a_query_may_begin_with_a_hyphen_and_flags_stay_flags() {
    let pn = crate::sandbox();
    for (title, label) in [("one", "auth"), ("two", "ui"), ("three", "ui")] {
        pn.pn(["new", title, "-t", "task", "--label", label]).ok();
    }
    let count = |args: &[&str]| crate::steps::elements(&pn.pn(args).ok_json()).len();
    for command in ["ls", "list", "ready", "search"] {
        assert_eq!(count(&[command, "-label:auth"]), 2, "{command}");
        assert_eq!(count(&[command, "-label:auth two"]), 1, "{command}");
        assert_eq!(count(&[command, "-label:auth", "-n1"]), 1, "{command}");
        assert_eq!(count(&[command, "label:ui", "-label:auth", "two"]), 1, "{command}: words need no quotes");
    }
    assert_eq!(count(&["list", "-n1"]), 1);
    assert_eq!(count(&["list", "-lui"]), 2);
    assert_eq!(count(&["list", "-pp2"]), 3);
    pn.pn(["view", "save", "rest", "-label:auth"]).ok();
    assert_eq!(count(&["ls", "@rest"]), 2);
    pn.pn(["list", "--lable", "x"]).misused();
}
