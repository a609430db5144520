//! Tests the checks on host, origin, token and content type.

use std::process::Command;

use crate::daemon::Daemon;

#[test]
fn only_allowed_hosts_are_answered() {
    let daemon = Daemon::start_with(&["box.lan", "proxy.lan:8443"]);
    let port = daemon.address.port();
    let status = |host: &str| daemon.send("GET", "/status", &[("Host", host)], "").status;
    for host in ["localhost", "127.0.0.1", "[::1]", "host.docker.internal", "LOCALHOST", "box.lan"] {
        assert_eq!(status(&format!("{host}:{port}")), 200, "{host}");
    }
    for host in ["box.lan", "proxy.lan:8443"] {
        assert_eq!(status(host), 200, "{host}");
    }
    for host in ["evil.test", "localhost", "localhost:1", "evil.localhost:80", "proxy.lan", "", "localhost:80@evil"] {
        assert_eq!(status(host), 403, "{host}");
    }
    assert_eq!(status(&format!("evil.test:{port}")), 403);
    let missing = daemon.send("GET", "/status", &[("Host", "-")], "");
    assert_eq!((missing.status, missing.code()), (403, "forbidden"), "{missing:?}");
    let two = daemon.send("GET", "/status", &[("Host", "box.lan"), ("Host", "evil.test")], "");
    assert_eq!(two.status, 403);
    let absolute = daemon.send("GET", "http://evil.test/status", &[], "");
    assert_eq!(absolute.status, 403);
}

#[test]
fn unknown_host_is_refused_even_for_unknown_paths() {
    let daemon = Daemon::start();
    let answer = daemon.send("PUT", "/nowhere", &[("Host", "evil.test")], "x");
    assert_eq!((answer.status, answer.code()), (403, "forbidden"));
}

#[test]
fn pages_of_other_origins_are_refused() {
    let daemon = Daemon::start();
    let port = daemon.address.port();
    let send = |name: &str, value: &str| daemon.send("GET", "/status", &[(name, value)], "").status;
    assert_eq!(send("Origin", &format!("http://localhost:{port}")), 200);
    for origin in ["null", "http://evil.test", "http://localhost:1", &format!("https://localhost:{port}"), ""] {
        assert_eq!(send("Origin", origin), 403, "{origin}");
    }
    assert_eq!(send("Sec-Fetch-Site", "cross-site"), 403);
    assert_eq!(send("Sec-Fetch-Site", "same-origin"), 200);
}

#[test]
fn a_body_must_be_declared_as_json() {
    let daemon = Daemon::start();
    let body = r#"{"title":"t","issue_type":"task"}"#;
    let send = |headers: &[(&str, &str)]| daemon.send("POST", "/issues", headers, body);
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        assert_eq!(send(&[("Content-Type", kind)]).status, 201, "{kind}");
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "text/plain;application/json"]
    {
        let refused = send(&[("Content-Type", kind)]);
        assert_eq!((refused.status, refused.code()), (415, "unsupported"), "{kind}");
    }
    assert_eq!(send(&[]).status, 415);
}

/// Runs curl as another user; `None` if this test does not run as root.
fn as_nobody(daemon: &Daemon, extra: &[&str]) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can act as another user");
        return None;
    }
    let url = format!("http://{}/status", daemon.address);
    let output = Command::new("runuser")
        .args(["-u", "nobody", "--", "curl", "-sS", "--max-time", "20", "-w", "\n%{http_code}"])
        .args(extra)
        .arg(url)
        .output()
        .expect("runuser and curl are installed");
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn another_user_of_this_machine_needs_the_token() {
    let daemon = Daemon::start();
    let Some(refused) = as_nobody(&daemon, &[]) else { return };
    assert!(refused.contains(r#""code":"unauthorized""#) && refused.ends_with("\n401"), "{refused}");
    let wrong = as_nobody(&daemon, &["-H", "Authorization: Bearer wrong"]).expect("still root");
    assert!(wrong.ends_with("\n401"), "{wrong}");
    let header = format!("Authorization: Bearer {}", daemon.token);
    let let_in = as_nobody(&daemon, &["-H", &header]).expect("still root");
    assert!(let_in.ends_with("\n200"), "{let_in}");
}

#[test]
fn the_user_who_runs_the_server_needs_no_token() {
    let daemon = Daemon::start();
    if cfg!(target_os = "linux") {
        assert_eq!(daemon.get("/status").status, 200);
    } else {
        assert_eq!(daemon.get("/status").code(), "unauthorized");
    }
    let header = format!("bearer {}", daemon.token);
    assert_eq!(daemon.send("GET", "/status", &[("Authorization", &header)], "").status, 200);
}

#[test]
fn mcp_endpoint_is_behind_the_same_guard() {
    let daemon = Daemon::start_with(&["box.lan"]);
    let port = daemon.address.port();
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let send = |headers: &[(&str, &str)], body: &str| {
        let usual = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        daemon.send("POST", "/mcp", &[&usual, headers].concat(), body)
    };
    let (origin, host) = (format!("http://localhost:{port}"), format!("box.lan:{port}"));
    for headers in [&[][..], &[("Origin", &*origin)], &[("Host", &*host)], &[("Host", "box.lan")]] {
        let answer = send(headers, list);
        assert_eq!(answer.status, 200, "{headers:?} {answer:?}");
        assert!(answer.body["result"]["tools"].is_array(), "{answer:?}");
    }
    for headers in [("Host", "evil.test"), ("Origin", "http://evil.test"), ("Origin", "null")] {
        let refused = send(&[headers], list);
        assert_eq!((refused.status, refused.code()), (403, "forbidden"), "{headers:?}");
    }
    let plain = daemon.send("POST", "/mcp", &[("Content-Type", "text/plain")], list);
    assert_eq!((plain.status, plain.code()), (415, "unsupported"));
    for method in ["GET", "DELETE"] {
        assert_eq!(daemon.send(method, "/mcp", &[], "").status, 405, "{method}");
    }
    for (bad, code) in [("junk", -32700), ("[]", -32600), ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", -32601)] {
        assert_eq!(send(&[], bad).body["error"]["code"], code, "{bad}");
    }
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(17 << 20));
    assert_eq!(send(&[], &large).code(), "too_large");
    assert_eq!(send(&[], list).status, 200, "it is still there");
}
