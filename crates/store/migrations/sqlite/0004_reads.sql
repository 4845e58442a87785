-- The entries about one request after the one that created it, which has the request's own number.
CREATE INDEX ledger_later ON ledger (request, seq) WHERE request <> seq;
