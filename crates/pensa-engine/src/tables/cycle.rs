//! The cycle check's walk over `deps`: row by row while it is short, over a copy in memory once it gets long.

use std::cell::RefCell;

use pensa_core::id::IssueId;
use pensa_core::{Result, graph};

use crate::db::{Statement, Tx, params};

/// Steps after which a copy is thought about.
const SHORT_WALK: usize = 256;
/// Asking for one node costs about as much as reading this many rows in order.
const ROWS_PER_STEP: usize = 16;
/// Largest number of dependencies that is ever copied.
const LARGEST_COPY: usize = 50_000;

/// Whether making `child` wait for `parent` would close a cycle.
pub(crate) fn would_close(tx: &Tx<'_>, child: &IssueId, parent: &IssueId) -> Result<bool> {
    let walk = RefCell::new(Walk::new(tx)?);
    graph::would_cycle(
        child,
        parent,
        &mut |node, visit| walk.borrow_mut().step(Way::Up, node, visit),
        &mut |node, visit| walk.borrow_mut().step(Way::Down, node, visit),
    )
}

#[derive(Debug, Clone, Copy)]
enum Way {
    /// To what a node waits for.
    Up,
    /// To what waits for a node.
    Down,
}

struct Walk<'t> {
    tx: &'t Tx<'t>,
    up: Statement<'t>,
    down: Statement<'t>,
    steps: usize,
    /// How many dependencies there are, once it matters.
    total: Option<usize>,
    copy: Option<Copy>,
}

impl<'t> Walk<'t> {
    fn new(tx: &'t Tx<'t>) -> Result<Self> {
        let up = tx.prepare("SELECT depends_on_id FROM deps WHERE issue_id = ?1")?;
        let down = tx.prepare("SELECT issue_id FROM deps WHERE depends_on_id = ?1")?;
        Ok(Self { tx, up, down, steps: 0, total: None, copy: None })
    }

    fn step(&mut self, way: Way, node: &str, visit: &mut dyn FnMut(&str)) -> Result<()> {
        self.steps += 1;
        if self.copy.is_none() && self.steps.is_multiple_of(SHORT_WALK) && self.is_worth_a_copy()? {
            self.copy = Some(Copy::read(self.tx)?);
        }
        let statement = match (&self.copy, way) {
            (Some(copy), way) => {
                copy.neighbours(way, node).for_each(visit);
                return Ok(());
            }
            (None, Way::Up) => &mut self.up,
            (None, Way::Down) => &mut self.down,
        };
        statement.for_each(params![node], |row| row.str(0).map(&mut *visit))
    }

    fn is_worth_a_copy(&mut self) -> Result<bool> {
        let total = match self.total {
            Some(total) => total,
            None => {
                let count = self.tx.query_one("SELECT COUNT(*) FROM deps", params![], |row| row.int(0))?;
                usize::try_from(count.unwrap_or_default()).unwrap_or(usize::MAX)
            }
        };
        self.total = Some(total);
        Ok(total <= LARGEST_COPY && total <= self.steps * ROWS_PER_STEP)
    }
}

/// All dependencies, as pairs (from, to), sorted by the side they are looked up by.
struct Copy {
    up: Vec<(Box<str>, Box<str>)>,
    down: Vec<(Box<str>, Box<str>)>,
}

impl Copy {
    fn read(tx: &Tx<'_>) -> Result<Self> {
        let pairs = |sql: &str| tx.query(sql, params![], |row| Ok((row.str(0)?.into(), row.str(1)?.into())));
        Ok(Self {
            up: pairs("SELECT issue_id, depends_on_id FROM deps ORDER BY issue_id")?,
            down: pairs("SELECT depends_on_id, issue_id FROM deps ORDER BY depends_on_id")?,
        })
    }

    fn neighbours<'a>(&'a self, way: Way, node: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = match way {
            Way::Up => &self.up,
            Way::Down => &self.down,
        };
        let start = pairs.partition_point(|(from, _)| **from < *node);
        pairs[start..].iter().take_while(move |(from, _)| **from == *node).map(|(_, to)| &**to)
    }
}
