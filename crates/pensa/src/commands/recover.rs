//! `pn recover`: fails jobs and runs of this machine whose processes are gone, and releases loops whose runners are gone.
//! A daemon does so when it starts.

use std::path::Path;

use pensa_client::Client;
use pensa_core::loops::{Loop, LoopStatus};
use pensa_core::ops::loops::List;
use pensa_core::ops::recover::Recover;
use pensa_core::run::Process;
use pensa_core::{Code, Result};
use pensa_host as host;
use serde::Serialize;

use super::{job, run as runs};
use crate::cli::GlobalOptions;
use crate::connect::{self, StateLocation};
use crate::output::Output;
use crate::render::{Render, Screen};

/// The loops that were released and the jobs that were failed.
#[derive(Debug, Serialize)]
struct Recovered {
    loops: Vec<RecoveredItem>,
    jobs: Vec<RecoveredItem>,
}

#[derive(Debug, Serialize)]
struct RecoveredItem {
    id: String,
    status: String,
}

impl Render for Recovered {
    fn render(&self, screen: &mut Screen) {
        for item in self.loops.iter().chain(&self.jobs) {
            screen.id(&item.id).plain(" ").text(&item.status).end();
        }
        if self.loops.is_empty() && self.jobs.is_empty() {
            screen.plain("nothing was left behind").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.loops.iter().chain(&self.jobs).map(|item| item.id.clone()).collect()
    }
}

pub(super) fn run(options: &GlobalOptions, output: Output) -> Result<()> {
    let home = StateLocation::of(options)?;
    let client = home.client(options)?;
    runs::reconcile(&client, &home)?;
    let jobs = job::reconcile(&client)?;
    let project = match &home {
        StateLocation::Store(store) => Some(store.root().to_owned()),
        StateLocation::Server(_) => connect::project_store(options).map(|store| store.root().to_owned()),
    };
    let loops = loops(&client, project.as_deref())?;
    let jobs = jobs.into_iter().map(|job| RecoveredItem { id: job.id.to_string(), status: job.status.to_string() });
    let loops = loops.into_iter().map(|it| RecoveredItem { id: it.id.to_string(), status: it.status.to_string() });
    output.answer(&Recovered { loops: loops.collect(), jobs: jobs.collect() })
}

/// Releases the loops of this machine whose runners are gone. Paused loops and those waiting for approval stay.
pub(super) fn loops(client: &Client, store: Option<&Path>) -> Result<Vec<Loop>> {
    let here = host::name();
    let mut all = Vec::new();
    for status in [LoopStatus::Running, LoopStatus::Rebasing] {
        for it in client.call(&List { status: Some(status), all: true, ..List::default() })? {
            let Some(pid) = it.pid.filter(|pid| it.host.as_ref() == Some(&here) && is_gone(*pid)) else { continue };
            let op = Recover {
                id: (&it.id).into(),
                work_is_gone: !has_work(&it, store),
                if_host: Some(here.clone()),
                if_pid: Some(pid),
            };
            match client.call(&op) {
                // Another process recovered it first.
                Err(e) if e.code == Code::Conflict => {}
                recovered => all.push(recovered?),
            }
        }
    }
    Ok(all)
}

/// Whether no process has this id, also none of another user.
fn is_gone(pid: i64) -> bool {
    host::is_gone(&Process { pid, born: None }) && !Path::new(&format!("/proc/{pid}")).exists()
}

/// Whether a loop's worktree exists: as an absolute path, in the store's local files, or in the project.
fn has_work(subject: &Loop, store: Option<&Path>) -> bool {
    let named = Path::new(&subject.worktree);
    if named.as_os_str().is_empty() {
        return false;
    }
    let places = [store.map(|store| store.join("local")), store.and_then(|store| Some(store.parent()?.to_owned()))];
    named.is_absolute() && named.is_dir() || places.into_iter().flatten().any(|place| place.join(named).is_dir())
}
