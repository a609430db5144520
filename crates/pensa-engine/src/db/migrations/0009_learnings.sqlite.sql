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
