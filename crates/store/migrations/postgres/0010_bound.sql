-- The public key that a browser proves its calls with, both coordinates. Sessions without one end at the next start.
ALTER TABLE sessions ADD COLUMN bound BYTEA;
