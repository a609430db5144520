//! What is added to JSON files is taken out again byte for byte.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NEW: &str = "{}\n";

fn server() -> JsonPart {
    let value = json!({"command": "pn", "args": ["mcp"]});
    JsonPart::Member { path: vec!["mcpServers".to_owned()], name: "pensa".to_owned(), value }
}

fn hook(event: &str) -> JsonPart {
    let command = format!("pn hook {event} --agent claude || true");
    let value = json!({"hooks": [{"type": "command", "command": command, "timeout": 5}]});
    JsonPart::Item { path: vec!["hooks".to_owned(), event.to_owned()], value }
}

fn parts() -> Vec<JsonPart> {
    vec![server(), hook("SessionStart"), hook("Stop")]
}

#[track_caller]
fn comes_back(text: Option<&str>) -> String {
    let parts = parts();
    let with = add(text, NEW, &parts, false).unwrap_or_else(|e| panic!("{text:?}: {e}"));
    assert_eq!(state(Some(&with), &parts).expect("readable"), PartState::Current, "{with}");
    assert_eq!(add(Some(&with), NEW, &parts, false).expect("again"), with);
    assert_eq!(remove(&with, NEW, &parts).expect("removed").as_deref(), text, "{with}");
    with
}

#[test]
fn a_new_file_is_ours_alone() {
    let with = comes_back(None);
    assert!(with.starts_with("{\n  \"mcpServers\": {\n    \"pensa\": {\n      \"command\": \"pn\",\n"), "{with}");
    assert!(with.ends_with("\n  }\n}\n"), "{with}");
}

#[test]
fn formatting_comments_and_line_ends_stay() {
    for text in [
        "{}",
        "{}\n",
        "{\n}",
        "{ }\n",
        "{\n\n}\n",
        "{ // nothing yet\n}\n",
        "{\"a\":1}",
        "{ \"a\": 1 }\n",
        "{\"a\":1,}",
        "{\n  \"a\": 1\n}\n",
        "{\n\t\"a\": 1,\n\t\"b\": [1, 2]\n}",
        "{\r\n    \"a\": 1 // why\r\n}\r\n",
        "{\n  \"a\": 1, // why\n  /* end */\n}\n",
        "// top\n{\n  \"a\": \"{ // }\" /* x */ // y\n}\n// bottom",
        "{\"mcpServers\": {}}\n",
        "{\n  \"mcpServers\": {},\n  \"hooks\": {\"Stop\": []}\n}\n",
        "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}, \"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"y\"}]}]}}",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      // mine\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"y\"}]}\n    ]\n  }\n}\n",
        "\u{feff}{\n  \"a\": 1\n}\n",
        "{\n  \"version\": 1\n}\n",
        "{\"mcpServers\":{\n}}",
        "  {  }  ",
        "{\"mcpServers\":{\"command\": \"other\"}, // c\n\"hooks\":{}}",
    ] {
        comes_back(Some(text));
    }
}

#[test]
fn a_new_member_looks_like_the_others() {
    let with = comes_back(Some("{\n\t\"a\": 1 // why\n}\n"));
    assert!(with.starts_with("{\n\t\"a\": 1, // why\n\t\"mcpServers\": {\n\t\t\"pensa\": {\n"), "{with}");
    let with = add(Some("{\"a\": 1}"), NEW, &[server()], false).expect("added");
    assert_eq!(with, r#"{"a": 1, "mcpServers": {"pensa": {"command": "pn", "args": ["mcp"]}}}"#);
}

#[test]
fn later_edits_of_others_stay_when_our_parts_go() {
    let with = add(None, NEW, &parts(), false).expect("added");
    let edited = with.replacen("{\n", "{\n  \"mine\": true, // keep\n", 1);
    assert_eq!(remove(&edited, NEW, &parts()).expect("removed").as_deref(), Some("{\n  \"mine\": true // keep\n}\n"));
    let shared =
        with.replacen("\"hooks\": [\n", "\"hooks\": [\n          {\"type\": \"command\", \"command\": \"mine\"},\n", 1);
    let rest = remove(&shared, NEW, &parts()).expect("removed").expect("not only ours");
    assert!(rest.contains("mine") && !rest.contains("pn hook") && !rest.contains("Stop"), "{rest}");
    parse(&rest).expect("still JSON");
}

#[test]
fn what_a_person_changed_is_replaced_only_by_force() {
    let with = add(None, NEW, &parts(), false).expect("added");
    let edited = with.replace("\"mcp\"", "\"mcp\",\n        \"--json\"");
    assert_eq!(state(Some(&edited), &parts()).expect("readable"), PartState::Edited);
    assert_eq!(add(Some(&edited), NEW, &parts(), false).expect("left"), edited);
    let forced = add(Some(&edited), NEW, &parts(), true).expect("replaced");
    assert_eq!(state(Some(&forced), &parts()).expect("readable"), PartState::Current, "{forced}");
}

#[test]
fn files_that_cannot_be_merged_are_refused() {
    for text in [
        "",
        " \n",
        "[]",
        "{",
        "{\"a\": }",
        "{'a': 1}",
        "{\"mcpServers\": 1}",
        "{\"hooks\": []}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{\"hooks\": {}, \"hooks\": {}}",
        "{a: 1}",
    ] {
        assert!(add(Some(text), NEW, &parts(), true).is_err(), "{text}");
    }
}

/// JSON text with comments, odd white space and trailing commas.
fn documents() -> impl Strategy<Value = String> {
    let blank = prop_oneof![
        4 => Just(String::new()), 2 => Just(" ".to_owned()), 3 => Just("\n".to_owned()), 2 => Just("\n    ".to_owned()),
        1 => Just("\r\n\t".to_owned()), 1 => Just("/* c */".to_owned()), 1 => Just(" // c\n".to_owned()),
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("\"}]{,//\"".to_owned()),
        Just("null".to_owned()),
        Just("{}".to_owned()),
        Just("[ ]".to_owned()),
        Just("{\"command\": \"other\"}".to_owned()),
    ];
    let name = prop_oneof![Just("mcpServers"), Just("hooks"), Just("Stop"), Just("a"), Just("b"), Just("é\\n")];
    let value = leaf.prop_recursive(3, 24, 4, {
        let blank = blank.clone();
        move |inner| {
            let item = (blank.clone(), inner.clone(), blank.clone()).prop_map(|(a, b, c)| format!("{a}{b}{c}"));
            let member = (blank.clone(), name.clone(), blank.clone(), item.clone());
            let member = member.prop_map(|(before, name, gap, item)| (name, format!("{before}\"{name}\"{gap}:{item}")));
            let object = (prop::collection::vec(member, 0..4), any::<bool>(), blank.clone()).prop_map(
                |(mut all, comma, end)| {
                    let mut seen = Vec::new();
                    all.retain(|(name, _)| {
                        !seen.contains(name) && {
                            seen.push(name);
                            true
                        }
                    });
                    let body = all.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(",");
                    format!("{{{body}{}{end}}}", if comma && !all.is_empty() { "," } else { "" })
                },
            );
            let list = (prop::collection::vec(item, 1..4), blank.clone())
                .prop_map(|(all, end)| format!("[{}{end}]", all.join(",")));
            prop_oneof![3 => object, 1 => list]
        }
    });
    let root = value.prop_filter("an object", |text| text.starts_with('{'));
    (blank.clone(), root, blank).prop_map(|(before, root, after)| format!("{before}{root}{after}"))
}

proptest! {
    #[test]
    fn add_check_add_again_and_remove_give_the_same_bytes(text in documents()) {
        let parts = parts();
        // Whatever has another kind of value where ours belongs is refused, and so is left as it is.
        let Ok(with) = add(Some(&text), NEW, &parts, false) else {
            prop_assert!(parts.iter().any(|part| state_of(&text, part).is_err() || add_part(&text, part, Layout::OwnLine).is_err()), "{text}");
            return Ok(());
        };
        let plain_value: Value = plain(&parse(&with).expect("JSON"));
        prop_assert_eq!(&plain_value["mcpServers"]["pensa"]["command"], "pn");
        prop_assert_eq!(state(Some(&with), &parts).expect("readable"), PartState::Current);
        prop_assert_eq!(&add(Some(&with), NEW, &parts, false).expect("again"), &with);
        prop_assert_eq!(remove(&with, NEW, &parts).expect("removed"), Some(text));
    }
}
