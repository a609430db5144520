//! Resolves revisions and reads objects through long-running `git cat-file` processes: starting git takes longer than
//! its answer.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::GIT_TIMEOUT;

/// The objects of the repository that contains a directory.
#[derive(Debug)]
pub struct Objects {
    dir: PathBuf,
    names: Mutex<Option<CatFile<String>>>,
    contents: Mutex<Option<CatFile<Vec<u8>>>>,
}

impl Objects {
    /// Starts no process; the first query does.
    pub fn around(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), names: Mutex::default(), contents: Mutex::default() }
    }

    /// The id of HEAD, read from plain files if possible.
    pub fn head(&self) -> Option<String> {
        read_head(&self.dir).or_else(|| self.commit("HEAD"))
    }

    /// The commit id of a revision.
    pub fn commit(&self, name: &str) -> Option<String> {
        self.ids("commit ", vec![name.to_owned()]).pop().flatten()
    }

    /// The blob ids of `(commit, file)` pairs; `None` for a file that a commit does not have.
    pub fn blobs<'n>(&self, files: impl IntoIterator<Item = (&'n str, &'n str)>) -> Vec<Option<String>> {
        self.ids("blob ", files.into_iter().map(|(commit, file)| format!("{commit}:./{file}")).collect())
    }

    /// The object ids of revisions; `None` for objects of another type.
    fn ids(&self, kind: &str, names: Vec<String>) -> Vec<Option<String>> {
        let start = || CatFile::start(&self.dir, "--batch-check=%(objecttype) %(objectname)", line);
        let answers = ask(&self.names, start, &names).unwrap_or_else(|| vec![None; names.len()]);
        answers.into_iter().map(|line| line?.strip_prefix(kind).map(str::to_owned)).collect()
    }

    /// The content of an object.
    pub fn content(&self, id: &str) -> Option<Vec<u8>> {
        let start = || CatFile::start(&self.dir, "--batch", content);
        ask(&self.contents, start, &[id.to_owned()])?.pop().flatten()
    }
}

/// Reads HEAD from plain files; `None` if its branch is in `packed-refs` or a reftable.
fn read_head(dir: &Path) -> Option<String> {
    let top = dir.ancestors().find(|above| above.join(".git").exists())?;
    let (mut own, mut common) = (top.join(".git"), top.join(".git"));
    if own.is_file() {
        own = top.join(read_line(&own)?.strip_prefix("gitdir: ")?);
        common = own.join(read_line(&own.join("commondir"))?);
    }
    let head = read_line(&own.join("HEAD"))?;
    let id = match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => read_line(&common.join("refs/heads").join(branch))?,
        None => head,
    };
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_id.then_some(id)
}

fn read_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.strip_suffix('\n').filter(|line| !line.contains('\n')).map(str::to_owned)
}

/// Sends a batch of queries. If any answer is missing, the process is dropped and the next query starts a new one.
fn ask<T: Send + 'static>(
    process: &Mutex<Option<CatFile<T>>>,
    start: impl FnOnce() -> io::Result<CatFile<T>>,
    names: &[String],
) -> Option<Vec<Option<T>>> {
    // An extra line would shift all following answers.
    if names.is_empty() || names.iter().any(|name| name.contains('\n')) {
        return None;
    }
    let mut slot = process.lock().unwrap_or_else(PoisonError::into_inner);
    let process = match slot.take() {
        Some(process) => process,
        None => start().ok()?,
    };
    let answers = process.ask(names)?;
    *slot = Some(process);
    Some(answers)
}

/// A running `git cat-file`. A `None` answer means that the object does not exist.
#[derive(Debug)]
struct CatFile<T> {
    child: Child,
    queries: Sender<Vec<u8>>,
    answers: Receiver<Option<T>>,
}

impl<T: Send + 'static> CatFile<T> {
    fn start(
        dir: &Path,
        how: &str,
        read: fn(&mut BufReader<ChildStdout>) -> io::Result<Option<T>>,
    ) -> io::Result<Self> {
        let mut git = crate::git(dir);
        git.args(["cat-file", how]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = git.spawn()?;
        let (queries, pending) = mpsc::channel::<Vec<u8>>();
        let (sender, answers) = mpsc::channel();
        if let Some(mut pipe) = child.stdin.take() {
            thread::spawn(move || pending.iter().try_for_each(|names| pipe.write_all(&names)));
        }
        if let Some(pipe) = child.stdout.take() {
            let mut pipe = BufReader::new(pipe);
            thread::spawn(move || {
                while let Ok(answer) = read(&mut pipe)
                    && sender.send(answer).is_ok()
                {}
            });
        }
        Ok(Self { child, queries, answers })
    }

    fn ask(&self, names: &[String]) -> Option<Vec<Option<T>>> {
        self.queries.send(names.iter().flat_map(|name| [name.as_bytes(), b"\n"].concat()).collect()).ok()?;
        let deadline = Instant::now() + GIT_TIMEOUT;
        let next = |_| self.answers.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
        names.iter().map(next).collect()
    }
}

impl<T> Drop for CatFile<T> {
    fn drop(&mut self) {
        // Safe to kill: it only reads.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(from: &mut BufReader<ChildStdout>) -> io::Result<Option<String>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(line.trim_end_matches('\n').to_owned()))
}

/// Reads one object: a header with id, type and size, then the content and a newline; or only a header that says
/// "missing".
fn content(from: &mut BufReader<ChildStdout>) -> io::Result<Option<Vec<u8>>> {
    let head = line(from)?.unwrap_or_default();
    let mut words = head.split(' ').skip(1);
    let (Some(kind), Some(Ok(size))) = (words.next(), words.next().map(str::parse)) else { return Ok(None) };
    let mut bytes = Vec::new();
    from.by_ref().take(size).read_to_end(&mut bytes)?;
    from.read_exact(&mut [0])?;
    Ok((kind == "blob").then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{git, run};

    fn repository() -> (tempfile::TempDir, Objects) {
        let dir = tempfile::tempdir().expect("a directory");
        let output = run(git(dir.path()).args(["init", "--quiet"])).expect("git runs");
        assert!(output.success, "{output:?}");
        let objects = Objects::around(dir.path());
        (dir, objects)
    }

    fn commit(dir: &Path) {
        let names = ["-c", "user.name=n", "-c", "user.email=e@example.test"];
        for args in [&["add", "--all"][..], &["commit", "--quiet", "--allow-empty", "--message=m"]] {
            assert!(run(git(dir).args(names).args(args)).expect("git runs").success);
        }
    }

    #[test]
    fn names_and_contents_are_those_of_the_moment_in_which_they_are_asked() {
        let (dir, objects) = repository();
        assert_eq!(objects.commit("HEAD"), None, "nothing is committed yet");
        commit(dir.path());
        let first = objects.commit("HEAD").expect("a commit");
        let text = "a\0b\nno end of a line";
        fs::write(dir.path().join("file"), text).expect("written");
        commit(dir.path());
        let second = objects.commit("HEAD").expect("a commit");
        assert_ne!(first, second);
        let blobs = objects.blobs([(&first[..], "file"), (&second, "file"), (&second, "other"), ("gone", "file")]);
        let [None, Some(id), None, None] = &blobs[..] else { panic!("{blobs:?}") };
        assert_eq!(objects.content(id).as_deref(), Some(text.as_bytes()));
        assert_eq!(objects.content(&"0".repeat(40)), None, "there is no such object");
        assert_eq!(objects.content(&first), None, "a commit is no file");
        assert_eq!(
            objects.content(id).as_deref(),
            Some(text.as_bytes()),
            "and the next answer is to the next question"
        );
        assert_eq!(objects.commit(id), None, "a file is no commit");
    }

    #[test]
    fn what_is_checked_out_is_what_git_says_wherever_it_keeps_that() {
        let (dir, objects) = repository();
        let must = |at: &Path, args: &[&str]| assert!(run(git(at).args(args)).expect("git runs").success, "{args:?}");
        let same = |objects: &Objects| {
            let head = objects.head();
            assert_eq!(head, objects.commit("HEAD"));
            head
        };
        assert_eq!(same(&objects), None, "nothing is committed yet");
        commit(dir.path());
        let first = same(&objects).expect("a commit");
        assert_eq!(read_head(dir.path()), Some(first.clone()), "without git");
        must(dir.path(), &["checkout", "--quiet", "-b", "of/two/parts"]);
        commit(dir.path());
        let second = same(&objects).expect("a commit");
        assert_ne!(first, second);
        let below = dir.path().join("below");
        fs::create_dir(&below).expect("made");
        assert_eq!(same(&Objects::around(&below)), Some(second.clone()));
        let linked = dir.path().join("linked");
        must(dir.path(), &["worktree", "add", "--quiet", "-b", "other", &linked.to_string_lossy(), &first]);
        assert_eq!((same(&Objects::around(&linked)), read_head(&linked)), (Some(first.clone()), Some(first.clone())));
        must(dir.path(), &["checkout", "--quiet", "--detach", &first]);
        assert_eq!(same(&objects), Some(first));
        must(dir.path(), &["checkout", "--quiet", "of/two/parts"]);
        must(dir.path(), &["pack-refs", "--all"]);
        assert_eq!(
            (same(&objects), read_head(dir.path())),
            (Some(second), None),
            "git is asked where it has packed them"
        );
    }

    #[test]
    fn more_names_than_a_pipe_holds_are_all_answered() {
        let (dir, objects) = repository();
        fs::write(dir.path().join("file"), "x").expect("written");
        commit(dir.path());
        let head = objects.commit("HEAD").expect("a commit");
        let blobs = objects.blobs((0..20_000).map(|at| (&head[..], if at % 2 == 0 { "file" } else { "none" })));
        assert_eq!(blobs.iter().filter(|blob| blob.is_some()).count(), 10_000);
        assert!(blobs[0].is_some() && blobs[1].is_none());
    }

    #[test]
    fn outside_a_repository_there_is_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let objects = Objects::around(dir.path());
        assert_eq!(objects.commit("HEAD"), None);
        assert_eq!(objects.blobs([("HEAD", "a"), ("HEAD", "b")]), [None, None]);
        assert_eq!(objects.content("HEAD"), None);
        assert_eq!(objects.commit("a\nb"), None);
    }
}
