-- The first schema. Steps after it are only ever added.
--
-- Whoever opens a store parses all of this, so it has no more than it needs. Where JSON is not checked, it is seen to
-- before it comes here.

CREATE TABLE _migrations (name TEXT PRIMARY KEY, checksum TEXT NOT NULL, applied_at TEXT NOT NULL);

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
    search_text      TEXT NOT NULL,
    -- fields that this version does not know, kept for those who do
    extra            TEXT,
    -- which session and host a claim belongs to: agents of one machine share a name
    claim_session    TEXT,
    claim_host       TEXT,
    -- the issue that it is a part of; there may be no such issue
    parent           TEXT,
    -- lists and objects are JSON, null if empty
    labels           TEXT,
    due              TEXT,
    defer            TEXT,
    estimate         TEXT,
    -- derived: the estimate as a number
    estimate_ms      BIGINT,
    acceptance       TEXT,
    links            TEXT,
    fields           TEXT
);

-- `pn ready` reads its answer off this index, however many issues are closed or blocked.
CREATE INDEX issues_ready ON issues(blockers, priority, created_at, id)
    WHERE status = 'open' AND issue_type <> 'bug';
CREATE INDEX issues_order ON issues(priority, created_at, id);
CREATE INDEX issues_state ON issues(status, issue_type);
CREATE INDEX issues_assignee ON issues(assignee) WHERE assignee IS NOT NULL;
CREATE INDEX issues_fixes ON issues(fixes) WHERE fixes IS NOT NULL;
CREATE INDEX issues_lease ON issues(lease_expires_at) WHERE lease_expires_at IS NOT NULL;
CREATE INDEX issues_parent ON issues(parent) WHERE parent IS NOT NULL;
CREATE INDEX issues_defer ON issues(defer) WHERE defer IS NOT NULL;
CREATE INDEX issues_linked ON issues(id) WHERE links IS NOT NULL;
CREATE INDEX issues_labelled ON issues(id) WHERE labels IS NOT NULL;

CREATE TABLE deps (
    issue_id      TEXT NOT NULL REFERENCES issues(id),
    depends_on_id TEXT NOT NULL REFERENCES issues(id),
    extra         TEXT,
    PRIMARY KEY (issue_id, depends_on_id),
    CHECK (issue_id != depends_on_id)
) WITHOUT ROWID;

CREATE INDEX deps_reverse ON deps(depends_on_id, issue_id);

CREATE TABLE comments (
    id         TEXT PRIMARY KEY,
    issue_id   TEXT NOT NULL REFERENCES issues(id),
    actor      TEXT NOT NULL,
    text       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    extra      TEXT,
    -- derived: the text, folded for search
    search_text TEXT NOT NULL
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
    created_at   TEXT NOT NULL,
    -- the token of a server that the change came with
    token_id     TEXT,
    -- the first event of the operation, so that all of them are taken back together
    op           BIGINT,
    -- the session of whoever caused it: pn undo takes back what was done in the same one
    session      TEXT
);

CREATE INDEX events_issue ON events(issue_id) WHERE issue_id IS NOT NULL;
CREATE INDEX events_token ON events(token_id, id) WHERE token_id IS NOT NULL;
-- What is left in the log of issues that are gone.
CREATE INDEX events_gone ON events(subject_id, id) WHERE issue_id IS NULL;

-- Derived from titles: keys under which near-duplicates are found.
CREATE TABLE title_keys (
    title_key BIGINT NOT NULL,
    issue_id  TEXT NOT NULL,
    PRIMARY KEY (title_key, issue_id)
) WITHOUT ROWID;

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

-- Tokens that open no project are those of operators, who manage the server.
CREATE TABLE tokens (
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
CREATE INDEX tokens_project ON tokens(project, created_at, id);

-- What git carries besides: deletions, and what two clones disagreed about.

CREATE TABLE tombstones (
    collection  TEXT NOT NULL,
    record_id   TEXT NOT NULL,
    deleted_at  TEXT NOT NULL,
    actor       TEXT NOT NULL,
    -- the version that was deleted
    version     TEXT,
    -- when a record without a time of its own was made again
    restored_at TEXT,
    -- the comments that were deleted with an issue, as JSON
    comments    TEXT,
    extra       TEXT,
    PRIMARY KEY (collection, record_id)
) WITHOUT ROWID;

CREATE TABLE conflicts (
    id          TEXT PRIMARY KEY,
    collection  TEXT NOT NULL,
    record_id   TEXT NOT NULL,
    field       TEXT NOT NULL,
    kept        TEXT NOT NULL,
    other       TEXT NOT NULL,
    -- every field that goes with the other value
    whole       TEXT NOT NULL,
    found_at    TEXT NOT NULL,
    -- settled ones stay, so that the same two values are not a conflict again
    resolved_at TEXT
) WITHOUT ROWID;
CREATE INDEX conflicts_open ON conflicts(found_at, id) WHERE resolved_at IS NULL;

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
    updated_at        TEXT NOT NULL,
    -- set on one that was deleted: it is not shown, and comes back if that is undone
    deleted_ms        BIGINT,
    extra             TEXT
);

CREATE INDEX agents_name ON agents(name) WHERE name IS NOT NULL;
CREATE INDEX agents_parent ON agents(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX agents_order ON agents(created_at, id);
CREATE INDEX agents_deleted ON agents(id) WHERE deleted_ms IS NOT NULL;

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
    ended_at             TEXT,
    -- of those that listings leave out
    archived_at          TEXT,
    extra                TEXT
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
    metadata TEXT,
    UNIQUE (name, version)
);

CREATE TABLE runtimes (
    id                TEXT PRIMARY KEY,
    type              TEXT NOT NULL,
    devcontainer_path TEXT,
    metadata          TEXT
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
    command            TEXT NOT NULL,
    prompt             TEXT NOT NULL,
    branch             TEXT,
    delivery           TEXT,
    instances          BIGINT NOT NULL,
    labels             TEXT NOT NULL,
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
    extra      TEXT,
    PRIMARY KEY (scope, k)
);

-- Snapshots of directory trees: who has them, where, and what proves them. Their contents are on the machines.

CREATE TABLE fs_snapshots (
    id          TEXT PRIMARY KEY,
    kind        TEXT NOT NULL CHECK (kind IN ('manual', 'safety')),
    provider    TEXT NOT NULL,
    repo_id     TEXT NOT NULL REFERENCES repos(id),
    -- no reference: what was taken for a run outlives it
    run_id      TEXT,
    host        TEXT NOT NULL,
    root        TEXT NOT NULL,
    ref         TEXT,
    path        TEXT,
    parent_id   TEXT REFERENCES fs_snapshots(id) ON DELETE SET NULL,
    label       TEXT,
    actor       TEXT NOT NULL,
    metadata    TEXT NOT NULL CHECK (json_valid(metadata)),
    created_at  TEXT NOT NULL,
    restored_at TEXT
);

CREATE INDEX fs_snapshots_order ON fs_snapshots(created_at, id);
CREATE INDEX fs_snapshots_tree ON fs_snapshots(host, root, provider, created_at, id);
CREATE INDEX fs_snapshots_repo ON fs_snapshots(repo_id);
CREATE INDEX fs_snapshots_run ON fs_snapshots(run_id) WHERE run_id IS NOT NULL;
CREATE INDEX fs_snapshots_parent ON fs_snapshots(parent_id) WHERE parent_id IS NOT NULL;

-- What actors are doing about issues, what was shipped, and the skills that agents' files call for.

CREATE TABLE work (
    -- no reference: an issue that was deleted may come back
    issue_id   TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('active', 'paused', 'done')),
    branch     TEXT,
    steps      TEXT NOT NULL,
    actor      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    started_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    done_at    TEXT,
    extra      TEXT
);

CREATE INDEX work_actor ON work(actor, status, updated_at, issue_id);
CREATE INDEX work_order ON work(updated_at, issue_id);

CREATE TABLE releases (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    -- no references: what was shipped outlives its issues
    issues     TEXT NOT NULL,
    notes      TEXT,
    actor      TEXT NOT NULL,
    shipped_at TEXT NOT NULL,
    extra      TEXT
);

CREATE INDEX releases_order ON releases(shipped_at, id);
CREATE INDEX releases_version ON releases(version, shipped_at);

CREATE TABLE skills (
    name       TEXT PRIMARY KEY,
    skills     TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    extra      TEXT
);

-- Queries with a name.
CREATE TABLE views (
    name       TEXT PRIMARY KEY,
    query      TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    extra      TEXT
);

-- What was found out, and where it came from.

CREATE TABLE learnings (
    id                TEXT PRIMARY KEY,
    kind              TEXT NOT NULL CHECK (kind IN ('pattern', 'approach', 'decision', 'gotcha')),
    text              TEXT NOT NULL,
    tags              TEXT NOT NULL CHECK (json_valid(tags)),
    files             TEXT NOT NULL CHECK (json_valid(files)),
    -- no references: what was found out about an issue outlives it
    issue_id          TEXT,
    work              TEXT,
    session_id        TEXT,
    impact            TEXT NOT NULL CHECK (impact IN ('high', 'medium', 'low')),
    expires_at        TEXT,
    supersedes        TEXT,
    revision          BIGINT NOT NULL,
    value_type        TEXT,
    value_description TEXT,
    linear_id         TEXT,
    actor             TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    updated_at        TEXT NOT NULL,
    verified_at       TEXT,
    extra             TEXT
);

CREATE INDEX learnings_order ON learnings(created_at, id);
CREATE INDEX learnings_supersedes ON learnings(supersedes) WHERE supersedes IS NOT NULL;

-- Derived from learnings that nothing supersedes: keys under which they are found, and how far each goes before others.
CREATE TABLE learning_keys (
    learning_key BIGINT NOT NULL,
    standing     BIGINT NOT NULL,
    learning_id  TEXT NOT NULL,
    PRIMARY KEY (learning_key, standing, learning_id)
) WITHOUT ROWID;

-- Other copies of the store's records, each with a cursor and a merge base: git work trees, and servers.

CREATE TABLE peers (
    kind      TEXT NOT NULL CHECK (kind IN ('git', 'server')),
    -- the directory of a linked work tree, empty for the store's own; the id of a server's store
    peer      TEXT NOT NULL,
    name      TEXT,
    url       TEXT,
    -- counts up with every change, so that of two clients only one goes on
    turn      BIGINT NOT NULL,
    -- the commit that was checked out; the cursor in the server's log
    pulled    TEXT,
    -- the cursor in this store's log
    pushed    TEXT,
    -- the collections that this version knew
    known     TEXT NOT NULL,
    -- of a work tree, the directory in local/merge-bases
    base      TEXT,
    synced_at TEXT,
    PRIMARY KEY (kind, peer)
) WITHOUT ROWID;

-- What each record was when a server last had the same. Of work trees, whose peer is empty, the blobs and commits that
-- were imported or exported, and when.
CREATE TABLE merge_bases (
    peer       TEXT NOT NULL,
    collection TEXT NOT NULL,
    record_id  TEXT NOT NULL,
    -- null if the other may not have the record
    line       TEXT,
    -- 1 if the record is to be sent whatever the log says
    dirty      BIGINT NOT NULL,
    PRIMARY KEY (peer, collection, record_id)
);

CREATE INDEX merge_bases_dirty ON merge_bases(peer, collection, record_id) WHERE dirty = 1;

-- Documents in named collections, typed by whoever keeps them there.

CREATE TABLE records (
    collection TEXT NOT NULL,
    id         TEXT NOT NULL,
    rev        BIGINT NOT NULL,
    updated_at TEXT NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (collection, id)
);

-- Fields of a collection by which records are found without looking at all of them.
CREATE TABLE record_indexes (
    id         BIGINT PRIMARY KEY,
    collection TEXT NOT NULL,
    field      TEXT NOT NULL,
    UNIQUE (collection, field)
);

-- Derived from records: for each index and each record of its collection the key of the value, which sorts as values do.
CREATE TABLE record_keys (
    index_id  BIGINT NOT NULL,
    k         TEXT NOT NULL,
    record_id TEXT NOT NULL,
    PRIMARY KEY (index_id, k, record_id)
) WITHOUT ROWID;

-- What rows were before they were changed, so that an operation can be undone. No read shows it.

CREATE TABLE changes (
    -- the event that reports the change, and the number of the change among those of the event
    event      BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    -- the table and the key of the row
    entity     TEXT NOT NULL,
    entity_key TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('created', 'updated', 'deleted')),
    -- of an update the old values, of a deletion the row, as JSON
    before     TEXT,
    PRIMARY KEY (event, number)
) WITHOUT ROWID;

CREATE INDEX changes_entity ON changes(entity, entity_key, event, number);
