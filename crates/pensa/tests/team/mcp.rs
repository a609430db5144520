//! Tests MCP on a team server: the role limits which tools succeed, and only in the caller's project.

use pensa_testkit::{Http, Reply};
use serde_json::{Value, json};

use crate::fixture::{ProjectToken, ServeProcess, Team};

fn client(server: &ServeProcess, token: &ProjectToken) -> Http {
    Http::to(&server.process.url).token(&token.secret).with("Pensa-Actor", "model")
}

fn ask(http: &mut Http, path: &str, method: &str, params: &Value) -> Reply {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let ask = http.ask("POST", path).header("Accept", "application/json, text/event-stream");
    ask.body(&body).reply()
}

#[track_caller]
fn call(http: &mut Http, path: &str, name: &str, arguments: &Value) -> Value {
    ask(http, path, "tools/call", &json!({"name": name, "arguments": arguments})).ok()["result"].clone()
}

fn roles_limit_mcp_tools(team: &Team) {
    team.project("web");
    team.project("api");
    let server = team.serve();
    for (role, may_write) in [("viewer", false), ("agent", true), ("maintainer", true), ("admin", true)] {
        let token = team.token("web", role);
        let mut http = client(&server, &token);
        assert_eq!(call(&mut http, "/p/web/mcp", "find", &json!({}))["isError"], false, "{role}");
        let made = call(&mut http, "/p/web/mcp", "create", &json!({"title": format!("by {role}")}));
        assert_eq!(made["isError"], !may_write, "{role}: {made}");
        if !may_write {
            assert_eq!(made["structuredContent"]["code"], "forbidden", "{role}: {made}");
        }
        let next = ask(&mut http, "/p/web/mcp", "resources/read", &json!({"uri": "pensa://next"})).ok();
        assert!(next["result"]["contents"][0]["text"].is_string(), "{role}: {next}");
        // A foreign project is not found, and the root has no tools.
        ask(&mut http, "/p/api/mcp", "tools/list", &json!({})).refused(404, "not_found");
        ask(&mut http, "/mcp", "tools/list", &json!({})).refused(404, "not_found");
    }
    let token = team.token("web", "agent");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let mut anonymous = Http::to(&server.process.url);
    anonymous.post("/p/web/mcp", &list).refused(401, "unauthorized");
    let page = client(&server, &token)
        .ask("POST", "/p/web/mcp")
        .header("Accept", "application/json, text/event-stream")
        .header("Origin", "https://evil.test")
        .body(&list)
        .reply();
    assert_eq!(page.status, 403, "{page:?}");
}

#[test]
fn roles_limit_mcp_tools_on_postgres() {
    roles_limit_mcp_tools(&Team::on_postgres());
}

#[test]
fn roles_limit_mcp_tools_on_sqlite() {
    roles_limit_mcp_tools(&Team::on_sqlite());
}
