//! `pn work`, `pn capture`, `pn next`, `pn ship` and `pn skill`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use pensa_core::ops::issue::Create;
use pensa_core::ops::release::{ChangelogText, Ship, Shipped};
use pensa_core::ops::skill::{Import, List};
use pensa_core::ops::work::{Current, Steps};
use pensa_core::release::Release;
use pensa_core::skill::Skills;
use pensa_core::work::{Step, StepStatus, Work};
use pensa_core::{Code, Error, Result, json, ops, skill, text};

use super::{context, create, note_former_assignee, run_op, stdin};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{ListItem, Render, Screen, field, when};

/// Record what you are working on; without a command, show it
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WorkCommand>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum WorkCommand {
    Start(ops::work::Start),
    Pause(ops::work::Pause),
    Resume(ops::work::Resume),
    Done(ops::work::Done),
    /// Manage the steps of the current work
    #[command(subcommand)]
    Step(WorkStepCommand),
    List(ops::work::List),
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum WorkStepCommand {
    Add(ops::work::AddSteps),
    Done(ops::work::FinishStep),
    List(Steps),
}

/// Add an idea to the queue, to be sorted later
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// The idea; its first line becomes the title. - reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: String,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SkillCommand {
    Set(ops::skill::Set),
    List(List),
    Remove(ops::skill::Remove),
    Import(SkillImportArgs),
    Export(SkillExportArgs),
}

/// Export the skills to a file for other tools: {"mappings", "updatedAt"}
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn skill export config/skills.json\n  pn skill export -    # to standard output")]
pub(crate) struct SkillExportArgs {
    /// The file; - writes to standard output
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Import skills from a file; names that are not in it stay as they are
///
/// The file has the format of pn skill list --json, or is a list of skills with the agents they are linked to.
#[derive(Debug, Args)]
pub(crate) struct SkillImportArgs {
    /// The file; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// The most bytes of a skills file.
const FILE_BYTES: usize = 16 << 20;

pub(super) fn run(options: &GlobalOptions, output: Output, args: WorkArgs) -> Result<()> {
    let Some(command) = args.command else {
        let client = connect::client(options)?;
        return output.answer(&client.call(&Current { actor: client.actor(), issue: None })?);
    };
    change(options, output, command)
}

fn change(options: &GlobalOptions, output: Output, command: WorkCommand) -> Result<()> {
    match command {
        WorkCommand::Start(op) => {
            let work = connect::client(options)?.call(&op)?;
            output.answer(&work)?;
            note_former_assignee(output, &work.issue_id, work.was_assigned_to.as_deref());
            Ok(())
        }
        WorkCommand::Pause(op) => run_op(options, output, &op),
        WorkCommand::Resume(op) => run_op(options, output, &op),
        WorkCommand::Done(mut op) => {
            stdin::fill(&mut op.reason)?;
            run_op(options, output, &op)
        }
        WorkCommand::Step(WorkStepCommand::Add(op)) => run_op(options, output, &op),
        WorkCommand::Step(WorkStepCommand::Done(op)) => run_op(options, output, &op),
        WorkCommand::Step(WorkStepCommand::List(op)) => {
            let client = connect::client(options)?;
            output.answer(&client.call(&Steps { actor: client.actor(), ..op })?)
        }
        WorkCommand::List(op) => run_op(options, output, &op),
    }
}

pub(super) fn capture(options: &GlobalOptions, output: Output, mut args: CaptureArgs) -> Result<()> {
    stdin::replace(&mut args.text)?;
    create(options, output, &Create::captured(&args.text))
}

pub(super) fn ship(options: &GlobalOptions, output: Output, mut op: Ship) -> Result<()> {
    stdin::fill(&mut op.notes)?;
    let shipped = connect::client(options)?.call(&op)?;
    output.answer(&shipped)?;
    for id in &shipped.open {
        output.note(&format!("note: {id} is not closed"));
    }
    Ok(())
}

pub(super) fn skill(options: &GlobalOptions, output: Output, command: SkillCommand) -> Result<()> {
    match command {
        SkillCommand::Set(op) => run_op(options, output, &op),
        SkillCommand::List(op) => run_op(options, output, &op),
        SkillCommand::Remove(op) => run_op(options, output, &op),
        SkillCommand::Export(args) => export(options, output, &args.file),
        SkillCommand::Import(args) => {
            run_op(options, output, &Import { mappings: skill::parse(&read_document(&args.file)?)? })
        }
    }
}

/// Writes the skills as a JSON document.
fn export(options: &GlobalOptions, output: Output, file: &Path) -> Result<()> {
    let read_document = json::to_document(&connect::client(options)?.call(&List {})?)?;
    if file.as_os_str() == "-" {
        return output.line(read_document.trim_end());
    }
    context::write_atomically(file, &read_document, 0o666)?;
    output.answer(&context::WrittenFiles { files: vec![file.to_owned()] })
}

/// Reads a file, or standard input for `-`.
fn read_document(file: &Path) -> Result<String> {
    if file.as_os_str() == "-" {
        return stdin::read_within(FILE_BYTES);
    }
    let failed = |e: &std::io::Error| {
        let code = if e.kind() == std::io::ErrorKind::NotFound { Code::NotFound } else { Code::InvalidInput };
        Error::new(code, format!("cannot read {}: {e}", file.display()))
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|e| failed(&e))?;
    opened.take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
    if bytes.len() > FILE_BYTES {
        return Err(Error::new(Code::TooLarge, format!("{} has more than {FILE_BYTES} bytes", file.display())));
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{} is not UTF-8", file.display())))
}

fn work_line(work: &Work, screen: &mut Screen) {
    screen.id(&work.issue_id).plain(&format!(" {:<6} {:<11} ", work.status, work.kind)).text(&work.title);
    let done = work.steps.iter().filter(|step| step.status == StepStatus::Done).count();
    if !work.steps.is_empty() {
        screen.plain(&format!(" {done}/{}", work.steps.len()));
    }
    screen.plain(" ").faint(&format!("@{}", work.actor)).end();
}

impl Render for Work {
    fn render(&self, screen: &mut Screen) {
        work_line(self, screen);
        field(screen, "branch", self.branch.clone());
        steps(&self.steps, self.current_step, screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.issue_id.to_string()]
    }
}

impl ListItem for Work {
    const NOUN: [&str; 2] = ["issue", "issues"];

    fn render_item(&self, screen: &mut Screen) {
        work_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        Render::ids(self)
    }
}

/// Prints numbered steps; the current one is marked.
fn steps(steps: &[Step], current: Option<usize>, screen: &mut Screen) {
    for (number, step) in (1..).zip(steps) {
        let mark = match step.status {
            StepStatus::Done => 'x',
            StepStatus::Pending if current == Some(number) => '>',
            StepStatus::Pending => ' ',
        };
        screen.plain(&format!("{number:>4} [{mark}] ")).text(&step.title).end();
    }
}

impl Render for Option<Work> {
    fn render(&self, screen: &mut Screen) {
        match self {
            Some(work) => work.render(screen),
            None => screen.plain("nothing; pn next shows what waits, pn work start begins").end(),
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().flat_map(Render::ids).collect()
    }
}

impl Render for Vec<Step> {
    fn render(&self, screen: &mut Screen) {
        let current = self.iter().position(|step| step.status == StepStatus::Pending).map(|at| at + 1);
        steps(self, current, screen);
    }

    fn ids(&self) -> Vec<String> {
        (1..=self.len()).map(|number| number.to_string()).collect()
    }
}

fn release_line(release: &Release, screen: &mut Screen) {
    screen.id(&release.id).plain(" ").faint(&when(release.shipped_at)).plain(" ").text(&release.version);
    screen.plain(&format!(" {:<11} ", release.kind)).text(&release.name).end();
}

impl Render for Shipped {
    fn render(&self, screen: &mut Screen) {
        release_line(&self.release, screen);
    }

    fn ids(&self) -> Vec<String> {
        vec![self.release.id.to_string()]
    }
}

impl ListItem for Release {
    const NOUN: [&str; 2] = ["release", "releases"];

    fn render_item(&self, screen: &mut Screen) {
        release_line(self, screen);
    }

    fn item_ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }
}

impl Render for ChangelogText {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&text::printable_block(&self.markdown));
    }

    /// The lines of the text: a changelog has no ids.
    fn ids(&self) -> Vec<String> {
        self.markdown.lines().map(str::to_owned).collect()
    }
}

impl Render for Skills {
    fn render(&self, screen: &mut Screen) {
        for (name, skills) in &self.mappings {
            screen.text(name).plain(": ").text(&skills.join(", ")).end();
        }
        if self.mappings.is_empty() {
            screen.footer(0, ["skill", "skills"]);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.mappings.keys().cloned().collect()
    }
}
