-- Fields for planning.

-- the issue that it is a part of; there may be no such issue
ALTER TABLE issues ADD COLUMN parent TEXT;
-- lists and objects are JSON, null if empty
ALTER TABLE issues ADD COLUMN labels TEXT;
ALTER TABLE issues ADD COLUMN due TEXT;
ALTER TABLE issues ADD COLUMN defer TEXT;
ALTER TABLE issues ADD COLUMN estimate TEXT;
-- derived: the estimate as a number
ALTER TABLE issues ADD COLUMN estimate_ms BIGINT;
ALTER TABLE issues ADD COLUMN acceptance TEXT;
ALTER TABLE issues ADD COLUMN links TEXT;
ALTER TABLE issues ADD COLUMN fields TEXT;
-- derived: the text, folded for search; null in rows of older versions
ALTER TABLE comments ADD COLUMN search_text TEXT;

CREATE INDEX issues_parent ON issues(parent) WHERE parent IS NOT NULL;
CREATE INDEX issues_defer ON issues(defer) WHERE defer IS NOT NULL;
CREATE INDEX issues_linked ON issues(id) WHERE links IS NOT NULL;
CREATE INDEX issues_labelled ON issues(id) WHERE labels IS NOT NULL;
