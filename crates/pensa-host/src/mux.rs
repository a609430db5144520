//! Opens windows of terminal multiplexers (tmux, screen, zellij), locates them and attaches to them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use pensa_core::run::{Mux, MuxWindow};
use pensa_core::{Code, Error, Result};

/// Environment variables that a multiplexer sets for its windows; the caller's values must not replace them.
pub const WINDOW_VARIABLES: [&str; 14] = [
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

/// Attempts to open a window while other processes create or end the session.
const OPEN_ATTEMPTS: u32 = 20;
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Reads a variable of an environment.
pub type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A window to open, in the session of this process or else in the session named here.
#[derive(Debug)]
pub struct Window<'a> {
    pub mux: Mux,
    pub session: &'a str,
    pub name: &'a str,
    /// A program and its arguments, which are passed unchanged.
    pub program: [&'a OsStr; 4],
}

/// Fails unless a multiplexer is installed.
pub fn require_installed(mux: Mux) -> Result<()> {
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|dir| dir.join(mux.as_str()).is_file()) {
        return Ok(());
    }
    Err(Error::new(Code::Unsupported, format!("there is no program {mux} on this machine", mux = mux.as_str()))
        .hint(format!("install {}, or run the command without --mux", mux.as_str())))
}

/// The session name for a project directory, in characters that have no meaning to any multiplexer.
pub fn session_name(dir: Option<&Path>) -> String {
    let name = dir.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    format!("pensa-{}", plain.trim_matches('-')).trim_end_matches('-').to_owned()
}

/// Opens a window.
pub fn open(window: &Window<'_>) -> Result<()> {
    let mut last_error = String::new();
    for _ in 0..OPEN_ATTEMPTS {
        let sessions = sessions(window.mux);
        if let Some(mut line) = create_session_command(window, &|name| env::var_os(name), &sessions) {
            // If it fails because another process created the session, the next command works.
            let _ = run_quietly(&mut line);
        }
        for mut line in open_commands(window, &|name| env::var_os(name), &sessions) {
            match run_quietly(&mut line) {
                Ok(()) => return Ok(()),
                Err(error) => last_error = error,
            }
        }
        // The session has ended or been created meanwhile.
        thread::sleep(RETRY_DELAY);
    }
    let message = format!("cannot open a window of {}: {}", window.mux.as_str(), last_error.trim());
    Err(Error::internal(message).hint("nothing was run"))
}

/// Command lines that open the window, each to be tried if the previous one fails.
fn open_commands(window: &Window<'_>, env: EnvLookup<'_>, sessions: &str) -> Vec<Command> {
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
        Mux::Screen => match full_session_name(sessions, session) {
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

/// The command line that creates the session; `None` if it exists or needs no command of its own.
fn create_session_command(window: &Window<'_>, env: EnvLookup<'_>, sessions: &str) -> Option<Command> {
    let is_needed = window.mux == Mux::Zellij && env("ZELLIJ_SESSION_NAME").is_none_or(|name| name.is_empty());
    let is_there = sessions.lines().any(|line| line.trim() == window.session);
    (is_needed && !is_there).then(|| {
        let mut line = Command::new(window.mux.as_str());
        line.args(["attach", "--create-background", window.session]);
        line
    })
}

/// The multiplexer's list of sessions; empty for tmux, which does not need it.
fn sessions(mux: Mux) -> String {
    let args: &[&str] = match mux {
        Mux::Tmux => return String::new(),
        Mux::Screen => &["-ls"],
        Mux::Zellij => &["list-sessions", "--short", "--no-formatting"],
    };
    let asked = Command::new(mux.as_str()).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output();
    asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// The full name `PID.NAME` of a screen session.
fn full_session_name<'a>(sessions: &'a str, session: &str) -> Option<&'a str> {
    let words = sessions.lines().filter_map(|line| line.strip_prefix('\t')?.split_whitespace().next());
    words.into_iter().find(|word| word.split_once('.').is_some_and(|(_, name)| name == session))
}

/// Runs a multiplexer; its output becomes the error if it fails. Its server must not inherit our `PN_` variables: it
/// would pass them to every window opened later.
fn run_quietly(line: &mut Command) -> std::result::Result<(), String> {
    for (name, _) in env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"PN_")) {
        line.env_remove(name);
    }
    let done = line.stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    let output = if done.stderr.is_empty() { done.stdout } else { done.stderr };
    Err(format!("{} ({})", String::from_utf8_lossy(&output).trim(), done.status))
}

/// The session, window and pane that this process runs in.
pub fn current_place(mux: Mux) -> MuxWindow {
    let ask_tmux = |pane: &OsStr| {
        let mut tmux = Command::new(Mux::Tmux.as_str());
        tmux.args(["display-message", "-p", "-t"]).arg(pane).arg("#{window_index} #{session_name}");
        let output = String::from_utf8(tmux.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?.stdout).ok()?;
        let (index, session) = output.trim_end_matches('\n').split_once(' ')?;
        Some((index.parse().ok()?, session.to_owned()))
    };
    let place = place_from_env(mux, &|name| env::var_os(name), &ask_tmux);
    // An invalid session name must not prevent the run.
    if place.check().is_ok() { place } else { MuxWindow { multiplexer_kind: Some(mux), ..MuxWindow::default() } }
}

/// Fails unless the multiplexer is tmux: the others cannot address panes.
pub fn require_split(mux: Mux) -> Result<()> {
    if mux == Mux::Tmux {
        return Ok(());
    }
    Err(Error::new(Code::Unsupported, format!("a window of {} cannot be split", mux.as_str())).hint("use --mux tmux"))
}

/// Opens a shell to the right of a tmux pane, in the current directory. Returns the new pane.
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

/// Reads session, window and pane from the window's environment and from tmux.
fn place_from_env(mux: Mux, env: EnvLookup<'_>, ask_tmux: &dyn Fn(&OsStr) -> Option<(i64, String)>) -> MuxWindow {
    let text = |name: &str| env(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty());
    let mut place = MuxWindow { multiplexer_kind: Some(mux), ..MuxWindow::default() };
    match mux {
        Mux::Tmux => {
            place.pane_left = text("TMUX_PANE");
            let answer = place.pane_left.as_ref().and_then(|pane| ask_tmux(pane.as_ref()));
            (place.mux_window, place.mux_session) = answer.unzip();
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

/// The command that shows the window of a run in this terminal. `ours` and `theirs` read the environments of this
/// process and of the window. `None` if the window cannot be located.
pub fn attach(mux: Mux, ours: EnvLookup<'_>, theirs: EnvLookup<'_>) -> Option<Command> {
    let mut line = Command::new(mux.as_str());
    let place = place_from_env(mux, theirs, &|_| None);
    // The variables become arguments, so only plain names are accepted.
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

/// Whether a word cannot be taken for a flag, a target pattern or a command.
fn is_plain(name: &str) -> bool {
    name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// The socket path in tmux's variable `TMUX`, which has the form `SOCKET,PID,SESSION`.
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
        move |variable| pairs.iter().find(|(name, _)| *name == variable).map(|(_, value)| OsString::from(value))
    }

    fn rendered(line: &Command) -> String {
        let mut words: Vec<String> = line
            .get_envs()
            .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy())))
            .collect();
        words.push(line.get_program().to_string_lossy().into_owned());
        words.extend(line.get_args().map(|word| word.to_string_lossy().into_owned()));
        words.join(" ")
    }

    #[test]
    fn windows_open_in_the_callers_session_or_else_in_the_projects() {
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
            let lines: Vec<String> = open_commands(&window, &env(variables), sessions).iter().map(rendered).collect();
            let expected: Vec<String> = expected.into_iter().map(|line| format!("{line}{own}")).collect();
            assert_eq!(lines, expected);
        }
        let window = Window { mux: Mux::Zellij, session: "pensa-x", name: "run-1", program };
        let first = |variables, sessions| {
            create_session_command(&window, &env(variables), sessions).map(|line| rendered(&line))
        };
        assert_eq!(first(&[], "pensa-xy\n").as_deref(), Some("zellij attach --create-background pensa-x"));
        assert_eq!((first(&[], "a\npensa-x\n"), first(&[("ZELLIJ_SESSION_NAME", "z")], "")), (None, None));
        assert!(create_session_command(&Window { mux: Mux::Tmux, ..window }, &env(&[]), "").is_none());
    }

    #[test]
    fn attach_finds_a_window_from_inside_and_outside_the_multiplexer() {
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
            let place = place_from_env(mux, &env(&theirs), &ask);
            assert!(place.check().is_ok() && place.multiplexer_kind == Some(mux), "{place:?}");
            let line = |ours: &[(&str, &str)]| attach(mux, &env(ours), &env(&theirs)).map(|line| rendered(&line));
            assert_eq!(line(&[]).as_deref(), Some(outside));
            assert_eq!(line(&[inside]).as_deref(), Some(within));
        }
        assert_eq!(place_from_env(Mux::Tmux, &env(&theirs), &ask).mux_session.as_deref(), Some("my: work"));
    }

    #[test]
    fn environment_values_never_become_commands() {
        for bad in ["; run-shell evil", "%1;", "-L", "%", "", "a b", "$(x)", "%1 ; kill-server"] {
            let theirs = ["STY", "TMUX_PANE", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME"].map(|name| (name, bad));
            let theirs = [theirs.as_slice(), &[("WINDOW", "1")]].concat();
            let line = |mux| attach(mux, &env(&[]), &env(&theirs)).map(|line| rendered(&line));
            assert_eq!([line(Mux::Tmux), line(Mux::Screen), line(Mux::Zellij)], [None, None, None], "{bad}");
        }
    }

    #[test]
    fn session_names_are_directory_names_in_plain_letters() {
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
