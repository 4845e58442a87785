-- Deliveries by level: one row per channel and subject instead of one per entry. `wanted` is the newest that the subject's followers
-- are to hear of, `told` the newest that was delivered; both only grow. `body` is what is sent, where it cannot be read again.
-- What was over is dropped, and of what waits the newest stays.
ALTER TABLE outbox RENAME TO outbox_by_entry;
CREATE TABLE outbox (
    channel     TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    wanted      INTEGER NOT NULL,
    told        INTEGER NOT NULL,
    body        TEXT,
    state       TEXT    NOT NULL,
    attempts    INTEGER NOT NULL,
    next_at     INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    lease_owner TEXT,
    give_up_at  INTEGER NOT NULL,
    last_error  TEXT,
    PRIMARY KEY (channel, subject)
);
INSERT INTO outbox (channel, subject, wanted, told, state, attempts, next_at, lease_until, lease_owner, give_up_at, last_error)
SELECT o.channel, o.request, o.seq, 0, 'waiting', o.attempts, o.next_at, o.lease_until, o.lease_owner, o.give_up_at, o.last_error
FROM outbox_by_entry o
WHERE o.state = 'waiting' AND NOT EXISTS (
    SELECT 1 FROM outbox_by_entry n
    WHERE n.channel = o.channel AND n.request = o.request AND n.state = 'waiting' AND n.seq > o.seq);
DROP TABLE outbox_by_entry;
CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'waiting';

-- Push notifications of A2A tasks kept what they had to tell in notes of their own. Tasks of the desk are read again: one may have
-- changed when no server looked.
INSERT INTO outbox (channel, subject, wanted, told, body, state, attempts, next_at, lease_until, give_up_at)
SELECT kind, key, json_extract(body, '$.pending.generation'), 0, json_extract(body, '$.pending.task'), 'waiting', 0, at, 0, keep_until
FROM notes
WHERE kind = 'a2a.push' AND scope NOT LIKE 'placet/desk/%' AND json_extract(body, '$.pending') IS NOT NULL;
INSERT INTO outbox (channel, subject, wanted, told, state, attempts, next_at, lease_until, give_up_at)
SELECT kind, key, 1, 0, 'waiting', 0, at, 0, keep_until
FROM notes
WHERE kind = 'a2a.push' AND scope LIKE 'placet/desk/%'
    AND json_extract(body, '$.given_up') IS NULL AND NOT json_extract(body, '$.ended');
UPDATE notes SET open = 0 WHERE kind = 'a2a.push';
