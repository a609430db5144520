//! Syncing with and between servers of a team: what each role may, and what two servers exchange.

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::setting::{Server, Team, Token, create, elements, text, titles};

fn store(server: &Server, token: &Token) -> Sandbox {
    let store = Sandbox::with_store(crate::PN);
    join(&store, "home", server, token);
    store
}

fn join(machine: &Sandbox, name: &str, server: &Server, token: &Token) {
    let url = server.project_url(&token.project);
    machine.pn(["remote", "add", name, &url, "--token-stdin"]).stdin(token.secret.clone()).ok();
}

fn each_role_may_what_it_may_without_a_store_of_its_own(team: &Team) {
    team.project("web");
    let server = team.serve();
    let admin = team.token("web", "admin");
    let issue = create(&mut server.client(&admin), "shared");
    let viewer = store(&server, &team.token("web", "viewer"));
    viewer.pn(["create", "not for all", "-t", "task"]).ok();
    viewer.pn(["sync"]).fails("forbidden");
    assert_eq!(viewer.pn(["list"]).ok_json().as_array().map(Vec::len), Some(2), "it may look");
    let agent = store(&server, &team.token("web", "agent"));
    agent.pn(["sync"]).ok();
    agent.pn(["create", "an agent's", "-t", "task"]).ok();
    agent.pn(["delete", &issue]).ok();
    let done = agent.pn(["sync"]).ok_json();
    assert_eq!((&done["pushed"], &done["held"]), (&json!(1), &json!(1)), "{done}");
    assert!(text(&done["notes"][0]).contains("maintainer"), "{done}");
    let there = titles(&server.client(&admin).get("/issues").ok());
    assert_eq!(there, ["shared", "an agent's"]);
    let waiting = agent.pn(["sync", "status", "home"]).ok_json();
    assert_eq!(waiting["held"], 1, "it goes on waiting: {waiting}");
    agent.pn(["remote", "remove", "home"]).ok();
    join(&agent, "home", &server, &team.token("web", "maintainer"));
    assert_eq!(agent.pn(["sync"]).ok_json()["held"], 0);
    assert_eq!(titles(&server.client(&admin).get("/issues").ok()), ["an agent's"]);
    let stranger = Sandbox::with_store(crate::PN);
    let url = server.project_url("web");
    stranger.pn(["remote", "add", "home", &url, "--no-token"]).ok();
    stranger.pn(["sync"]).fails("unauthorized");
    stranger.pn(["sync"]).env("PN_TOKEN", &admin.secret).ok();
}

/// What somebody begins on one machine another agent goes on with on the next.
fn any_device_any_agent(team: &Team) {
    team.project("web");
    let (server, token) = (team.serve(), team.token("web", "maintainer"));
    let (desk, laptop) = (store(&server, &token), store(&server, &token));
    let sync = || [&desk, &laptop, &desk].into_iter().for_each(|store| drop(store.pn(["sync"]).ok()));
    let secret = ["agent", "create", "-t", "user", "--name", "claude", "--permissions", "{\"network\":true}"];
    let session = text(&desk.pn(secret).ok_json()["active_session_id"]).to_owned();
    desk.pn(["work", "start", "add feature X", "--step", "one", "--step", "two"]).env("PN_ACTOR", "ana").ok();
    desk.pn(["work", "step", "done"]).env("PN_ACTOR", "ana").ok();
    desk.pn(["kv", "set", "theme", "dark", "--scope", "user"]).ok();
    desk.pn(["kv", "set", "socket", "/tmp/x", "--scope", "runtime"]).ok();
    desk.pn(["skill", "set", "backend.md", "sql"]).ok();
    desk.pn(["remember", "builds need a cluster"]).ok();
    sync();
    let current = laptop.pn(["work", "list"]).ok_json();
    assert_eq!((&current[0]["title"], &current[0]["current_step"]), (&json!("add feature X"), &json!(2)), "{current}");
    let arrived = laptop.pn(["agent", "show", "claude"]).ok_json();
    assert_eq!(arrived["permissions"], json!({}), "{arrived}");
    assert_ne!(text(&arrived["active_session_id"]), session);
    assert_eq!(laptop.pn(["kv", "list"]).ok_json().as_array().map(Vec::len), Some(1), "a machine's own values stay");
    assert_eq!(laptop.pn(["skill", "list"]).ok_json()["mappings"], json!({"backend.md": ["sql"]}));
    assert_eq!(laptop.pn(["recall", "cluster"]).ok_json().as_array().map(Vec::len), Some(1));
    // Gone on with there, and back.
    laptop.pn(["work", "step", "done"]).env("PN_ACTOR", "ana").ok();
    laptop.pn(["work", "done"]).env("PN_ACTOR", "ana").ok();
    laptop.pn(["kv", "set", "theme", "light", "--scope", "user"]).ok();
    laptop.pn(["skill", "remove", "backend.md"]).ok();
    laptop.pn(["agent", "sleep", "claude"]).ok();
    [&laptop, &desk].into_iter().for_each(|store| drop(store.pn(["sync"]).ok()));
    assert_eq!(desk.pn(["work", "list"]).ok_json()[0]["status"], "done");
    assert_eq!(desk.pn(["kv", "get", "theme", "--scope", "user"]).ok_json()["value"], "light");
    assert_eq!(desk.pn(["skill", "list"]).ok_json()["mappings"], json!({}));
    let back = desk.pn(["agent", "show", "claude"]).ok_json();
    assert_eq!((&back["lifecycle"], &back["permissions"]), (&json!("sleeping"), &json!({"network": true})), "{back}");
    assert_eq!(text(&back["active_session_id"]), session);
    let client = &mut server.client(&token);
    let there = client.get("/sync/changes").ok().to_string();
    assert!(!there.contains("network") && !there.contains("/tmp/x") && !there.contains(&session), "{there}");
    desk.pn(["agent", "delete", "claude", "--force"]).ok();
    [&desk, &laptop].into_iter().for_each(|store| drop(store.pn(["sync"]).ok()));
    assert_eq!(laptop.pn(["agent", "list"]).ok_json(), json!([]));
}

#[test]
fn any_device_any_agent_on_sqlite() {
    any_device_any_agent(&Team::on_sqlite());
}

#[test]
fn any_device_any_agent_on_postgres() {
    any_device_any_agent(&Team::on_postgres());
}

#[test]
fn each_role_may_what_it_may_without_a_store_of_its_own_on_sqlite() {
    each_role_may_what_it_may_without_a_store_of_its_own(&Team::on_sqlite());
}

#[test]
fn each_role_may_what_it_may_without_a_store_of_its_own_on_postgres() {
    each_role_may_what_it_may_without_a_store_of_its_own(&Team::on_postgres());
}

#[test]
fn two_servers_exchange_their_changes_by_the_same_command() {
    let teams = [Team::on_sqlite(), Team::on_postgres()];
    let machine = Sandbox::bare(crate::PN);
    let sides: Vec<(Server, Token)> = teams
        .iter()
        .map(|team| {
            team.project("web");
            (team.serve(), team.token("web", "maintainer"))
        })
        .collect();
    for (name, (server, token)) in ["here", "there"].iter().zip(&sides) {
        join(&machine, name, server, token);
    }
    let made: Vec<String> = sides
        .iter()
        .zip(["one", "two"])
        .map(|((server, token), title)| create(&mut server.client(token), title))
        .collect();
    let done = machine.pn(["--remote-server", "here", "sync", "there"]).ok_json();
    assert_eq!((&done["pulled"], &done["pushed"]), (&json!(1), &json!(1)), "{done}");
    for (server, token) in &sides {
        let mut http = server.client(token);
        let mut both = titles(&http.get("/issues").ok());
        both.sort();
        assert_eq!(both, ["one", "two"]);
        http.post(&format!("/issues/{}/comments", made[1]), &json!({"text": "said"})).ok();
    }
    machine.pn(["--remote-server", "here", "sync", "there"]).ok();
    for (server, token) in &sides {
        let shown = server.client(token).get(&format!("/issues/{}", made[1])).ok();
        assert_eq!(elements(&shown["comments"]).len(), 2);
    }
    let status = machine.pn(["--remote-server", "here", "sync", "status", "there"]).ok_json();
    assert_eq!(status["events"], json!([]), "{status}");
    machine.pn(["--remote-server", "here", "sync", "here"]).fails("invalid_input");
}
