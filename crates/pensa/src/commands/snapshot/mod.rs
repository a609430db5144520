//! `pn snapshot`: takes, verifies, restores and deletes snapshots of work trees on this machine.
//!
//! A record is created after its content and deleted before it, so that no record is ever without content. A kill between
//! the two leaves a note (see [`note`]), and the next snapshot command on this machine finishes the work. A killed restore
//! has left its safety snapshot, and can be repeated. `pensa-snapshot` stores the contents.

mod args;
mod note;
mod render;

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};

use args::{SnapshotCreateArgs, SnapshotDeleteArgs};
use pensa_client::Client;
use pensa_client::config::SNAPSHOT_PROVIDER;
use pensa_core::id::{RepoRef, SnapshotId, SnapshotRef};
use pensa_core::ops::snapshot::{Create, Delete, Deleted, List, Restore, Show};
use pensa_core::ops::store::Info;
use pensa_core::ops::{repo, run as runs};
use pensa_core::repo::{RepoLocation, Vcs};
use pensa_core::retention::old_snapshots;
use pensa_core::snapshot::{Provider, Snapshot as SnapshotRecord, SnapshotKind};
use pensa_core::{Code, Error, Result, Timestamp, text};
use pensa_host::{self as host, DetectedTree};
use pensa_snapshot::{SnapshotData, SnapshotDirs};
use serde::Serialize;

use self::note::{ContentId, ContentNote, Origins};
use super::agent::run_agent_op;
use crate::cli::GlobalOptions;
use crate::connect::{self, StateLocation};
use crate::output::Output;

pub(crate) use args::SnapshotCommand;

/// The result of `pn snapshot verify`.
#[derive(Debug, Serialize)]
pub(crate) struct VerifiedSnapshot {
    pub(crate) id: SnapshotId,
    pub(crate) ok: bool,
    pub(crate) files: u64,
    pub(crate) problems: Vec<String>,
}

/// The result of `pn snapshot restore`.
#[derive(Debug, Serialize)]
pub(crate) struct RestoredSnapshot {
    /// Always `restored`
    pub(crate) status: &'static str,
    pub(crate) id: SnapshotId,
    /// The snapshot of the previous state
    pub(crate) safety_id: SnapshotId,
    pub(crate) written: u64,
    pub(crate) removed: u64,
    pub(crate) kept: u64,
}

pub(super) fn run(options: &GlobalOptions, output: Output, command: SnapshotCommand) -> Result<()> {
    match command {
        SnapshotCommand::List(op) => run_agent_op(options, output, &op),
        SnapshotCommand::Show(op) => run_agent_op(options, output, &op),
        SnapshotCommand::Create(mut args) => {
            if args.provider.is_none() {
                args.provider = connect::config(options)?.parsed(&SNAPSHOT_PROVIDER)?;
            }
            output.answer(&SnapshotContext::open(options, output)?.create(args)?)
        }
        SnapshotCommand::Verify(args) => {
            let verified = SnapshotContext::open(options, output)?.verify(&args.id)?;
            output.answer(&verified)?;
            if verified.ok { Ok(()) } else { Err(damaged(&verified)) }
        }
        SnapshotCommand::Restore(args) => output.answer(&SnapshotContext::open(options, output)?.restore(&args.id)?),
        SnapshotCommand::Delete(args) => output.answer(&SnapshotContext::open(options, output)?.delete(&args)?),
    }
}

fn damaged(verified: &VerifiedSnapshot) -> Error {
    Error::new(Code::Corrupt, format!("{} is not what was taken", verified.id))
        .hint("pn snapshot list shows others of the same tree")
}

/// The contents of snapshots on this machine, and the store with their records.
pub(super) struct SnapshotContext {
    output: Output,
    pub(super) client: Client,
    /// The directory of contents and notes
    data: PathBuf,
    host: String,
}

/// A snapshot to take.
struct SnapshotPlan<'o> {
    kind: SnapshotKind,
    provider: Provider,
    tree: &'o Path,
    repo: Option<RepoRef>,
    seen: Option<RepoLocation>,
    run: Option<pensa_core::id::RunRef>,
    label: Option<String>,
    parent: Option<SnapshotRecord>,
    /// The snapshot that will be restored next, if this is its safety snapshot
    about_to_restore: Option<&'o SnapshotRecord>,
}

impl SnapshotContext {
    fn open(options: &GlobalOptions, output: Output) -> Result<Self> {
        let home = StateLocation::of(options)?;
        let context = Self::at(home.client(options)?, home.private_dir("snapshots")?, output);
        context.finish_interrupted();
        Ok(context)
    }

    /// Uses the contents in `data`.
    pub(super) fn at(client: Client, data: PathBuf, output: Output) -> Self {
        Self { output, client, data, host: host::name() }
    }

    /// Deletes automatic snapshots from before `until` that are no longer needed; with `dry_run` only counts them.
    pub(super) fn collect(&self, until: Timestamp, dry_run: bool) -> Result<i64> {
        let all = self.client.call(&List { host: Some(self.host.clone()), ..List::default() })?;
        let mut over = HashSet::new();
        for run in all.iter().filter_map(|snapshot| snapshot.run_id.as_ref()).collect::<HashSet<_>>() {
            let is_over = match self.client.call(&runs::Show { id: run.as_str().parse()? }) {
                Ok(run) => run.status.is_over(),
                Err(e) if e.code == Code::NotFound => true,
                Err(e) => return Err(e),
            };
            if is_over {
                over.insert(run.clone());
            }
        }
        let old = old_snapshots(&all, |run| over.contains(run), until);
        let mut gone = 0;
        for id in old {
            if !dry_run && let Err(e) = self.delete(&SnapshotDeleteArgs { id: (&id).into(), record_only: false }) {
                self.output.warning(&format!("{id} was not deleted: {}", e.message));
                continue;
            }
            gone += 1;
        }
        Ok(gone)
    }

    /// Finishes interrupted work. What fails now is left to the next command.
    fn finish_interrupted(&self) {
        let mut store_id = None;
        for mut note in ContentNote::take_abandoned(&self.data) {
            let Some(content) = note.content_id() else {
                note.done();
                continue;
            };
            let Ok(ours) = store_id.take().map_or_else(|| self.store_id(), Ok) else { return };
            let is_ours = content.store_id == ours && content.host == self.host;
            store_id = Some(ours);
            if !is_ours {
                continue;
            }
            match self.client.call(&Show { id: (&content.id).into() }) {
                Ok(_) => note.done(),
                Err(e) if e.code == Code::NotFound => match self.delete_content(&content) {
                    Ok(()) => note.done(),
                    Err(e) => self.output.warning(&format!("{} could not be cleared away: {}", content.id, e.message)),
                },
                Err(_) => return,
            }
        }
    }

    fn store_id(&self) -> Result<String> {
        Ok(self.client.call(&Info {})?.store_id)
    }

    fn create(&self, args: SnapshotCreateArgs) -> Result<SnapshotRecord> {
        let SnapshotCreateArgs { run, provider, label, parent, repo } = args;
        let label = text::optional_line("label", label.as_ref())?;
        if let Some(run) = &run {
            self.client.call(&runs::Show { id: run.clone() })?;
        }
        let DetectedTree { repo: seen, tree } = match &repo {
            Some(repo) => self.tree_of(repo)?,
            None => host::detect_tree(&connect::cwd()?)?,
        };
        // Checked first, so that no content is taken that cannot be recorded.
        seen.checked()?;
        text::line("the path of the tree", &utf8(&tree)?)?;
        let provider = choose(provider, seen.vcs, &tree)?;
        let parent = match parent {
            Some(id) => Some(self.client.call(&Show { id })?),
            None => self.newest(&tree, provider)?,
        };
        let seen = repo.is_none().then_some(seen);
        self.take_snapshot(&SnapshotPlan {
            kind: SnapshotKind::Manual,
            provider,
            tree: &tree,
            repo,
            seen,
            run,
            label,
            parent,
            about_to_restore: None,
        })
    }

    /// The work tree of a known repository. The record may name any directory, so it must be the root of a repository.
    fn tree_of(&self, id: &RepoRef) -> Result<DetectedTree> {
        let repo = self.client.call(&repo::Show { id: id.clone() })?;
        let Some(root) = repo.root_path.filter(|_| repo.host.as_ref() == Some(&self.host)) else {
            return Err(Error::new(Code::Unsupported, format!("{} is not on this machine", repo.id))
                .hint("a snapshot is taken where the files are"));
        };
        let tree = host::detect_tree(Path::new(&root))?;
        if tree.repo.root_path.as_ref() == Some(&root) {
            return Ok(tree);
        }
        Err(Error::new(Code::NoRepo, format!("{root} is not the root of a repository"))
            .hint("run this command in the repository, without --repo"))
    }

    /// The newest snapshot of a tree on this machine.
    fn newest(&self, tree: &Path, provider: Provider) -> Result<Option<SnapshotRecord>> {
        let list = List {
            provider: Some(provider),
            host: Some(self.host.clone()),
            root: Some(utf8(tree)?),
            limit: Some(1),
            ..List::default()
        };
        Ok(self.client.call(&list)?.pop())
    }

    /// Takes a snapshot: writes a note, the content and the record, then deletes the note.
    fn take_snapshot(&self, plan: &SnapshotPlan<'_>) -> Result<SnapshotRecord> {
        let (content, note) = self.begin(plan)?;
        let place = SnapshotDirs { root: plan.tree, data: &self.data, id: content.id.as_str() };
        let [parent, about_to_restore] =
            [plan.parent.as_ref(), plan.about_to_restore].map(|it| it.map(|it| self.taken(it)));
        let taken = match pensa_snapshot::create(plan.provider, &place, parent.as_ref(), about_to_restore.as_ref()) {
            Ok(taken) => taken,
            Err(error) => {
                self.origins().remove(&content.id);
                note.done();
                return Err(error);
            }
        };
        match self.client.call(&create_op(plan, &content, taken)?) {
            Ok(record) => {
                note.done();
                Ok(record)
            }
            Err(error) => {
                if is_not_recorded(error.code) && self.delete_content(&content).is_ok() {
                    note.done();
                }
                Err(error)
            }
        }
    }

    /// Finds an unused id and writes a note.
    fn begin(&self, plan: &SnapshotPlan<'_>) -> Result<(ContentId, ContentNote)> {
        let store_id = self.store_id()?;
        loop {
            let content = ContentId {
                id: new_id()?,
                store_id: store_id.clone(),
                host: self.host.clone(),
                provider: plan.provider,
                root: utf8(plan.tree)?,
                repo_root: plan.seen.as_ref().and_then(|seen| seen.root_path.clone()),
            };
            if let Some(note) = ContentNote::create(&self.data, &content)? {
                self.origins().add(&content)?;
                return Ok((content, note));
            }
        }
    }

    /// Describes a content for `pensa-snapshot`. Its path comes from this machine; the path in the record is not used.
    fn taken(&self, record: &SnapshotRecord) -> SnapshotData {
        let path = record.path.as_ref().map(|_| self.data.join(record.id.as_str()));
        SnapshotData { reference: record.reference.clone(), path, metadata: record.metadata.clone() }
    }

    /// A snapshot whose content is on this machine.
    fn find(&self, id: &SnapshotRef) -> Result<SnapshotRecord> {
        let record = self.client.call(&Show { id: id.clone() })?;
        if record.host == self.host {
            return Ok(record);
        }
        let message = format!("{} was taken on {}, and this is {}", record.id, record.host, self.host);
        Err(Error::new(Code::Unsupported, message).hint("run this command there"))
    }

    fn verify(&self, id: &SnapshotRef) -> Result<VerifiedSnapshot> {
        let record = self.find(id)?;
        let content = self.content_id(&record)?;
        let root = content.existing_root();
        let place = SnapshotDirs { root: &root, data: &self.data, id: record.id.as_str() };
        let mut proof = pensa_snapshot::verify(record.provider, &place, &self.taken(&record))?;
        if let Some(problem) = self.broken_chain(&record)? {
            proof.ok = false;
            proof.problems.push(problem);
        }
        Ok(VerifiedSnapshot { id: record.id, ok: proof.ok, files: proof.files, problems: proof.problems })
    }

    /// A problem if content and record name different parents.
    fn broken_chain(&self, record: &SnapshotRecord) -> Result<Option<String>> {
        let Some(parent) = &record.parent_id else { return Ok(None) };
        let parent = self.client.call(&Show { id: parent.into() })?;
        let name = if record.provider == Provider::Git { "commit" } else { "digest" };
        let is_same = record.metadata.get("parent") == parent.metadata.get(name);
        Ok((!is_same).then(|| format!("it was taken after another snapshot than {}", parent.id)))
    }

    fn restore(&self, id: &SnapshotRef) -> Result<RestoredSnapshot> {
        let record = self.find(id)?;
        let DetectedTree { tree, repo: seen } = host::detect_tree(&connect::cwd()?)?;
        // Anybody may have written the record, so only the current work tree is replaced.
        if Path::new(&record.root) != tree {
            let message = format!("{} is of {}, and this is {}", record.id, record.root, tree.display());
            return Err(Error::invalid(message).hint("run this command in the tree that is to be restored"));
        }
        let safety = self.take_snapshot(&SnapshotPlan {
            kind: SnapshotKind::Safety,
            provider: record.provider,
            tree: &tree,
            repo: None,
            seen: Some(seen),
            run: None,
            label: Some(format!("before {} was restored", record.id)),
            parent: self.newest(&tree, record.provider)?,
            about_to_restore: Some(&record),
        })?;
        let place = SnapshotDirs { root: &tree, data: &self.data, id: record.id.as_str() };
        let done = pensa_snapshot::restore(record.provider, &place, &self.taken(&record)).map_err(|error| {
            let hint = format!("pn snapshot restore {} brings back what was there", safety.id);
            let hint = error.hint.as_ref().map_or_else(|| hint.clone(), |old| format!("{old}; {hint}"));
            error.hint(hint)
        })?;
        let op = Restore { id: (&record.id).into(), safety: (&safety.id).into() };
        if let Err(e) = self.client.call(&op) {
            self.output.warning(&format!("that {} was restored is not recorded: {}", record.id, e.message));
        }
        let pensa_snapshot::RestoreCounts { written, removed, kept } = done;
        Ok(RestoredSnapshot { status: "restored", id: record.id, safety_id: safety.id, written, removed, kept })
    }

    fn delete(&self, args: &SnapshotDeleteArgs) -> Result<Deleted> {
        if args.record_only {
            return self.forget(&args.id);
        }
        let record = self.find(&args.id).map_err(|error| match error.code {
            Code::Unsupported => error.hint("run this command there, or forget it with --record-only"),
            _ => error,
        })?;
        let content = self.content_id(&record)?;
        let busy = || Error::new(Code::Busy, format!("somebody is at work on {}", record.id)).hint("try again");
        let note = ContentNote::create(&self.data, &content)?.ok_or_else(busy)?;
        let deleted = match self.client.call(&Delete { id: (&record.id).into() }) {
            Ok(deleted) => deleted,
            Err(error) => {
                if is_not_recorded(error.code) {
                    note.done();
                }
                return Err(error);
            }
        };
        self.delete_content(&content)?;
        note.done();
        Ok(deleted)
    }

    /// Deletes the record of a snapshot on another machine.
    fn forget(&self, id: &SnapshotRef) -> Result<Deleted> {
        let record = self.client.call(&Show { id: id.clone() })?;
        if record.host == self.host {
            return Err(Error::invalid(format!("the content of {} is on this machine", record.id))
                .hint("leave out --record-only, so that it is deleted too"));
        }
        self.client.call(&Delete { id: (&record.id).into() })
    }

    /// What this machine knows of a content. The tree in the record is used only if the content is in our own directory, or
    /// if the caller is in that tree.
    fn content_id(&self, record: &SnapshotRecord) -> Result<ContentId> {
        let store_id = self.store_id()?;
        match self.origins().get(&record.id) {
            Some(content) if content.store_id == store_id && content.provider == record.provider => return Ok(content),
            Some(_) => return Err(self.unknown(record)),
            None => {}
        }
        let is_elsewhere = matches!(record.provider, Provider::Git | Provider::Zfs);
        let host = || host::detect_tree(&connect::cwd()?);
        let repo_root = match is_elsewhere.then(host).transpose() {
            Ok(None) => None,
            Ok(Some(DetectedTree { tree, repo: seen })) if tree == Path::new(&record.root) => seen.root_path,
            _ => return Err(self.unknown(record)),
        };
        let (id, host, root) = (record.id.clone(), record.host.clone(), record.root.clone());
        Ok(ContentId { id, store_id, host, provider: record.provider, root, repo_root })
    }

    fn unknown(&self, record: &SnapshotRecord) -> Error {
        let message = format!("only its record says that {} was taken in {}", record.id, record.root);
        Error::new(Code::Unsupported, message).hint("run this command in that tree")
    }

    fn origins(&self) -> Origins {
        Origins::next_to(&self.data)
    }

    fn delete_content(&self, content: &ContentId) -> Result<()> {
        let root = content.existing_root();
        pensa_snapshot::delete(
            content.provider,
            &SnapshotDirs { root: &root, data: &self.data, id: content.id.as_str() },
        )?;
        self.origins().remove(&content.id);
        Ok(())
    }
}

impl ContentId {
    /// The tree, or if it is gone the main work tree of its repository: both have the same git objects.
    fn existing_root(&self) -> PathBuf {
        let roots = [Some(&self.root), self.repo_root.as_ref()].into_iter().flatten().map(PathBuf::from);
        roots.into_iter().find(|root| root.is_dir()).unwrap_or_else(|| PathBuf::from(&self.root))
    }
}

/// The given provider, else the one that suits the tree.
fn choose(given: Option<Provider>, vcs: Vcs, tree: &Path) -> Result<Provider> {
    let provider = given.map_or_else(|| pensa_snapshot::detect(tree), Ok)?;
    // A repository of another kind may be inside a git work tree; git would take a snapshot of the outer one.
    match (provider, vcs) {
        (Provider::Git, Vcs::Git) => Ok(provider),
        (Provider::Git, other) if given.is_some() => {
            Err(Error::new(Code::Unsupported, format!("{} is a repository of {other}, not of git", tree.display()))
                .hint("use the provider copy"))
        }
        (Provider::Git, _) => Ok(Provider::Copy),
        _ => Ok(provider),
    }
}

fn create_op(plan: &SnapshotPlan<'_>, content: &ContentId, taken: SnapshotData) -> Result<Create> {
    Ok(Create {
        id: Some(content.id.clone()),
        kind: plan.kind,
        provider: plan.provider,
        repo: plan.repo.clone(),
        seen: plan.seen.clone(),
        run: plan.run.clone(),
        host: content.host.clone(),
        root: content.root.clone(),
        reference: taken.reference,
        path: taken.path.as_deref().map(utf8).transpose()?,
        parent: plan.parent.as_ref().map(|parent| (&parent.id).into()),
        label: plan.label.clone(),
        metadata: taken.metadata,
    })
}

/// Whether an error proves that nothing was recorded.
fn is_not_recorded(code: Code) -> bool {
    !matches!(code, Code::Unreachable | Code::Timeout | Code::Internal | Code::Corrupt)
}

fn utf8(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| Error::invalid(format!("not UTF-8: {}", path.display())))?;
    Ok(text.to_owned())
}

fn new_id() -> Result<SnapshotId> {
    format!("{}{:08x}", SnapshotId::PREFIX, RandomState::new().build_hasher().finish() >> 32).parse()
}
