-- Sessions that listings leave out.

ALTER TABLE pensa.sessions ADD COLUMN IF NOT EXISTS archived_at TEXT COLLATE "C";
