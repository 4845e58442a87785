-- The public key that a browser proves its calls with, both coordinates. Sessions without one end at the next start.
ALTER TABLE sessions ADD COLUMN bound BLOB;

-- Passwords that were changed void votes too.
CREATE TABLE voided_with_passwords (
    kind TEXT    NOT NULL CHECK (kind IN ('key', 'session', 'person', 'password')),
    name TEXT    NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
);
INSERT INTO voided_with_passwords (kind, name, at) SELECT kind, name, at FROM voided;
DROP TABLE voided;
ALTER TABLE voided_with_passwords RENAME TO voided;
