//! Operations on loops. Each applies one transition.

use std::collections::HashMap;

use pensa_core::event::EventType;
use pensa_core::id::{LoopId, LoopRef};
use pensa_core::loops::{self as rules, Branch, Loop, LoopStatus, LoopTransition, apply, files};
use pensa_core::ops::loops::{
    Approve, Approved, Archive, Claim, Complete, Create, Fail, ImportLoopFiles, ImportLoops, Invalidate, Invalidated,
    Iterate, Iterated, List, LoopFilesReport, MAX_CHILDREN, Pause, Rebase, Reject, Resume, Show, Start, Submit, Tree,
};
use pensa_core::record::{Filter, Order};
use pensa_core::signal::{RecipientKind, Signal, SignalType, Target};
use pensa_core::{Code, Error, Result, text};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::loop_dirs;
use crate::tables::records::{Collection, Query};
use crate::tables::{issues, loops, signals};

impl Execute for Create {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Loop> {
        let collection = loops::open_to_write(tx)?;
        let parent = self.parent.as_ref().map(|parent| loops::find(tx, &collection, parent)).transpose()?;
        create(cx, tx, &collection, self, parent.as_ref())
    }
}

fn create(cx: &Context<'_>, tx: &Tx<'_>, collection: &Collection, new: &Create, parent: Option<&Loop>) -> Result<Loop> {
    if let Some(parent) = parent.filter(|parent| parent.status.is_over() && parent.status != LoopStatus::Complete) {
        let message = format!("{} is {}, so nothing follows from it", parent.id, parent.status);
        return Err(Error::new(Code::InvalidStatusTransition, message).hint("name another parent, or none"));
    }
    let prompt_path = rules::path("prompt_path", &new.prompt_path)?;
    let validation_command = rules::command(&new.validation_command)?;
    let max_iterations = rules::iterations(new.max_iterations)?;
    let context = rules::context(new.context.as_ref())?;
    let input_artifact = new.input_artifact.as_ref().map(|path| rules::path("input_artifact", path)).transpose()?;
    let issue = new.issue.as_ref().map(|issue| issues::find(cx, tx, issue)).transpose()?;
    let id = loops::new_id(cx, tx)?;
    let worktree = match &new.worktree {
        Some(path) => rules::path("worktree", path)?,
        None => format!("worktrees/{id}"),
    };
    let created = Loop {
        loop_type: new.loop_type,
        parent_id: parent.map(|parent| parent.id.clone()),
        issue_id: issue.map(|issue| issue.id),
        input_artifact,
        output_artifacts: Vec::new(),
        prompt_path,
        validation_command,
        max_iterations,
        worktree,
        iteration: 0,
        status: LoopStatus::Pending,
        progress: String::new(),
        context,
        reason: None,
        holder: None,
        host: None,
        pid: None,
        runnable: loops::queue_position(tx, parent)?,
        created_at: cx.now,
        updated_at: cx.now,
        archived_at: None,
        id,
    };
    loops::save(cx, tx, collection, None, created, EventType::LoopCreated)
}

impl Execute for ImportLoops {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Loop>> {
        if self.records.len() > MAX_CHILDREN {
            let message = format!("{} loops at once are too many: at most {MAX_CHILDREN}", self.records.len());
            return Err(Error::new(Code::TooLarge, message));
        }
        let collection = loops::open_to_write(tx)?;
        // Parents may come after their children.
        let mut new: Vec<Loop> = Vec::new();
        let mut statuses: HashMap<LoopId, LoopStatus> = HashMap::new();
        for record in &self.records {
            let one = rules::import_record(record, cx.now)?;
            if collection.get(tx, one.id.as_str())?.is_none() && statuses.insert(one.id.clone(), one.status).is_none() {
                new.push(one);
            }
        }
        let save = |mut one: Loop| {
            let parent_status = match &one.parent_id {
                None => Some(LoopStatus::Complete),
                Some(parent) => match statuses.get(parent) {
                    Some(status) => Some(*status),
                    None => {
                        collection.get(tx, parent.as_str())?.map(loops::read).transpose()?.map(|parent| parent.status)
                    }
                },
            };
            if one.status == LoopStatus::Pending && parent_status == Some(LoopStatus::Complete) {
                one.runnable = loops::queue_position(tx, None)?;
            }
            loops::save(cx, tx, &collection, None, one, EventType::LoopCreated)
        };
        new.into_iter().map(save).collect()
    }
}

impl Execute for List {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Loop>> {
        let collection = loops::open(tx)?;
        let parent = self.parent.as_ref().map(|parent| loops::find(tx, &collection, parent)).transpose()?;
        let issue = self.issue.as_ref().map(|issue| issues::find(cx, tx, issue)).transpose()?;
        let given = [
            ("loop_type", self.loop_type.map(|loop_type| loop_type.to_string())),
            ("status", self.status.map(|status| status.to_string())),
            ("parent_id", parent.map(|parent| parent.id.to_string())),
            ("issue_id", issue.map(|issue| issue.id.to_string())),
            ("holder", self.holder.clone()),
        ];
        let mut filters: Vec<Filter> =
            given.into_iter().filter_map(|(field, value)| Some(Filter::eq(field, value?))).collect();
        if !self.all {
            filters.push(Filter::is_null("archived_at"));
        }
        let mut order = Order::by("created_at").descending();
        if self.runnable {
            filters.push(Filter::is_not_null("runnable"));
            order = Order::by("runnable");
        }
        let limit = self.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        loops::select(tx, &collection, &Query { filters, order, limit, after: None })
    }
}

impl Execute for Show {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Loop> {
        loops::find(tx, &loops::open(tx)?, &self.id)
    }
}

impl Execute for Tree {
    fn execute(&self, _: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Branch>> {
        let collection = loops::open(tx)?;
        let root = loops::find(tx, &collection, &self.id)?;
        let mut children_of: HashMap<LoopId, Vec<Loop>> = HashMap::new();
        for child in loops::descendants(tx, &collection, &root.id)? {
            if let Some(parent) = child.parent_id.clone() {
                children_of.entry(parent).or_default().push(child);
            }
        }
        let mut branches = Vec::new();
        let mut stack = vec![(0, root)];
        while let Some((depth, node)) = stack.pop() {
            let mut children = children_of.remove(&node.id).unwrap_or_default();
            // The stack returns the last child first.
            children.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
            stack.extend(children.into_iter().map(|child| (depth + 1, child)));
            branches.push(Branch { depth, node });
        }
        Ok(branches)
    }
}

/// The new holder of a loop.
struct Runner<'r> {
    host: Option<&'r String>,
    pid: Option<i64>,
}

impl Runner<'_> {
    fn assign(&self, cx: &Context<'_>, subject: &mut Loop) -> Result<()> {
        if self.pid.is_some_and(|pid| pid < 1) {
            return Err(Error::invalid("the number of a process is 1 or more"));
        }
        subject.holder = Some(cx.actor.clone());
        subject.host = text::optional_line("host", self.host)?;
        subject.pid = self.pid;
        Ok(())
    }
}

impl Execute for Claim {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Option<Loop>> {
        let collection = loops::open(tx)?;
        let Some(old) = loops::next_runnable(tx, &collection, self.loop_type)? else { return Ok(None) };
        let mut new = old.clone();
        let event = apply(&mut new, LoopTransition::Start, cx.now)?.unwrap_or(EventType::LoopStatusChange);
        Runner { host: self.host.as_ref(), pid: self.pid }.assign(cx, &mut new)?;
        loops::save(cx, tx, &collection, Some(&old), new, event).map(Some)
    }
}

/// Fields set together with a transition.
#[derive(Default)]
struct LoopUpdate<'s> {
    reason: Option<&'s String>,
    progress: Option<&'s String>,
    outputs: &'s [String],
    runner: Option<Runner<'s>>,
}

/// Applies a transition to a loop and stores it with the other fields.
fn advance(cx: &Context<'_>, tx: &Tx<'_>, id: &LoopRef, step: LoopTransition, update: LoopUpdate<'_>) -> Result<Loop> {
    let collection = loops::open_to_write(tx)?;
    let old = loops::find(tx, &collection, id)?;
    if step == LoopTransition::Start && old.status == LoopStatus::Pending && old.runnable.is_none() {
        return Err(parent_incomplete(&old));
    }
    apply_transition(cx, tx, &collection, old, step, update)
}

fn parent_incomplete(subject: &Loop) -> Error {
    let parent = subject.parent_id.as_ref().map(LoopId::as_str).unwrap_or_default();
    Error::new(Code::InvalidStatusTransition, format!("cannot start {}: {parent} is not complete", subject.id))
        .hint(format!("pn loop complete {parent} or pn loop approve {parent} lets it run"))
}

fn apply_transition(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    collection: &Collection,
    old: Loop,
    step: LoopTransition,
    update: LoopUpdate<'_>,
) -> Result<Loop> {
    let mut new = old.clone();
    let Some(event) = apply(&mut new, step, cx.now)? else { return Ok(old) };
    if event == EventType::LoopStatusChange {
        new.reason = text::optional_block("reason", update.reason)?;
    }
    if let Some(progress) = update.progress {
        new.progress = text::block("progress", progress)?;
    }
    new.add_outputs(update.outputs)?;
    if let Some(runner) = update.runner {
        runner.assign(cx, &mut new)?;
    }
    let new = loops::save(cx, tx, collection, Some(&old), new, event)?;
    if new.status == LoopStatus::Complete && old.status != LoopStatus::Complete {
        loops::release_children(cx, tx, collection, &new)?;
    }
    Ok(new)
}

macro_rules! transitions {
    ($($op:ident $step:ident,)*) => {$(
        impl Execute for $op {
            fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Loop> {
                let update =
                    LoopUpdate { reason: self.reason.as_ref(), progress: self.progress.as_ref(), ..LoopUpdate::default() };
                advance(cx, tx, &self.id, LoopTransition::$step, update)
            }
        }
    )*};
}

transitions! {
    Pause Pause,
    Rebase Rebase,
    Reject Reject,
    Fail Fail,
}

macro_rules! transitions_with_runner {
    ($($op:ident $step:ident,)*) => {$(
        impl Execute for $op {
            fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Loop> {
                let runner = Some(Runner { host: self.host.as_ref(), pid: self.pid });
                let update =
                    LoopUpdate { reason: self.reason.as_ref(), progress: self.progress.as_ref(), runner, outputs: &[] };
                advance(cx, tx, &self.id, LoopTransition::$step, update)
            }
        }
    )*};
}

transitions_with_runner! {
    Start Start,
    Resume Resume,
}

macro_rules! transitions_with_outputs {
    ($($op:ident $step:ident,)*) => {$(
        impl Execute for $op {
            fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Loop> {
                let (reason, progress) = (self.reason.as_ref(), self.progress.as_ref());
                let update = LoopUpdate { reason, progress, outputs: &self.outputs, runner: None };
                advance(cx, tx, &self.id, LoopTransition::$step, update)
            }
        }
    )*};
}

transitions_with_outputs! {
    Submit Submit,
    Complete Complete,
}

impl Execute for Archive {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Loop> {
        let update =
            LoopUpdate { reason: self.reason.as_ref(), progress: self.progress.as_ref(), ..LoopUpdate::default() };
        let archived = advance(cx, tx, &self.id, LoopTransition::Archive, update)?;
        loop_dirs::archive(cx, &archived.id)?;
        Ok(archived)
    }
}

impl Execute for Iterate {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Iterated> {
        files::check(&self.files)?;
        let update = LoopUpdate { progress: self.progress.as_ref(), ..LoopUpdate::default() };
        let subject = advance(cx, tx, &self.id, LoopTransition::Iterate, update)?;
        // Last, so that a refused operation leaves no directory behind. If the transaction fails later, the next
        // attempt moves the directory away.
        let directory = loop_dirs::begin(cx, &subject, &self.files)?;
        let no_directory = directory.is_none().then(|| match self.files.len() {
            0 => "this server keeps no directories of loops".to_owned(),
            1 => "this server keeps no directories of loops; the file was not kept".to_owned(),
            many => format!("this server keeps no directories of loops; {many} files were not kept"),
        });
        let directory = directory.map(|directory| directory.display().to_string());
        Ok(Iterated { subject, directory, no_directory })
    }
}

impl Execute for ImportLoopFiles {
    fn execute(&self, cx: &Context<'_>, _: &Tx<'_>) -> Result<LoopFilesReport> {
        if self.parts.len() > files::MAX_FILES {
            let message =
                format!("{} parts of files at once are too many: at most {}", self.parts.len(), files::MAX_FILES);
            return Err(Error::new(Code::TooLarge, message));
        }
        let Some(store) = cx.own_files() else {
            let no_directory = Some("this server keeps no directories of loops".to_owned());
            return Ok(LoopFilesReport { outcomes: Vec::new(), no_directory });
        };
        let outcomes =
            self.parts.iter().map(|part| loop_dirs::import_part(store, self, part)).collect::<Result<_>>()?;
        if let Some(number) = &self.current {
            loop_dirs::import_current(store, self, number)?;
        }
        Ok(LoopFilesReport { outcomes, no_directory: None })
    }
}

impl Execute for Approve {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Approved> {
        if self.children.len() > MAX_CHILDREN {
            let message = format!("{} loops at once are too many: at most {MAX_CHILDREN}", self.children.len());
            return Err(Error::new(Code::TooLarge, message));
        }
        let update = LoopUpdate { reason: self.reason.as_ref(), ..LoopUpdate::default() };
        let subject = advance(cx, tx, &self.id, LoopTransition::Approve, update)?;
        let collection = loops::open_to_write(tx)?;
        let child = |(at, child): (usize, &Create)| {
            if let Some(parent) = &child.parent
                && loops::find(tx, &collection, parent)?.id != subject.id
            {
                return Err(Error::invalid(format!("child {} has another parent", at + 1)).hint("leave parent out"));
            }
            create(cx, tx, &collection, child, Some(&subject)).map_err(|e| e.within(format!("child {}", at + 1)))
        };
        let children = self.children.iter().enumerate().map(child).collect::<Result<Vec<Loop>>>()?;
        Ok(Approved { subject, children })
    }
}

impl Execute for Invalidate {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Invalidated> {
        let collection = loops::open_to_write(tx)?;
        let root = loops::find(tx, &collection, &self.id)?;
        let mut all = vec![root.clone()];
        all.extend(loops::descendants(tx, &collection, &root.id)?);
        let under_way = all.iter().filter(|one| one.status.is_under_way());
        let running: Vec<_> = under_way.map(|one| (RecipientKind::Loop, one.id.to_string())).collect();
        let mut invalidated = Vec::new();
        let mut subject = root.clone();
        for old in all {
            let status_before = old.status;
            let id = old.id.clone();
            let update = LoopUpdate { reason: self.reason.as_ref(), ..LoopUpdate::default() };
            let old = apply_transition(cx, tx, &collection, old, LoopTransition::Invalidate, update)?;
            let archived = apply_transition(cx, tx, &collection, old, LoopTransition::Archive, LoopUpdate::default())?;
            loop_dirs::archive(cx, &id)?;
            if status_before != LoopStatus::Invalidated {
                invalidated.push(id.clone());
            }
            if id == root.id {
                subject = archived;
            }
        }
        let signal = if running.is_empty() {
            None
        } else {
            Some(signal_invalidated(cx, tx, &root.id, self.reason.as_ref(), &running)?)
        };
        Ok(Invalidated { subject, invalidated, signal })
    }
}

/// Signals running loops that they were invalidated.
fn signal_invalidated(
    cx: &Context<'_>,
    tx: &Tx<'_>,
    root: &LoopId,
    reason: Option<&String>,
    to: &[signals::Recipient],
) -> Result<Signal> {
    let signal = Signal {
        id: signals::new_id(cx, tx)?,
        signal_type: SignalType::Invalidate,
        source_loop: Some(root.clone()),
        target_loop: None,
        target_agent: None,
        target_run: None,
        target_selector: Some(Target::Descendants(root.into()).to_string()),
        reason: text::optional_block("reason", reason)?.unwrap_or_default(),
        payload: None,
        actor: cx.actor.clone(),
        recipient_count: 0,
        acknowledged_count: 0,
        created_at: cx.now,
        acknowledged_at: None,
    };
    signals::send(cx, tx, signal, to)
}
