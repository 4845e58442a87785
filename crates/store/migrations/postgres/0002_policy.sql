-- Every policy that was ever put, by the entry that put it; the last one is in force. `text` is what was hashed.
CREATE TABLE policies (
    seq    BIGINT PRIMARY KEY,
    hash   TEXT    NOT NULL,
    source TEXT    NOT NULL,
    who    TEXT    NOT NULL,
    at     BIGINT NOT NULL,
    text   TEXT    NOT NULL
);
CREATE INDEX policies_hash ON policies (hash);

-- Standing yeses. A call is compared with `digest`, which is keyed, or with `pattern`; neither is in the ledger. `used`
-- is counted in the transaction of each use.
CREATE TABLE grants (
    id       TEXT PRIMARY KEY,
    data     TEXT    NOT NULL,
    digest   BYTEA,
    pattern  TEXT,
    used     BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX grants_ended ON grants (ended_at);

-- How often people approved the same. `digest` is keyed; a denial deletes the row, and so does time.
CREATE TABLE trust (
    digest BYTEA PRIMARY KEY,
    count  BIGINT NOT NULL,
    at     BIGINT NOT NULL
);
CREATE INDEX trust_age ON trust (at);
