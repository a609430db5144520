//! Helpers that many tests share.

use pensa_testkit::Sandbox;
use serde_json::Value;

/// Creates an issue; `args` are its title and flags. Returns its id.
#[track_caller]
pub(crate) fn create(pn: &Sandbox, args: &[&str]) -> String {
    let created = pn.pn([&["create"], args].concat()).ok_json();
    created["id"].as_str().expect("an id").to_owned()
}

#[track_caller]
pub(crate) fn task(pn: &Sandbox, title: &str) -> String {
    create(pn, &[title, "-t", "task"])
}

#[track_caller]
pub(crate) fn bug(pn: &Sandbox, title: &str) -> String {
    create(pn, &[title, "-t", "bug"])
}

#[track_caller]
pub(crate) fn show(pn: &Sandbox, id: &str) -> Value {
    pn.pn(["show", id]).ok_json()
}

#[track_caller]
pub(crate) fn history(pn: &Sandbox, id: &str) -> Vec<Value> {
    elements(&pn.pn(["history", id]).ok_json())
}

/// The types of an issue's events, oldest first.
#[track_caller]
pub(crate) fn event_types(pn: &Sandbox, id: &str) -> Vec<String> {
    history(pn, id).iter().rev().map(|event| text(&event["event_type"])).collect()
}

/// The ids of a list, in its order.
#[track_caller]
pub(crate) fn ids(pn: &Sandbox, args: &[&str]) -> Vec<String> {
    elements(&pn.pn(args).ok_json()).iter().map(|issue| text(&issue["id"])).collect()
}

#[track_caller]
pub(crate) fn elements(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("an array: {value}")).clone()
}

#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}

/// The names of an object's fields, in their order.
#[track_caller]
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("an object: {value}")).keys().map(String::as_str).collect()
}

/// All data of the store, which a refused command must not change.
pub(crate) fn everything(pn: &Sandbox) -> Vec<Value> {
    let issues = pn.pn(["list"]).ok_json();
    let mut all = vec![pn.pn(["dep", "cycles"]).ok_json(), pn.pn(["status"]).ok_json()];
    for issue in elements(&issues) {
        let id = text(&issue["id"]);
        all.extend([show(pn, &id), pn.pn(["history", &id]).ok_json()]);
    }
    all.push(issues);
    all
}
