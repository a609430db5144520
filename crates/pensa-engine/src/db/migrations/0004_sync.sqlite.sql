-- What git carries beyond the first fields: deletions, what two clones disagreed about, and fields of later versions.

ALTER TABLE issues ADD COLUMN extra TEXT;
ALTER TABLE deps ADD COLUMN extra TEXT;
ALTER TABLE comments ADD COLUMN extra TEXT;

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

-- For each place with files, the copy of what files and database last had in common.
CREATE TABLE agreements (
    place     TEXT PRIMARY KEY,
    -- the name of a directory in local/agreed
    copy      TEXT NOT NULL,
    -- the commit that was checked out
    head      TEXT,
    -- the last event that the copy knows
    event     BIGINT NOT NULL,
    agreed_at TEXT NOT NULL
) WITHOUT ROWID;

-- Contents of files that the store has taken in or written, by the ids that git gives them.
CREATE TABLE seen_files (
    blob    TEXT PRIMARY KEY,
    seen_at TEXT NOT NULL
) WITHOUT ROWID;
