-- What somebody stopped: nothing of it is allowed, approved or claimed. `data` is JSON. A row goes when it is lifted: that it
-- was there is in the ledger.
CREATE TABLE freezes (
    id   TEXT PRIMARY KEY,
    data TEXT NOT NULL
);
