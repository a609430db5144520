-- Which events one operation wrote, so that they can be taken back together.

-- The number of the operation's first event; none for events from before.
ALTER TABLE events ADD COLUMN op BIGINT;
-- What is left in the log of issues that are gone.
CREATE INDEX events_gone ON events(subject_id, id) WHERE issue_id IS NULL;
