//! The web pages: `pn web`, what it lets in, and everything that needs a browser, in `tests/web/pages.test.mjs`.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use pensa_testkit::{Daemon, Http, browser};
use rustix::process::Signal;
use serde_json::json;

use crate::steps::{show, task};

fn pages(pn: &pensa_testkit::Sandbox) -> Daemon {
    let mut command = pn.command(crate::PN);
    command.args(["web", "--no-open", "--json"]);
    Daemon::start(&mut command)
}

#[test]
fn pages_serve_board_and_forms_until_sigterm() {
    let pn = crate::sandbox();
    let id = task(&pn, "first");
    let web = pages(&pn);
    let mut http = Http::to(&web.url);
    let home = http.get("/");
    assert_eq!((home.status, home.header("location")), (303, Some("/ui/board")));
    let board = http.get("/ui/board");
    assert_eq!(board.status, 200);
    assert!(board.body.contains(&format!("data-id=\"{id}\"")) && board.body.contains("data-status=\"in_progress\""));
    let policy = board.header("content-security-policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let own = format!("http://127.0.0.1:{}", web.port());
    let to_progress = format!("{id} in_progress");
    let fields = [("move", to_progress.as_str())];
    assert_eq!(http.ask("POST", "/ui/move").form(&fields).reply().status, 403, "no origin");
    assert_eq!(http.ask("POST", "/ui/move").header("Origin", "http://evil.test").form(&fields).reply().status, 403);
    assert_eq!(http.ask("POST", "/ui/move").header("Origin", &own).body(&json!({"move": "x"})).reply().status, 415);
    assert_eq!(show(&pn, &id)["status"], "open");
    let moved = http.ask("POST", "/ui/move").header("Origin", &own).form(&fields).reply();
    assert_eq!((moved.status, moved.header("location")), (303, Some("/ui/board")));
    assert_eq!((&show(&pn, &id)["status"], &show(&pn, &id)["assignee"]), (&json!("in_progress"), &json!("tester")));
    http.ask("POST", "/issues").header("Origin", &own).form(&[("title", "x")]).reply().refused(415, "unsupported");
    assert_eq!(web.stop(Signal::TERM).code(), Some(0));
}

#[test]
fn the_address_that_is_opened_becomes_a_cookie() {
    let pn = crate::sandbox();
    // A browser that only writes down what it is told to open.
    let (bin, opened) = (pn.path("bin"), pn.path("opened"));
    fs::create_dir(&bin).expect("a directory");
    let script = format!("#!/bin/sh\necho \"$1\" > {}.tmp && mv {0}.tmp {0}\n", opened.display());
    fs::write(bin.join("xdg-open"), script).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(bin.join("xdg-open"), mode).expect("executable");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let mut command = pn.command(crate::PN);
    command.args(["web", "--json"]).env("PATH", path);
    let web = Daemon::start(&mut command);
    let address = pensa_testkit::eventually("an opened address", || fs::read_to_string(&opened).ok());
    let entry = address.trim().strip_prefix(web.url.trim_end_matches('/')).expect("an address of ours");
    let mut http = Http::to(&web.url);
    let let_in = http.get(entry);
    assert_eq!((let_in.status, let_in.header("location")), (303, Some("/ui/board")), "the secret leaves the address");
    let cookie = let_in.header("set-cookie").expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!(http.get("/?key=wrong").status, 401);
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can act as another user");
    }
    // Another user of this machine needs that cookie.
    let as_nobody = |args: &[&str]| {
        let mut curl = Command::new("runuser");
        curl.args(["-u", "nobody", "--", "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"]).args(args);
        String::from_utf8(curl.output().expect("runuser and curl").stdout).expect("a status")
    };
    let board = format!("{}ui/board", web.url);
    assert_eq!(as_nobody(&[&board]), "401");
    assert_eq!(as_nobody(&["-H", "Cookie: pensa=wrong", &board]), "401");
    assert_eq!(as_nobody(&["-H", &format!("Cookie: {cookie}"), &board]), "200");
    assert_eq!(
        as_nobody(&["-H", &format!("Cookie: {cookie}"), &format!("{}issues", web.url)]),
        "401",
        "only for pages"
    );
}

#[test]
fn pages_of_a_configured_server_are_opened_instead() {
    let pn = crate::sandbox();
    let daemon = pn.daemon();
    let asked = || pn.pn(["web", "--no-open"]).env("PN_DAEMON", &daemon.url).dir(pn.path("elsewhere"));
    assert_eq!(asked().ok_json()["url"], format!("{}/ui/board", daemon.url));
    assert_eq!(Http::to(&daemon.url).get("/ui/board").status, 200);
    let url = daemon.url.clone();
    drop(daemon);
    pn.pn(["web", "--no-open"]).env("PN_DAEMON", url).fails("unreachable");
}

#[test]
fn the_pages_work_in_a_browser() {
    let machine = pensa_testkit::Sandbox::bare(crate::PN);
    let work = machine.path("web");
    fs::create_dir(&work).expect("a directory");
    for file in ["package.json", "pages.test.mjs"] {
        fs::copy(browser::directory().join(file), work.join(file)).expect("copied");
    }
    symlink(browser::node_modules(), work.join("node_modules")).expect("a link");
    let mut node = machine.command("node");
    node.args(["--test", "pages.test.mjs"]).current_dir(&work);
    node.env("PN", crate::PN)
        .env("CHROMIUM", browser::program())
        .env("WORK", &work)
        .env_remove("GIT_CEILING_DIRECTORIES");
    let printed = crate::clients::run(&machine, &mut node);
    assert!(printed.contains("fail 0"), "{printed}");
}
