//! `pn setup`: what it writes, checks, prints and takes out again, and that it stays in the repository.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use pensa_testkit::Sandbox;
use serde_json::{Value, json};

use crate::interactive::Terminal;

fn repository() -> Sandbox {
    let pn = crate::sandbox();
    pn.git_init();
    pn
}

/// All files below a directory, except git's.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut all, mut left) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_ours = entry.file_name() != ".git" && entry.file_name() != ".pensa";
            if is_ours && entry.file_type().expect("a kind").is_dir() {
                left.push(path);
            } else if is_ours {
                all.insert(path.clone(), fs::read(&path).unwrap_or_default());
            }
        }
    }
    all
}

fn actions(report: &Value) -> Vec<String> {
    let shown =
        |file: &Value| format!("{} {}", file["action"].as_str().unwrap_or("-"), file["path"].as_str().unwrap_or(""));
    report["files"].as_array().expect("files").iter().map(shown).collect()
}

#[test]
fn set_up_check_and_remove_leave_the_repository_as_it_was() {
    let pn = repository();
    fs::write(pn.project().join("AGENTS.md"), "# Ours\n").expect("written");
    let (before, outside) = (files(&pn.project()), files(&pn.path("home")));
    let report = pn.pn(["setup", "claude", "codex"]).ok_json();
    assert!(actions(&report).contains(&"change AGENTS.md".to_owned()), "{report}");
    assert!(actions(&report).contains(&"create .claude/settings.json".to_owned()), "{report}");
    pn.pn(["setup", "--check"]).ok();
    let again = pn.pn(["setup", "claude", "codex"]).ok_json();
    assert!(actions(&again).iter().all(|action| action.starts_with("- ")), "{again}");
    let status = pn.git(["status", "--porcelain", "--", ".pensa"]);
    pn.pn(["setup", "--remove"]).ok();
    assert_eq!(files(&pn.project()), before);
    assert_eq!(files(&pn.path("home")), outside, "nothing outside the repository");
    assert_eq!(pn.git(["status", "--porcelain", "--", ".pensa"]), status);
}

#[test]
fn check_says_what_is_missing_old_or_edited() {
    let pn = repository();
    pn.pn(["setup", "--check"]).fails("not_found");
    let missing = pn.pn(["setup", "--check", "claude"]).json().answer();
    assert_eq!(missing.code, Some(1));
    assert!(missing.error()["error"].as_str().is_some_and(|text| text.contains("AGENTS.md (missing)")), "{missing:?}");
    pn.pn(["setup", "claude"]).ok();
    let path = pn.project().join("AGENTS.md");
    let text = fs::read_to_string(&path).expect("read");
    fs::write(&path, text.replace("Keep plans", "Hide plans")).expect("written");
    fs::remove_file(pn.project().join(".mcp.json")).expect("deleted");
    let answer = pn.pn(["setup", "--check"]).json().answer();
    let message = answer.error()["error"].to_string();
    assert!(message.contains("AGENTS.md (edited)") && message.contains(".mcp.json (missing)"), "{message}");
    pn.pn(["setup", "claude"]).ok();
    pn.pn(["setup", "--check"]).fails_with_output();
    pn.pn(["setup", "claude", "--force"]).ok();
    pn.pn(["setup", "--check"]).ok();
}

trait FailsWithOutput {
    fn fails_with_output(self);
}

impl FailsWithOutput for pensa_testkit::Run {
    fn fails_with_output(self) {
        let answer = self.answer();
        assert_eq!(answer.code, Some(1), "{answer:?}");
        assert!(!answer.stdout.is_empty());
    }
}

#[test]
fn without_a_terminal_and_names_it_only_lists() {
    let pn = repository();
    fs::create_dir(pn.project().join(".cursor")).expect("made");
    let before = files(&pn.project());
    let listed = pn.pn(["setup"]).ok_json();
    let cursor =
        listed["agents"].as_array().expect("agents").iter().find(|one| one["name"] == "cursor").expect("listed");
    assert_eq!(cursor["noticed"], ".cursor is here");
    assert_eq!(cursor["is_set_up"], false);
    assert!(pn.pn(["setup"]).ok().contains("cursor       not set up"));
    assert_eq!(files(&pn.project()), before);
    let tried = pn.pn(["setup", "--dry-run", "zed"]).ok_json();
    assert!(actions(&tried).contains(&"create .zed/settings.json".to_owned()));
    assert!(pn.pn(["setup", "--print", "zed"]).ok().contains("context_servers"));
    assert_eq!(files(&pn.project()), before);
    assert_eq!(pn.pn(["setup", "vscode"]).fails("not_found")["code"], "not_found");
}

#[test]
fn on_a_terminal_it_offers_what_is_used_here() {
    let pn = repository();
    fs::create_dir(pn.project().join(".cursor")).expect("made");
    let before = files(&pn.project());
    // Agents that are installed on this machine are offered too.
    let answer = |key: &[u8]| {
        let mut terminal = Terminal::run(&pn, "sh", &["-c", "PATH=/usr/bin:/bin exec \"$PN\" setup"]);
        terminal.until("Cursor? [Y/n]");
        terminal.types(key);
        terminal.end().0
    };
    assert!(answer(b"n\n").contains("cursor       not set up"));
    assert_eq!(files(&pn.project()), before);
    assert!(answer(b"\n").contains(".cursor/hooks.json"));
    assert!(pn.project().join(".cursor/hooks.json").is_file());
    let again = Terminal::run(&pn, "sh", &["-c", "PATH=/usr/bin:/bin exec \"$PN\" setup"]).end().0;
    assert!(again.contains("current") && !again.contains("[Y/n]"), "it asks no more: {again}");
}

#[test]
fn global_set_up_writes_into_the_home_directory_only() {
    let pn = repository();
    let (before, home) = (files(&pn.project()), pn.path("home"));
    fs::create_dir_all(home.join(".codex")).expect("made");
    fs::write(home.join(".codex/config.toml"), "model = 'x'").expect("written");
    let at_home = files(&home);
    pn.pn(["setup", "--global", "claude", "codex", "gemini"]).ok();
    assert_eq!(files(&pn.project()), before);
    assert!(home.join(".claude/settings.json").is_file());
    pn.pn(["setup", "--global", "--check"]).ok();
    pn.pn(["setup", "--global", "--remove"]).ok();
    assert_eq!(files(&home), at_home);
}

#[test]
fn a_file_that_cannot_be_merged_is_named_and_left_alone() {
    let pn = repository();
    fs::write(pn.project().join(".mcp.json"), "{ not json").expect("written");
    symlink("/etc", pn.project().join(".codex")).expect("a link");
    let answer = pn.pn(["setup", "claude", "codex"]).json().answer();
    assert_eq!(answer.code, Some(1));
    let message = answer.error()["error"].to_string();
    assert!(message.contains(".mcp.json") && message.contains(".codex/hooks.json"), "{message}");
    assert_eq!(fs::read_to_string(pn.project().join(".mcp.json")).expect("read"), "{ not json");
    assert!(fs::read_to_string(pn.project().join(".claude/settings.json")).expect("read").contains("pn hook"));
    assert!(!Path::new("/etc/hooks.json").exists());
}

#[test]
fn modes_of_files_are_kept() {
    let pn = repository();
    let path = pn.project().join(".mcp.json");
    fs::write(&path, "{}").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
    pn.pn(["setup", "claude"]).ok();
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
}

#[test]
fn the_commands_in_the_hooks_work_and_do_no_harm_without_pn() {
    let pn = repository();
    pn.pn(["new", "mend the parser", "-t", "task"]).ok();
    pn.pn(["setup", "claude"]).ok();
    let settings = fs::read_to_string(pn.project().join(".claude/settings.json")).expect("read");
    let settings: Value = serde_json::from_str(&settings).expect("JSON");
    let command = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().expect("a command").to_owned();
    let bin = Path::new(crate::PN).parent().expect("a directory").display().to_string();
    let told = pn.tool(pn.command("/bin/sh").args(["-c", &command]).env("PATH", format!("{bin}:/usr/bin:/bin")));
    let told: Value = serde_json::from_str(&told).expect("one value");
    assert!(
        told["hookSpecificOutput"]["additionalContext"].as_str().is_some_and(|text| text.contains("mend the parser"))
    );
    let absent = pn.command("/bin/sh").args(["-c", &command]).env("PATH", "/nowhere").output().expect("started");
    assert!(absent.status.success() && absent.stdout.is_empty() && absent.stderr.is_empty(), "{absent:?}");
}

#[test]
fn an_agent_works_after_one_call_that_prime_names() {
    let pn = crate::sandbox();
    pn.pn(["new", "mend the parser", "-t", "task"]).ok();
    let prime = pn.pn(["prime"]).ok();
    assert!(prime.len() <= 4_000 && prime.contains("`pn next --claim`"), "{prime}");
    assert_eq!(pn.pn(["prime"]).ok(), prime, "the text is stable");
    assert_eq!(pn.pn(["next", "--claim"]).ok_json()["status"], "in_progress");
    for at in 0..60 {
        let title = format!("a long title that says what is to be done and why, number {at} {}", "x".repeat(150));
        pn.pn(["new", &title, "-t", "task"]).ok();
        pn.pn(["remember", &format!("parser finding {at}: {}", format!("word{at} ").repeat(30))]).ok();
    }
    let full = pn.pn(["prime"]).ok();
    assert!(full.len() <= 4_000 && full.contains("Claimed by me") && full.contains("Known about it"), "{full}");
    assert!(pn.pn(["prime", "--max-tokens", "400"]).ok().len() <= 1_600);
    pn.pn(["prime", "--max-tokens", "10"]).fails("invalid_input");
    pn.pn(["prime", "--agent", "nobody"]).fails("not_found");
}

#[test]
fn prime_recalls_what_is_known_about_changed_files() {
    let pn = repository();
    fs::write(pn.project().join("parser.rs"), "a").expect("written");
    pn.git(["add", "parser.rs"]);
    pn.git(["commit", "--quiet", "--message=parser"]);
    for at in 0..30 {
        pn.pn(["remember", &format!("newer learning {at} about something else entirely, at length")]).ok();
    }
    pn.pn(["remember", "the parser eats comments", "--file", "parser.rs"]).ok();
    let id = pn.pn(["new", "unrelated", "-t", "task"]).ok_json()["id"].as_str().expect("an id").to_owned();
    pn.pn(["claim", &id]).ok();
    assert!(!pn.pn(["prime"]).ok().contains("the parser eats comments"));
    fs::write(pn.project().join("parser.rs"), "b").expect("written");
    let prime = pn.pn(["prime"]).ok();
    assert!(
        prime.contains("Known about the files at hand\n- ln-") && prime.contains("the parser eats comments"),
        "{prime}"
    );
    let client = json!({"name": "a-model", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let asked = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "workflow"}}),
    ];
    let answer = pn.pn(["mcp"]).stdin(asked.map(|line| format!("{line}\n")).concat()).ok();
    let frame: Value = serde_json::from_str(answer.lines().last().expect("an answer")).expect("a frame");
    assert_eq!(frame["result"]["messages"][0]["content"]["text"], prime, "models are told the same");
}

/// The plugin in this repository is what `pn setup --plugin` writes.
#[test]
fn the_plugin_of_this_repository_is_in_step() {
    let pn = Sandbox::bare(crate::PN);
    let dir = pn.path("plugin");
    pn.pn(["setup", "--plugin", dir.to_str().expect("UTF-8")]).ok();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin");
    if std::env::var_os("UPDATE_PLUGIN").is_some() {
        pn.pn(["setup", "--plugin", kept.to_str().expect("UTF-8")]).ok();
    }
    let relative = |dir: &Path| -> BTreeMap<PathBuf, String> {
        let below = |path: PathBuf| path.strip_prefix(dir).expect("below").to_owned();
        files(dir).into_iter().map(|(path, text)| (below(path), String::from_utf8(text).expect("UTF-8"))).collect()
    };
    assert_eq!(relative(&kept), relative(&dir), "UPDATE_PLUGIN=1 writes it anew");
    pn.pn(["setup", "--plugin", dir.to_str().expect("UTF-8")]).ok();
}
