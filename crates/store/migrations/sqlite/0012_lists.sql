-- The door that a request came in by. NULL is `rest`, the door of most requests.
ALTER TABLE requests ADD COLUMN source TEXT;
UPDATE requests SET source = json_extract(meta, '$.source') WHERE instr(meta, '"source":') > 0;
CREATE INDEX requests_source ON requests (source, seq) WHERE source IS NOT NULL;

-- The people who decided a request, one row each. `request` is the `seq` of the request. A row is never changed.
CREATE TABLE decided_by (
    name    TEXT    NOT NULL,
    request INTEGER NOT NULL,
    PRIMARY KEY (name, request)
) WITHOUT ROWID;
INSERT INTO decided_by (name, request)
SELECT DISTINCT person.value, requests.seq FROM requests, json_each(requests.meta, '$.decision.by') AS person
WHERE instr(requests.meta, '"decision":{') > 0;

-- Small JSON documents that a door keeps for its clients, such as the colour themes of a dashboard. `kind` is the door and
-- the purpose; a document has its name to itself. Not in the ledger, never changed, bounded by the door.
CREATE TABLE documents (
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    body       TEXT    NOT NULL,
    PRIMARY KEY (kind, name)
);
INSERT INTO documents (kind, name, created_at, body) SELECT 'events.theme', name, created_at, body FROM themes;
DROP TABLE themes;
