//! `pn tui`: the terminal user interface. What it shows and does is in `pensa-tui`; here it gets a store, settings and files.

use std::path::PathBuf;

use clap::Args;

/// See and change everything from the keyboard: board, list, graph, agents, memory and log, live
///
/// Changes made by others appear at once. ? shows the keys of a view, : finds any command, q leaves.
#[derive(Debug, Args)]
pub(crate) struct TuiArgs {
    /// dark, light, high-contrast or none, which has no colours [default: the setting tui.theme, then the last one]
    #[arg(long, value_name = "THEME")]
    theme: Option<String>,
    /// Write the last screen (.svg) or the whole session (.cast, for asciinema) to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

#[cfg(not(feature = "tui"))]
pub(super) fn run(_: &crate::cli::GlobalOptions, _: &TuiArgs) -> pensa_core::Result<()> {
    let error = pensa_core::Error::new(pensa_core::Code::Unsupported, "this pn was built without pn tui");
    Err(error.hint("build it with --features tui"))
}

/// Without the feature `tui` there is no window: a terminal, too, gets lines of JSON.
#[cfg(not(feature = "tui"))]
#[derive(Debug)]
pub(super) enum NoWindow {}

#[cfg(not(feature = "tui"))]
pub(super) use self::NoWindow as WatchWindow;

#[cfg(not(feature = "tui"))]
impl NoWindow {
    pub(super) fn show_queue(&mut self, _: &[pensa_core::issue::Issue]) -> pensa_core::Result<()> {
        match *self {}
    }

    pub(super) fn show_issue(&mut self, _: pensa_core::issue::IssueDetail) -> pensa_core::Result<()> {
        match *self {}
    }

    pub(super) fn redraw(&mut self) -> pensa_core::Result<()> {
        match *self {}
    }
}

#[cfg(not(feature = "tui"))]
pub(super) fn watch_window(_: &crate::cli::GlobalOptions) -> pensa_core::Result<Option<WatchWindow>> {
    Ok(None)
}

#[cfg(feature = "tui")]
pub(super) use pensa_tui::WatchWindow;

#[cfg(feature = "tui")]
pub(super) use with_tui::{run, watch_window};

#[cfg(feature = "tui")]
mod with_tui {
    use std::io::{self, IsTerminal};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::sync::{Arc, Mutex, PoisonError};

    use pensa_client::config::{BOARD_COLUMNS, Config, TUI_KEYS, TUI_THEME};
    use pensa_core::dirs::{self, Platform};
    use pensa_core::id::IssueId;
    use pensa_core::{Error, Result, text};
    use pensa_tui::{KeyTable, Theme, TuiOptions, WatchWindow};

    use super::TuiArgs;
    use crate::cli::GlobalOptions;
    use crate::connect::{self, StateLocation};
    use crate::render::draws_lines;

    pub(in crate::commands) fn run(options: &GlobalOptions, args: &TuiArgs) -> Result<()> {
        refuse_dumb_terminals()?;
        let config = connect::config(options)?;
        let theme = theme(&config, args.theme.clone())?;
        let labels = config.text(&BOARD_COLUMNS)?.unwrap_or_default();
        let labels = labels.split(['\n', ',']).map(|label| label.trim().to_owned());
        let is_remote = connect::server(options)?.is_some();
        let (opening, running) = (SharedOptions::new(options), SharedOptions::new(options));
        pensa_tui::run(TuiOptions {
            project: project_name(options),
            connect: Arc::new(move || connect::client(&opening.get())),
            is_remote,
            theme,
            keys: KeyTable::parse(&config.text(&TUI_KEYS)?.unwrap_or_default())?,
            is_ascii: !draws_lines(),
            board_labels: labels.filter(|label| !label.is_empty()).collect(),
            run_commands: config.run_commands(&|setting| connect::is_from_repository(options, setting))?,
            run: Arc::new(move |id, command| run_on(&running.get(), id, command)),
            guide_file: dirs::user_store_root(Platform::HERE, connect::env_var).map(|dir| dir.join("tui-guide")),
            memory_file: memory_file(options),
            record: args.record.clone(),
        })
    }

    /// Draws one view without keys, for `pn watch`.
    pub(in crate::commands) fn watch_window(options: &GlobalOptions) -> Result<Option<WatchWindow>> {
        let theme = theme(&*connect::config(options)?, None)?.unwrap_or(Theme::Dark);
        WatchWindow::open(theme, !draws_lines()).map(Some)
    }

    /// The theme that was asked for: by a flag, the settings, or `NO_COLOR`.
    fn theme(config: &Config, flag: Option<String>) -> Result<Option<Theme>> {
        match flag.or(config.text(&TUI_THEME)?) {
            Some(name) => Theme::named(&name).map(Some),
            None => Ok(connect::env_var("NO_COLOR").map(|_| Theme::Plain)),
        }
    }

    /// The options of the command, for other threads.
    struct SharedOptions(Mutex<GlobalOptions>);

    impl SharedOptions {
        fn new(options: &GlobalOptions) -> Self {
            Self(Mutex::new(options.clone()))
        }

        fn get(&self) -> GlobalOptions {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
        }
    }

    fn refuse_dumb_terminals() -> Result<()> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(Error::invalid("pn tui needs a terminal").hint("pn ls and pn board print the same to anything"));
        }
        let term = connect::env_var("TERM");
        if term.as_ref().is_none_or(|term| term == "dumb") {
            return Err(Error::invalid("this terminal (TERM=dumb) cannot place text")
                .hint("pn ls and pn board need nothing of it; else set TERM to what the terminal is"));
        }
        Ok(())
    }

    fn project_name(options: &GlobalOptions) -> String {
        let store = connect::project_store(options);
        let dir = store.as_ref().map(|store| store.project_dir().to_owned()).or_else(|| connect::cwd().ok());
        let dir = dir.and_then(|dir| dir.canonicalize().ok());
        let name = dir.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        text::printable_line(&name.unwrap_or_default())
    }

    /// Where the views of a project are remembered: with its private files, which git does not carry.
    fn memory_file(options: &GlobalOptions) -> Option<std::path::PathBuf> {
        Some(StateLocation::of(options).ok()?.private_dir("tui").ok()?.join("views.json"))
    }

    /// Starts a command on an issue, as `pn run exec` does.
    fn run_on(options: &GlobalOptions, id: &IssueId, command: &str) -> Result<String> {
        let program = std::env::current_exe().map_err(|e| Error::internal(format!("cannot find pn itself: {e}")))?;
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let words =
            words.ok_or_else(|| Error::invalid(format!("{command:?} is no command")).hint("check the quotes"))?;
        let mut run = Command::new(program);
        if let Some(name) = &options.actor {
            run.args(["--actor", name]);
        }
        if let Some(dir) = &options.store {
            run.arg("--store").arg(dir);
        }
        if let Some(server) = &options.remote_server {
            run.args(["--remote-server", server]);
        }
        run.args(["-q", "run", "exec", "--issue", id.as_str(), "--"]).args(words).stdin(Stdio::null());
        let output = run.output().map_err(|e| Error::internal(format!("cannot start pn run exec: {e}")))?;
        let said = |bytes: &[u8]| text::printable_line(String::from_utf8_lossy(bytes).trim());
        if output.status.success() {
            return Ok(format!("{} runs on {id}", said(&output.stdout)));
        }
        let error = said(&output.stderr);
        Err(Error::invalid(error.strip_prefix("error: ").unwrap_or(&error)))
    }
}
