-- What git carries beyond the first fields: deletions, what two clones disagreed about, and fields of later versions.

ALTER TABLE pensa.issues ADD COLUMN extra TEXT;
ALTER TABLE pensa.deps ADD COLUMN extra TEXT;
ALTER TABLE pensa.comments ADD COLUMN extra TEXT;

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

-- For each place with files, the copy of what files and database last had in common.
CREATE TABLE pensa.agreements (
    store_id  UUID NOT NULL DEFAULT pensa.this_store(),
    place     TEXT COLLATE "C" NOT NULL,
    -- the name of a directory in local/agreed
    copy      TEXT NOT NULL,
    -- the commit that was checked out
    head      TEXT,
    -- the last event that the copy knows
    event     BIGINT NOT NULL,
    agreed_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, place)
);
SELECT pensa.keep_apart('pensa.agreements');

-- Contents of files that the store has taken in or written, by the ids that git gives them.
CREATE TABLE pensa.seen_files (
    store_id UUID NOT NULL DEFAULT pensa.this_store(),
    blob     TEXT COLLATE "C" NOT NULL,
    seen_at  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, blob)
);
SELECT pensa.keep_apart('pensa.seen_files');
