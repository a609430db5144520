//! `pn context`: prints a briefing for an agent, or writes it to files for other tools.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use pensa_client::Client;
use pensa_core::briefing::{Briefing, Format};
use pensa_core::ops::briefing::Brief;
use pensa_core::ops::work::Current;
use pensa_core::work::WorkStatus;
use pensa_core::{Code, Error, Result};
use pensa_engine::pages::{self, Pages};
use serde::Serialize;

use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    pub(crate) op: Brief,
    /// Write files for other tools instead: .pensa/local/context/now.md and next.md, kept up to date by pn work
    #[arg(long, conflicts_with_all = ["max_tokens", "format"])]
    pub(crate) write: bool,
}

/// Prints the briefing of the caller.
pub(super) fn brief(options: &GlobalOptions, output: Output, mut op: Brief) -> Result<()> {
    if output.is_json() {
        op.format = Some(Format::Json);
    }
    let client = connect::client(options)?;
    op.who = Some(client.actor());
    let briefing = client.call(&op)?;
    match op.format {
        Some(Format::Json) => output.line(&pensa_core::json::to_line(&briefing)?),
        _ => output.answer(&briefing),
    }
}

/// The files that a command wrote.
#[derive(Debug, Serialize)]
pub(super) struct WrittenFiles {
    pub(super) files: Vec<PathBuf>,
}

impl Render for WrittenFiles {
    fn render(&self, screen: &mut Screen) {
        for file in &self.files {
            screen.plain("wrote ").text(&file.display().to_string()).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.files.iter().map(|file| file.display().to_string()).collect()
    }
}

/// Writes the context files of this project.
pub(super) fn write(options: &GlobalOptions, output: Output) -> Result<()> {
    let client = connect::client(options)?;
    let project = connect::project_store(options).ok_or_else(|| {
        Error::new(Code::NoStore, "there is no project here whose pages could be written").hint("pn init makes one")
    })?;
    output
        .answer(&WrittenFiles { files: pages::write(&project, &client.actor(), |actor| fetch_pages(&client, actor))? })
}

/// Updates the context files after a change on a server. The engine itself does so for a store on this machine.
pub(super) fn refresh(options: &GlobalOptions, output: Output) {
    let Some(store) = connect::project_store(options).filter(pages::are_enabled) else { return };
    if !matches!(connect::server(options), Ok(Some(_))) {
        return;
    }
    let written = connect::client(options)
        .and_then(|client| pages::refresh(&store, &client.actor(), |actor| fetch_pages(&client, actor)));
    if let Err(e) = written {
        output.warning(&format!("the pages in local/context are old: {}", e.message));
    }
}

fn fetch_pages(client: &Client, actor: &str) -> Result<Pages> {
    let count = |status| client.call(&Pages::work_in(status, actor)).map(|work| work.len());
    let (paused, done) = (count(WorkStatus::Paused)?, count(WorkStatus::Done)?);
    let doing = client.call(&Current { actor: actor.to_owned(), issue: None })?;
    Ok(Pages { doing, paused, done, queue: client.call(&Pages::queue())? })
}

fn write_error(path: &Path, e: &io::Error) -> Error {
    let code = match e.kind() {
        io::ErrorKind::StorageFull => Code::DiskFull,
        io::ErrorKind::NotFound => Code::NotFound,
        _ => Code::Internal,
    };
    Error::new(code, format!("cannot write {}: {e}", path.display()))
}

/// Writes a file atomically; the umask applies to `mode`.
pub(super) fn write_atomically(path: &Path, text: &str, mode: u32) -> Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |e: &io::Error| write_error(path, e);
    let made = tempfile::Builder::new().permissions(Permissions::from_mode(mode)).tempfile_in(dir);
    let mut draft = made.map_err(|e| failed(&e))?;
    draft.write_all(text.as_bytes()).map_err(|e| failed(&e))?;
    draft.persist(path).map_err(|e| failed(&e.error)).map(drop)
}

impl Render for Briefing {
    fn render(&self, screen: &mut Screen) {
        // Each line is already short enough.
        screen.plain(&pensa_core::text::printable_block(&self.markdown()));
    }

    fn ids(&self) -> Vec<String> {
        self.sections.iter().flat_map(|section| &section.lines).filter_map(|line| line.id.clone()).collect()
    }
}
