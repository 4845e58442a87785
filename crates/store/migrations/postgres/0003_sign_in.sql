-- People who are signed in. The secret is stored as a hash; `previous` is the one before, which works a little longer. A row
-- goes when its session ends: that it was there is in the ledger.
CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    name         TEXT    NOT NULL,
    via          TEXT    NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    secret       BYTEA    NOT NULL,
    previous     BYTEA,
    rotated_at   BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    user_agent   TEXT    NOT NULL
);
CREATE UNIQUE INDEX sessions_secret ON sessions (secret);
CREATE UNIQUE INDEX sessions_previous ON sessions (previous) WHERE previous IS NOT NULL;
CREATE INDEX sessions_name ON sessions (name);

-- Links with which a person signs in once. The token is stored as a hash; using it deletes the row.
CREATE TABLE links (
    name       TEXT PRIMARY KEY,
    token      BYTEA    NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX links_token ON links (token);

-- Passwords, as what is compared with: never the password, never in the ledger.
CREATE TABLE passwords (
    name TEXT PRIMARY KEY,
    hash TEXT NOT NULL
);
