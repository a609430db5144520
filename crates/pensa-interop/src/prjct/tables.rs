//! Imports the tables of `prjct.db`, of any version. Rows are converted to the form of the JSON files and read like
//! those; unknown tables are stored as documents.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use pensa_core::ops::import::{ImportComment, ImportItem};
use pensa_core::{Timestamp, json};
use serde_json::{Value, json};

use super::fields::{self, JsonFields};
use super::tasks::origin;
use super::{Problem, ProjectReader, RecordKind};
use crate::database::CopiedDatabase;
use crate::daycare::{DaycareAgent, DaycareSession, HistoryEntry, Lifecycle, OpenedBy};
use crate::files::time;

/// Columns that contain JSON as text.
const JSON_COLUMNS: [&str; 12] = [
    "data",
    "tags",
    "depends_on",
    "output",
    "summary",
    "payload",
    "metadata",
    "files_touched",
    "expected_value",
    "metrics",
    "timeline",
    "entity_data",
];

/// Tables that are imported.
const KNOWN: [&str; 17] = [
    "kv_store",
    "tasks",
    "subtasks",
    "queue_tasks",
    "ideas",
    "shipped_features",
    "events",
    "memory",
    "memories",
    "agent_sessions",
    "user_prompts",
    "queue_task_comments",
    "specs",
    "sync_pending",
    "memory_entries",
    "agent_runs",
    "token_usage",
];

/// Parent table, child table, and the column of the child that refers to the parent.
const CHILDREN: [(&str, &str, &str); 6] = [
    ("tasks", "task_tag", "task_id"),
    ("tasks", "task_pipeline_state", "task_id"),
    ("ideas", "idea_tag", "idea_id"),
    ("shipped_features", "shipped_feature_tag", "feature_id"),
    ("agent_runs", "agent_artifact", "agent_run_id"),
    ("subtasks", "subtask_dependency", "subtask_id"),
];

/// Whether a table is a cache or contains only counters.
fn is_cache(table: &str) -> bool {
    let begins = ["index_", "bm25_", "import_graph_", "perf_", "metrics_", "velocity_", "memories_fts", "memory_fts"];
    let whole = ["_migrations", "memory_embeddings", "workflow_rule_cache", "sync_applied_hashes", "sync_cursors"];
    begins.iter().any(|begin| table.starts_with(begin)) || whole.contains(&table) || table.contains("_fts")
}

/// The rows by table. Rows are taken out when they are used.
struct TableRows(BTreeMap<String, Vec<JsonFields>>);

impl TableRows {
    fn take(&mut self, table: &str) -> Vec<JsonFields> {
        self.0.remove(table).unwrap_or_default()
    }

    /// Takes the rows of a table, grouped by the value of a column.
    fn take_grouped(&mut self, table: &str, column: &str) -> HashMap<String, Vec<JsonFields>> {
        let mut groups: HashMap<String, Vec<JsonFields>> = HashMap::new();
        for row in self.take(table) {
            groups.entry(row.get(column).and_then(fields::id_text).unwrap_or_default()).or_default().push(row);
        }
        groups
    }

    /// Takes the rows of a table, each with the rows of its child tables.
    fn take_with_children(&mut self, table: &str) -> Vec<JsonFields> {
        let mut rows = self.take(table);
        for (_, child, column) in CHILDREN.iter().filter(|(parent, ..)| *parent == table) {
            let mut below = self.take_grouped(child, column);
            for row in &mut rows {
                let own = row.get("id").and_then(fields::id_text).and_then(|id| below.remove(&id));
                if let Some(own) = own {
                    row.insert((*child).to_owned(), json!(own));
                }
            }
            // Rows without a parent are stored as a document.
            let others: Vec<JsonFields> = below.into_values().flatten().collect();
            if !others.is_empty() {
                self.0.insert((*child).to_owned(), others);
            }
        }
        rows
    }
}

/// Converts column names to those of the files: `task_id` becomes `taskId`.
fn camel(row: JsonFields) -> JsonFields {
    let name = |name: String| {
        let mut words = name.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |mut all, word| {
            let mut letters = word.chars();
            all.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
            all.push_str(letters.as_str());
            all
        })
    };
    row.into_iter().map(|(column, value)| (name(column), value)).collect()
}

fn id_of(row: &JsonFields) -> Option<String> {
    row.get("id").and_then(fields::id_text)
}

impl ProjectReader {
    pub(super) fn database(&mut self, file: &str, path: &Path) {
        let database = match CopiedDatabase::open(path, &JSON_COLUMNS) {
            Ok(database) => database,
            Err(reason) => return self.add_problem(file, None, reason),
        };
        let tables = match database.tables() {
            Ok(tables) => tables,
            Err(reason) => return self.add_problem(file, None, reason),
        };
        let mut rows = TableRows(BTreeMap::new());
        let mut caches = Vec::new();
        for table in &tables {
            if is_cache(table) {
                caches.push(format!("{table} ({})", database.count(table)));
                continue;
            }
            let (found, problem) = database.rows(table);
            if let Some(reason) = problem {
                self.add_problem(&format!("{file}/{table}"), None, reason);
            }
            rows.0.insert(table.clone(), found);
        }
        if !caches.is_empty() {
            let reason = format!("caches and counters, which are not imported: {}", caches.join(", "));
            self.left_out.push(Problem::of(file, reason));
        }
        let absent: Vec<&str> = KNOWN.into_iter().filter(|name| !tables.iter().any(|t| t == name)).collect();
        if !absent.is_empty() {
            let version = database.version().map_or_else(|| "it".to_owned(), |version| format!("version {version}"));
            self.left_out.push(Problem::of(file, format!("{version} has no tables {}", absent.join(", "))));
        }
        self.tables(file, rows);
    }

    fn tables(&mut self, file: &str, mut rows: TableRows) {
        let has = |rows: &TableRows, table: &str| rows.0.get(table).is_some_and(|rows| !rows.is_empty());
        let typed: BTreeSet<&str> =
            [("state", "tasks"), ("queue", "queue_tasks"), ("ideas", "ideas"), ("shipped", "shipped_features")]
                .into_iter()
                .filter(|(_, table)| has(&rows, table))
                .map(|(key, _)| key)
                .collect();
        self.spec_tables(file, &mut rows);
        self.task_tables(file, &mut rows);
        self.queue_tables(file, &mut rows);
        let ideas = rows.take_with_children("ideas").into_iter().map(camel).collect::<Vec<_>>();
        self.ideas(&format!("{file}/ideas"), json!({ "ideas": ideas }), None);
        self.kv_store(file, &typed, rows.take("kv_store"));
        let shipped = rows.take_with_children("shipped_features").into_iter().map(camel).collect::<Vec<_>>();
        self.shipped(&format!("{file}/shipped_features"), json!({ "shipped": shipped }), None);
        self.comment_table(file, rows.take("queue_task_comments"));
        self.memory_tables(file, &mut rows);
        let events = rows.take("events").into_iter().map(camel).collect();
        self.event_rows(&format!("{file}/events"), events);
        self.session_tables(file, &mut rows);
        let pending = rows.0.get("sync_pending").map_or(0, Vec::len);
        if pending > 0 {
            let reason = format!("{pending} changes wait for a server; they are kept as a document and not sent");
            self.left_out.push(Problem::of(&format!("{file}/sync_pending"), reason));
        }
        for (table, rows) in rows.0 {
            self.row_lines(&format!("{file}/{table}"), &rows);
        }
    }

    /// Stores rows unchanged, as lines.
    fn row_lines(&mut self, file: &str, rows: &[JsonFields]) {
        let mut lines = String::new();
        for row in rows {
            match json::to_line(row) {
                Ok(line) => lines.extend([line.as_str(), "\n"]),
                Err(error) => self.add_problem(file, None, error.message),
            }
        }
        self.add_document(file, lines);
    }

    /// Stores each spec with its criteria, risks and reviews as one document.
    fn spec_tables(&mut self, file: &str, rows: &mut TableRows) {
        let children: Vec<String> = rows.0.keys().filter(|table| table.starts_with("spec_")).cloned().collect();
        // Linked tasks get the id of the spec.
        for link in rows.0.get("spec_linked_task").cloned().unwrap_or_default() {
            let (Some(spec), Some(task)) = (link.get("spec_id"), link.get("task_id").and_then(fields::id_text)) else {
                continue;
            };
            let tasks = rows.0.get_mut("tasks").into_iter().flatten();
            for row in tasks.filter(|row| id_of(row).as_deref() == Some(task.as_str())) {
                row.entry("linked_spec_id").or_insert_with(|| spec.clone());
            }
        }
        let mut below: BTreeMap<String, HashMap<String, Vec<JsonFields>>> =
            children.into_iter().map(|table| (table.clone(), rows.take_grouped(&table, "spec_id"))).collect();
        for mut spec in rows.take("specs") {
            let id = id_of(&spec).unwrap_or_default();
            for (table, by_spec) in &mut below {
                if let Some(own) = by_spec.remove(&id) {
                    spec.insert(table.clone(), json!(own));
                }
            }
            match json::to_document(&spec) {
                Ok(text) => self.add_document(&format!("{file}/specs/{id}"), text),
                Err(error) => self.add_problem(file, None, error.message),
            }
        }
        for (table, by_spec) in below {
            let others: Vec<JsonFields> = by_spec.into_values().flatten().collect();
            if !others.is_empty() {
                rows.0.insert(table, others);
            }
        }
    }

    fn task_tables(&mut self, file: &str, rows: &mut TableRows) {
        let steps = rows.take_with_children("subtasks");
        rows.0.insert("subtasks".to_owned(), steps);
        let mut steps = rows.take_grouped("subtasks", "task_id");
        for (at, mut row) in rows.take_with_children("tasks").into_iter().enumerate() {
            if let Some(mut own) = id_of(&row).and_then(|id| steps.remove(&id)) {
                own.sort_by_key(|step| step.get("sort_order").and_then(Value::as_i64));
                row.insert("subtasks".to_owned(), json!(own.into_iter().map(camel).collect::<Vec<_>>()));
            }
            self.task_row(&format!("{file}/tasks"), &format!("row {}", at + 1), camel(row));
        }
        let others: Vec<JsonFields> = steps.into_values().flatten().collect();
        self.row_lines(&format!("{file}/subtasks"), &others);
    }

    fn queue_tables(&mut self, file: &str, rows: &mut TableRows) {
        let queue = rows.take("queue_tasks").into_iter().map(camel).map(|mut row| {
            if row.contains_key("body") {
                let title = row.shift_remove("description").unwrap_or_default();
                row.insert("title".to_owned(), title);
                let body = row.shift_remove("body").unwrap_or_default();
                row.insert("description".to_owned(), body);
            }
            if let Some(completed) =
                row.get("completed").and_then(Value::as_i64).filter(|number| [0, 1].contains(number))
            {
                row.insert("completed".to_owned(), json!(completed == 1));
            }
            row
        });
        let tasks: Vec<JsonFields> = queue.collect();
        self.queue(&format!("{file}/queue_tasks"), json!({ "tasks": tasks }), None);
    }

    /// Imports documents of older versions. Those that have become tables are read from the tables.
    fn kv_store(&mut self, file: &str, typed: &BTreeSet<&str>, rows: Vec<JsonFields>) {
        for row in rows {
            let key = row.get("key").and_then(Value::as_str).unwrap_or("unnamed").to_owned();
            let written_at = row.get("updated_at").and_then(time);
            let name = format!("{file}/kv_store/{key}");
            let is_read = !typed.contains(key.as_str());
            match (key.as_str(), row.get("data").cloned().unwrap_or_default()) {
                ("state", Value::Object(document)) if is_read => self.state(&name, document),
                ("queue", document) if is_read => self.queue(&name, document, written_at),
                ("ideas", document) if is_read => self.ideas(&name, document, written_at),
                ("shipped", document) if is_read => self.shipped(&name, document, written_at),
                (_, document) => match json::to_document(&document) {
                    Ok(text) => self.add_document(&name, text),
                    Err(error) => self.add_problem(&name, None, error.message),
                },
            }
        }
    }

    fn comment_table(&mut self, file: &str, rows: Vec<JsonFields>) {
        let file = format!("{file}/queue_task_comments");
        let mut others = Vec::new();
        for row in rows {
            let (raw, mut rest) = (row.clone(), camel(row));
            let issue_id = rest.get("taskId").and_then(fields::id_text).and_then(|id| id.parse().ok());
            let Some(issue_id) = issue_id.filter(|id| self.issues.contains(id)) else {
                others.push(raw);
                continue;
            };
            let Some(text) = fields::text(&mut rest, &["content", "text"]) else {
                others.push(raw);
                continue;
            };
            rest.shift_remove("taskId");
            let author = fields::line(&mut rest, &["author"]);
            let at = fields::time(&mut rest, &["createdAt"]);
            let comment = ImportComment { issue_id, author, text, at, origin: origin(&file, &raw, rest) };
            self.add_record(RecordKind::Comments, &file, None, ImportItem::Comment(comment));
        }
        self.row_lines(&file, &others);
    }

    /// Imports memories as learnings. Deleted ones are only counted.
    fn memory_tables(&mut self, file: &str, rows: &mut TableRows) {
        let mut tags = rows.take_grouped("memory_entry_tags", "entry_id");
        let mut links = rows.take_grouped("memory_links", "from_entry_id");
        let mut entries = rows.take("memory_entries");
        // A superseded entry must come before the one that supersedes it.
        entries.sort_by_key(|row| id_of(row).is_some_and(|id| links.contains_key(&id)));
        for row in &mut entries {
            let Some(id) = id_of(row) else { continue };
            if let Some(own) = tags.remove(&id) {
                row.insert("tag_rows".to_owned(), json!(own));
            }
            if let Some(own) = links.remove(&id) {
                let superseded = own.iter().find(|link| link.get("relation") == Some(&json!("supersedes")));
                if let Some(to) = superseded.and_then(|link| link.get("to_entry_id")) {
                    row.insert("supersedes".to_owned(), to.clone());
                }
                row.insert("links".to_owned(), json!(own));
            }
        }
        for (table, left) in [("memory_entry_tags", tags), ("memory_links", links)] {
            let others: Vec<JsonFields> = left.into_values().flatten().collect();
            self.row_lines(&format!("{file}/{table}"), &others);
        }
        for (table, found) in
            [("memory_entries", entries), ("memories", rows.take("memories")), ("memory", rows.take("memory"))]
        {
            let name = format!("{file}/{table}");
            let before = found.len();
            let (deleted, live): (Vec<JsonFields>, Vec<JsonFields>) =
                found.into_iter().partition(|row| row.contains_key("deleted_at"));
            if !deleted.is_empty() {
                self.skipped += deleted.len();
                self.left_out
                    .push(Problem::of(&name, format!("{} of {before} rows were deleted there", deleted.len())));
            }
            let records = live.into_iter().map(memory).collect();
            self.learning_rows(&name, records);
        }
    }

    /// Imports sessions, prompts, runs and token counts as the sessions of one agent.
    fn session_tables(&mut self, file: &str, rows: &mut TableRows) {
        let mut prompts = rows.take_grouped("user_prompts", "session_id");
        let mut usage = rows.take_grouped("token_usage", "agent_run_id");
        let mut sessions = Vec::new();
        for row in rows.take("agent_sessions") {
            let own = id_of(&row).and_then(|id| prompts.remove(&id)).unwrap_or_default();
            sessions.push(session("agent_session", row, own.into_iter().map(prompt)));
        }
        for row in rows.take_with_children("agent_runs") {
            let own = id_of(&row).and_then(|id| usage.remove(&id)).unwrap_or_default();
            sessions.push(session("agent_run", row, own.into_iter().map(token_usage)));
        }
        for (table, left) in [("user_prompts", prompts), ("token_usage", usage)] {
            let others: Vec<JsonFields> = left.into_values().flatten().collect();
            self.row_lines(&format!("{file}/{table}"), &others);
        }
        if sessions.is_empty() {
            return;
        }
        sessions.sort_by_key(|session| session.at);
        sessions.iter_mut().skip(1).for_each(|session| session.opened_by = OpenedBy::Reset);
        let (created_at, updated_at) = (sessions[0].at, sessions.last().and_then(last_at));
        self.agent = Some(Box::new(DaycareAgent {
            id: self.scope.replace(':', "-"),
            kind: "prjct".to_owned(),
            name: None,
            parent_id: None,
            descriptor: JsonFields::from_iter([("file".to_owned(), json!(file))]),
            permissions: JsonFields::new(),
            tokens: None,
            stats: JsonFields::new(),
            lifecycle: Lifecycle::Sleeping,
            created_at,
            updated_at,
            inference_session_id: None,
            sessions,
            lines_skipped: 0,
            notes: Vec::new(),
        }));
    }
}

fn last_at(session: &DaycareSession) -> Option<Timestamp> {
    session.entries.iter().filter_map(|entry| entry.at).max().or(session.at)
}

/// A session whose first entry is the row itself.
fn session(kind: &str, row: JsonFields, entries: impl Iterator<Item = HistoryEntry>) -> DaycareSession {
    let at = ["started_at", "created_at"].iter().find_map(|name| time(row.get(*name)?));
    let mut entries: Vec<HistoryEntry> = entries.collect();
    entries.sort_by_key(|entry| entry.at);
    entries.insert(0, HistoryEntry { kind: kind.to_owned(), at, data: row });
    DaycareSession { opened_by: OpenedBy::Start, at, reset_message: None, entries }
}

fn prompt(mut row: JsonFields) -> HistoryEntry {
    let at = row.get("created_at").and_then(time);
    let text = row.shift_remove("content").unwrap_or_default();
    row.insert("text".to_owned(), if text.is_string() { text } else { json!(text.to_string()) });
    HistoryEntry { kind: "user_message".to_owned(), at, data: row }
}

fn token_usage(mut row: JsonFields) -> HistoryEntry {
    let at = ["measured_at", "created_at"].iter().find_map(|name| time(row.get(*name)?));
    let count = |name: &str| row.get(name).and_then(Value::as_i64).unwrap_or_default();
    let parts = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"].map(count);
    let [input, output, cache_read, cache_write] = parts;
    let size = json!({"input": input, "output": output, "cacheRead": cache_read, "cacheWrite": cache_write,
        "total": parts.iter().fold(0_i64, |sum, part| sum.saturating_add(*part))});
    let model = row.get("model_id").cloned().unwrap_or_default();
    row.insert("tokens".to_owned(), json!({"model": model, "size": size}));
    HistoryEntry { kind: "token_usage".to_owned(), at, data: row }
}

/// Converts a memory row to the form of a line in `learnings.jsonl`.
fn memory(row: JsonFields) -> JsonFields {
    let mut record = camel(row);
    let text = |record: &mut JsonFields, name: &str| match record.get(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => {
            let text = text.clone();
            record.shift_remove(name);
            Some(text)
        }
        Some(value @ (Value::Object(_) | Value::Array(_))) => {
            let text = value.to_string();
            record.shift_remove(name);
            Some(text)
        }
        _ => None,
    };
    let title = text(&mut record, "title").or_else(|| text(&mut record, "key"));
    let content = text(&mut record, "content").or_else(|| text(&mut record, "value"));
    let whole = match (title, content) {
        (Some(title), Some(content)) if content.starts_with(title.trim()) => content,
        (Some(title), Some(content)) => format!("{title}\n\n{content}"),
        (title, content) => title.or(content).unwrap_or_default(),
    };
    let list = match record.get("type").and_then(Value::as_str) {
        Some("gotcha" | "warning" | "bug") => "gotchas",
        Some("decision") => "decisions",
        Some("approach" | "howto" | "how-to" | "procedure") => "approaches",
        _ => "patterns",
    };
    record.insert("learnings".to_owned(), json!({list: [whole]}));
    if let Some(at) = record.shift_remove("createdAt") {
        record.insert("timestamp".to_owned(), at);
    } else if let Some(at) = record.get("updatedAt").cloned() {
        record.insert("timestamp".to_owned(), at);
    }
    if let Some(file) = record.shift_remove("file") {
        record.insert("filesChanged".to_owned(), json!([file]));
    }
    let pairs = record.get("tagRows").and_then(Value::as_array).into_iter().flatten();
    let pair = |tag: &Value| Some(format!("{}:{}", tag.get("key")?.as_str()?, tag.get("value")?.as_str()?));
    let mut tags: Vec<String> = pairs.filter_map(pair).collect();
    match record.get("tags") {
        Some(Value::String(words)) => tags.extend(words.split(',').map(|word| word.trim().to_owned())),
        Some(Value::Object(pairs)) => tags.extend(pairs.iter().map(|(key, value)| match value.as_str() {
            Some(value) => format!("{key}:{value}"),
            None => format!("{key}:{value}"),
        })),
        Some(Value::Array(words)) => tags.extend(words.iter().filter_map(Value::as_str).map(str::to_owned)),
        _ => {}
    }
    tags.extend(record.get("domain").and_then(Value::as_str).map(str::to_owned));
    tags.retain(|tag| !tag.is_empty());
    if !tags.is_empty() {
        if let Some(given) = record.shift_remove("tags") {
            record.insert("tagsAsTheyWere".to_owned(), given);
        }
        record.insert("tags".to_owned(), json!(tags));
    }
    record
}
