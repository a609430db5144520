//! `pn recall`, and the models with which it finds by meaning.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_core::Result;
use pensa_core::ops::learning::Recall;

use super::{models, run_op};
use crate::cli::GlobalOptions;
use crate::output::Output;

/// Search everything that was written, best match first
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RecallArgs {
    #[command(subcommand)]
    command: Option<RecallCommand>,
    #[command(flatten)]
    op: Recall,
    /// Embed what is new or has changed with this machine's model, instead of searching
    #[arg(long, exclusive = true)]
    update: bool,
}

#[derive(Debug, Subcommand)]
enum RecallCommand {
    /// Manage the models with which this machine finds by meaning
    #[command(subcommand)]
    Model(ModelCommand),
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    /// Use the sentence-embedding model in a directory, and embed the store's texts with it
    Add {
        /// The directory with model.safetensors, tokenizer.json and config.json
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// List the models of this machine; the first is used
    List,
    /// Forget a model and remove its vectors; its files stay
    Remove {
        /// Its id, the beginning of it, or its directory
        #[arg(value_name = "MODEL")]
        model: String,
    },
}

pub(super) fn run(options: &GlobalOptions, output: Output, args: &RecallArgs) -> Result<()> {
    match &args.command {
        Some(RecallCommand::Model(ModelCommand::Add { directory })) => models::add(options, output, directory),
        Some(RecallCommand::Model(ModelCommand::List)) => models::list(options, output),
        Some(RecallCommand::Model(ModelCommand::Remove { model })) => models::remove(options, output, model),
        None if args.update => models::update(options, output),
        None => run_op(options, output, &args.op),
    }
}
