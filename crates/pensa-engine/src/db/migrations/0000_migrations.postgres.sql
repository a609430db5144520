-- The schema, the role in which every server acts, and what tells a transaction its store.

CREATE SCHEMA IF NOT EXISTS pensa;

-- Roles belong to the whole cluster: another database may have brought it already, or be about to.
DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'pensa_tenant') THEN
        CREATE ROLE pensa_tenant NOLOGIN NOSUPERUSER NOBYPASSRLS;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$;
-- Being a member is not everywhere enough to act in a role. Whoever may not grant it was granted it, or finds out.
DO $$
BEGIN
    EXECUTE format('GRANT pensa_tenant TO %I', current_user);
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END
$$;
GRANT USAGE ON SCHEMA pensa TO pensa_tenant;

CREATE TABLE pensa._migrations (
    name       TEXT COLLATE "C" PRIMARY KEY,
    checksum   TEXT NOT NULL,
    applied_at TEXT NOT NULL,
    -- the oldest schema whose servers can still use this database after this step
    oldest     BIGINT NOT NULL
);
GRANT SELECT ON pensa._migrations TO pensa_tenant;

-- The store that this transaction is about; outside one, none.
CREATE FUNCTION pensa.this_store() RETURNS UUID LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('pensa.store_id', true), '')::uuid $$;

-- The same name as in SQLite, so that the shared SQL has one word for it.
CREATE FUNCTION pensa.instr(TEXT, TEXT) RETURNS INTEGER LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT strpos($1, $2) $$;

-- Makes a table see and take the rows of one store at a time, whoever asks.
CREATE FUNCTION pensa.keep_apart(relation REGCLASS) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relation);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', relation);
    EXECUTE format('CREATE POLICY one_store ON %s USING (store_id = pensa.this_store())
        WITH CHECK (store_id = pensa.this_store())', relation);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO pensa_tenant', relation);
    -- A plan is kept for all stores, so it must not be made for the size of the store that happens to come first.
    EXECUTE format('ALTER TABLE %s ALTER COLUMN store_id SET STATISTICS 0', relation);
END
$$;

-- One row for each store: whoever locks it is the store's only writer and continues its event numbers.
CREATE TABLE pensa.stores (
    store_id   UUID PRIMARY KEY DEFAULT pensa.this_store(),
    last_event BIGINT NOT NULL DEFAULT 0,
    changes    BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
SELECT pensa.keep_apart('pensa.stores');
