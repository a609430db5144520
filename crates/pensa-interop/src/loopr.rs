//! Lists the files of a Loopr project: the directories of its loops below `loops` and `archive`.
//!
//! [`crate::taskstore`] reads the records in `.taskstore`. Links are not followed.

use std::fs;
use std::path::{Path, PathBuf};

use pensa_core::{Code, Error, Result, Timestamp, id};

use crate::files::written_at;
use crate::prjct::Problem;

/// Limit on the depth of directories in a loop.
const MAX_DEPTH: usize = 12;
/// Limit on the files and directories of a project.
const MAX_ENTRIES: usize = 100_000;
/// The link to the newest iteration of a loop.
const CURRENT: &str = "current";

/// A project without its records.
#[derive(Debug, Default)]
pub struct LooprProject {
    /// Sorted by id.
    pub loops: Vec<LoopDir>,
    /// What is not imported, with the reasons.
    pub left_out: Vec<Problem>,
}

/// The directory of a loop.
#[derive(Debug)]
pub struct LoopDir {
    pub id: String,
    pub is_archived: bool,
    /// The modification time of the directory.
    pub written_at: Option<Timestamp>,
    /// The number of the iteration that `current` links to.
    pub current: Option<String>,
    /// Sorted by path.
    pub files: Vec<LoopFile>,
}

#[derive(Debug)]
pub struct LoopFile {
    /// Relative to the directory of the loop, separated by `/`.
    pub path: String,
    pub source: PathBuf,
}

/// Lists the files of a project.
pub fn read(dir: &Path) -> Result<LooprProject> {
    let mut project = LooprProject::default();
    let mut entries = 0;
    for (name, path) in sorted(dir)? {
        match name.as_str() {
            ".taskstore" => project.left_out.extend(non_record_files(&path)),
            "loops" | "archive" if is_dir(&path) => {
                for (id, path) in sorted(&path)? {
                    project.loop_dir(&name, &id, &path, &mut entries)?;
                }
            }
            "worktrees" => project.leave_out(&name, "worktrees of git, which can be made again"),
            // The records can be in the directory itself.
            _ if name.ends_with(".jsonl") => {}
            _ => project.leave_out(&name, "is none of the files that are known"),
        }
    }
    Ok(project)
}

/// Reports the files in `.taskstore` that contain no records.
fn non_record_files(dir: &Path) -> Vec<Problem> {
    let others = sorted(dir).unwrap_or_default().into_iter().filter(|(name, _)| !name.ends_with(".jsonl"));
    others
        .map(|(name, _)| {
            let is_cache = name.starts_with("taskstore.db") || name == ".gitignore" || name == ".version";
            let reason =
                if is_cache { "a cache, which can be made again" } else { "is none of the files that are known" };
            Problem::of(&format!(".taskstore/{name}"), reason)
        })
        .collect()
}

/// The entries of a directory, sorted by name.
fn sorted(dir: &Path) -> Result<Vec<(String, PathBuf)>> {
    let failed = |e: &std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => Error::not_found("directory", dir.display()),
        std::io::ErrorKind::NotADirectory => Error::invalid(format!("not a directory: {}", dir.display())),
        _ => Error::new(Code::Internal, format!("cannot read {}: {e}", dir.display())),
    };
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| failed(&e))? {
        let entry = entry.map_err(|e| failed(&e))?;
        all.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    all.sort();
    Ok(all)
}

fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

impl LooprProject {
    fn leave_out(&mut self, path: &str, reason: &str) {
        self.left_out.push(Problem::of(path, reason));
    }

    fn loop_dir(&mut self, below: &str, id: &str, path: &Path, entries: &mut usize) -> Result<()> {
        let shown = format!("{below}/{id}");
        let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir);
        let Some(meta) = meta else {
            self.leave_out(&shown, "is not a directory of its own");
            return Ok(());
        };
        if id::check(id).is_err() || !id::is_possible(id) || id.starts_with('.') {
            self.leave_out(&shown, "the name of the directory can not be an id");
            return Ok(());
        }
        let mut loop_dir = LoopDir {
            id: id.to_owned(),
            is_archived: below == "archive",
            written_at: written_at(&meta),
            current: None,
            files: Vec::new(),
        };
        let mut pending = vec![(path.to_owned(), String::new(), 0)];
        while let Some((dir, within, depth)) = pending.pop() {
            for (name, path) in sorted(&dir)? {
                *entries += 1;
                if *entries > MAX_ENTRIES {
                    let message = format!("loops and archive have more than {MAX_ENTRIES} files");
                    return Err(Error::new(Code::TooLarge, message));
                }
                let inner = if within.is_empty() { name.clone() } else { format!("{within}/{name}") };
                let kind = fs::symlink_metadata(&path).map(|meta| meta.file_type());
                match kind {
                    Ok(kind) if kind.is_file() => loop_dir.files.push(LoopFile { path: inner, source: path }),
                    Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => pending.push((path, inner, depth + 1)),
                    Ok(kind) if kind.is_symlink() && inner == CURRENT => match iteration(&path) {
                        Some(number) => loop_dir.current = Some(number),
                        None => self.leave_out(&format!("{shown}/{inner}"), "leads to no iteration"),
                    },
                    Ok(kind) if kind.is_symlink() => {
                        self.leave_out(&format!("{shown}/{inner}"), "is a symbolic link, which is not followed");
                    }
                    Ok(kind) if kind.is_dir() => {
                        self.leave_out(&format!("{shown}/{inner}"), "is too deep to be looked into")
                    }
                    _ => self.leave_out(&format!("{shown}/{inner}"), "is not a file"),
                }
            }
        }
        loop_dir.files.sort_by(|a, b| a.path.cmp(&b.path));
        self.loops.push(loop_dir);
        Ok(())
    }
}

/// The number of the iteration that a link leads to; `None` if it leads elsewhere.
fn iteration(link: &Path) -> Option<String> {
    let target = fs::read_link(link).ok()?;
    let number = target.to_str()?.trim_end_matches('/').strip_prefix("iterations/")?.to_owned();
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(dir: &Path, name: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, name).expect("a file");
    }

    #[test]
    fn all_files_of_loops_are_listed_and_the_rest_is_reported() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in [
            ".taskstore/loops.jsonl",
            ".taskstore/taskstore.db",
            "loops/lp-1/iterations/001/artifacts/deep/er/plan.md",
            "loops/lp-1/stdout.log",
            "archive/lp-0/stderr.log",
            "worktrees/lp-1/src/main.rs",
            "loops/stray.txt",
            "notes.md",
        ] {
            put(dir.path(), name);
        }
        symlink("iterations/001", dir.path().join("loops/lp-1/current")).expect("a link");
        symlink("/etc/passwd", dir.path().join("loops/lp-1/iterations/001/prompt.md")).expect("a link");
        let project = read(dir.path()).expect("listed");
        let listed: Vec<(&str, bool, Option<&str>, Vec<&str>)> = project
            .loops
            .iter()
            .map(|one| {
                let files = one.files.iter().map(|file| file.path.as_str()).collect();
                (one.id.as_str(), one.is_archived, one.current.as_deref(), files)
            })
            .collect();
        let of_first = vec!["iterations/001/artifacts/deep/er/plan.md", "stdout.log"];
        assert_eq!(listed, [("lp-0", true, None, vec!["stderr.log"]), ("lp-1", false, Some("001"), of_first)]);
        let left: Vec<&str> = project.left_out.iter().map(|problem| problem.file.as_str()).collect();
        let expected = [
            ".taskstore/taskstore.db",
            "loops/lp-1/iterations/001/prompt.md",
            "loops/stray.txt",
            "notes.md",
            "worktrees",
        ];
        assert_eq!(left, expected);
        assert_eq!(read(&dir.path().join("nowhere")).expect_err("none").code, Code::NotFound);
    }
}
