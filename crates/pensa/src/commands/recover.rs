//! `pn recover`: what nobody looks after any more on this machine is told as such. Daemons do so when they start.

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
use crate::cli::Options;
use crate::connect::{self, Home};
use crate::output::Output;
use crate::render::{Render, Screen};

/// What was found to be over, or can be claimed again.
#[derive(Debug, Serialize)]
struct Recovered {
    loops: Vec<Stands>,
    jobs: Vec<Stands>,
}

#[derive(Debug, Serialize)]
struct Stands {
    id: String,
    status: String,
}

impl Render for Recovered {
    fn render(&self, screen: &mut Screen) {
        for stands in self.loops.iter().chain(&self.jobs) {
            screen.id(&stands.id).plain(" ").text(&stands.status).end();
        }
        if self.loops.is_empty() && self.jobs.is_empty() {
            screen.plain("nothing was left behind").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.loops.iter().chain(&self.jobs).map(|stands| stands.id.clone()).collect()
    }
}

pub(super) fn run(options: &Options, output: Output) -> Result<()> {
    let home = Home::of(options)?;
    let client = home.client(options)?;
    runs::settle(&client, &home)?;
    let jobs = job::settle(&client)?;
    let project = match &home {
        Home::Store(store) => Some(store.root().to_owned()),
        Home::Server(_) => connect::project_store(options).map(|store| store.root().to_owned()),
    };
    let loops = loops(&client, project.as_deref())?;
    let jobs = jobs.into_iter().map(|job| Stands { id: job.id.to_string(), status: job.status.to_string() });
    let loops = loops.into_iter().map(|it| Stands { id: it.id.to_string(), status: it.status.to_string() });
    output.answer(&Recovered { loops: loops.collect(), jobs: jobs.collect() })
}

/// Gives back the loops of this machine whose runners are gone; paused ones and those that await approval stay.
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
                // Somebody else was faster.
                Err(e) if e.code == Code::Conflict => {}
                recovered => all.push(recovered?),
            }
        }
    }
    Ok(all)
}

/// Whether no process has this number, be it whose it may.
fn is_gone(pid: i64) -> bool {
    host::is_gone(&Process { pid, born: None }) && !Path::new(&format!("/proc/{pid}")).exists()
}

/// Whether the place of a loop's work is there: as it is named, in the project, or among the store's own files.
fn has_work(subject: &Loop, store: Option<&Path>) -> bool {
    let named = Path::new(&subject.worktree);
    if named.as_os_str().is_empty() {
        return false;
    }
    let places = [store.map(|store| store.join("local")), store.and_then(|store| Some(store.parent()?.to_owned()))];
    named.is_absolute() && named.is_dir() || places.into_iter().flatten().any(|place| place.join(named).is_dir())
}
