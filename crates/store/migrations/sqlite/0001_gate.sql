-- One row: where the ledger ends. Taken first by every batch.
CREATE TABLE head (
    one            INTEGER PRIMARY KEY CHECK (one = 1),
    epoch          TEXT    NOT NULL,
    seq            INTEGER NOT NULL,
    hash           BLOB    NOT NULL,
    principals_seq INTEGER NOT NULL
);

-- The last batch of every writer, so that a commit whose answer was lost can be looked up instead of guessed.
CREATE TABLE writers (
    node  TEXT PRIMARY KEY,
    batch BLOB NOT NULL,
    at    INTEGER NOT NULL
);

-- Secrets and settings of this database: `secret` keys the permits.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Every request as it stands. `seq` is the ledger entry that created it, so rows are written in order;
-- `meta` is the whole state as JSON, the other columns are what lists filter and sort by.
CREATE TABLE requests (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    tool       TEXT,
    risk       TEXT    NOT NULL,
    grp        TEXT,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    deadline   INTEGER,
    meta       TEXT    NOT NULL
);
CREATE UNIQUE INDEX requests_id ON requests (id);
CREATE INDEX requests_live ON requests (state, deadline, seq) WHERE deadline IS NOT NULL;
CREATE INDEX requests_agent ON requests (agent, seq);
CREATE INDEX requests_group ON requests (grp, seq) WHERE grp IS NOT NULL;

-- What was written with an entry: arguments, context, answers, reasons, notes. Erasable. The payload of version 1
-- has the `seq` of its request; only later ones need an index to be found.
CREATE TABLE payloads (
    seq     INTEGER PRIMARY KEY,
    request INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL
);
CREATE INDEX payloads_later ON payloads (request, version) WHERE version > 1;

-- The append-only record. `entry` is the canonical text that was hashed.
CREATE TABLE ledger (
    seq     INTEGER PRIMARY KEY,
    request INTEGER,
    entry   TEXT    NOT NULL,
    hash    BLOB    NOT NULL
);
CREATE TRIGGER ledger_only_grows_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER ledger_only_grows_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;

-- Answers by idempotency key. The client-chosen key is only in the slim unique index, as a hash.
CREATE TABLE idempotency (
    id         INTEGER PRIMARY KEY,
    scope      BLOB    NOT NULL,
    body       BLOB    NOT NULL,
    request    INTEGER,
    answer     TEXT,
    created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX idempotency_scope ON idempotency (scope);
CREATE INDEX idempotency_age ON idempotency (created_at);

-- How many pending requests each agent has.
CREATE TABLE tallies (
    agent   TEXT PRIMARY KEY,
    pending INTEGER NOT NULL
);

CREATE TABLE principals (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('agent', 'person')),
    data TEXT NOT NULL
);

CREATE TABLE keys (
    id         TEXT PRIMARY KEY,
    role       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    secret     BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
);
CREATE UNIQUE INDEX keys_secret ON keys (secret);

-- News on its way to a channel. Leased, attempted, retried until `give_up_at`.
CREATE TABLE outbox (
    id          TEXT PRIMARY KEY,
    seq         INTEGER NOT NULL,
    request     TEXT    NOT NULL,
    channel     TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    attempts    INTEGER NOT NULL,
    next_at     INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    lease_owner TEXT,
    give_up_at  INTEGER NOT NULL,
    last_error  TEXT
);
CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'waiting';
