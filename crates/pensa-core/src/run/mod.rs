//! The run: one execution of agent software in a repository.
//!
//! [`apply`] is the only function that changes its status. The host starts and watches the processes.

mod harness;
mod process;
mod transition;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::closed_enum::closed_enum;
use crate::entity;
use crate::error::{Code, Error, Result};
use crate::id::{HarnessId, IssueId, RepoId, RunId, RuntimeId, SessionId, WorkspaceId};
use crate::text;
use crate::time::Timestamp;

pub use harness::{Harness, HarnessName, Runtime, RuntimeName};
pub use process::{Mux, MuxWindow, Process};
pub use transition::{RunEnd, RunTransition, apply};

closed_enum! {
    /// The status of a run.
    RunStatus "invalid status of a run: {:?}" {
        /// Its command is not running yet
        Created "created",
        Running "running",
        Failed "failed",
        Succeeded "succeeded",
        Cancelled "cancelled",
    }
}

impl RunStatus {
    /// Whether the run has ended.
    pub fn is_over(self) -> bool {
        !matches!(self, RunStatus::Created | RunStatus::Running)
    }
}

closed_enum! {
    /// How the work of a run is delivered.
    Delivery "invalid delivery: {:?}" {
        /// A pull request
        Pr "pr",
        Branch "branch",
        Patch "patch",
    }
}

/// Labels that the caller defines, by name.
pub type Labels = BTreeMap<String, String>;

/// The task with which a run was launched.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// The prompt of the agent
    #[serde(default)]
    pub prompt: String,
    pub branch: Option<String>,
    pub delivery: Option<Delivery>,
    /// How many runs were launched together
    pub instances: i64,
    #[serde(default)]
    pub labels: Labels,
    /// Whether it may use a browser
    pub browser_automation: bool,
    pub browser_profile: Option<String>,
    pub chatgpt_username: Option<String>,
    pub codex_workspace: Option<String>,
}

/// Maximum number of labels of a run.
const MAX_LABELS: usize = 100;
/// Maximum number of runs that are launched together.
const MAX_INSTANCES: i64 = 1000;

impl Task {
    /// Refuses invalid or oversized fields.
    pub fn check(&self) -> Result<()> {
        text::fits_block("prompt", &self.prompt)?;
        if self.prompt.contains('\0') {
            return Err(Error::invalid("a prompt has no NUL characters"));
        }
        if !(1..=MAX_INSTANCES).contains(&self.instances) {
            return Err(Error::invalid(format!("instances is {}, not 1 to {MAX_INSTANCES}", self.instances)));
        }
        if self.labels.len() > MAX_LABELS {
            return Err(Error::new(Code::TooLarge, format!("more than {MAX_LABELS} labels")));
        }
        for (name, value) in &self.labels {
            text::line("the name of a label", name)?;
            text::fits_line("the value of a label", value)?;
        }
        Ok(())
    }
}

/// One concrete execution.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    pub id: RunId,
    pub status: RunStatus,
    pub repo_id: RepoId,
    pub workspace_id: Option<WorkspaceId>,
    pub harness_id: HarnessId,
    /// The agent software: `claude-code@2.1`
    pub harness: HarnessName,
    pub runtime_id: RuntimeId,
    /// Where it runs: `local`, `nosandbox`, `devcontainer:PATH`
    pub runtime: RuntimeName,
    /// The issue it works on
    pub issue_id: Option<IssueId>,
    /// Its session
    pub session_id: Option<SessionId>,
    /// The group that runs launched together share
    pub group: Option<String>,
    pub actor: String,
    /// The program and its arguments
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(flatten)]
    pub task: Task,
    /// Its machine
    pub host: Option<String>,
    /// The command's process
    pub agent: Option<Process>,
    /// The process that supervises it
    pub supervisor: Option<Process>,
    #[serde(flatten)]
    pub mux: MuxWindow,
    pub log_path: Option<String>,
    /// Its private working directory
    pub workspace_path: Option<String>,
    #[serde(flatten)]
    pub end: RunEnd,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

entity!(Run: "run" in "runs", keys 1, derived [harness, runtime] {
    id, repo_id, workspace_id, harness_id, runtime_id, issue_id, session_id, group_id = group, actor, command: List,
    prompt, branch, delivery, instances: Int, labels: Object, browser_automation: Bool, browser_profile,
    chatgpt_username, codex_workspace, host, pid_agent: Int = agent.pid, agent_born = agent.born,
    pid_supervisor: Int = supervisor.pid, supervisor_born = supervisor.born, multiplexer_kind, mux_session,
    mux_window: Int, pane_left, pane_right, log_path, workspace_path, status, exit_code: Int, signal: Int, reason,
    started_at, ended_at, updated_at,
});

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn enum_words_are_the_same_in_json_and_on_the_command_line() {
        for status in RunStatus::ALL {
            assert_eq!(serde_json::json!(status), status.as_str());
            assert_eq!(status.as_str().parse::<RunStatus>().expect("known"), status);
            assert_eq!(status.to_possible_value().expect("shown").get_name(), status.as_str());
        }
        for delivery in Delivery::ALL {
            assert_eq!(serde_json::json!(delivery), delivery.as_str());
            assert_eq!(delivery.as_str().parse::<Delivery>().expect("known"), delivery);
        }
        assert!("done".parse::<RunStatus>().is_err() && "mail".parse::<Delivery>().is_err());
    }

    #[test]
    fn invalid_tasks_are_refused() {
        let task = |prompt: &str, instances: i64, labels: &[(&str, &str)]| Task {
            prompt: prompt.to_owned(),
            branch: None,
            delivery: None,
            instances,
            labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            browser_automation: true,
            browser_profile: None,
            chatgpt_username: None,
            codex_workspace: None,
        };
        assert!(task("do\nit", 1, &[("a", ""), ("b", "c=d")]).check().is_ok());
        for bad in [task("", 0, &[]), task("", 1001, &[]), task("a\0", 1, &[]), task("", 1, &[("", "x")])] {
            assert_eq!(bad.check().expect_err("refused").code, Code::InvalidInput, "{bad:?}");
        }
        let many: Vec<String> = (0..=MAX_LABELS).map(|at| at.to_string()).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
        assert_eq!(task("", 1, &many).check().expect_err("many").code, Code::TooLarge);
    }
}
