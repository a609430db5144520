//! Shell completion in a real shell, and the manual.

use std::fs;
use std::path::Path;

use pensa_testkit::Sandbox;

use crate::steps::task;

/// The completions that bash offers for the last of `words`.
fn offered(pn: &Sandbox, words: &[&str]) -> Vec<String> {
    const SCRIPT: &str = r#"
        source <(pn completions bash) || exit 1
        [[ $(complete -p pn) =~ -F\ ([^ ]+) ]] || exit 1
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
        "${BASH_REMATCH[1]}" pn "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}" 2>/dev/null
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let bin = Path::new(crate::PN).parent().expect("a directory");
    let path = std::env::join_paths([bin, Path::new("/usr/bin"), Path::new("/bin")]).expect("a search path");
    let mut bash = pn.command("bash");
    bash.env("PATH", path).args(["--norc", "-c", SCRIPT, "bash"]).args(words);
    pn.tool(&mut bash).lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn bash_offers_the_ids_of_the_store() {
    let pn = crate::sandbox();
    let ids = [task(&pn, "one"), task(&pn, "two")];
    for words in [
        vec!["pn", "show", "pn-"],
        vec!["pn", "dep", "add", "pn-"],
        vec!["pn", "create", "--fixes", "pn-"],
        vec!["pn", "watch", "issue", "pn-"],
        vec!["pn", "trace", "pn-"],
        vec!["pn", "events", "--subject", "pn-"],
    ] {
        let mut offered = offered(&pn, &words);
        offered.sort();
        let mut expected = ids.clone();
        expected.sort();
        assert_eq!(offered, expected, "{words:?}");
    }
    assert_eq!(offered(&pn, &["pn", "close", &ids[0][..7]]), [ids[0].clone()]);
}

#[test]
fn bash_offers_agents_sessions_and_snapshots_where_they_are_expected() {
    let pn = crate::sandbox();
    let made = pn.pn(["agent", "create", "--type", "user"]).ok_json();
    let (agent, session) = (crate::steps::text(&made["id"]), crate::steps::text(&made["active_session_id"]));
    for words in
        [["pn", "agent", "show", "ag-"], ["pn", "session", "append", "ag-"], ["pn", "session", "history", "ag-"]]
    {
        assert_eq!(offered(&pn, &words), std::slice::from_ref(&agent), "{words:?}");
    }
    assert_eq!(offered(&pn, &["pn", "session", "show", "se-"]), [session]);
    pn.git_init();
    let snapshot = crate::snapshots::take(&pn, &[]);
    for words in [&["pn", "snapshot", "restore", "snap-"][..], &["pn", "snapshot", "create", "--parent", "snap-"]] {
        assert_eq!(offered(&pn, words), std::slice::from_ref(&snapshot), "{words:?}");
    }
    let job = crate::steps::text(&pn.pn(["job", "start", "--lane", "net", "--tool", "t"]).ok_json()["id"]);
    for words in [&["pn", "job", "show", "job-"][..], &["pn", "job", "cancel", "job-"]] {
        assert_eq!(offered(&pn, words), std::slice::from_ref(&job), "{words:?}");
    }
    assert_eq!(offered(&pn, &["pn", "job", "exec", "--lane", "n"]), ["net", "no-net"]);
    pn.pn(["record", "put", "items", "{}"]).ok();
    assert_eq!(offered(&pn, &["pn", "record", "query", "it"]), ["items"]);
    let bare = Sandbox::bare(crate::PN);
    assert!(!offered(&bare, &["pn", "agent", "show", "ag-"]).iter().any(|word| word.starts_with("ag-")));
    assert!(!bare.path("xdg/state").exists(), "whoever only types makes no store");
}

#[test]
fn bash_offers_commands_flags_and_values() {
    let pn = crate::sandbox();
    assert!(offered(&pn, &["pn", "he"]).contains(&"heartbeat".to_owned()));
    assert!(offered(&pn, &["pn", "list", "--s"]).contains(&"--status".to_owned()));
    assert_eq!(offered(&pn, &["pn", "list", "--status", "in"]), ["in_progress"]);
}

#[test]
fn without_a_store_no_id_is_offered_and_nothing_is_created() {
    let pn = Sandbox::bare(crate::PN);
    assert!(!offered(&pn, &["pn", "show", "pn-"]).iter().any(|word| word.starts_with("pn-")));
    assert!(!pn.store().exists());
}

#[test]
fn every_shell_has_a_script_and_others_are_refused() {
    let pn = Sandbox::bare(crate::PN);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(pn.pn(["completions", shell]).ok().contains("pn"), "{shell}");
    }
    pn.pn(["completions", "tcsh"]).fails("invalid_input");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let pn = Sandbox::bare(crate::PN);
    assert!(pn.pn(["man"]).ok().contains(".TH pn"));
    assert!(pn.pn(["man", "dep", "add"]).ok().contains("CHILD"));
    pn.pn(["man", "nonsense"]).fails("not_found");
    let dir = pn.path("man");
    pn.pn(["man", "--dir", dir.to_str().expect("a path")]).ok();
    let pages: Vec<String> = fs::read_dir(&dir)
        .expect("pages")
        .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
        .collect();
    for page in ["pn.1", "pn-create.1", "pn-dep-add.1", "pn-daemon-status.1"] {
        assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
    }
}
