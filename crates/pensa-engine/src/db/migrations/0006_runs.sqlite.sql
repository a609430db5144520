-- Runs of agent software, the repositories and surroundings they take place in, and small values under names.

CREATE TABLE repos (
    id             TEXT PRIMARY KEY,
    vcs            TEXT NOT NULL,
    -- the machine that has the directory
    host           TEXT,
    root_path      TEXT,
    remote_url     TEXT,
    default_branch TEXT,
    created_at     TEXT NOT NULL
);

-- Two clones of one remote are two repositories, and so are directories of one name on two machines.
CREATE UNIQUE INDEX repos_root ON repos(COALESCE(host, ''), root_path) WHERE root_path IS NOT NULL;
CREATE INDEX repos_remote ON repos(remote_url) WHERE remote_url IS NOT NULL;
CREATE INDEX repos_order ON repos(created_at, id);

CREATE TABLE workspaces (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    external_id TEXT,
    created_at  TEXT NOT NULL
);

CREATE TABLE harnesses (
    id       TEXT PRIMARY KEY,
    name     TEXT NOT NULL,
    version  TEXT NOT NULL,
    metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
    UNIQUE (name, version)
);

CREATE TABLE runtimes (
    id                TEXT PRIMARY KEY,
    type              TEXT NOT NULL,
    devcontainer_path TEXT,
    metadata          TEXT CHECK (metadata IS NULL OR json_valid(metadata))
);

CREATE UNIQUE INDEX runtimes_name ON runtimes(type, COALESCE(devcontainer_path, ''));

CREATE TABLE runs (
    id                 TEXT PRIMARY KEY,
    repo_id            TEXT NOT NULL REFERENCES repos(id),
    workspace_id       TEXT REFERENCES workspaces(id),
    harness_id         TEXT NOT NULL REFERENCES harnesses(id),
    runtime_id         TEXT NOT NULL REFERENCES runtimes(id),
    -- no references: what was done about an issue outlives it
    issue_id           TEXT,
    session_id         TEXT,
    group_id           TEXT,
    actor              TEXT NOT NULL,
    command            TEXT NOT NULL CHECK (json_valid(command)),
    prompt             TEXT NOT NULL,
    branch             TEXT,
    delivery           TEXT,
    instances          BIGINT NOT NULL,
    labels             TEXT NOT NULL CHECK (json_valid(labels)),
    browser_automation BIGINT NOT NULL,
    browser_profile    TEXT,
    chatgpt_username   TEXT,
    codex_workspace    TEXT,
    host               TEXT,
    pid_agent          BIGINT,
    -- when a process began, since its number may be another's later
    agent_born         TEXT,
    pid_supervisor     BIGINT,
    supervisor_born    TEXT,
    multiplexer_kind   TEXT,
    mux_session        TEXT,
    mux_window         BIGINT,
    pane_left          TEXT,
    pane_right         TEXT,
    log_path           TEXT,
    workspace_path     TEXT,
    status             TEXT NOT NULL CHECK (status IN ('created', 'running', 'failed', 'succeeded', 'cancelled')),
    exit_code          BIGINT,
    signal             BIGINT,
    reason             TEXT,
    started_at         TEXT NOT NULL,
    ended_at           TEXT,
    updated_at         TEXT NOT NULL
);

CREATE INDEX runs_order ON runs(started_at, id);
CREATE INDEX runs_status ON runs(status, started_at, id);
CREATE INDEX runs_repo ON runs(repo_id);
CREATE INDEX runs_issue ON runs(issue_id) WHERE issue_id IS NOT NULL;
CREATE INDEX runs_group ON runs(group_id) WHERE group_id IS NOT NULL;

CREATE TABLE kv (
    scope      TEXT NOT NULL,
    k          TEXT NOT NULL,
    v          TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (scope, k)
);
