//! `pn snapshot create` of a large tree against git alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Plan;
use super::lab::{Lab, Project, output};
use super::report::{Row, Target, grouped};
use super::samples::{Contender, alternate};
use crate::Result;

/// Files of the tree.
const FILES: usize = 10_000;

/// Whether git has the contents of the files before a snapshot is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    New,
    Known,
}

pub(super) fn rows(lab: &Lab, plan: &Plan) -> Result<Vec<Row>> {
    let project = lab.empty_store("snapshots")?;
    make(&project.dir)?;
    let rows = vec![row(lab, plan, &project, Contents::New)?, row(lab, plan, &project, Contents::Known)?];
    lab.discard(&project)?;
    Ok(rows)
}

/// Small files in many directories.
fn make(root: &Path) -> Result {
    for number in 0..FILES {
        let dir = root.join(format!("d{}/e{}", number % 20, number % 100));
        fs::create_dir_all(&dir)?;
        fs::write(dir.join(format!("f{number}.txt")), format!("file {number}\n").repeat(1 + number % 200))?;
    }
    Ok(())
}

/// Makes the repository anew, so that every run finds the same.
fn prepare(lab: &Lab, project: &Project, contents: Contents) -> Result {
    // Nothing must be repacked meanwhile.
    let begin = "rm -rf .git ../scratch-index && git init --quiet && git config gc.auto 0";
    let fill = "git add -A && git -c user.name=x -c user.email=x commit --quiet --message=all";
    output(&mut lab.shell(project, begin))?;
    if contents == Contents::Known {
        output(&mut lab.shell(project, fill))?;
    }
    Ok(())
}

fn row(lab: &Lab, plan: &Plan, project: &Project, contents: Contents) -> Result<Row> {
    let ours = |_: usize| -> Result<Command> {
        prepare(lab, project, contents)?;
        Ok(lab.pn(project, &["snapshot", "create", "--provider", "git", "--json"]))
    };
    let reference = |_: usize| -> Result<Command> {
        prepare(lab, project, contents)?;
        let mut command = lab.shell(project, "git add -A && git write-tree");
        command.env("GIT_INDEX_FILE", "../scratch-index");
        Ok(command)
    };
    let [ours, reference] = alternate(plan.rounds * 4 + 1, [Contender::new(ours), Contender::new(reference)])?;
    let (what, state) = match contents {
        Contents::New => ("new", "has none of their contents"),
        Contents::Known => ("known", "has all of them in a commit"),
    };
    Ok(Row::new(
        format!("`pn snapshot create` of {} {what} files", grouped(FILES)),
        ours.describe(),
        reference.describe(),
        ours.median() / reference.median(),
        Target::AtMost(1.5),
        format!(
            "`pn snapshot create --provider git` (found, scanned, stored, committed, held by a ref and recorded) in a \
             repository that {state}, against `git add -A && git write-tree` on a scratch index there"
        ),
    ))
}
