-- Fields for planning.

-- the issue that it is a part of; there may be no such issue
ALTER TABLE pensa.issues ADD COLUMN parent TEXT COLLATE "C";
-- lists and objects are JSON, null if empty
ALTER TABLE pensa.issues ADD COLUMN labels TEXT;
ALTER TABLE pensa.issues ADD COLUMN due TEXT COLLATE "C";
ALTER TABLE pensa.issues ADD COLUMN defer TEXT COLLATE "C";
ALTER TABLE pensa.issues ADD COLUMN estimate TEXT COLLATE "C";
-- derived: the estimate as a number
ALTER TABLE pensa.issues ADD COLUMN estimate_ms BIGINT;
ALTER TABLE pensa.issues ADD COLUMN acceptance TEXT;
ALTER TABLE pensa.issues ADD COLUMN links TEXT;
ALTER TABLE pensa.issues ADD COLUMN fields TEXT;
-- derived: the text, folded for search; null in rows of older versions
ALTER TABLE pensa.comments ADD COLUMN search_text TEXT;

CREATE INDEX issues_parent ON pensa.issues(store_id, parent) WHERE parent IS NOT NULL;
CREATE INDEX issues_defer ON pensa.issues(store_id, defer) WHERE defer IS NOT NULL;
CREATE INDEX issues_linked ON pensa.issues(store_id, id) WHERE links IS NOT NULL;
CREATE INDEX issues_labelled ON pensa.issues(store_id, id) WHERE labels IS NOT NULL;
