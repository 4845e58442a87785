-- The public key that a browser proves its calls with, both coordinates. Sessions without one end at the next start.
ALTER TABLE sessions ADD COLUMN bound BYTEA;

-- Passwords that were changed void votes too.
ALTER TABLE voided DROP CONSTRAINT voided_kind_check;
ALTER TABLE voided ADD CONSTRAINT voided_kind_check CHECK (kind IN ('key', 'session', 'person', 'password'));
