-- Skills travel: fields that this version does not know are kept. A name that is removed leaves a tombstone.

ALTER TABLE pensa.skills ADD COLUMN extra TEXT;
