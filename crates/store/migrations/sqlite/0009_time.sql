-- When the last entry of the ledger was made: no later entry is older. Zero until the first entry in this format.
ALTER TABLE head ADD COLUMN at BIGINT NOT NULL DEFAULT 0;
