-- Checksums, and a lock on rows that INSERT OR REPLACE would otherwise pass by.
--
-- A digest is the SHA-256 of the other columns of its row (src/row.rs says how), so that a row that was
-- changed, or moved to other keys, is found when it is read. Rows of older versions have none. Tables phase
-- and measurement need none: they repeat parts of the results for queries and are never read back.

ALTER TABLE campaign ADD COLUMN digest BLOB CHECK (length(digest) = 32);
ALTER TABLE session ADD COLUMN digest BLOB CHECK (length(digest) = 32);
ALTER TABLE planned_cell ADD COLUMN digest BLOB CHECK (length(digest) = 32);
ALTER TABLE cell ADD COLUMN digest BLOB CHECK (length(digest) = 32);
ALTER TABLE calibration ADD COLUMN digest BLOB CHECK (length(digest) = 32);

-- A row that is replaced is deleted without a DELETE trigger unless recursive_triggers is on, which every
-- program sets for itself. So a row is refused here whose place is taken, by any of its keys; of a table with
-- a hidden rowid, that is one of them.
CREATE TRIGGER campaign_once BEFORE INSERT ON campaign
WHEN EXISTS (SELECT 1 FROM campaign WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER session_once BEFORE INSERT ON session
WHEN EXISTS (SELECT 1 FROM session WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER planned_cell_once BEFORE INSERT ON planned_cell
WHEN EXISTS (SELECT 1 FROM planned_cell WHERE campaign = NEW.campaign AND cell = NEW.cell)
OR EXISTS (
    SELECT 1 FROM planned_cell
    WHERE campaign = NEW.campaign AND contender = NEW.contender AND suite = NEW.suite AND test = NEW.test
        AND round = NEW.round
)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER cell_once BEFORE INSERT ON cell
WHEN EXISTS (SELECT 1 FROM cell WHERE campaign = NEW.campaign AND cell = NEW.cell)
OR EXISTS (SELECT 1 FROM cell WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER calibration_once BEFORE INSERT ON calibration
WHEN EXISTS (SELECT 1 FROM calibration WHERE campaign = NEW.campaign)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER phase_once BEFORE INSERT ON phase
WHEN EXISTS (
    SELECT 1 FROM phase WHERE campaign = NEW.campaign AND cell = NEW.cell AND position = NEW.position
)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER measurement_once BEFORE INSERT ON measurement
WHEN EXISTS (
    SELECT 1 FROM measurement
    WHERE campaign = NEW.campaign AND cell = NEW.cell AND position = NEW.position AND metric = NEW.metric
)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;

-- Only rows of older versions may be without a digest.
CREATE TRIGGER campaign_has_digest BEFORE INSERT ON campaign
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
CREATE TRIGGER session_has_digest BEFORE INSERT ON session
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
CREATE TRIGGER planned_cell_has_digest BEFORE INSERT ON planned_cell
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
CREATE TRIGGER cell_has_digest BEFORE INSERT ON cell
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
CREATE TRIGGER calibration_has_digest BEFORE INSERT ON calibration
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
