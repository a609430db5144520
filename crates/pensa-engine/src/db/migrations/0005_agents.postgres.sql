-- Agents, the sessions of their conversations, and what was said in them. That what should be JSON is JSON is seen to
-- before it comes here: a check would cost as much as the rest of an append.

CREATE TABLE pensa.agents (
    store_id          UUID NOT NULL DEFAULT pensa.this_store(),
    id                TEXT COLLATE "C" NOT NULL,
    -- one that this version does not know may have been imported
    type              TEXT COLLATE "C" NOT NULL,
    name              TEXT COLLATE "C",
    parent_id         TEXT COLLATE "C",
    descriptor        TEXT NOT NULL,
    -- none only between two statements of one transaction
    active_session_id TEXT COLLATE "C",
    permissions       TEXT NOT NULL,
    tokens            TEXT,
    stats             TEXT NOT NULL DEFAULT '{}',
    lifecycle         TEXT COLLATE "C" NOT NULL DEFAULT 'active' CHECK (lifecycle IN ('active', 'sleeping', 'dead')),
    created_at        TEXT COLLATE "C" NOT NULL,
    updated_at        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, id),
    FOREIGN KEY (store_id, parent_id) REFERENCES pensa.agents (store_id, id) DEFERRABLE
);

CREATE INDEX agents_name ON pensa.agents(store_id, name) WHERE name IS NOT NULL;
CREATE INDEX agents_parent ON pensa.agents(store_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX agents_order ON pensa.agents(store_id, created_at, id);
SELECT pensa.keep_apart('pensa.agents');

CREATE TABLE pensa.sessions (
    store_id             UUID NOT NULL DEFAULT pensa.this_store(),
    id                   TEXT COLLATE "C" NOT NULL,
    agent_id             TEXT COLLATE "C" NOT NULL,
    -- which of the agent's sessions it is, from 1: two may begin in the same millisecond
    number               BIGINT NOT NULL,
    opened_by            TEXT COLLATE "C" NOT NULL CHECK (opened_by IN ('start', 'reset', 'compaction')),
    inference_session_id TEXT COLLATE "C",
    reset_message        TEXT,
    -- no reference: what was said about an issue outlives it
    issue_id             TEXT COLLATE "C",
    run_id               TEXT COLLATE "C",
    created_at           TEXT COLLATE "C" NOT NULL,
    ended_at             TEXT COLLATE "C",
    PRIMARY KEY (store_id, id),
    FOREIGN KEY (store_id, agent_id) REFERENCES pensa.agents (store_id, id) DEFERRABLE
);

CREATE UNIQUE INDEX sessions_agent ON pensa.sessions(store_id, agent_id, number);
CREATE INDEX sessions_order ON pensa.sessions(store_id, created_at, agent_id, number);
CREATE INDEX sessions_issue ON pensa.sessions(store_id, issue_id) WHERE issue_id IS NOT NULL;
SELECT pensa.keep_apart('pensa.sessions');

ALTER TABLE pensa.agents ADD FOREIGN KEY (store_id, active_session_id)
    REFERENCES pensa.sessions (store_id, id) DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE pensa.session_history (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    id         BIGINT NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    type       TEXT COLLATE "C" NOT NULL,
    at         TEXT COLLATE "C" NOT NULL,
    -- the version of the payload
    v          BIGINT NOT NULL,
    data       TEXT COLLATE "C" NOT NULL,
    -- No reference to the session: checking it would lock that row again for every entry.
    PRIMARY KEY (store_id, id)
);

CREATE INDEX session_history_session ON pensa.session_history(store_id, session_id, id);
SELECT pensa.keep_apart('pensa.session_history');
