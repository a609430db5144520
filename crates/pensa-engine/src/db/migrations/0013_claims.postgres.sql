-- Which session and host a claim belongs to: agents of one machine share a name.
ALTER TABLE pensa.issues ADD COLUMN IF NOT EXISTS claim_session TEXT COLLATE "C";
ALTER TABLE pensa.issues ADD COLUMN IF NOT EXISTS claim_host TEXT COLLATE "C";
