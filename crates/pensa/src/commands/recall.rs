//! `pn recall`, and the models with which it finds by meaning.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pensa_client::memory;
use pensa_core::Result;
use pensa_core::id::LearningRef;
use pensa_core::learning::Learning;
use pensa_core::ops::learning::Recall;
use pensa_core::ops::upkeep;

use super::{models, run_op};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;

/// The arguments of a search.
const SEARCH: [&str; 9] = ["q", "within", "since", "by", "tags", "files", "max_tokens", "limit", "explain"];

/// Search everything that was written, best match first
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RecallArgs {
    #[command(subcommand)]
    command: Option<RecallCommand>,
    #[command(flatten)]
    op: Recall,
    /// Note that this learning was of use, instead of searching; may be given again
    #[arg(long, value_name = "LEARNING", conflicts_with_all = SEARCH)]
    useful: Vec<LearningRef>,
    /// Embed what is new or has changed with this machine's model, instead of searching
    #[arg(long, conflicts_with_all = SEARCH, conflicts_with = "useful")]
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

/// Of what is found, only `--useful` writes anything.
pub(super) fn run(options: &GlobalOptions, output: Output, args: RecallArgs) -> Result<()> {
    let RecallArgs { command, mut op, useful, update } = args;
    match &command {
        Some(RecallCommand::Model(ModelCommand::Add { directory })) => return models::add(options, output, directory),
        Some(RecallCommand::Model(ModelCommand::List)) => return models::list(options, output),
        Some(RecallCommand::Model(ModelCommand::Remove { model })) => return models::remove(options, output, model),
        None if update => return models::update(options, output),
        None => {}
    }
    if !useful.is_empty() {
        let client = connect::client(options)?;
        let note = |id: LearningRef| client.call(&upkeep::Useful { id });
        let noted: Vec<Learning> = useful.into_iter().map(note).collect::<Result<_>>()?;
        return output.answer(&noted);
    }
    if !op.files.is_empty() {
        op.files = memory::with_former_names(&connect::client(options)?, &connect::cwd()?, &op.files)?;
    }
    run_op(options, output, &op)
}
