//! Named servers: what is stored about them, who can read it, and where tokens are sent.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use pensa_testkit::{PATIENCE, Run, Sandbox};
use serde_json::json;

use crate::steps::{task, text};
use crate::typing::Terminal;

const SECRET: &str = "s3cret-t0ken-of-the-team";

fn file(pn: &Sandbox) -> PathBuf {
    pn.path("xdg/config/pensa/remotes.toml")
}

/// A run in a directory without a store.
fn elsewhere(pn: &Sandbox, args: &[&str]) -> Run {
    pn.pn(args).dir(pn.path("elsewhere"))
}

fn add(pn: &Sandbox, name: &str, url: &str) -> Run {
    elsewhere(pn, &["remote", "add", name, url, "--token-stdin"]).stdin(format!("{SECRET}\n"))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").mode() & 0o777
}

#[test]
fn a_server_with_a_name_is_used_by_it_until_it_is_removed() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let id = task(&pn, "one");
    let token = fs::read_to_string(pn.store().join("local/token")).expect("a token");
    let known = json!({"name": "web", "url": daemon.url, "has_token": true});
    let added = elsewhere(&pn, &["remote", "add", "web", &daemon.url, "--token-stdin"]).stdin(token.as_str());
    assert_eq!(added.ok_json(), known);
    assert_eq!(elsewhere(&pn, &["remote", "list"]).ok_json(), json!([known]));
    assert_eq!(elsewhere(&pn, &["remote", "list", "-q"]).ok(), "web\n");
    assert_eq!(elsewhere(&pn, &["list", "-q"]).env("PN_DAEMON", "web").ok().trim(), id);
    assert_eq!(elsewhere(&pn, &["--remote-server", "web", "close", &id]).ok_json()["status"], "closed");
    assert_eq!(elsewhere(&pn, &["daemon", "status"]).env("PN_DAEMON", "web").ok_json(), daemon.ready);
    assert_eq!(elsewhere(&pn, &["remote", "remove", "web"]).ok_json(), json!({"status": "removed", "name": "web"}));
    assert_eq!(elsewhere(&pn, &["remote", "list"]).ok_json(), json!([]));
    let error = elsewhere(&pn, &["list"]).env("PN_DAEMON", "web").fails("not_found");
    assert_eq!(error["hint"], "pn remote list");
    elsewhere(&pn, &["remote", "remove", "web"]).fails("not_found");
}

#[test]
fn the_remotes_file_is_private_and_in_no_repository() {
    let pn = crate::sandbox();
    pn.git_init();
    pn.git(["add", "--all"]);
    pn.git(["commit", "--quiet", "--message=store"]);
    add(&pn, "web", "http://localhost:1").dir(pn.project()).ok();
    assert_eq!((mode(&file(&pn)), mode(file(&pn).parent().expect("a directory"))), (0o600, 0o700));
    assert_eq!(pn.git(["status", "--short"]), "", "nothing new in the project");
}

#[test]
fn a_remotes_file_with_wrong_permissions_or_a_link_is_refused() {
    let pn = Sandbox::bare(crate::PN);
    add(&pn, "web", "http://localhost:1").ok();
    fs::set_permissions(file(&pn), fs::Permissions::from_mode(0o640)).expect("changed");
    let error = elsewhere(&pn, &["list"]).env("PN_DAEMON", "web").fails("forbidden");
    assert!(text(&error["hint"]).contains("chmod 600"), "{error}");
    add(&pn, "api", "http://localhost:1").fails("forbidden");
    fs::set_permissions(file(&pn), fs::Permissions::from_mode(0o600)).expect("changed");
    fs::rename(file(&pn), pn.project().join("remotes.toml")).expect("moved");
    symlink(pn.project().join("remotes.toml"), file(&pn)).expect("a link");
    elsewhere(&pn, &["list"]).env("PN_DAEMON", "web").fails("invalid_input");
    add(&pn, "api", "http://localhost:1").fails("invalid_input");
}

#[test]
fn an_invalid_remote_is_refused_and_nothing_is_created() {
    let pn = Sandbox::bare(crate::PN);
    for url in ["localhost:7533", "ftp://x", "", "https://ana:s3cret-t0ken-of-the-team@host", "http://x?y"] {
        let error = add(&pn, "web", url).fails("invalid_input");
        assert!(!error.to_string().contains(SECRET), "{error}");
    }
    for name in ["a b", "a/b", "a.b", "http://x", ""] {
        add(&pn, name, "http://localhost:1").misused();
    }
    for token in ["", "\n", "two words", "two\nlines", "caf\u{e9}", "a\u{1b}[2J"] {
        add(&pn, "web", "http://localhost:1").stdin(token).fails("invalid_input");
    }
    let no_terminal = elsewhere(&pn, &["remote", "add", "web", "http://localhost:1"]).stdin(SECRET);
    let error = no_terminal.fails("invalid_input");
    assert!(text(&error["hint"]).contains("--token-stdin"), "{error}");
    elsewhere(&pn, &["remote", "add", "web", "http://x", "--token", SECRET]).misused();
    let ca = elsewhere(&pn, &["remote", "add", "web", "https://x", "--no-token", "--ca-cert", "not-there.pem"]);
    ca.fails("invalid_input");
    assert!(!file(&pn).exists());
}

#[test]
fn a_remote_name_is_unique_and_a_token_is_optional() {
    let pn = Sandbox::bare(crate::PN);
    let bare = || elsewhere(&pn, &["remote", "add", "web", "http://localhost:1/", "--no-token"]);
    assert_eq!(bare().ok_json(), json!({"name": "web", "url": "http://localhost:1", "has_token": false}));
    let error = bare().fails("conflict");
    assert_eq!(error["hint"], "pn remote remove web first");
    add(&pn, "web", "http://localhost:2").fails("conflict");
    assert_eq!(elsewhere(&pn, &["remote", "list"]).ok_json()[0]["url"], "http://localhost:1");
}

#[test]
fn the_token_is_shown_by_no_command_and_no_error() {
    let pn = Sandbox::bare(crate::PN);
    let free = TcpListener::bind(("127.0.0.1", 0)).expect("a free port").local_addr().expect("an address");
    let url = format!("http://{free}");
    let through = |args: &[&str]| elsewhere(&pn, args).env("PN_DAEMON", "web");
    let runs = || {
        [
            through(&["remote", "list"]),
            through(&["list"]),
            through(&["create", "x", "-t", "task"]),
            through(&["daemon", "status"]),
            add(&pn, "web", &url),
            through(&["help", "remote"]),
            elsewhere(&pn, &["list"]).env("PN_DAEMON", &url).env("PN_TOKEN", format!("{SECRET} x")),
        ]
    };
    let first = add(&pn, "web", &url).answer();
    assert_eq!(first.code, Some(0), "{first:?}");
    fs::copy(file(&pn), pn.path("whole")).expect("copied");
    let mut result = format!("{first:?}");
    for broken in [false, true] {
        if broken {
            let text = fs::read_to_string(file(&pn)).expect("there");
            fs::write(file(&pn), text.replace(&format!("{SECRET}\""), SECRET)).expect("written");
        }
        for run in runs() {
            result += &format!("{:?}", run.answer());
        }
        for run in runs() {
            result += &format!("{:?}", run.json().answer());
        }
    }
    assert!(fs::read_to_string(pn.path("whole")).expect("there").contains(SECRET), "it was kept");
    assert!(result.contains("is not TOML") && result.contains("nothing listens"), "{result}");
    assert!(!result.contains(SECRET), "{result}");
}

/// Answers one request with an empty list. Returns the token of the request.
fn listener() -> (String, JoinHandle<Option<String>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a caller");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut head = [0u8; 4096];
        let length = stream.read(&mut head).expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]").expect("sent");
        let head = String::from_utf8_lossy(&head[..length]).into_owned();
        let bearer = head.lines().find(|line| line.to_lowercase().starts_with("authorization: bearer "));
        bearer.map(|line| line["authorization: bearer ".len()..].to_owned())
    });
    (url, heard)
}

#[test]
fn a_token_is_sent_only_to_its_own_server() {
    let pn = Sandbox::bare(crate::PN);
    for (by_name, handed_over, expected) in
        [(true, "", Some(SECRET)), (true, "another", Some("another")), (false, "", None)]
    {
        let (url, heard) = listener();
        add(&pn, "web", &url).ok();
        let server = if by_name { "web" } else { &url };
        elsewhere(&pn, &["list"]).env("PN_DAEMON", server).env("PN_TOKEN", handed_over).ok();
        assert_eq!(heard.join().expect("a server that ends").as_deref(), expected);
        elsewhere(&pn, &["remote", "remove", "web"]).ok();
    }
}

#[test]
fn the_token_is_asked_for_without_echo() {
    let pn = Sandbox::bare(crate::PN);
    let mut terminal = Terminal::run(&pn, r#""$PN" remote add web http://localhost:1 && stty -a"#);
    terminal.answer("token for web: ", &format!("{SECRET}\n"));
    let (shown, code) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(shown.contains(" echo ") && shown.contains(" eol = <undef>"), "the terminal is as before: {shown}");
    assert!(fs::read_to_string(file(&pn)).expect("there").contains(SECRET));
}

#[test]
fn an_aborted_token_prompt_restores_the_terminal() {
    let pn = Sandbox::bare(crate::PN);
    for (typed, why) in [("\u{3}", "interrupted"), ("\n", "empty"), ("\u{4}", "empty"), ("s3cret\u{3}", "interrupted")]
    {
        let mut terminal = Terminal::run(&pn, r#""$PN" remote add web http://localhost:1; echo "=$?"; stty -a"#);
        terminal.answer("token for web: ", typed);
        let (shown, _) = terminal.end();
        assert!(shown.contains(why) && shown.contains("=1"), "{typed:?}: {shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains(" echo ") && shown.contains("isig"), "the terminal is as before: {shown}");
        assert!(!file(&pn).exists());
    }
}
