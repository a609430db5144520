//! Secrets in input and in output of commands are replaced before they are stored, also on a server.

use std::fs;

use pensa_testkit::Sandbox;
use serde_json::json;

use crate::in_both_modes;
use crate::steps::text;

fn secret() -> String {
    ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"].concat()
}

in_both_modes! {
    a_comment_is_redacted_unless_the_caller_keeps_it,
    values_are_redacted_instead_of_refused,
}

fn a_comment_is_redacted_unless_the_caller_keeps_it(pn: &Sandbox) {
    let id = text(&pn.pn(["create", &format!("about {}", secret()), "-t", "task"]).ok_json()["id"]);
    let shown = pn.pn(["show", &id]).ok_json();
    assert_eq!(shown["title"], "about [REDACTED:github-pat]");
    let comment = |flags: &[&str]| {
        let args = ["comment", "add", &id, &format!("use {}", secret())];
        text(
            &pn.pn(args.iter().copied().map(str::to_owned).chain(flags.iter().map(|f| (*f).to_owned()))).ok_json()["text"],
        )
    };
    assert_eq!(comment(&[]), "use [REDACTED:github-pat]");
    assert_eq!(comment(&["--no-redact"]), format!("use {}", secret()));
}

fn values_are_redacted_instead_of_refused(pn: &Sandbox) {
    let set = pn.pn(["kv", "set", "deploy_password", "x9Kq3!vT", "--scope", "project"]).ok_json();
    assert_eq!(set["value"], "[REDACTED:password]");
    let set = pn.pn(["kv", "set", "deploy_password", "x9Kq3!vT", "--scope", "project", "--no-redact"]).ok_json();
    assert_eq!(set["value"], "x9Kq3!vT");
}

#[test]
fn redact_allow_of_a_repository_counts_after_trust() {
    let pn = crate::sandbox();
    let create = || text(&pn.pn(["create", &secret(), "-t", "task"]).ok_json()["title"]);
    pn.pn(["config", "set", "redact.allow", "(open"]).fails("invalid_input");
    pn.pn(["config", "set", "redact.allow", "^ghp_0123"]).ok();
    let answer = pn.pn(["create", &secret(), "-t", "task"]).answer();
    assert!(answer.stderr.contains("pn trust") && answer.stdout.contains("[REDACTED:"), "{answer:?}");
    pn.pn(["trust"]).ok();
    assert_eq!(create(), secret());
    let project = pn.store().join("config.toml");
    let changed = fs::read_to_string(&project).expect("settings").replace("^ghp_0123", "ghp_");
    fs::write(&project, changed).expect("written");
    assert_eq!(create(), "[REDACTED:github-pat]");
    pn.pn(["config", "unset", "redact.allow"]).ok();
    pn.pn(["config", "set", "--user", "redact.allow", "^nothing\n^ghp_0123"]).ok();
    assert_eq!(create(), secret());
}

#[test]
fn the_log_of_a_run_is_redacted_and_the_terminal_is_not() {
    let pn = crate::sandbox();
    pn.git_init();
    let (first, last) = (&secret()[..20], &secret()[20..]);
    let script = format!("printf 'a {first}'; sleep 0.3; printf '{last} b\\n'; printf 'no end {first}{last}'");
    let mut command = pn.command(crate::PN);
    let output = command.args(["run", "exec", "--", "sh", "-c", &script]).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("a {0} b\nno end {0}", secret()));
    let run = pn.pn(["run", "list"]).ok_json()[0].clone();
    let log = fs::read_to_string(text(&run["log_path"])).expect("a log");
    assert_eq!(log, "a [REDACTED:github-pat] b\nno end [REDACTED:github-pat]");
    assert!(!run.to_string().contains(&secret()), "{run}");
}

#[test]
fn a_secret_at_the_cut_of_an_output_is_redacted() {
    let pn = crate::sandbox();
    for before in [2030, 2040, 2048, 2060] {
        let script = format!(
            "head -c {before} /dev/zero | tr '\\0' x; printf ' {} '; head -c 9000 /dev/zero | tr '\\0' y",
            secret()
        );
        let mut command = pn.command(crate::PN);
        command.args(["job", "exec", "--lane", "net", "--max-output", "4k", "--", "sh", "-c", &script]);
        assert!(command.output().expect("it runs").status.success());
        let id = text(&pn.pn(["job", "list"]).ok_json()[0]["id"]);
        let job = pn.pn(["job", "show", &id]).ok_json();
        assert_eq!(job["truncated"], json!(true));
        assert!(
            !text(&job["output"]).contains(&secret()[..8]) && !text(&job["output"]).contains(&secret()[30..]),
            "{job}"
        );
    }
}
