-- The door that a request came in by. NULL is `rest`, the door of most requests. JSON here cannot hold the character zero;
-- as it is in neither a door nor a name, another character takes its place while they are read.
ALTER TABLE requests ADD COLUMN source TEXT;
UPDATE requests SET source = replace(meta, E'\\u0000', E'\\u0001')::jsonb ->> 'source' WHERE strpos(meta, '"source":') > 0;
CREATE INDEX requests_source ON requests (source, seq) WHERE source IS NOT NULL;

-- The people who decided a request, one row each. `request` is the `seq` of the request. A row is never changed.
CREATE TABLE decided_by (
    name    TEXT   NOT NULL,
    request BIGINT NOT NULL,
    PRIMARY KEY (name, request)
);
INSERT INTO decided_by (name, request)
SELECT DISTINCT person.name, decided.seq
FROM (SELECT seq, replace(meta, E'\\u0000', E'\\u0001')::jsonb -> 'decision' -> 'by' AS names
      FROM requests WHERE strpos(meta, '"decision":{') > 0) AS decided,
     jsonb_array_elements_text(decided.names) AS person (name);

-- Small JSON documents that a door keeps for its clients, such as the colour themes of a dashboard. `kind` is the door and
-- the purpose; a document has its name to itself. Not in the ledger, never changed, bounded by the door.
CREATE TABLE documents (
    kind       TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    body       TEXT   NOT NULL,
    PRIMARY KEY (kind, name)
);
INSERT INTO documents (kind, name, created_at, body) SELECT 'events.theme', name, created_at, body FROM themes;
DROP TABLE themes;
