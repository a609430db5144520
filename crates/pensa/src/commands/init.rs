//! `pn init`.

use pensa_client::locate;
use pensa_core::Result;
use pensa_engine::StoreDir;
use serde::Serialize;

use crate::cli::{Init, Options};
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

#[derive(Debug, Serialize)]
struct Initialised {
    path: String,
    store_id: String,
    created: bool,
}

pub(super) fn run(options: &Options, args: &Init, output: Output) -> Result<()> {
    let cwd = connect::cwd()?;
    let dir = args.dir.as_ref().map_or_else(|| cwd.clone(), |dir| cwd.join(dir));
    let (store, created) = StoreDir::create(&locate::new_store_root(&dir))?;
    let engine = connect::open(options, store)?;
    output.answer(&Initialised { path: engine.home().place(), store_id: engine.home().id()?, created })
}

impl Render for Initialised {
    fn render(&self, screen: &mut Screen) {
        let what = if self.created { "made a store in" } else { "there is a store already in" };
        screen.plain(what).plain(" ").text(&self.path).end();
        if self.created {
            screen.plain("next: pn create \"what is to be done\" -t task, then pn ready").end();
            screen.plain("commit .pensa: clones of the project share its issues").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.store_id.clone()]
    }
}
