-- Snapshots of directory trees: who has them, where, and what proves them. Their contents are on the machines.

CREATE TABLE fs_snapshots (
    id          TEXT PRIMARY KEY,
    kind        TEXT NOT NULL CHECK (kind IN ('manual', 'safety')),
    provider    TEXT NOT NULL,
    repo_id     TEXT NOT NULL REFERENCES repos(id),
    -- no reference: what was taken for a run outlives it
    run_id      TEXT,
    host        TEXT NOT NULL,
    root        TEXT NOT NULL,
    ref         TEXT,
    path        TEXT,
    parent_id   TEXT REFERENCES fs_snapshots(id) ON DELETE SET NULL,
    label       TEXT,
    actor       TEXT NOT NULL,
    metadata    TEXT NOT NULL CHECK (json_valid(metadata)),
    created_at  TEXT NOT NULL,
    restored_at TEXT
);

CREATE INDEX fs_snapshots_order ON fs_snapshots(created_at, id);
CREATE INDEX fs_snapshots_tree ON fs_snapshots(host, root, provider, created_at, id);
CREATE INDEX fs_snapshots_repo ON fs_snapshots(repo_id);
CREATE INDEX fs_snapshots_run ON fs_snapshots(run_id) WHERE run_id IS NOT NULL;
CREATE INDEX fs_snapshots_parent ON fs_snapshots(parent_id) WHERE parent_id IS NOT NULL;
