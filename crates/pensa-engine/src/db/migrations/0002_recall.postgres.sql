-- The index of recall: which texts have which words. Derived from learnings, issues, comments, entries and releases.

-- Texts that changed since the index was written; kind '*' stands for all.
CREATE TABLE pensa.recall_dirty (
    store_id UUID NOT NULL DEFAULT pensa.this_store(),
    kind     TEXT COLLATE "C" NOT NULL,
    id       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, kind, id)
);

-- The index, in segments. Parts below 256 hold words with the texts that have them, further ones what is known of each text.
CREATE TABLE pensa.recall_parts (
    store_id UUID NOT NULL DEFAULT pensa.this_store(),
    part     BIGINT NOT NULL,
    segment  BIGINT NOT NULL,
    data     BYTEA NOT NULL,
    PRIMARY KEY (store_id, part, segment)
);

-- What is there already is not in the index yet. Words of learnings are in the index now; only what finds near-duplicates
-- is derived again. These statements are about all stores, so policies must not apply to them.
ALTER TABLE pensa.stores NO FORCE ROW LEVEL SECURITY;
ALTER TABLE pensa.learning_keys NO FORCE ROW LEVEL SECURITY;
INSERT INTO pensa.recall_dirty (store_id, kind, id) SELECT store_id, '*', '' FROM pensa.stores;
DELETE FROM pensa.learning_keys;
ALTER TABLE pensa.learning_keys FORCE ROW LEVEL SECURITY;
ALTER TABLE pensa.stores FORCE ROW LEVEL SECURITY;

SELECT pensa.keep_apart('pensa.recall_dirty');
SELECT pensa.keep_apart('pensa.recall_parts');
