-- The session of whoever caused an event: pn undo takes back what was done in the same one.
ALTER TABLE events ADD COLUMN session TEXT;
