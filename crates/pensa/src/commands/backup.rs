//! `pn backup` and `pn restore`: copies the database of the store, and restores a copy.

use clap::Args;
use pensa_core::ops::backup::{self, BackedUp, Restored};

use crate::render::{Render, Screen, list_item};

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    #[command(flatten)]
    pub(crate) op: backup::Backup,
    /// List the existing backups instead
    #[arg(long, conflicts_with_all = ["file", "force"])]
    pub(crate) list: bool,
}

impl Render for BackedUp {
    fn render(&self, screen: &mut Screen) {
        let size = self.bytes.div_ceil(1024);
        screen.text(&self.path).faint(&format!(" {size} KiB, up to event {}", self.event)).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.path.clone()]
    }
}

list_item!(BackedUp, "backup", "backups");

impl Render for Restored {
    fn render(&self, screen: &mut Screen) {
        screen
            .plain(&format!(
                "restored {}; what was there before is in ",
                match self.issues {
                    1 => "1 issue".to_owned(),
                    many => format!("{many} issues"),
                }
            ))
            .text(&self.backup)
            .end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.backup.clone()]
    }
}
