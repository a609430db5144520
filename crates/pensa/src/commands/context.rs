//! `pn context`: where things stand, on the screen or in files that other tools read.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pensa_client::Client;
use pensa_core::briefing::Format;
use pensa_core::ops::briefing::Brief;
use pensa_core::ops::issue::Ready;
use pensa_core::ops::work::{Current, List};
use pensa_core::work::{WorkStatus, page};
use pensa_core::{Code, Error, Result};
use pensa_engine::StoreDir;
use serde::Serialize;

use crate::cli::Options;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

/// Most issues on a page, and most work that is counted.
const MOST: u32 = 100;
const NOW: &str = "now.md";

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
    output.answer(&Written { files: pages(&client, &project.local_dir("context")?)? })
}

/// Writes the pages again if there are any. They are a help, so that nothing fails on them.
pub(super) fn refresh(options: &Options, output: Output) {
    let is_written = |store: &StoreDir| store.root().join("local/context").join(NOW).exists();
    let Some(store) = connect::project_store(options).filter(is_written) else { return };
    // A repository can bring a link in place of the directory, and that is refused.
    let dir = store.local_dir("context");
    if let Err(e) = dir.and_then(|dir| pages(&connect::client(options)?, &dir)) {
        output.warning(&format!("the pages in local/context are old: {}", e.message));
    }
}

fn pages(client: &Client, dir: &Path) -> Result<Vec<PathBuf>> {
    let me = client.actor();
    let doing = client.call(&Current { actor: me.clone(), issue: None })?;
    let count = |status| {
        let list = List { status: Some(status), actor: Some(me.clone()), limit: Some(MOST) };
        client.call(&list).map(|work| work.len())
    };
    let (paused, done) = (count(WorkStatus::Paused)?, count(WorkStatus::Done)?);
    let queue = client.call(&Ready { limit: Some(MOST), ..Ready::default() })?;
    let pages = [(NOW, page::now(doing.as_ref(), paused, done)), ("next.md", page::next(&queue))];
    pages.into_iter().map(|(name, page)| replace(&dir.join(name), page)).collect()
}

/// Puts a page in place of the one before, but for what a person put there to be kept.
fn replace(path: &Path, page: String) -> Result<PathBuf> {
    let before = match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(unwritten(path, &e)),
    };
    let page = page::with_kept(page, &before);
    if page != before {
        put(path, &page, 0o600)?;
    }
    Ok(path.to_owned())
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
