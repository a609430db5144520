//! The tables in which a database is compared with one rebuilt from the journal.

use crate::db::snapshot::Compared;

/// Tables, with SQL for the key and the issue of each row. Rows with a NULL key are skipped, such as what only this
/// machine knows about its work trees.
pub(crate) const COMPARED: [Compared; 29] = [
    ("issues", "id", "id"),
    ("deps", "issue_id || ' ' || depends_on_id", "issue_id"),
    ("comments", "id", "issue_id"),
    ("events", "CAST(id AS TEXT)", "issue_id"),
    ("title_keys", "title_key || ' ' || issue_id", "issue_id"),
    ("tombstones", "collection || ' ' || record_id", "NULL"),
    ("conflicts", "id", "NULL"),
    ("agents", "id", "NULL"),
    ("sessions", "id", "NULL"),
    ("session_history", "CAST(id AS TEXT)", "NULL"),
    ("repos", "id", "NULL"),
    ("workspaces", "id", "NULL"),
    ("harnesses", "id", "NULL"),
    ("runtimes", "id", "NULL"),
    ("runs", "id", "NULL"),
    ("fs_snapshots", "id", "NULL"),
    ("kv", "scope || ' ' || k", "NULL"),
    ("changes", "event || ' ' || number", "NULL"),
    ("work", "issue_id", "NULL"),
    ("releases", "id", "NULL"),
    ("skills", "name", "NULL"),
    ("views", "name", "NULL"),
    ("learnings", "id", "NULL"),
    ("learning_keys", "learning_key || ' ' || learning_id", "NULL"),
    ("peers", "CASE WHEN kind = 'server' THEN peer END", "NULL"),
    ("merge_bases", "CASE WHEN peer <> '' THEN peer || ' ' || collection || ' ' || record_id END", "NULL"),
    ("records", "collection || ' ' || id", "NULL"),
    ("record_indexes", "CAST(id AS TEXT)", "NULL"),
    ("record_keys", "index_id || ' ' || record_id", "NULL"),
];
