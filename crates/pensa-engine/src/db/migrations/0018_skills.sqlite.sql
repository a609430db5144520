-- Skills travel: fields that this version does not know are kept. A name that is removed leaves a tombstone.

ALTER TABLE skills ADD COLUMN extra TEXT CHECK (extra IS NULL OR json_valid(extra));
DELETE FROM skills WHERE skills = '[]';
