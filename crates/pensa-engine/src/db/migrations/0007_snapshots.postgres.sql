-- Snapshots of directory trees: who has them, where, and what proves them. Their contents are on the machines. That
-- what should be JSON is JSON is seen to before it comes here.

CREATE TABLE pensa.fs_snapshots (
    store_id    UUID NOT NULL DEFAULT pensa.this_store(),
    id          TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL CHECK (kind IN ('manual', 'safety')),
    provider    TEXT COLLATE "C" NOT NULL,
    repo_id     TEXT COLLATE "C" NOT NULL,
    -- no reference: what was taken for a run outlives it
    run_id      TEXT COLLATE "C",
    host        TEXT COLLATE "C" NOT NULL,
    root        TEXT COLLATE "C" NOT NULL,
    ref         TEXT COLLATE "C",
    path        TEXT COLLATE "C",
    parent_id   TEXT COLLATE "C",
    label       TEXT,
    actor       TEXT COLLATE "C" NOT NULL,
    metadata    TEXT NOT NULL,
    created_at  TEXT COLLATE "C" NOT NULL,
    restored_at TEXT COLLATE "C",
    PRIMARY KEY (store_id, id),
    FOREIGN KEY (store_id, repo_id) REFERENCES pensa.repos (store_id, id) DEFERRABLE,
    FOREIGN KEY (store_id, parent_id) REFERENCES pensa.fs_snapshots (store_id, id)
        ON DELETE SET NULL (parent_id) DEFERRABLE
);

CREATE INDEX fs_snapshots_order ON pensa.fs_snapshots(store_id, created_at, id);
CREATE INDEX fs_snapshots_tree ON pensa.fs_snapshots(store_id, host, root, provider, created_at, id);
CREATE INDEX fs_snapshots_repo ON pensa.fs_snapshots(store_id, repo_id);
CREATE INDEX fs_snapshots_run ON pensa.fs_snapshots(store_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX fs_snapshots_parent ON pensa.fs_snapshots(store_id, parent_id) WHERE parent_id IS NOT NULL;
SELECT pensa.keep_apart('pensa.fs_snapshots');
