//! The flags of commands on work, releases and skills.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_core::ops::{skill, work};

/// Say what you are doing: without a command, show it
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    #[command(subcommand)]
    pub(crate) command: Option<Work>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Work {
    Start(work::Start),
    Pause(work::Pause),
    Resume(work::Resume),
    Done(work::Done),
    /// Go step by step
    #[command(subcommand)]
    Step(WorkStep),
    List(work::List),
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum WorkStep {
    Add(work::AddSteps),
    Done(work::FinishStep),
    List(work::Steps),
}

/// Put an idea into the queue, to be sorted out later
#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// The idea; of many lines the first is the title. - reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: String,
}

/// Show the queue: what is ready to be worked on, most urgent first
#[derive(Debug, Args)]
pub(crate) struct Next {
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u32>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Skill {
    Set(skill::Set),
    List(skill::List),
    Remove(skill::Remove),
    Import(SkillImport),
    Export(SkillExport),
}

/// Write the skills to a file that other tools read: {"mappings", "updatedAt"}
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pn skill export config/skills.json\n  pn skill export -    # to standard output")]
pub(crate) struct SkillExport {
    /// The file; - writes to standard output
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Take in the skills of a file; names that are not in it stay as they are
///
/// It has the form that pn skill list --json writes, or that of a list of skills with the agents they are linked to.
#[derive(Debug, Args)]
pub(crate) struct SkillImport {
    /// The file; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
