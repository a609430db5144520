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
