-- Other stores with which this one exchanges its records: how far the two have come, and what each record was when both
-- last had the same.

CREATE TABLE sync_peers (
    -- the id of the other store
    peer      TEXT PRIMARY KEY,
    name      TEXT,
    url       TEXT,
    -- counts up whenever the books change, so that of two clients only one goes on
    turn      BIGINT NOT NULL,
    pulled    TEXT,
    pushed    TEXT,
    -- the collections that this version knew
    known     TEXT NOT NULL,
    synced_at TEXT
);

CREATE TABLE sync_bases (
    peer       TEXT NOT NULL,
    collection TEXT NOT NULL,
    record_id  TEXT NOT NULL,
    -- null if the other may not have the record
    line       TEXT,
    -- 1 if the record is to be sent whatever the log says
    dirty      BIGINT NOT NULL,
    PRIMARY KEY (peer, collection, record_id)
);

CREATE INDEX sync_bases_dirty ON sync_bases(peer, collection, record_id) WHERE dirty = 1;
