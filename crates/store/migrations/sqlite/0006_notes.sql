-- What doors keep beside requests: bookkeeping of a protocol, never a decision. `(kind, key)` names a note; whoever
-- changes it names the `version` that it read. `body` is JSON. Notes do not outlive a restore: they are promises to
-- callers of the server that made them. They are deleted some time after `keep_until`.
CREATE TABLE notes (
    kind       TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    open       INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    keep_until INTEGER NOT NULL,
    body       TEXT    NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE INDEX notes_owner ON notes (kind, owner, at DESC, key);
CREATE INDEX notes_scope ON notes (kind, scope, key);
CREATE INDEX notes_open ON notes (kind, key) WHERE open = 1;
CREATE INDEX notes_counted ON notes (kind, owner) WHERE open = 1;
CREATE INDEX notes_keep_until ON notes (keep_until);
