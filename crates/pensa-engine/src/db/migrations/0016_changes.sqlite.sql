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
    before     TEXT CHECK (before IS NULL OR json_valid(before)),
    PRIMARY KEY (event, number)
) WITHOUT ROWID;

CREATE INDEX changes_entity ON changes(entity, entity_key, event, number);
