-- Other stores with which this one exchanges its records: how far the two have come, and what each record was when both
-- last had the same.

CREATE TABLE pensa.sync_peers (
    store_id  UUID NOT NULL DEFAULT pensa.this_store(),
    -- the id of the other store
    peer      TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C",
    url       TEXT COLLATE "C",
    -- counts up whenever the books change, so that of two clients only one goes on
    turn      BIGINT NOT NULL,
    pulled    TEXT COLLATE "C",
    pushed    TEXT COLLATE "C",
    -- the collections that this version knew
    known     TEXT COLLATE "C" NOT NULL,
    synced_at TEXT COLLATE "C",
    PRIMARY KEY (store_id, peer)
);
SELECT pensa.keep_apart('pensa.sync_peers');

CREATE TABLE pensa.sync_bases (
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

CREATE INDEX sync_bases_dirty ON pensa.sync_bases(store_id, peer, collection, record_id) WHERE dirty = 1;
SELECT pensa.keep_apart('pensa.sync_bases');
