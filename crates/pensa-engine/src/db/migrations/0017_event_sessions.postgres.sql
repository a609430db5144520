-- The session of whoever caused an event: pn undo takes back what was done in the same one.
ALTER TABLE pensa.events ADD COLUMN IF NOT EXISTS session TEXT COLLATE "C";
