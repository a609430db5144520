-- Sessions that listings leave out.

ALTER TABLE pensa.sessions ADD COLUMN archived_at TEXT COLLATE "C";
