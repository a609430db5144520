//! The table of agents: how each is detected, and which files it gets.

use pensa_core::{Code, Error, Result, text};
use serde_json::{Value, json};

use super::content::{OPENCODE_PLUGIN, PI_EXTENSION, SKILL};
use super::jsonc::{JsonPart, OUR_COMMAND};

/// The name of the server and the skill.
pub(super) const SERVER_NAME: &str = "pensa";
/// How long an agent lets a hook run, in seconds; `pn hook` ends earlier by itself.
const HOOK_SECONDS: u32 = 5;

/// An agent that `pn setup` knows.
#[derive(Debug)]
pub struct AgentSoftware {
    /// Its name in commands
    pub name: &'static str,
    pub title: &'static str,
    /// Programs on the PATH that show it is installed
    pub programs: &'static [&'static str],
    /// Paths in a repository that show it is used there
    pub(super) used: &'static [&'static str],
    /// Paths in the home directory that show it is installed
    pub(super) installed: &'static [&'static str],
    /// What it gets in a repository
    pub(super) project: &'static [(&'static str, SetupPart)],
    /// What it gets in the home directory, for all projects
    pub(super) home: &'static [(&'static str, SetupPart)],
    /// How it talks to hooks
    pub answers: AnswerFormat,
}

/// What is put into a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum SetupPart {
    /// A section that says how work is tracked
    Section,
    /// A line that includes AGENTS.md
    Import,
    /// A file that is ours as a whole
    Owned(&'static str),
    Hooks(&'static HookFormat),
    Server(&'static ServerFormat),
    TomlServer,
    AiderRead,
}

/// How an agent configures hooks, in JSON.
#[derive(Debug)]
pub(super) struct HookFormat {
    agent: &'static str,
    /// The names of the objects around the events
    path: &'static [&'static str],
    events: &'static [&'static str],
    /// The event after a tool was used, and the tools that change files
    after_edit: Option<(&'static str, &'static str)>,
    /// Each item of an event is an object with a list of hooks
    is_grouped: bool,
    command_key: &'static str,
    timeout: (&'static str, u32),
    has_type: bool,
    /// A new file before the hooks
    new: &'static str,
}

/// How an agent configures MCP servers, in JSON.
#[derive(Debug)]
pub(super) struct ServerFormat {
    path: &'static [&'static str],
    value: fn() -> Value,
}

/// How an agent wants the answer of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerFormat {
    /// `hookSpecificOutput.additionalContext`, and `decision` at a stop
    Claude,
    /// The same, without a decision
    Gemini,
    /// `additional_context` and `env`, and `followup_message` at a stop
    Cursor,
    /// `additionalContext`
    Copilot,
    /// `injectSteps`
    Antigravity,
    /// `context`, for plugins of ours
    Plugin,
    /// It has no hooks
    None,
}

const EMPTY: &str = "{}\n";
const VERSION_1: &str = "{\n  \"version\": 1\n}\n";

const CLAUDE_HOOKS: HookFormat = HookFormat {
    agent: "claude",
    path: &["hooks"],
    events: &["SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"],
    after_edit: Some(("PostToolUse", "Edit|Write|MultiEdit|NotebookEdit")),
    is_grouped: true,
    command_key: "command",
    timeout: ("timeout", HOOK_SECONDS),
    has_type: true,
    new: EMPTY,
};
const CODEX_HOOKS: HookFormat = HookFormat {
    agent: "codex",
    events: &["SessionStart", "UserPromptSubmit", "PreCompact", "Stop"],
    after_edit: Some(("PostToolUse", "apply_patch|Edit|Write")),
    ..CLAUDE_HOOKS
};
const DROID_HOOKS: HookFormat = HookFormat {
    agent: "droid",
    after_edit: Some(("PostToolUse", "Edit|Write|MultiEdit|Create|ApplyPatch")),
    ..CLAUDE_HOOKS
};
const GEMINI_HOOKS: HookFormat = HookFormat {
    agent: "gemini",
    events: &["SessionStart", "BeforeAgent", "PreCompress", "SessionEnd"],
    after_edit: Some(("AfterTool", "write_file|replace")),
    // In milliseconds.
    timeout: ("timeout", HOOK_SECONDS * 1_000),
    ..CLAUDE_HOOKS
};
const CURSOR_HOOKS: HookFormat = HookFormat {
    agent: "cursor",
    events: &["sessionStart", "preCompact", "stop", "sessionEnd"],
    after_edit: None,
    is_grouped: false,
    has_type: false,
    new: VERSION_1,
    ..CLAUDE_HOOKS
};
const COPILOT_HOOKS: HookFormat = HookFormat {
    agent: "copilot",
    events: &["sessionStart", "sessionEnd"],
    after_edit: None,
    is_grouped: false,
    command_key: "bash",
    timeout: ("timeoutSec", HOOK_SECONDS),
    new: VERSION_1,
    ..CLAUDE_HOOKS
};
const ANTIGRAVITY_HOOKS: HookFormat = HookFormat {
    agent: "antigravity",
    path: &[SERVER_NAME],
    events: &["PreInvocation"],
    after_edit: None,
    is_grouped: false,
    ..CLAUDE_HOOKS
};

const SERVERS: ServerFormat =
    ServerFormat { path: &["mcpServers"], value: || json!({"command": "pn", "args": ["mcp"]}) };
const TYPED_SERVERS: ServerFormat =
    ServerFormat { path: &["mcpServers"], value: || json!({"type": "stdio", "command": "pn", "args": ["mcp"]}) };
const AMP_SERVERS: ServerFormat = ServerFormat { path: &["amp.mcpServers"], ..SERVERS };
const ZED_SERVERS: ServerFormat =
    ServerFormat { path: &["context_servers"], value: || json!({"command": "pn", "args": ["mcp"], "env": {}}) };
const OPENCODE_SERVERS: ServerFormat =
    ServerFormat { path: &["mcp"], value: || json!({"type": "local", "command": ["pn", "mcp"], "enabled": true}) };

const SECTION: (&str, SetupPart) = ("AGENTS.md", SetupPart::Section);
const SHARED_SKILL: (&str, SetupPart) = (".agents/skills/pensa/SKILL.md", SetupPart::Owned(SKILL));

/// All agents.
pub static AGENTS: [AgentSoftware; 18] = [
    AgentSoftware {
        name: "claude",
        title: "Claude Code",
        programs: &["claude"],
        used: &["CLAUDE.md", ".claude"],
        installed: &[".claude", ".claude.json"],
        project: &[
            SECTION,
            ("CLAUDE.md", SetupPart::Import),
            (".claude/skills/pensa/SKILL.md", SetupPart::Owned(SKILL)),
            (".claude/settings.json", SetupPart::Hooks(&CLAUDE_HOOKS)),
            (".mcp.json", SetupPart::Server(&SERVERS)),
        ],
        home: &[
            (".claude/CLAUDE.md", SetupPart::Section),
            (".claude/skills/pensa/SKILL.md", SetupPart::Owned(SKILL)),
            (".claude/settings.json", SetupPart::Hooks(&CLAUDE_HOOKS)),
        ],
        answers: AnswerFormat::Claude,
    },
    AgentSoftware {
        name: "codex",
        title: "Codex",
        programs: &["codex"],
        used: &[".codex"],
        installed: &[".codex"],
        project: &[
            SECTION,
            SHARED_SKILL,
            (".codex/hooks.json", SetupPart::Hooks(&CODEX_HOOKS)),
            (".codex/config.toml", SetupPart::TomlServer),
        ],
        home: &[
            (".codex/AGENTS.md", SetupPart::Section),
            SHARED_SKILL,
            (".codex/hooks.json", SetupPart::Hooks(&CODEX_HOOKS)),
            (".codex/config.toml", SetupPart::TomlServer),
        ],
        answers: AnswerFormat::Claude,
    },
    AgentSoftware {
        name: "antigravity",
        title: "Antigravity",
        programs: &["agy", "antigravity"],
        used: &[".agents/hooks.json", ".agents/mcp_config.json"],
        installed: &[".gemini/antigravity", ".gemini/antigravity-cli"],
        project: &[
            SECTION,
            SHARED_SKILL,
            (".agents/hooks.json", SetupPart::Hooks(&ANTIGRAVITY_HOOKS)),
            (".agents/mcp_config.json", SetupPart::Server(&SERVERS)),
        ],
        home: &[
            (".gemini/GEMINI.md", SetupPart::Section),
            (".gemini/config/hooks.json", SetupPart::Hooks(&ANTIGRAVITY_HOOKS)),
            (".gemini/config/mcp_config.json", SetupPart::Server(&SERVERS)),
        ],
        answers: AnswerFormat::Antigravity,
    },
    AgentSoftware {
        name: "gemini",
        title: "Gemini CLI",
        programs: &["gemini"],
        used: &["GEMINI.md", ".gemini"],
        installed: &[".gemini/settings.json"],
        project: &[
            SECTION,
            ("GEMINI.md", SetupPart::Import),
            (".gemini/skills/pensa/SKILL.md", SetupPart::Owned(SKILL)),
            (".gemini/settings.json", SetupPart::Hooks(&GEMINI_HOOKS)),
            (".gemini/settings.json", SetupPart::Server(&SERVERS)),
        ],
        home: &[
            (".gemini/GEMINI.md", SetupPart::Section),
            (".gemini/skills/pensa/SKILL.md", SetupPart::Owned(SKILL)),
            (".gemini/settings.json", SetupPart::Hooks(&GEMINI_HOOKS)),
            (".gemini/settings.json", SetupPart::Server(&SERVERS)),
        ],
        answers: AnswerFormat::Gemini,
    },
    AgentSoftware {
        name: "cursor",
        title: "Cursor",
        programs: &["cursor", "cursor-agent"],
        used: &[".cursor", ".cursorrules"],
        installed: &[".cursor"],
        project: &[
            SECTION,
            (".cursor/skills/pensa/SKILL.md", SetupPart::Owned(SKILL)),
            (".cursor/hooks.json", SetupPart::Hooks(&CURSOR_HOOKS)),
            (".cursor/mcp.json", SetupPart::Server(&SERVERS)),
        ],
        home: &[
            (".cursor/skills/pensa/SKILL.md", SetupPart::Owned(SKILL)),
            (".cursor/hooks.json", SetupPart::Hooks(&CURSOR_HOOKS)),
            (".cursor/mcp.json", SetupPart::Server(&SERVERS)),
        ],
        answers: AnswerFormat::Cursor,
    },
    AgentSoftware {
        name: "copilot",
        title: "Copilot CLI",
        programs: &["copilot"],
        used: &[".github/copilot-instructions.md", ".github/skills"],
        installed: &[".copilot"],
        project: &[
            SECTION,
            (".github/skills/pensa/SKILL.md", SetupPart::Owned(SKILL)),
            (".github/hooks/pensa.json", SetupPart::Hooks(&COPILOT_HOOKS)),
            (".mcp.json", SetupPart::Server(&SERVERS)),
        ],
        home: &[(".copilot/mcp-config.json", SetupPart::Server(&SERVERS))],
        answers: AnswerFormat::Copilot,
    },
    AgentSoftware {
        name: "opencode",
        title: "opencode",
        programs: &["opencode"],
        used: &[".opencode", "opencode.json"],
        installed: &[".config/opencode"],
        project: &[
            SECTION,
            (".opencode/skills/pensa/SKILL.md", SetupPart::Owned(SKILL)),
            (".opencode/plugins/pensa.ts", SetupPart::Owned(OPENCODE_PLUGIN)),
            ("opencode.json", SetupPart::Server(&OPENCODE_SERVERS)),
        ],
        home: &[
            (".config/opencode/AGENTS.md", SetupPart::Section),
            (".config/opencode/skills/pensa/SKILL.md", SetupPart::Owned(SKILL)),
            (".config/opencode/plugins/pensa.ts", SetupPart::Owned(OPENCODE_PLUGIN)),
            (".config/opencode/opencode.json", SetupPart::Server(&OPENCODE_SERVERS)),
        ],
        answers: AnswerFormat::Plugin,
    },
    AgentSoftware {
        name: "pi",
        title: "Pi",
        programs: &["pi"],
        used: &[".pi"],
        installed: &[".pi"],
        project: &[SECTION, SHARED_SKILL, (".pi/extensions/pensa.ts", SetupPart::Owned(PI_EXTENSION))],
        home: &[
            (".pi/agent/AGENTS.md", SetupPart::Section),
            (".pi/agent/extensions/pensa.ts", SetupPart::Owned(PI_EXTENSION)),
        ],
        answers: AnswerFormat::Plugin,
    },
    AgentSoftware {
        name: "goose",
        title: "Goose",
        programs: &["goose"],
        used: &[".goosehints", ".goose"],
        installed: &[".config/goose"],
        project: &[SECTION, SHARED_SKILL],
        home: &[(".config/goose/.goosehints", SetupPart::Section), SHARED_SKILL],
        answers: AnswerFormat::None,
    },
    AgentSoftware {
        name: "amp",
        title: "Amp",
        programs: &["amp"],
        used: &[".amp"],
        installed: &[".config/amp"],
        project: &[SECTION, SHARED_SKILL, (".amp/settings.json", SetupPart::Server(&AMP_SERVERS))],
        home: &[
            (".config/amp/AGENTS.md", SetupPart::Section),
            (".config/amp/settings.json", SetupPart::Server(&AMP_SERVERS)),
        ],
        answers: AnswerFormat::None,
    },
    AgentSoftware {
        name: "zed",
        title: "Zed",
        programs: &["zed", "zeditor"],
        used: &[".zed"],
        installed: &[".config/zed"],
        project: &[SECTION, SHARED_SKILL, (".zed/settings.json", SetupPart::Server(&ZED_SERVERS))],
        home: &[(".config/zed/settings.json", SetupPart::Server(&ZED_SERVERS))],
        answers: AnswerFormat::None,
    },
    AgentSoftware {
        name: "cline",
        title: "Cline",
        programs: &["cline"],
        used: &[".clinerules", ".cline"],
        installed: &[".cline"],
        project: &[SECTION, SHARED_SKILL],
        home: &[],
        answers: AnswerFormat::None,
    },
    AgentSoftware {
        name: "windsurf",
        title: "Windsurf",
        programs: &["windsurf"],
        used: &[".windsurf", ".windsurfrules"],
        installed: &[".codeium/windsurf"],
        project: &[SECTION],
        home: &[
            (".codeium/windsurf/memories/global_rules.md", SetupPart::Section),
            (".codeium/windsurf/mcp_config.json", SetupPart::Server(&SERVERS)),
        ],
        answers: AnswerFormat::None,
    },
    AgentSoftware {
        name: "kiro",
        title: "Kiro",
        programs: &["kiro", "kiro-cli"],
        used: &[".kiro"],
        installed: &[".kiro"],
        project: &[SECTION, (".kiro/settings/mcp.json", SetupPart::Server(&SERVERS))],
        home: &[(".kiro/settings/mcp.json", SetupPart::Server(&SERVERS))],
        answers: AnswerFormat::None,
    },
    AgentSoftware {
        name: "junie",
        title: "Junie",
        programs: &["junie"],
        used: &[".junie"],
        installed: &[".junie"],
        project: &[(".junie/guidelines.md", SetupPart::Section), (".junie/mcp/mcp.json", SetupPart::Server(&SERVERS))],
        home: &[(".junie/mcp/mcp.json", SetupPart::Server(&SERVERS))],
        answers: AnswerFormat::None,
    },
    AgentSoftware {
        name: "aider",
        title: "Aider",
        programs: &["aider"],
        used: &[".aider.conf.yml"],
        installed: &[".aider.conf.yml", ".aider"],
        project: &[SECTION, (".aider.conf.yml", SetupPart::AiderRead)],
        home: &[],
        answers: AnswerFormat::None,
    },
    AgentSoftware {
        name: "droid",
        title: "Factory",
        programs: &["droid"],
        used: &[".factory"],
        installed: &[".factory"],
        project: &[
            SECTION,
            (".factory/settings.json", SetupPart::Hooks(&DROID_HOOKS)),
            (".factory/mcp.json", SetupPart::Server(&TYPED_SERVERS)),
        ],
        home: &[
            (".factory/AGENTS.md", SetupPart::Section),
            (".factory/settings.json", SetupPart::Hooks(&DROID_HOOKS)),
            (".factory/mcp.json", SetupPart::Server(&TYPED_SERVERS)),
        ],
        answers: AnswerFormat::Claude,
    },
    AgentSoftware {
        name: "kilocode",
        title: "Kilo Code",
        programs: &["kilocode", "kilo"],
        used: &[".kilocode", ".kilo"],
        installed: &[".kilocode", ".config/kilo"],
        project: &[SECTION, (".kilocode/mcp.json", SetupPart::Server(&SERVERS))],
        home: &[],
        answers: AnswerFormat::None,
    },
];

impl AgentSoftware {
    /// The agent with a name, in any case; names of programs count too.
    pub fn find(name: &str) -> Result<&'static Self> {
        let wanted = name.to_lowercase();
        let is_named = |agent: &&Self| agent.name == wanted || agent.programs.contains(&wanted.as_str());
        AGENTS.iter().find(is_named).ok_or_else(|| {
            let names = || AGENTS.iter().map(|agent| agent.name);
            let hint = match text::nearest(&wanted, names()) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => format!("one of {}", names().collect::<Vec<_>>().join(", ")),
            };
            Error::new(Code::NotFound, format!("agent software not found: {name}")).hint(hint)
        })
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl HookFormat {
    pub(super) fn new_file(&self) -> &'static str {
        self.new
    }

    /// One item for each event.
    pub(super) fn parts(&self) -> Vec<JsonPart> {
        let after_edit = self.after_edit.map(|(event, tools)| self.part(event, Some(tools)));
        self.events.iter().map(|event| self.part(event, None)).chain(after_edit).collect()
    }

    fn part(&self, event: &str, tools: Option<&str>) -> JsonPart {
        let mut hook = serde_json::Map::new();
        if self.has_type {
            hook.insert("type".to_owned(), json!("command"));
        }
        // Without pn on a machine the agent goes on as if there were no hook.
        let command = format!("{OUR_COMMAND}{event} --agent {} 2>/dev/null || true", self.agent);
        hook.insert(self.command_key.to_owned(), json!(command));
        hook.insert(self.timeout.0.to_owned(), json!(self.timeout.1));
        let value = match tools {
            Some(tools) if self.is_grouped => json!({"matcher": tools, "hooks": [hook]}),
            None if self.is_grouped => json!({"hooks": [hook]}),
            _ => Value::Object(hook),
        };
        JsonPart::Item { path: [owned(self.path), vec![event.to_owned()]].concat(), value }
    }
}

impl ServerFormat {
    pub(super) fn new_file(&self) -> &'static str {
        EMPTY
    }

    pub(super) fn part(&self) -> JsonPart {
        JsonPart::Member { path: owned(self.path), name: SERVER_NAME.to_owned(), value: (self.value)() }
    }
}

/// The hooks and the server of the Claude Code plugin.
pub(super) fn claude_parts() -> (Vec<JsonPart>, JsonPart) {
    (CLAUDE_HOOKS.parts(), SERVERS.part())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_in_any_case() {
        for (at, agent) in AGENTS.iter().enumerate() {
            assert!(AGENTS[at + 1..].iter().all(|other| other.name != agent.name), "{}", agent.name);
            assert_eq!(AgentSoftware::find(&agent.name.to_uppercase()).expect("found").name, agent.name);
            let paths = agent.project.iter().chain(agent.home).map(|(path, _)| path);
            assert!(paths.clone().all(|path| !path.starts_with('/') && !path.contains("..")), "{}", agent.name);
            assert!(!agent.project.is_empty());
        }
        assert_eq!(AgentSoftware::find("agy").expect("by its program").name, "antigravity");
        let error = AgentSoftware::find("cluade").expect_err("a typo");
        assert_eq!(error.hint.as_deref(), Some("did you mean claude?"));
    }
}
