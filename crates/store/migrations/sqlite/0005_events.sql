-- What agents tell through the observability door. `id` is given by the writer, one after the other; the newest row is
-- never deleted, so that no number is given twice. `body` is the whole event as JSON, without its number. `request` is
-- what a question to a person became; whether it was answered stands there and nowhere else.
CREATE TABLE events (
    id              INTEGER PRIMARY KEY,
    received_at     INTEGER NOT NULL,
    agent           TEXT    NOT NULL,
    request         TEXT,
    source_app      TEXT    NOT NULL,
    session_id      TEXT    NOT NULL,
    hook_event_type TEXT    NOT NULL,
    timestamp       INTEGER NOT NULL,
    body            TEXT    NOT NULL
);
CREATE UNIQUE INDEX events_request ON events (request) WHERE request IS NOT NULL;

-- The words that events can be filtered by: 0 for `source_app`, 1 for `session_id`, 2 for `hook_event_type`. `seen` is
-- the number of an event with it, not always the last: it is written again when it is a thousand events old.
CREATE TABLE event_words (
    kind INTEGER NOT NULL,
    word TEXT    NOT NULL,
    seen INTEGER NOT NULL,
    PRIMARY KEY (kind, word)
) WITHOUT ROWID;
CREATE INDEX event_words_seen ON event_words (seen);

-- Colour themes of the observability dashboard, as JSON.
CREATE TABLE themes (
    id         TEXT PRIMARY KEY,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    body       TEXT    NOT NULL
);
CREATE UNIQUE INDEX themes_name ON themes (name);
