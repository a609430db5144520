//! `pn create`: one issue from flags, or the issues of a file: a document with front matter, or a plan as a list.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::exit;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches};
use pensa_client::config::CREATE_TYPE;
use pensa_core::id::IssueId;
use pensa_core::issue::plan_list::{self, PlanBatch};
use pensa_core::issue::{Created, Issue, IssueDocument, IssueType};
use pensa_core::ops::batch::{Batch, failed_operation};
use pensa_core::ops::issue::{Accept, Create};
use pensa_core::{Code, Error, Op, Result, json, text};
use serde_json::{Map, Value};

use super::{context, note_similar, stdin};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::progress::with_progress;

/// The arguments of the operation, and those of a file. Title and type are only required without the other.
#[derive(Debug)]
pub(crate) struct CreateArgs {
    op: Create,
    has_type: bool,
    from: CreateFileArgs,
}

// Without a doc comment: the help begins with that of the operation.
#[derive(Debug, Args)]
#[command(after_help = r#"Without --type the setting create.type decides: pn config set create.type task

A file has one issue, as front matter with its description below:

  ---
  title: log in
  type: task
  priority: p1
  labels: auth, web
  acceptance:
  - [ ] works without cookies
  ---
  Users ask for it.

Other fields: assignee, parent, due, defer, estimate, spec, fixes, after (ids), refs, and fields
(severity=high, team=core).

Or it has a plan as a list. What is indented below an item is part of it. Type, priority and what
must be closed first stand behind the title. Issues are tasks unless the file or -t says otherwise:

  - release the search [p1]
    Text below an item is its description.
    - [ ] a box is an acceptance criterion
    - build the index
    - write the form (after: build the index)
    - search crashes on quotes [bug p0]
  - announce it (after: release the search)

All issues of a file are created, or none. The flags of pn create apply to each of them that says
nothing else:

  pn create -f plan.md --parent pn-a1b2 --label search"#)]
struct CreateFileArgs {
    /// Create the issues of a file; - reads standard input
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["title", "description"])]
    file: Option<PathBuf>,
    /// Only print what would be created; with --json, the operations, as pn batch takes them
    #[arg(long)]
    dry_run: bool,
}

impl Args for CreateArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        let command = CreateFileArgs::augment_args(Create::augment_args(command));
        // The defaults are never used; with them, the operation can be read without these arguments.
        let command = command.mut_arg("title", |arg| {
            arg.required(false).required_unless_present("file").default_value("").hide_default_value(true)
        });
        command.mut_arg("issue_type", |arg| {
            arg.required(false).default_value(IssueType::Task.as_str()).hide_default_value(true)
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CreateArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        let has_type = matches.value_source("issue_type") == Some(ValueSource::CommandLine);
        let op = Create::from_arg_matches_mut(matches)?;
        Ok(Self { op, has_type, from: CreateFileArgs::from_arg_matches_mut(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: CreateArgs) -> Result<()> {
    let CreateArgs { mut op, has_type, from: CreateFileArgs { file, dry_run } } = args;
    let default_type = if has_type { Some(op.issue_type) } else { connect::config(options)?.parsed(&CREATE_TYPE)? };
    let Some(file) = file else {
        if dry_run {
            return Err(Error::invalid("--dry-run goes with --file").hint("pn create -f plan.md --dry-run"));
        }
        op.issue_type = default_type.unwrap_or_else(|| {
            // A wrong command line, like any other flag that is missing.
            output.error(&missing_type());
            exit(2)
        });
        stdin::fill(&mut op.description)?;
        return super::create(options, output, &op);
    };
    let page = read(&file)?;
    let name = if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
    let plan = if plan_list::is_plan_list(&page) {
        op.issue_type = default_type.unwrap_or(IssueType::Task);
        Planned::list(&page, &op)
    } else {
        Planned::document(&page, op, default_type)
    };
    let plan = plan.map_err(|e| e.within(&name))?;
    if dry_run {
        return plan.show(output);
    }
    let created = with_progress(output, || plan.create(options)).map_err(|e| e.within(&name))?;
    output.answer(&created)?;
    // The issues of one plan are often alike, and are meant to be.
    let new: HashSet<&IssueId> = created.iter().map(|made| &made.issue.id).collect();
    let similar = created.iter().flat_map(|made| &made.similar).filter(|similar| !new.contains(&similar.id));
    similar.for_each(|similar| note_similar(output, similar));
    context::refresh(options, output);
    Ok(())
}

fn missing_type() -> Error {
    let hint = "-t task, bug, test or chore; pn config set create.type task sets a default";
    Error::invalid("the type of the issue is missing").hint(hint)
}

/// What a file asks for.
struct Planned {
    batch: Batch,
    /// The line of each operation; none in a document, which is one issue.
    lines: Vec<usize>,
    /// The plan or document as it was understood.
    page: String,
}

impl Planned {
    fn list(page: &str, defaults: &Create) -> Result<Self> {
        let items = plan_list::parse(page)?;
        let PlanBatch { batch, lines } = plan_list::batch(&items, defaults)?;
        Ok(Self { batch, lines, page: plan_list::print(&items) })
    }

    fn document(page: &str, defaults: Create, default_type: Option<IssueType>) -> Result<Self> {
        let mut document = IssueDocument::parse(page).map_err(|e| match e.hint {
            Some(_) => e,
            None => e.hint("pn create --help shows what a file may have"),
        })?;
        let shown = document.print("");
        document.issue_type = Some(document.issue_type.or(default_type).ok_or_else(missing_type)?);
        let (create, ticks) = document.create(&defaults, &"@i0".parse()?)?;
        let mut batch = Batch::default();
        batch.push_as("i0", &create)?;
        ticks.iter().try_for_each(|tick| batch.push(tick))?;
        Ok(Self { batch, lines: Vec::new(), page: shown })
    }

    /// Prints what would be created.
    fn show(&self, output: Output) -> Result<()> {
        if output.is_json() {
            let operations: Vec<&Map<String, Value>> = self.batch.operations.iter().flatten().collect();
            return output.line(&json::to_line(&operations)?);
        }
        output.text(&text::printable_block(&self.page))
    }

    /// Creates the issues. An error names the line of the file.
    fn create(&self, options: &GlobalOptions) -> Result<Vec<Created>> {
        let results = connect::client(options)?.call(&self.batch).map_err(|error| match failed_operation(&error) {
            Some((at, bare)) => match self.lines.get(at) {
                Some(line) => bare.within(format!("line {line}")),
                None => bare,
            },
            None => error,
        })?;
        let mut created: Vec<Created> = Vec::new();
        for (result, operation) in results.into_iter().zip(self.batch.operations.iter().flatten()) {
            let name = operation.get("op").and_then(Value::as_str).unwrap_or_default();
            if name == Create::NAME {
                created.push(serde_json::from_value(result).map_err(Error::internal)?);
            } else if name == Accept::NAME {
                let accepted: Issue = serde_json::from_value(result).map_err(Error::internal)?;
                let made = created.iter_mut().find(|made| made.issue.id == accepted.id);
                made.into_iter().for_each(|made| made.issue = accepted.clone());
            }
        }
        Ok(created)
    }
}

/// Reads a file, or standard input for `-`.
fn read(file: &Path) -> Result<String> {
    if file.as_os_str() == "-" {
        return stdin::read_within(Batch::MAX_BODY);
    }
    let failed = |e: &std::io::Error| {
        let code = if e.kind() == std::io::ErrorKind::NotFound { Code::NotFound } else { Code::InvalidInput };
        Error::new(code, format!("cannot read {}: {e}", file.display()))
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|e| failed(&e))?;
    opened.take(Batch::MAX_BODY as u64 + 1).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
    if bytes.len() > Batch::MAX_BODY {
        let message = format!("{} has more than {} bytes", file.display(), Batch::MAX_BODY);
        return Err(Error::new(Code::TooLarge, message));
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{} is not UTF-8", file.display())))
}
