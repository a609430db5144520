-- What actors are doing about issues, what was shipped, and the skills that agents' files call for. That what should be
-- JSON is JSON is seen to before it comes here.

CREATE TABLE pensa.work (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    -- no reference: an issue that was deleted may come back
    issue_id   TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    status     TEXT COLLATE "C" NOT NULL CHECK (status IN ('active', 'paused', 'done')),
    branch     TEXT COLLATE "C",
    steps      TEXT NOT NULL,
    actor      TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    started_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    done_at    TEXT COLLATE "C",
    PRIMARY KEY (store_id, issue_id)
);

CREATE INDEX work_actor ON pensa.work(store_id, actor, status, updated_at, issue_id);
CREATE INDEX work_order ON pensa.work(store_id, updated_at, issue_id);
SELECT pensa.keep_apart('pensa.work');

CREATE TABLE pensa.releases (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT NOT NULL,
    version    TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    -- no references: what was shipped outlives its issues
    issues     TEXT COLLATE "C" NOT NULL,
    notes      TEXT,
    actor      TEXT COLLATE "C" NOT NULL,
    shipped_at TEXT COLLATE "C" NOT NULL,
    extra      TEXT,
    PRIMARY KEY (store_id, id)
);

CREATE INDEX releases_order ON pensa.releases(store_id, shipped_at, id);
CREATE INDEX releases_version ON pensa.releases(store_id, version, shipped_at);
SELECT pensa.keep_apart('pensa.releases');

-- A name without skills was removed.
CREATE TABLE pensa.skills (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    name       TEXT COLLATE "C" NOT NULL,
    skills     TEXT NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, name)
);
SELECT pensa.keep_apart('pensa.skills');
