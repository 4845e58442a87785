-- Deliveries by level: one row per channel and subject instead of one per entry. `wanted` is the newest that the subject's followers
-- are to hear of, `told` the newest that was delivered; both only grow. `body` is what is sent, where it cannot be read again.
-- What was over is dropped, and of what waits the newest stays.
ALTER TABLE outbox RENAME TO outbox_by_entry;
CREATE TABLE outbox (
    channel     TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    wanted      BIGINT  NOT NULL,
    told        BIGINT  NOT NULL,
    body        TEXT,
    state       TEXT    NOT NULL,
    attempts    BIGINT  NOT NULL,
    next_at     BIGINT  NOT NULL,
    lease_until BIGINT  NOT NULL,
    lease_owner TEXT,
    give_up_at  BIGINT  NOT NULL,
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
-- changed when no server looked. JSON with the character zero cannot be read here: its picture takes its place.
WITH configs AS MATERIALIZED (
    SELECT kind, key, scope, at, keep_until, regexp_replace(body, '(?<!\\)((\\\\)*)\\u0000', '\1\\u2400', 'g')::json AS config
    FROM notes WHERE kind = 'a2a.push')
INSERT INTO outbox (channel, subject, wanted, told, body, state, attempts, next_at, lease_until, give_up_at)
SELECT kind, key, (config #>> '{pending,generation}')::bigint, 0, (config #> '{pending,task}')::text, 'waiting', 0, at, 0, keep_until
FROM configs
WHERE scope NOT LIKE 'placet/desk/%' AND config ->> 'pending' IS NOT NULL
UNION ALL
SELECT kind, key, 1, 0, NULL, 'waiting', 0, at, 0, keep_until
FROM configs
WHERE scope LIKE 'placet/desk/%' AND config ->> 'given_up' IS NULL AND config ->> 'ended' <> 'true';
UPDATE notes SET open = 0 WHERE kind = 'a2a.push';
