-- Issues, what they depend on, what was said about them, and the log of every change.

CREATE TABLE issues (
    id               TEXT PRIMARY KEY,
    title            TEXT NOT NULL,
    description      TEXT,
    issue_type       TEXT NOT NULL CHECK (issue_type IN ('bug', 'task', 'test', 'chore')),
    status           TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'in_progress', 'closed')),
    priority         TEXT NOT NULL DEFAULT 'p2' CHECK (priority IN ('p0', 'p1', 'p2', 'p3')),
    spec             TEXT,
    fixes            TEXT REFERENCES issues(id),
    assignee         TEXT,
    lease_expires_at TEXT,
    lease_ms         BIGINT,
    created_at       TEXT NOT NULL,
    updated_at       TEXT NOT NULL,
    closed_at        TEXT,
    close_reason     TEXT,
    -- derived: how many of its dependencies are not closed
    blockers         BIGINT NOT NULL DEFAULT 0 CHECK (blockers >= 0),
    -- derived: title and description, folded for search
    search_text      TEXT NOT NULL
);

-- `pn ready` reads its answer off this index, however many issues are closed or blocked.
CREATE INDEX issues_ready ON issues(blockers, priority, created_at, id)
    WHERE status = 'open' AND issue_type <> 'bug';
CREATE INDEX issues_order ON issues(priority, created_at, id);
CREATE INDEX issues_state ON issues(status, issue_type);
CREATE INDEX issues_assignee ON issues(assignee) WHERE assignee IS NOT NULL;
CREATE INDEX issues_fixes ON issues(fixes) WHERE fixes IS NOT NULL;
CREATE INDEX issues_lease ON issues(lease_expires_at) WHERE lease_expires_at IS NOT NULL;

CREATE TABLE deps (
    issue_id      TEXT NOT NULL REFERENCES issues(id),
    depends_on_id TEXT NOT NULL REFERENCES issues(id),
    PRIMARY KEY (issue_id, depends_on_id),
    CHECK (issue_id != depends_on_id)
) WITHOUT ROWID;

CREATE INDEX deps_reverse ON deps(depends_on_id, issue_id);

CREATE TABLE comments (
    id         TEXT PRIMARY KEY,
    issue_id   TEXT NOT NULL REFERENCES issues(id),
    actor      TEXT NOT NULL,
    text       TEXT NOT NULL,
    created_at TEXT NOT NULL
);

CREATE INDEX comments_issue ON comments(issue_id, created_at, id);

-- The one log. `issue_id` is the issue an event concerns while that issue exists; the subject is what changed.
CREATE TABLE events (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    subject_kind TEXT NOT NULL,
    subject_id   TEXT NOT NULL,
    issue_id     TEXT REFERENCES issues(id),
    event_type   TEXT NOT NULL,
    actor        TEXT NOT NULL,
    detail       TEXT NOT NULL,
    created_at   TEXT NOT NULL
);

CREATE INDEX events_issue ON events(issue_id) WHERE issue_id IS NOT NULL;

-- Derived from titles: keys under which near-duplicates are found.
CREATE TABLE title_keys (
    title_key BIGINT NOT NULL,
    issue_id  TEXT NOT NULL,
    PRIMARY KEY (title_key, issue_id)
) WITHOUT ROWID;
