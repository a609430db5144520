-- Agents, the sessions of their conversations, and what was said in them.

CREATE TABLE agents (
    id                TEXT PRIMARY KEY,
    -- one that this version does not know may have been imported
    type              TEXT NOT NULL,
    name              TEXT,
    parent_id         TEXT REFERENCES agents(id),
    descriptor        TEXT NOT NULL CHECK (json_valid(descriptor)),
    -- none only between two statements of one transaction
    active_session_id TEXT REFERENCES sessions(id) DEFERRABLE INITIALLY DEFERRED,
    permissions       TEXT NOT NULL CHECK (json_valid(permissions)),
    tokens            TEXT CHECK (tokens IS NULL OR json_valid(tokens)),
    stats             TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(stats)),
    lifecycle         TEXT NOT NULL DEFAULT 'active' CHECK (lifecycle IN ('active', 'sleeping', 'dead')),
    created_at        TEXT NOT NULL,
    updated_at        TEXT NOT NULL
);

CREATE INDEX agents_name ON agents(name) WHERE name IS NOT NULL;
CREATE INDEX agents_parent ON agents(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX agents_order ON agents(created_at, id);

CREATE TABLE sessions (
    id                   TEXT PRIMARY KEY,
    agent_id             TEXT NOT NULL REFERENCES agents(id),
    -- which of the agent's sessions it is, from 1: two may begin in the same millisecond
    number               BIGINT NOT NULL,
    opened_by            TEXT NOT NULL CHECK (opened_by IN ('start', 'reset', 'compaction')),
    inference_session_id TEXT,
    reset_message        TEXT,
    -- no reference: what was said about an issue outlives it
    issue_id             TEXT,
    run_id               TEXT,
    created_at           TEXT NOT NULL,
    ended_at             TEXT
);

CREATE UNIQUE INDEX sessions_agent ON sessions(agent_id, number);
CREATE INDEX sessions_order ON sessions(created_at, agent_id, number);
CREATE INDEX sessions_issue ON sessions(issue_id) WHERE issue_id IS NOT NULL;

CREATE TABLE session_history (
    id         INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    type       TEXT NOT NULL,
    at         TEXT NOT NULL,
    -- the version of the payload
    v          BIGINT NOT NULL,
    data       TEXT NOT NULL CHECK (json_valid(data))
);

-- Each index of a rowid table ends with the rowid, so this is in the order of the numbers too.
CREATE INDEX session_history_session ON session_history(session_id);
