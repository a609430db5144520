//! `pn tui` in a real terminal (tmux): what is drawn, what keys do, and that the terminal is given back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pensa_testkit::{Daemon, Sandbox, eventually};

use crate::steps::{create, event_types, show, task, text};

/// `pn tui` in a window of its own tmux, which ends with it.
struct TuiWindow<'a> {
    pn: &'a Sandbox,
}

impl<'a> TuiWindow<'a> {
    /// Starts it for somebody who has read the guide.
    fn start(pn: &'a Sandbox, daemon: Option<&Daemon>, command: &str) -> Self {
        let seen = pn.path("xdg/state/pensa");
        fs::create_dir_all(&seen).expect("a directory");
        fs::write(seen.join("tui-guide"), "").expect("written");
        let window = Self::of(pn, daemon, command);
        window.until("live");
        window
    }

    /// Runs a shell command in which `$PN` is `pn`, then says how it ended and how the terminal was left.
    fn of(pn: &'a Sandbox, daemon: Option<&Daemon>, command: &str) -> Self {
        let dir = pn.path("tmux");
        fs::create_dir(&dir).expect("a directory");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("private");
        let window = Self { pn };
        let script = format!("{command}; echo \"over: $?\"; stty -a; exec sleep 600");
        let program = format!("PN={}", crate::PN);
        let server = format!("PN_DAEMON={}", daemon.map(|daemon| daemon.url.as_str()).unwrap_or_default());
        let size = ["-x", "80", "-y", "24"];
        let start =
            [&["-u", "-f", "/dev/null", "new-session", "-d", "-e", &program, "-e", &server], &size[..]].concat();
        window.tmux(&[&start[..], &["sh", "-c", &script]].concat());
        window
    }

    fn tmux(&self, args: &[&str]) -> String {
        self.pn.tool(self.pn.command("tmux").env("TMUX_TMPDIR", self.pn.path("tmux")).args(args))
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen contains a text.
    #[track_caller]
    fn until(&self, shown: &str) -> String {
        let is_there = |screen: &String| screen.contains(shown) || screen.contains("over: ");
        let found = eventually(shown, || Some(self.screen()).filter(is_there));
        assert!(found.contains(shown), "{shown:?} is not in:\n{found}");
        found
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    fn flag(&self, name: &str) -> String {
        self.tmux(&["display-message", "-p", &format!("#{{{name}}}")]).trim().to_owned()
    }

    /// Waits for the end, and checks that the terminal is as it was.
    #[track_caller]
    fn is_over(&self, code: i32) -> String {
        self.until(&format!("over: {code}"));
        let shown = eventually("the terminal modes", || Some(self.screen()).filter(|shown| shown.contains("iexten")));
        for mode in [" icanon", " echo", " isig", " icrnl", " opost"] {
            assert!(shown.replace('\n', " ").contains(mode), "{mode}: {shown}");
        }
        for (flag, value) in [("alternate_on", "0"), ("mouse_any_flag", "0"), ("cursor_flag", "1")] {
            assert_eq!(self.flag(flag), value, "{flag}");
        }
        shown
    }
}

impl Drop for TuiWindow<'_> {
    fn drop(&mut self) {
        let _ = self.pn.command("tmux").env("TMUX_TMPDIR", self.pn.path("tmux")).arg("kill-server").output();
    }
}

fn moves_edits_and_takes_back(pn: &Sandbox, daemon: Option<&Daemon>) {
    let id = create(pn, &["Fix the login", "-t", "task", "-p", "p1"]);
    let tui = TuiWindow::start(pn, daemon, "\"$PN\" tui");
    tui.until("Fix the login");
    tui.keys(&[">"]);
    tui.until("claimed");
    eventually("a claim by the actor", || (text(&show(pn, &id)["assignee"]) == "tester").then_some(()));
    tui.keys(&["e"]);
    tui.until("Edit");
    tui.type_text(" form");
    tui.keys(&["Enter"]);
    // The form shows the new title before it is stored.
    tui.until("changed pn-");
    assert_eq!(show(pn, &id)["title"], "Fix the login form");
    tui.keys(&["d"]);
    tui.until("why, or how");
    tui.type_text("it was a typo");
    tui.keys(&["Enter"]);
    tui.until("closed pn-");
    assert_eq!(show(pn, &id)["close_reason"], "it was a typo");
    tui.keys(&["u"]);
    tui.until("took back: closed");
    assert_eq!(show(pn, &id)["status"], "in_progress");
    tui.keys(&["U"]);
    tui.until("brought back");
    assert_eq!(show(pn, &id)["status"], "closed");
    tui.keys(&["n"]);
    tui.until("New issue");
    tui.type_text("Write the guide");
    tui.keys(&["Enter"]);
    tui.until("created pn-");
    tui.until("Write the guide");
    tui.keys(&["q"]);
    tui.is_over(0);
    assert!(event_types(pn, &id).contains(&"claimed".to_owned()));
}

#[test]
fn a_card_is_moved_edited_and_taken_back_embedded() {
    moves_edits_and_takes_back(&Sandbox::with_store(crate::PN), None);
}

#[test]
fn a_card_is_moved_edited_and_taken_back_through_a_daemon() {
    let pn = Sandbox::with_store(crate::PN);
    let daemon = pn.daemon();
    moves_edits_and_takes_back(&pn, Some(&daemon));
}

fn follows_others(pn: &Sandbox, daemon: Option<&Daemon>) {
    task(pn, "first of all");
    let tui = TuiWindow::start(pn, daemon, "\"$PN\" tui");
    tui.until("first of all");
    tui.keys(&["2", "/"]);
    tui.type_text("of");
    task(pn, "one of many");
    tui.until("one of many");
    assert!(tui.screen().contains("/of"), "what is typed stays");
    tui.keys(&["Escape"]);
    tui.until("active, by priority: 2 shown");
}

#[test]
fn changes_of_others_appear_embedded() {
    follows_others(&Sandbox::with_store(crate::PN), None);
}

#[test]
fn changes_of_others_appear_through_a_daemon() {
    let pn = Sandbox::with_store(crate::PN);
    let daemon = pn.daemon();
    follows_others(&pn, Some(&daemon));
}

#[test]
fn a_lost_server_is_shown_and_taken_up_again() {
    let pn = Sandbox::with_store(crate::PN);
    task(&pn, "still here");
    let daemon = pn.daemon();
    let (port, url) = (daemon.port().to_string(), daemon.url.clone());
    let tui = TuiWindow::start(&pn, Some(&daemon), "\"$PN\" tui");
    tui.until("still here");
    daemon.stop(rustix::process::Signal::TERM);
    tui.until("lost");
    // What is typed meanwhile is refused with words, and stays.
    tui.keys(&["n"]);
    tui.until("New issue");
    tui.type_text("typed while it was away");
    tui.keys(&["Enter"]);
    tui.until("typed while it was away");
    let project = pn.project();
    let _daemon = pn
        .embedded(
            ["daemon", "--port", &port, "--json", "--project-dir"]
                .map(str::to_owned)
                .into_iter()
                .chain([project.display().to_string()]),
        )
        .serve();
    tui.until("live");
    eventually("what was typed", || {
        if tui.screen().contains("New issue") {
            tui.keys(&["Enter"]);
        }
        pn.embedded(["search", "typed while it was away"]).env("PN_DAEMON", &url).ok().contains("typed").then_some(())
    });
}

#[test]
fn the_terminal_is_given_back_after_a_panic() {
    let pn = Sandbox::with_store(crate::PN);
    let tui = TuiWindow::of(&pn, None, "PN_TUI_PANIC=1 \"$PN\" tui --record last.svg");
    let shown = tui.is_over(101);
    assert!(shown.contains("PN_TUI_PANIC is set"), "{shown}");
    assert!(fs::read_to_string(pn.project().join("last.svg")).expect("written").contains("<svg"));
}

#[test]
fn the_terminal_is_given_back_after_signals() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let pn = Sandbox::with_store(crate::PN);
        let tui = TuiWindow::start(&pn, None, "sh -c 'echo $$ >pid; exec \"$PN\" tui --record all.cast'");
        let pid = fs::read_to_string(pn.project().join("pid")).expect("written");
        pn.tool(pn.command("kill").args([&format!("-{signal}"), pid.trim()]));
        tui.is_over(code);
        let cast = fs::read_to_string(pn.project().join("all.cast")).expect("written");
        assert!(cast.starts_with("{\"version\":2"), "{cast}");
    }
}

#[test]
fn the_queue_is_watched_without_keys_and_the_terminal_given_back() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let pn = Sandbox::with_store(crate::PN);
        let tui = TuiWindow::of(&pn, None, "sh -c 'echo $$ >pid; exec \"$PN\" watch ready'");
        tui.until("nothing is ready");
        tui.type_text("q?");
        task(&pn, "just made");
        let shown = tui.until("just made");
        assert!(shown.contains("1 issue is ready") && !shown.contains("q?"), "{shown}");
        let pid = fs::read_to_string(pn.project().join("pid")).expect("written");
        pn.tool(pn.command("kill").args([&format!("-{signal}"), pid.trim()]));
        let left = tui.is_over(code);
        assert!(!left.contains("just made"), "{left}");
    }
}

#[test]
fn a_new_user_sees_the_guide_once_and_help_lists_every_key() {
    let pn = Sandbox::with_store(crate::PN);
    let tui = TuiWindow::of(&pn, None, "\"$PN\" tui; \"$PN\" tui");
    tui.until("Welcome to Pensa");
    tui.keys(&["Enter"]);
    eventually("the end of the guide", || (!tui.screen().contains("Welcome")).then_some(()));
    tui.keys(&["?"]);
    let help = tui.until("the keys of this view");
    for verb in ["create", "claim", "close", "undo", "redo", "mark", "move", "editor"] {
        let is_line = |line: &str| line.split_whitespace().nth(1) == Some(verb);
        assert!(help.lines().any(is_line), "{verb}: {help}");
    }
    tui.keys(&["Escape"]);
    tui.until("q quit");
    tui.keys(&["8"]);
    tui.until("events; enter opens");
    tui.keys(&["q"]);
    // The second one begins where the first was left, without the guide.
    eventually("the next start", || tui.screen().contains("events; enter opens").then_some(()));
    assert!(!tui.screen().contains("Welcome"));
}

#[test]
fn a_description_is_written_in_the_editor() {
    let pn = Sandbox::with_store(crate::PN);
    let id = task(&pn, "with a long story");
    let editor = pn.path("editor");
    fs::write(&editor, "#!/bin/sh\nprintf 'once upon\\na time\\n' >\"$1\"\n").expect("written");
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).expect("executable");
    let tui = TuiWindow::start(&pn, None, &format!("EDITOR={} \"$PN\" tui", editor.display()));
    tui.until("with a long story");
    tui.keys(&["E"]);
    tui.until("changed pn-");
    assert_eq!(show(&pn, &id)["description"], "once upon\na time");
}

#[test]
fn terminals_that_cannot_place_text_are_refused_with_words() {
    let pn = Sandbox::with_store(crate::PN);
    let tui = TuiWindow::of(&pn, None, "TERM=dumb \"$PN\" tui");
    let shown = tui.is_over(1);
    assert!(shown.contains("TERM=dumb"), "{shown}");
    pn.pn(["tui"]).fails("invalid_input");
}
