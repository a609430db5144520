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
    /// Its type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub loop_type: LoopType,
    /// The file with its prompt
    #[arg(long, value_name = "FILE")]
    pub prompt_path: String,
    /// The command whose exit code says whether an iteration is valid
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub validation_command: String,
    /// The loop that must be complete first
    #[arg(long, value_name = "LOOP")]
    #[serde(alias = "parent_id")]
    pub parent: Option<LoopRef>,
    /// Its issue
    #[arg(long, value_name = "ISSUE")]
    #[serde(alias = "issue_id")]
    pub issue: Option<IssueRef>,
    /// The most iterations [default: 100]
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<u32>,
    /// Its worktree [default: worktrees/ID]
    #[arg(long, value_name = "DIR")]
    pub worktree: Option<String>,
    /// The artifact it starts from
    #[arg(long, value_name = "FILE")]
    pub input_artifact: Option<String>,
    /// Values for its prompts: any JSON
    #[arg(skip)]
    pub context: Option<Value>,
}

op!(Create => Loop, "loop.create", post("/loops").creates(), Write);

/// Import loops of another tool with their ids: all of them, or none; existing loops stay as they are
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLoops {
    /// Each a loop with at least its id, type and status; the rest has defaults
    pub records: Vec<Object>,
}

op!(ImportLoops => Vec<Loop>, "loop.take", post("/loops/take").creates(), Write);

/// Import files of a loop of another tool; existing files stay as they are
///
/// A long file is sent in parts. A part that starts where the stored file ends is appended; one that differs from the
/// stored file is skipped and reported as a clash.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLoopFiles {
    /// The loop; its record need not exist
    pub id: LoopId,
    /// Whether they are in the archive
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    pub parts: Vec<FilePart>,
    /// The iteration to which `current` points
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

op!(ImportLoopFiles => LoopFilesReport, "loop.take_files", post("/loops/files"), Write, {
    const MAX_BODY: usize = 64 << 20;
});

/// The result of importing files of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakenFiles")]
pub struct LoopFilesReport {
    /// `imported`, `here` or `clash`, for each part
    pub outcomes: Vec<ImportOutcome>,
    /// Why none of them was stored
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
    /// Only those with this status
    #[arg(short, long, value_name = "STATUS")]
    pub status: Option<LoopStatus>,
    /// Only children of this loop
    #[arg(long, value_name = "LOOP")]
    pub parent: Option<LoopRef>,
    /// Only those for this issue
    #[arg(long, value_name = "ISSUE")]
    pub issue: Option<IssueRef>,
    /// Only those that this actor runs or ran last
    #[arg(long, value_name = "NAME")]
    pub holder: Option<String>,
    /// Only those that can be claimed, in the order of claiming
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub runnable: bool,
    /// Archived ones too
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

/// Show a loop and its descendants
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub id: LoopRef,
}

op!(Tree => Vec<Branch>, "loop.tree", get("/loops/{id}/tree"), Read);

/// Claim the next runnable loop and start it; null if there is none
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Claim {
    /// Only one of this type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    #[serde(alias = "type")]
    pub loop_type: Option<LoopType>,
    /// The machine that runs it
    #[arg(skip)]
    pub host: Option<String>,
    /// The process that runs it [default: the one that called pn]
    #[arg(long, value_name = "PID")]
    pub pid: Option<i64>,
}

op!(Claim => Option<Loop>, "loop.claim", post("/loops/claim"), Write);

/// Begin the next iteration of a running loop: count it, and create its directory
///
/// Returns the directory, local/loops/ID/iterations/NNN in the store; the link `current` next to it points there. The
/// given files are stored there; others can be added later.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Iterate {
    /// Which loop: its id, or the beginning of it
    #[arg(value_name = "LOOP")]
    pub id: LoopRef,
    /// Its progress, in words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// The files of the iteration
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
    /// Why there is none, and which files were not stored
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
            /// Its progress, in words
            #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
            pub progress: Option<String>,
            $($(#[$fdoc])* pub $field: $type,)*
        }

        op!($name => Loop, $text, post($route), Write);
    )*};
}

moves! {
    /// Start a pending loop whose parent is complete
    Start "loop.start" "/loops/{id}/start" {
        /// The machine that runs it
        #[arg(skip)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The process that runs it [default: the one that called pn]
        #[arg(long, value_name = "PID")]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<i64>,
    }
    /// Pause a running loop
    Pause "loop.pause" "/loops/{id}/pause" {}
    /// Resume a paused or rebased loop; the caller becomes its runner
    Resume "loop.resume" "/loops/{id}/resume" {
        /// The machine that runs it
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
    /// Submit the result of a loop for approval
    Submit "loop.submit" "/loops/{id}/submit" {
        /// A file it produced; may be given again
        #[arg(long = "output", value_name = "FILE")]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<String>,
    }
    /// Reject the result of a loop that awaits approval; it runs again
    Reject "loop.reject" "/loops/{id}/reject" {}
    /// Complete a loop, so that its children can be claimed
    Complete "loop.complete" "/loops/{id}/complete" {
        /// A file it produced; may be given again
        #[arg(long = "output", value_name = "FILE")]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<String>,
    }
    /// Mark a loop as failed
    Fail "loop.fail" "/loops/{id}/fail" {}
    /// Archive a loop that has ended; its directory moves to local/archive
    Archive "loop.archive" "/loops/{id}/archive" {}
}

/// Maximum number of loops that one approval may create.
pub const MAX_CHILDREN: usize = 10_000;

/// Approve the result of a loop and create its child loops, all in one transaction
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
    /// The child loops to create
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Create>,
}

op!(Approve => Approved, "loop.approve", post("/loops/{id}/approve"), Write);

/// A complete loop and its new children.
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

/// An invalidated loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Invalidated {
    #[serde(flatten)]
    pub subject: Loop,
    /// All invalidated loops, including this one
    pub invalidated: Vec<LoopId>,
    /// The signal that was sent to running loops, if any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
}
