-- Tokens that open no project: those of operators, who manage the server.

CREATE TABLE tokens_new (
    id         TEXT PRIMARY KEY,
    -- SHA-256 of the secret, which nobody keeps
    hash       TEXT NOT NULL UNIQUE,
    project    TEXT REFERENCES projects(name),
    role       TEXT NOT NULL CHECK (role IN ('viewer', 'agent', 'maintainer', 'admin', 'operator')),
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT,
    CHECK ((role = 'operator') = (project IS NULL))
);
INSERT INTO tokens_new (id, hash, project, role, created_at, created_by, expires_at, revoked_at)
    SELECT id, hash, project, role, created_at, created_by, expires_at, revoked_at FROM tokens;
DROP TABLE tokens;
ALTER TABLE tokens_new RENAME TO tokens;
CREATE INDEX tokens_project ON tokens(project, created_at, id);
