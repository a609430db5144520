//! Operations on loops.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::id::{IssueRef, LoopId, LoopRef};
use crate::loops::files::{FilePart, IterationFile};
use crate::loops::{Branch, Loop, LoopStatus, LoopType};
use crate::op::op;
use crate::ops::import::ImportOutcome;
use crate::session::Object;
use crate::signal::Signal;

/// Create a loop; it can be claimed once its parent is complete
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// What it makes
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub loop_type: LoopType,
    /// The file with its prompt
    #[arg(long, value_name = "FILE")]
    pub prompt_path: String,
    /// What says with its exit code whether an iteration was good
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub validation_command: String,
    /// The loop that must be complete before
    #[arg(long, value_name = "LOOP")]
    #[serde(alias = "parent_id")]
    pub parent: Option<LoopRef>,
    /// The issue that it works on
    #[arg(long, value_name = "ISSUE")]
    #[serde(alias = "issue_id")]
    pub issue: Option<IssueRef>,
    /// Most iterations [default: 100]
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<u32>,
    /// Where its work is done [default: worktrees/ID]
    #[arg(long, value_name = "DIR")]
    pub worktree: Option<String>,
    /// What it begins with
    #[arg(long, value_name = "FILE")]
    pub input_artifact: Option<String>,
    /// Whatever its prompts need: any JSON
    #[arg(skip)]
    pub context: Option<Value>,
}

op!(Create => Loop, "loop.create", post("/loops").creates(), Write);

/// Keep loops that another tool wrote down, with their ids: all of them, or none; those that are here stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLoops {
    /// Each a loop; what it lacks but its id, type and status is made up
    pub records: Vec<Object>,
}

op!(ImportLoops => Vec<Loop>, "loop.take", post("/loops/take").creates(), Write);

/// Keep files of a loop that another tool has; what is here already stays as it is
///
/// A long file comes in parts. A part that begins where the file here ends is added to it; one that says something else
/// than the file here is left out and reported as a clash.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLoopFiles {
    /// The loop, whose record need not be here
    pub id: LoopId,
    /// Whether they lie in the archive
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    pub parts: Vec<FilePart>,
    /// The number of the iteration that `current` leads to
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

op!(ImportLoopFiles => LoopFilesReport, "loop.take_files", post("/loops/files"), Write, {
    const MAX_BODY: usize = 64 << 20;
});

/// What became of the files of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakenFiles")]
pub struct LoopFilesReport {
    /// `imported`, `here` or `clash`, for each part
    pub outcomes: Vec<ImportOutcome>,
    /// Why none of them was kept
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_directory: Option<String>,
}

/// List loops, newest first
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only those of this type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub loop_type: Option<LoopType>,
    /// Only those that stand there
    #[arg(short, long, value_name = "STATUS")]
    pub status: Option<LoopStatus>,
    /// Only those just below this one
    #[arg(long, value_name = "LOOP")]
    pub parent: Option<LoopRef>,
    /// Only those that work on this issue
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// Only those that this actor runs, or ran last
    #[arg(long, value_name = "NAME")]
    pub holder: Option<String>,
    /// Only those that can be claimed, in the order in which they will be
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub runnable: bool,
    /// Also those that are archived
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    #[serde(alias = "n")]
    pub limit: Option<u32>,
}

op!(List => Vec<Loop>, "loop.list", get("/loops"), Read);

/// Show a loop
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub id: LoopRef,
}

op!(Show => Loop, "loop.show", get("/loops/{id}"), Read);

/// Show a loop and all that are below it
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub id: LoopRef,
}

op!(Tree => Vec<Branch>, "loop.tree", get("/loops/{id}/tree"), Read);

/// Take the next loop that can be run, and run it; null if there is none
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Claim {
    /// Only one of this type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub loop_type: Option<LoopType>,
    /// The machine that it runs on
    #[arg(skip)]
    pub host: Option<String>,
    /// The process that runs it [default: the one that called pn]
    #[arg(long, value_name = "PID")]
    pub pid: Option<i64>,
}

op!(Claim => Option<Loop>, "loop.claim", post("/loops/claim"), Write);

/// Begin the next iteration of a loop that runs: count it, and make its directory
///
/// The answer tells the directory, local/loops/ID/iterations/NNN of the store, which `current` beside it points to. Files
/// that are given are put there; others can be written there later.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Iterate {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub id: LoopRef,
    /// How far it is, in words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// What the iteration leaves behind
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<IterationFile>,
}

op!(Iterate => Iterated, "loop.iterate", post("/loops/{id}/iterate"), Write, {
    const MAX_BODY: usize = 64 << 20;
});

/// A loop whose next iteration has begun.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Iterated {
    #[serde(flatten)]
    pub subject: Loop,
    /// The directory of the iteration, where the store has files
    pub directory: Option<String>,
    /// Why there is none, and what was not kept
    pub no_directory: Option<String>,
}

macro_rules! moves {
    ($($(#[$doc:meta])* $name:ident $text:literal $route:literal { $($(#[$fdoc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[skip_serializing_none]
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Which loop: its id, or the beginning of it
            #[arg(value_name = "LOOP")]
            pub id: LoopRef,
            /// Why
            #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
            pub reason: Option<String>,
            /// How far it is, in words
            #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
            pub progress: Option<String>,
            $($(#[$fdoc])* pub $field: $type,)*
        }

        op!($name => Loop, $text, post($route), Write);
    )*};
}

moves! {
    /// Run a loop that is pending and whose parent is complete
    Start "loop.start" "/loops/{id}/start" {
        /// The machine that it runs on
        #[arg(skip)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The process that runs it [default: the one that called pn]
        #[arg(long, value_name = "PID")]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<i64>,
    }
    /// Pause a loop that runs
    Pause "loop.pause" "/loops/{id}/pause" {}
    /// Go on with a loop that is paused or was rebased; whoever does so runs it
    Resume "loop.resume" "/loops/{id}/resume" {
        /// The machine that it runs on
        #[arg(skip)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The process that runs it [default: the one that called pn]
        #[arg(long, value_name = "PID")]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<i64>,
    }
    /// Mark a loop as rebasing its work onto merged changes
    Rebase "loop.rebase" "/loops/{id}/rebase" {}
    /// Ask for approval of what a loop has made
    Submit "loop.submit" "/loops/{id}/submit" {
        /// A file that came of it; may be given again
        #[arg(long = "output", value_name = "FILE")]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<String>,
    }
    /// Send a loop back to work that awaits approval
    Reject "loop.reject" "/loops/{id}/reject" {}
    /// Complete a loop, so that its children can be claimed
    Complete "loop.complete" "/loops/{id}/complete" {
        /// A file that came of it; may be given again
        #[arg(long = "output", value_name = "FILE")]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<String>,
    }
    /// Give a loop up
    Fail "loop.fail" "/loops/{id}/fail" {}
    /// Archive a loop that has ended; its directory moves to local/archive
    Archive "loop.archive" "/loops/{id}/archive" {}
}

/// Most loops that one approval may create.
pub const MAX_CHILDREN: usize = 10_000;

/// Approve what a loop has made, and create the loops that follow from it: all of that, or nothing
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub id: LoopRef,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Loops to create below it
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Create>,
}

op!(Approve => Approved, "loop.approve", post("/loops/{id}/approve"), Write);

/// A loop that is complete, and those that follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approved {
    #[serde(flatten)]
    pub subject: Loop,
    pub children: Vec<Loop>,
}

/// Invalidate a loop: stop, signal and archive it and its descendants
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Invalidate {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub id: LoopRef,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

op!(Invalidate => Invalidated, "loop.invalidate", post("/loops/{id}/invalidate"), Write);

/// A loop that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Invalidated {
    #[serde(flatten)]
    pub subject: Loop,
    /// All that were invalidated with it, itself included
    pub invalidated: Vec<LoopId>,
    /// What was sent to those that were under way, if any were
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
}
