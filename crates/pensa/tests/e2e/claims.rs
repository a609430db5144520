//! Claims: one holder, identified by its session if it has one.

use std::thread;

use pensa_testkit::{Http, Run, Sandbox};
use serde_json::{Value, json};

use crate::steps::{create, event_types, history, show, task, text};

crate::in_both_modes! {
    eight_processes_with_one_name_claim_an_issue_once,
    a_claim_records_session_and_host_and_shows_them,
    other_sessions_of_the_same_name_are_refused,
    a_run_id_serves_as_session_for_a_caller_without_one,
    claiming_an_issue_assigned_to_another_names_them,
    a_run_holds_its_claim_while_its_command_runs,
    a_run_continues_the_claim_of_its_session,
}

fn in_session<const N: usize>(pn: &Sandbox, session: &str, args: [&str; N]) -> Run {
    pn.pn(args).env("PN_SESSION", session)
}

fn eight_processes_with_one_name_claim_an_issue_once(pn: &Sandbox) {
    for command in
        [&["update", "ID", "--claim"][..], &["work", "start", "ID"], &["run", "exec", "--issue", "ID", "--", "true"]]
    {
        pn.git_init();
        let id = task(pn, "wanted");
        let args: Vec<&str> = command.iter().map(|word| if *word == "ID" { id.as_str() } else { word }).collect();
        let codes: Vec<Value> = thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| pn.pn(&args).dir(pn.project()).json().answer())).collect();
            let answers = all.into_iter().map(|one| one.join().expect("an answer"));
            answers.filter(|answer| answer.code != Some(0)).map(|answer| answer.error()["code"].clone()).collect()
        });
        assert_eq!(codes, vec![json!("already_claimed"); 7], "{command:?}");
        assert_eq!(event_types(pn, &id).iter().filter(|event| *event == "claimed").count(), 1);
    }
}

fn a_claim_records_session_and_host_and_shows_them(pn: &Sandbox) {
    let id = task(pn, "one");
    let claimed = in_session(pn, "s-1", ["update", &id, "--claim"]).ok_json();
    assert_eq!(claimed["claim_session"], "s-1");
    let host = text(&claimed["claim_host"]);
    assert_eq!(show(pn, &id)["claim_session"], "s-1");
    let human = pn.pn(["show", &id]).ok();
    assert!(human.contains("s-1") && human.contains(&host), "{human}");
    assert!(pn.pn(["context"]).ok().contains("s-1"));
    let error = pn.pn(["update", &id, "--claim"]).fails("already_claimed");
    let (message, hint) = (text(&error["error"]), text(&error["hint"]));
    for part in ["held by tester since 20", &format!("on {host}"), "in session s-1"] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
    assert!(hint.contains(&format!("pn heartbeat {id}")) && hint.contains(&format!("pn release {id}")), "{hint}");
}

fn other_sessions_of_the_same_name_are_refused(pn: &Sandbox) {
    let id = task(pn, "one");
    in_session(pn, "s-1", ["update", &id, "--claim", "--ttl", "1h"]).ok_json();
    for args in
        [&["heartbeat", &id][..], &["close", &id], &["release", &id], &["update", &id, "--unclaim"], &["undo", "--any"]]
    {
        pn.pn(args).fails("already_claimed");
        pn.pn(args).env("PN_SESSION", "s-2").fails("already_claimed");
    }
    in_session(pn, "s-1", ["heartbeat", &id]).ok_json();
    pn.pn(["heartbeat", &id, "--force"]).ok_json();
    assert_eq!(history(pn, &id)[0]["detail"]["forced"], true);
    pn.pn(["release", &id, "--force"]).ok_json();
    assert_eq!(history(pn, &id)[0]["detail"]["forced"], true);
    in_session(pn, "s-1", ["update", &id, "--claim"]).ok_json();
    in_session(pn, "s-1", ["close", &id]).ok_json();
    assert!(history(pn, &id)[0]["detail"].get("forced").is_none());
}

fn a_run_id_serves_as_session_for_a_caller_without_one(pn: &Sandbox) {
    let id = task(pn, "one");
    let claimed = pn.pn(["update", &id, "--claim"]).env("PN_RUN", "run-1").ok_json();
    assert_eq!(claimed["claim_session"], "run-1");
    pn.pn(["release", &id]).env("PN_RUN", "run-2").fails("already_claimed");
    in_session(pn, "s-1", ["heartbeat", &id]).fails("already_claimed");
    in_session(pn, "s-1", ["close", &id]).env("PN_RUN", "run-1").ok_json();
}

fn claiming_an_issue_assigned_to_another_names_them(pn: &Sandbox) {
    let id = create(pn, &["one", "-t", "task", "-a", "ben"]);
    assert!(pn.pn(["ready"]).ok().contains("@ben") && pn.pn(["context"]).ok().contains("@ben"));
    let claimed = pn.pn(["update", &id, "--claim"]).actor("ana").ok_json();
    assert_eq!((&claimed["assignee"], &claimed["was_assigned_to"]), (&json!("ana"), &json!("ben")));
    assert!(show(pn, &id).get("was_assigned_to").is_none());
    let other = create(pn, &["two", "-t", "task", "-a", "ben"]);
    let answer = pn.pn(["work", "start", &other]).actor("ana").answer();
    assert!(answer.code == Some(0) && answer.stderr.contains("was assigned to ben"), "{answer:?}");
}

fn a_run_holds_its_claim_while_its_command_runs(pn: &Sandbox) {
    pn.git_init();
    let id = task(pn, "one");
    let pn_program = crate::PN;
    // The run's command can use the claim; another process with the same actor name cannot.
    let script = format!(
        "{pn_program} heartbeat {id} --json | grep -o '\"claim_session\":\"run-[^\"]*\"' && \
         ! PN_RUN= {pn_program} release {id} 2> refused && grep already refused"
    );
    pn.pn(["run", "exec", "--issue", &id, "--", "sh", "-c", &script]).dir(pn.project()).ok();
    let held = show(pn, &id);
    assert_eq!((&held["status"], held.get("claim_session")), (&json!("in_progress"), None), "{held}");
    pn.pn(["release", &id]).ok();
    let close = format!("{pn_program} close {id}");
    pn.pn(["run", "exec", "--issue", &id, "--", "sh", "-c", &close]).dir(pn.project()).ok();
    assert_eq!(show(pn, &id)["status"], "closed");
}

fn a_run_continues_the_claim_of_its_session(pn: &Sandbox) {
    pn.git_init();
    let id = task(pn, "one");
    let close = format!("{} close {id}", crate::PN);
    pn.pn(["update", &id, "--claim"]).env("PN_RUN", "run-outer").ok_json();
    let exec = ["run", "exec", "--issue", &id, "--", "sh", "-c", &close];
    pn.pn(exec).dir(pn.project()).fails("already_claimed");
    pn.pn(exec).env("PN_RUN", "run-outer").dir(pn.project()).ok();
    assert_eq!(show(pn, &id)["status"], "closed");
}

#[test]
fn a_retried_claim_is_recognised_by_its_key_and_not_by_the_name() {
    let pn = Sandbox::with_store(crate::PN);
    let id = task(&pn, "one");
    let daemon = pn.daemon();
    let mut http = Http::to(&daemon.url);
    let mut claim = |key: &str| {
        let ask = http.ask("PATCH", &format!("/issues/{id}")).header("Idempotency-Key", key);
        ask.header("Pensa-Actor", "ana").header("Pensa-Session", "s%201").body(&json!({"claim": true})).reply()
    };
    let first = claim("one").ok();
    assert_eq!(first["claim_session"], "s 1");
    assert_eq!(claim("one").ok(), first, "the same request again");
    claim("two").refused(409, "already_claimed");
}
