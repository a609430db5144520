//! Settings: layers, changes, and which servers they select.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use pensa_testkit::{Run, Sandbox};
use serde_json::json;

use crate::steps::{task, text};

fn config(pn: &Sandbox, layer: &str) -> PathBuf {
    match layer {
        "local" => pn.store().join("local/config.toml"),
        "project" => pn.store().join("config.toml"),
        "user" => pn.path("xdg/config/pensa/config.toml"),
        _ => pn.path("etc/config.toml"),
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn elsewhere(pn: &Sandbox, args: &[&str]) -> Run {
    pn.pn(args).dir(pn.path("elsewhere"))
}

#[test]
fn settings_go_to_the_project_inside_one_and_to_the_user_elsewhere() {
    let pn = crate::sandbox();
    let id = read(&config(&pn, "project"));
    let set = pn.pn(["config", "set", "export.events", "true"]).ok_json();
    let expected = json!({"status": "set", "key": "export.events", "value": true, "layer": "project",
        "file": config(&pn, "project")});
    assert_eq!(set, expected);
    assert_eq!(read(&config(&pn, "project")), format!("{id}\n[export]\nevents = true\n"));
    assert_eq!(elsewhere(&pn, &["config", "set", "actor", "ana"]).ok_json()["layer"], "user");
    for layer in ["system", "user", "project", "local"] {
        let set = pn.pn(["config", "set", "run.harness", &format!("by-{layer}"), &format!("--{layer}")]).ok_json();
        assert_eq!((&set["layer"], &set["file"]), (&json!(layer), &json!(config(&pn, layer))));
        assert!(read(&config(&pn, layer)).contains(&format!("harness = \"by-{layer}\"")));
    }
    for layer in ["project", "local"] {
        elsewhere(&pn, &["config", "set", "actor", "x", &format!("--{layer}")]).fails("no_store");
    }
    pn.pn(["config", "set", "actor", "x", "--user", "--local"]).misused();
    assert_eq!(pn.pn(["config", "unset", "export.events"]).ok_json()["status"], "unset");
    pn.pn(["config", "unset", "export.events"]).fails("not_found");
    pn.pn(["config", "set", "store_id", "x"]).fails("invalid_input");
    assert_eq!(pn.pn(["list"]).ok_json(), json!([]), "the store is what it was");
}

#[test]
fn the_strongest_layer_wins_and_its_origin_is_shown() {
    let pn = crate::sandbox();
    let get = |run: Run| {
        let result = run.ok_json();
        (text(&result["value"]), text(&result["layer"]), text(&result["origin"]))
    };
    let asked = || pn.pn(["config", "get", "actor", "--show-origin"]).without_env("PN_ACTOR");
    asked().fails("not_found");
    for layer in ["system", "user", "project", "local"] {
        pn.pn(["config", "set", "actor", layer, &format!("--{layer}")]).ok();
        let line = if layer == "project" { 3 } else { 1 };
        let origin = format!("{} line {line}", config(&pn, layer).display());
        assert_eq!(get(asked()), (layer.to_owned(), layer.to_owned(), origin));
        let made = pn.pn(["create", layer, "-t", "task"]).without_env("PN_ACTOR").ok_json();
        let history = pn.pn(["history", &text(&made["id"])]).ok_json();
        assert_eq!(history[0]["actor"], layer);
    }
    assert_eq!(get(asked().env("PN_ACTOR", "env")), ("env".into(), "environment".into(), "PN_ACTOR".into()));
    let flag = pn.pn(["--actor", "flag", "config", "get", "actor", "--show-origin"]).env("PN_ACTOR", "env");
    assert_eq!(get(flag), ("flag".into(), "flag".into(), "--actor".into()));
    assert_eq!(asked().ok().trim(), format!("local  local {} line 1", config(&pn, "local").display()));
    assert_eq!(pn.pn(["config", "get", "actor"]).without_env("PN_ACTOR").ok(), "local\n");
    let events = pn.pn(["config", "get", "export.events", "--show-origin"]);
    assert_eq!(
        events.ok_json(),
        json!({"key": "export.events", "value": false, "layer": "default", "origin": "default"})
    );
    let events = pn.pn(["config", "get", "export.events"]).env("PN_EXPORT_EVENTS", "true");
    assert_eq!(events.ok_json(), json!({"key": "export.events", "value": true}));
    let list = pn.pn(["config", "list"]).without_env("PN_ACTOR").ok_json();
    assert_eq!(list, json!([{"key": "actor", "value": "local"}]));
    let all = pn.pn(["config", "list", "--all", "-q"]).ok();
    assert_eq!(
        all,
        "actor\nboard.columns\nclose.require_accepted\ncreate.type\ndisk.max-part\ndisk.min-free\nexport.events\ngc.after\ngc.auto\ngc.older-than\nhook.distill\nhook.gotchas\nhook.recall\nimport.max-file\nlanes.heavy.slots\n\
         lanes.heavy.timeout\nlanes.net.slots\nlanes.net.timeout\nlanes.no-net.slots\nlanes.no-net.timeout\npager\nredact.allow\nremote-server\nrun.harness\nrun.runtime\nsnapshot.provider\nsync.remote\nsync.sessions\ntui.keys\ntui.theme\n"
    );
}

#[test]
fn unknown_keys_warn_in_every_command_and_wrong_types_fail_where_used() {
    let pn = crate::sandbox();
    let path = config(&pn, "project");
    let id = read(&path);
    fs::write(&path, format!("{id}remote-sever = \"http://localhost:1\"\n")).expect("written");
    for args in [&["list"][..], &["config", "list"], &["kv", "list", "--scope", "user"]] {
        let answer = pn.pn(args).json().answer();
        assert_eq!(answer.code, Some(0), "{answer:?}");
        let warning = text(&answer.error()["warning"]);
        let place = format!("{} line 3", path.display());
        assert!(["remote-sever", &place, "remote-server"].iter().all(|part| warning.contains(part)), "{warning}");
    }
    let answer = pn.pn(["config", "set", "--user", "remote-srver", "x"]).answer();
    assert!(answer.code == Some(1) && answer.stderr.contains("the nearest is remote-server"), "{answer:?}");
    let error = pn.pn(["config", "get", "acter"]).answer();
    assert!(error.code == Some(1) && error.stderr.contains("the nearest is actor"), "{error:?}");
    assert!(!config(&pn, "user").exists(), "nothing was set");
    for (key, value, bad) in
        [("remote-server", "7", "integer"), ("remote-server", "'a b'", "neither"), ("actor", "true", "boolean")]
    {
        fs::write(&path, format!("{id}\n# here:\n{key} = {value}\n")).expect("written");
        let error = pn.pn(["list"]).without_env("PN_ACTOR").fails("invalid_input");
        let place = format!("{} line 5", path.display());
        assert!([&place, key, bad].iter().all(|part| text(&error["error"]).contains(part)), "{error}");
        pn.pn(["config", "set", key, "x"]).ok();
        pn.pn(["config", "unset", key]).ok();
        pn.pn(["list"]).ok();
    }
    fs::write(&path, format!("{id}actor = \n")).expect("written");
    let error = pn.pn(["list"]).fails("invalid_input");
    assert!(text(&error["error"]).contains("line 3"), "{error}");
    let error = pn.pn(["list"]).env("PN_EXPORT_EVENTS", "maybe").fails("invalid_input");
    assert!(text(&error["error"]).contains("line 3"), "the file comes first: {error}");
    fs::write(&path, id).expect("written");
    let error = pn.pn(["export"]).env("PN_EXPORT_EVENTS", "maybe").fails("invalid_input");
    assert!(text(&error["error"]).contains("PN_EXPORT_EVENTS"), "{error}");
}

/// A command on every entity, and whether it can create the user's store.
const COMMANDS: [&[&str]; 32] = [
    &[],
    &["create", "x", "-t", "task"],
    &["list"],
    &["ready"],
    &["dep", "list", "pn-1"],
    &["comment", "list", "pn-1"],
    &["history", "pn-1"],
    &["undo"],
    &["status"],
    &["where"],
    &["doctor"],
    &["export"],
    &["import"],
    &["conflicts"],
    &["backup"],
    &["batch"],
    &["agent", "list"],
    &["session", "list"],
    &["run", "list"],
    &["run", "start"],
    &["repo", "list"],
    &["workspace", "list"],
    &["harness", "list"],
    &["kv", "set", "k", "v", "--scope", "user"],
    &["remember", "x"],
    &["recall", "x"],
    &["learning", "list"],
    &["loop", "list"],
    &["loop", "claim"],
    &["signal", "list"],
    &["lock", "acquire", "merge"],
    &["context"],
];

#[test]
fn a_server_from_any_layer_is_used_by_every_command_or_it_fails() {
    let pn = crate::sandbox();
    pn.git_init();
    let free = TcpListener::bind(("127.0.0.1", 0)).expect("a free port").local_addr().expect("an address");
    let url = format!("http://{free}");
    for layer in ["local", "user", "system"] {
        pn.pn(["config", "set", "remote-server", &url, &format!("--{layer}")]).ok();
        for args in COMMANDS {
            let error = pn.pn(args).fails("unreachable");
            assert!(text(&error["error"]).contains(&url), "{layer}: {args:?}: {error}");
        }
        pn.pn(["daemon", "status"]).fails("unreachable");
        assert_eq!(pn.pn(["--remote-server", "", "list"]).ok_json(), json!([]), "the files are asked for");
        assert_eq!(pn.pn(["list"]).env("PN_DAEMON", "").ok_json(), json!([]), "the files are asked for");
        pn.pn(["config", "unset", "remote-server", &format!("--{layer}")]).ok();
    }
    for variable in ["PN_REMOTE_SERVER", "PN_DAEMON"] {
        pn.pn(["list"]).env(variable, &url).fails("unreachable");
    }
    assert!(!pn.path("xdg/state/pensa/config.toml").exists(), "no store was made in place of a server");
    assert_eq!(pn.pn(["list"]).ok_json(), json!([]));
}

#[test]
fn a_daemon_set_by_the_user_is_used_also_for_runs() {
    let pn = crate::sandbox();
    pn.git_init();
    let daemon = pn.daemon();
    let id = task(&pn, "one");
    pn.tool(pn.command("git").args(["init", "--quiet"]).current_dir(pn.path("elsewhere")));
    elsewhere(&pn, &["config", "set", "remote-server", &daemon.url]).ok();
    assert_eq!(elsewhere(&pn, &["list", "-q"]).ok().trim(), id);
    let script = "test \"$PN_DAEMON\" = \"$0\" && test -z \"${PN_REMOTE_SERVER+x}\"";
    elsewhere(&pn, &["run", "exec", "--", "sh", "-c", script, &daemon.url]).env("PN_REMOTE_SERVER", &daemon.url).ok();
    let here =
        ["--remote-server", "", "run", "exec", "--", "sh", "-c", "test -z \"$PN_DAEMON\" && test -n \"$PN_STORE\""];
    elsewhere(&pn, &here).ok();
    assert_eq!(elsewhere(&pn, &["run", "list"]).ok_json().as_array().map(Vec::len), Some(1));
    assert_eq!(elsewhere(&pn, &["--remote-server", "", "run", "list"]).ok_json().as_array().map(Vec::len), Some(1));
}

/// A server that must not be called, and whether it was.
struct Trap(TcpListener);

impl Trap {
    fn new() -> (Self, String) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.set_nonblocking(true).expect("set");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        (Self(listener), url)
    }

    fn caller(&self) -> Option<TcpStream> {
        self.0.accept().ok().map(|(stream, _)| stream)
    }
}

#[test]
fn a_server_named_by_the_repository_is_refused_for_every_command() {
    let pn = crate::sandbox();
    pn.git_init();
    let (trap, url) = Trap::new();
    fs::write(pn.store().join("config.toml"), format!("{}remote-server = \"{url}\"\n", read(&config(&pn, "project"))))
        .expect("written");
    for args in COMMANDS {
        let error = pn.pn(args).env("PN_TOKEN", "s3cret").fails("forbidden");
        assert!(text(&error["hint"]).contains("pn trust") && text(&error["error"]).contains(&url), "{args:?}: {error}");
    }
    pn.pn(["daemon", "status"]).fails("forbidden");
    pn.pn(["project", "list"]).fails("forbidden");
    pn.pn(["config", "set", "remote-server", "nobody"]).ok();
    pn.pn(["list"]).fails("forbidden");
    pn.pn(["trust"]).fails("not_found");
    pn.pn(["config", "set", "remote-server", &url]).ok();
    for args in [&["config", "list"][..], &["remote", "list"], &["trust", "--list"], &["--remote-server", "", "list"]] {
        pn.pn(args).ok();
    }
    assert!(trap.caller().is_none(), "nobody called");
    assert!(!pn.path("xdg/state/pensa/config.toml").exists(), "no store was made in place of a server");
}

#[test]
fn trust_covers_one_address_for_one_store() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let id = task(&pn, "one");
    let project = config(&pn, "project");
    let plain = read(&project);
    pn.pn(["trust"]).fails("not_found");
    let answer = pn.pn(["config", "set", "remote-server", &daemon.url]).answer();
    assert!(answer.code == Some(0) && answer.stderr.contains("pn trust"), "{answer:?}");
    pn.pn(["list"]).fails("forbidden");
    pn.pn(["trust", "http://localhost:9"]).fails("conflict");
    pn.pn(["list"]).fails("forbidden");
    let printed = pn.pn(["trust", &daemon.url]).ok_json();
    assert_eq!((&printed["status"], &printed["url"]), (&json!("trusted"), &json!(daemon.url)));
    assert_eq!(pn.pn(["list", "-q"]).ok().trim(), id);
    assert_eq!(pn.pn(["trust", "--list", "-q"]).ok().trim(), daemon.url);
    assert!(pn.path("xdg/config/pensa/trusted.toml").exists(), "kept outside the repository");
    let other = read(&project).replace(&daemon.url, "http://localhost:9");
    fs::write(&project, &other).expect("written");
    pn.pn(["list"]).fails("forbidden");
    fs::write(&project, other.replace("http://localhost:9", &daemon.url).replace("store_id = \"", "store_id = \"0"))
        .expect("written");
    pn.pn(["list"]).fails("forbidden");
    fs::write(&project, format!("{plain}remote-server = \"{}\"\n", daemon.url)).expect("written");
    pn.pn(["list"]).ok();
    assert_eq!(pn.pn(["trust", "--revoke"]).ok_json()["status"], "revoked");
    pn.pn(["trust", "--revoke"]).fails("not_found");
    pn.pn(["list"]).fails("forbidden");
}

#[test]
fn a_committed_local_settings_file_counts_as_the_repositorys() {
    let pn = crate::sandbox();
    pn.git_init();
    let (trap, url) = Trap::new();
    pn.pn(["config", "set", "--local", "remote-server", &url]).ok();
    pn.git(["add", "--force", ".pensa/local/config.toml"]);
    pn.pn(["list"]).fails("forbidden");
    pn.pn(["trust"]).ok();
    pn.pn(["trust", "--revoke"]).ok();
    assert!(trap.caller().is_none(), "nobody called");
    pn.git(["rm", "--cached", "--quiet", ".pensa/local/config.toml"]);
    pn.pn(["config", "set", "--local", "remote-server", "http://127.0.0.1:1"]).ok();
    pn.pn(["list"]).fails("unreachable");
    fs::remove_file(config(&pn, "local")).expect("removed");
    symlink(pn.path("elsewhere/x.toml"), config(&pn, "local")).expect("a link");
    pn.pn(["list"]).fails("invalid_input");
}

#[test]
fn the_token_of_a_remote_is_sent_to_its_address_once_trusted() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let token = read(&pn.store().join("local/token"));
    pn.pn(["remote", "add", "web", &daemon.url, "--token-stdin"]).stdin(token).ok();
    for named in ["web", &daemon.url] {
        pn.pn(["config", "set", "remote-server", named]).ok();
        pn.pn(["list"]).fails("forbidden");
        assert_eq!(pn.pn(["trust"]).ok_json()["url"], json!(daemon.url), "{named}");
        pn.pn(["list"]).ok();
        pn.pn(["trust", "--revoke"]).ok();
    }
}

#[test]
fn runs_and_snapshots_use_the_settings_unless_flags_differ() {
    let pn = crate::sandbox();
    pn.git_init();
    for (key, value) in [("run.harness", "codex@3"), ("run.runtime", "docker"), ("snapshot.provider", "copy")] {
        pn.pn(["config", "set", "--user", key, value]).ok();
    }
    let started = pn.pn(["run", "start"]).ok_json();
    assert_eq!((&started["harness"], &started["runtime"]), (&json!("codex@3"), &json!("docker")));
    let result = pn.pn(["run", "start", "--harness", "claude-code@2.1"]).ok_json();
    assert_eq!(result["harness"], "claude-code@2.1");
    pn.pn(["run", "exec", "--", "true"]).ok();
    assert_eq!(pn.pn(["run", "list", "--status", "succeeded"]).ok_json()[0]["harness"], "codex@3");
    assert_eq!(pn.pn(["snapshot", "create"]).ok_json()["provider"], "copy");
    assert_eq!(pn.pn(["snapshot", "create", "--provider", "git"]).ok_json()["provider"], "git");
    pn.pn(["config", "set", "snapshot.provider", "tape"]).fails("invalid_input");
}
