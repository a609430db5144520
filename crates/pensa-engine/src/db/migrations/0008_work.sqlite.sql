-- What actors are doing about issues, what was shipped, and the skills that agents' files call for.

CREATE TABLE work (
    -- no reference: an issue that was deleted may come back
    issue_id   TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('active', 'paused', 'done')),
    branch     TEXT,
    steps      TEXT NOT NULL CHECK (json_valid(steps)),
    actor      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    started_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    done_at    TEXT
);

CREATE INDEX work_actor ON work(actor, status, updated_at, issue_id);
CREATE INDEX work_order ON work(updated_at, issue_id);

CREATE TABLE releases (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    -- no references: what was shipped outlives its issues
    issues     TEXT NOT NULL CHECK (json_valid(issues)),
    notes      TEXT,
    actor      TEXT NOT NULL,
    shipped_at TEXT NOT NULL,
    extra      TEXT CHECK (extra IS NULL OR json_valid(extra))
);

CREATE INDEX releases_order ON releases(shipped_at, id);
CREATE INDEX releases_version ON releases(version, shipped_at);

-- A name without skills was removed.
CREATE TABLE skills (
    name       TEXT PRIMARY KEY,
    skills     TEXT NOT NULL CHECK (json_valid(skills)),
    updated_at TEXT NOT NULL
);
