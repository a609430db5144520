//! `pn work`, `pn capture`, `pn ship` and `pn skill`.

use std::fs;
use std::os::unix::fs::symlink;

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::steps::{elements, ids, keys, show, task, text};

crate::in_both_modes! {
    work_goes_from_a_title_to_a_closed_issue,
    two_people_hand_work_to_each_other,
    a_captured_idea_is_in_the_queue,
    releases_are_listed_and_in_the_changelog,
    skills_have_the_form_that_other_tools_have,
    invalid_requests_fail_with_a_hint,
}

fn work_goes_from_a_title_to_a_closed_issue(pn: &Sandbox) {
    assert_eq!(pn.pn(["work"]).ok_json(), json!(null));
    assert!(pn.pn(["work"]).ok().starts_with("nothing"), "and exits 0");
    assert_eq!(pn.pn(["work", "-q"]).ok(), "");
    let start = ["work", "start", "add search", "--kind", "feature", "--branch", "search", "--step", "index", "--step"];
    let made = pn.pn([&start[..], &["query"]].concat()).ok_json();
    assert_eq!(
        keys(&made),
        ["issue_id", "title", "kind", "status", "branch", "steps", "current_step", "actor", "created_at", "updated_at"]
    );
    let id = text(&made["issue_id"]);
    assert_eq!(pn.pn(["work"]).ok_json(), made);
    let seen = pn.pn(["work"]).ok();
    assert!(seen.contains("add search 0/2") && seen.contains("1 [>] index") && seen.contains("2 [ ] query"), "{seen}");
    pn.pn(["work", "step", "done"]).ok_json();
    pn.pn(["work", "step", "add", "document", "announce"]).ok_json();
    let steps = pn.pn(["work", "step", "list"]).ok_json();
    assert_eq!(steps[0], json!({"title": "index", "status": "done"}));
    assert_eq!(elements(&steps).len(), 4);
    assert_eq!(pn.pn(["work", "step", "done", "4"]).ok_json()["current_step"], 2);
    let other = text(&pn.pn(["work", "start", "something else"]).ok_json()["issue_id"]);
    let paused = pn.pn(["work", "list", "--status", "paused"]).ok_json();
    assert_eq!((elements(&paused).len(), &paused[0]["issue_id"]), (1, &json!(id)));
    pn.pn(["work", "resume", &id]).ok_json();
    assert_eq!(pn.pn(["work", "-q"]).ok(), format!("{id}\n"));
    let done = pn.pn(["work", "done", "--reason", "found"]).ok_json();
    assert_eq!((&done["status"], keys(&done).last().copied()), (&json!("done"), Some("done_at")));
    let issue = show(pn, &id);
    assert_eq!((&issue["status"], &issue["close_reason"]), (&json!("closed"), &json!("found")));
    pn.pn(["close", &other]).ok_json();
    assert_eq!(pn.pn(["work"]).ok_json(), json!(null), "closing an issue ends the work on it");
    let known = task(pn, "known before");
    assert_eq!(pn.pn(["work", "start", &known[..7]]).ok_json()["issue_id"], known);
}

fn two_people_hand_work_to_each_other(pn: &Sandbox) {
    let id = text(&pn.pn(["work", "start", "shared", "--step", "one"]).actor("ana").ok_json()["issue_id"]);
    pn.pn(["work", "pause"]).actor("ana").ok_json();
    let refused = pn.pn(["work", "resume", &id]).actor("ben").fails("already_claimed");
    assert!(text(&refused["hint"]).contains(&format!("pn work resume {id} --take")), "{refused}");
    let taken = pn.pn(["work", "resume", &id, "--take"]).actor("ben").ok_json();
    assert_eq!((&taken["actor"], &taken["status"]), (&json!("ben"), &json!("active")));
    assert_eq!(show(pn, &id)["assignee"], "ben");
    assert_eq!(pn.pn(["work"]).actor("ana").ok_json(), json!(null));
    pn.pn(["work", "step", "done", "--issue", &id]).actor("ana").ok_json();
    let refused = pn.pn(["work", "done"]).actor("ana").fails("not_found");
    assert!(text(&refused["error"]).contains("ana is doing nothing"), "{refused}");
    pn.pn(["work", "done"]).actor("ben").ok_json();
}

fn a_captured_idea_is_in_the_queue(pn: &Sandbox) {
    let one = pn.pn(["capture", "idea"]).ok_json();
    assert_eq!((&one["title"], &one["issue_type"], &one["priority"]), (&json!("idea"), &json!("task"), &json!("p2")));
    assert_eq!(one.get("description"), None);
    let long = pn.pn(["capture", "-"]).stdin("first line\n\nand why\n").ok_json();
    assert_eq!((&long["title"], &long["description"]), (&json!("first line"), &json!("first line\n\nand why")));
    assert_eq!(ids(pn, &["next"]), ids(pn, &["ready"]));
    assert_eq!(ids(pn, &["next", "-n", "1"]), [text(&one["id"])]);
    pn.pn(["capture", " "]).fails("invalid_input");
}

fn releases_are_listed_and_in_the_changelog(pn: &Sandbox) {
    let (done, open) = (task(pn, "closed *one*"), task(pn, "open one"));
    pn.pn(["close", &done]).ok_json();
    let ship = ["ship", "search", "--version", "1.0.0", "--issue", &done, "--issue", &open];
    let result = pn.pn(ship).answer();
    assert!(result.code == Some(0) && result.stderr.contains(&format!("{open} is not closed")), "{result:?}");
    let shipped = pn.pn(["shipped"]).ok_json();
    assert_eq!(keys(&shipped[0]), ["id", "name", "version", "kind", "issues", "actor", "shipped_at"]);
    assert!(text(&shipped[0]["id"]).starts_with("rel-"));
    pn.pn(["ship", "a fix", "--version", "1.0.1", "--kind", "bug", "--notes", "-"]).stdin("told\n").ok_json();
    assert_eq!(elements(&pn.pn(["shipped", "-n", "1"]).ok_json())[0]["version"], "1.0.1");
    let all = pn.pn(["changelog"]).ok();
    let (newer, older) = (all.find("## 1.0.1 ("), all.find("## 1.0.0 ("));
    assert!(newer.is_some() && newer < older && all.contains("closed \\*one\\*"), "{all}");
    let since = pn.pn(["changelog", "--since", "1.0.0"]).ok();
    assert!(since.contains("1.0.1") && !since.contains("## 1.0.0"), "{since}");
    assert_eq!(pn.pn(["changelog"]).ok_json()["markdown"], all);
    pn.pn(["changelog", "--since", "7"]).fails("not_found");
    let missing = pn.pn(["ship", "no version"]).answer();
    assert!(missing.code != Some(0) && missing.stderr.contains("--version"), "{missing:?}");
}

fn skills_have_the_form_that_other_tools_have(pn: &Sandbox) {
    assert_eq!(pn.pn(["skill", "list"]).ok_json(), json!({"mappings": {}, "updatedAt": null}));
    let set = pn.pn(["skill", "set", "frontend.md", "frontend-design", "other"]).ok_json();
    assert_eq!(set["mappings"], json!({"frontend.md": ["frontend-design", "other"]}));
    let file = pn.path("skills.json");
    fs::write(&file, r#"{"skills":[{"name":"sql","linkedAgents":["backend.md"]}],"agentSkillMap":{}}"#)
        .expect("a file");
    pn.pn(["skill", "import", file.to_str().expect("UTF-8")]).ok_json();
    let exported = pn.pn(["skill", "list", "--json"]).ok();
    pn.pn(["skill", "remove", "backend.md"]).ok_json();
    let back = pn.pn(["skill", "import", "-"]).stdin(exported).ok_json();
    assert_eq!(back["mappings"], json!({"backend.md": ["sql"], "frontend.md": ["frontend-design", "other"]}));
    pn.pn(["skill", "remove", "nobody.md"]).fails("not_found");
    pn.pn(["skill", "import", "-"]).stdin("[]").fails("invalid_input");
    pn.pn(["skill", "import", "/nowhere/skills.json"]).fails("not_found");
}

fn invalid_requests_fail_with_a_hint(pn: &Sandbox) {
    let unknown = pn.pn(["work", "start", "x", "--kind", "miracle"]).answer();
    assert!(unknown.code != Some(0) && unknown.stderr.contains("improvement"), "{unknown:?}");
    pn.pn(["work", "start", ""]).fails("invalid_input");
    pn.pn(["work", "start", &"x".repeat(100_000)]).fails("too_large");
    pn.pn(["capture", "-"]).stdin("x".repeat(1 << 20)).fails("too_large");
    pn.pn(["work", "start", "pn-0badf00d"]).fails("not_found");
    pn.pn(["ship", "x", "--version", "1 0"]).fails("invalid_input");
    pn.pn(["work", "step", "done"]).fails("not_found");
    assert!(ids(pn, &["list"]).is_empty());
}

#[test]
fn context_files_are_updated_and_keep_a_persons_text() {
    let pn = crate::sandbox();
    let page = |name: &str| fs::read_to_string(pn.store().join("local/context").join(name)).unwrap_or_default();
    pn.pn(["work", "start", "log in", "--step", "form", "--step", "check"]).ok();
    assert_eq!(page("now.md"), "", "nobody asked for it");
    pn.pn(["create", "log out", "-t", "task", "-p", "p1"]).ok();
    let written = pn.pn(["context", "--write"]).ok_json();
    assert_eq!(written["files"].as_array().map(Vec::len), Some(2), "{written}");
    let now = page("now.md");
    assert!(now.starts_with("# NOW\n\n**log in** (pn-") && now.contains("| 1 | form | current |"), "{now}");
    assert!(page("next.md").starts_with("# NEXT\n\n1. [p1] log out (pn-"), "{}", page("next.md"));
    let kept = "<!-- keep -->\nask Zo\u{eb} first\n<!-- /keep -->";
    fs::write(pn.store().join("local/context/now.md"), format!("{now}\n{kept}\n")).expect("written");
    pn.pn(["work", "step", "done"]).ok();
    let now = page("now.md");
    assert!(now.contains("| 1 | form | done |") && now.contains("| 2 | check | current |"), "{now}");
    assert!(now.ends_with(&format!("\n{kept}\n")), "{now}");
    pn.pn(["work", "done"]).ok();
    assert!(page("now.md").contains("No active work.") && page("now.md").contains(kept));
    pn.pn(["context", "--write"]).dir(pn.path("elsewhere")).fails("no_store");
}

#[test]
fn context_files_are_current_after_every_change() {
    let pn = crate::sandbox();
    let page = |name: &str| fs::read_to_string(pn.store().join("local/context").join(name)).unwrap_or_default();
    pn.pn(["context", "--write"]).ok();
    let id = task(&pn, "first thing");
    assert!(page("next.md").contains("first thing"), "{}", page("next.md"));
    pn.pn(["update", &id, "--title", "renamed"]).ok();
    assert!(page("next.md").contains("renamed"));
    pn.pn(["batch"]).stdin(json!({"op": "issue.create", "title": "by a batch", "issue_type": "task"}).to_string()).ok();
    assert!(page("next.md").contains("by a batch"));
    pn.pn(["work", "start", &id]).ok();
    assert!(page("now.md").contains("**renamed**") && !page("next.md").contains("renamed"));
    let other = task(&pn, "of another");
    pn.pn(["work", "start", &other]).actor("bob").ok();
    assert!(page("now.md").contains("**renamed**"), "the page is for the one who asked: {}", page("now.md"));
    assert!(!page("next.md").contains("of another"));
    let daemon = pn.daemon();
    let by_daemon = |args: &[&str]| pn.pn(args).dir(pn.path("elsewhere")).env("PN_DAEMON", &daemon.url).ok();
    by_daemon(&["create", "by the daemon", "-t", "task"]);
    assert!(page("next.md").contains("by the daemon"));
    by_daemon(&["close", &id]);
    assert!(page("now.md").contains("No active work."), "{}", page("now.md"));
    pn.pn(["undo"]).ok();
    assert!(page("now.md").contains("**renamed**"), "{}", page("now.md"));
    pn.pn(["export"]).ok();
    let file = pn.store().join("issues.jsonl");
    let edited = fs::read_to_string(&file).expect("an export").replace("by the daemon", "by hand");
    fs::write(&file, edited).expect("written");
    pn.pn(["import"]).ok();
    assert!(page("next.md").contains("by hand"));
}

#[test]
fn context_files_of_concurrent_writers_show_the_last_state() {
    let pn = crate::sandbox();
    pn.pn(["context", "--write"]).ok();
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let pn = &pn;
            scope.spawn(move || (0..5).for_each(|n| drop(task(pn, &format!("task {writer} {n}")))));
        }
    });
    let page = fs::read_to_string(pn.store().join("local/context/next.md")).expect("a page");
    assert_eq!(page.lines().filter(|line| line.contains("task ")).count(), 30, "{page}");
}

#[test]
fn context_files_are_not_written_through_links() {
    let pn = crate::sandbox();
    fs::write(pn.path("elsewhere/now.md"), "mine").expect("written");
    symlink(pn.path("elsewhere"), pn.store().join("local/context")).expect("a link");
    pn.pn(["context", "--write"]).fails("invalid_input");
    let answer = pn.pn(["work", "start", "log in"]).answer();
    assert!(answer.code == Some(0) && answer.stderr.contains("symbolic link"), "{answer:?}");
    assert_eq!(fs::read_to_string(pn.path("elsewhere/now.md")).expect("there"), "mine");
    assert!(!pn.path("elsewhere/next.md").exists());
}
