-- Deliveries by level: one row per channel and subject instead of one per entry. `wanted` is the newest that the subject's followers
-- are to hear of, `told` the newest that was delivered; both only grow. `body` is what is sent, where it cannot be read again.
-- What was over is dropped, and of what waits the newest stays.
ALTER TABLE outbox RENAME TO outbox_by_entry;
CREATE TABLE outbox (
    channel     TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    wanted      BIGINT  NOT NULL,
    told        BIGINT  NOT NULL,
    state       TEXT    NOT NULL,
    attempts    BIGINT  NOT NULL,
    next_at     BIGINT  NOT NULL,
    lease_until BIGINT  NOT NULL,
    lease_owner TEXT,
    give_up_at  BIGINT  NOT NULL,
    last_error  TEXT,
    body        TEXT,
    PRIMARY KEY (channel, subject)
);
INSERT INTO outbox (channel, subject, wanted, told, state, attempts, next_at, lease_until, lease_owner, give_up_at, last_error)
SELECT DISTINCT ON (channel, request)
    channel, request, seq, 0, 'waiting', attempts, next_at, lease_until, lease_owner, give_up_at, last_error
FROM outbox_by_entry WHERE state = 'waiting' ORDER BY channel, request, seq DESC;
DROP TABLE outbox_by_entry;
CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'waiting';

-- Push notifications of A2A tasks kept what they had to tell in notes of their own. Tasks of the desk are read again: one may have
-- changed when no server looked. Retries have a day from now. JSON with the character zero cannot be read here: its picture takes
-- its place.
WITH configs AS MATERIALIZED (
    SELECT kind, key, scope, at, greatest(at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + 86400000000 AS give_up_at,
        regexp_replace(body, '(?<!\\)((\\\\)*)\\u0000', '\1\\u2400', 'g')::json AS config
    FROM notes WHERE kind = 'a2a.push')
INSERT INTO outbox (channel, subject, wanted, told, state, attempts, next_at, lease_until, give_up_at, body)
SELECT kind, key, (config #>> '{pending,generation}')::bigint, 0, 'waiting', 0, at, 0, give_up_at, (config #> '{pending,task}')::text
FROM configs
WHERE scope NOT LIKE 'placet/desk/%' AND config ->> 'pending' IS NOT NULL
UNION ALL
SELECT kind, key, 1, 0, 'waiting', 0, at, 0, give_up_at, NULL
FROM configs
WHERE scope LIKE 'placet/desk/%' AND config #>> '{given_up,ended}' IS DISTINCT FROM 'true' AND config ->> 'ended' <> 'true';
UPDATE notes SET open = 0 WHERE kind = 'a2a.push';
