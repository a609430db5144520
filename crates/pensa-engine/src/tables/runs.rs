//! Rows of `runs`, and which of them a caller means.

use pensa_core::event::{self, EventType};
use pensa_core::id::{RunId, RunRef};
use pensa_core::json::{self, ListWriter};
use pensa_core::run::{End, MuxPlace, Process, Run, Task};
use pensa_core::{Code, Error, Result};

use super::ids::Kind;
use super::row::{Shape, Wanted, newest};
use crate::context::Context;
use crate::db::{Param, Row, Tx, params};
use crate::tables::events;

const RUNS: Kind = Kind { name: "run", table: "runs", prefix: RunId::PREFIX, hint: "pn run list shows the ids" };

const SELECT: &str = "SELECT r.id, r.status, r.repo_id, r.workspace_id, r.harness_id, h.name, h.version, r.runtime_id, \
     t.type, t.devcontainer_path, r.issue_id, r.session_id, r.group_id, r.actor, r.command, r.prompt, r.branch, \
     r.delivery, r.instances, r.labels, r.browser_automation, r.browser_profile, r.chatgpt_username, \
     r.codex_workspace, r.host, r.pid_agent, r.agent_born, r.pid_supervisor, r.supervisor_born, r.multiplexer_kind, \
     r.mux_session, r.mux_window, r.pane_left, r.pane_right, r.log_path, r.workspace_path, r.exit_code, r.signal, \
     r.reason, r.started_at, r.ended_at, r.updated_at \
     FROM runs r JOIN harnesses h ON h.id = r.harness_id JOIN runtimes t ON t.id = r.runtime_id";

fn read(row: &Row<'_>) -> Result<Run> {
    let runtime = match row.text_or_null(9)? {
        Some(path) => format!("{}:{path}", row.str(8)?),
        None => row.text(8)?,
    };
    Ok(Run {
        id: row.parse(0)?,
        status: row.parse(1)?,
        repo_id: row.parse(2)?,
        workspace_id: row.parse_or_null(3)?,
        harness_id: row.parse(4)?,
        harness: format!("{}@{}", row.str(5)?, row.str(6)?).parse()?,
        runtime_id: row.parse(7)?,
        runtime: runtime.parse()?,
        issue_id: row.parse_or_null(10)?,
        session_id: row.parse_or_null(11)?,
        group: row.text_or_null(12)?,
        actor: row.text(13)?,
        command: row.json(14)?,
        task: Task {
            prompt: row.text(15)?,
            branch: row.text_or_null(16)?,
            delivery: row.parse_or_null(17)?,
            instances: row.int(18)?,
            labels: row.json(19)?,
            browser_automation: row.int(20)? != 0,
            browser_profile: row.text_or_null(21)?,
            chatgpt_username: row.text_or_null(22)?,
            codex_workspace: row.text_or_null(23)?,
        },
        host: row.text_or_null(24)?,
        agent: process(row, 25)?,
        supervisor: process(row, 27)?,
        mux: MuxPlace {
            multiplexer_kind: row.parse_or_null(29)?,
            mux_session: row.text_or_null(30)?,
            mux_window: row.int_or_null(31)?,
            pane_left: row.text_or_null(32)?,
            pane_right: row.text_or_null(33)?,
        },
        log_path: row.text_or_null(34)?,
        workspace_path: row.text_or_null(35)?,
        end: End { exit_code: row.int_or_null(36)?, signal: row.int_or_null(37)?, reason: row.text_or_null(38)? },
        started_at: row.parse(39)?,
        ended_at: row.parse_or_null(40)?,
        updated_at: row.parse(41)?,
    })
}

fn process(row: &Row<'_>, column: usize) -> Result<Option<Process>> {
    let born = row.text_or_null(column + 1)?;
    Ok(row.int_or_null(column)?.map(|pid| Process { pid, born }))
}

fn query(tx: &Tx<'_>, rest: &str, params: &[Param<'_>]) -> Result<Vec<Run>> {
    tx.query(&format!("{SELECT} {rest}"), params, read)
}

pub(crate) fn new_id(cx: &Context<'_>, tx: &Tx<'_>) -> Result<RunId> {
    RUNS.new_id(tx, || RunId::from_uuid(cx.uuid()))
}

/// The ids that a text may mean.
pub(crate) fn candidates(tx: &Tx<'_>, text: &str) -> Result<Vec<String>> {
    RUNS.candidates(tx, text)
}

/// The run that a caller means.
pub(crate) fn find(tx: &Tx<'_>, wanted: &RunRef) -> Result<Run> {
    let id = RUNS.find(tx, wanted.as_str())?;
    query(tx, "WHERE r.id = ?1", params![&id])?.pop().ok_or_else(|| RUNS.unknown(&id))
}

/// The runs that a listing wants, newest first.
pub(crate) fn list(tx: &Tx<'_>, wanted: Wanted, limit: Option<u32>) -> Result<Vec<Run>> {
    let (rest, values) = newest("r", "started_at", wanted, limit);
    query(tx, &rest, &values)
}

/// The same as JSON, a run at a time.
pub(crate) fn write_list(tx: &Tx<'_>, wanted: Wanted, limit: Option<u32>, to: &mut Vec<u8>) -> Result<()> {
    let (rest, values) = newest("r", "started_at", wanted, limit);
    let mut list = ListWriter::new(to);
    tx.for_each(&format!("{SELECT} {rest}"), &values, |row| list.item(&read(row)?))?;
    list.end();
    Ok(())
}

/// Adds a run, or puts it in place of what is there.
pub(crate) fn put(tx: &Tx<'_>, run: &Run) -> Result<()> {
    tx.journal("run", run)?;
    SHAPE.put(tx, &row(run)?)
}

/// The columns are in the order of [`row`].
const SHAPE: Shape = Shape {
    table: "runs",
    columns: "id repo_id workspace_id harness_id runtime_id issue_id session_id group_id actor command prompt \
     branch delivery instances labels browser_automation browser_profile chatgpt_username codex_workspace host \
     pid_agent agent_born pid_supervisor supervisor_born multiplexer_kind mux_session mux_window pane_left pane_right \
     log_path workspace_path status exit_code signal reason started_at ended_at updated_at",
    keys: 1,
};

fn row(run: &Run) -> Result<[Param<'_>; 38]> {
    let pid = |process: &Option<Process>| process.as_ref().map(|process| process.pid).into();
    let Run { task, mux, end, .. } = run;
    Ok([
        run.id.as_str().into(),
        run.repo_id.as_str().into(),
        run.workspace_id.as_ref().map(|id| id.as_str()).into(),
        run.harness_id.as_str().into(),
        run.runtime_id.as_str().into(),
        run.issue_id.as_ref().into(),
        run.session_id.as_ref().map(|id| id.as_str()).into(),
        run.group.as_ref().into(),
        run.actor.as_str().into(),
        json::to_line(&run.command)?.into(),
        task.prompt.as_str().into(),
        task.branch.as_ref().into(),
        task.delivery.map(|delivery| delivery.as_str()).into(),
        task.instances.into(),
        json::to_line(&task.labels)?.into(),
        i64::from(task.browser_automation).into(),
        task.browser_profile.as_ref().into(),
        task.chatgpt_username.as_ref().into(),
        task.codex_workspace.as_ref().into(),
        run.host.as_ref().into(),
        pid(&run.agent),
        run.agent.as_ref().and_then(|process| process.born.as_ref()).into(),
        pid(&run.supervisor),
        run.supervisor.as_ref().and_then(|process| process.born.as_ref()).into(),
        mux.multiplexer_kind.map(|kind| kind.as_str()).into(),
        mux.mux_session.as_ref().into(),
        mux.mux_window.into(),
        mux.pane_left.as_ref().into(),
        mux.pane_right.as_ref().into(),
        run.log_path.as_ref().into(),
        run.workspace_path.as_ref().into(),
        run.status.as_str().into(),
        end.exit_code.into(),
        end.signal.into(),
        end.reason.as_ref().into(),
        run.started_at.into(),
        run.ended_at.into(),
        run.updated_at.into(),
    ])
}

/// Stores a changed run and logs the change; leaves everything alone if nothing changed.
pub(crate) fn save(cx: &Context<'_>, tx: &Tx<'_>, old: Option<&Run>, mut new: Run, event: EventType) -> Result<Run> {
    let detail = event::differences(old, &new);
    if detail.is_empty() {
        return Ok(new);
    }
    new.updated_at = cx.now;
    put(tx, &new)?;
    events::append(cx, tx, ("run", new.id.as_str()), None, event, detail)?;
    Ok(new)
}

/// The error of something that only a run that goes on can have.
pub(crate) fn must_go_on(run: &Run) -> Result<()> {
    if !run.status.is_over() {
        return Ok(());
    }
    let message = format!("cannot change {}: it has {}", run.id, run.status);
    Err(Error::new(Code::InvalidStatusTransition, message).hint("what has ended stays as it is"))
}
