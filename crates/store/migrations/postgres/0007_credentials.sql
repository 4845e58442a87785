-- The person who answers for an agent, as each key names them. The entries that made the keys say it.
ALTER TABLE keys ADD COLUMN owner TEXT;
UPDATE keys SET owner = made.owner
FROM (SELECT entry::jsonb -> 'data' ->> 'id' AS id, entry::jsonb -> 'data' ->> 'owner' AS owner
      FROM ledger WHERE entry LIKE '%"type":"key.created"%') AS made
WHERE made.id = keys.id;

-- Credentials that somebody else may have used: votes and standing approvals that were given with them count no more.
-- `kind` is `key`, `session` or `person`; `name` is the identifier, or the person's name.
CREATE TABLE voided (
    kind TEXT   NOT NULL CHECK (kind IN ('key', 'session', 'person')),
    name TEXT   NOT NULL,
    at   BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);

-- The entry of the approval that was counted last: what was asked before it does not count.
ALTER TABLE trust ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
