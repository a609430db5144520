//! Reads conversations of opencode from `~/.local/share/opencode/opencode.db`: tables session, message and part.
//!
//! The database is opened for reading only. A reply is taken once it is complete; cached tokens are not part of `input`,
//! reasoning is not part of `output`.

use std::path::Path;

use pensa_core::{Error, Result, Timestamp};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value, json};

use super::part::{CallOfTool, PartBuilder, text_of};
use super::{PART_BYTES, PartSource, Transcript, TranscriptCursor, TranscriptPart, TranscriptTool, rewritten};
use crate::files::{self, time};

/// How long a reply may stay incomplete. After that its program was killed, and it is taken as it is.
const PATIENCE_MS: i64 = 24 * 3_600_000;

fn unreadable(path: &Path, error: &rusqlite::Error) -> Error {
    Error::invalid(format!("{} cannot be read: {error}", path.display()))
}

/// Opens the database so that nothing in it can do anything.
fn connect(path: &Path) -> Result<Connection> {
    // Refuses links and pipes.
    files::open(path).map_err(Error::invalid)?.ok_or_else(|| Error::not_found("database", path.display()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        connection.busy_timeout(std::time::Duration::from_secs(2))?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    };
    open().map_err(|e| unreadable(path, &e))
}

/// The sessions of a database.
pub(super) fn find(path: &Path) -> Result<Vec<Transcript>> {
    let connection = connect(path)?;
    let read = || -> rusqlite::Result<Vec<Transcript>> {
        let columns = columns(&connection, "session")?;
        let pick =
            |name: &str| if columns.iter().any(|column| column == name) { name.to_owned() } else { "NULL".into() };
        let names = ["parent_id", "title", "directory", "version", "time_updated", "share_url"].map(pick).join(", ");
        let count = "(SELECT COUNT(*) FROM message m WHERE m.session_id = s.id)";
        let sql = format!("SELECT id, {names}, {count} FROM session s ORDER BY time_created, id");
        let mut statement = connection.prepare(&sql)?;
        let rows = statement.query_map([], |row| {
            let text = |at: usize| row.get::<_, Option<String>>(at);
            let mut facts = Map::new();
            for (name, at) in [("parent", 1), ("version", 4), ("share_url", 6)] {
                facts.extend(text(at)?.map(|value| (name.to_owned(), json!(value))));
            }
            Ok(Transcript {
                tool: TranscriptTool::Opencode,
                path: path.to_owned(),
                id: row.get(0)?,
                title: text(2)?,
                cwd: text(3)?,
                facts,
                size: u64::try_from(row.get::<_, i64>(7)?).unwrap_or_default(),
                changed_at: row.get::<_, Option<i64>>(5)?.and_then(|at| Timestamp::from_millis(at).ok()),
            })
        })?;
        rows.collect()
    };
    read().map_err(|e| unreadable(path, &e))
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// A conversation that is being read.
pub(super) struct OpencodeConversation {
    connection: Connection,
    transcript: Transcript,
    lines: u64,
    /// The last message that was taken.
    last: String,
    /// When it was created.
    last_at: i64,
    malformed: Vec<super::MalformedLine>,
}

impl OpencodeConversation {
    pub(super) fn open(transcript: &Transcript, from: TranscriptCursor) -> Result<Self> {
        let connection = connect(&transcript.path)?;
        let mut last_at = i64::MIN;
        if !from.tail.is_empty() {
            let sql = "SELECT time_created FROM message WHERE id = ?1 AND session_id = ?2";
            let found = connection.query_row(sql, [&from.tail, &transcript.id], |row| row.get(0));
            last_at = found.map_err(|_| rewritten(transcript))?;
        }
        let transcript = transcript.clone();
        Ok(Self { connection, transcript, lines: from.lines, last: from.tail, last_at, malformed: Vec::new() })
    }

    /// The next message: its id, when it was created, and what it says.
    fn next_message(&self) -> rusqlite::Result<Option<(String, i64, String)>> {
        let sql = "SELECT id, time_created, data FROM message
             WHERE session_id = ?1 AND (time_created > ?2 OR time_created = ?2 AND id > ?3)
             ORDER BY time_created, id LIMIT 1";
        let values = rusqlite::params![self.transcript.id, self.last_at, self.last];
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        rows.next()?.map(|row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).transpose()
    }

    fn parts(&self, message: &str) -> rusqlite::Result<Vec<String>> {
        let mut statement =
            self.connection.prepare_cached("SELECT data FROM part WHERE message_id = ?1 ORDER BY id")?;
        statement.query_map([message], |row| row.get(0))?.collect()
    }

    fn message(&self, id: &str, message: &Value, parts: &[Value], part: &mut PartBuilder) {
        let thread = self.transcript.id.as_str();
        let at = message.pointer("/time/created").and_then(time);
        if message["role"] == "user" {
            let is_compaction = parts.iter().any(|part| part["type"] == "compaction");
            let said = parts.iter().filter(|part| part["synthetic"] != true).filter_map(said);
            let said = said.collect::<Vec<_>>().join("\n");
            if is_compaction || said.trim().is_empty() {
                return;
            }
            return part.user(thread, at, said);
        }
        let facts = part.thread(thread);
        facts.fact("model", message.get("modelID"));
        facts.fact("cwd", message.pointer("/path/cwd"));
        let texts = parts.iter().filter_map(said).collect::<Vec<_>>().join("\n");
        let is_summary = message["summary"] == true;
        if is_summary {
            part.compact(thread, at, Some(texts.clone()));
        }
        let tools: Vec<&Value> = parts.iter().filter(|part| part["type"] == "tool").collect();
        let call_id = |tool: &Value| tool["callID"].as_str().unwrap_or_default().to_owned();
        let calls = tools.iter().map(|tool| CallOfTool {
            id: call_id(tool),
            name: tool["tool"].as_str().unwrap_or("unknown").to_owned(),
            arguments: tool.pointer("/state/input").cloned().unwrap_or_default(),
        });
        let texts = if is_summary { String::new() } else { texts };
        part.assistant(thread, at, (texts, calls.collect()), usage(id, message), None);
        for tool in tools {
            let (status, output) = (tool.pointer("/state/status"), tool.pointer("/state/output"));
            let is_error = status.is_some_and(|status| status == "error");
            let output = output.or(tool.pointer("/state/error"));
            if let Some(output) = output.map(text_of) {
                let at = tool.pointer("/state/time/end").and_then(time).or(at);
                part.result(thread, at, &call_id(tool), (output, is_error));
            }
        }
        if let Some(error) = message.get("error").filter(|error| error.is_object()) {
            let said = error.pointer("/data/message").or(error.get("name")).map(text_of).unwrap_or_default();
            part.note(thread, at, "error", said);
        }
    }
}

/// The text of a part, or the name of a file.
fn said(part: &Value) -> Option<String> {
    match part["type"].as_str()? {
        "text" => part["text"].as_str().map(str::to_owned),
        "file" => Some(format!("[file {}]", part["filename"].as_str().or(part["mime"].as_str()).unwrap_or_default())),
        _ => None,
    }
}

fn usage(id: &str, message: &Value) -> Option<Value> {
    let tokens = message.get("tokens").filter(|tokens| tokens.is_object())?;
    let count = |path: &str| tokens.pointer(path).and_then(Value::as_f64).map_or(0, |count| count.max(0.0) as i64);
    let (input, output) = (count("/input"), count("/output") + count("/reasoning"));
    let (read, write) = (count("/cache/read"), count("/cache/write"));
    let mut usage = json!({"input": input, "output": output, "cache_read": read, "cache_write": write,
        "total": input + output + read + write});
    if let Some(cost) = message.get("cost").filter(|cost| cost.as_f64().is_some_and(|cost| cost > 0.0)) {
        usage["cost"] = cost.clone();
    }
    let mut said = json!({"id": id, "usage": usage});
    if let Some(model) = message.get("modelID").filter(|model| model.is_string()) {
        said["model"] = model.clone();
    }
    Some(said)
}

impl PartSource for OpencodeConversation {
    fn next_part(&mut self) -> Result<TranscriptPart> {
        let (mut part, mut size, mut is_end) = (PartBuilder::default(), 0, false);
        let failed = |path: &Path, e: rusqlite::Error| unreadable(path, &e);
        while size < PART_BYTES {
            let path = self.transcript.path.clone();
            let Some((id, created, data)) = self.next_message().map_err(|e| failed(&path, e))? else {
                is_end = true;
                break;
            };
            let rows = self.parts(&id).map_err(|e| failed(&path, e))?;
            size += data.len() as u64 + rows.iter().map(|row| row.len() as u64).sum::<u64>();
            match files::object(data.as_bytes()) {
                Ok(message) if message.is_object() => {
                    let is_open = message["role"] == "assistant"
                        && message.pointer("/time/completed").is_none_or(Value::is_null)
                        && message.get("error").is_none();
                    let newest = self.transcript.changed_at.map_or(created, Timestamp::as_millis);
                    if is_open && newest.saturating_sub(created) < PATIENCE_MS {
                        is_end = true;
                        break;
                    }
                    let parts: Vec<Value> = rows.iter().filter_map(|row| files::object(row.as_bytes()).ok()).collect();
                    self.message(&id, &message, &parts, &mut part);
                }
                _ => self.malformed.push(super::MalformedLine {
                    line: self.lines + 1,
                    reason: format!("message {id} is not a JSON object"),
                }),
            }
            (self.last, self.last_at, self.lines) = (id, created, self.lines + 1);
        }
        if let Some(thread) = part.first() {
            let parent = self.transcript.facts.get("parent").and_then(Value::as_str).map(str::to_owned);
            (thread.is_subagent, thread.parent) = (parent.is_some(), parent);
            self.transcript.describe(&mut part);
        }
        let to = TranscriptCursor { bytes: 0, lines: self.lines, tail: self.last.clone(), state: Map::new() };
        Ok(part.finish(to, std::mem::take(&mut self.malformed), is_end))
    }
}
