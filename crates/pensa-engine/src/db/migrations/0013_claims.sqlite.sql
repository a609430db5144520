-- Which session and host a claim belongs to: agents of one machine share a name.
ALTER TABLE issues ADD COLUMN claim_session TEXT;
ALTER TABLE issues ADD COLUMN claim_host TEXT;
