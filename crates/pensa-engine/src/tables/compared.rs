//! What of a database is held against what the journal says.

use crate::db::snapshot::Compared;

/// The tables that a rebuilt database is compared by.
pub(crate) const COMPARED: [Compared; 28] = [
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
    ("learnings", "id", "NULL"),
    ("learning_keys", "learning_key || ' ' || learning_id", "NULL"),
    ("sync_peers", "peer", "NULL"),
    ("sync_bases", "peer || ' ' || collection || ' ' || record_id", "NULL"),
    ("records", "collection || ' ' || id", "NULL"),
    ("record_indexes", "CAST(id AS TEXT)", "NULL"),
    ("record_keys", "index_id || ' ' || record_id", "NULL"),
];
