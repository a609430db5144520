-- Sessions that listings leave out.

ALTER TABLE sessions ADD COLUMN archived_at TEXT;
