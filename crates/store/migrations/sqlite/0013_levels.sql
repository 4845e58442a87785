-- Deliveries by level: one row per channel and subject instead of one per entry. `wanted` is the newest that the subject's followers
-- are to hear of, `told` the newest that was delivered; both only grow. `body` is what is sent, where it cannot be read again.
-- What was over is dropped, and of what waits the newest stays.
ALTER TABLE outbox RENAME TO outbox_by_entry;
CREATE TABLE outbox (
    channel     TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    wanted      INTEGER NOT NULL,
    told        INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    attempts    INTEGER NOT NULL,
    next_at     INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    lease_owner TEXT,
    give_up_at  INTEGER NOT NULL,
    last_error  TEXT,
    body        TEXT,
    PRIMARY KEY (channel, subject)
);
INSERT INTO outbox (channel, subject, wanted, told, state, attempts, next_at, lease_until, lease_owner, give_up_at, last_error)
SELECT channel, request, newest, 0, 'waiting', attempts, next_at, lease_until, lease_owner, give_up_at, last_error
FROM (SELECT *, max(seq) AS newest FROM outbox_by_entry WHERE state = 'waiting' GROUP BY channel, request);
DROP TABLE outbox_by_entry;
CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'waiting';

-- Push notifications of A2A tasks kept what they had to tell in notes of their own. Tasks of the desk are read again: one may have
-- changed when no server looked. Retries have a day from now.
INSERT INTO outbox (channel, subject, wanted, told, state, attempts, next_at, lease_until, give_up_at, body)
SELECT kind, key, json_extract(body, '$.pending.generation'), 0, 'waiting', 0, at, 0,
    max(at, unixepoch() * 1000000) + 86400000000, json_extract(body, '$.pending.task')
FROM notes
WHERE kind = 'a2a.push' AND scope NOT LIKE 'placet/desk/%' AND json_extract(body, '$.pending') IS NOT NULL;
INSERT INTO outbox (channel, subject, wanted, told, state, attempts, next_at, lease_until, give_up_at)
SELECT kind, key, 1, 0, 'waiting', 0, at, 0, max(at, unixepoch() * 1000000) + 86400000000
FROM notes
WHERE kind = 'a2a.push' AND scope LIKE 'placet/desk/%'
    AND json_extract(body, '$.given_up.ended') IS NOT 1 AND NOT json_extract(body, '$.ended');
UPDATE notes SET open = 0 WHERE kind = 'a2a.push';
