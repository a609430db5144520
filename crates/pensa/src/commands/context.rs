//! `pn context`: where things stand, on the screen or in files that other tools read.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pensa_client::Client;
use pensa_core::briefing::Format;
use pensa_core::ops::briefing::Brief;
use pensa_core::ops::work::Current;
use pensa_core::work::WorkStatus;
use pensa_core::{Code, Error, Result};
use pensa_engine::pages::{self, Pages};
use serde::Serialize;

use crate::cli::Options;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// Tells where things stand, for whoever asks.
pub(super) fn brief(options: &Options, output: Output, mut op: Brief) -> Result<()> {
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

/// What was written.
#[derive(Debug, Serialize)]
pub(super) struct Written {
    pub(super) files: Vec<PathBuf>,
}

impl Render for Written {
    fn render(&self, screen: &mut Screen) {
        for file in &self.files {
            screen.plain("wrote ").text(&file.display().to_string()).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.files.iter().map(|file| file.display().to_string()).collect()
    }
}

/// Writes the pages of this project.
pub(super) fn write(options: &Options, output: Output) -> Result<()> {
    let client = connect::client(options)?;
    let project = connect::project_store(options).ok_or_else(|| {
        Error::new(Code::NoStore, "there is no project here whose pages could be written").hint("pn init makes one")
    })?;
    output.answer(&Written { files: pages::write(&project, &client.actor(), |actor| ask(&client, actor))? })
}

/// Writes the pages again after a change on a server, which may keep its store on another machine. A store on this one
/// sees to its own.
pub(super) fn refresh(options: &Options, output: Output) {
    let Some(store) = connect::project_store(options).filter(pages::is_wanted) else { return };
    if !matches!(connect::server(options), Ok(Some(_))) {
        return;
    }
    let written = connect::client(options)
        .and_then(|client| pages::refresh(&store, &client.actor(), |actor| ask(&client, actor)));
    if let Err(e) = written {
        output.warning(&format!("the pages in local/context are old: {}", e.message));
    }
}

fn ask(client: &Client, actor: &str) -> Result<Pages> {
    let count = |status| client.call(&Pages::work_in(status, actor)).map(|work| work.len());
    let (paused, done) = (count(WorkStatus::Paused)?, count(WorkStatus::Done)?);
    let doing = client.call(&Current { actor: actor.to_owned(), issue: None })?;
    Ok(Pages { doing, paused, done, queue: client.call(&Pages::queue())? })
}

fn unwritten(path: &Path, e: &io::Error) -> Error {
    let code = match e.kind() {
        io::ErrorKind::StorageFull => Code::DiskFull,
        io::ErrorKind::NotFound => Code::NotFound,
        _ => Code::Internal,
    };
    Error::new(code, format!("cannot write {}: {e}", path.display()))
}

/// Puts a file in place of whatever has its name, whole or not at all. Of the mode the umask is taken off.
pub(super) fn put(path: &Path, text: &str, mode: u32) -> Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |e: &io::Error| unwritten(path, e);
    let made = tempfile::Builder::new().permissions(Permissions::from_mode(mode)).tempfile_in(dir);
    let mut draft = made.map_err(|e| failed(&e))?;
    draft.write_all(text.as_bytes()).map_err(|e| failed(&e))?;
    draft.persist(path).map_err(|e| failed(&e.error)).map(drop)
}
