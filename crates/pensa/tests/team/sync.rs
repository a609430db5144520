//! Tests sync with team servers: what each role may send, and sync between two servers.

use pensa_testkit::{Http, Sandbox};
use serde_json::{Value, json};

use crate::fixture::{ProjectToken, ServeProcess, Team, create, elements, text, titles};
use crate::proxy::Proxy;

fn store(server: &ServeProcess, token: &ProjectToken) -> Sandbox {
    let store = Sandbox::with_store(crate::PN);
    join(&store, "home", server, token);
    store
}

fn join(machine: &Sandbox, name: &str, server: &ServeProcess, token: &ProjectToken) {
    let url = server.project_url(&token.project);
    machine.pn(["remote", "add", name, &url, "--token-stdin"]).stdin(token.secret.clone()).ok();
}

fn roles_limit_what_a_store_can_sync(team: &Team) {
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
    let anonymous = Sandbox::with_store(crate::PN);
    let url = server.project_url("web");
    anonymous.pn(["remote", "add", "home", &url, "--no-token"]).ok();
    anonymous.pn(["sync"]).fails("unauthorized");
    anonymous.pn(["sync"]).env("PN_TOKEN", &admin.secret).ok();
}

fn say(store: &Sandbox, agent: &str, words: &str) {
    let data = json!({"text": words}).to_string();
    store.pn(["session", "append", agent, "--type", "user_message", "--data", &data]).ok();
}

/// Work, values, skills and agents of one machine continue on another.
fn work_continues_on_another_device(team: &Team) {
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
    // Continue on the laptop, then sync back.
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
    // Sessions are synced only if that is switched on.
    say(&desk, "claude", "remember the heron");
    sync();
    assert_eq!(client.get("/sessions").ok().to_string().find(&session), None, "without being asked nothing is sent");
    for store in [&desk, &laptop] {
        store.pn(["config", "set", "sync.sessions", "true", "--user"]).ok();
    }
    sync();
    laptop.pn(["agent", "wake", "claude"]).ok();
    let context = laptop.pn(["session", "context", "claude"]).ok_json().to_string();
    assert!(context.contains("remember the heron"), "{context}");
    say(&laptop, "claude", "and the otter");
    [&laptop, &desk].into_iter().for_each(|store| drop(store.pn(["sync"]).ok()));
    let context = desk.pn(["session", "context", "claude"]).ok_json().to_string();
    assert!(context.contains("heron") && context.contains("otter"), "{context}");
    desk.pn(["agent", "delete", "claude", "--force"]).ok();
    [&desk, &laptop].into_iter().for_each(|store| drop(store.pn(["sync"]).ok()));
    assert_eq!(laptop.pn(["agent", "list"]).ok_json(), json!([]));
}

/// A store with an agent that syncs its sessions through the proxy.
fn device(proxy: &Proxy, token: &ProjectToken) -> Sandbox {
    let store = Sandbox::with_store(crate::PN);
    let url = format!("http://{}/p/{}", proxy.address, token.project);
    store.pn(["remote", "add", "home", &url, "--token-stdin"]).stdin(token.secret.clone()).ok();
    store.pn(["config", "set", "sync.sessions", "true", "--user"]).ok();
    store.pn(["agent", "create", "-t", "user", "--name", "claude"]).ok();
    store
}

fn entries(store: &Sandbox) -> Vec<Value> {
    elements(&store.pn(["session", "history", "claude"]).ok_json())
}

#[test]
fn large_session_syncs_in_parts_and_resumes_after_a_cut() {
    let team = Team::on_sqlite();
    team.project("web");
    let (server, token) = (team.serve(), team.token("web", "maintainer"));
    let proxy = Proxy::to(server.process.port());
    let desk = device(&proxy, &token);
    let line = |number: usize| format!("{{\"type\":\"note\",\"text\":\"{number} {}\"}}\n", "word ".repeat(800_000));
    for first in [0, 3, 6, 9] {
        let lines: String = (first..first + 3).map(line).collect();
        desk.pn(["session", "append", "claude", "-"]).stdin(lines).ok();
    }
    let client = &mut server.client(&token);
    let there = |client: &mut Http| {
        elements(&client.get("/sessions").ok()).iter().map(|one| one["entries"].as_i64().unwrap_or_default()).max()
    };
    proxy.cut_after(30 << 20, false);
    desk.pn(["sync"]).fails("unreachable");
    proxy.remove_limit();
    let some = there(client).expect("a session");
    assert!((1..12).contains(&some), "{some} of 12");
    desk.pn(["sync"]).ok();
    assert_eq!(there(client), Some(12));
    let laptop = Sandbox::with_store(crate::PN);
    join(&laptop, "home", &server, &token);
    laptop.pn(["sync"]).env("PN_SYNC_SESSIONS", "true").ok();
    let bare = |mut entry: Value| entry["data"].take();
    let [ours, theirs] = [&desk, &laptop].map(|store| {
        let session = text(&store.pn(["agent", "show", "claude"]).ok_json()["active_session_id"]);
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let some = elements(&store.pn(["session", "history", &session, "--after", &after.to_string()]).ok_json());
            let Some(last) = some.last() else { break all };
            after = last["id"].as_i64().expect("a number");
            all.extend(some.into_iter().map(bare));
        }
    });
    assert!(ours.len() == 12 && ours == theirs, "{} and {}", ours.len(), theirs.len());
}

#[test]
fn server_without_session_support_gets_everything_else() {
    let team = Team::on_sqlite();
    team.project("web");
    let (server, token) = (team.serve(), team.token("web", "maintainer"));
    let proxy = Proxy::to_older(server.process.port());
    let desk = device(&proxy, &token);
    say(&desk, "claude", "not for older servers");
    desk.pn(["create", "for all", "-t", "task"]).ok();
    let done = desk.pn(["sync"]).ok_json();
    assert!(text(&done["notes"][0]).contains("home does not know sessions; its pn is older"), "{done}");
    let client = &mut server.client(&token);
    assert_eq!(titles(&client.get("/issues").ok()), ["for all"]);
    assert_eq!(client.get("/agents").ok()[0]["name"], "claude");
    assert!(elements(&client.get("/sessions").ok()).iter().all(|session| session["entries"] == 0));
    assert_eq!(entries(&desk).len(), 1);
}

#[test]
fn work_continues_on_another_device_on_sqlite() {
    work_continues_on_another_device(&Team::on_sqlite());
}

#[test]
fn work_continues_on_another_device_on_postgres() {
    work_continues_on_another_device(&Team::on_postgres());
}

#[test]
fn roles_limit_what_a_store_can_sync_on_sqlite() {
    roles_limit_what_a_store_can_sync(&Team::on_sqlite());
}

#[test]
fn roles_limit_what_a_store_can_sync_on_postgres() {
    roles_limit_what_a_store_can_sync(&Team::on_postgres());
}

#[test]
fn two_servers_sync_with_the_same_command() {
    let teams = [Team::on_sqlite(), Team::on_postgres()];
    let machine = Sandbox::bare(crate::PN);
    let sides: Vec<(ServeProcess, ProjectToken)> = teams
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
