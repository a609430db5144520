-- The index of recall: which texts have which words. Derived from learnings, issues, comments, entries and releases.

-- Texts that changed since the index was written; kind '*' stands for all.
CREATE TABLE recall_dirty (
    kind TEXT NOT NULL,
    id   TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;

-- The index, in segments. Parts below 256 hold words with the texts that have them, further ones what is known of each text.
CREATE TABLE recall_parts (
    part    BIGINT NOT NULL,
    segment BIGINT NOT NULL,
    data    BLOB NOT NULL,
    PRIMARY KEY (part, segment)
);

-- Words of learnings are in the index now; only what finds near-duplicates is derived again.
DELETE FROM learning_keys;

-- What is there already is not in the index yet.
INSERT INTO recall_dirty (kind, id) SELECT '*', '' WHERE EXISTS (SELECT 1 FROM events);
