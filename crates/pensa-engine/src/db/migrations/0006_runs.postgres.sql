-- Runs of agent software, the repositories and surroundings they take place in, and small values under names. That
-- what should be JSON is JSON is seen to before it comes here.

CREATE TABLE pensa.repos (
    store_id       UUID NOT NULL DEFAULT pensa.this_store(),
    id             TEXT COLLATE "C" NOT NULL,
    vcs            TEXT COLLATE "C" NOT NULL,
    -- the machine that has the directory
    host           TEXT COLLATE "C",
    root_path      TEXT COLLATE "C",
    remote_url     TEXT COLLATE "C",
    default_branch TEXT COLLATE "C",
    created_at     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, id)
);

-- Two clones of one remote are two repositories, and so are directories of one name on two machines.
CREATE UNIQUE INDEX repos_root ON pensa.repos(store_id, COALESCE(host, ''), root_path) WHERE root_path IS NOT NULL;
CREATE INDEX repos_remote ON pensa.repos(store_id, remote_url) WHERE remote_url IS NOT NULL;
CREATE INDEX repos_order ON pensa.repos(store_id, created_at, id);
SELECT pensa.keep_apart('pensa.repos');

CREATE TABLE pensa.workspaces (
    store_id    UUID NOT NULL DEFAULT pensa.this_store(),
    id          TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C",
    created_at  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, name)
);
SELECT pensa.keep_apart('pensa.workspaces');

CREATE TABLE pensa.harnesses (
    store_id UUID NOT NULL DEFAULT pensa.this_store(),
    id       TEXT COLLATE "C" NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,
    version  TEXT COLLATE "C" NOT NULL,
    metadata TEXT,
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, name, version)
);
SELECT pensa.keep_apart('pensa.harnesses');

CREATE TABLE pensa.runtimes (
    store_id          UUID NOT NULL DEFAULT pensa.this_store(),
    id                TEXT COLLATE "C" NOT NULL,
    type              TEXT COLLATE "C" NOT NULL,
    devcontainer_path TEXT COLLATE "C",
    metadata          TEXT,
    PRIMARY KEY (store_id, id)
);

CREATE UNIQUE INDEX runtimes_name ON pensa.runtimes(store_id, type, COALESCE(devcontainer_path, ''));
SELECT pensa.keep_apart('pensa.runtimes');

CREATE TABLE pensa.runs (
    store_id           UUID NOT NULL DEFAULT pensa.this_store(),
    id                 TEXT COLLATE "C" NOT NULL,
    repo_id            TEXT COLLATE "C" NOT NULL,
    workspace_id       TEXT COLLATE "C",
    harness_id         TEXT COLLATE "C" NOT NULL,
    runtime_id         TEXT COLLATE "C" NOT NULL,
    -- no references: what was done about an issue outlives it
    issue_id           TEXT COLLATE "C",
    session_id         TEXT COLLATE "C",
    group_id           TEXT COLLATE "C",
    actor              TEXT COLLATE "C" NOT NULL,
    command            TEXT NOT NULL,
    prompt             TEXT NOT NULL,
    branch             TEXT COLLATE "C",
    delivery           TEXT COLLATE "C",
    instances          BIGINT NOT NULL,
    labels             TEXT NOT NULL,
    browser_automation BIGINT NOT NULL,
    browser_profile    TEXT COLLATE "C",
    chatgpt_username   TEXT COLLATE "C",
    codex_workspace    TEXT COLLATE "C",
    host               TEXT COLLATE "C",
    pid_agent          BIGINT,
    -- when a process began, since its number may be another's later
    agent_born         TEXT COLLATE "C",
    pid_supervisor     BIGINT,
    supervisor_born    TEXT COLLATE "C",
    multiplexer_kind   TEXT COLLATE "C",
    mux_session        TEXT COLLATE "C",
    mux_window         BIGINT,
    pane_left          TEXT COLLATE "C",
    pane_right         TEXT COLLATE "C",
    log_path           TEXT COLLATE "C",
    workspace_path     TEXT COLLATE "C",
    status             TEXT COLLATE "C" NOT NULL CHECK (status IN ('created', 'running', 'failed', 'succeeded', 'cancelled')),
    exit_code          BIGINT,
    signal             BIGINT,
    reason             TEXT,
    started_at         TEXT COLLATE "C" NOT NULL,
    ended_at           TEXT COLLATE "C",
    updated_at         TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, id),
    FOREIGN KEY (store_id, repo_id) REFERENCES pensa.repos (store_id, id) DEFERRABLE,
    FOREIGN KEY (store_id, workspace_id) REFERENCES pensa.workspaces (store_id, id) DEFERRABLE,
    FOREIGN KEY (store_id, harness_id) REFERENCES pensa.harnesses (store_id, id) DEFERRABLE,
    FOREIGN KEY (store_id, runtime_id) REFERENCES pensa.runtimes (store_id, id) DEFERRABLE
);

CREATE INDEX runs_order ON pensa.runs(store_id, started_at, id);
CREATE INDEX runs_status ON pensa.runs(store_id, status, started_at, id);
CREATE INDEX runs_repo ON pensa.runs(store_id, repo_id);
CREATE INDEX runs_issue ON pensa.runs(store_id, issue_id) WHERE issue_id IS NOT NULL;
CREATE INDEX runs_group ON pensa.runs(store_id, group_id) WHERE group_id IS NOT NULL;
SELECT pensa.keep_apart('pensa.runs');

CREATE TABLE pensa.kv (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    scope      TEXT COLLATE "C" NOT NULL,
    k          TEXT COLLATE "C" NOT NULL,
    v          TEXT NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, scope, k)
);
SELECT pensa.keep_apart('pensa.kv');
