-- Issues, what they depend on, what was said about them, and the log of every change.

CREATE TABLE pensa.issues (
    store_id         UUID NOT NULL DEFAULT pensa.this_store(),
    id               TEXT COLLATE "C" NOT NULL,
    title            TEXT COLLATE "C" NOT NULL,
    description      TEXT,
    issue_type       TEXT COLLATE "C" NOT NULL CHECK (issue_type IN ('bug', 'task', 'test', 'chore')),
    status           TEXT COLLATE "C" NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'in_progress', 'closed')),
    priority         TEXT COLLATE "C" NOT NULL DEFAULT 'p2' CHECK (priority IN ('p0', 'p1', 'p2', 'p3')),
    spec             TEXT COLLATE "C",
    fixes            TEXT COLLATE "C",
    assignee         TEXT COLLATE "C",
    lease_expires_at TEXT COLLATE "C",
    lease_ms         BIGINT,
    created_at       TEXT COLLATE "C" NOT NULL,
    updated_at       TEXT COLLATE "C" NOT NULL,
    closed_at        TEXT COLLATE "C",
    close_reason     TEXT,
    -- derived: how many of its dependencies are not closed
    blockers         BIGINT NOT NULL DEFAULT 0 CHECK (blockers >= 0),
    -- derived: title and description, folded for search
    search_text      TEXT NOT NULL,
    PRIMARY KEY (store_id, id),
    FOREIGN KEY (store_id, fixes) REFERENCES pensa.issues (store_id, id) DEFERRABLE
);

CREATE INDEX issues_ready ON pensa.issues(store_id, blockers, priority, created_at, id)
    WHERE status = 'open' AND issue_type <> 'bug';
CREATE INDEX issues_order ON pensa.issues(store_id, priority, created_at, id);
CREATE INDEX issues_state ON pensa.issues(store_id, status, issue_type);
CREATE INDEX issues_assignee ON pensa.issues(store_id, assignee) WHERE assignee IS NOT NULL;
CREATE INDEX issues_fixes ON pensa.issues(store_id, fixes) WHERE fixes IS NOT NULL;
CREATE INDEX issues_lease ON pensa.issues(store_id, lease_expires_at) WHERE lease_expires_at IS NOT NULL;
SELECT pensa.keep_apart('pensa.issues');

CREATE TABLE pensa.deps (
    store_id      UUID NOT NULL DEFAULT pensa.this_store(),
    issue_id      TEXT COLLATE "C" NOT NULL,
    depends_on_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, issue_id, depends_on_id),
    FOREIGN KEY (store_id, issue_id) REFERENCES pensa.issues (store_id, id) DEFERRABLE,
    FOREIGN KEY (store_id, depends_on_id) REFERENCES pensa.issues (store_id, id) DEFERRABLE,
    CHECK (issue_id <> depends_on_id)
);

CREATE INDEX deps_reverse ON pensa.deps(store_id, depends_on_id, issue_id);
SELECT pensa.keep_apart('pensa.deps');

CREATE TABLE pensa.comments (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    id         TEXT COLLATE "C" NOT NULL,
    issue_id   TEXT COLLATE "C" NOT NULL,
    actor      TEXT NOT NULL,
    text       TEXT NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, id),
    FOREIGN KEY (store_id, issue_id) REFERENCES pensa.issues (store_id, id) DEFERRABLE
);

CREATE INDEX comments_issue ON pensa.comments(store_id, issue_id, created_at, id);
SELECT pensa.keep_apart('pensa.comments');

-- The one log. `issue_id` is the issue an event concerns while that issue exists; the subject is what changed.
CREATE TABLE pensa.events (
    store_id     UUID NOT NULL DEFAULT pensa.this_store(),
    id           BIGINT NOT NULL,
    subject_kind TEXT COLLATE "C" NOT NULL,
    subject_id   TEXT COLLATE "C" NOT NULL,
    issue_id     TEXT COLLATE "C",
    event_type   TEXT COLLATE "C" NOT NULL,
    actor        TEXT NOT NULL,
    detail       TEXT NOT NULL,
    created_at   TEXT COLLATE "C" NOT NULL,
    -- No reference to the issue: checking it would lock that row again for every line that is written.
    PRIMARY KEY (store_id, id)
);

CREATE INDEX events_issue ON pensa.events(store_id, issue_id, id) WHERE issue_id IS NOT NULL;
SELECT pensa.keep_apart('pensa.events');

-- Derived from titles: keys under which near-duplicates are found.
CREATE TABLE pensa.title_keys (
    store_id  UUID NOT NULL DEFAULT pensa.this_store(),
    title_key BIGINT NOT NULL,
    issue_id  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, title_key, issue_id)
);
SELECT pensa.keep_apart('pensa.title_keys');
