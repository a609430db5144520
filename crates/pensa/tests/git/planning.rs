//! Planning fields through git: two clones change the same issues.

use serde_json::json;

use crate::clones::{Clone, Machine};

/// Two clones that both have issues with these titles.
fn clones_with<'m>(machine: &'m Machine, titles: &[&str]) -> (Clone<'m>, Clone<'m>, Vec<String>) {
    let (clone, mate) = (machine.clone(0), machine.clone(1));
    let made = titles.iter().map(|title| clone.pn(&["create", title, "-t", "task", "-q"]).trim().to_owned()).collect();
    commit(&clone);
    clone.git(&["push", "--quiet", "origin", "main"]);
    mate.git(&["pull", "--quiet", "--no-rebase"]);
    (clone, mate, made)
}

fn commit(clone: &Clone<'_>) {
    clone.git(&["commit", "--quiet", "--all", "--allow-empty", "--message=work"]);
}

/// Brings both sides together, first into one clone, then into the other.
fn meet(clone: &Clone<'_>, mate: &Clone<'_>) {
    commit(clone);
    clone.git(&["push", "--quiet", "origin", "main"]);
    commit(mate);
    mate.git(&["pull", "--quiet", "--no-rebase"]);
    mate.git(&["push", "--quiet", "origin", "main"]);
    clone.git(&["pull", "--quiet", "--no-rebase"]);
}

#[test]
fn labels_criteria_and_fields_of_two_clones_are_merged_one_by_one() {
    let machine = Machine::new(2);
    let (clone, mate, made) = clones_with(&machine, &["a task"]);
    let id = &made[0];
    clone.pn(&["update", id, "--add-label", "a", "--add-label", "b", "--accept", "one", "--accept", "two"]);
    meet(&clone, &mate);
    clone.pn(&["update", id, "--add-label", "c", "--remove-label", "a"]);
    clone.pn(&["accept", id, "1"]);
    mate.pn(&["update", id, "--add-label", "d", "--remove-label", "b", "--due", "2030-01-01"]);
    mate.pn(&["accept", id, "2"]);
    meet(&clone, &mate);
    for place in [&clone, &mate] {
        let issue = place.json(&["show", id]);
        let criteria = json!([{"text": "one", "done": true}, {"text": "two", "done": true}]);
        assert_eq!((&issue["labels"], &issue["acceptance"]), (&json!(["c", "d"]), &criteria));
        assert_eq!(issue["due"], "2030-01-01");
        assert_eq!(place.json(&["conflicts"]), json!([]));
    }
}

#[test]
fn a_cycle_of_parents_that_a_merge_brings_together_loses_its_later_half_with_a_conflict() {
    let machine = Machine::new(2);
    let (clone, mate, made) = clones_with(&machine, &["one", "two"]);
    clone.pn(&["update", &made[0], "--parent", &made[1]]);
    mate.pn(&["update", &made[1], "--parent", &made[0]]);
    meet(&clone, &mate);
    commit(&clone);
    for place in [&clone, &mate] {
        let parent = |id: &str| place.json(&["show", id])["parent"].clone();
        assert_eq!((parent(&made[0]), parent(&made[1])), (json!(made[1]), json!(null)));
        assert_eq!(place.json(&["dep", "cycles"]), json!([]));
    }
    let conflicts = mate.json(&["conflicts"]);
    let listed = conflicts.as_array().expect("a list").iter();
    let found = listed.filter(|conflict| conflict["field"] == "parent" && conflict["other"] == made[0].as_str());
    assert_eq!(found.count(), 1, "{conflicts}");
}

#[test]
fn views_travel_with_the_code() {
    let machine = Machine::new(2);
    let (clone, mate, _) = clones_with(&machine, &["a task"]);
    clone.pn(&["view", "save", "urgent", "p<=1"]);
    meet(&clone, &mate);
    assert_eq!(mate.json(&["view", "list"])[0]["query"], "p<=1");
    mate.pn(&["view", "remove", "urgent"]);
    clone.pn(&["view", "save", "mine", "assignee:@me"]);
    meet(&clone, &mate);
    for place in [&clone, &mate] {
        let views = place.json(&["view", "list"]);
        let names: Vec<&str> =
            views.as_array().expect("a list").iter().filter_map(|view| view["name"].as_str()).collect();
        assert_eq!(names, ["mine"]);
    }
}
