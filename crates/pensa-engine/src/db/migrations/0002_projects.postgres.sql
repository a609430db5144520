-- Which token a change came with, answers that a retry is given again, and what a server keeps of its projects.

ALTER TABLE pensa.events ADD COLUMN token_id TEXT COLLATE "C";
CREATE INDEX events_token ON pensa.events(store_id, token_id, id) WHERE token_id IS NOT NULL;

-- What was answered to a request with a key of its own, so that the same request never acts twice.
CREATE TABLE pensa.answers (
    store_id    UUID NOT NULL DEFAULT pensa.this_store(),
    request_key TEXT COLLATE "C" NOT NULL,
    -- a hash of what was asked
    question    TEXT NOT NULL,
    answer      TEXT NOT NULL,
    created_at  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, request_key)
);
CREATE INDEX answers_age ON pensa.answers(store_id, created_at);
SELECT pensa.keep_apart('pensa.answers');

-- The projects of a server. Only its control store has any.
CREATE TABLE pensa.projects (
    store_id    UUID NOT NULL DEFAULT pensa.this_store(),
    name        TEXT COLLATE "C" NOT NULL,
    -- the id of its store
    store       TEXT COLLATE "C" NOT NULL,
    created_at  TEXT COLLATE "C" NOT NULL,
    archived_at TEXT COLLATE "C",
    PRIMARY KEY (store_id, name),
    UNIQUE (store_id, store)
);
SELECT pensa.keep_apart('pensa.projects');

CREATE TABLE pensa.tokens (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    id         TEXT COLLATE "C" NOT NULL,
    -- SHA-256 of the secret, which nobody keeps
    hash       TEXT COLLATE "C" NOT NULL,
    project    TEXT COLLATE "C" NOT NULL,
    role       TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'agent', 'maintainer', 'admin')),
    created_at TEXT COLLATE "C" NOT NULL,
    created_by TEXT NOT NULL,
    expires_at TEXT COLLATE "C",
    revoked_at TEXT COLLATE "C",
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, hash),
    FOREIGN KEY (store_id, project) REFERENCES pensa.projects (store_id, name)
);
CREATE INDEX tokens_project ON pensa.tokens(store_id, project, created_at, id);
SELECT pensa.keep_apart('pensa.tokens');
