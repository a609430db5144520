//! Windows of terminal multiplexers: how they are opened, told from each other and looked at. What runs in them is left
//! to the caller.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use pensa_core::run::{Mux, MuxPlace};
use pensa_core::{Code, Error, Result};

/// What a window has in its environment and what is therefore not taken from elsewhere.
pub const OF_WINDOWS: [&str; 14] = [
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "STY",
    "TERM",
    "TERMCAP",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMUX",
    "TMUX_PANE",
    "WINDOW",
    "ZELLIJ",
    "ZELLIJ_PANE_ID",
    "ZELLIJ_SESSION_NAME",
];

/// How often it is tried to open a window in a session that comes and goes meanwhile, and how long to wait in between.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Reads a variable of an environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A window to be opened: in the session that this process is in, else in one of this name.
#[derive(Debug)]
pub struct Window<'a> {
    pub mux: Mux,
    pub session: &'a str,
    pub name: &'a str,
    /// A program and its arguments, which reach it byte by byte.
    pub program: [&'a OsStr; 4],
}

/// Refuses a multiplexer that is not on this machine.
pub fn must_be_there(mux: Mux) -> Result<()> {
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|dir| dir.join(mux.as_str()).is_file()) {
        return Ok(());
    }
    Err(Error::new(Code::Unsupported, format!("there is no program {mux} on this machine", mux = mux.as_str()))
        .hint(format!("install {}, or run the command without --mux", mux.as_str())))
}

/// A session's name for what lies in `dir`: letters that no multiplexer takes for anything else.
pub fn session_name(dir: Option<&Path>) -> String {
    let name = dir.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    format!("pensa-{}", plain.trim_matches('-')).trim_end_matches('-').to_owned()
}

/// Opens a window.
pub fn open(window: &Window<'_>) -> Result<()> {
    let mut told = String::new();
    for _ in 0..TRIES {
        let sessions = sessions(window.mux);
        if let Some(mut line) = first_line(window, &|name| env::var_os(name), &sessions) {
            // It fails where somebody else was faster, and then the next line works.
            let _ = quietly(&mut line);
        }
        for mut line in lines(window, &|name| env::var_os(name), &sessions) {
            match quietly(&mut line) {
                Ok(()) => return Ok(()),
                Err(error) => told = error,
            }
        }
        // A session that was there is gone, or one is there that was not.
        thread::sleep(PAUSE);
    }
    let message = format!("cannot open a window of {}: {}", window.mux.as_str(), told.trim());
    Err(Error::internal(message).hint("nothing was run"))
}

/// The command lines of which one opens the window; the next is for when the one before has failed.
fn lines(window: &Window<'_>, env: Variables<'_>, sessions: &str) -> Vec<Command> {
    let Window { mux, session, name, program } = window;
    let is_inside = |variable: &str| env(variable).is_some_and(|value| !value.is_empty());
    let line = |args: &[&str]| {
        let mut line = Command::new(mux.as_str());
        line.args(args);
        line
    };
    let mut all = match mux {
        Mux::Tmux if is_inside("TMUX") => vec![line(&["new-window", "-d", "-n", name, "--"])],
        Mux::Tmux => vec![
            line(&["new-window", "-d", "-t", &format!("={session}:"), "-n", name, "--"]),
            line(&["new-session", "-d", "-s", session, "-n", name, "--"]),
        ],
        Mux::Screen if is_inside("STY") => vec![line(&["-t", name])],
        Mux::Screen => match whole_name(sessions, session) {
            Some(there) => {
                let mut line = line(&["-t", name]);
                line.env("STY", there);
                vec![line]
            }
            None => vec![line(&["-d", "-m", "-S", session, "-t", name])],
        },
        Mux::Zellij if is_inside("ZELLIJ_SESSION_NAME") => {
            vec![line(&["run", "--close-on-exit", "--name", name, "--"])]
        }
        Mux::Zellij => vec![line(&["--session", session, "run", "--close-on-exit", "--name", name, "--"])],
    };
    for line in &mut all {
        line.args(program);
    }
    all
}

/// The command line that makes the session, where that takes one of its own.
fn first_line(window: &Window<'_>, env: Variables<'_>, sessions: &str) -> Option<Command> {
    let is_needed = window.mux == Mux::Zellij && env("ZELLIJ_SESSION_NAME").is_none_or(|name| name.is_empty());
    let is_there = sessions.lines().any(|line| line.trim() == window.session);
    (is_needed && !is_there).then(|| {
        let mut line = Command::new(window.mux.as_str());
        line.args(["attach", "--create-background", window.session]);
        line
    })
}

/// The sessions that there are, in the words of a multiplexer that has to be asked.
fn sessions(mux: Mux) -> String {
    let args: &[&str] = match mux {
        Mux::Tmux => return String::new(),
        Mux::Screen => &["-ls"],
        Mux::Zellij => &["list-sessions", "--short", "--no-formatting"],
    };
    let asked = Command::new(mux.as_str()).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output();
    asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// A session of screen's with the number by which it is told from others that have the same name.
fn whole_name<'a>(sessions: &'a str, wanted: &str) -> Option<&'a str> {
    let words = sessions.lines().filter_map(|line| line.strip_prefix('\t')?.split_whitespace().next());
    words.into_iter().find(|word| word.split_once('.').is_some_and(|(_, name)| name == wanted))
}

/// Runs a multiplexer; what it says is told only if it fails. Its server must not get what is ours: it would hand that to
/// every window that is ever opened.
fn quietly(line: &mut Command) -> std::result::Result<(), String> {
    for (name, _) in env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"PN_")) {
        line.env_remove(name);
    }
    let done = line.stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    let told = if done.stderr.is_empty() { done.stdout } else { done.stderr };
    Err(format!("{} ({})", String::from_utf8_lossy(&told).trim(), done.status))
}

/// Where this process is, which is in a window.
pub fn place(mux: Mux) -> MuxPlace {
    let asked = |pane: &OsStr| {
        let mut tmux = Command::new(Mux::Tmux.as_str());
        tmux.args(["display-message", "-p", "-t"]).arg(pane).arg("#{window_index} #{session_name}");
        let told = String::from_utf8(tmux.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?.stdout).ok()?;
        let (index, session) = told.trim_end_matches('\n').split_once(' ')?;
        Some((index.parse().ok()?, session.to_owned()))
    };
    let place = told_place(mux, &|name| env::var_os(name), &asked);
    // A name that cannot be kept is no reason not to run.
    if place.check().is_ok() { place } else { MuxPlace { multiplexer_kind: Some(mux), ..MuxPlace::default() } }
}

/// Refuses to split windows of a multiplexer whose panes cannot be named.
pub fn must_split(mux: Mux) -> Result<()> {
    if mux == Mux::Tmux {
        return Ok(());
    }
    Err(Error::new(Code::Unsupported, format!("a window of {} cannot be split", mux.as_str())).hint("use --mux tmux"))
}

/// Opens a shell to the right of a pane of tmux, in this directory. Returns its pane.
pub fn split(pane: &str) -> Result<String> {
    let mut line = Command::new(Mux::Tmux.as_str());
    line.args(["split-window", "-h", "-d", "-P", "-F", "#{pane_id}", "-t", pane]);
    if let Ok(dir) = env::current_dir() {
        line.arg("-c").arg(dir);
    }
    let done = line.stdin(Stdio::null()).output().map_err(|e| Error::internal(format!("cannot run tmux: {e}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if done.status.success() {
        return Ok(text(&done.stdout));
    }
    Err(Error::internal(format!("cannot split the window: {}", text(&done.stderr))))
}

/// The same, from what the window's environment and tmux tell.
fn told_place(mux: Mux, env: Variables<'_>, ask_tmux: &dyn Fn(&OsStr) -> Option<(i64, String)>) -> MuxPlace {
    let text = |name: &str| env(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty());
    let mut place = MuxPlace { multiplexer_kind: Some(mux), ..MuxPlace::default() };
    match mux {
        Mux::Tmux => {
            place.pane_left = text("TMUX_PANE");
            let told = place.pane_left.as_ref().and_then(|pane| ask_tmux(pane.as_ref()));
            (place.mux_window, place.mux_session) = told.unzip();
        }
        Mux::Screen => {
            place.mux_session = text("STY");
            place.pane_left = text("WINDOW");
            place.mux_window = place.pane_left.as_ref().and_then(|number| number.parse().ok());
        }
        Mux::Zellij => {
            place.mux_session = text("ZELLIJ_SESSION_NAME");
            place.pane_left = text("ZELLIJ_PANE_ID");
        }
    }
    place
}

/// The command that shows the window of a run, as seen from this process; `theirs` reads the variables of the window.
/// None if what is known about it does not lead there.
pub fn attach(mux: Mux, ours: Variables<'_>, theirs: Variables<'_>) -> Option<Command> {
    let mut line = Command::new(mux.as_str());
    let place = told_place(mux, theirs, &|_| None);
    // A variable can hold anything, and these become arguments.
    let session = place.mux_session.as_deref().filter(|name| is_plain(name));
    match mux {
        Mux::Tmux => {
            let pane = place.pane_left.as_deref()?;
            pane.strip_prefix('%').filter(|number| number.parse::<u32>().is_ok())?;
            let socket = theirs("TMUX").as_deref().and_then(socket);
            let is_same = socket.is_some() && ours("TMUX").as_deref().and_then(self::socket) == socket;
            if let Some(socket) = socket {
                line.arg("-S").arg(socket);
            }
            if is_same {
                line.args(["switch-client", "-t", pane]);
            } else {
                line.args(["select-window", "-t", pane, ";", "select-pane", "-t", pane, ";"]);
                line.args(["attach-session", "-t", pane]);
            }
        }
        Mux::Screen => {
            let (session, window) = (session?, place.mux_window?.to_string());
            let is_same = ours("STY").is_some_and(|sty| sty == *session);
            line.args(if is_same { ["-S", session, "-X", "select"] } else { ["-x", session, "-p", &window] });
            if is_same {
                line.arg(window);
            }
            if let Some(dir) = theirs("SCREENDIR") {
                line.env("SCREENDIR", dir);
            }
        }
        Mux::Zellij => {
            let session = session?;
            let pane = place.pane_left.as_deref().filter(|pane| is_plain(pane));
            match (ours("ZELLIJ_SESSION_NAME"), pane) {
                (Some(_), Some(pane)) => line.args(["action", "switch-session", "--pane-id", pane, session]),
                (Some(_), None) => line.args(["action", "switch-session", session]),
                (None, _) => line.args(["attach", session]),
            };
        }
    }
    Some(line)
}

/// Whether a word can only be taken for a name.
fn is_plain(name: &str) -> bool {
    name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// The socket of a server of tmux's, which its windows have in `TMUX` before two numbers.
fn socket(variable: &OsStr) -> Option<OsString> {
    let bytes = variable.as_bytes();
    let commas: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(at, _)| at).collect();
    let end = *commas.get(commas.len().checked_sub(2)?)?;
    (end > 0).then(|| OsStr::from_bytes(&bytes[..end]).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        move |wanted| pairs.iter().find(|(name, _)| *name == wanted).map(|(_, value)| OsString::from(value))
    }

    fn told(line: &Command) -> String {
        let mut words: Vec<String> = line
            .get_envs()
            .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy())))
            .collect();
        words.push(line.get_program().to_string_lossy().into_owned());
        words.extend(line.get_args().map(|word| word.to_string_lossy().into_owned()));
        words.join(" ")
    }

    #[test]
    fn windows_are_opened_where_the_caller_is_and_else_in_a_session_of_ours() {
        let program = ["/p n", "run", "window", "/a \"$(b)\"'"].map(OsStr::new);
        let own = "/p n run window /a \"$(b)\"'";
        for (mux, variables, sessions, expected) in [
            (Mux::Tmux, &[("TMUX", "/s,1,0")][..], "", vec!["tmux new-window -d -n run-1 -- "]),
            (
                Mux::Tmux,
                &[("TMUX", "")],
                "",
                vec!["tmux new-window -d -t =pensa-x: -n run-1 -- ", "tmux new-session -d -s pensa-x -n run-1 -- "],
            ),
            (Mux::Screen, &[("STY", "1.mine")], "", vec!["screen -t run-1 "]),
            (Mux::Screen, &[], "There is\n\t7.pensa-xy\t(Detached)\n", vec!["screen -d -m -S pensa-x -t run-1 "]),
            (Mux::Screen, &[], "\t7.pensa-xy\t()\n\t8.pensa-x\t(A)\n", vec!["STY=8.pensa-x screen -t run-1 "]),
            (Mux::Zellij, &[("ZELLIJ_SESSION_NAME", "z")], "", vec!["zellij run --close-on-exit --name run-1 -- "]),
            (Mux::Zellij, &[], "", vec!["zellij --session pensa-x run --close-on-exit --name run-1 -- "]),
        ] {
            let window = Window { mux, session: "pensa-x", name: "run-1", program };
            let lines: Vec<String> = lines(&window, &env(variables), sessions).iter().map(told).collect();
            let expected: Vec<String> = expected.into_iter().map(|line| format!("{line}{own}")).collect();
            assert_eq!(lines, expected);
        }
        let window = Window { mux: Mux::Zellij, session: "pensa-x", name: "run-1", program };
        let first = |variables, sessions| first_line(&window, &env(variables), sessions).map(|line| told(&line));
        assert_eq!(first(&[], "pensa-xy\n").as_deref(), Some("zellij attach --create-background pensa-x"));
        assert_eq!((first(&[], "a\npensa-x\n"), first(&[("ZELLIJ_SESSION_NAME", "z")], "")), (None, None));
        assert!(first_line(&Window { mux: Mux::Tmux, ..window }, &env(&[]), "").is_none());
    }

    #[test]
    fn a_window_is_found_again_from_within_and_from_outside() {
        let ask = |pane: &OsStr| (pane == "%5").then(|| (3, "my: work".to_owned()));
        let theirs = [
            ("TMUX", "/run/t,1/default,77,0"),
            ("TMUX_PANE", "%5"),
            ("STY", "8.pensa-x"),
            ("WINDOW", "2"),
            ("SCREENDIR", "/s"),
            ("ZELLIJ_SESSION_NAME", "zed"),
            ("ZELLIJ_PANE_ID", "4"),
        ];
        for (mux, inside, outside, within) in [
            (
                Mux::Tmux,
                ("TMUX", "/run/t,1/default,9,1"),
                "tmux -S /run/t,1/default select-window -t %5 ; select-pane -t %5 ; attach-session -t %5",
                "tmux -S /run/t,1/default switch-client -t %5",
            ),
            (
                Mux::Screen,
                ("STY", "8.pensa-x"),
                "SCREENDIR=/s screen -x 8.pensa-x -p 2",
                "SCREENDIR=/s screen -S 8.pensa-x -X select 2",
            ),
            (
                Mux::Zellij,
                ("ZELLIJ_SESSION_NAME", "another"),
                "zellij attach zed",
                "zellij action switch-session --pane-id 4 zed",
            ),
        ] {
            let place = told_place(mux, &env(&theirs), &ask);
            assert!(place.check().is_ok() && place.multiplexer_kind == Some(mux), "{place:?}");
            let line = |ours: &[(&str, &str)]| attach(mux, &env(ours), &env(&theirs)).map(|line| told(&line));
            assert_eq!(line(&[]).as_deref(), Some(outside));
            assert_eq!(line(&[inside]).as_deref(), Some(within));
        }
        assert_eq!(told_place(Mux::Tmux, &env(&theirs), &ask).mux_session.as_deref(), Some("my: work"));
    }

    #[test]
    fn nothing_that_an_environment_holds_becomes_a_command() {
        for bad in ["; run-shell evil", "%1;", "-L", "%", "", "a b", "$(x)", "%1 ; kill-server"] {
            let theirs = ["STY", "TMUX_PANE", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME"].map(|name| (name, bad));
            let theirs = [theirs.as_slice(), &[("WINDOW", "1")]].concat();
            let line = |mux| attach(mux, &env(&[]), &env(&theirs)).map(|line| told(&line));
            assert_eq!([line(Mux::Tmux), line(Mux::Screen), line(Mux::Zellij)], [None, None, None], "{bad}");
        }
    }

    #[test]
    fn a_session_is_called_as_its_directory_in_plain_letters() {
        for (dir, name) in [
            (Some("/home/a/web.site"), "pensa-web-site"),
            (Some("/home/a/-x:#{y};"), "pensa-x---y"),
            (Some("/"), "pensa"),
            (Some("/ö/ü"), "pensa"),
            (None, "pensa"),
        ] {
            assert_eq!(session_name(dir.map(Path::new)), name);
        }
    }
}
