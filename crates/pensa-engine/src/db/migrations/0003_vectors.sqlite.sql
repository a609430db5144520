-- Vectors of texts, in blocks: which texts (of what kind, with which key and content), and their vectors as bytes. Derived
-- from the texts by a model of this machine, so neither journaled nor exported.
CREATE TABLE vectors (
    model TEXT NOT NULL,
    block BIGINT NOT NULL,
    texts BLOB NOT NULL,
    data  BLOB NOT NULL,
    PRIMARY KEY (model, block)
);
