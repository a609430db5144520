//! Finds transcripts below a directory, and reads the small files beside them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use pensa_core::similar::hash64;
use pensa_core::{Code, Error, Result};
use serde_json::{Map, Value, json};

use super::{Transcript, TranscriptTool, codex, opencode};
use crate::files::{self, JsonFile};

/// Deepest directory below the given one.
const MAX_DEPTH: usize = 8;
/// Most files that are looked at.
const MAX_FILES: usize = 200_000;
/// Size limit of a file beside transcripts.
const MAX_BESIDE: u64 = 16 << 20;
/// Length of the time in the name of a transcript of Codex: `2026-01-02T03-04-05-`.
const CODEX_TIME_CHARS: usize = 20;

/// The transcripts of a tool in a directory and below, or in a file: those of conversations before those of their
/// subagents, and older ones before those that were forked from them.
pub fn find(tool: TranscriptTool, path: &Path) -> Result<Vec<Transcript>> {
    let meta = fs::metadata(path).map_err(|e| unreadable(path, &e))?;
    if tool == TranscriptTool::Opencode {
        let database = if meta.is_dir() { path.join("opencode.db") } else { path.to_owned() };
        return opencode::find(&database);
    }
    let mut found = Vec::new();
    if meta.is_file() {
        // The one who named it may have named a link.
        let path = path.canonicalize().map_err(|e| unreadable(path, &e))?;
        found.extend(transcript(tool, &path, true));
        let subagents = path.with_extension("").join("subagents");
        if tool == TranscriptTool::ClaudeCode && subagents.is_dir() {
            walk(tool, &subagents, 1, &mut found)?;
        }
    } else {
        walk(tool, path, 0, &mut found)?;
    }
    let names = match tool {
        TranscriptTool::Codex => codex_names(path),
        _ => HashMap::new(),
    };
    for one in &mut found {
        one.title = names.get(codex::thread_of(&one.id)).cloned().or(one.title.take());
    }
    found.sort_by(|a, b| order(a).cmp(&order(b)));
    Ok(found)
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::not_found("file or directory", path.display()),
        _ => Error::new(Code::Internal, format!("cannot read {}: {error}", path.display())),
    }
}

/// Subagents last; else by the name of the file, which begins with the time where forks are made.
fn order(transcript: &Transcript) -> (bool, Option<&OsStr>, &Path) {
    let path = transcript.path.as_path();
    let is_subagent = path.parent().and_then(Path::file_name).is_some_and(|name| name == "subagents")
        || path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    let by_name = transcript.tool == TranscriptTool::Codex;
    (is_subagent, path.file_name().filter(|_| by_name), path)
}

fn walk(tool: TranscriptTool, dir: &Path, depth: usize, found: &mut Vec<Transcript>) -> Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(e) if depth > 0 && e.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        entries => entries.map_err(|e| unreadable(dir, &e))?,
    };
    for entry in entries {
        let entry = entry.map_err(|e| unreadable(dir, &e))?;
        // Links are not followed: they could lead anywhere.
        let kind = entry.file_type().map_err(|e| unreadable(&entry.path(), &e))?;
        if kind.is_dir() && depth < MAX_DEPTH {
            walk(tool, &entry.path(), depth + 1, found)?;
        } else if kind.is_file() && found.len() < MAX_FILES {
            found.extend(transcript(tool, &entry.path(), false));
        }
    }
    Ok(())
}

/// The transcript in a file, if it is one. A file that was named is one whatever its name is.
fn transcript(tool: TranscriptTool, path: &Path, is_named: bool) -> Option<Transcript> {
    let name = path.file_name()?.to_str()?;
    let dir = path.parent();
    let dir_name = dir.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let id = match tool {
        TranscriptTool::ClaudeCode => claude_code_id(name.strip_suffix(".jsonl")?, dir),
        TranscriptTool::Codex => {
            let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?;
            let rest = stem.strip_prefix("rollout-").filter(|_| stem.len() > CODEX_TIME_CHARS + "rollout-".len());
            if rest.is_none() && !is_named {
                return None;
            }
            rest.and_then(|rest| rest.get(CODEX_TIME_CHARS..)).unwrap_or(stem).to_owned()
        }
        TranscriptTool::Gemini => {
            let stem = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"))?;
            let is_chat = path.components().any(|part| part.as_os_str() == "chats");
            if !is_named && !is_chat {
                return None;
            }
            // A transcript that was migrated stays beside its successor.
            if name.ends_with(".json") && path.with_extension("jsonl").exists() {
                return None;
            }
            stem.to_owned()
        }
        TranscriptTool::Copilot if name == "events.jsonl" => dir_name.clone()?,
        TranscriptTool::Copilot => name.strip_suffix(".jsonl")?.to_owned(),
        TranscriptTool::Opencode => return None,
    };
    let meta = fs::metadata(path).ok()?;
    let (size, changed_at) = (meta.len(), files::written_at(&meta));
    let id =
        if is_unique(&id) { id } else { format!("{id}-{:08x}", hash64(path.as_os_str().as_encoded_bytes()) >> 32) };
    let mut found =
        Transcript { tool, path: path.to_owned(), id, title: None, cwd: None, facts: Map::new(), size, changed_at };
    match tool {
        TranscriptTool::ClaudeCode => found.add_agent_meta(),
        TranscriptTool::Copilot => found.add_workspace(),
        TranscriptTool::Gemini => found.cwd = project_root(path),
        TranscriptTool::Codex | TranscriptTool::Opencode => {}
    }
    Some(found)
}

/// The session of a transcript, and the agent in one of a subagent: `<session>/<agent>`.
fn claude_code_id(stem: &str, dir: Option<&Path>) -> String {
    let agent = stem.strip_prefix("agent-");
    let session = dir.filter(|dir| dir.file_name().is_some_and(|name| name == "subagents")).and_then(Path::parent);
    match (agent, session.and_then(Path::file_name)) {
        (Some(agent), Some(session)) => format!("{}/{agent}", session.to_string_lossy()),
        _ => stem.to_owned(),
    }
}

/// Whether a name is unlikely to be given twice: it has a part of eight or more hexadecimal digits.
fn is_unique(id: &str) -> bool {
    id.split(['-', '/', '_']).any(|part| part.len() >= 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The names that Codex keeps in `session_index.jsonl`, the last for each thread.
fn codex_names(path: &Path) -> HashMap<String, String> {
    let mut names = HashMap::new();
    let Some(file) =
        path.ancestors().take(MAX_DEPTH).find_map(|dir| files::open(&dir.join("session_index.jsonl")).ok()?)
    else {
        return names;
    };
    for line in BufReader::new(file.take(MAX_BESIDE)).split(b'\n').map_while(|line| line.ok()) {
        let Ok(record) = files::object(&line) else { continue };
        if let (Some(id), Some(name)) = (record["id"].as_str(), record["thread_name"].as_str()) {
            names.insert(id.to_owned(), name.to_owned());
        }
    }
    names
}

/// The directory of a project of Gemini: `tmp/<project>/.project_root`.
fn project_root(path: &Path) -> Option<String> {
    let project = path.ancestors().skip_while(|dir| dir.file_name().is_none_or(|name| name != "chats")).nth(1)?;
    let mut text = String::new();
    files::open(&project.join(".project_root")).ok()??.take(4096).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|root| !root.is_empty())
}

impl Transcript {
    /// Adds what Claude Code notes beside the transcript of a subagent.
    fn add_agent_meta(&mut self) {
        if let Ok(JsonFile::Object(meta)) = files::read(&self.path.with_extension("meta.json")) {
            self.title = meta.get("description").and_then(Value::as_str).map(str::to_owned);
            for (name, field) in [("agent_type", "agentType"), ("worktree", "worktreePath")] {
                self.facts.extend(meta.get(field).map(|value| (name.to_owned(), value.clone())));
            }
        }
    }

    /// Adds what Copilot notes in `workspace.yaml`, one `name: value` a line.
    fn add_workspace(&mut self) {
        let file = files::open(&self.path.with_file_name("workspace.yaml")).ok().flatten();
        let mut text = String::new();
        if file.is_none_or(|file| file.take(MAX_BESIDE).read_to_string(&mut text).is_err()) {
            return;
        }
        for (name, value) in text.lines().filter_map(|line| line.split_once(": ")) {
            let value = value.trim().trim_matches(['"', '\'']).to_owned();
            match name {
                _ if value.is_empty() || value == "null" => {}
                "cwd" => self.cwd = Some(value),
                "summary" | "name" => self.title = Some(value),
                "branch" | "repository" | "git_root" => drop(self.facts.insert(name.to_owned(), json!(value))),
                _ => {}
            }
        }
    }
}
