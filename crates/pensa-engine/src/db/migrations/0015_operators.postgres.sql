-- Tokens that open no project: those of operators, who manage the server.

ALTER TABLE pensa.tokens ALTER COLUMN project DROP NOT NULL;
ALTER TABLE pensa.tokens DROP CONSTRAINT tokens_role_check;
ALTER TABLE pensa.tokens ADD CONSTRAINT tokens_role_check
    CHECK (role IN ('viewer', 'agent', 'maintainer', 'admin', 'operator'));
ALTER TABLE pensa.tokens DROP CONSTRAINT IF EXISTS tokens_project_check;
ALTER TABLE pensa.tokens ADD CONSTRAINT tokens_project_check CHECK ((role = 'operator') = (project IS NULL));
