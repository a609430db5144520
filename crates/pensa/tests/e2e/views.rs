//! Listings: which issues, in which order; trees and cycles; search.

use std::fs;

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{bug, create, elements, ids, keys, task, text};

crate::in_both_modes! {
    list_returns_every_status_by_priority_then_age,
    list_filters_and_limits,
    list_sorts_by_each_field,
    ready_is_open_unblocked_work_by_priority_then_age,
    blocked_lists_unclosed_issues_that_wait_for_unclosed_ones,
    search_matches_a_literal_substring_in_any_case,
    a_tree_is_flat_preorder_and_repeats_without_expanding,
    a_tree_shows_dependents_or_with_up_dependencies,
    imported_cycles_are_reported,
    create_takes_many_dependencies,
    where_prints_the_path_of_the_store,
}

fn list_returns_every_status_by_priority_then_age(pn: &Sandbox) {
    assert_eq!(pn.pn(["list"]).ok_json(), json!([]));
    let low = create(pn, &["low", "-t", "task", "-p", "p3"]);
    let first = task(pn, "first");
    let second = bug(pn, "second");
    let urgent = create(pn, &["urgent", "-t", "test", "-p", "p0"]);
    pn.pn(["close", &urgent]).ok_json();
    pn.pn(["update", &second, "--claim"]).ok_json();
    assert_eq!(ids(pn, &["list"]), [urgent, first, second, low]);
}

fn list_filters_and_limits(pn: &Sandbox) {
    let a = create(pn, &["alpha", "-t", "task", "-p", "p1", "-a", "ana", "--spec", "auth"]);
    let b = create(pn, &["beta", "-t", "test", "-p", "p1"]);
    let c = create(pn, &["gamma", "-t", "task", "--spec", "auth"]);
    pn.pn(["close", &c]).ok_json();
    let cases: [(&[&str], &[&String]); 10] = [
        (&["--status", "open"], &[&a, &b]),
        (&["--status", "closed"], &[&c]),
        (&["--status", "in_progress"], &[]),
        (&["--priority", "p1"], &[&a, &b]),
        (&["-a", "ana"], &[&a]),
        (&["-a", ""], &[&b, &c]),
        (&["-t", "task"], &[&a, &c]),
        (&["--spec", "auth", "--status", "open"], &[&a]),
        (&["-n", "2"], &[&a, &b]),
        (&["-n", "0"], &[]),
    ];
    for (flags, expected) in cases {
        let got = ids(pn, &[&["list"], flags].concat());
        assert_eq!(got.iter().collect::<Vec<_>>(), expected, "{flags:?}");
    }
}

fn list_sorts_by_each_field(pn: &Sandbox) {
    let b = create(pn, &["b", "-t", "task", "-p", "p3"]);
    let c = create(pn, &["c", "-t", "task", "-p", "p0"]);
    let a = create(pn, &["a", "-t", "task", "-p", "p1"]);
    pn.pn(["close", &b]).ok_json();
    pn.pn(["update", &c, "--claim"]).ok_json();
    let cases = [
        ("priority", [&c, &a, &b]),
        ("created_at", [&b, &c, &a]),
        ("updated_at", [&c, &b, &a]),
        ("status", [&a, &c, &b]),
        ("title", [&a, &b, &c]),
    ];
    for (field, expected) in cases {
        let got = ids(pn, &["list", "--sort", field]);
        assert_eq!(got.iter().collect::<Vec<_>>(), expected, "{field}");
    }
}

fn ready_is_open_unblocked_work_by_priority_then_age(pn: &Sandbox) {
    let late = create(pn, &["late", "-t", "chore", "-p", "p3", "--spec", "auth"]);
    let soon = create(pn, &["soon", "-t", "task", "-p", "p1"]);
    let then = create(pn, &["then", "-t", "test", "-p", "p1", "-a", "ana"]);
    let taken = create(pn, &["taken", "-t", "task", "-p", "p0"]);
    pn.pn(["update", &taken, "--claim"]).ok_json();
    create(pn, &["blocked", "-t", "task", "-p", "p0", "--dep", &late]);
    let cases: [(&[&str], &[&String]); 6] = [
        (&[], &[&soon, &then, &late]),
        (&["-n", "1"], &[&soon]),
        (&["-p", "p1"], &[&soon, &then]),
        (&["-a", "ana"], &[&then]),
        (&["-t", "chore"], &[&late]),
        (&["--spec", "auth"], &[&late]),
    ];
    for (flags, expected) in cases {
        let got = ids(pn, &[&["ready"], flags].concat());
        assert_eq!(got.iter().collect::<Vec<_>>(), expected, "{flags:?}");
    }
}

fn blocked_lists_unclosed_issues_that_wait_for_unclosed_ones(pn: &Sandbox) {
    let parent = task(pn, "parent");
    let children: Vec<String> =
        ["bug", "task", "test"].iter().map(|kind| create(pn, &[kind, "-t", kind, "--dep", &parent])).collect();
    pn.pn(["update", &parent, "--claim"]).ok_json();
    pn.pn(["update", &children[1], "--claim"]).ok_json();
    assert_eq!(ids(pn, &["blocked"]), children, "bugs and claimed ones too; a parent in progress blocks");
    pn.pn(["close", &children[2]]).ok_json();
    assert_eq!(ids(pn, &["blocked"]), children[..2]);
    pn.pn(["close", &parent]).ok_json();
    assert_eq!(pn.pn(["blocked"]).ok_json(), json!([]));
    pn.pn(["reopen", &parent]).ok_json();
    assert_eq!(ids(pn, &["blocked"]), children[..2], "a reopened parent blocks again");
}

fn search_matches_a_literal_substring_in_any_case(pn: &Sandbox) {
    let street = create(pn, &["Straße sperren", "-t", "task"]);
    let greek = create(pn, &["plain", "-t", "task", "--description", "ΟΔΟΣ und дом"]);
    let percent = create(pn, &["100% done", "-t", "task"]);
    let under = create(pn, &["snake_case", "-t", "task"]);
    let cases: [(&str, &[&String]); 12] = [
        ("STRASSE", &[&street]),
        ("straße", &[&street]),
        ("οδος", &[&greek]),
        ("ДОМ", &[&greek]),
        ("%", &[&percent]),
        ("0% D", &[&percent]),
        ("_", &[&under]),
        ("e_c", &[&under]),
        ("exc", &[]),
        ("\"plain ΟΔΟΣ\"", &[]),
        ("ΟΔΟΣ plain", &[&greek]),
        ("'\"\\", &[]),
    ];
    for (query, expected) in cases {
        let got = ids(pn, &["search", query]);
        assert_eq!(got.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    assert_eq!(ids(pn, &["search", "--", "-t"]), [] as [&str; 0], "a query may look like a flag");
    pn.pn(["update", &under, "--title", "camelCase"]).ok_json();
    assert!(ids(pn, &["search", "snake"]).is_empty(), "an old title is not found");
}

/// The diamond a → b, c → d, where d waits for both b and c, and b and c wait for a.
fn diamond(pn: &Sandbox) -> [String; 4] {
    let a = task(pn, "alpha");
    let b = create(pn, &["beta", "-t", "task", "--dep", &a]);
    let c = create(pn, &["gamma", "-t", "test", "-p", "p3", "--dep", &a]);
    let d = create(pn, &["delta", "-t", "chore", "--dep", &b, "--dep", &c]);
    let e = create(pn, &["epsilon", "-t", "chore", "--dep", &d]);
    pn.pn(["delete", &e]).ok_json();
    [a, b, c, d]
}

fn outline(tree: &Value) -> Vec<Value> {
    elements(tree).iter().map(|node| json!([node["id"], node["depth"], node["parent"], node["repeated"]])).collect()
}

fn a_tree_is_flat_preorder_and_repeats_without_expanding(pn: &Sandbox) {
    let [a, b, c, d] = diamond(pn);
    let below = create(pn, &["below", "-t", "task", "--dep", &d]);
    let tree = pn.pn(["dep", "tree", &a]).ok_json();
    let expected = [
        json!([a, 0, null, null]),
        json!([b, 1, a, null]),
        json!([d, 2, b, null]),
        json!([below, 3, d, null]),
        json!([c, 1, a, null]),
        json!([d, 2, c, true]),
    ];
    assert_eq!(outline(&tree), expected);
    assert_eq!(keys(&tree[1]), ["id", "title", "status", "priority", "issue_type", "depth", "parent"]);
    assert_eq!(json!([tree[4]["title"], tree[4]["priority"], tree[4]["issue_type"]]), json!(["gamma", "p3", "test"]));
    let drawn = pn.pn(["dep", "tree", &a]).ok();
    assert_eq!(drawn.lines().count(), 6, "{drawn}");
    assert!(drawn.lines().nth(1).is_some_and(|line| line.starts_with("├─ ")), "{drawn}");
    assert!(drawn.lines().last().is_some_and(|line| line.starts_with("   └─ ")), "{drawn}");
}

fn a_tree_shows_dependents_or_with_up_dependencies(pn: &Sandbox) {
    let [a, b, c, d] = diamond(pn);
    let tree = |id: &str, way: &str| -> Vec<String> { ids(pn, &["dep", "tree", id, "--direction", way]) };
    assert_eq!(tree(&a, "down"), [a.clone(), b.clone(), d.clone(), c.clone(), d.clone()]);
    assert_eq!(ids(pn, &["dep", "tree", &a]), tree(&a, "down"), "down is the default");
    assert_eq!(tree(&d, "up"), [d.clone(), b.clone(), a.clone(), c, a.clone()]);
    assert_eq!(tree(&a, "up"), [a]);
    assert_eq!(tree(&d, "down"), [d]);
    assert_eq!(tree(&b, "down").len(), 2);
}

fn imported_cycles_are_reported(pn: &Sandbox) {
    assert_eq!(pn.pn(["dep", "cycles"]).ok_json(), json!([]));
    let (a, b, c) = (task(pn, "alpha"), task(pn, "beta"), task(pn, "gamma"));
    pn.pn(["dep", "add", &a, &b]).ok_json();
    pn.pn(["dep", "add", &c, &b]).ok_json();
    pn.pn(["export"]).ok_json();
    let file = pn.store().join("deps.jsonl");
    let lines = fs::read_to_string(&file).expect("an export");
    fs::write(&file, format!("{lines}{}\n", json!({"issue_id": b, "depends_on_id": a}))).expect("written");
    pn.pn(["import"]).ok_json();
    let cycles = elements(&pn.pn(["dep", "cycles"]).ok_json());
    assert_eq!(cycles.len(), 1, "{cycles:?}");
    let mut cycle: Vec<String> = elements(&cycles[0]).iter().map(text).collect();
    cycle.sort();
    let mut expected = [a.clone(), b];
    expected.sort();
    assert_eq!(cycle, expected);
    assert_eq!(pn.pn(["dep", "tree", &a]).ok_json()[0]["id"], a, "a tree with a cycle has an end");
}

fn create_takes_many_dependencies(pn: &Sandbox) {
    let parents = [task(pn, "alpha"), task(pn, "beta")];
    let child = create(pn, &["child", "-t", "task", "--dep", &parents[0], "--dep", &parents[1], "--dep", &parents[0]]);
    assert_eq!(ids(pn, &["dep", "list", &child]), parents);
    pn.pn(["create", "other", "-t", "task", "--dep", "pn-nowhere"]).fails("not_found");
    assert_eq!(ids(pn, &["list"]).len(), 3, "nothing is made when a dependency is unknown");
    pn.pn(["create", "other", "-t", "task", "--fixes", &child]).fails("invalid_input");
}

fn where_prints_the_path_of_the_store(pn: &Sandbox) {
    let path = fs::canonicalize(pn.store()).expect("a store");
    assert_eq!(pn.pn(["where"]).ok_json(), json!({"path": path}));
    assert_eq!(pn.pn(["where"]).ok(), format!("{}\n", path.display()));
}
