-- Why a standing approval ended, where nobody took it back: `upgrade`.
ALTER TABLE grants ADD COLUMN ended_why TEXT;

-- What was learned without regard to the folder is not comparable with what is learned now, and a digest does not say what
-- it is about. How much that was is kept for the dashboard.
INSERT INTO meta (name, value)
SELECT 'dropped_trust', CAST(n AS TEXT) FROM (SELECT count(*) AS n FROM trust) AS counted WHERE n > 0;
DELETE FROM trust;
