//! Giving back loops whose runners are gone. Whether they are is for their machine to say.

use pensa_core::loops::{Loop, LoopStatus, Move, apply};
use pensa_core::ops::recover::Recover;
use pensa_core::{Code, Error, Result};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::tables::loops;

impl Execute for Recover {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Loop> {
        let kept = loops::open_to_write(tx)?;
        let old = loops::find(tx, &kept, &self.id)?;
        if !matches!(old.status, LoopStatus::Running | LoopStatus::Rebasing) {
            return Ok(old);
        }
        let is_other =
            self.if_host.is_some() && self.if_host != old.host || self.if_pid.is_some() && self.if_pid != old.pid;
        if is_other {
            return Err(Error::new(Code::Conflict, format!("another runs {} by now", old.id)).hint("look at it again"));
        }
        let mut new = old.clone();
        let step = if self.work_is_gone { Move::Fail } else { Move::Recover };
        let Some(event) = apply(&mut new, step, cx.now)? else { return Ok(old) };
        let why = if self.work_is_gone { "its runner and its worktree are gone" } else { "its runner is gone" };
        new.reason = Some(why.to_owned());
        if !self.work_is_gone {
            (new.host, new.pid) = (None, None);
            // It ran, so that its parent was complete.
            new.runnable = loops::place(tx, None)?;
        }
        loops::save(cx, tx, &kept, Some(&old), new, event)
    }
}
