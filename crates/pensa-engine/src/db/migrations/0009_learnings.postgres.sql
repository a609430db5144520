-- What was found out, and where it came from. That what should be JSON is JSON is seen to before it comes here.

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
