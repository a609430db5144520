//! `pn snapshot`: contents are taken, proved, restored and deleted on this machine; records are passed on.
//!
//! A record is made after its content and deleted before it, so that none is ever without one. A kill between the two
//! leaves a note (see [`note`]), and the next of these commands on this machine ends the work. A restore that is killed
//! has left its safety snapshot, and can be done again. How contents are kept is left to `pensa-snapshot`.

mod note;

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};

use pensa_client::Client;
use pensa_client::config::SNAPSHOT_PROVIDER;
use pensa_core::id::{RepoRef, SnapshotId, SnapshotRef};
use pensa_core::ops::snapshot::{Create, Delete, Deleted, List, Restore, Show};
use pensa_core::ops::store::Info;
use pensa_core::ops::{repo, run as runs};
use pensa_core::repo::{Seen, Vcs};
use pensa_core::retention::old_snapshots;
use pensa_core::snapshot::{Provider, Snapshot as Record, SnapshotKind};
use pensa_core::{Code, Error, Result, Timestamp, text};
use pensa_host::{self as host, Tree};
use pensa_snapshot::{Place, Taken};
use serde::Serialize;

use self::note::{About, Note, Origins};
use super::agent::pass_on;
use crate::cli::{Options, Snapshot, SnapshotCreate, SnapshotDelete};
use crate::connect::{self, Home};
use crate::output::Output;

/// What looking at every byte of a snapshot showed.
#[derive(Debug, Serialize)]
pub(crate) struct Verified {
    pub(crate) id: SnapshotId,
    pub(crate) ok: bool,
    pub(crate) files: u64,
    pub(crate) problems: Vec<String>,
}

/// What a restore did.
#[derive(Debug, Serialize)]
pub(crate) struct Restored {
    /// Always `restored`
    pub(crate) status: &'static str,
    pub(crate) id: SnapshotId,
    /// The snapshot of what was there before
    pub(crate) safety_id: SnapshotId,
    pub(crate) written: u64,
    pub(crate) removed: u64,
    pub(crate) kept: u64,
}

pub(super) fn run(options: &Options, output: Output, command: Snapshot) -> Result<()> {
    match command {
        Snapshot::List(op) => pass_on(options, output, &op),
        Snapshot::Show(op) => pass_on(options, output, &op),
        Snapshot::Create(mut args) => {
            if args.provider.is_none() {
                args.provider = connect::config(options)?.parsed(&SNAPSHOT_PROVIDER)?;
            }
            output.answer(&Desk::open(options, output)?.create(args)?)
        }
        Snapshot::Verify(args) => {
            let verified = Desk::open(options, output)?.verify(&args.id)?;
            output.answer(&verified)?;
            if verified.ok { Ok(()) } else { Err(damaged(&verified)) }
        }
        Snapshot::Restore(args) => output.answer(&Desk::open(options, output)?.restore(&args.id)?),
        Snapshot::Delete(args) => output.answer(&Desk::open(options, output)?.delete(&args)?),
    }
}

fn damaged(verified: &Verified) -> Error {
    Error::new(Code::Corrupt, format!("{} is not what was taken", verified.id))
        .hint("pn snapshot list shows others of the same tree")
}

/// What the work on contents needs.
pub(super) struct Desk {
    output: Output,
    pub(super) client: Client,
    /// Where contents and notes are kept
    data: PathBuf,
    here: String,
}

/// A snapshot that is to be taken.
struct Order<'o> {
    kind: SnapshotKind,
    provider: Provider,
    tree: &'o Path,
    repo: Option<RepoRef>,
    seen: Option<Seen>,
    run: Option<pensa_core::id::RunRef>,
    label: Option<String>,
    parent: Option<Record>,
    /// The one that is going to be restored
    covering: Option<&'o Record>,
}

impl Desk {
    fn open(options: &Options, output: Output) -> Result<Self> {
        let home = Home::of(options)?;
        let desk = Self::at(home.client(options)?, home.private_dir("snapshots")?, output);
        desk.settle();
        Ok(desk)
    }

    /// One for the contents in a directory.
    pub(super) fn at(client: Client, data: PathBuf, output: Output) -> Self {
        Self { output, client, data, here: host::name() }
    }

    /// Deletes what was taken automatically before `until` and is no longer needed, or counts it.
    pub(super) fn collect(&self, until: Timestamp, dry_run: bool) -> Result<i64> {
        let all = self.client.call(&List { host: Some(self.here.clone()), ..List::default() })?;
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
            if !dry_run && let Err(e) = self.delete(&SnapshotDelete { id: (&id).into(), record_only: false }) {
                self.output.warning(&format!("{id} was not deleted: {}", e.message));
                continue;
            }
            gone += 1;
        }
        Ok(gone)
    }

    /// Ends what was stopped on the way. What cannot be ended now waits for the next command.
    fn settle(&self) {
        let mut store_id = None;
        for mut note in Note::left_behind(&self.data) {
            let Some(about) = note.about() else {
                note.done();
                continue;
            };
            let Ok(ours) = store_id.take().map_or_else(|| self.store_id(), Ok) else { return };
            let is_ours = about.store_id == ours && about.host == self.here;
            store_id = Some(ours);
            if !is_ours {
                continue;
            }
            match self.client.call(&Show { id: (&about.id).into() }) {
                Ok(_) => note.done(),
                Err(e) if e.code == Code::NotFound => match self.delete_content(&about) {
                    Ok(()) => note.done(),
                    Err(e) => self.output.warning(&format!("{} could not be cleared away: {}", about.id, e.message)),
                },
                Err(_) => return,
            }
        }
    }

    fn store_id(&self) -> Result<String> {
        Ok(self.client.call(&Info {})?.store_id)
    }

    fn create(&self, args: SnapshotCreate) -> Result<Record> {
        let SnapshotCreate { run, provider, label, parent, repo } = args;
        let label = text::optional_line("label", label.as_ref())?;
        if let Some(run) = &run {
            self.client.call(&runs::Show { id: run.clone() })?;
        }
        let Tree { seen, tree } = match &repo {
            Some(repo) => self.tree_of(repo)?,
            None => host::detect_tree(&connect::cwd()?)?,
        };
        // What could not be recorded is not taken either.
        seen.checked()?;
        text::line("the path of the tree", &utf8(&tree)?)?;
        let provider = choose(provider, seen.vcs, &tree)?;
        let parent = match parent {
            Some(id) => Some(self.client.call(&Show { id })?),
            None => self.newest(&tree, provider)?,
        };
        let seen = repo.is_none().then_some(seen);
        self.take(&Order {
            kind: SnapshotKind::Manual,
            provider,
            tree: &tree,
            repo,
            seen,
            run,
            label,
            parent,
            covering: None,
        })
    }

    /// The work tree of a repository that is known. A record may name any directory; only the root of one is taken.
    fn tree_of(&self, wanted: &RepoRef) -> Result<Tree> {
        let repo = self.client.call(&repo::Show { id: wanted.clone() })?;
        let Some(root) = repo.root_path.filter(|_| repo.host.as_ref() == Some(&self.here)) else {
            return Err(Error::new(Code::Unsupported, format!("{} is not on this machine", repo.id))
                .hint("a snapshot is taken where the files are"));
        };
        let tree = host::detect_tree(Path::new(&root))?;
        if tree.seen.root_path.as_ref() == Some(&root) {
            return Ok(tree);
        }
        Err(Error::new(Code::NoRepo, format!("{root} is not the root of a repository"))
            .hint("run this command in the repository, without --repo"))
    }

    /// The last snapshot of a tree on this machine.
    fn newest(&self, tree: &Path, provider: Provider) -> Result<Option<Record>> {
        let list = List {
            provider: Some(provider),
            host: Some(self.here.clone()),
            root: Some(utf8(tree)?),
            limit: Some(1),
            ..List::default()
        };
        Ok(self.client.call(&list)?.pop())
    }

    /// Takes a snapshot: a note, the content, the record, and the note goes.
    fn take(&self, order: &Order<'_>) -> Result<Record> {
        let (about, note) = self.begin(order)?;
        let place = Place { root: order.tree, data: &self.data, id: about.id.as_str() };
        let [parent, covering] = [order.parent.as_ref(), order.covering].map(|it| it.map(|it| self.taken(it)));
        let taken = match pensa_snapshot::create(order.provider, &place, parent.as_ref(), covering.as_ref()) {
            Ok(taken) => taken,
            Err(error) => {
                self.origins().remove(&about.id);
                note.done();
                return Err(error);
            }
        };
        match self.client.call(&created(order, &about, taken)?) {
            Ok(record) => {
                note.done();
                Ok(record)
            }
            Err(error) => {
                if is_certain(error.code) && self.delete_content(&about).is_ok() {
                    note.done();
                }
                Err(error)
            }
        }
    }

    /// Finds a name that no content has, and leaves a note.
    fn begin(&self, order: &Order<'_>) -> Result<(About, Note)> {
        let store_id = self.store_id()?;
        loop {
            let about = About {
                id: new_id()?,
                store_id: store_id.clone(),
                host: self.here.clone(),
                provider: order.provider,
                root: utf8(order.tree)?,
                repo_root: order.seen.as_ref().and_then(|seen| seen.root_path.clone()),
            };
            if let Some(note) = Note::leave(&self.data, &about)? {
                self.origins().add(&about)?;
                return Ok((about, note));
            }
        }
    }

    /// What is known of a content. Where it is kept is for us to say, not for the record.
    fn taken(&self, record: &Record) -> Taken {
        let path = record.path.as_ref().map(|_| self.data.join(record.id.as_str()));
        Taken { reference: record.reference.clone(), path, metadata: record.metadata.clone() }
    }

    /// A snapshot whose content is on this machine.
    fn find(&self, id: &SnapshotRef) -> Result<Record> {
        let record = self.client.call(&Show { id: id.clone() })?;
        if record.host == self.here {
            return Ok(record);
        }
        let message = format!("{} was taken on {}, and this is {}", record.id, record.host, self.here);
        Err(Error::new(Code::Unsupported, message).hint("run this command there"))
    }

    fn verify(&self, id: &SnapshotRef) -> Result<Verified> {
        let record = self.find(id)?;
        let about = self.about(&record)?;
        let root = about.somewhere();
        let place = Place { root: &root, data: &self.data, id: record.id.as_str() };
        let mut proof = pensa_snapshot::verify(record.provider, &place, &self.taken(&record))?;
        if let Some(problem) = self.broken_chain(&record)? {
            proof.ok = false;
            proof.problems.push(problem);
        }
        Ok(Verified { id: record.id, ok: proof.ok, files: proof.files, problems: proof.problems })
    }

    /// Whether the content says that it came after another than the record says.
    fn broken_chain(&self, record: &Record) -> Result<Option<String>> {
        let Some(parent) = &record.parent_id else { return Ok(None) };
        let parent = self.client.call(&Show { id: parent.into() })?;
        let name = if record.provider == Provider::Git { "commit" } else { "digest" };
        let is_same = record.metadata.get("parent") == parent.metadata.get(name);
        Ok((!is_same).then(|| format!("it was taken after another snapshot than {}", parent.id)))
    }

    fn restore(&self, id: &SnapshotRef) -> Result<Restored> {
        let record = self.find(id)?;
        let Tree { tree, seen } = host::detect_tree(&connect::cwd()?)?;
        // A record may come from anybody; which files are replaced is for whoever stands there to say.
        if Path::new(&record.root) != tree {
            let message = format!("{} is of {}, and this is {}", record.id, record.root, tree.display());
            return Err(Error::invalid(message).hint("run this command in the tree that is to be restored"));
        }
        let safety = self.take(&Order {
            kind: SnapshotKind::Safety,
            provider: record.provider,
            tree: &tree,
            repo: None,
            seen: Some(seen),
            run: None,
            label: Some(format!("before {} was restored", record.id)),
            parent: self.newest(&tree, record.provider)?,
            covering: Some(&record),
        })?;
        let place = Place { root: &tree, data: &self.data, id: record.id.as_str() };
        let done = pensa_snapshot::restore(record.provider, &place, &self.taken(&record)).map_err(|error| {
            let hint = format!("pn snapshot restore {} brings back what was there", safety.id);
            let told = error.hint.as_ref().map_or_else(|| hint.clone(), |known| format!("{known}; {hint}"));
            error.hint(told)
        })?;
        let op = Restore { id: (&record.id).into(), safety: (&safety.id).into() };
        if let Err(e) = self.client.call(&op) {
            self.output.warning(&format!("that {} was restored is not recorded: {}", record.id, e.message));
        }
        let pensa_snapshot::Restored { written, removed, kept } = done;
        Ok(Restored { status: "restored", id: record.id, safety_id: safety.id, written, removed, kept })
    }

    fn delete(&self, args: &SnapshotDelete) -> Result<Deleted> {
        if args.record_only {
            return self.forget(&args.id);
        }
        let record = self.find(&args.id).map_err(|error| match error.code {
            Code::Unsupported => error.hint("run this command there, or forget it with --record-only"),
            _ => error,
        })?;
        let about = self.about(&record)?;
        let busy = || Error::new(Code::Busy, format!("somebody is at work on {}", record.id)).hint("try again");
        let note = Note::leave(&self.data, &about)?.ok_or_else(busy)?;
        let deleted = match self.client.call(&Delete { id: (&record.id).into() }) {
            Ok(deleted) => deleted,
            Err(error) => {
                if is_certain(error.code) {
                    note.done();
                }
                return Err(error);
            }
        };
        self.delete_content(&about)?;
        note.done();
        Ok(deleted)
    }

    /// Forgets a snapshot whose content is out of reach.
    fn forget(&self, id: &SnapshotRef) -> Result<Deleted> {
        let record = self.client.call(&Show { id: id.clone() })?;
        if record.host == self.here {
            return Err(Error::invalid(format!("the content of {} is on this machine", record.id))
                .hint("leave out --record-only, so that it is deleted too"));
        }
        self.client.call(&Delete { id: (&record.id).into() })
    }

    /// What this machine knows of a content. Where the record says that it was taken is believed only for contents that
    /// lie among our own files, or if that is where the caller stands.
    fn about(&self, record: &Record) -> Result<About> {
        let store_id = self.store_id()?;
        match self.origins().get(&record.id) {
            Some(about) if about.store_id == store_id && about.provider == record.provider => return Ok(about),
            Some(_) => return Err(self.unknown(record)),
            None => {}
        }
        let is_elsewhere = matches!(record.provider, Provider::Git | Provider::Zfs);
        let here = || host::detect_tree(&connect::cwd()?);
        let repo_root = match is_elsewhere.then(here).transpose() {
            Ok(None) => None,
            Ok(Some(Tree { tree, seen })) if tree == Path::new(&record.root) => seen.root_path,
            _ => return Err(self.unknown(record)),
        };
        let (id, host, root) = (record.id.clone(), record.host.clone(), record.root.clone());
        Ok(About { id, store_id, host, provider: record.provider, root, repo_root })
    }

    fn unknown(&self, record: &Record) -> Error {
        let message = format!("that {} was taken in {} is known from its record only", record.id, record.root);
        Error::new(Code::Unsupported, message).hint("run this command in that tree")
    }

    fn origins(&self) -> Origins {
        Origins::beside(&self.data)
    }

    fn delete_content(&self, about: &About) -> Result<()> {
        let root = about.somewhere();
        pensa_snapshot::delete(about.provider, &Place { root: &root, data: &self.data, id: about.id.as_str() })?;
        self.origins().remove(&about.id);
        Ok(())
    }
}

impl About {
    /// The tree, or the main work tree of its repository if it is gone: git keeps their contents in one place.
    fn somewhere(&self) -> PathBuf {
        let roots = [Some(&self.root), self.repo_root.as_ref()].into_iter().flatten().map(PathBuf::from);
        roots.into_iter().find(|root| root.is_dir()).unwrap_or_else(|| PathBuf::from(&self.root))
    }
}

/// The provider that is asked for, else the one that suits the tree.
fn choose(asked: Option<Provider>, vcs: Vcs, tree: &Path) -> Result<Provider> {
    let provider = asked.map_or_else(|| pensa_snapshot::detect(tree), Ok)?;
    // A repository of another kind may lie in a work tree of git, which is not what is meant.
    match (provider, vcs) {
        (Provider::Git, Vcs::Git) => Ok(provider),
        (Provider::Git, other) if asked.is_some() => {
            Err(Error::new(Code::Unsupported, format!("{} is a repository of {other}, not of git", tree.display()))
                .hint("use the provider copy"))
        }
        (Provider::Git, _) => Ok(Provider::Copy),
        _ => Ok(provider),
    }
}

fn created(order: &Order<'_>, about: &About, taken: Taken) -> Result<Create> {
    Ok(Create {
        id: Some(about.id.clone()),
        kind: order.kind,
        provider: order.provider,
        repo: order.repo.clone(),
        seen: order.seen.clone(),
        run: order.run.clone(),
        host: about.host.clone(),
        root: about.root.clone(),
        reference: taken.reference,
        path: taken.path.as_deref().map(utf8).transpose()?,
        parent: order.parent.as_ref().map(|parent| (&parent.id).into()),
        label: order.label.clone(),
        metadata: taken.metadata,
    })
}

/// Whether an error says for certain that nothing was recorded.
fn is_certain(code: Code) -> bool {
    !matches!(code, Code::Unreachable | Code::Timeout | Code::Internal | Code::Corrupt)
}

fn utf8(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| Error::invalid(format!("not UTF-8: {}", path.display())))?;
    Ok(text.to_owned())
}

fn new_id() -> Result<SnapshotId> {
    format!("{}{:08x}", SnapshotId::PREFIX, RandomState::new().build_hasher().finish() >> 32).parse()
}
