//! Releases loops whose runners are gone. The caller on the runners' machine finds out which are.

use pensa_core::loops::{Loop, LoopStatus, LoopTransition, apply};
use pensa_core::ops::recover::Recover;
use pensa_core::{Code, Error, Result};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::loops;

impl Execute for Recover {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Loop> {
        let loops_collection = loops::open_to_write(tx)?;
        let old = loops::find(tx, &loops_collection, &self.id)?;
        if !matches!(old.status, LoopStatus::Running | LoopStatus::Rebasing) {
            return Ok(old);
        }
        let is_other =
            self.if_host.is_some() && self.if_host != old.host || self.if_pid.is_some() && self.if_pid != old.pid;
        if is_other {
            return Err(Error::new(Code::Conflict, format!("another runs {} by now", old.id)).hint("look at it again"));
        }
        let mut new = old.clone();
        let step = if self.work_is_gone { LoopTransition::Fail } else { LoopTransition::Recover };
        let Some(event) = apply(&mut new, step, cx.now)? else { return Ok(old) };
        let why = if self.work_is_gone { "its runner and its worktree are gone" } else { "its runner is gone" };
        new.reason = Some(why.to_owned());
        if !self.work_is_gone {
            (new.host, new.pid) = (None, None);
            // It was running, so its parent is complete.
            new.runnable = loops::queue_position(tx, None)?;
        }
        loops::save(cx, tx, &loops_collection, Some(&old), new, event)
    }
}
