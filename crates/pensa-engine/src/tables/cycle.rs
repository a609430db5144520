//! The cycle check over dependencies and parents, which wait for their children.
//!
//! It reads row by row while the walk is short, and everything once the walk gets long.

use pensa_core::Result;
use pensa_core::graph::{self, Graph};
use pensa_core::id::IssueId;

use super::deps::WAITS;
use crate::db::{Tx, params};

/// Steps of the first walk.
const FIRST_WALK: usize = 256;
/// How much longer each further walk is.
const LONGER: usize = 16;
/// Everything is read when it has at most this many rows for each step that was in vain. A step costs about as much
/// as reading four rows; how many more it would have taken nobody knows.
const ROWS_PER_STEP: usize = 64;

/// Whether making `child` wait for `parent` would close a cycle.
pub(crate) fn would_close(tx: &Tx<'_>, child: &IssueId, parent: &IssueId) -> Result<bool> {
    let mut steps = FIRST_WALK;
    loop {
        if let Some(verdict) = walk(tx, child, parent, steps)? {
            return Ok(verdict);
        }
        if count(tx)? <= steps * ROWS_PER_STEP {
            return Ok(everything(tx)?.depends(parent, child));
        }
        steps *= LONGER;
    }
}

fn walk(tx: &Tx<'_>, child: &IssueId, parent: &IssueId, steps: usize) -> Result<Option<bool>> {
    let up = "SELECT depends_on_id FROM deps WHERE issue_id = ?1 UNION SELECT id FROM issues WHERE parent = ?1";
    let down = "SELECT issue_id FROM deps WHERE depends_on_id = ?1
         UNION SELECT parent FROM issues WHERE id = ?1 AND parent IS NOT NULL";
    graph::would_cycle(
        child,
        parent,
        &mut |node, visit| tx.for_each(up, params![node], |row| row.str(0).map(&mut *visit)),
        &mut |node, visit| tx.for_each(down, params![node], |row| row.str(0).map(&mut *visit)),
        steps,
    )
}

fn count(tx: &Tx<'_>) -> Result<usize> {
    let count = tx.query_one("SELECT COUNT(*) FROM deps", params![], |row| row.int(0))?;
    Ok(usize::try_from(count.unwrap_or_default()).unwrap_or(usize::MAX))
}

fn everything(tx: &Tx<'_>) -> Result<Graph> {
    let mut graph = Graph::default();
    tx.for_each(WAITS, params![], |row| {
        graph.add(row.str(0)?, row.str(1)?);
        Ok(())
    })?;
    Ok(graph)
}
