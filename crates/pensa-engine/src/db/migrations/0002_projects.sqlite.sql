-- Which token a change came with, answers that a retry is given again, and what a server keeps of its projects.

ALTER TABLE events ADD COLUMN token_id TEXT;
CREATE INDEX events_token ON events(token_id, id) WHERE token_id IS NOT NULL;

-- What was answered to a request with a key of its own, so that the same request never acts twice.
CREATE TABLE answers (
    request_key TEXT PRIMARY KEY,
    -- a hash of what was asked
    question    TEXT NOT NULL,
    answer      TEXT NOT NULL,
    created_at  TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX answers_age ON answers(created_at);

-- The projects of a server. Only its control store has any.
CREATE TABLE projects (
    name        TEXT PRIMARY KEY,
    -- the id of its store
    store       TEXT NOT NULL UNIQUE,
    created_at  TEXT NOT NULL,
    archived_at TEXT
);

CREATE TABLE tokens (
    id         TEXT PRIMARY KEY,
    -- SHA-256 of the secret, which nobody keeps
    hash       TEXT NOT NULL UNIQUE,
    project    TEXT NOT NULL REFERENCES projects(name),
    role       TEXT NOT NULL CHECK (role IN ('viewer', 'agent', 'maintainer', 'admin')),
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
);
CREATE INDEX tokens_project ON tokens(project, created_at, id);
