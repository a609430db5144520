//! The OpenAPI document, what models are offered, and the help of every command.

use pensa_testkit::{Http, Sandbox};
use serde_json::{Value, json};

use super::unchanged;

#[test]
fn the_openapi_document_stays_as_it_is() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let mut document = Http::to(&daemon.url).get("/openapi.json").ok();
    document["info"]["version"] = "<version>".into();
    unchanged("openapi", &format!("{document:#}"));
}

#[test]
fn what_models_are_offered_stays_as_it_is() {
    let pn = crate::sandbox();
    let client = json!({"name": "a-model", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let asked = [
        ("initialize", hello),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "workflow"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
    ];
    let lines = asked.iter().enumerate().map(|(id, (method, params))| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        if id == 0 { format!("{request}\n{ready}\n") } else { format!("{request}\n") }
    });
    let answer = pn.pn(["mcp"]).stdin(lines.collect::<String>()).ok();
    let mut frames: Vec<Value> = answer.lines().map(|line| serde_json::from_str(line).expect("a frame")).collect();
    frames[0]["result"]["serverInfo"]["version"] = "<version>".into();
    let shown = asked.iter().enumerate().map(|(id, (method, _))| {
        let frame = frames.iter().find(|frame| frame["id"] == id).unwrap_or_else(|| panic!("no answer: {method}"));
        format!("> {method}\n{frame:#}\n\n")
    });
    unchanged("mcp", &shown.collect::<String>());
}

#[test]
fn the_help_of_every_command_stays_as_it_is() {
    let pn = Sandbox::bare(crate::PN);
    let mut shown = String::new();
    help(&pn, &[], &mut shown);
    // Those that other programs call and no list shows.
    for hidden in [&["merge-driver"][..], &["hooks", "run"], &["run", "terminal"], &["run", "window"]] {
        help(&pn, hidden, &mut shown);
    }
    unchanged("help", &shown);
}

/// The help of a command, and of all below it.
fn help(pn: &Sandbox, command: &[&str], to: &mut String) {
    let told = pn.pn([command, &["--help"]].concat()).ok();
    let told: String = told.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    to.push_str(&format!("> pn {} --help\n{told}\n", command.join(" ")).replace("pn  --help", "pn --help"));
    let list = told.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        help(pn, &[command, &[name]].concat(), to);
    }
}
