-- Vectors of texts, in blocks: which texts (of what kind, with which key and content), and their vectors as bytes. Derived
-- from the texts by a model of this machine, so neither journaled nor exported.
CREATE TABLE pensa.vectors (
    store_id UUID NOT NULL DEFAULT pensa.this_store(),
    model    TEXT COLLATE "C" NOT NULL,
    block    BIGINT NOT NULL,
    texts    BYTEA NOT NULL,
    data     BYTEA NOT NULL,
    PRIMARY KEY (store_id, model, block)
);

SELECT pensa.keep_apart('pensa.vectors');
