//! Installs, inspects and removes Pensa's parts of a repository: its git hooks, merge driver and `.gitattributes` line.

mod attributes;
mod check_up;
mod driver;
mod prek;
mod script;
mod staged;

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use pensa_core::{Code, Error, Result, STORE_DIR, error};
use pensa_git::{GIT_TIMEOUT, Repo, files};
use serde::Serialize;

pub use check_up::check_up;
pub use driver::configure_if_named as configure_driver_if_named;
pub use script::Hook;
use script::{HookKind, HookParams, InstalledHook, unquote};
pub use staged::staged_private_files;

/// Limit on replaced hooks that are saved under numbered names.
const MAX_EARLIER_HOOKS: u32 = 100;

/// The state of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookState {
    Installed,
    /// Our hook, but of another version, not executable, or calling a program that does not exist.
    Outdated,
    /// There is no hook file.
    Missing,
    /// Another tool replaced our hook and does not call it.
    Overwritten,
    /// Another tool's hook; ours was never installed.
    Foreign,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookReport {
    pub name: Hook,
    pub state: HookState,
}

/// The state of a repository's hooks and merge driver, and what a command changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HooksReport {
    /// Where git looks for hooks.
    pub hooks_dir: String,
    pub hooks: Vec<HookReport>,
    /// Git is configured to merge JSONL files with `pn`.
    pub merge_driver: bool,
    /// `.gitattributes` gives the JSONL files to the merge driver.
    pub gitattributes: bool,
    /// The hooks are entries in the configuration of prek or pre-commit.
    pub prek: bool,
    pub changed: Vec<String>,
    /// What the user should know or do.
    pub notes: Vec<String>,
}

impl HooksReport {
    pub fn is_complete(&self) -> bool {
        let installed = |hook: &HookReport| hook.state == HookState::Installed;
        self.merge_driver && self.gitattributes && self.hooks.iter().all(installed)
    }
}

/// The hooks of the repository that contains a store.
#[derive(Debug, Clone)]
pub struct Hooks {
    repo: Repo,
    /// The project's path relative to the root of the work tree.
    project: String,
}

/// A hook file as it is on disk.
struct HookFile {
    hook: Hook,
    path: PathBuf,
    /// Our part of the file, if any.
    ours: Option<InstalledHook>,
    exists: bool,
    is_link: bool,
    mode: u32,
}

impl HookFile {
    fn read(path: PathBuf, hook: Hook) -> Result<Self> {
        let link = fs::symlink_metadata(&path).ok();
        let (exists, is_link) = (link.is_some(), link.is_some_and(|meta| meta.is_symlink()));
        let ours = files::read(&path)?.and_then(|bytes| script::find(&bytes));
        let mode = fs::metadata(&path).map_or(0, |meta| meta.permissions().mode() & 0o7777);
        Ok(Self { hook, path, ours, exists, is_link, mode })
    }

    fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    /// A path in the same directory.
    fn sibling(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    fn chained(&self) -> PathBuf {
        self.sibling(&script::chained_name(self.hook))
    }
}

impl Hooks {
    /// The hooks of the repository around a project, in the work tree that contains `dir`.
    pub fn of(project: &Path, dir: &Path) -> Result<Self> {
        let project = fs::canonicalize(project).map_err(|e| error::io("find", project, &e))?;
        let main = Repo::around(&project).ok_or_else(|| pensa_git::no_repo(&project))?;
        let top = fs::canonicalize(&main.top).map_err(|e| error::io("find", &main.top, &e))?;
        let inside = project.strip_prefix(&top).unwrap_or(Path::new(""));
        let inside = inside.to_str().ok_or_else(|| {
            Error::invalid(format!("the path of the project is not UTF-8: {}", inside.display()))
                .hint("rename its directories")
        })?;
        let project = if inside.is_empty() { ".".to_owned() } else { inside.to_owned() };
        let here = Repo::around(dir).filter(|here| here.common == main.common);
        Ok(Self { repo: here.unwrap_or(main), project })
    }

    fn is_at_root(&self) -> bool {
        self.project == "."
    }

    fn params(&self) -> Result<HookParams> {
        Ok(HookParams { program: driver::program()?, store: script::quote(&self.project) })
    }

    /// The directory where git looks for hooks. Refuses a directory outside this repository or shared by all
    /// repositories.
    fn dir(&self) -> Result<PathBuf> {
        let repo = &self.repo;
        let path = repo.must(["rev-parse", "--git-path", "hooks"])?.line();
        let dir = repo.top.join(path.ok_or_else(|| Error::internal("git does not tell where its hooks are"))?);
        let main = repo.common.parent().filter(|_| repo.common.ends_with(".git"));
        let own = [Some(repo.common.as_path()), Some(repo.top.as_path()), main];
        let real = resolve_existing(&dir);
        if own.into_iter().flatten().any(|own| real.starts_with(own)) && !self.is_shared_by_all_repositories()? {
            return Ok(dir);
        }
        Err(Error::new(
            Code::Unsupported,
            format!("git runs its hooks from {}, outside this repository", dir.display()),
        )
        .hint(
            "core.hooksPath says so: set it to a directory of this repository, or have the hooks there call \
                 pn hooks run with the name of the hook",
        ))
    }

    /// Whether `core.hooksPath` is set for the user or machine, to an absolute path.
    fn is_shared_by_all_repositories(&self) -> Result<bool> {
        let setting =
            pensa_git::run(self.repo.git().args(["config", "--show-scope", "--get", "core.hooksPath"]))?.line();
        let Some((scope, path)) = setting.as_deref().and_then(|line| line.split_once('\t')) else { return Ok(false) };
        Ok(["global", "system"].contains(&scope) && (path.starts_with('/') || path.starts_with('~')))
    }

    /// Inspects hooks, merge driver and attributes without changing anything.
    pub fn status(&self) -> Result<HooksReport> {
        let dir = self.dir()?;
        let prek = prek::PrekConfig::of(&self.repo)?.has_entries();
        let merge_driver = driver::is_configured(&self.repo)?;
        let mut hooks = Vec::new();
        for hook in Hook::ALL {
            hooks.push(HookReport { name: hook, state: self.state(&dir, hook, prek, merge_driver)? });
        }
        Ok(HooksReport {
            hooks_dir: dir.display().to_string(),
            hooks,
            merge_driver,
            gitattributes: self.is_attributed()?,
            prek,
            changed: Vec::new(),
            notes: Vec::new(),
        })
    }

    fn state(&self, dir: &Path, hook: Hook, prek: bool, was_installed: bool) -> Result<HookState> {
        let file = HookFile::read(dir.join(hook.name()), hook)?;
        if let Some(ours) = &file.ours {
            let current = ours.is_current(hook) && file.is_executable() && self.can_call(ours);
            return Ok(if current { HookState::Installed } else { HookState::Outdated });
        }
        let by_tool = file.exists && (prek || self.legacy(&file)?.is_some()) && calls_others(&file.path)?;
        Ok(match (file.exists, by_tool) {
            (false, _) => HookState::Missing,
            (true, true) => HookState::Installed,
            (true, false) if was_installed => HookState::Overwritten,
            (true, false) => HookState::Foreign,
        })
    }

    /// Whether a hook calls an existing program, for this store.
    fn can_call(&self, hook: &InstalledHook) -> bool {
        let Some(params) = hook.params() else { return false };
        let exists = |path: String| !path.starts_with('/') || Path::new(&path).is_file();
        unquote(&params.store).as_ref() == Some(&self.project) && unquote(&params.program).is_some_and(exists)
    }

    /// Our hook under the name that prek and pre-commit give to a hook they replace; they call it from there.
    fn legacy(&self, file: &HookFile) -> Result<Option<HookFile>> {
        let legacy = HookFile::read(file.sibling(&format!("{}.legacy", file.hook)), file.hook)?;
        Ok(if legacy.ours.is_some() { Some(legacy) } else { None })
    }

    /// Whether git's attributes assign the JSONL files to the merge driver.
    fn is_attributed(&self) -> Result<bool> {
        let file = format!("{}/{}/issues.jsonl", self.project, STORE_DIR);
        let answer = self.repo.must(["check-attr", "merge", "--", &file])?.line();
        Ok(answer.is_some_and(|line| line.ends_with(": merge: pensa")))
    }

    /// Installs whatever is missing, as git hooks. Installing again changes nothing.
    pub fn install(&self) -> Result<HooksReport> {
        let (_lock, dir) = self.begin()?;
        let (params, mut changes) = (self.params()?, HookChanges::default());
        if prek::PrekConfig::of(&self.repo)?.has_entries() {
            changes.notes.push("the hooks are entries for prek: prek install puts them into this clone".to_owned());
        } else {
            self.refuse_other_store(&dir)?;
            fs::create_dir_all(&dir).map_err(|e| error::io("create", &dir, &e))?;
            for hook in Hook::ALL {
                self.install_hook(HookFile::read(dir.join(hook.name()), hook)?, &params, &mut changes)?;
            }
        }
        pensa_git::exclude(&self.repo.top.join(&self.project).join(STORE_DIR), &["db.sqlite*", "local/"])?;
        self.install_driver(&params, &mut changes)?;
        self.report(changes)
    }

    /// Installs whatever is missing, with the hooks as entries for prek or pre-commit.
    pub fn install_prek(&self) -> Result<HooksReport> {
        let (_lock, dir) = self.begin()?;
        let mut changes = HookChanges::default();
        let config = prek::PrekConfig::of(&self.repo)?;
        let with = config.with_entries(&script::quote(&self.project))?;
        for hook in Hook::ALL {
            self.remove_hook(&dir, hook, &mut changes)?;
        }
        if config.write_if_changed(with)? {
            changes.changed.push(config.name());
        }
        self.install_driver(&self.params()?, &mut changes)?;
        let report = self.report(changes)?;
        if report.hooks.iter().all(|hook| hook.state == HookState::Installed) {
            return Ok(report);
        }
        let types = Hook::ALL.map(|hook| format!(" -t {hook}")).concat();
        let note = format!("next: prek install{types} (in every clone)");
        Ok(HooksReport { notes: [report.notes, vec![note]].concat(), ..report })
    }

    fn install_driver(&self, params: &HookParams, changes: &mut HookChanges) -> Result<()> {
        if !self.is_attributed()? {
            let path = self.repo.top.join(".gitattributes");
            let text = files::read_text(&path)?;
            if files::write_if_changed(
                &path,
                text.as_deref(),
                Some(&attributes::with(text.as_deref(), self.is_at_root())),
            )? {
                changes.changed.push(".gitattributes".to_owned());
            }
            if self.is_attributed()? {
                changes.notes.push("commit .gitattributes: every clone needs it".to_owned());
            } else {
                changes.notes.push(
                    "a rule of another .gitattributes keeps the JSONL files from the merge driver: git check-attr \
                     merge tells what is in force"
                        .to_owned(),
                );
            }
        }
        if driver::configure(&self.repo, &params.program)? {
            changes.changed.push("git config merge.pensa".to_owned());
        }
        Ok(())
    }

    /// Refuses to replace hooks that serve another store: a hook serves only one.
    fn refuse_other_store(&self, dir: &Path) -> Result<()> {
        for hook in Hook::ALL {
            let params = HookFile::read(dir.join(hook.name()), hook)?.ours.and_then(|ours| ours.params());
            if let Some(other) = params.filter(|params| self.has_other_store(&params.store)) {
                return Err(Error::new(
                    Code::Conflict,
                    format!("the hooks of this repository are for the store in {}", other.store),
                )
                .hint("pn hooks remove there frees them"));
            }
        }
        Ok(())
    }

    fn has_other_store(&self, word: &str) -> bool {
        let other = unquote(word).filter(|project| *project != self.project);
        other.is_some_and(|project| self.repo.top.join(project).join(STORE_DIR).is_dir())
    }

    fn install_hook(&self, file: HookFile, params: &HookParams, changes: &mut HookChanges) -> Result<()> {
        let hook = file.hook;
        if let Some(ours) = &file.ours {
            let mode = if ours.kind == HookKind::Guest { file.mode } else { file.mode | 0o755 };
            if !ours.is_equal_to(hook, params) || mode != file.mode {
                files::replace(&file.path, &ours.renewed(hook, params), Some(mode))?;
                changes.changed.push(hook.to_string());
            }
            return Ok(());
        }
        if !file.exists {
            let kind = if fs::symlink_metadata(file.chained()).is_ok() { HookKind::Chain } else { HookKind::Own };
            files::replace(&file.path, &script::file(hook, kind, params), Some(0o755))?;
            changes.changed.push(hook.to_string());
            return Ok(());
        }
        if let Some(legacy) = self.legacy(&file)?.filter(|_| calls_others(&file.path).unwrap_or(false)) {
            return self.install_hook(legacy, params, changes);
        }
        self.add_to_foreign_hook(&file, params, changes)
    }

    /// Inserts our part into another tool's shell script, or replaces the hook by ours, which calls it.
    fn add_to_foreign_hook(&self, file: &HookFile, params: &HookParams, changes: &mut HookChanges) -> Result<()> {
        let hook = file.hook;
        let script = if file.is_link || !file.is_executable() { None } else { files::read(&file.path)? };
        match script.and_then(|script| script::insert(&script, hook, params)) {
            Some(with_ours) => files::replace(&file.path, &with_ours, Some(file.mode))?,
            None => put_before(file, params, changes)?,
        }
        changes.changed.push(hook.to_string());
        Ok(())
    }

    /// Removes everything that [`Self::install`] or [`Self::install_prek`] added.
    pub fn remove(&self) -> Result<HooksReport> {
        let (_lock, dir) = self.begin()?;
        let mut changes = HookChanges::default();
        for hook in Hook::ALL {
            self.remove_hook(&dir, hook, &mut changes)?;
        }
        let config = prek::PrekConfig::of(&self.repo)?;
        if config.write_if_changed(config.without_entries())? {
            changes.changed.push(config.name());
            changes.notes.push("prek uninstall takes prek's own hooks out".to_owned());
        }
        let path = self.repo.top.join(".gitattributes");
        if let Some(text) = files::read_text(&path)? {
            let rest = attributes::without(&text, self.is_at_root());
            if files::write_if_changed(&path, Some(&text), Some(rest.as_str()).filter(|rest| !rest.is_empty()))? {
                changes.changed.push(".gitattributes".to_owned());
                changes.notes.push("commit .gitattributes only if the whole project stops sharing issues".to_owned());
            }
        }
        if driver::unconfigure(&self.repo)? {
            changes.changed.push("git config merge.pensa".to_owned());
        }
        self.report(changes)
    }

    fn remove_hook(&self, dir: &Path, hook: Hook, changes: &mut HookChanges) -> Result<()> {
        for name in [hook.to_string(), format!("{hook}.legacy")] {
            let file = HookFile::read(dir.join(name), hook)?;
            if let Some(ours) = &file.ours
                && !file.is_link
            {
                remove_part(&file, ours, changes)?;
                changes.changed.push(hook.to_string());
            } else if is_same_file(&file.path, &file.chained()) {
                // An installation was interrupted in `put_before`.
                fs::remove_file(file.chained()).map_err(|e| error::io("delete", &file.chained(), &e))?;
            }
        }
        Ok(())
    }

    fn report(&self, changes: HookChanges) -> Result<HooksReport> {
        Ok(HooksReport { changed: changes.changed, notes: changes.notes, ..self.status()? })
    }

    /// Takes the lock, so that two installations do not mistake each other's files for another tool's, and deletes what
    /// an interrupted one left.
    fn begin(&self) -> Result<(File, PathBuf)> {
        let dir = self.dir()?;
        let lock = self.lock()?;
        files::delete_drafts(&dir);
        files::delete_drafts(&self.repo.top);
        Ok((lock, dir))
    }

    fn lock(&self) -> Result<File> {
        let dir = &self.repo.common;
        let file = File::open(dir).map_err(|e| error::io("open", dir, &e))?;
        let deadline = Instant::now() + GIT_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(e)) => return Err(error::io("lock", dir, &e)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(Error::new(Code::Busy, "another pn is at work on the hooks of this repository")
                        .hint("try again"));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

/// What a command has changed so far, and notes for the user.
#[derive(Debug, Default)]
struct HookChanges {
    changed: Vec<String>,
    notes: Vec<String>,
}

/// Whether a hook was generated by prek or pre-commit, which call the hook they replaced.
fn calls_others(path: &Path) -> Result<bool> {
    let text = files::read(path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    Ok(["prek", "pre-commit"].iter().any(|name| text.contains(&format!("# File generated by {name}:"))))
}

/// Renames another tool's hook and installs ours, which calls it under the new name.
fn put_before(file: &HookFile, params: &HookParams, changes: &mut HookChanges) -> Result<()> {
    let (hook, chained) = (file.hook, file.chained());
    set_aside(&chained, &file.path, hook, changes)?;
    // Linking first keeps the hook in place if we are interrupted.
    let linked = match fs::hard_link(&file.path, &chained) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => true,
        Err(_) => {
            fs::rename(&file.path, &chained).map_err(|e| error::io("move", &file.path, &e))?;
            false
        }
        Ok(()) => true,
    };
    let written = files::replace(&file.path, &script::file(hook, HookKind::Chain, params), Some(0o755));
    if written.is_err() {
        let _ = if linked { fs::remove_file(&chained) } else { fs::rename(&chained, &file.path) };
    }
    written
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::symlink_metadata(one), fs::symlink_metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Saves an earlier chained hook under a numbered name, so that `chained` is free for `next`.
fn set_aside(chained: &Path, next: &Path, hook: Hook, changes: &mut HookChanges) -> Result<()> {
    if fs::symlink_metadata(chained).is_err() || is_same_file(chained, next) {
        return Ok(());
    }
    let saved = save_numbered(chained, hook)?;
    changes.notes.push(format!("an earlier {hook} hook is kept in {} and no longer called", saved.display()));
    Ok(())
}

/// Renames a hook to the first free numbered name.
fn save_numbered(path: &Path, hook: Hook) -> Result<PathBuf> {
    for number in 1..=MAX_EARLIER_HOOKS {
        let saved = path.with_file_name(format!("{}.{number}", script::chained_name(hook)));
        if fs::symlink_metadata(&saved).is_err() {
            fs::rename(path, &saved).map_err(|e| error::io("move", path, &e))?;
            return Ok(saved);
        }
    }
    Err(Error::new(Code::Conflict, format!("there are too many kept {hook} hooks")).hint("delete some of them"))
}

/// Removes our part from a hook file and restores the hook that was there before.
fn remove_part(file: &HookFile, ours: &InstalledHook, changes: &mut HookChanges) -> Result<()> {
    let earlier = file.chained();
    let is_chain = ours.kind == HookKind::Chain && fs::symlink_metadata(&earlier).is_ok();
    if !is_chain && (ours.kind == HookKind::Guest || !ours.is_unmodified()) {
        return files::replace(&file.path, &ours.rest, Some(file.mode));
    }
    if !ours.is_unmodified() {
        files::replace(&file.path, &ours.rest, Some(file.mode))?;
        let saved = save_numbered(&file.path, file.hook)?;
        changes.notes.push(format!("what was added to our {} hook is kept in {}", file.hook, saved.display()));
    }
    let restored = if is_chain { fs::rename(&earlier, &file.path) } else { fs::remove_file(&file.path) };
    restored.map_err(|e| error::io("put back", &file.path, &e))
}

/// Resolves links in the part of a path that exists.
fn resolve_existing(path: &Path) -> PathBuf {
    for (at, part) in path.ancestors().enumerate() {
        if let Ok(real) = fs::canonicalize(part) {
            let rest: Vec<_> = path.components().rev().take(at).collect();
            return rest.into_iter().rev().fold(real, |path, part| path.join(part));
        }
    }
    path.to_owned()
}
