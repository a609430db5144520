//! Several ids on one command line, `pn edit`, and issues from files.

use std::fs;
use std::path::PathBuf;

use pensa_testkit::{Answer, Sandbox};
use serde_json::{Value, json};

use crate::steps::{bug, create, elements, event_types, everything, ids, keys, show, task, text};
use crate::{interactive, typing};

crate::in_both_modes! {
    several_issues_change_together,
    a_refusal_names_the_issue_and_changes_nothing,
    ids_come_from_standard_input,
    one_id_prints_the_issue_alone,
    update_changes_spec_and_fixes_but_not_the_type,
    an_update_can_ask_that_nobody_changed_the_issue,
    an_edited_document_changes_what_differs,
    an_unchanged_document_changes_nothing,
    a_document_that_cannot_be_applied_is_kept,
    an_issue_that_changed_meanwhile_is_not_overwritten,
    an_editor_that_fails_or_is_killed_changes_nothing,
    hostile_texts_go_through_an_editor_unchanged,
    a_plan_becomes_issues,
    a_bad_file_creates_nothing_and_names_the_line,
    a_document_becomes_an_issue,
    the_type_may_be_a_setting,
}

fn several_issues_change_together(pn: &Sandbox) {
    let [a, b, c] = ["a", "b", "c"].map(|title| task(pn, title));
    let updated = pn.pn(["update", &a, &b[..7], "--priority", "p1", "--add-label", "x"]).ok_json();
    let shape: Vec<_> = elements(&updated).iter().map(|one| (one["id"].clone(), one["priority"].clone())).collect();
    assert_eq!(shape, [(json!(a), json!("p1")), (json!(b), json!("p1"))]);
    assert_eq!(pn.pn(["claim", &a, &b, "-q"]).ok(), format!("{a}\n{b}\n"));
    assert_eq!(pn.pn(["release", &a, &b]).ok().lines().count(), 2);
    let closed = pn.pn(["close", &a, &b, &c, &a, "--reason", "done"]).ok_json();
    assert_eq!(elements(&closed).iter().map(|one| text(&one["close_reason"])).collect::<Vec<_>>(), ["done"; 3]);
    pn.pn(["undo"]).ok();
    assert_eq!(show(pn, &a)["status"], "open", "it was one operation");
    assert_eq!(ids(pn, &["list", "-s", "closed"]), [""; 0]);
    pn.pn(["close", &a, &b]).ok();
    assert_eq!(elements(&pn.pn(["reopen", &a, &b]).ok_json())[1]["status"], "open");
    let deleted = pn.pn(["delete", &a, &b]).ok_json();
    assert_eq!(deleted, json!([{"status": "deleted", "id": a}, {"status": "deleted", "id": b}]));
    assert_eq!(ids(pn, &["list"]), [c]);
}

fn a_refusal_names_the_issue_and_changes_nothing(pn: &Sandbox) {
    let (a, b) = (task(pn, "a"), task(pn, "b"));
    pn.pn(["update", &b, "--claim", "--ttl", "1h"]).actor("ben").ok();
    let before = everything(pn);
    let unknown = pn.pn(["close", &a, "pn-00000000", &b]).fails("not_found");
    assert_eq!(unknown["error"], "issue not found: pn-00000000");
    let held = pn.pn(["close", &a, &b]).fails("already_claimed");
    assert!(text(&held["error"]).contains(&b), "{held}");
    let claimed = pn.pn(["claim", &a, &b]).fails("already_claimed");
    assert!(text(&claimed["error"]).contains(&b), "{claimed}");
    let open = pn.pn(["reopen", &a, &b]).fails("invalid_status_transition");
    assert!(text(&open["error"]).contains(&a), "{open}");
    pn.pn(["update", &a, &b, "--due", "someday"]).fails("invalid_input");
    pn.pn(["update", &a, &b]).fails("invalid_input");
    pn.pn(["update", "-", "-d", "-"]).stdin(a.clone()).fails("invalid_input");
    assert_eq!(everything(pn), before);
}

fn ids_come_from_standard_input(pn: &Sandbox) {
    let [a, b, c] = ["a", "b", "c"].map(|title| task(pn, title));
    let listed = pn.pn(["list", "-q"]).ok();
    let updated = pn.pn(["update", "-", "--assignee", "ana"]).stdin(format!("\n  {listed}\r\n")).ok_json();
    assert_eq!(elements(&updated).len(), 3);
    let both = pn.pn(["close", &a, "-"]).stdin(format!("{b}\n{a}\n")).ok_json();
    assert_eq!(elements(&both).len(), 2, "each once");
    assert_eq!(elements(&pn.pn(["close", "-"]).stdin(c).ok_json()).len(), 1, "a list, however many");
    assert_eq!(pn.pn(["reopen", "-"]).stdin("").ok_json(), json!([]));
    assert_eq!(pn.pn(["reopen", "-"]).stdin("").ok(), "");
    let error = pn.pn(["reopen", "-"]).stdin(format!("{a}\n{b} p2 task open b\n")).fails("invalid_input");
    assert_eq!(error["error"], "line 2 of standard input is not an id");
    pn.pn(["reopen", "-"]).stdin(vec![0xff, 0xfe]).fails("invalid_input");
    assert_eq!(show(pn, &a)["status"], "closed");
}

fn one_id_prints_the_issue_alone(pn: &Sandbox) {
    let id = task(pn, "a");
    assert_eq!(pn.pn(["update", &id, "-p", "p1"]).ok_json()["id"], json!(id));
    assert_eq!(pn.pn(["close", &id]).ok_json()["id"], json!(id));
    assert_eq!(pn.pn(["reopen", &id]).ok_json()["id"], json!(id));
    assert_eq!(pn.pn(["delete", &id]).ok_json(), json!({"status": "deleted", "id": id}));
    pn.pn(["close"]).misused();
}

fn update_changes_spec_and_fixes_but_not_the_type(pn: &Sandbox) {
    let (crash, other) = (bug(pn, "crash"), bug(pn, "other"));
    let id = create(pn, &["fix", "-t", "task", "--fixes", &crash, "--spec", "auth"]);
    let updated = pn.pn(["update", &id, "--fixes", &other, "--spec", "login"]).ok_json();
    assert_eq!((&updated["fixes"], &updated["spec"]), (&json!(other), &json!("login")));
    let cleared = pn.pn(["update", &id, "--fixes", "", "--spec", ""]).ok_json();
    assert_eq!((cleared.get("fixes"), cleared.get("spec")), (None, None));
    pn.pn(["update", &id, "--fixes", &id]).fails("invalid_input");
    pn.pn(["update", &id, "--type", "bug"]).misused();
}

fn an_update_can_ask_that_nobody_changed_the_issue(pn: &Sandbox) {
    let id = task(pn, "a");
    let read = text(&show(pn, &id)["updated_at"]);
    let first = pn.pn(["update", &id, "-p", "p1", "--if-updated-at", &read]).ok_json();
    let error = pn.pn(["update", &id, "-p", "p0", "--if-updated-at", &read]).fails("conflict");
    assert!(text(&error["error"]).contains(&read) && text(&error["hint"]).contains(&id), "{error}");
    let now = text(&first["updated_at"]);
    pn.pn(["update", &id, "--if-updated-at", &now]).ok();
    assert_eq!(show(pn, &id)["priority"], "p1");
    assert_eq!(event_types(pn, &id), ["created", "updated"]);
}

/// `pn edit` with a shell script as the editor; `$1` is the document.
fn edit(pn: &Sandbox, id: &str, script: &str) -> Answer {
    pn.pn(["edit", id]).env("EDITOR", format!("sh -c {} editor", quoted(script))).env("PN", crate::PN).json().answer()
}

fn quoted(script: &str) -> String {
    shlex::try_quote(script).expect("no zeros").into_owned()
}

#[track_caller]
fn edited(pn: &Sandbox, id: &str, script: &str) -> Value {
    let answer = edit(pn, id, script);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{answer:?}");
    serde_json::from_str(&answer.stdout).expect("an issue")
}

#[track_caller]
fn refused(answer: &Answer, code: &str) -> Value {
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(1), ""), "{answer:?}");
    let error = answer.error();
    assert_eq!(error["code"], code, "{error}");
    error
}

/// The file that an error says it kept.
#[track_caller]
fn kept(error: &Value) -> PathBuf {
    let hint = text(&error["hint"]);
    let path = hint.split("what you wrote is in ").nth(1).unwrap_or_else(|| panic!("no file is named: {error}"));
    PathBuf::from(path)
}

/// The documents of `pn edit` that were left anywhere.
fn left_over(pn: &Sandbox) -> Vec<PathBuf> {
    let dirs = [pn.store().join("local/edit"), pn.path("xdg/state/pensa/local/edit")];
    let entries = dirs.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn an_edited_document_changes_what_differs(pn: &Sandbox) {
    let crash = bug(pn, "crash");
    let parent = task(pn, "all");
    let args = ["log in", "-t", "task", "-d", "why\n\nbecause", "--accept", "fast", "--accept", "safe", "--label", "a"];
    let id = create(pn, &[&args[..], &["--due", "2026-12-01", "--estimate", "90m"]].concat());
    let shown = edited(pn, &id, "cp \"$1\" \"$HOME/seen\"");
    assert_eq!(shown["title"], "log in");
    let page = fs::read_to_string(pn.path("home/seen")).expect("a copy");
    let expected = format!(
        "---\n# {id}, a task. An empty value clears a field.\ntitle: log in\npriority: p2\nassignee:\nlabels: a\nparent:\n\
         due: 2026-12-01\ndefer:\nestimate: 90m\nspec:\nfixes:\nfields:\nacceptance:\n- [ ] fast\n- [ ] safe\n---\n\n\
         why\n\nbecause\n"
    );
    assert_eq!(page, expected);
    let script = format!(
        "sed -i -e 's/^title:.*/title: log in: with \"quotes\"/' -e 's/^priority:.*/priority: p0/' \
         -e 's/^assignee:/assignee: ben/' -e 's/^labels:.*/labels: b, a/' -e 's/^due:.*/due:/' \
         -e 's/^parent:/parent: {}/' -e 's/^fixes:/fixes: {crash}/' -e 's/^estimate:.*/estimate: 2h/' \
         -e 's/^- . . fast/- [x] fast/' -e 's/^- . . safe/- [ ] small/' -e 's/because/for us/' \"$1\"",
        &parent[..8]
    );
    let issue = edited(pn, &id, &script);
    for (field, value) in [
        ("title", json!("log in: with \"quotes\"")),
        ("priority", json!("p0")),
        ("assignee", json!("ben")),
        ("labels", json!(["a", "b"])),
        ("parent", json!(parent)),
        ("fixes", json!(crash)),
        ("estimate", json!("2h")),
        ("acceptance", json!([{"text": "fast", "done": true}, {"text": "small", "done": false}])),
        ("description", json!("why\n\nfor us")),
    ] {
        assert_eq!(issue[field], value, "{field}");
    }
    assert_eq!(issue.get("due"), None);
    let detail = show(pn, &id);
    assert!(keys(&issue).into_iter().all(|key| detail[key] == issue[key]), "{detail}");
    let ticked = edited(pn, &id, "sed -i 's/^- . . small/- [x] small/' \"$1\"");
    assert_eq!(ticked["acceptance"][1], json!({"text": "small", "done": true}));
    pn.pn(["undo"]).ok();
    assert_eq!(show(pn, &id)["acceptance"][1]["done"], false);
    assert_eq!(left_over(pn), [""; 0].map(PathBuf::from));
}

fn an_unchanged_document_changes_nothing(pn: &Sandbox) {
    let id = create(pn, &["a", "-t", "task", "-d", "text"]);
    let before = everything(pn);
    for script in
        ["true", "cp \"$1\" \"$1.new\" && mv \"$1.new\" \"$1\"", ": > \"$1\"", "sed -i 's/^title: /title:   /' \"$1\""]
    {
        assert_eq!(edited(pn, &id, script)["id"], json!(id));
        let said = pn.pn(["edit", &id]).env("VISUAL", format!("sh -c {} x", quoted(script))).answer();
        assert!(said.code == Some(0) && said.stderr.starts_with("note: nothing was changed"), "{script}: {said:?}");
        assert!(said.stdout.starts_with(&id), "{said:?}");
    }
    assert_eq!(everything(pn), before);
    assert!(left_over(pn).is_empty());
}

fn a_document_that_cannot_be_applied_is_kept(pn: &Sandbox) {
    let id = task(pn, "a");
    let before = everything(pn);
    for (script, code, wanted) in [
        ("sed -i 's/^priority: p2/priority: p9/' \"$1\"", "invalid_input", "line 4: invalid priority"),
        ("sed -i 's/^assignee:/assigne: ben/' \"$1\"", "invalid_input", "line 5: no field is called \"assigne\""),
        ("sed -i 's/^title:.*/title:/' \"$1\"", "invalid_input", "the title is empty"),
        ("sed -i 's/^parent:/parent: pn-none/' \"$1\"", "not_found", "issue not found: pn-none"),
        ("echo text > \"$1\"", "invalid_input", "line 1: "),
        ("printf '\\377' > \"$1\"", "invalid_input", "the document is not UTF-8"),
        (
            "sed -i 's/^labels:/labels: new/' \"$1\"; printf 'a\\033[2J' >> \"$1\"",
            "invalid_input",
            "description contains",
        ),
    ] {
        let error = refused(&edit(pn, &id, script), code);
        assert!(text(&error["error"]).starts_with(wanted), "{script}: {error}");
        assert!(fs::metadata(kept(&error)).expect("kept").len() > 0, "{script}");
    }
    assert_eq!(everything(pn), before);
    assert_eq!(left_over(pn).len(), 7);
    let error = refused(&edit(pn, &id, "rm \"$1\""), "internal");
    assert!(text(&error["error"]).starts_with("cannot read "), "{error}");
    pn.pn(["edit", "pn-none"]).env("EDITOR", "false").fails("not_found");
}

fn an_issue_that_changed_meanwhile_is_not_overwritten(pn: &Sandbox) {
    let id = create(pn, &["a", "-t", "task", "--accept", "fast"]);
    for change in ["s/^title:.*/title: mine/", "s/^- . . fast/- [x] fast/"] {
        let script = format!("\"$PN\" update {id} --actor ben --add-label $$ -q && sed -i '{change}' \"$1\"");
        let error = edit(pn, &id, &format!("{{ {script}; }} > /dev/null"));
        let error = refused(&error, "conflict");
        assert!(text(&error["error"]).contains(&id), "{error}");
        let typed = fs::read_to_string(kept(&error)).expect("kept");
        assert!(typed.contains("title: mine") || typed.contains("- [x] fast"), "{typed}");
    }
    let issue = show(pn, &id);
    assert_eq!((&issue["title"], &issue["acceptance"][0]["done"]), (&json!("a"), &json!(false)));
    assert_eq!(elements(&issue["labels"]).len(), 2, "what the other did stays");
}

fn an_editor_that_fails_or_is_killed_changes_nothing(pn: &Sandbox) {
    let id = task(pn, "a");
    let before = everything(pn);
    let typed = "sed -i 's/^title:.*/title: typed/' \"$1\"";
    let failed = refused(&edit(pn, &id, &format!("{typed}; exit 3")), "invalid_input");
    assert!(text(&failed["error"]).contains("ended with exit code 3"), "{failed}");
    let killed = refused(&edit(pn, &id, &format!("{typed}; kill -9 $$")), "invalid_input");
    assert!(text(&killed["error"]).contains("was killed by signal 9"), "{killed}");
    for error in [&failed, &killed] {
        assert!(fs::read_to_string(kept(error)).expect("kept").contains("title: typed"));
    }
    let gone = refused(&edit(pn, &id, "kill -9 $$"), "invalid_input");
    assert_eq!(gone.get("hint"), None, "nothing was typed: {gone}");
    pn.pn(["edit", &id]).env("EDITOR", "/nowhere/editor --wait").fails("not_found");
    pn.pn(["edit", &id]).env("EDITOR", "vi 'unclosed").fails("invalid_input");
    // This program itself is killed while the editor runs.
    let orphaned = edit(pn, &id, &format!("{typed}; kill -9 $PPID; :"));
    assert_eq!((orphaned.code, orphaned.stdout.as_str()), (None, ""));
    let texts: Vec<String> = left_over(pn).iter().map(|path| fs::read_to_string(path).expect("kept")).collect();
    assert_eq!(texts.iter().filter(|text| text.contains("title: typed")).count(), 3, "{texts:?}");
    assert_eq!((texts.len(), everything(pn)), (3, before));
}

fn hostile_texts_go_through_an_editor_unchanged(pn: &Sandbox) {
    let title = "--- title: \"x\" # [ ] \u{202e}é";
    let description = "---\ntitle: no\n- [x] no\n\n\n";
    let accept = "[x] - , \"quoted\" \u{2066}";
    let args = ["-t", "task", "-d", description, "--accept", accept, "--assignee", "\"a, b\"", "--", title];
    let id = create(pn, &args);
    let before = show(pn, &id);
    let issue = edited(pn, &id, "sed -i 's/^priority: p2/priority: p1/' \"$1\"");
    for field in ["title", "description", "acceptance", "assignee"] {
        assert_eq!(issue[field], before[field], "{field}");
    }
    assert_eq!((&issue["title"], &issue["priority"]), (&json!(title), &json!("p1")));
}

#[test]
fn on_a_terminal_an_invalid_document_can_be_edited_again() {
    let pn = crate::sandbox();
    let id = task(&pn, "a");
    let script = "sed -i -e 's/^priority: p9/priority: p1/;t' -e 's/^priority: p2/priority: p9/' \"$1\"";
    let editor = quoted(&format!("sh -c {} x", quoted(script)));
    let mut terminal = typing::Terminal::run(&pn, &format!("EDITOR={editor} $PN edit {id}"));
    terminal.answer("edit it again? [Y/n] ", "\n");
    let (shown, code) = terminal.end();
    assert!(code == Some(0) && shown.contains("line 4: invalid priority"), "{shown}");
    assert_eq!(show(&pn, &id)["priority"], "p1");
    let wrong = quoted("sh -c 'echo x > \"$1\"' x");
    let mut terminal = typing::Terminal::run(&pn, &format!("EDITOR={wrong} $PN edit {id}"));
    terminal.answer("edit it again? [Y/n] ", "n\n");
    let (shown, code) = terminal.end();
    assert!(code == Some(1) && shown.contains("what you wrote is in "), "{shown}");
    assert_eq!(left_over(&pn).len(), 1);
}

#[test]
fn an_interrupt_is_for_the_editor_alone() {
    let pn = crate::sandbox();
    let id = task(&pn, "a");
    let script = "trap 'echo caught' INT; echo ready; until read line; do :; done; \
        sed -i 's/^priority: p2/priority: p0/' \"$1\"";
    let editor = quoted(&format!("sh -c {} x", quoted(script)));
    let mut terminal =
        interactive::Terminal::run(&pn, "sh", &["-c", &format!("EDITOR={editor} exec \"$PN\" edit {id}")]);
    terminal.until("ready");
    terminal.types(b"\x03");
    terminal.until("caught");
    terminal.types(b"go\r");
    let (shown, status) = terminal.end();
    assert_eq!(status.code(), Some(0), "{shown}");
    assert_eq!(show(&pn, &id)["priority"], "p0");
}

fn file(pn: &Sandbox, name: &str, page: &str) -> String {
    let path = pn.path(name);
    fs::write(&path, page).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

fn a_plan_becomes_issues(pn: &Sandbox) {
    let known = task(pn, "write the index");
    let page = format!(
        "- release the search [p1]\n  Readers ask for it.\n  - [ ] works offline\n  - [x] has a name\n  \
         - build the index (after: {known})\n  - write the form [test p0] (after: build the index)\n\
         - announce it (after: release the search)\n"
    );
    let plan = file(pn, "plan.md", &page);
    let before = everything(pn);
    let dry = pn.pn(["create", "-f", &plan, "--dry-run"]).ok();
    assert_eq!(dry, page);
    let operations = pn.pn(["create", "-f", &plan, "--dry-run"]).ok_json();
    assert_eq!(everything(pn), before, "nothing was created");
    let made = pn.pn(["create", "-f", &plan, "-l", "search"]).ok_json();
    let titles: Vec<String> = elements(&made).iter().map(|one| text(&one["title"])).collect();
    assert_eq!(titles, ["release the search", "build the index", "write the form", "announce it"]);
    let id = |at: usize| text(&made[at]["id"]);
    assert_eq!(
        (&made[0]["priority"], &made[0]["issue_type"], &made[0]["description"]),
        (&json!("p1"), &json!("task"), &json!("Readers ask for it."))
    );
    assert_eq!(
        made[0]["acceptance"],
        json!([{"text": "works offline", "done": false}, {"text": "has a name", "done": true}])
    );
    assert_eq!((&made[2]["issue_type"], &made[2]["priority"]), (&json!("test"), &json!("p0")));
    assert_eq!((&made[1]["parent"], &made[2]["parent"]), (&json!(id(0)), &json!(id(0))));
    assert!(elements(&made).iter().all(|one| one["labels"] == json!(["search"])), "{made}");
    assert_eq!(ids(pn, &["dep", "list", &id(1)]).join(" "), known);
    assert_eq!(ids(pn, &["dep", "list", &id(2)]), [id(1)]);
    assert_eq!(ids(pn, &["dep", "list", &id(3)]), [id(0)]);
    pn.pn(["undo"]).ok();
    assert_eq!(ids(pn, &["list"]), [known], "it was one operation");
    let lines: String = elements(&operations).iter().map(|operation| format!("{operation}\n")).collect();
    assert_eq!(pn.pn(["batch"]).stdin(lines).ok_json_lines().len(), 8, "the operations are those of a batch");
    let piped = pn.pn(["new", "-f", "-", "-t", "chore", "-q"]).stdin("- one\n- two (after: one)\n").ok();
    assert_eq!(piped.lines().count(), 2);
    assert_eq!(show(pn, piped.lines().next().expect("an id"))["issue_type"], "chore");
}

fn a_bad_file_creates_nothing_and_names_the_line(pn: &Sandbox) {
    let id = task(pn, "known");
    let before = everything(pn);
    for (page, code, wanted) in [
        ("- a\n- b (after: nothing of it)\n", "invalid_input", "line 2: no item is called"),
        ("- a (after: b)\n- b (after: a)\n", "cycle_detected", "line 1: cycle detected"),
        ("- a\n- b (after: pn-00000000)\n", "not_found", "line 2: issue not found: pn-00000000"),
        ("- a\n# heading\n", "invalid_input", "line 2: "),
        ("---\ntitle: x\ntype: tusk\n---\n", "invalid_input", "line 3: invalid issue type"),
        ("---\ntitle: x\n---\n", "invalid_input", "the type of the issue is missing"),
        ("---\ntype: task\n---\n", "invalid_input", "the title is missing"),
        ("---\ntitle: x\ntype: task\nparent: pn-00000000\n---\n", "not_found", "issue not found: pn-00000000"),
        ("just text", "invalid_input", "line 1: a document begins"),
        ("", "invalid_input", "line 1: "),
    ] {
        let error = pn.pn(["create", "-f", "-"]).stdin(page).fails(code);
        assert!(text(&error["error"]).starts_with(&format!("standard input: {wanted}")), "{page:?}: {error}");
    }
    let plan = file(pn, "plan.md", "- a\n  - b\n    - c [bug p7]\n");
    let error = pn.pn(["create", "-f", &plan]).fails("invalid_input");
    assert!(text(&error["error"]).starts_with(&format!("{plan}: line 3: ")), "{error}");
    pn.pn(["create", "-f", "/nowhere/plan.md"]).fails("not_found");
    pn.pn(["create", "-f", "-"]).stdin(vec![0xff]).fails("invalid_input");
    pn.pn(["create", "title", "-f", "-"]).misused();
    pn.pn(["create", "title", "-t", "task", "--dry-run"]).fails("invalid_input");
    pn.pn(["create", "-t", "task"]).misused();
    assert_eq!(everything(pn), before);
    let many: String = (0..10_001).map(|n| format!("- item {n}\n")).collect();
    pn.pn(["create", "-f", "-"]).stdin(many).fails("too_large");
    assert_eq!(ids(pn, &["list"]), [id]);
}

fn a_document_becomes_an_issue(pn: &Sandbox) {
    let other = task(pn, "other");
    let page = format!(
        "---\ntitle: \"log in: now\"\ntype: bug\npriority: p0\nlabels: auth, web\nestimate: 2h\nafter: {other}\n\
         refs: linear:PRJ-1\nacceptance:\n- [ ] fast\n- [x] found\n---\n\nIt fails.\n"
    );
    let made = pn.pn(["create", "-f", &file(pn, "issue.md", &page), "--label", "x"]).ok_json();
    let made = elements(&made).remove(0);
    for (field, value) in [
        ("title", json!("log in: now")),
        ("issue_type", json!("bug")),
        ("priority", json!("p0")),
        ("labels", json!(["auth", "web", "x"])),
        ("estimate", json!("2h")),
        ("acceptance", json!([{"text": "fast", "done": false}, {"text": "found", "done": true}])),
        ("description", json!("It fails.")),
    ] {
        assert_eq!(made[field], value, "{field}");
    }
    let detail = show(pn, &text(&made["id"]));
    assert_eq!((&detail["deps"][0]["id"], &detail["refs"][0]["target"]), (&json!(other), &json!("linear:PRJ-1")));
    let again = edited(pn, &text(&made["id"]), "true");
    assert_eq!(again["updated_at"], made["updated_at"]);
}

fn the_type_may_be_a_setting(pn: &Sandbox) {
    let error = pn.pn(["create", "a"]).misused();
    assert!(text(&error["hint"]).contains("create.type"), "{error}");
    let made = pn.pn(["create", "a"]).env("PN_CREATE_TYPE", "chore").ok_json();
    assert_eq!(made["issue_type"], "chore");
    assert_eq!(pn.pn(["new", "b", "-t", "bug"]).env("PN_CREATE_TYPE", "chore").ok_json()["issue_type"], "bug");
    let listed = pn.pn(["create", "-f", "-"]).stdin("- a\n- b [test]\n").env("PN_CREATE_TYPE", "chore").ok_json();
    assert_eq!((&listed[0]["issue_type"], &listed[1]["issue_type"]), (&json!("chore"), &json!("test")));
    let document = pn.pn(["create", "-f", "-"]).stdin("---\ntitle: x\n---\n").env("PN_CREATE_TYPE", "task").ok_json();
    assert_eq!(document[0]["issue_type"], "task");
    pn.pn(["create", "c"]).env("PN_CREATE_TYPE", "epic").fails("invalid_input");
    assert_eq!(pn.pn(["create", "many", "words"]).env("PN_CREATE_TYPE", "task").ok_json()["title"], "many words");
}

#[test]
fn the_default_type_is_kept_in_the_projects_settings() {
    let pn = crate::sandbox();
    pn.pn(["config", "set", "create.type", "epic"]).fails("invalid_input");
    pn.pn(["config", "set", "create.type", "task"]).ok();
    assert_eq!(pn.pn(["new", "a"]).ok_json()["issue_type"], "task");
}
