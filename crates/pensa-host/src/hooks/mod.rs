//! Installs, inspects and removes Pensa's part in a repository: its hooks, the merge driver, `.gitattributes`.
//!
//! What the hooks do when git calls them is left to the program; the texts are [`script`]'s and others'.

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
use pensa_git::{PATIENCE, Repo, files};
use serde::Serialize;

pub use check_up::check_up;
pub use driver::configure_if_named as configure_driver_if_named;
pub use script::Hook;
use script::{Found, Kind, Words, unquote};
pub use staged::staged_private_files;

/// Most earlier hooks that are kept beside one.
const MAX_KEPT: u32 = 100;

/// How a hook stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookState {
    Installed,
    /// Ours, but of another version, not executable, or it calls a program that is not there.
    Outdated,
    /// There is no such hook.
    Missing,
    /// Another tool's hook is there and does not call ours, which was installed before.
    Overwritten,
    /// Another tool's hook is there, and ours never was.
    Foreign,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookReport {
    pub name: Hook,
    pub state: HookState,
}

/// How a repository stands, and what was changed in it just now.
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
    /// What a person should know or do.
    pub notes: Vec<String>,
}

impl HooksReport {
    pub fn is_complete(&self) -> bool {
        let installed = |hook: &HookReport| hook.state == HookState::Installed;
        self.merge_driver && self.gitattributes && self.hooks.iter().all(installed)
    }
}

/// The hooks of the repository that a store is in.
#[derive(Debug, Clone)]
pub struct Hooks {
    repo: Repo,
    /// The project, seen from the root of the work tree.
    project: String,
}

/// A hook file as it is found.
struct Place {
    hook: Hook,
    path: PathBuf,
    /// What the file has of ours, if it has anything.
    found: Option<Found>,
    is_there: bool,
    is_link: bool,
    mode: u32,
}

impl Place {
    fn look(path: PathBuf, hook: Hook) -> Result<Self> {
        let link = fs::symlink_metadata(&path).ok();
        let (is_there, is_link) = (link.is_some(), link.is_some_and(|meta| meta.is_symlink()));
        let found = files::read(&path)?.and_then(|bytes| script::find(&bytes));
        let mode = fs::metadata(&path).map_or(0, |meta| meta.permissions().mode() & 0o7777);
        Ok(Self { hook, path, found, is_there, is_link, mode })
    }

    fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    /// The same hook under another name in the same directory.
    fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    fn chained(&self) -> PathBuf {
        self.beside(&script::chained_name(self.hook))
    }
}

impl Hooks {
    /// The hooks of the repository around a project with a store, in the work tree of it that `dir` is in.
    pub fn of(project: &Path, dir: &Path) -> Result<Self> {
        let project = fs::canonicalize(project).map_err(|e| error::io("find", project, &e))?;
        let home = Repo::around(&project).ok_or_else(|| pensa_git::no_repo(&project))?;
        let top = fs::canonicalize(&home.top).map_err(|e| error::io("find", &home.top, &e))?;
        let inside = project.strip_prefix(&top).unwrap_or(Path::new(""));
        let inside = inside.to_str().ok_or_else(|| {
            Error::invalid(format!("the path of the project is not UTF-8: {}", inside.display()))
                .hint("rename its directories")
        })?;
        let project = if inside.is_empty() { ".".to_owned() } else { inside.to_owned() };
        let here = Repo::around(dir).filter(|here| here.common == home.common);
        Ok(Self { repo: here.unwrap_or(home), project })
    }

    fn is_at_root(&self) -> bool {
        self.project == "."
    }

    fn words(&self) -> Result<Words> {
        Ok(Words { program: driver::program()?, store: script::quote(&self.project) })
    }

    /// Where git looks for hooks, if that is a place of this repository's own.
    fn dir(&self) -> Result<PathBuf> {
        let repo = &self.repo;
        let told = repo.must(["rev-parse", "--git-path", "hooks"])?.line();
        let dir = repo.top.join(told.ok_or_else(|| Error::internal("git does not tell where its hooks are"))?);
        let main = repo.common.parent().filter(|_| repo.common.ends_with(".git"));
        let own = [Some(repo.common.as_path()), Some(repo.top.as_path()), main];
        let real = real(&dir);
        if own.into_iter().flatten().any(|own| real.starts_with(own)) && !self.is_of_all_repositories()? {
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

    /// Whether the place of the hooks is a setting of the user or the machine that means one directory for all.
    fn is_of_all_repositories(&self) -> Result<bool> {
        let told = pensa_git::run(self.repo.git().args(["config", "--show-scope", "--get", "core.hooksPath"]))?.line();
        let Some((scope, path)) = told.as_deref().and_then(|line| line.split_once('\t')) else { return Ok(false) };
        Ok(["global", "system"].contains(&scope) && (path.starts_with('/') || path.starts_with('~')))
    }

    /// How everything stands.
    pub fn status(&self) -> Result<HooksReport> {
        let dir = self.dir()?;
        let prek = prek::Config::of(&self.repo)?.has_entries();
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
        let place = Place::look(dir.join(hook.name()), hook)?;
        if let Some(found) = &place.found {
            let current = found.is_current(hook) && place.is_executable() && self.can_call(found);
            return Ok(if current { HookState::Installed } else { HookState::Outdated });
        }
        let by_tool = place.is_there && (prek || self.legacy(&place)?.is_some()) && calls_others(&place.path)?;
        Ok(match (place.is_there, by_tool) {
            (false, _) => HookState::Missing,
            (true, true) => HookState::Installed,
            (true, false) if was_installed => HookState::Overwritten,
            (true, false) => HookState::Foreign,
        })
    }

    /// Whether a hook calls a program that is there, for this store.
    fn can_call(&self, found: &Found) -> bool {
        let Some(words) = found.words() else { return false };
        let is_there = |path: String| !path.starts_with('/') || Path::new(&path).is_file();
        unquote(&words.store).as_ref() == Some(&self.project) && unquote(&words.program).is_some_and(is_there)
    }

    /// Our hook where prek and pre-commit put it when they come later; they call it from there.
    fn legacy(&self, place: &Place) -> Result<Option<Place>> {
        let legacy = Place::look(place.beside(&format!("{}.legacy", place.hook)), place.hook)?;
        Ok(if legacy.found.is_some() { Some(legacy) } else { None })
    }

    /// Whether the merge driver gets the JSONL files, by git's own judgement.
    fn is_attributed(&self) -> Result<bool> {
        let file = format!("{}/{}/issues.jsonl", self.project, STORE_DIR);
        let told = self.repo.must(["check-attr", "merge", "--", &file])?.line();
        Ok(told.is_some_and(|line| line.ends_with(": merge: pensa")))
    }

    /// Installs whatever is missing, as hooks of git's own. A second time changes nothing.
    pub fn install(&self) -> Result<HooksReport> {
        let (_alone, dir) = self.begin()?;
        let (words, mut work) = (self.words()?, Work::default());
        if prek::Config::of(&self.repo)?.has_entries() {
            work.notes.push("the hooks are entries for prek: prek install puts them into this clone".to_owned());
        } else {
            self.refuse_other_store(&dir)?;
            fs::create_dir_all(&dir).map_err(|e| error::io("create", &dir, &e))?;
            for hook in Hook::ALL {
                self.install_hook(Place::look(dir.join(hook.name()), hook)?, &words, &mut work)?;
            }
        }
        pensa_git::exclude(&self.repo.top.join(&self.project).join(STORE_DIR), &["db.sqlite*", "local/"])?;
        self.install_driver(&words, &mut work)?;
        self.report(work)
    }

    /// Installs whatever is missing, the hooks as entries for prek or pre-commit.
    pub fn install_prek(&self) -> Result<HooksReport> {
        let (_alone, dir) = self.begin()?;
        let mut work = Work::default();
        let config = prek::Config::of(&self.repo)?;
        let with = config.with_entries(&script::quote(&self.project))?;
        for hook in Hook::ALL {
            self.remove_hook(&dir, hook, &mut work)?;
        }
        if config.settle(with)? {
            work.changed.push(config.name());
        }
        self.install_driver(&self.words()?, &mut work)?;
        let report = self.report(work)?;
        if report.hooks.iter().all(|hook| hook.state == HookState::Installed) {
            return Ok(report);
        }
        let types = Hook::ALL.map(|hook| format!(" -t {hook}")).concat();
        let note = format!("next: prek install{types} (in every clone)");
        Ok(HooksReport { notes: [report.notes, vec![note]].concat(), ..report })
    }

    fn install_driver(&self, words: &Words, work: &mut Work) -> Result<()> {
        if !self.is_attributed()? {
            let path = self.repo.top.join(".gitattributes");
            let text = files::read_text(&path)?;
            if files::settle(&path, text.as_deref(), Some(&attributes::with(text.as_deref(), self.is_at_root())))? {
                work.changed.push(".gitattributes".to_owned());
            }
            if self.is_attributed()? {
                work.notes.push("commit .gitattributes: every clone needs it".to_owned());
            } else {
                work.notes.push(
                    "a rule of another .gitattributes keeps the JSONL files from the merge driver: git check-attr \
                     merge tells what is in force"
                        .to_owned(),
                );
            }
        }
        if driver::configure(&self.repo, &words.program)? {
            work.changed.push("git config merge.pensa".to_owned());
        }
        Ok(())
    }

    /// Hooks are for one store: those of another would be left out.
    fn refuse_other_store(&self, dir: &Path) -> Result<()> {
        for hook in Hook::ALL {
            let words = Place::look(dir.join(hook.name()), hook)?.found.and_then(|found| found.words());
            if let Some(other) = words.filter(|words| self.has_other_store(&words.store)) {
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

    fn install_hook(&self, place: Place, words: &Words, work: &mut Work) -> Result<()> {
        let hook = place.hook;
        if let Some(found) = &place.found {
            let mode = if found.kind == Kind::Guest { place.mode } else { place.mode | 0o755 };
            if !found.has(hook, words) || mode != place.mode {
                files::replace(&place.path, &found.renewed(hook, words), Some(mode))?;
                work.changed.push(hook.to_string());
            }
            return Ok(());
        }
        if !place.is_there {
            let kind = if fs::symlink_metadata(place.chained()).is_ok() { Kind::Chain } else { Kind::Own };
            files::replace(&place.path, &script::file(hook, kind, words), Some(0o755))?;
            work.changed.push(hook.to_string());
            return Ok(());
        }
        if let Some(legacy) = self.legacy(&place)?.filter(|_| calls_others(&place.path).unwrap_or(false)) {
            return self.install_hook(legacy, words, work);
        }
        self.join(&place, words, work)
    }

    /// Adds our part to another tool's hook, or puts ours in front of it.
    fn join(&self, place: &Place, words: &Words, work: &mut Work) -> Result<()> {
        let hook = place.hook;
        let script = if place.is_link || !place.is_executable() { None } else { files::read(&place.path)? };
        match script.and_then(|script| script::insert(&script, hook, words)) {
            Some(with_ours) => files::replace(&place.path, &with_ours, Some(place.mode))?,
            None => put_in_front(place, words, work)?,
        }
        work.changed.push(hook.to_string());
        Ok(())
    }

    /// Takes everything out again that an installation put in.
    pub fn remove(&self) -> Result<HooksReport> {
        let (_alone, dir) = self.begin()?;
        let mut work = Work::default();
        for hook in Hook::ALL {
            self.remove_hook(&dir, hook, &mut work)?;
        }
        let config = prek::Config::of(&self.repo)?;
        if config.settle(config.without_entries())? {
            work.changed.push(config.name());
            work.notes.push("prek uninstall takes prek's own hooks out".to_owned());
        }
        let path = self.repo.top.join(".gitattributes");
        if let Some(text) = files::read_text(&path)? {
            let rest = attributes::without(&text, self.is_at_root());
            if files::settle(&path, Some(&text), Some(rest.as_str()).filter(|rest| !rest.is_empty()))? {
                work.changed.push(".gitattributes".to_owned());
                work.notes.push("commit .gitattributes only if the whole project stops sharing issues".to_owned());
            }
        }
        if driver::forget(&self.repo)? {
            work.changed.push("git config merge.pensa".to_owned());
        }
        self.report(work)
    }

    fn remove_hook(&self, dir: &Path, hook: Hook, work: &mut Work) -> Result<()> {
        for name in [hook.to_string(), format!("{hook}.legacy")] {
            let place = Place::look(dir.join(name), hook)?;
            if let Some(found) = &place.found
                && !place.is_link
            {
                take_out(&place, found, work)?;
                work.changed.push(hook.to_string());
            } else if is_same_file(&place.path, &place.chained()) {
                // An installation was stopped here before it put ours in front.
                fs::remove_file(place.chained()).map_err(|e| error::io("delete", &place.chained(), &e))?;
            }
        }
        Ok(())
    }

    fn report(&self, work: Work) -> Result<HooksReport> {
        Ok(HooksReport { changed: work.changed, notes: work.notes, ..self.status()? })
    }

    /// Two of us at once would each take the other's work for another tool's. Whoever is alone cleans up after one
    /// that was stopped.
    fn begin(&self) -> Result<(File, PathBuf)> {
        let dir = self.dir()?;
        let alone = self.lock()?;
        files::delete_drafts(&dir);
        files::delete_drafts(&self.repo.top);
        Ok((alone, dir))
    }

    fn lock(&self) -> Result<File> {
        let dir = &self.repo.common;
        let file = File::open(dir).map_err(|e| error::io("open", dir, &e))?;
        let deadline = Instant::now() + PATIENCE;
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

#[derive(Debug, Default)]
struct Work {
    changed: Vec<String>,
    notes: Vec<String>,
}

/// Whether a hook is one of prek or pre-commit, which call what was there before them.
fn calls_others(path: &Path) -> Result<bool> {
    let text = files::read(path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    Ok(["prek", "pre-commit"].iter().any(|name| text.contains(&format!("# File generated by {name}:"))))
}

/// Puts our hook in the place of another, which ours calls under the name that it gets instead.
fn put_in_front(place: &Place, words: &Words, work: &mut Work) -> Result<()> {
    let (hook, chained) = (place.hook, place.chained());
    set_aside(&chained, &place.path, hook, work)?;
    // By a second name first: whenever we are stopped, the hook that was there is where it was.
    let linked = match fs::hard_link(&place.path, &chained) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => true,
        Err(_) => {
            fs::rename(&place.path, &chained).map_err(|e| error::io("move", &place.path, &e))?;
            false
        }
        Ok(()) => true,
    };
    let written = files::replace(&place.path, &script::file(hook, Kind::Chain, words), Some(0o755));
    if written.is_err() {
        let _ = if linked { fs::remove_file(&chained) } else { fs::rename(&chained, &place.path) };
    }
    written
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::symlink_metadata(one), fs::symlink_metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Moves an earlier hook to a name of its own, so that `chained` is free for `next`.
fn set_aside(chained: &Path, next: &Path, hook: Hook, work: &mut Work) -> Result<()> {
    if fs::symlink_metadata(chained).is_err() || is_same_file(chained, next) {
        return Ok(());
    }
    let kept = keep(chained, hook)?;
    work.notes.push(format!("an earlier {hook} hook is kept in {} and no longer called", kept.display()));
    Ok(())
}

/// Gives a file the first free name of its kind.
fn keep(path: &Path, hook: Hook) -> Result<PathBuf> {
    for number in 1..=MAX_KEPT {
        let kept = path.with_file_name(format!("{}.{number}", script::chained_name(hook)));
        if fs::symlink_metadata(&kept).is_err() {
            fs::rename(path, &kept).map_err(|e| error::io("move", path, &e))?;
            return Ok(kept);
        }
    }
    Err(Error::new(Code::Conflict, format!("there are too many kept {hook} hooks")).hint("delete some of them"))
}

/// Takes our part out of a hook file and puts back what was there before.
fn take_out(place: &Place, found: &Found, work: &mut Work) -> Result<()> {
    let earlier = place.chained();
    let is_chain = found.kind == Kind::Chain && fs::symlink_metadata(&earlier).is_ok();
    if !is_chain && (found.kind == Kind::Guest || !found.is_alone()) {
        return files::replace(&place.path, &found.rest, Some(place.mode));
    }
    if !found.is_alone() {
        files::replace(&place.path, &found.rest, Some(place.mode))?;
        let kept = keep(&place.path, place.hook)?;
        work.notes.push(format!("what was added to our {} hook is kept in {}", place.hook, kept.display()));
    }
    let restored = if is_chain { fs::rename(&earlier, &place.path) } else { fs::remove_file(&place.path) };
    restored.map_err(|e| error::io("put back", &place.path, &e))
}

/// The path with all links followed, as far as it exists.
fn real(path: &Path) -> PathBuf {
    for (at, part) in path.ancestors().enumerate() {
        if let Ok(real) = fs::canonicalize(part) {
            let rest: Vec<_> = path.components().rev().take(at).collect();
            return rest.into_iter().rev().fold(real, |path, part| path.join(part));
        }
    }
    path.to_owned()
}
