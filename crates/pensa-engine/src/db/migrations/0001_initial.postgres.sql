-- The first schema. Steps after it are only ever added.
--
-- That what should be JSON is JSON is seen to before it comes here: a check would cost as much as the rest of an append.

-- The schema, the role in which every server acts, and what tells a transaction its store.

CREATE SCHEMA IF NOT EXISTS pensa;

-- Roles belong to the whole cluster: another database may have brought it already, or be about to.
DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'pensa_tenant') THEN
        CREATE ROLE pensa_tenant NOLOGIN NOSUPERUSER NOBYPASSRLS;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$;
-- Being a member is not everywhere enough to act in a role. Whoever may not grant it was granted it, or finds out.
DO $$
BEGIN
    EXECUTE format('GRANT pensa_tenant TO %I', current_user);
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END
$$;
GRANT USAGE ON SCHEMA pensa TO pensa_tenant;

CREATE TABLE pensa._migrations (
    name       TEXT COLLATE "C" PRIMARY KEY,
    checksum   TEXT NOT NULL,
    applied_at TEXT NOT NULL,
    -- the oldest schema whose servers can still use this database after this step
    oldest     BIGINT NOT NULL
);
GRANT SELECT ON pensa._migrations TO pensa_tenant;

-- The store that this transaction is about; outside one, none.
CREATE FUNCTION pensa.this_store() RETURNS UUID LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('pensa.store_id', true), '')::uuid $$;

-- The same name as in SQLite, so that the shared SQL has one word for it.
CREATE FUNCTION pensa.instr(TEXT, TEXT) RETURNS INTEGER LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT strpos($1, $2) $$;

-- Makes a table see and take the rows of one store at a time, whoever asks. As a subquery the function is called once for
-- a statement; as a plain call it would be for every row that is added and every look into an index.
CREATE FUNCTION pensa.keep_apart(relation REGCLASS) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relation);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', relation);
    EXECUTE format('CREATE POLICY one_store ON %s USING (store_id = (SELECT pensa.this_store()))
        WITH CHECK (store_id = (SELECT pensa.this_store()))', relation);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO pensa_tenant', relation);
    -- A plan is kept for all stores, so it must not be made for the size of the store that happens to come first.
    EXECUTE format('ALTER TABLE %s ALTER COLUMN store_id SET STATISTICS 0', relation);
END
$$;

-- One row for each store: whoever locks it is the store's only writer and continues its event numbers.
CREATE TABLE pensa.stores (
    store_id   UUID PRIMARY KEY DEFAULT pensa.this_store(),
    last_event BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
SELECT pensa.keep_apart('pensa.stores');

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
    -- fields that this version does not know, kept for those who do
    extra            TEXT,
    -- which session and host a claim belongs to: agents of one machine share a name
    claim_session    TEXT COLLATE "C",
    claim_host       TEXT COLLATE "C",
    -- the issue that it is a part of; there may be no such issue
    parent           TEXT COLLATE "C",
    -- lists and objects are JSON, null if empty
    labels           TEXT,
    due              TEXT COLLATE "C",
    defer            TEXT COLLATE "C",
    estimate         TEXT COLLATE "C",
    -- derived: the estimate as a number
    estimate_ms      BIGINT,
    acceptance       TEXT,
    links            TEXT,
    fields           TEXT,
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
CREATE INDEX issues_parent ON pensa.issues(store_id, parent) WHERE parent IS NOT NULL;
CREATE INDEX issues_defer ON pensa.issues(store_id, defer) WHERE defer IS NOT NULL;
CREATE INDEX issues_linked ON pensa.issues(store_id, id) WHERE links IS NOT NULL;
CREATE INDEX issues_labelled ON pensa.issues(store_id, id) WHERE labels IS NOT NULL;
SELECT pensa.keep_apart('pensa.issues');

CREATE TABLE pensa.deps (
    store_id      UUID NOT NULL DEFAULT pensa.this_store(),
    issue_id      TEXT COLLATE "C" NOT NULL,
    depends_on_id TEXT COLLATE "C" NOT NULL,
    extra         TEXT,
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
    extra      TEXT,
    -- derived: the text, folded for search
    search_text TEXT NOT NULL,
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
    -- the token of a server that the change came with
    token_id     TEXT COLLATE "C",
    -- the first event of the operation, so that all of them are taken back together
    op           BIGINT,
    -- the session of whoever caused it: pn undo takes back what was done in the same one
    session      TEXT COLLATE "C",
    -- No reference to the issue: checking it would lock that row again for every line that is written.
    PRIMARY KEY (store_id, id)
);

CREATE INDEX events_issue ON pensa.events(store_id, issue_id, id) WHERE issue_id IS NOT NULL;
CREATE INDEX events_token ON pensa.events(store_id, token_id, id) WHERE token_id IS NOT NULL;
-- What is left in the log of issues that are gone.
CREATE INDEX events_gone ON pensa.events(store_id, subject_id, id) WHERE issue_id IS NULL;
SELECT pensa.keep_apart('pensa.events');

-- Derived from titles: keys under which near-duplicates are found.
CREATE TABLE pensa.title_keys (
    store_id  UUID NOT NULL DEFAULT pensa.this_store(),
    title_key BIGINT NOT NULL,
    issue_id  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, title_key, issue_id)
);
SELECT pensa.keep_apart('pensa.title_keys');

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

-- Tokens that open no project are those of operators, who manage the server.
CREATE TABLE pensa.tokens (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    id         TEXT COLLATE "C" NOT NULL,
    -- SHA-256 of the secret, which nobody keeps
    hash       TEXT COLLATE "C" NOT NULL,
    project    TEXT COLLATE "C",
    role       TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'agent', 'maintainer', 'admin', 'operator')),
    created_at TEXT COLLATE "C" NOT NULL,
    created_by TEXT NOT NULL,
    expires_at TEXT COLLATE "C",
    revoked_at TEXT COLLATE "C",
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, hash),
    FOREIGN KEY (store_id, project) REFERENCES pensa.projects (store_id, name),
    CONSTRAINT tokens_project_check CHECK ((role = 'operator') = (project IS NULL))
);
CREATE INDEX tokens_project ON pensa.tokens(store_id, project, created_at, id);
SELECT pensa.keep_apart('pensa.tokens');

-- What git carries besides: deletions, and what two clones disagreed about.

CREATE TABLE pensa.tombstones (
    store_id    UUID NOT NULL DEFAULT pensa.this_store(),
    collection  TEXT COLLATE "C" NOT NULL,
    record_id   TEXT COLLATE "C" NOT NULL,
    deleted_at  TEXT COLLATE "C" NOT NULL,
    actor       TEXT NOT NULL,
    -- the version that was deleted
    version     TEXT COLLATE "C",
    -- when a record without a time of its own was made again
    restored_at TEXT COLLATE "C",
    -- the comments that were deleted with an issue, as JSON
    comments    TEXT,
    extra       TEXT,
    PRIMARY KEY (store_id, collection, record_id)
);
SELECT pensa.keep_apart('pensa.tombstones');

CREATE TABLE pensa.conflicts (
    store_id    UUID NOT NULL DEFAULT pensa.this_store(),
    id          TEXT COLLATE "C" NOT NULL,
    collection  TEXT COLLATE "C" NOT NULL,
    record_id   TEXT COLLATE "C" NOT NULL,
    field       TEXT NOT NULL,
    kept        TEXT NOT NULL,
    other       TEXT NOT NULL,
    -- every field that goes with the other value
    whole       TEXT NOT NULL,
    found_at    TEXT COLLATE "C" NOT NULL,
    -- settled ones stay, so that the same two values are not a conflict again
    resolved_at TEXT COLLATE "C",
    PRIMARY KEY (store_id, id)
);
CREATE INDEX conflicts_open ON pensa.conflicts(store_id, found_at, id) WHERE resolved_at IS NULL;
SELECT pensa.keep_apart('pensa.conflicts');

-- Agents, the sessions of their conversations, and what was said in them.

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
    -- set on one that was deleted: it is not shown, and comes back if that is undone
    deleted_ms        BIGINT,
    extra             TEXT,
    PRIMARY KEY (store_id, id),
    FOREIGN KEY (store_id, parent_id) REFERENCES pensa.agents (store_id, id) DEFERRABLE
);

CREATE INDEX agents_name ON pensa.agents(store_id, name) WHERE name IS NOT NULL;
CREATE INDEX agents_parent ON pensa.agents(store_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX agents_order ON pensa.agents(store_id, created_at, id);
CREATE INDEX agents_deleted ON pensa.agents(store_id, id) WHERE deleted_ms IS NOT NULL;
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
    -- of those that listings leave out
    archived_at          TEXT COLLATE "C",
    extra                TEXT,
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

-- Runs of agent software, the repositories and surroundings they take place in, and small values under names.

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
    extra      TEXT,
    PRIMARY KEY (store_id, scope, k)
);
SELECT pensa.keep_apart('pensa.kv');

-- Snapshots of directory trees: who has them, where, and what proves them. Their contents are on the machines.

CREATE TABLE pensa.fs_snapshots (
    store_id    UUID NOT NULL DEFAULT pensa.this_store(),
    id          TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL CHECK (kind IN ('manual', 'safety')),
    provider    TEXT COLLATE "C" NOT NULL,
    repo_id     TEXT COLLATE "C" NOT NULL,
    -- no reference: what was taken for a run outlives it
    run_id      TEXT COLLATE "C",
    host        TEXT COLLATE "C" NOT NULL,
    root        TEXT COLLATE "C" NOT NULL,
    ref         TEXT COLLATE "C",
    path        TEXT COLLATE "C",
    parent_id   TEXT COLLATE "C",
    label       TEXT,
    actor       TEXT COLLATE "C" NOT NULL,
    metadata    TEXT NOT NULL,
    created_at  TEXT COLLATE "C" NOT NULL,
    restored_at TEXT COLLATE "C",
    PRIMARY KEY (store_id, id),
    FOREIGN KEY (store_id, repo_id) REFERENCES pensa.repos (store_id, id) DEFERRABLE,
    FOREIGN KEY (store_id, parent_id) REFERENCES pensa.fs_snapshots (store_id, id)
        ON DELETE SET NULL (parent_id) DEFERRABLE
);

CREATE INDEX fs_snapshots_order ON pensa.fs_snapshots(store_id, created_at, id);
CREATE INDEX fs_snapshots_tree ON pensa.fs_snapshots(store_id, host, root, provider, created_at, id);
CREATE INDEX fs_snapshots_repo ON pensa.fs_snapshots(store_id, repo_id);
CREATE INDEX fs_snapshots_run ON pensa.fs_snapshots(store_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX fs_snapshots_parent ON pensa.fs_snapshots(store_id, parent_id) WHERE parent_id IS NOT NULL;
SELECT pensa.keep_apart('pensa.fs_snapshots');

-- What actors are doing about issues, what was shipped, and the skills that agents' files call for.

CREATE TABLE pensa.work (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    -- no reference: an issue that was deleted may come back
    issue_id   TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    status     TEXT COLLATE "C" NOT NULL CHECK (status IN ('active', 'paused', 'done')),
    branch     TEXT COLLATE "C",
    steps      TEXT NOT NULL,
    actor      TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    started_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    done_at    TEXT COLLATE "C",
    extra      TEXT,
    PRIMARY KEY (store_id, issue_id)
);

CREATE INDEX work_actor ON pensa.work(store_id, actor, status, updated_at, issue_id);
CREATE INDEX work_order ON pensa.work(store_id, updated_at, issue_id);
SELECT pensa.keep_apart('pensa.work');

CREATE TABLE pensa.releases (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT NOT NULL,
    version    TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    -- no references: what was shipped outlives its issues
    issues     TEXT COLLATE "C" NOT NULL,
    notes      TEXT,
    actor      TEXT COLLATE "C" NOT NULL,
    shipped_at TEXT COLLATE "C" NOT NULL,
    extra      TEXT,
    PRIMARY KEY (store_id, id)
);

CREATE INDEX releases_order ON pensa.releases(store_id, shipped_at, id);
CREATE INDEX releases_version ON pensa.releases(store_id, version, shipped_at);
SELECT pensa.keep_apart('pensa.releases');

CREATE TABLE pensa.skills (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    name       TEXT COLLATE "C" NOT NULL,
    skills     TEXT NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    extra      TEXT,
    PRIMARY KEY (store_id, name)
);
SELECT pensa.keep_apart('pensa.skills');

-- Queries with a name.
CREATE TABLE pensa.views (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    name       TEXT COLLATE "C" NOT NULL,
    query      TEXT NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    extra      TEXT,
    PRIMARY KEY (store_id, name)
);
SELECT pensa.keep_apart('pensa.views');

-- What was found out, and where it came from.

CREATE TABLE pensa.learnings (
    store_id          UUID NOT NULL DEFAULT pensa.this_store(),
    id                TEXT COLLATE "C" NOT NULL,
    kind              TEXT COLLATE "C" NOT NULL CHECK (kind IN ('pattern', 'approach', 'decision', 'gotcha')),
    text              TEXT NOT NULL,
    tags              TEXT COLLATE "C" NOT NULL,
    files             TEXT COLLATE "C" NOT NULL,
    -- no references: what was found out about an issue outlives it
    issue_id          TEXT COLLATE "C",
    work              TEXT COLLATE "C",
    session_id        TEXT COLLATE "C",
    impact            TEXT COLLATE "C" NOT NULL CHECK (impact IN ('high', 'medium', 'low')),
    expires_at        TEXT COLLATE "C",
    supersedes        TEXT COLLATE "C",
    revision          BIGINT NOT NULL,
    value_type        TEXT,
    value_description TEXT,
    linear_id         TEXT COLLATE "C",
    actor             TEXT COLLATE "C" NOT NULL,
    created_at        TEXT COLLATE "C" NOT NULL,
    updated_at        TEXT COLLATE "C" NOT NULL,
    verified_at       TEXT COLLATE "C",
    extra             TEXT,
    PRIMARY KEY (store_id, id)
);

CREATE INDEX learnings_order ON pensa.learnings(store_id, created_at, id);
CREATE INDEX learnings_supersedes ON pensa.learnings(store_id, supersedes) WHERE supersedes IS NOT NULL;
SELECT pensa.keep_apart('pensa.learnings');

-- Derived from learnings that nothing supersedes: keys under which they are found, and how far each goes before others.
CREATE TABLE pensa.learning_keys (
    store_id     UUID NOT NULL DEFAULT pensa.this_store(),
    learning_key BIGINT NOT NULL,
    standing     BIGINT NOT NULL,
    learning_id  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, learning_key, standing, learning_id)
);
SELECT pensa.keep_apart('pensa.learning_keys');

-- Other copies of the store's records, each with a cursor and a merge base: git work trees, and servers.

CREATE TABLE pensa.peers (
    store_id  UUID NOT NULL DEFAULT pensa.this_store(),
    kind      TEXT COLLATE "C" NOT NULL CHECK (kind IN ('git', 'server')),
    -- the directory of a linked work tree, empty for the store's own; the id of a server's store
    peer      TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C",
    url       TEXT COLLATE "C",
    -- counts up with every change, so that of two clients only one goes on
    turn      BIGINT NOT NULL,
    -- the commit that was checked out; the cursor in the server's log
    pulled    TEXT COLLATE "C",
    -- the cursor in this store's log
    pushed    TEXT COLLATE "C",
    -- the collections that this version knew
    known     TEXT COLLATE "C" NOT NULL,
    -- of a work tree, the directory in local/merge-bases
    base      TEXT COLLATE "C",
    synced_at TEXT COLLATE "C",
    PRIMARY KEY (store_id, kind, peer)
);
SELECT pensa.keep_apart('pensa.peers');

-- What each record was when a server last had the same. Of work trees, whose peer is empty, the blobs and commits that
-- were imported or exported, and when.
CREATE TABLE pensa.merge_bases (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    peer       TEXT COLLATE "C" NOT NULL,
    collection TEXT COLLATE "C" NOT NULL,
    record_id  TEXT COLLATE "C" NOT NULL,
    -- null if the other may not have the record
    line       TEXT,
    -- 1 if the record is to be sent whatever the log says
    dirty      BIGINT NOT NULL,
    PRIMARY KEY (store_id, peer, collection, record_id)
);

CREATE INDEX merge_bases_dirty ON pensa.merge_bases(store_id, peer, collection, record_id) WHERE dirty = 1;
SELECT pensa.keep_apart('pensa.merge_bases');

-- Documents in named collections, typed by whoever keeps them there.

CREATE TABLE pensa.records (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    collection TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    rev        BIGINT NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (store_id, collection, id)
);
SELECT pensa.keep_apart('pensa.records');

-- Fields of a collection by which records are found without looking at all of them.
CREATE TABLE pensa.record_indexes (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    id         BIGINT NOT NULL,
    collection TEXT COLLATE "C" NOT NULL,
    field      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, collection, field)
);
SELECT pensa.keep_apart('pensa.record_indexes');

-- Derived from records: for each index and each record of its collection the key of the value, which sorts as values do.
CREATE TABLE pensa.record_keys (
    store_id  UUID NOT NULL DEFAULT pensa.this_store(),
    index_id  BIGINT NOT NULL,
    k         TEXT COLLATE "C" NOT NULL,
    record_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, index_id, k, record_id)
);
SELECT pensa.keep_apart('pensa.record_keys');

-- What rows were before they were changed, so that an operation can be undone. No read shows it.

CREATE TABLE pensa.changes (
    store_id   UUID NOT NULL DEFAULT pensa.this_store(),
    -- the event that reports the change, and the number of the change among those of the event
    event      BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    -- the table and the key of the row
    entity     TEXT COLLATE "C" NOT NULL,
    entity_key TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('created', 'updated', 'deleted')),
    -- of an update the old values, of a deletion the row, as JSON
    before     TEXT,
    PRIMARY KEY (store_id, event, number)
);

CREATE INDEX changes_entity ON pensa.changes(store_id, entity, entity_key, event, number);
SELECT pensa.keep_apart('pensa.changes');
