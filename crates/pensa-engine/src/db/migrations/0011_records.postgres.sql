-- Documents in named collections, typed by whoever keeps them there. That they are JSON is seen to before they come here.

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
