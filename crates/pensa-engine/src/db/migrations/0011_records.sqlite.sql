-- Documents in named collections, typed by whoever keeps them there.

CREATE TABLE records (
    collection TEXT NOT NULL,
    id         TEXT NOT NULL,
    rev        BIGINT NOT NULL,
    updated_at TEXT NOT NULL,
    data       TEXT NOT NULL CHECK (json_valid(data)),
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
