//! The OpenAPI document, the tools for models, and the help of every command.

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
fn the_tools_for_models_stay_as_they_are() {
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
    // Hidden commands, which other programs call.
    for hidden in [&["merge-driver"][..], &["hooks", "run"], &["run", "terminal"], &["run", "window"], &["hook"]] {
        help(&pn, hidden, &mut shown);
    }
    unchanged("help", &shown);
}

/// The help of a command, and of all below it.
fn help(pn: &Sandbox, command: &[&str], to: &mut String) {
    let reply = pn.pn([command, &["--help"]].concat()).ok();
    let reply: String = reply.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    to.push_str(&format!("> pn {} --help\n{reply}\n", command.join(" ")).replace("pn  --help", "pn --help"));
    if command.is_empty() {
        let catalog = pn.pn(["help"]).ok_json();
        for each in catalog["commands"].as_array().expect("commands") {
            help(pn, &[each["name"].as_str().expect("a name")], to);
        }
        return;
    }
    let list = reply.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        help(pn, &[command, &[name]].concat(), to);
    }
}
