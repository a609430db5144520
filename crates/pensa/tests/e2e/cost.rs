//! `pn cost`: every token counted once, by each group, with list prices and those of the settings.

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::steps::{elements, task, text};

crate::in_both_modes! {
    costs_are_grouped_and_every_group_adds_up_to_the_same,
    prices_of_the_settings_replace_list_prices_and_models_without_one_are_listed,
}

/// Creates an agent whose first session is about an issue. Returns the ids of agent and session.
fn agent(pn: &Sandbox, name: &str, issue: Option<&str>) -> [String; 2] {
    let issue = issue.map(|issue| ["--issue", issue]).into_iter().flatten();
    let args = ["agent", "create", "--type", "user", "--name", name];
    let agent = pn.pn(args.into_iter().chain(issue)).ok_json();
    [text(&agent["id"]), text(&agent["active_session_id"])]
}

fn append(pn: &Sandbox, agent: &str, at: &str, data: &Value) {
    let entry = json!({"type": "assistant_message", "at": at, "data": data}).to_string();
    pn.pn(["session", "append", agent, "-"]).stdin(format!("{entry}\n")).ok();
}

fn usage(id: &str, model: &str, [input, output, read, write]: [i64; 4]) -> Value {
    json!({"message": {"id": id, "model": model, "usage": {"input_tokens": input, "output_tokens": output,
        "cache_read_input_tokens": read, "cache_creation_input_tokens": write}}})
}

const FIRST: &str = "2026-02-01T10:00:00Z";
const SECOND: &str = "2026-02-02T10:00:00Z";

fn costs_are_grouped_and_every_group_adds_up_to_the_same(pn: &Sandbox) {
    let issue = task(pn, "fix the resolver");
    let [ann, session] = agent(pn, "ann", Some(&issue));
    let [ben, _] = agent(pn, "ben", None);
    // A reply is written twice; the last counts.
    append(pn, &ann, FIRST, &usage("m1", "claude-sonnet-4-5", [1000, 1, 0, 0]));
    append(pn, &ann, FIRST, &usage("m1", "claude-sonnet-4-5", [1000, 100, 2000, 3000]));
    append(pn, &ann, SECOND, &usage("m2", "gpt-5.1", [500, 50, 100, 0]));
    append(pn, &ben, SECOND, &usage("m3", "gpt-5.1", [10, 1, 0, 0]));
    append(pn, &ben, SECOND, &json!({"text": "nothing used"}));
    let report = |args: &[&str]| pn.pn([&["cost"], args].concat()).ok_json();
    let keys = |report: &Value| -> Vec<Value> {
        elements(&report["rows"]).iter().map(|row| row.get("key").cloned().unwrap_or_default()).collect()
    };
    let total = json!([1510, 151, 2100, 3000]);
    let tokens =
        |spent: &Value| json!(["input", "output", "cache_read", "cache_write"].map(|name| spent[name].clone()));
    let (sonnet, gpt) = (
        (1000.0 * 3.0 + 100.0 * 15.0 + 2000.0 * 0.3 + 3000.0 * 3.75) / 1e6,
        (510.0 * 1.25 + 51.0 * 10.0 + 100.0 * 0.125) / 1e6,
    );
    for (by, expected) in [
        ("model", json!(["claude-sonnet-4-5", "gpt-5.1"])),
        ("issue", json!([issue, null])),
        ("agent", json!([ann, ben])),
        ("run", json!([null])),
        ("day", json!(["2026-02-01", "2026-02-02"])),
    ] {
        let report = report(&["--by", by]);
        assert_eq!((&report["by"], json!(keys(&report))), (&json!(by), expected), "{report}");
        assert_eq!(tokens(&report["total"]), total, "{by}");
        let sum: f64 = elements(&report["rows"]).iter().map(|row| row["cost_usd"].as_f64().expect("a price")).sum();
        assert!((sum - sonnet - gpt).abs() < 1e-9, "{by}: {sum}");
        assert_eq!(report["unpriced"], json!([]));
    }
    let by_session = report(&["--by", "session", "--issue", &issue]);
    assert_eq!((keys(&by_session), &by_session["total"]["input"]), (vec![json!(session)], &json!(1500)));
    assert_eq!(report(&["--by", "issue"])["rows"][0]["title"], "fix the resolver");
    assert_eq!(tokens(&report(&["--since", "2026-02-02T00:00:00Z"])["total"]), json!([510, 51, 100, 0]));
    assert_eq!(report(&[]), report(&["--by", "model"]));
    pn.pn(["cost", "--by", "colour"]).misused();
    let shown = pn.pn(["cost", "--by", "day"]).ok();
    assert!(shown.contains("   $0.0163     1000      100     2000     3000  2026-02-01\n"), "{shown}");
    assert_eq!(pn.pn(["-q", "cost"]).ok(), "claude-sonnet-4-5\ngpt-5.1\n");
}

fn prices_of_the_settings_replace_list_prices_and_models_without_one_are_listed(pn: &Sandbox) {
    let [ann, _] = agent(pn, "ann", None);
    append(pn, &ann, FIRST, &usage("m1", "gpt-5.1", [1_000_000, 0, 1_000_000, 0]));
    append(pn, &ann, FIRST, &usage("m2", "house.model", [1_000_000, 0, 0, 0]));
    append(pn, &ann, FIRST, &json!({"model": "told", "usage": {"input": 5, "cost": {"total": 0.5}}}));
    let report = pn.pn(["cost"]).ok_json();
    assert_eq!((&report["unpriced"], report["total"].get("cost_usd")), (&json!(["house.model"]), None), "{report}");
    let cost = |model: &str| {
        let report = pn.pn(["cost"]).ok_json();
        let row = elements(&report["rows"]).into_iter().find(|row| row["key"] == model).expect("a row");
        row.get("cost_usd").and_then(Value::as_f64)
    };
    assert_eq!([cost("gpt-5.1"), cost("house.model"), cost("told")], [Some(1.375), None, Some(0.5)]);
    pn.pn(["config", "set", "prices.\"gpt-5.1\".cache_read", "1"]).ok();
    pn.pn(["config", "set", "prices.\"house.model\".input", "4"]).ok();
    pn.pn(["config", "set", "prices.\"house.model\".output", "8"]).ok();
    assert_eq!([cost("gpt-5.1"), cost("house.model"), cost("told")], [Some(2.25), Some(4.0), Some(0.5)]);
    assert_eq!(pn.pn(["cost"]).ok_json()["total"]["cost_usd"], 6.75);
    assert_eq!(pn.pn(["config", "get", "prices.\"gpt-5.1\".cache_read"]).ok().trim(), "1");
}
