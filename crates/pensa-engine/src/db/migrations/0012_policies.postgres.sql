-- Row-level security asks which store is meant once for a statement. As a plain call it was asked again for every row that
-- is added and for every look into an index.

CREATE OR REPLACE FUNCTION pensa.keep_apart(relation REGCLASS) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relation);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', relation);
    EXECUTE format('CREATE POLICY one_store ON %s USING (store_id = (SELECT pensa.this_store()))
        WITH CHECK (store_id = (SELECT pensa.this_store()))', relation);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO pensa_tenant', relation);
    -- A plan is kept for all stores, so it must not be made for the size of the store that happens to come first.
    EXECUTE format('ALTER TABLE %s ALTER COLUMN store_id SET STATISTICS 0', relation);
END
$$;

DO $$
DECLARE
    kept_apart REGCLASS;
BEGIN
    FOR kept_apart IN
        SELECT p.polrelid::regclass FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
        WHERE p.polname = 'one_store' AND c.relnamespace = 'pensa'::regnamespace
        ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER POLICY one_store ON %s USING (store_id = (SELECT pensa.this_store()))
            WITH CHECK (store_id = (SELECT pensa.this_store()))', kept_apart);
    END LOOP;
END
$$;
